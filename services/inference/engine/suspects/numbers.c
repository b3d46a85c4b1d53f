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

static const double LEAST = 0.3; /* numbers as far out that a tail makes speak as much as one wrong number */
static const double NORMAL_IQR = 1.349; /* middle half of a normal distribution in standard deviations */

/* How uneven the middle is: Bowley's skewness by deciles, -1 to 1. */
static double skew(const double *sorted, size_t n)
{
    double a = tab_quantile_of(sorted, n, 0.1), b = tab_quantile_of(sorted, n, 0.5);
    double c = tab_quantile_of(sorted, n, 0.9);
    return c > a ? fabs((c - b) - (b - a)) / (c - a) : 0;
}

/* The tail of the positive ones of n sorted numbers as a Pareto law, by their 0.9 and 0.98 quantiles; of all
 * numbers `positive` are. */
static void upper_tail(const double *sorted, size_t n, size_t positive, tab_scale *q)
{
    enum { ENOUGH = 20 };
    size_t from = 0;
    while (from < n && !(sorted[from] > 0))
        from++;
    if (n - from < ENOUGH)
        return;
    double begin = tab_quantile_of(sorted + from, n - from, 0.9);
    q->far = tab_quantile_of(sorted + from, n - from, 0.98);
    q->index = q->far > begin ? log(0.1 / 0.02) / log(q->far / begin) : 0;
    q->beyond = 0.02 * (double)positive;
}

/* How many numbers lie as far out as x if the upper tail goes on. */
static double made_by_tail(const tab_scale *q, double x)
{
    return q->index > 0 && x > q->far ? q->beyond * pow(x / q->far, -q->index) : 0;
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
    upper_tail(x, n, positive, q);
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

/* -log10 of how often a number as far from its model as this one would come near it by a power of ten. */
static double slip_by_chance(const tab_residuals *m, double x, double left)
{
    double near = 2 * m->spread + 1e-9 * m->whole, log_near = m->log ? near : near / (fabs(x - left) + near);
    return fmin(3, -log10(fmin(1, 2 * log_near / log(10)) + 1e-3)) / 3;
}

/* How far a number is from the middle: in spreads, and past where the tail begins; -1: not finite on the
 * scale. */
typedef struct {
    double z, past, tail;
    bool alone; /* too far to be of the column */
} distance;

static distance distance_of(const tab_scale *q, double x)
{
    double y = tab_on_scale(q, x);
    bool out = !isfinite(y);
    distance d = { .z = out ? 30 : far_of(y - q->median, q->spread, 1e-12),
                   .tail = q->median < y ? q->tail_high - q->median : q->median - q->tail_low };
    d.past = out ? 4 : d.tail > 0 ? fabs(y - q->median) / d.tail : d.z > 0 ? 4 : 0;
    d.alone = (d.z > 3.5 && d.past > 1.15) || out;
    return d;
}

/* Whether a zero is the next one of a column's least numbers: two of its cells are one or two units of the
 * last decimal. */
static bool goes_down_to_zero(const tab_search *s, const tab_seen *v)
{
    double unit = pow(10, -(double)v->col->decimals);
    size_t n = 0;
    for (size_t i = 0; i < s->rows && n < 2; i++)
        n += v->num[i] > 0 && v->num[i] < 2.5 * unit;
    return n == 2;
}

/* The numbers that lie too far out, and the outermost of the others: a tail goes on, and a value that is one
 * of the column's stands more than once. */
typedef struct {
    double *x; /* (n) sorted */
    size_t n;
    double low, high;
    bool to_zero; /* a zero is one of the column's */
} outer;

static bool outer_of(const tab_search *s, tab_arena *a, const tab_seen *v, const tab_scale *q, outer *ret)
{
    const double *num = v->num;
    *ret = (outer){ .low = INFINITY, .high = -INFINITY, .to_zero = q->positive && goes_down_to_zero(s, v) };
    for (size_t i = 0; i < s->rows; i++) {
        bool alone = isfinite(num[i]) && distance_of(q, num[i]).alone;
        ret->n += alone;
        if (isfinite(num[i]) && !alone)
            ret->low = fmin(ret->low, num[i]), ret->high = fmax(ret->high, num[i]);
    }
    ret->x = tab_arena_new_of(a, double, ret->n + 1);
    if (ret->x == NULL)
        return false;
    ret->n = 0;
    for (size_t i = 0; i < s->rows; i++)
        if (isfinite(num[i]) && distance_of(q, num[i]).alone)
            ret->x[ret->n++] = num[i];
    if (ret->n > 0)
        qsort(ret->x, ret->n, sizeof *ret->x, tab_ascending_double);
    return true;
}

/* The first of the outer ones that is not below x. */
static size_t not_below(const outer *o, double x)
{
    size_t from = 0, to = o->n;
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (o->x[mid] < x)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Of the way from the middle to x the share that no other number lies on; *ret_same: cells of x. */
static double lonely(const outer *o, const tab_scale *q, double x, size_t *ret_same)
{
    size_t from = not_below(o, x), to = from;
    double y = tab_on_scale(q, x), near;
    while (to < o->n && o->x[to] == x)
        to++;
    *ret_same = to - from;
    if (!isfinite(y) || !(o->low <= o->high))
        return 1;
    if (y > q->median)
        near = from > 0 ? fmax(o->x[from - 1], o->high) : o->high;
    else
        near = to < o->n ? fmin(o->x[to], o->low) : o->low;
    near = tab_on_scale(q, near);
    return isfinite(near) && y != q->median ? fmin(1, fabs(y - near) / fabs(y - q->median)) : 1;
}

static void measure(tab_search *s, const tab_numbers *u, size_t k, const tab_residuals *m, const outer *o,
                    size_t row)
{
    size_t column = u->col[k];
    const tab_scale *q = &u->q[k];
    const tab_seen *v = &s->seen[column];
    bool confirmed = u->confirmed[k] != NULL && u->confirmed[k][row];
    double x = v->num[row], left = m->left == NULL || confirmed ? (double)NAN : m->left[row];
    distance d = distance_of(q, x);
    double given = isfinite(left) && m->spread >= 0 ? far_of(left, m->spread, 1e-7 * m->whole) : 0;
    double z = d.z, past = d.past, tail = d.tail;
    bool alone = d.alone;
    size_t same = 0;
    if ((!alone && given < 6) || (x == 0 && o->to_zero))
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
    if (alone) {
        c->by_tail = made_by_tail(q, x) / LEAST;
        c->f[13] = (float)lonely(o, q, x, &same);
        c->f[12] = (float)(fmin(tab_log_count((double)same), 2) / 2);
    }
    c->other = m->left == NULL ? UINT32_MAX : m->other;
    if (slip != 0 && m->left != NULL && isfinite(left))
        c->f[14] = (float)slip_by_chance(m, x, left);
    c->of = (uint32_t)q->n;
    if (v->col->type == TAB_DATETIME)
        return;
    if (slip != 0)
        c->suggestion = tab_suspects_number_text(s->arena, slip, v->col->decimals);
    else if (ratio < 1e-3 && isfinite(left))
        c->suggestion =
            tab_suspects_number_text(s->arena, m->log ? x * exp(-left) : x - left, v->col->decimals);
}

/* One more column of numbers. False: memory ran out. */
static bool add_scale(tab_search *s, size_t c, const double *num, tab_numbers *u)
{
    tab_scale *q = &u->q[u->n];
    u->col[u->n] = c;
    if (!scale_of(s, num, s->seen[c].col->type == TAB_DATETIME, q))
        return false;
    u->n += q->n >= TAB_SUSPECT_ROWS && q->most > q->least;
    return true;
}

bool tab_suspects_scales(tab_search *s, tab_numbers *ret)
{
    *ret = (tab_numbers){ .n = 0 };
    for (size_t c = 0; c < s->p->table->cols && ret->n < TAB_SUSPECT_NUMBERS; c++)
        if (s->seen[c].num != NULL && !add_scale(s, c, s->seen[c].num, ret))
            return false;
    return true;
}

bool tab_suspects_amounts(tab_search *s, tab_numbers *u)
{
    for (size_t c = 0; c < s->p->table->cols && u->n < TAB_SUSPECT_AMOUNTS; c++)
        if (s->seen[c].amount != NULL && !add_scale(s, c, s->seen[c].amount, u))
            return false;
    return true;
}

/* The identities of all numbers; which cells of u are confirmed. False: memory ran out. */
static bool identities(tab_search *s, tab_numbers *u)
{
    tab_numbers all = *u;
    if (!tab_suspects_amounts(s, &all) || !tab_suspects_identities(s, &all))
        return false;
    for (size_t k = 0; k < u->n; k++)
        u->confirmed[k] = all.confirmed[k];
    return true;
}

static bool numbers_of(tab_search *s)
{
    tab_numbers u;
    const tab_group_sample *g = tab_group_samples(s);
    if (g == NULL || !tab_suspects_scales(s, &u) || !identities(s, &u) || !tab_suspects_orders(s, &u, g))
        return false;
    for (size_t k = 0; k < u.n && !s->failed && !tab_engine_cancelled(s->e); k++) {
        tab_residuals m;
        outer o;
        TAB_AUTO(tab_arena) *own = tab_arena_new(TAB_SUSPECT_BYTES); /* one column's residuals at a time */
        if (own == NULL || !tab_best_given(s, own, &u, g, k, &m) ||
            !outer_of(s, own, &s->seen[u.col[k]], &u.q[k], &o) || !tab_suspects_units(s, &u, k, &m))
            return false;
        tab_suspects_exchanged(s, &u, k, &m);
        for (size_t i = 0; i < s->rows && !s->failed; i++)
            if (isfinite(s->seen[u.col[k]].num[i]))
                measure(s, &u, k, &m, &o, i);
    }
    return tab_suspects_drop_marks(s);
}

void tab_suspects_numbers(tab_search *s)
{
    s->failed |= !numbers_of(s);
}
