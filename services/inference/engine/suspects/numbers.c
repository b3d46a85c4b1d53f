/* Numbers that lie far out, alone and given the row's other numbers and groups.
 *
 *   alone   the distance from the median in units of the middle half (robust z), on the scale, plain or
 *           logarithmic, on which the middle half is the more even; beside where the outermost
 *           hundredth begins, since a long tail is no error
 *   given   the same of what is left over by the best model of the column by the row's other cells (given.c)
 *   slip    ten, a hundred or a thousand times as much, or as little, would lie where it should */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/suspects/given.h"

static const double NORMAL_IQR = 1.349; /* middle half of a normal distribution in standard deviations */

/* How uneven the middle is: Bowley's skewness by deciles, -1 to 1. */
static double skew(const double *sorted, size_t n)
{
    double a = tab_quantile_of(sorted, n, 0.1), b = tab_quantile_of(sorted, n, 0.5);
    double c = tab_quantile_of(sorted, n, 0.9);
    return c > a ? fabs((c - b) - (b - a)) / (c - a) : 0;
}

static bool scale_of(const tab_search *s, const double *num, bool time, tab_scale *q)
{
    size_t positive = 0;
    *q = (tab_scale){ .whole = true };
    for (size_t i = 0; i < s->rows; i++)
        if (isfinite(num[i]))
            q->whole &= num[i] == floor(num[i]), positive += num[i] > 0, q->n++;
    if (q->n < TAB_SUSPECT_ROWS)
        return true;
    size_t n = q->n < TAB_SUSPECT_QUANTILES ? q->n : TAB_SUSPECT_QUANTILES;
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    double *x = a == NULL ? NULL : tab_arena_new_of(a, double, n);
    double *l = a == NULL ? NULL : tab_arena_new_of(a, double, n);
    if (x == NULL || l == NULL)
        return false;
    n = tab_sampled_numbers(num, s->rows, q->n, x);
    qsort(x, n, sizeof *x, tab_ascending_double);
    q->least = tab_quantile_of(x, n, 0.005);
    q->most = tab_quantile_of(x, n, 0.995);
    q->positive = positive >= q->n - q->n / 200;
    size_t m = 0;
    for (size_t i = 0; q->positive && i < n; i++)
        if (x[i] > 0)
            l[m++] = log(x[i]);
    q->log = q->positive && !time && skew(l, m) < skew(x, n);
    const double *v = q->log ? l : x;
    size_t k = q->log ? m : n;
    q->median = tab_quantile_of(v, k, 0.5);
    q->low = tab_quantile_of(v, k, 0.25);
    q->high = tab_quantile_of(v, k, 0.75);
    q->tail_low = tab_quantile_of(v, k, 0.01);
    q->tail_high = tab_quantile_of(v, k, 0.99);
    q->spread = (q->high - q->low) / NORMAL_IQR;
    return true;
}

/* ---- candidates --------------------------------------------------------------------------------------- */

/* x times a power of ten that brings it where it should be: *ret; 0: none does. */
static double slip_of(const tab_scale *q, const tab_residuals *m, double x, double left)
{
    for (int k = -3; k <= 3; k++) {
        double y = x * pow(10, k);
        if (k == 0 || (q->whole && y != floor(y)))
            continue;
        bool fits = m->left != NULL && isfinite(left)
                        ? fabs(m->log ? left + k * log(10) : left + (y - x)) < 2 * m->spread + 1e-9 * m->whole
                        : tab_on_scale(q, y) >= q->low && tab_on_scale(q, y) <= q->high;
        if (fits && y >= q->least && y <= q->most)
            return y;
    }
    return 0;
}

/* The z of x from the middle, past a spread that is no smaller than a step of the numbers. */
static double far_of(double d, double spread, double floor_)
{
    return fabs(d) / (spread > floor_ ? spread : floor_);
}

static void measure(tab_search *s, size_t column, const tab_scale *q, const tab_residuals *m, size_t row)
{
    const tab_seen *v = &s->seen[column];
    double x = v->num[row], y = tab_on_scale(q, x), left = m->left == NULL ? (double)NAN : m->left[row];
    bool out = !isfinite(y);
    double z = out ? 30 : far_of(y - q->median, q->spread, 1e-12);
    double tail = q->median < y ? q->tail_high - q->median : q->median - q->tail_low;
    double past = out ? 4 : tail > 0 ? fabs(y - q->median) / tail : z > 0 ? 4 : 0;
    double given = isfinite(left) && m->spread >= 0 ? far_of(left, m->spread, 1e-7 * m->whole) : 0;
    bool alone = (z > 3.5 && past > 1.15) || out;
    if (!alone && given < 6)
        return;
    tab_suspect *c =
        tab_suspects_add(s, row, column, alone && past > 1.15 ? TAB_SUSPECT_RANGE : TAB_SUSPECT_OUTLIER);
    if (c == NULL)
        return;
    double slip = slip_of(q, m, x, left), ratio = m->left == NULL ? 1 : m->spread / m->whole;
    c->f[0] = (float)(fmin(tab_log_count(z), 3) / 3);
    c->f[1] = (float)(fmin(past, 10) / 10);
    c->f[2] = (float)(fmin(tab_log_count(given), 4) / 4);
    c->f[3] = (float)ratio;
    c->f[4] = slip != 0;
    c->f[5] = (float)(log10(ratio + 1e-4) / -4);
    c->f[6] = (float)(fmin(q->spread > 0 ? tail / q->spread : 10, 20) / 20); /* how long the tail is */
    c->f[7] = (float)(tab_log_count((double)q->n) / 4);
    c->f[8] = q->positive && x <= 0;
    c->f[9] = v->col->type == TAB_DATETIME;
    c->f[10] = given > 6 && alone;
    c->f[11] = q->spread <= 0;
    c->other = m->left == NULL ? UINT32_MAX : m->other;
    c->of = (uint32_t)q->n;
    if (v->col->type == TAB_DATETIME)
        return;
    if (slip != 0)
        c->suggestion = tab_suspects_number_text(s->arena, slip, v->col->decimals);
    else if (ratio < 1e-3 && isfinite(left))
        c->suggestion =
            tab_suspects_number_text(s->arena, m->log ? x * exp(-left) : x - left, v->col->decimals);
}

static bool numbers_of(tab_search *s)
{
    tab_numbers u = { .n = 0 };
    for (size_t c = 0; c < s->p->table->cols && u.n < TAB_SUSPECT_NUMBERS; c++) {
        const tab_seen *v = &s->seen[c];
        if (v->num == NULL)
            continue;
        u.col[u.n] = c;
        if (!scale_of(s, v->num, v->col->type == TAB_DATETIME, &u.q[u.n]))
            return false;
        u.n += u.q[u.n].n >= TAB_SUSPECT_ROWS && u.q[u.n].most > u.q[u.n].least;
    }
    if (!tab_suspects_identities(s, &u))
        return false;
    const tab_group_sample *g = tab_group_samples(s);
    if (g == NULL)
        return false;
    for (size_t k = 0; k < u.n && !s->failed && !tab_engine_cancelled(s->e); k++) {
        tab_residuals m;
        TAB_AUTO(tab_arena) *own = tab_arena_new(TAB_SUSPECT_BYTES); /* one column's residuals at a time */
        if (own == NULL || !tab_best_given(s, own, &u, g, k, &m))
            return false;
        for (size_t i = 0; i < s->rows && !s->failed; i++)
            if (isfinite(s->seen[u.col[k]].num[i]))
                measure(s, u.col[k], &u.q[k], &m, i);
    }
    return true;
}

void tab_suspects_numbers(tab_search *s)
{
    s->failed |= !numbers_of(s);
}
