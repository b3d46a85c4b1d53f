/* See beyond_chance.h. */
#include "services/inference/engine/align/beyond_chance.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"

/* LOOKED_AT: values whose neighbours are asked for; all are asked whether they are held. NEAR:
 * neighbours, two on either side. */
enum { LOOKED_AT = 256, NEAR = 4, SHORT_CODE = 2 };

struct tab_held {
    uint64_t *all; /* (n) ascending */
    size_t n, looked;
    uint32_t
        *from; /* where in all the values begin whose leading bits are the place's; one more at the end */
    int shift; /* to those bits, of which there are about as many as values */
    uint64_t *value, (*near)[NEAR]; /* (looked); 0: no such neighbour */
};

/* For qsort. */
static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool holds(const tab_held *h, uint64_t x)
{
    size_t lo = h->from[x >> h->shift], end = h->from[(x >> h->shift) + 1], hi = end;
    while (lo < hi) { /* one value or two; of numbers chosen to meet in one place more */
        size_t mid = (lo + hi) / 2;
        if (h->all[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < end && h->all[lo] == x;
}

/* Hashed values lie evenly: their leading bits tell where to look in the sorted ones. False: no memory. */
static bool find_places(tab_held *h, tab_arena *a)
{
    size_t places = 2, k = 0;
    h->shift = 63;
    for (; places < h->n; places *= 2)
        h->shift--;
    h->from = tab_arena_new_of(a, uint32_t, places + 1);
    for (size_t p = 0; h->from != NULL && p <= places; p++) {
        while (k < h->n && h->all[k] >> h->shift < p)
            k++;
        h->from[p] = (uint32_t)k;
    }
    return h->from != NULL;
}

/* Numbers are compared by their millionths; what is too large has no neighbours. */
static const double MOST_MILLIONTHS = 9e15;

static uint64_t number_id(double x)
{
    uint64_t id = 0;
    if (fabs(x * 1e6) < MOST_MILLIONTHS)
        id = (uint64_t)(int64_t)llround(x * 1e6);
    else
        memcpy(&id, &x, sizeof id);
    return tab_hash_mix(id, 1) | 1;
}

/* The step of a column's numbers, in millionths: what divides all their differences; 1 where nothing does. */
static int64_t grid_of(const tab_view *w)
{
    int64_t grid = 0, first = 0;
    bool any = false;
    for (uint32_t i = 0; i < w->values && grid != 1; i++) {
        double x = w->value[i].number;
        if (!(fabs(x * 1e6) < MOST_MILLIONTHS))
            continue;
        int64_t y = llround(x * 1e6);
        if (!any)
            first = y;
        any = true;
        for (int64_t d = llabs(y - first); d != 0;) { /* Euclid's algorithm */
            int64_t rest = grid % d;
            grid = d;
            d = rest;
        }
    }
    return grid > 0 ? grid : 1;
}

/* The next numbers on the column's grid; of one that ends in zeros the next that do. */
static void number_neighbours(double x, int64_t grid, uint64_t near[NEAR])
{
    static const int step[NEAR] = { -2, -1, 1, 2 };
    if (!(fabs(x * 1e6) < MOST_MILLIONTHS))
        return;
    int64_t y = llround(x * 1e6), unit = 1;
    for (int64_t k = y; k != 0 && k % 10 == 0; k /= 10)
        unit *= 10;
    if (unit < grid || unit % grid != 0)
        unit = grid;
    for (size_t i = 0; i < NEAR; i++)
        near[i] = tab_hash_mix((uint64_t)(y + step[i] * unit), 1) | 1;
}

/* The next digits of a text that ends in one, the next letters of a short code; words have no neighbours. */
static void text_neighbours(tab_str s, uint64_t near[NEAR])
{
    static const int step[NEAR] = { -2, -1, 1, 2 };
    char copy[64];
    if (s.n == 0 || s.n > sizeof copy)
        return;
    char last = s.p[s.n - 1];
    bool digit = last >= '0' && last <= '9', letter = last >= 'a' && last <= 'z' && s.n <= SHORT_CODE;
    memcpy(copy, s.p, s.n);
    for (size_t i = 0; (digit || letter) && i < NEAR; i++) {
        char c = (char)(last + step[i]);
        copy[s.n - 1] = c;
        if (digit ? c >= '0' && c <= '9' : c >= 'a' && c <= 'z')
            near[i] = tab_hash_bytes(copy, s.n, 1) | 1;
    }
}

tab_held *tab_held_new(const tab_views *v, const tab_view *w, tab_arena *a)
{
    size_t step = w->values / LOOKED_AT + 1;
    int64_t grid = grid_of(w);
    tab_held *h = tab_arena_new_of(a, tab_held, 1);
    if (h == NULL)
        return NULL;
    h->all = tab_arena_new_of(a, uint64_t, w->values);
    h->value = tab_arena_new_of(a, uint64_t, w->values / step + 1);
    h->near = tab_arena_alloc(a, w->values / step + 1, sizeof *h->near);
    if (h->all == NULL || h->value == NULL || h->near == NULL)
        return NULL;
    for (uint32_t i = 0; i < w->values; i++) {
        const tab_value *x = &w->value[i];
        tab_str s = tab_value_text(v, x);
        uint64_t id = isnan(x->number) ? tab_hash_bytes(s.p, s.n, 1) | 1 : number_id(x->number);
        h->all[h->n++] = id;
        if (i % step != 0)
            continue;
        h->value[h->looked] = id;
        if (isnan(x->number))
            text_neighbours(s, h->near[h->looked++]);
        else
            number_neighbours(x->number, grid, h->near[h->looked++]);
    }
    qsort(h->all, h->n, sizeof *h->all, ascending);
    return find_places(h, a) ? h : NULL;
}

/* Half a value is the least that chance is thought to give. */
static const double LEAST = 0.5;

/* Poisson's log-likelihood ratio of so many hits where chance gives fewer. */
static double evidence(double hit, double chance)
{
    return hit > chance ? hit * log(hit / chance) - (hit - chance) : 0;
}

/* The share of value i's neighbours that b holds. */
static double near_held(const tab_held *a, size_t i, const tab_held *b)
{
    double held = 0, there = 0;
    for (size_t k = 0; k < NEAR; k++)
        if (a->near[i][k] != 0) {
            there++;
            held += holds(b, a->near[i][k]);
        }
    return there > 0 ? held / there : 0;
}

/* Whether chance explains how many of a's values b holds: as many as it holds of their neighbours, for each
 * value. The evidence only falls as chance grows, so that neighbours are asked for where there are hits
 * enough, and no further once too little is left of it. */
static bool explained(const tab_held *a, const tab_held *b)
{
    enum { ASKED_AFTER = 16 }; /* a logarithm costs as much as some neighbours */
    double hit = 0, chance = 0;
    for (size_t i = 0; i < a->looked; i++)
        hit += holds(b, a->value[i]);
    for (size_t i = 0; i < a->looked; i++) {
        if (i % ASKED_AFTER == 0 && evidence(hit, fmax(chance, LEAST)) < TAB_BEYOND_CHANCE)
            return true;
        chance += near_held(a, i, b);
    }
    return evidence(hit, fmax(chance, LEAST)) < TAB_BEYOND_CHANCE;
}

bool tab_held_by_chance(const tab_held *a, const tab_held *b)
{
    return explained(a, b) || explained(b, a);
}

/* Rows of which nothing is known but how common their values are agree on k columns with a likelihood of
 * evidence s (the logarithms of the rarities of equal values) by at most 2^k exp(-s): each factor is 1 where
 * values differ and the value's rarity, as often as it stands there, where they are equal (Markov). So do
 * na nb times as many of all pairs, of which `rows` were chosen. */
double tab_rows_beyond_chance(const tab_table_view *a, const tab_table_view *b, const tab_row_pairs *rows,
                              const uint32_t *match)
{
    size_t beyond = 0;
    if (rows->n == 0)
        return 0;
    double tried = log((double)a->rows * (double)b->rows / (double)rows->n);
    for (size_t r = 0; r < rows->n; r++) {
        double s = -tried;
        for (size_t i = 0; i < a->cols; i++) {
            const tab_view *x = &a->col[i], *y = match[i] == TAB_NULL ? NULL : &b->col[match[i]];
            uint32_t p = x->code[rows->a[r]], q = y == NULL ? TAB_NULL : y->code[rows->b[r]];
            if (p == TAB_NULL || q == TAB_NULL)
                continue;
            double share = fmax((double)x->value[p].rows / (double)x->present,
                                (double)y->value[q].rows / (double)y->present);
            s -= x->value[p].key == y->value[q].key ? log(share) + M_LN2 : M_LN2;
        }
        beyond += s > TAB_BEYOND_CHANCE;
    }
    /* that many do so by chance, and two deviations of Poisson's law more */
    double chance = (double)rows->n * exp(-TAB_BEYOND_CHANCE);
    return fmax(((double)beyond - chance - 2 * sqrt(chance)) / (double)rows->n, 0);
}

/* Columns and rows that are looked at. */
enum { COLUMNS = 24, ROWS = 500 };

typedef struct {
    double x;
    uint32_t row;
} ranked;

/* For qsort. */
static int by_number(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* (n) ranks of the column's numbers less their mean, of unit length; ties at their mean rank, 0 where
 * there is none. False: all are one. */
static bool rank_column(const tab_view *w, size_t rows, size_t n, ranked *scratch, double *ret)
{
    size_t m = 0;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t code = w->code[rows * i / n];
        ret[i] = 0;
        if (code != TAB_NULL && !isnan(w->value[code].number))
            scratch[m++] = (ranked){ w->value[code].number, (uint32_t)i };
    }
    qsort(scratch, m, sizeof *scratch, by_number);
    for (size_t i = 0, j; i < m; i = j) {
        for (j = i; j < m && scratch[j].x == scratch[i].x; j++)
            ;
        for (size_t k = i; k < j; k++)
            ret[scratch[k].row] = (double)(i + j) - (double)m;
        sum += (double)(j - i) * ((double)(i + j) - (double)m) * ((double)(i + j) - (double)m);
    }
    for (size_t i = 0; i < n && sum > 0; i++)
        ret[i] /= sqrt(sum);
    return sum > 0;
}

/* Fisher's transform of two columns' rank correlation. */
static double dependence(const double *x, const double *y, size_t n)
{
    double r = 0;
    for (size_t i = 0; i < n; i++)
        r += x[i] * y[i];
    return atanh(fmin(fmax(r, -0.999), 0.999));
}

static double normal(double x, double variance)
{
    return exp(-x * x / (2 * variance)) / sqrt(2 * M_PI * variance);
}

/* Two transforms of one correlation are as far apart as sampling makes them; those of unlike tables are,
 * each by itself, of nothing or of a correlation between -1 and 1, all as likely. One dependence any two
 * tables may have, as a counter of rows that came by date, and one column may stand beside a wrong
 * partner: none says more than TAB_BEYOND_CHANCE for or against. */
static double alike(double za, double zb, double va, double vb)
{
    double same = normal(za - zb, va + vb), sech = 1 / cosh(zb);
    double own = 0.5 * normal(zb, vb) + 0.5 * (sech * sech / 2);
    return fmin(fmax(log(fmax(same, 1e-300) / own), -TAB_BEYOND_CHANCE), TAB_BEYOND_CHANCE);
}

bool tab_alike_dependent(const tab_table_view *a, const tab_table_view *b, const uint32_t *match, double *ret)
{
    size_t na = a->rows < ROWS ? a->rows : ROWS, nb = b->rows < ROWS ? b->rows : ROWS, k = 0;
    double *x = malloc(COLUMNS * (na + nb + 1) * sizeof *x), *y = x + COLUMNS * na;
    ranked *scratch = malloc((ROWS + 1) * sizeof *scratch);
    *ret = 0;
    for (size_t i = 0; x != NULL && scratch != NULL && i < a->cols && k < COLUMNS; i++)
        if (match[i] != TAB_NULL && a->col[i].sorted_n > 0 && b->col[match[i]].sorted_n > 0)
            k += rank_column(&a->col[i], a->rows, na, scratch, x + k * na) &&
                 rank_column(&b->col[match[i]], b->rows, nb, scratch, y + k * nb);
    for (size_t i = 0; na > 3 && nb > 3 && i < k; i++)
        for (size_t j = i + 1; j < k; j++)
            *ret += alike(dependence(x + i * na, x + j * na, na), dependence(y + i * nb, y + j * nb, nb),
                          1 / ((double)na - 3), 1 / ((double)nb - 3));
    bool ok = x != NULL && scratch != NULL;
    free(x);
    free(scratch);
    return ok;
}
