/* Steps ahead of a handful of values (decision 0843). Members that are judged at earlier cuts need a past to
 * cut; five yearly figures have none. They are answered by four closed forms, each of which says of a step
 * ahead where it lies and how far off that may be, as a Student distribution:
 *
 *   level   values about a mean
 *   walk    each value is the one before and a change
 *   drift   a walk whose changes have a mean, drawn to none by one further change of none
 *   line    values about a straight line, whose slope is drawn to none likewise
 *
 * and the same of the logarithms, where all values are above 0 and of one order of size. What a form is worth
 * is how likely it called each value that it was asked for when only those before it were known (prequential
 * evidence: Dawid, Journal of the Royal Statistical Society A 147, 1984). The answer's quantiles are those of
 * their mixture (Hoeting et al., Bayesian Model Averaging, Statistical Science 14, 1999). A slope goes on for
 * DAMPED times as many steps as are known, by and by less (Gardner and McKenzie, 1985). Few values leave few
 * degrees of freedom: the bands are wide, as they should be. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/ahead/ahead.h"

/* FEW: with as many values the members of ahead.c are judged well enough. CELLS: of the half circle that
 * Student's distribution is summed over. HALVINGS: of the range in which a quantile lies. */
enum { FEW = 12, FORMS = 4, MEMBERS = 2 * FORMS, CELLS = 256, HALVINGS = 100 };
/* NONE: changes of none that a drift, and squares of steps that a slope, is drawn by. BEFORE: degrees of
 * freedom that the mean square of the changes is worth beside a form's own errors. SPAN: the largest value
 * beside the least, up to which logarithms are looked at. WIDER: no series is of one form for good. Chosen on
 * the yearly series of the M1 competition, windows of 3 to 11 values. */
static const double NONE = 1, BEFORE = 0.5, SPAN = 3, DAMPED = 2, WIDER = 1.17, TINY = 1e-9,
                    HALF_PI = 1.5707963267948966;

/* The labelled values of one series in order of time. */
typedef struct {
    size_t n;
    double at[FEW], y[FEW], log[FEW]; /* steps, values, their logarithms */
    uint32_t row[FEW];
    bool logs;
} values;

/* Where one form says that a value lies. */
typedef struct {
    double place, scale, df;
} student;

/* Student's distribution at CELLS edges of the angle, t = sqrt(df) tan(angle): its density there is
 * cos^(df - 1). */
static void sum_student(double df, double *below)
{
    double all = 0;
    below[0] = 0;
    for (int i = 0; i < CELLS; i++) {
        double angle = ((2 * (double)i + 1) / CELLS - 1) * HALF_PI;
        all += pow(cos(angle), df - 1);
        below[i + 1] = all;
    }
    for (int i = 0; i <= CELLS; i++)
        below[i] /= all;
}

static double below_of(const double *below, double df, double t)
{
    double cell = (atan(t / sqrt(df)) / HALF_PI + 1) / 2 * CELLS;
    size_t i = cell > 0 ? (size_t)fmin(cell, CELLS - 1) : 0;
    return below[i] + (below[i + 1] - below[i]) * fmin(fmax(cell - (double)i, 0), 1);
}

/* Where Student's distribution is as likely below as level says. */
static double student_at(const double *below, double df, double level)
{
    size_t i = 0;
    while (i < CELLS - 1 && below[i + 1] < level)
        i++;
    double part = (level - below[i]) / (below[i + 1] - below[i]);
    return sqrt(df) * tan((2 * ((double)i + part) / CELLS - 1) * HALF_PI);
}

static double log_density(student s, double z)
{
    double t = (z - s.place) / s.scale;
    return lgamma((s.df + 1) / 2) - lgamma(s.df / 2) - 0.5 * log(s.df * 2 * HALF_PI) - log(s.scale) -
           (s.df + 1) / 2 * log1p(t * t / s.df);
}

/* What form f says of the value h steps after the first n ones; n is 2 or more. */
static student ahead_of(int f, const values *v, const double *z, size_t n, double h)
{
    double first = v->at[0], length = v->at[n - 1] - first, mean = 0, when = 0, change = 0;
    for (size_t i = 0; i < n; i++) {
        mean += (z[i] - mean) / (double)(i + 1), when += (v->at[i] - when) / (double)(i + 1);
        change += i > 0 ? (z[i] - z[i - 1]) * (z[i] - z[i - 1]) / (v->at[i] - v->at[i - 1]) : 0;
    }
    double usual = change / (double)(n - 1), damp = DAMPED * (length + 1);
    double far = damp * (1 - exp(-h / damp)), df = (double)(n - 1) + BEFORE, of = 0, rest, grown;
    student s = { .df = df };
    switch (f) {
    case 0: /* level */
        s.place = mean;
        rest = BEFORE * usual / 2, grown = 1 + 1 / (double)n;
        for (size_t i = 0; i < n; i++)
            rest += (z[i] - mean) * (z[i] - mean);
        break;
    case 1: /* walk */
        s.place = z[n - 1];
        rest = BEFORE * usual + change, grown = h;
        break;
    case 2: /* drift */
        of = (z[n - 1] - z[0]) / (length + NONE);
        s.place = z[n - 1] + of * far;
        rest = BEFORE * usual + NONE * of * of, grown = h + h * h / (length + NONE);
        for (size_t i = 1; i < n; i++) {
            double gap = v->at[i] - v->at[i - 1], off = z[i] - z[i - 1] - of * gap;
            rest += off * off / gap;
        }
        break;
    default: { /* line */
        double square = NONE, x = v->at[n - 1] + far - when, out = v->at[n - 1] + h - when;
        for (size_t i = 0; i < n; i++)
            square += (v->at[i] - when) * (v->at[i] - when), of += (v->at[i] - when) * (z[i] - mean);
        of /= square;
        s.place = mean + of * x;
        rest = BEFORE * usual / 2 + NONE * of * of, grown = 1 + 1 / (double)n + out * out / square;
        for (size_t i = 0; i < n; i++) {
            double off = z[i] - mean - of * (v->at[i] - when);
            rest += off * off;
        }
    }
    }
    s.scale = fmax(sqrt(rest / df * grown), TINY * (fabs(z[n - 1]) + TINY));
    return s;
}

/* The weight of each member by the first n values: weight (MEMBERS) sums to 1. */
static void weigh(const values *v, size_t n, double *weight)
{
    double most = -(double)INFINITY, all = 0;
    for (int m = 0; m < MEMBERS; m++) {
        const double *z = m < FORMS ? v->y : v->log;
        weight[m] = m < FORMS || v->logs ? 0 : -(double)INFINITY;
        for (size_t i = 2; weight[m] > -(double)INFINITY && i < n; i++)
            weight[m] += log_density(ahead_of(m % FORMS, v, z, i, v->at[i] - v->at[i - 1]), z[i]) -
                         (m < FORMS ? 0 : z[i]);
        most = fmax(most, weight[m]);
    }
    for (int m = 0; m < MEMBERS; m++)
        all += weight[m] = exp(weight[m] - most);
    for (int m = 0; m < MEMBERS; m++)
        weight[m] /= all;
    assert(all >= 1);
}

/* The quantiles of what lies h steps after the first n values. below (MEMBERS, CELLS + 1) and weight are of
 * these n. */
static void quantiles(const values *v, size_t n, double h, const double *weight, double (*below)[CELLS + 1],
                      double *ret)
{
    student s[MEMBERS];
    for (int m = 0; m < MEMBERS; m++)
        s[m] = ahead_of(m % FORMS, v, m < FORMS ? v->y : v->log, n, h), s[m].scale *= WIDER;
    for (size_t l = 0; l < TAB_LEVELS; l++) {
        /* a mixture's quantile lies between those of its members */
        double low = (double)INFINITY, high = -(double)INFINITY;
        for (int m = 0; m < MEMBERS; m++) {
            double own = s[m].place + s[m].scale * student_at(below[m], s[m].df, tab_quantile_level[l]);
            own = m < FORMS ? own : exp(fmin(own, 700));
            low = weight[m] > 0 ? fmin(low, own) : low, high = weight[m] > 0 ? fmax(high, own) : high;
        }
        for (int i = 0; i < HALVINGS; i++) {
            double middle = low / 2 + high / 2, under = 0;
            for (int m = 0; m < MEMBERS; m++) {
                if (!(weight[m] > 0) || (m >= FORMS && !(middle > 0)))
                    continue;
                double z = m < FORMS ? middle : log(middle);
                under += weight[m] * below_of(below[m], s[m].df, (z - s[m].place) / s[m].scale);
            }
            *(under < tab_quantile_level[l] ? &low : &high) = middle;
        }
        ret[l] = low / 2 + high / 2;
    }
}

/* All forms of n values have the same degrees of freedom. */
static void sum_all(size_t n, double (*below)[CELLS + 1])
{
    for (int m = 0; m < MEMBERS; m++)
        sum_student((double)(n - 1) + BEFORE, below[m]);
}

/* The labelled values of series k; of one time, the last row's. */
static values read_series(const tab_ahead_task *t, size_t rows, uint32_t k)
{
    const tab_series *s = &t->asked->series;
    values v = { .logs = true };
    for (size_t r = 0; r < rows; r++) {
        if (isnan(t->y[r]) || s->series[r] != k || s->index[r] == INT64_MIN)
            continue;
        assert(v.n < FEW);
        double at = (double)s->index[r];
        size_t i = v.n;
        while (i > 0 && v.at[i - 1] > at)
            i--;
        if (i > 0 && v.at[i - 1] == at) { // NOLINT: the very step
            v.y[i - 1] = t->y[r], v.row[i - 1] = (uint32_t)r;
            continue;
        }
        for (size_t j = v.n; j > i; j--)
            v.at[j] = v.at[j - 1], v.y[j] = v.y[j - 1], v.row[j] = v.row[j - 1];
        v.at[i] = at, v.y[i] = t->y[r], v.row[i] = (uint32_t)r;
        v.n++;
    }
    double least = (double)INFINITY, most = -(double)INFINITY;
    for (size_t i = 0; i < v.n; i++) {
        least = fmin(least, v.y[i]), most = fmax(most, v.y[i]);
        v.log[i] = v.y[i] > 0 ? log(v.y[i]) : 0;
    }
    v.logs = least > 0 && most <= SPAN * least;
    return v;
}

static double spread_of(const double *quantile)
{
    return (quantile[TAB_LEVELS - 2] - quantile[1]) / 2.5631031310892007; /* of a normal distribution */
}

/* Each value from the third on, as it would have been answered when it came. */
static void judge(const values *v, tab_ahead *h)
{
    double below[MEMBERS][CELLS + 1], weight[MEMBERS];
    for (size_t n = 2; n < v->n; n++) {
        double *q = h->judged_quantile + h->judged * TAB_LEVELS, gap = v->at[n] - v->at[n - 1], mean = 0;
        tab_ahead_quality *of = &h->range[0];
        sum_all(n, below);
        weigh(v, n, weight);
        quantiles(v, n, gap, weight, below, q);
        for (size_t i = 0; i < n; i++)
            mean += v->y[i] / (double)n;
        double median = q[TAB_LEVELS / 2], truth = v->y[n];
        h->row[h->judged] = v->row[n];
        h->judged_value[h->judged++] = median;
        h->mean_loss += (truth - mean) * (truth - mean);
        of->loss += (truth - median) * (truth - median);
        of->baseline += (truth - v->y[n - 1]) * (truth - v->y[n - 1]);
        of->covered += truth >= q[1] && truth <= q[TAB_LEVELS - 2];
        of->judged++;
        of->distance += (gap - of->distance) / (double)of->judged;
    }
    h->origins = v->n > h->origins + 2 ? v->n - 2 : h->origins;
}

static void answer(const tab_ahead_task *t, size_t rows, uint32_t k, const values *v, tab_ahead *h)
{
    const tab_series *s = &t->asked->series;
    double below[MEMBERS][CELLS + 1], weight[MEMBERS];
    sum_all(v->n, below);
    weigh(v, v->n, weight);
    for (size_t r = 0; r < rows; r++) {
        double ahead = (double)s->index[r] - v->at[v->n - 1], *q = h->quantile + r * TAB_LEVELS;
        if (s->series[r] != k || t->asked->of[r] != TAB_REGIME_LATER || s->index[r] == INT64_MIN ||
            !(ahead > 0))
            continue;
        quantiles(v, v->n, ahead, weight, below, q);
        h->answered[r] = true;
        h->distance[r] = ahead;
        h->value[r] = q[TAB_LEVELS / 2];
        h->spread[r] = spread_of(q);
    }
}

tab_status tab_ahead_few(tab_arena *a, const tab_ahead_task *t, tab_ahead **ret, tab_error *err)
{
    const tab_series *s = &t->asked->series;
    size_t rows = t->p->table->rows, known = 0;
    *ret = NULL;
    if (t->classification || !t->p->steps || s->kind == TAB_TIME_NONE)
        return TAB_OK;
    for (size_t r = 0; r < rows && known < FEW; r++)
        known += !isnan(t->y[r]) && s->series[r] != TAB_NULL && s->index[r] != INT64_MIN;
    if (known >= FEW)
        return TAB_OK;
    tab_ahead *h = tab_arena_new_of(a, tab_ahead, 1);
    if (h == NULL || !tab_ahead_numbers(a, rows, known, h))
        return tab_no_memory(err);
    bool any = false;
    for (size_t k = 0; k < s->n; k++) {
        values v = read_series(t, rows, (uint32_t)k);
        if (v.n < 2)
            continue;
        judge(&v, h);
        answer(t, rows, (uint32_t)k, &v, h);
        any = true;
    }
    h->ranges = 1;
    h->banded = h->judged > 0;
    h->method = "a mean, the last value, its drift and a line, each weighed by how likely it made the past";
    *ret = any ? h : NULL;
    return TAB_OK;
}
