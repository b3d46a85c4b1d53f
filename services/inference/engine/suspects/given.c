/* Number by the other cells of its row: the median of its group, for the column whose groups tell most, or a
 * least trimmed squares fit on all other numbers, plain and logarithmic, which sees sums and products to the
 * last digit. Models are compared on samples, and only the best is held against every row: the cost of a
 * column grows with its rows plus its models, not with their product. */
#include "services/inference/engine/suspects/given.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/learn/linear/solve.h"

enum { LEAST_GROUP = 5, LINEAR_SAMPLE = 2000 };

double tab_quantile_of(const double *sorted, size_t n, double q)
{
    double i = q * (double)(n - 1);
    size_t k = (size_t)i;
    return k + 1 < n ? sorted[k] + (i - (double)k) * (sorted[k + 1] - sorted[k]) : sorted[n - 1];
}

double tab_on_scale(const tab_scale *q, double x)
{
    return q->log ? (x > 0 ? log(x) : (double)NAN) : x;
}

/* SplitMix64 (Steele, Lea & Flood 2014): the x-th draw. */
static uint64_t drawn(uint64_t x)
{
    x = (x + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

size_t tab_sampled_row(size_t rows, size_t most, size_t i)
{
    if (rows <= most)
        return i;
    size_t from = (size_t)((uint64_t)i * rows / most), to = (size_t)((uint64_t)(i + 1) * rows / most);
    return from + (size_t)(drawn(i) % (to - from));
}

size_t tab_sampled_numbers(const double *x, size_t rows, size_t n, double *ret)
{
    size_t most = n < TAB_SUSPECT_QUANTILES ? n : TAB_SUSPECT_QUANTILES, k = 0, met = 0;
    for (size_t i = 0; i < rows && k < most; i++)
        if (isfinite(x[i]) && met++ == tab_sampled_row(n, most, k))
            ret[k++] = x[i];
    return k;
}

/* The median absolute deviation of x as a standard deviation; -1: too few numbers, or no memory. */
static double spread_of(tab_arena *a, const double *x, size_t rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows; i++)
        n += isfinite(x[i]);
    double *v = tab_arena_new_of(a, double, (n < TAB_SUSPECT_QUANTILES ? n : TAB_SUSPECT_QUANTILES) + 1);
    if (v == NULL || n < TAB_SUSPECT_ROWS)
        return -1;
    n = tab_sampled_numbers(x, rows, n, v);
    for (size_t i = 0; i < n; i++)
        v[i] = fabs(v[i]);
    qsort(v, n, sizeof *v, tab_ascending_double);
    return 1.4826 * tab_quantile_of(v, n, 0.5);
}

static bool tells_more(const tab_residuals *m, const tab_residuals *than)
{
    return m->spread >= 0 && m->whole > 0 && m->spread < 0.7 * m->whole &&
           (than->spread < 0 || m->spread / m->whole < than->spread / than->whole);
}

/* ---- by a group ---------------------------------------------------------------------------------------- */

static bool can_group(const tab_seen *g)
{
    return g->levels >= 2 && g->levels * LEAST_GROUP <= g->present && g->num == NULL;
}

/* Whole groups where they are small, some rows of each where they are large; everything of a short column. */
static bool sample_groups(tab_search *s, const tab_seen *g, tab_group_sample *ret)
{
    enum { GROUPS = TAB_SUSPECT_SAMPLE / LEAST_GROUP };
    bool all = g->present <= TAB_SUSPECT_SAMPLE;
    size_t groups = all || g->levels < GROUPS ? g->levels : GROUPS, n = 0;
    size_t most = all ? g->present : TAB_SUSPECT_SAMPLE / groups;
    TAB_AUTO(tab_arena) *own = tab_arena_new(TAB_SUSPECT_BYTES);
    uint32_t *of =
        own == NULL ? NULL : tab_arena_new_of(own, uint32_t, g->levels + 1); /* group + 1; 0: none */
    uint32_t *met = own == NULL ? NULL : tab_arena_new_of(own, uint32_t, groups + 1);
    uint32_t *start = tab_arena_new_of(s->scratch, uint32_t, groups + 2);
    uint32_t *level = own == NULL ? NULL : tab_arena_new_of(own, uint32_t, groups + 1);
    if (of == NULL || met == NULL || start == NULL || level == NULL)
        return false;
    for (size_t i = 0; i < groups; i++) {
        level[i] = (uint32_t)tab_sampled_row(g->levels, groups, i);
        size_t take = g->count[level[i]] < most ? g->count[level[i]] : most;
        of[level[i]] = (uint32_t)i + 1;
        start[i + 1] = start[i] + (uint32_t)take;
        n += take;
    }
    uint32_t *row = tab_arena_new_of(s->scratch, uint32_t, n + 1);
    if (row == NULL)
        return false;
    /* of a group of c rows the j-th of `take` is its member number floor(j c / take) */
    uint32_t *taken = tab_arena_new_of(own, uint32_t, groups + 1);
    if (taken == NULL)
        return false;
    for (size_t i = 0; i < s->rows; i++) {
        uint32_t k = g->code[i] == TAB_NULL ? 0 : of[g->code[i]];
        if (k-- == 0)
            continue;
        uint32_t take = start[k + 1] - start[k], c = g->count[level[k]], at = met[k]++;
        if (taken[k] < take && at >= (uint64_t)taken[k] * c / take)
            row[start[k] + taken[k]++] = (uint32_t)i;
    }
    for (size_t k = 0; k < groups; k++)
        assert(taken[k] == start[k + 1] - start[k]);
    *ret = (tab_group_sample){ row, start, groups };
    return true;
}

tab_group_sample *tab_group_samples(tab_search *s)
{
    size_t cols = s->p->table->cols < TAB_SUSPECT_COLUMNS ? s->p->table->cols : TAB_SUSPECT_COLUMNS;
    tab_group_sample *g = tab_arena_new_of(s->scratch, tab_group_sample, cols + 1);
    for (size_t c = 0; g != NULL && c < cols; c++)
        if (can_group(&s->seen[c]) && !sample_groups(s, &s->seen[c], &g[c]))
            return NULL;
    return g;
}

/* How much the groups leave over of a number, on the sample. */
static bool try_groups(tab_arena *a, const tab_group_sample *g, const double *num, const tab_scale *q,
                       tab_residuals *m)
{
    size_t n = 0, rows = g->start[g->groups];
    double *v = tab_arena_new_of(a, double, rows + 1), *left = tab_arena_new_of(a, double, rows + 1);
    if (v == NULL || left == NULL)
        return false;
    for (size_t k = 0; k < g->groups; k++) {
        size_t members = 0;
        for (size_t i = g->start[k]; i < g->start[k + 1]; i++) {
            double y = tab_on_scale(q, num[g->row[i]]);
            if (isfinite(y))
                v[members++] = y;
        }
        if (members < LEAST_GROUP)
            continue;
        qsort(v, members, sizeof *v, tab_ascending_double);
        double median = tab_quantile_of(v, members, 0.5);
        for (size_t i = 0; i < members; i++)
            left[n++] = v[i] - median;
    }
    m->log = q->log;
    m->spread = spread_of(a, left, n);
    m->whole = q->spread;
    return true;
}

/* The median of each group of five and more; rows of smaller ones have no residual. */
static bool by_group(tab_search *s, tab_arena *a, const tab_seen *g, const double *num, const tab_scale *q,
                     tab_residuals *m)
{
    TAB_AUTO(tab_arena) *own = tab_arena_new(TAB_SUSPECT_BYTES);
    double *left = tab_arena_new_of(a, double, s->rows + 1);
    if (own == NULL || left == NULL)
        return false;
    uint32_t *next = tab_arena_new_of(own, uint32_t, g->levels + 2);
    uint32_t *end = tab_arena_new_of(own, uint32_t, g->levels + 1);
    double *v = tab_arena_new_of(own, double, s->rows + 1);
    double *median = tab_arena_new_of(own, double, g->levels + 1);
    if (next == NULL || end == NULL || v == NULL || median == NULL)
        return false;
    for (size_t l = 0; l < g->levels; l++)
        next[l + 1] = next[l] + g->count[l];
    memcpy(end, next, g->levels * sizeof *end);
    for (size_t i = 0; i < s->rows; i++)
        if (g->code[i] != TAB_NULL && isfinite(tab_on_scale(q, num[i])))
            v[end[g->code[i]]++] = tab_on_scale(q, num[i]);
    for (size_t l = 0; l < g->levels; l++) {
        size_t n = end[l] - next[l];
        qsort(v + next[l], n, sizeof *v, tab_ascending_double);
        median[l] = n >= LEAST_GROUP ? tab_quantile_of(v + next[l], n, 0.5) : (double)NAN;
    }
    for (size_t i = 0; i < s->rows; i++)
        left[i] = g->code[i] == TAB_NULL ? (double)NAN : tab_on_scale(q, num[i]) - median[g->code[i]];
    m->left = left;
    m->spread = spread_of(own, left, s->rows);
    return true;
}

/* ---- by the other numbers ------------------------------------------------------------------------------ */

/* Number j by the others: y = beta . x, each centred and scaled. */
typedef struct {
    bool log, fits;
    double center[TAB_SUSPECT_NUMBERS], width[TAB_SUSPECT_NUMBERS], beta[TAB_SUSPECT_NUMBERS + 1];
} linear;

static double value_of(const tab_search *s, const tab_numbers *u, size_t k, size_t row, bool log_scale)
{
    double x = s->seen[u->col[k]].num[row];
    if (log_scale)
        return x > 0 ? log(x) : (double)NAN;
    return x;
}

/* Least squares of number j on the others over the rows kept, a row after the other. */
static bool solve_for(const tab_search *s, const tab_numbers *u, size_t j, const uint32_t *row, size_t rows,
                      const bool *keep, linear *f)
{
    size_t m = u->n + 1;
    double a[(TAB_SUSPECT_NUMBERS + 1) * (TAB_SUSPECT_NUMBERS + 1)] = { 0 };
    memset(f->beta, 0, m * sizeof *f->beta);
    for (size_t i = 0; i < rows; i++) {
        double z[TAB_SUSPECT_NUMBERS + 1];
        if (!keep[i])
            continue;
        z[u->n] = 1;
        for (size_t k = 0; k < u->n; k++)
            z[k] = k == j ? 0 : (value_of(s, u, k, row[i], f->log) - f->center[k]) / f->width[k];
        double y = (value_of(s, u, j, row[i], f->log) - f->center[j]) / f->width[j];
        for (size_t k = 0; k < m; k++) {
            f->beta[k] += z[k] * y;
            for (size_t l = 0; l <= k; l++)
                a[k * m + l] += z[k] * z[l];
        }
    }
    for (size_t k = 0; k < m; k++) {
        a[k * m + k] += k == j ? 1 : 1e-9 * (double)rows + 1e-12;
        for (size_t l = 0; l < k; l++)
            a[l * m + k] = a[k * m + l];
    }
    tab_eliminate(a, m, f->beta, m);
    for (size_t k = 0; k < m; k++)
        if (!isfinite(f->beta[k]))
            return false;
    return true;
}

/* What is left over of number j in a row; NaN where one of its numbers is missing. */
static double left_of(const tab_search *s, const tab_numbers *u, size_t j, const linear *f, size_t row)
{
    double y = f->beta[u->n];
    for (size_t k = 0; k < u->n; k++)
        if (k != j)
            y += f->beta[k] * (value_of(s, u, k, row, f->log) - f->center[k]) / f->width[k];
    return value_of(s, u, j, row, f->log) - (y * f->width[j] + f->center[j]);
}

/* Rows of which every number is known, at most LINEAR_SAMPLE of them, spread over the table. */
static size_t complete(const tab_search *s, const tab_numbers *u, bool log_scale, uint32_t *row)
{
    size_t n = 0, most = s->rows < LINEAR_SAMPLE ? s->rows : LINEAR_SAMPLE;
    for (size_t i = 0; i < most; i++) {
        bool known = true;
        size_t r = tab_sampled_row(s->rows, most, i);
        for (size_t k = 0; known && k < u->n; k++)
            known = isfinite(value_of(s, u, k, r, log_scale));
        if (known)
            row[n++] = (uint32_t)r;
    }
    return n;
}

/* Where the middle of each number is and how wide, over n rows; `buf` (n). */
static void centre(const tab_search *s, const tab_numbers *u, const uint32_t *row, size_t n, double *buf,
                   linear *f)
{
    for (size_t k = 0; k < u->n; k++) {
        for (size_t i = 0; i < n; i++)
            buf[i] = value_of(s, u, k, row[i], f->log);
        qsort(buf, n, sizeof *buf, tab_ascending_double);
        f->center[k] = tab_quantile_of(buf, n, 0.5);
        f->width[k] = (tab_quantile_of(buf, n, 0.9) - tab_quantile_of(buf, n, 0.1)) / 2.563;
        if (!(f->width[k] > 0))
            f->width[k] = buf[n - 1] > buf[0] ? buf[n - 1] - buf[0] : 1;
    }
}

/* Number j by all others on a sample: least squares, three times again on the rows that are left over least
 * (least trimmed squares, Rousseeuw 1984). m->spread = -1 where there are too few rows. */
static bool try_numbers(tab_search *s, const tab_numbers *u, size_t j, linear *f, tab_residuals *m)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    if (a == NULL)
        return false;
    uint32_t *row = tab_arena_new_of(a, uint32_t, LINEAR_SAMPLE);
    bool *keep = tab_arena_new_of(a, bool, LINEAR_SAMPLE);
    double *left = tab_arena_new_of(a, double, LINEAR_SAMPLE);
    *m = (tab_residuals){ .spread = -1, .log = f->log, .other = UINT32_MAX };
    if (row == NULL || keep == NULL || left == NULL)
        return false;
    size_t n = complete(s, u, f->log, row);
    if (n < 10 * u->n || n < 2 * TAB_SUSPECT_ROWS)
        return true;
    centre(s, u, row, n, left, f);
    m->whole = f->width[j];
    for (size_t i = 0; i < n; i++)
        keep[i] = true;
    for (int round = 0; round < 4; round++) {
        if (!solve_for(s, u, j, row, n, keep, f)) {
            m->spread = -1;
            return true;
        }
        for (size_t i = 0; i < n; i++)
            left[i] = left_of(s, u, j, f, row[i]);
        m->spread = spread_of(a, left, n);
        for (size_t i = 0; i < n; i++)
            keep[i] = fabs(left[i]) <= 2.5 * m->spread + 1e-9 * m->whole;
    }
    return !tab_arena_full(a);
}

/* ---- the best of them ---------------------------------------------------------------------------------- */

bool tab_best_given(tab_search *s, tab_arena *a, const tab_numbers *u, const tab_group_sample *g, size_t k,
                    tab_residuals *ret)
{
    const tab_scale *q = &u->q[k];
    const double *num = s->seen[u->col[k]].num;
    linear best = { .fits = false };
    *ret = (tab_residuals){ .spread = -1 };
    for (size_t c = 0; c < s->p->table->cols && c < TAB_SUSPECT_COLUMNS; c++) {
        tab_residuals m = { .other = (uint32_t)c };
        TAB_AUTO(tab_arena) *own = g[c].groups == 0 ? NULL : tab_arena_new(TAB_SUSPECT_BYTES);
        if (c == u->col[k] || g[c].groups == 0)
            continue;
        if (own == NULL || !try_groups(own, &g[c], num, q, &m) || tab_arena_full(own))
            return false;
        if (tells_more(&m, ret))
            *ret = m;
    }
    for (int log_scale = 0; u->n > 1 && log_scale < 2; log_scale++) {
        tab_residuals m;
        linear f = { .log = log_scale == 1, .fits = true };
        if (!try_numbers(s, u, k, &f, &m))
            return false;
        if (tells_more(&m, ret))
            *ret = m, best = f;
    }
    if (ret->spread < 0)
        return true;
    if (!best.fits)
        return by_group(s, a, &s->seen[ret->other], num, q, ret);
    double *left = tab_arena_new_of(a, double, s->rows + 1);
    for (size_t i = 0; left != NULL && i < s->rows; i++)
        left[i] = left_of(s, u, k, &best, i);
    ret->left = left;
    ret->spread = left == NULL ? -1 : spread_of(a, left, s->rows);
    return !tab_arena_full(a);
}

tab_str tab_suspects_number_text(tab_arena *a, double x, int decimals)
{
    char buf[40];
    double unit = pow(10, decimals > 9 ? 9 : decimals);
    size_t n = tab_number_text(round(x * unit) / unit, buf);
    return tab_arena_copy(a, (tab_str){ buf, n });
}
