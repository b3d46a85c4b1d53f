/* See agreement.h: how well two columns agree over rows that seem to match, for align.c. Rows that match are
 * pairs of values that should agree; how well two columns agree over them is compared with chance, which is
 * the same row beside another pair's row. */
#include "services/inference/engine/align/agreement.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/profile/roles/roles.h"

/* For qsort. */
static int by_x(const void *a, const void *b)
{
    const tab_rank_point *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* For qsort. */
static int by_y(const void *a, const void *b)
{
    const tab_rank_point *p = a, *q = b;
    return (p->y > q->y) - (p->y < q->y);
}

/* Rank correlation (Spearman 1904), ties at their mean rank (here twice the mean, which cancels); units,
 * currencies and rounding do not change it. Fewer than 8 pairs correlate by chance: 0. */
static double rank_correlation(tab_rank_point *p, size_t n)
{
    if (n < 8)
        return 0;
    qsort(p, n, sizeof *p, by_x);
    /* ranks of x, then of y; a run of equal values has the sum of its ends as twice its mean rank */
    for (size_t i = 0; i < n;) {
        size_t j = i;
        while (j < n && p[j].x == p[i].x)
            j++;
        for (size_t k = i; k < j; k++)
            p[k].rx = (uint32_t)(i + j);
        i = j;
    }
    qsort(p, n, sizeof *p, by_y);
    for (size_t i = 0; i < n;) {
        size_t j = i;
        while (j < n && p[j].y == p[i].y)
            j++;
        for (size_t k = i; k < j; k++)
            p[k].ry = (uint32_t)(i + j);
        i = j;
    }
    /* Pearson's correlation of the ranks */
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        mx += p[i].rx;
        my += p[i].ry;
    }
    mx /= (double)n;
    my /= (double)n;
    for (size_t i = 0; i < n; i++) {
        double dx = p[i].rx - mx, dy = p[i].ry - my;
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

enum { FEW = 40 };

/* Rows of one a value whose b value is the most frequent one of the other rows beside it; of several as
 * frequent half of them. mode: what is said of a row that has no others. */
static double hits_of(const uint32_t *of, uint32_t ny, uint32_t mode)
{
    uint32_t first = 0, second = 0, rows = 0;
    double hit = 0;
    for (uint32_t j = 0; j < ny; j++) {
        rows += of[j];
        if (of[j] > first)
            second = first, first = of[j];
        else if (of[j] > second)
            second = of[j];
    }
    if (rows == 1)
        return of[mode];
    for (uint32_t j = 0; j < ny; j++) {
        uint32_t other = of[j] == first ? second : first; /* the best of the others, itself left out */
        if (of[j] > 0 && of[j] - 1 >= other)
            hit += of[j] - 1 > other ? of[j] : of[j] / 2.0;
    }
    return hit;
}

/* How well b's value follows from a's beyond chance: the share of pairs whose b value is the most frequent
 * one beside their a value, less the share of b's most frequent value, over its complement (Goodman and
 * Kruskal's lambda, 1954), each pair left out where it is asked itself: a value that stands once follows from
 * anything that stands once. Only for columns of 2 to FEW values and 10 pairs and more.
 * Decision 0841. */
static double association(const uint32_t *x, const uint32_t *y, size_t n, uint32_t nx, uint32_t ny)
{
    if (nx > FEW || ny > FEW || nx < 2 || ny < 2 || n < 10)
        return 0;
    /* how often each pair of values stands side by side */
    uint32_t table[FEW][FEW] = { { 0 } }, col[FEW] = { 0 }, mode = 0;
    double hit = 0;
    for (size_t i = 0; i < n; i++) {
        table[x[i]][y[i]]++;
        col[y[i]]++;
    }
    for (uint32_t j = 0; j < ny; j++)
        mode = col[j] > col[mode] ? j : mode;
    for (uint32_t i = 0; i < nx; i++)
        hit += hits_of(table[i], ny, mode);
    if (col[mode] >= n)
        return 0;
    return fmax(0, (hit - (double)col[mode]) / (double)(n - col[mode]));
}

/* A city, its region and its country follow from one another and are three attributes; a country's name,
 * its code and its people are one. 0: no such place. */
static int kind_of_place(const tab_view *w)
{
    switch (w->profile->role) {
    case TAB_ROLE_CITY:
        return 1;
    case TAB_ROLE_REGION:
        return 2;
    case TAB_ROLE_COUNTRY:
    case TAB_ROLE_COUNTRY_CODE:
    case TAB_ROLE_NATIONALITY:
        return 3;
    case TAB_ROLE_POSTAL_CODE:
        return 4;
    default:
        return 0;
    }
}

/* Quick likeness of two values: 1 for equal, else the share of tokens they have in common. *weight, when
 * not NULL: of the common ones, the sum of idf. */
static double likeness(const tab_views *v, const tab_value *x, const tab_value *y, float *weight)
{
    uint32_t shared = 0;
    if (x->key == y->key && weight == NULL)
        return 1;
    /* a walk along both sorted lists of tokens */
    for (uint32_t i = 0, j = 0; i < x->tok_n && j < y->tok_n;) {
        uint32_t p = v->tok[x->tok + i], q = v->tok[y->tok + j];
        shared += p == q;
        if (p == q && weight != NULL)
            *weight += v->idf[p];
        i += p <= q;
        j += q <= p;
    }
    if (x->key == y->key)
        return 1;
    /* 0.9: the same words are not quite the same value; 0.75 gives the same F1 (decision 0307) */
    uint32_t all = x->tok_n + y->tok_n - shared;
    return all == 0 ? 0 : 0.9 * shared / all;
}

/* Fewer than 5 pairs say nothing. Trust grows with the pairs as n / (n + 10): at ten pairs all features
 * count half. With n + 5 and n + 20 the F1 of columns is 0.953 and 0.948 on real cases beside 0.952
 * (decision 0307). */
void tab_row_agreement(const tab_views *v, const tab_view *wa, const tab_view *wb, const tab_row_pairs *rows,
                       const float *shared, tab_agreement_scratch *scratch, float *f)
{
    tab_rank_point *pt = scratch->point;
    uint32_t *xs = scratch->x, *ys = scratch->y;
    size_t n = 0, m = 0, numbers = 0, equal = 0, one_sided = 0, present = 0;
    double sum = 0, base = 0;
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t ca = wa->code[rows->a[i]], cb = wb->code[rows->b[i]];
        /* a row with the value on one side only speaks against the columns */
        one_sided += (ca == TAB_NULL) != (cb == TAB_NULL);
        present += ca != TAB_NULL || cb != TAB_NULL;
        if (ca == TAB_NULL || cb == TAB_NULL)
            continue;
        const tab_value *x = &wa->value[ca], *y = &wb->value[cb];
        float own = 0;
        double alike = likeness(v, x, y, &own);
        /* the rows match by these very words */
        if (own > TAB_AGREEMENT_ELSEWHERE * shared[i])
            continue;
        sum += alike;
        equal += x->key == y->key;
        xs[n] = ca;
        ys[n] = cb;
        n++;
        if (!isnan(x->number) && !isnan(y->number))
            pt[numbers++] = (tab_rank_point){ x->number, y->number, 0, 0 };
        /* chance: the same a row beside the next pair's b row */
        uint32_t other = wb->code[rows->b[(i + 1 + rows->n / 3) % rows->n]];
        if (other != TAB_NULL) {
            base += likeness(v, x, &wb->value[other], NULL);
            m++;
        }
    }
    if (n < 5)
        return;
    /* f: the features in the order that agreement.h gives, each times trust */
    double mean = sum / (double)n, chance = m > 0 ? base / (double)m : 0;
    double trust = (double)n / ((double)n + 10);
    f[0] = (float)(trust * mean);
    f[1] = (float)(trust * (mean - chance) / fmax(1 - chance, 0.05));
    f[2] = (float)(trust * (double)equal / (double)n);
    f[3] = (float)(trust * fabs(rank_correlation(pt, numbers)));
    /* a country follows from its city without being one attribute with it */
    int pa = kind_of_place(wa), pb = kind_of_place(wb);
    bool nested = pa != pb && pa * pb != 0;
    double there = nested ? 0 : association(xs, ys, n, wa->values, wb->values);
    double back = nested ? 0 : association(ys, xs, n, wb->values, wa->values);
    f[4] = (float)(trust * fmin(there, back));
    f[5] = (float)(trust * fmax(there, back));
    f[6] = (float)(present > 0 ? trust * (double)one_sided / (double)present : 0);
    f[7] = (float)trust;
}

void tab_tell_days_apart(const tab_view *wa, const tab_view *wb, float *f)
{
    enum { DISTRIBUTION = 6, BOTH_NUMBERS, ONE_NUMBER, RANKS = TAB_ALIGN_VALUE_FEATURES + 3 };
    static const float RISE = 0.5f;
    if (f[BOTH_NUMBERS] > 0 && (wa->kind == TAB_VIEW_DATE) != (wb->kind == TAB_VIEW_DATE) &&
        f[RANKS] < RISE) {
        f[DISTRIBUTION] = f[BOTH_NUMBERS] = 0;
        f[ONE_NUMBER] = 1;
    }
}
