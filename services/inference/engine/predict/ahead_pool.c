/* See ahead.h: weights of the members, and bands by distance, from errors at earlier cuts.
 *
 * Weights of numbers fall with a member's own loss, to the power -POWER (Bates & Granger, Operational
 * Research Quarterly 1969): errors of few cuts hardly tell how members go together. Classes are weighed by
 * picking the member, again and again, that lowers the loss of the mean of all picks most (ensemble
 * selection: Caruana et al., ICML 2004).
 *
 * A band's half is an error's deviation at its distance, sqrt(flat + slope d), the growth of a random
 * walk's error, times a quantile of the sizes of errors in that unit. Of n errors that go together as these
 * do, a new one is within the quantile at (1 + 1 / n) of the level (conformal prediction: Vovk et al.
 * 2005); n is how many are as good as independent, told from the correlation of neighbours in a series and
 * of series at a cut. */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/predict/ahead_parts.h"

enum { PICKS = 20, RANGES = 6, SKEWED = 200 };
static const double FAR = 8, POWER = 3;

/* ---- weights --------------------------------------------------------------------------------- */

void tab_ahead_combine(const tab_ahead_answers *at, size_t i, const double *weight, double temperature,
                       bool classification, double *out)
{
    size_t k = at->outputs;
    double top = (double)-INFINITY, sum = 0;
    for (size_t j = 0; j < k; j++) {
        out[j] = 0;
        for (size_t m = 0; m < at->members; m++)
            if (weight[m] > 0)
                out[j] += weight[m] * (double)at->out[(m * at->n + i) * k + j];
        out[j] /= temperature;
        top = fmax(top, out[j]);
    }
    if (!classification)
        return;
    for (size_t j = 0; j < k; j++)
        sum += out[j] = exp(out[j] - top);
    for (size_t j = 0; j < k; j++)
        out[j] /= sum;
}

/* The summed loss of weights over the cuts. */
static double loss_of(const tab_ahead_work *w, const tab_ahead_answers *at, size_t cuts, size_t without,
                      const double *weight, double temperature, double *scratch)
{
    double loss = 0;
    for (size_t c = 0; c < cuts; c++)
        for (size_t i = 0; c != without && i < at[c].n; i++) {
            uint32_t row = at[c].moment[i].row;
            tab_ahead_combine(&at[c], i, weight, temperature, w->t->classification, scratch);
            if (w->t->classification) {
                loss -= log(fmax(scratch[w->t->label[row]], 1e-12));
            } else {
                double e = fmax(-FAR, fmin(FAR, (scratch[0] - w->y[row]) / at[c].scale[i]));
                loss += e * e;
            }
        }
    return loss;
}

/* Each member's share of one: its loss to the power -POWER. */
static void inverse(const double *loss, const bool *has, size_t members, double *weight)
{
    double least = (double)INFINITY, sum = 0;
    for (size_t m = 0; m < members; m++)
        least = has[m] ? fmin(least, loss[m]) : least;
    for (size_t m = 0; m < members; m++) {
        weight[m] = !has[m] ? 0 : loss[m] > 0 ? pow(least / loss[m], POWER) : 1;
        sum += weight[m];
    }
    for (size_t m = 0; m < members; m++)
        weight[m] /= sum > 0 ? sum : 1;
}

/* Classes: picks that lower the loss of their mean most. */
static void pick(const tab_ahead_work *w, const tab_ahead_answers *at, size_t cuts, size_t without,
                 const bool *has, double *scratch, double *weight)
{
    size_t members = at[0].members, picked[TAB_AHEAD_MEMBERS] = { 0 };
    for (size_t round = 1; round <= PICKS; round++) {
        double best = (double)INFINITY;
        size_t which = 0;
        for (size_t m = 0; m < members; m++) {
            if (!has[m])
                continue;
            picked[m]++;
            for (size_t k = 0; k < members; k++)
                weight[k] = (double)picked[k] / (double)round;
            picked[m]--;
            double loss = loss_of(w, at, cuts, without, weight, 1, scratch);
            if (loss < best)
                best = loss, which = m;
        }
        picked[which]++;
        for (size_t k = 0; k < members; k++)
            weight[k] = (double)picked[k] / (double)round;
    }
}

bool tab_ahead_weigh(const tab_ahead_work *w, const tab_ahead_answers *at, size_t cuts, size_t without,
                     double *weight, double *temperature)
{
    static const double tried[] = { 0.7, 0.8, 0.9, 1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3 };
    size_t members = at[0].members;
    double *scratch = malloc((at[0].outputs + 1) * sizeof *scratch), loss[TAB_AHEAD_MEMBERS] = { 0 };
    bool has[TAB_AHEAD_MEMBERS] = { false };
    if (scratch == NULL)
        return false;
    *temperature = 1;
    for (size_t m = 0; m < members; m++) {
        has[m] = true;
        for (size_t c = 0; c < cuts; c++)
            has[m] = has[m] && at[c].has[m];
        memset(weight, 0, members * sizeof *weight);
        weight[m] = 1;
        loss[m] = has[m] ? loss_of(w, at, cuts, without, weight, 1, scratch) : 0;
    }
    if (!w->t->classification) {
        inverse(loss, has, members, weight);
        free(scratch);
        return true;
    }
    pick(w, at, cuts, without, has, scratch, weight);
    double before = loss_of(w, at, cuts, without, weight, 1, scratch);
    for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
        double own = loss_of(w, at, cuts, without, weight, tried[k], scratch);
        if (own < before)
            before = own, *temperature = tried[k];
    }
    free(scratch);
    return true;
}

/* ---- bands ----------------------------------------------------------------------------------- */

double tab_ahead_deviation(const tab_ahead_band *b, double distance)
{
    return sqrt(b->flat + b->slope * fmax(fmin(distance, b->reach), 0) +
                b->far * fmax(distance - b->reach, 0));
}

static int by_distance(const void *a, const void *b)
{
    const tab_ahead_error *x = a, *y = b;
    return (x->distance > y->distance) - (x->distance < y->distance);
}

static int by_series(const void *a, const void *b)
{
    const tab_ahead_error *x = a, *y = b;
    if (x->origin != y->origin)
        return x->origin < y->origin ? -1 : 1;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return (x->pos > y->pos) - (x->pos < y->pos);
}

/* flat and slope, neither below 0, by least squares on the mean squares of ranges of distances, each by its
 * own size: a range's mean square varies as its square. v by distance. */
static void growth(const tab_ahead_error *v, size_t n, tab_ahead_band *b)
{
    double d[RANGES] = { 0 }, s[RANGES] = { 0 }, all = 0;
    size_t ranges = n < 4 * RANGES ? 1 : RANGES;
    for (size_t k = 0; k < ranges; k++) {
        size_t from = k * n / ranges, to = (k + 1) * n / ranges;
        for (size_t i = from; i < to; i++) {
            d[k] += v[i].distance / (double)(to - from);
            s[k] += v[i].error * v[i].error / (double)(to - from);
        }
        all += s[k] / (double)ranges;
    }
    double x = 0, y = 0, xx = 0, xy = 0;
    for (size_t k = 0; k < ranges; k++)
        x += d[k] / (double)ranges, y += s[k] / (double)ranges;
    for (size_t k = 0; k < ranges; k++)
        xx += (d[k] - x) * (d[k] - x), xy += (d[k] - x) * (s[k] - y);
    b->slope = xx > 0 && xy > 0 ? xy / xx : 0;
    b->flat = y - b->slope * x;
    if (b->flat < 0.02 * all) { /* it grows from nothing: a line through the origin */
        double dd = 0, ds = 0;
        for (size_t k = 0; k < ranges; k++)
            dd += d[k] * d[k], ds += d[k] * s[k];
        b->flat = 0.02 * all;
        b->slope = dd > 0 ? ds / dd : 0;
    }
    if (!(b->flat > 0))
        b->flat = 1e-18;
}

/* How many of the errors are as good as independent. u (n): in the band's unit, by series and time. */
static double independent(const tab_ahead_error *v, const double *u, size_t n, size_t origins)
{
    double own = 0, next = 0, pairs = 0, square = 0, common = 0, chains = 0;
    for (size_t i = 0; i < n; i++) {
        square += u[i] * u[i] / (double)n;
        bool chained = i > 0 && v[i].origin == v[i - 1].origin && v[i].series == v[i - 1].series;
        chains += !chained;
        if (chained) {
            next += u[i] * u[i - 1];
            own += (u[i] * u[i] + u[i - 1] * u[i - 1]) / 2;
            pairs++;
        }
    }
    for (size_t from = 0, to; from < n; from = to) {
        double sum = 0;
        for (to = from; to < n && v[to].origin == v[from].origin; to++)
            sum += u[to];
        double mean = sum / (double)(to - from);
        common += mean * mean * (double)(to - from) / (double)n;
    }
    double along = own > 0 ? fmax(0, fmin(0.99, next / own)) : 0;
    double free_of = chains + pairs * (1 - along) / (1 + along);
    double per = fmax(1, free_of / (double)origins);
    double across = square > 0 ? fmax(0, (common / square - 1 / per) / (1 - 1 / (per + 1))) : 0;
    return fmax((double)origins, free_of / (1 + (per - 1) * fmin(1, across)));
}

static double at_rank(const double *sorted, size_t n, double tau)
{
    double at = fmax(0, fmin((double)n - 1, tau * ((double)n + 1) - 1));
    size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (sorted[i + 1] - sorted[i]) * (at - (double)i) : sorted[n - 1];
}

bool tab_ahead_bands(const tab_ahead_error *errors, size_t n, size_t origins, tab_ahead_band *ret)
{
    tab_ahead_error *v = malloc((n + 1) * sizeof *v);
    double *u = malloc((n + 1) * sizeof *u), *size = malloc((n + 1) * sizeof *size), square = 0;
    bool ok = v != NULL && u != NULL && size != NULL && n > 0;
    *ret = (tab_ahead_band){ 0 };
    if (ok) {
        memcpy(v, errors, n * sizeof *v);
        qsort(v, n, sizeof *v, by_distance);
        growth(v, n, ret);
        ret->reach = fmax(v[n - 1].distance, 1);
        qsort(v, n, sizeof *v, by_series);
        for (size_t i = 0; i < n; i++) {
            u[i] = v[i].error / tab_ahead_deviation(ret, v[i].distance);
            size[i] = fabs(u[i]);
            square += u[i] * u[i] / (double)n;
        }
        double own = independent(v, u, n, origins), more = 1 + 1 / own;
        /* Beyond what was judged nothing bears the slope out. One error more, of a random walk's growth, is
         * counted beside the independent ones that told it. */
        double far = (ret->flat + ret->slope * ret->reach) / ret->reach;
        ret->far = (own * ret->slope + far) / (own + 1);
        qsort(u, n, sizeof *u, tab_ascending_double);
        qsort(size, n, sizeof *size, tab_ascending_double);
        for (size_t l = 0; l < TAB_LEVELS; l++) {
            double tau = tab_quantile_level[l], half = at_rank(size, n, fmin(1, fabs(2 * tau - 1) * more));
            /* few independent errors lie on one side by chance: both halves are as wide then */
            ret->quantile[l] = own >= SKEWED ? at_rank(u, n, tau) : tau < 0.5 ? -half : tau > 0.5 ? half : 0;
        }
        ret->spread = sqrt(square);
    }
    free(v), free(u), free(size);
    return ok;
}
