/* See parts.h: what many linked rows say of the rows to predict may not be what they say of the others.
 * A customer of last week has few orders, an order that is not closed no outcome, a ticket "cancelled"
 * is written once who has left is known: sums, counts and shares are then other numbers for the rows
 * that are asked about, and a model of them is sure and wrong. Each is held against the labelled rows'
 * (the two-sample statistic of Kolmogorov and Smirnov), and what differs is not made (decision 0782). */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/relational/parts.h"

/* ROWS: labelled and asked ones that are looked at, each; LEAST: fewer tell nothing. */
enum { ROWS = 2000, LEAST = 20 };
/* By how much distributions must differ, and by how many standard errors, which chance has once in 400,000
 * columns. By hand. */
static const double DIFFER = 0.15, SURE = 2.6;

/* A row by what it is linked by, so that the choice of rows does not depend on their order. */
typedef struct {
    uint64_t key;
    uint32_t row;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static uint64_t key_of(const tab_links *l, size_t row)
{
    uint64_t key = 0x5f1;
    for (size_t k = 0; k < l->keys; k++)
        if (l->keyed[k].table == l->table)
            key = tab_mix2(key, l->keyed[k].hash[row]);
    return key;
}

/* row (2 * ROWS): the labelled ones, and behind them the asked ones. n: how many of each. False: memory. */
static bool pick(const tab_links *l, uint32_t *row, size_t n[2])
{
    size_t rows = l->p[l->table]->table->rows, all = 0;
    keyed *k = malloc((rows + 1) * sizeof *k);
    for (size_t open = 0; k != NULL && open < 2; open++) {
        size_t m = 0;
        for (size_t r = 0; r < rows; r++)
            if (l->open[r] == (open == 1))
                k[m++] = (keyed){ key_of(l, r), (uint32_t)r };
        qsort(k, m, sizeof *k, by_key);
        n[open] = m < ROWS ? m : ROWS;
        for (size_t i = 0; i < n[open]; i++)
            row[all++] = k[i].row;
    }
    free(k);
    return k != NULL;
}

/* The numbers among v (n), ascending; returns how many. */
static size_t sorted(const double *v, size_t n, double *ret)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            ret[m++] = v[i];
    qsort(ret, m, sizeof *ret, tab_ascending_double);
    return m;
}

/* Whether x (n) and y (m), both ascending, differ. */
static bool differ(const double *x, size_t n, const double *y, size_t m)
{
    double most = 0, k = (double)n, o = (double)m;
    for (size_t i = 0, j = 0; i < n && j < m;) {
        double at = fmin(x[i], y[j]);
        while (i < n && x[i] <= at)
            i++;
        while (j < m && y[j] <= at)
            j++;
        most = fmax(most, fabs((double)i / k - (double)j / o));
    }
    return n >= LEAST && m >= LEAST && most >= DIFFER && most * sqrt(k * o / (k + o)) > SURE;
}

/* Whether most rows to predict come after all others by a date of theirs: what they have had yet is then
 * judged by rows after earlier times (predict/ahead/), which had as little. */
static bool come_later(const tab_links *l)
{
    const tab_profile *p = l->p[l->table];
    for (size_t c = 0; c < p->table->cols; c++) {
        const double *x = p->col[c].number;
        double last = -(double)INFINITY;
        size_t later = 0;
        if (!tab_link_dated(&p->col[c]))
            continue;
        for (size_t r = 0; r < p->table->rows; r++)
            last = l->open[r] ? last : fmax(last, x[r]);
        for (size_t r = 0; r < p->table->rows; r++)
            later += l->open[r] && x[r] > last;
        if (2 * later > l->asked)
            return true;
    }
    return false;
}

/* A state that rows have not reached yet is no matter of how long they have been there. */
static bool of_levels(tab_link_kind k)
{
    return k == TAB_LINK_SHARE || k == TAB_LINK_HITS || k == TAB_LINK_DISTINCT;
}

/* Whether candidate k, or another that is made of the same column on the same way, differs: one that does not
 * is made of cells that differ all the same. */
static bool tainted(const tab_links *l, const bool *gone, size_t k)
{
    const tab_link_feature *f = &l->feature[k];
    bool whole = f->kind == TAB_LINK_COUNT || f->kind == TAB_LINK_SINCE;
    for (size_t i = 0; i < l->features && !whole; i++) {
        const tab_link_feature *g = &l->feature[i];
        bool counts = g->kind == TAB_LINK_COUNT || g->kind == TAB_LINK_SINCE;
        if (gone[i] && !counts && g->way == f->way && g->column == f->column)
            return true;
    }
    return gone[k];
}

tab_status tab_link_shifts(const tab_engine *e, tab_links *l, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    size_t n[2], many = 0, kept = 0;
    l->shift = tab_arena_new_of(e->arena, tab_link_shift, l->n + 1);
    if (a == NULL || l->shift == NULL)
        return tab_no_memory(err);
    tab_engine own = *e;
    own.arena = a;
    uint32_t *row = tab_arena_new_of(a, uint32_t, 2 * ROWS + 1);
    const tab_link_feature **f = tab_arena_new_of(a, const tab_link_feature *, l->features + 1);
    double *both = tab_arena_new_of(a, double, 2 * ROWS + 1);
    bool *gone = tab_arena_new_of(a, bool, l->features + 1),
         *out = tab_arena_new_of(a, bool, l->features + 1);
    tab_subjects s;
    tab_link_values v;
    if (tab_arena_full(a) || !pick(l, row, n))
        return tab_no_memory(err);
    for (size_t k = 0; k < l->features; k++)
        if (l->feature[k].way->downs > 0)
            f[many++] = &l->feature[k];
    if (many == 0 || n[0] < LEAST || n[1] < LEAST)
        return TAB_OK;
    bool later = come_later(l);
    if (!tab_subjects_pinned(a, l, row, n[0] + n[1], &s))
        return tab_no_memory(err);
    TAB_TRY(tab_link_fill(&own, l, f, many, &s, &v, err));
    for (size_t k = 0; k < many; k++) {
        size_t known = sorted(v.number[k], n[0], both), open = sorted(v.number[k] + n[0], n[1], both + known);
        tab_link_shift *of = &l->shift[f[k]->table];
        if ((later && !of_levels(f[k]->kind)) || !differ(both, known, both + known, open))
            continue;
        gone[f[k] - l->feature] = true;
        if (of->columns++ == 0) {
            of->name = f[k]->name;
            of->middle[0] = both[known / 2], of->middle[1] = both[known + open / 2];
        }
    }
    for (size_t k = 0; k < l->features; k++) {
        out[k] = tainted(l, gone, k);
        l->shift[l->feature[k].table].columns += out[k] && !gone[k];
    }
    for (size_t k = 0; k < l->features; k++)
        if (!out[k])
            l->feature[kept++] = l->feature[k];
    l->features = kept;
    return TAB_OK;
}
