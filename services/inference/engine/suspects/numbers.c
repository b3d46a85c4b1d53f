/* Numbers that lie far out, alone and given the row's other numbers and groups.
 *
 *   alone   the distance from the median in units of the middle half (robust z), on the scale, plain or
 *           logarithmic, on which the middle half is the more even; beside where the outermost hundredth
 * begins,
 *           since a long tail is no error
 *   given   the same of what is left over by two models of the column: the median of the row's group, for the
 *           column whose groups tell most, and a least trimmed squares fit on all other numbers, plain and
 *           logarithmic, which sees sums and products to the last digit
 *   slip    ten, a hundred or a thousand times as much, or as little, would lie where it should */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/learn/linear/solve.h"
#include "services/inference/engine/suspects/parts.h"

enum { SAMPLE = 2000, MOST_NUMBERS = 24 };
static const double NORMAL_IQR = 1.349; /* middle half of a normal distribution in standard deviations */

/* A column on its scale: what its middle and its tails are. */
typedef struct {
    bool log;
    double median, low, high;   /* quartiles */
    double tail_low, tail_high; /* where the outermost hundredth begins */
    double spread;              /* (high - low) / NORMAL_IQR; 0: more than half of the cells are one number */
    double least, most;         /* 0.005 and 0.995 quantiles, in plain numbers */
    size_t n;
    bool whole, positive;
} scale;

static double on(const scale *q, double x)
{
    return q->log ? (x > 0 ? log(x) : (double)NAN) : x;
}

static double at(const double *sorted, size_t n, double q)
{
    double i = q * (double)(n - 1);
    size_t k = (size_t)i;
    return k + 1 < n ? sorted[k] + (i - (double)k) * (sorted[k + 1] - sorted[k]) : sorted[n - 1];
}

/* How uneven the middle is: Bowley's skewness by deciles, -1 to 1. */
static double skew(const double *sorted, size_t n)
{
    double a = at(sorted, n, 0.1), b = at(sorted, n, 0.5), c = at(sorted, n, 0.9);
    return c > a ? fabs((c - b) - (b - a)) / (c - a) : 0;
}

static bool scale_of(tab_search *s, const double *num, bool time, scale *q)
{
    double *x = tab_arena_new_of(s->scratch, double, s->rows + 1);
    double *l = tab_arena_new_of(s->scratch, double, s->rows + 1);
    size_t n = 0, positive = 0;
    if (x == NULL || l == NULL)
        return false;
    *q = (scale){ .whole = true };
    for (size_t i = 0; i < s->rows; i++)
        if (isfinite(num[i]))
            x[n] = num[i], q->whole &= num[i] == floor(num[i]), positive += num[i] > 0, n++;
    q->n = n;
    if (n < TAB_SUSPECT_ROWS)
        return true;
    qsort(x, n, sizeof *x, tab_ascending_double);
    q->least = at(x, n, 0.005);
    q->most = at(x, n, 0.995);
    q->positive = positive >= n - n / 200;
    size_t m = 0;
    for (size_t i = 0; q->positive && i < n; i++)
        if (x[i] > 0)
            l[m++] = log(x[i]);
    q->log = q->positive && !time && skew(l, m) < skew(x, n);
    const double *v = q->log ? l : x;
    size_t k = q->log ? m : n;
    q->median = at(v, k, 0.5);
    q->low = at(v, k, 0.25);
    q->high = at(v, k, 0.75);
    q->tail_low = at(v, k, 0.01);
    q->tail_high = at(v, k, 0.99);
    q->spread = (q->high - q->low) / NORMAL_IQR;
    return true;
}

/* ---- given the others -------------------------------------------------------------------------------- */

/* What is left over of a column by a model: residuals on the model's scale and their spread. */
typedef struct {
    double *left;         /* (rows) NaN where the model says nothing */
    double spread, whole; /* of the residuals; of the column on the same scale */
    bool log;
    uint32_t other; /* the column that it is given by, UINT32_MAX: several */
} model;

static double spread_of(tab_arena *a, const double *x, size_t rows)
{
    double *v = tab_arena_new_of(a, double, rows + 1);
    size_t n = 0;
    for (size_t i = 0; v != NULL && i < rows; i++)
        if (isfinite(x[i]))
            v[n++] = fabs(x[i]);
    if (n < TAB_SUSPECT_ROWS)
        return -1;
    qsort(v, n, sizeof *v, tab_ascending_double);
    return 1.4826 * at(v, n, 0.5); /* the median absolute deviation as a standard deviation */
}

/* The median of each group of five and more; rows of smaller ones have no residual. */
static bool by_group(tab_search *s, const tab_seen *g, const double *num, const scale *q, model *m)
{
    tab_arena *a = s->scratch;
    uint32_t *next = tab_arena_new_of(a, uint32_t, g->levels + 2);
    double *v = tab_arena_new_of(a, double, s->rows + 1),
           *median = tab_arena_new_of(a, double, g->levels + 1);
    m->left = tab_arena_new_of(a, double, s->rows + 1);
    if (next == NULL || v == NULL || median == NULL || m->left == NULL)
        return false;
    for (size_t l = 0; l < g->levels; l++)
        next[l + 1] = next[l] + g->count[l];
    uint32_t *end = tab_arena_new_of(a, uint32_t, g->levels + 1);
    if (end == NULL)
        return false;
    memcpy(end, next, g->levels * sizeof *end);
    for (size_t i = 0; i < s->rows; i++)
        if (g->code[i] != TAB_NULL && isfinite(on(q, num[i])))
            v[end[g->code[i]]++] = on(q, num[i]);
    for (size_t l = 0; l < g->levels; l++) {
        size_t n = end[l] - next[l];
        qsort(v + next[l], n, sizeof *v, tab_ascending_double);
        median[l] = n >= 5 ? at(v + next[l], n, 0.5) : (double)NAN;
    }
    for (size_t i = 0; i < s->rows; i++)
        m->left[i] = g->code[i] == TAB_NULL ? (double)NAN : on(q, num[i]) - median[g->code[i]];
    m->log = q->log;
    m->spread = spread_of(a, m->left, s->rows);
    m->whole = q->spread;
    return true;
}

/* The numbers of a table that take part in each other's fits. */
typedef struct {
    size_t col[MOST_NUMBERS], n;
    scale q[MOST_NUMBERS];
} numbers;

static double value_of(const tab_search *s, const numbers *u, size_t k, size_t row, bool log_scale)
{
    double x = s->seen[u->col[k]].num[row];
    if (log_scale)
        return x > 0 ? log(x) : (double)NAN;
    return x;
}

/* Least squares of number j on the others over rows `keep`, a row after the other; beta (n + 1). */
static bool solve_for(const tab_search *s, const numbers *u, size_t j, bool log_scale, const uint32_t *row,
                      size_t rows, const bool *keep, const double *center, const double *width, double *beta)
{
    size_t m = u->n + 1;
    double a[(MOST_NUMBERS + 1) * (MOST_NUMBERS + 1)] = { 0 };
    memset(beta, 0, m * sizeof *beta);
    for (size_t i = 0; i < rows; i++) {
        double z[MOST_NUMBERS + 1];
        if (!keep[i])
            continue;
        z[u->n] = 1;
        for (size_t k = 0; k < u->n; k++)
            z[k] = k == j ? 0 : (value_of(s, u, k, row[i], log_scale) - center[k]) / width[k];
        double y = (value_of(s, u, j, row[i], log_scale) - center[j]) / width[j];
        for (size_t k = 0; k < m; k++) {
            beta[k] += z[k] * y;
            for (size_t l = 0; l <= k; l++)
                a[k * m + l] += z[k] * z[l];
        }
    }
    for (size_t k = 0; k < m; k++) {
        a[k * m + k] += k == j ? 1 : 1e-9 * (double)rows + 1e-12;
        for (size_t l = 0; l < k; l++)
            a[l * m + k] = a[k * m + l];
    }
    tab_eliminate(a, m, beta, m);
    for (size_t k = 0; k < m; k++)
        if (!isfinite(beta[k]))
            return false;
    return true;
}

static double fitted(const tab_search *s, const numbers *u, size_t j, bool log_scale, size_t row,
                     const double *center, const double *width, const double *beta)
{
    double y = beta[u->n];
    for (size_t k = 0; k < u->n; k++)
        if (k != j)
            y += beta[k] * (value_of(s, u, k, row, log_scale) - center[k]) / width[k];
    return y * width[j] + center[j];
}

/* Rows of which every number is known, at most SAMPLE of them, spread over the table. */
static size_t complete(const tab_search *s, const numbers *u, bool log_scale, uint32_t *row)
{
    size_t n = 0, stride = s->rows / SAMPLE + 1;
    for (size_t i = 0; i < s->rows && n < SAMPLE; i += stride) {
        bool known = true;
        for (size_t k = 0; known && k < u->n; k++)
            known = isfinite(value_of(s, u, k, i, log_scale));
        if (known)
            row[n++] = (uint32_t)i;
    }
    return n;
}

/* Number j by all others: least squares, twice again on the rows that are left over least (Rousseeuw 1984).
 * */
static bool by_numbers(tab_search *s, const numbers *u, size_t j, bool log_scale, model *m)
{
    tab_arena *a = s->scratch;
    uint32_t *row = tab_arena_new_of(a, uint32_t, SAMPLE);
    bool *keep = tab_arena_new_of(a, bool, SAMPLE);
    double *left = tab_arena_new_of(a, double, SAMPLE), beta[MOST_NUMBERS + 1];
    double center[MOST_NUMBERS] = { 0 }, width[MOST_NUMBERS];
    *m = (model){ .spread = -1, .log = log_scale, .other = UINT32_MAX };
    if (row == NULL || keep == NULL || left == NULL)
        return false;
    size_t n = complete(s, u, log_scale, row);
    if (n < 10 * u->n || n < 2 * TAB_SUSPECT_ROWS)
        return true;
    for (size_t k = 0; k < u->n; k++) {
        for (size_t i = 0; i < n; i++)
            left[i] = value_of(s, u, k, row[i], log_scale);
        qsort(left, n, sizeof *left, tab_ascending_double);
        center[k] = at(left, n, 0.5);
        width[k] = (at(left, n, 0.9) - at(left, n, 0.1)) / 2.563;
        if (!(width[k] > 0))
            width[k] = left[n - 1] > left[0] ? left[n - 1] - left[0] : 1;
        if (k == j)
            m->whole = width[k];
    }
    for (size_t i = 0; i < n; i++)
        keep[i] = true;
    for (int round = 0; round < 4; round++) {
        if (!solve_for(s, u, j, log_scale, row, n, keep, center, width, beta))
            return true;
        for (size_t i = 0; i < n; i++)
            left[i] = value_of(s, u, j, row[i], log_scale) -
                      fitted(s, u, j, log_scale, row[i], center, width, beta);
        double spread = spread_of(a, left, n);
        for (size_t i = 0; i < n; i++)
            keep[i] = fabs(left[i]) <= 2.5 * spread + 1e-9 * m->whole;
    }
    m->left = tab_arena_new_of(a, double, s->rows + 1);
    if (m->left == NULL)
        return false;
    for (size_t i = 0; i < s->rows; i++)
        m->left[i] = value_of(s, u, j, i, log_scale) - fitted(s, u, j, log_scale, i, center, width, beta);
    m->spread = spread_of(a, m->left, s->rows);
    return true;
}

static bool tells_more(const model *m, const model *than)
{
    return m->left != NULL && m->spread >= 0 && m->whole > 0 && m->spread < 0.7 * m->whole &&
           (than->left == NULL || m->spread / m->whole < than->spread / than->whole);
}

/* The model that leaves least of number k over; left = NULL: none tells anything. */
static bool best_model(tab_search *s, const numbers *u, size_t k, model *best)
{
    const scale *q = &u->q[k];
    const double *num = s->seen[u->col[k]].num;
    *best = (model){ .left = NULL };
    for (size_t c = 0; c < s->p->table->cols && c < TAB_SUSPECT_COLUMNS; c++) {
        const tab_seen *g = &s->seen[c];
        model m = { .other = (uint32_t)c };
        if (c == u->col[k] || g->levels < 2 || g->levels * 5 > g->present || g->num != NULL)
            continue;
        if (!by_group(s, g, num, q, &m))
            return false;
        if (tells_more(&m, best))
            *best = m;
    }
    for (int log_scale = 0; u->n > 1 && log_scale < 2; log_scale++) {
        model m;
        if (!by_numbers(s, u, k, log_scale == 1, &m))
            return false;
        if (tells_more(&m, best))
            *best = m;
    }
    return true;
}

/* ---- candidates --------------------------------------------------------------------------------------- */

/* x times a power of ten that brings it where it should be: *ret; 0: none does. */
static double slip_of(const scale *q, const model *m, double x, double left)
{
    for (int k = -3; k <= 3; k++) {
        double y = x * pow(10, k);
        if (k == 0 || (q->whole && y != floor(y)))
            continue;
        bool fits = m->left != NULL && isfinite(left)
                        ? fabs(m->log ? left + k * log(10) : left + (y - x)) < 2 * m->spread + 1e-9 * m->whole
                        : on(q, y) >= q->low && on(q, y) <= q->high;
        if (fits && y >= q->least && y <= q->most)
            return y;
    }
    return 0;
}

static tab_str number_text(tab_arena *a, double x, int decimals)
{
    char buf[40];
    double unit = pow(10, decimals > 9 ? 9 : decimals);
    size_t n = tab_number_text(round(x * unit) / unit, buf);
    return tab_arena_copy(a, (tab_str){ buf, n });
}

/* The z of x from the middle, past a spread that is no smaller than a step of the numbers. */
static double far_of(double d, double spread, double floor_)
{
    return fabs(d) / (spread > floor_ ? spread : floor_);
}

static void measure(tab_search *s, size_t column, const scale *q, const model *m, size_t row)
{
    const tab_seen *v = &s->seen[column];
    double x = v->num[row], y = on(q, x), left = m->left == NULL ? (double)NAN : m->left[row];
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
        c->suggestion = number_text(s->e->arena, slip, v->col->decimals);
    else if (ratio < 1e-3 && isfinite(left))
        c->suggestion = number_text(s->e->arena, m->log ? x * exp(-left) : x - left, v->col->decimals);
}

void tab_suspects_numbers(tab_search *s)
{
    numbers u = { .n = 0 };
    for (size_t c = 0; c < s->p->table->cols && u.n < MOST_NUMBERS; c++) {
        const tab_seen *v = &s->seen[c];
        if (v->num == NULL)
            continue;
        u.col[u.n] = c;
        if (!scale_of(s, v->num, v->col->type == TAB_DATETIME, &u.q[u.n])) {
            s->full = true;
            return;
        }
        u.n += u.q[u.n].n >= TAB_SUSPECT_ROWS && u.q[u.n].most > u.q[u.n].least;
    }
    for (size_t k = 0; k < u.n && !s->full && !tab_engine_cancelled(s->e); k++) {
        model m;
        if (!best_model(s, &u, k, &m)) {
            s->full = true;
            return;
        }
        for (size_t i = 0; i < s->rows && !s->full; i++)
            if (isfinite(s->seen[u.col[k]].num[i]))
                measure(s, u.col[k], &u.q[k], &m, i);
    }
}
