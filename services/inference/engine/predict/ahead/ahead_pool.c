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
 * of series at a cut.
 *
 * Three cuts know few such errors, and only those of one stretch. The best simple forecast has no parameters:
 * its errors at all times of the past are as true. A band is the mean of what both say, the second times how
 * much better the members are where both were judged. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/predict/ahead/ahead_parts.h"

enum { PICKS = 20, RANGES = 6, SKEWED = 200, LAGS = 128 };
/* LEAST_PAST: rows of the past whose errors are looked at. GAIN, TRUST: independent errors at the cuts that
 * half of a gain, and half of a band, take. Decision 0402. */
enum { LEAST_PAST = 12, GROWN = 4 };
static const double FAR = 8, POWER = 3, GAIN = 4, TRUST = 40, CALMEST = 2, NONE = 0.05;
/* TURNS: how likely it is beforehand that errors grow by the square of the distance. ENOUGH: independent
 * errors of a distance, more of which say no more: shapes are rough. */
static const double TURNS = 0.1, ENOUGH = 100;
static const double NINETY = 1.2815515594600038; /* the normal number's quantile 0.9 */

/* ---- weights --------------------------------------------------------------------------------- */

void tab_ahead_combine(const tab_ahead_answers *at, size_t i, const double *weight, double temperature,
                       bool classification, double *out)
{
    size_t k = at->outputs;
    double top = (double)-INFINITY, sum = 0;
    assert(i < at->n && temperature > 0);
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
            if (at[c].novel != NULL && at[c].novel[i])
                continue; /* no member can know its class: novelty.h */
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
        assert(picked[which] <= round);
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

static double deviation(const tab_ahead_band *b, double distance)
{
    double near = fmax(fmin(distance, b->reach), 0);
    assert(!(b->flat < 0 || b->slope < 0 || b->far < 0)); /* it never falls with the distance */
    return sqrt(b->flat + b->slope * near + b->curve * near * near + b->far * fmax(distance - b->reach, 0));
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

/* How much longer a mean of a chain's errors takes to become sure than that of independent ones: 1 + 2 times
 * the correlations at all lags up to the first that is none (initial positive sequence: Geyer, Statistical
 * Science 1992). One lag alone would take a walk beneath noise for noise. mean: rows of a chain. */
static double correlation_time(const tab_ahead_error *v, const double *u, size_t n, double mean)
{
    double time = 1;
    for (size_t lag = 1; lag < LAGS && (double)lag < mean; lag++) {
        double both = 0, own = 0;
        for (size_t i = lag; i < n; i++)
            if (v[i].origin == v[i - lag].origin && v[i].series == v[i - lag].series) {
                both += u[i] * u[i - lag];
                own += (u[i] * u[i] + u[i - lag] * u[i - lag]) / 2;
            }
        if (!(both > NONE * own))
            break;
        time += 2 * (1 - (double)lag / mean) * both / own;
    }
    return time;
}

/* How many of the errors are as good as independent. u (n): in the band's unit, by series and time. */
static double independent(const tab_ahead_error *v, const double *u, size_t n, size_t origins)
{
    double square = 0, common = 0, chains = 0;
    for (size_t i = 0; i < n; i++) {
        square += u[i] * u[i] / (double)n;
        chains += !(i > 0 && v[i].origin == v[i - 1].origin && v[i].series == v[i - 1].series);
    }
    for (size_t from = 0, to; from < n; from = to) {
        double sum = 0;
        for (to = from; to < n && v[to].origin == v[from].origin; to++)
            sum += u[to];
        double mean = sum / (double)(to - from);
        common += mean * mean * (double)(to - from) / (double)n;
    }
    double free_of = fmax(chains, (double)n / correlation_time(v, u, n, (double)n / chains));
    double per = fmax(1, free_of / (double)origins);
    double across = square > 0 ? fmax(0, (common / square - 1 / per) / (1 - 1 / (per + 1))) : 0;
    return fmax((double)origins, free_of / (1 + (per - 1) * fmin(1, across)));
}

static double at_rank(const double *sorted, size_t n, double tau)
{
    assert(n > 0);
    double at = fmax(0, fmin((double)n - 1, tau * ((double)n + 1) - 1));
    size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (sorted[i + 1] - sorted[i]) * (at - (double)i) : sorted[n - 1];
}

/* The growth that is known, at the errors' own level. */
static void as_known(const tab_ahead_error *v, size_t n, const tab_ahead_growth *g, tab_ahead_band *b)
{
    double level = 0;
    *b = (tab_ahead_band){ .flat = g->flat, .slope = g->slope, .curve = g->curve, .reach = (double)INFINITY };
    for (size_t i = 0; i < n; i++)
        level += v[i].error * v[i].error / pow(deviation(b, v[i].distance), 2) / (double)n;
    level = fmax(level, 1e-18);
    b->flat *= level, b->slope *= level, b->curve *= level;
}

bool tab_ahead_band_of(const tab_ahead_error *errors, size_t n, size_t origins, const tab_ahead_growth *g,
                       tab_ahead_band *ret)
{
    tab_ahead_error *v = malloc((n + 1) * sizeof *v);
    double *u = malloc((n + 1) * sizeof *u), *size = malloc((n + 1) * sizeof *size), square = 0;
    bool ok = v != NULL && u != NULL && size != NULL && n > 0;
    *ret = (tab_ahead_band){ 0 };
    if (ok) {
        memcpy(v, errors, n * sizeof *v);
        qsort(v, n, sizeof *v, by_distance);
        if (g != NULL)
            as_known(v, n, g, ret);
        else
            growth(v, n, ret);
        ret->reach = g != NULL ? ret->reach : fmax(v[n - 1].distance, 1);
        qsort(v, n, sizeof *v, by_series);
        for (size_t i = 0; i < n; i++) {
            u[i] = v[i].error / deviation(ret, v[i].distance);
            size[i] = fabs(u[i]);
            square += u[i] * u[i] / (double)n;
        }
        double own = ret->own = independent(v, u, n, origins), more = 1 + 1 / own;
        /* Beyond what was judged nothing bears the slope out. One error more, of a random walk's growth, is
         * counted beside the independent ones that told it. */
        double far = (ret->flat + ret->slope * ret->reach) / ret->reach;
        ret->far = g != NULL ? 0 : (own * ret->slope + far) / (own + 1);
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

/* How the errors of the past are to be told at the asked times: how much better the members are than the best
 * simple forecast where both were judged, and how much worse the latter was there than over the past, if it
 * was: a calm stretch promises nothing. Both drawn to alike in proportion to how few independent errors say
 * so. */
static double gain_of(const tab_ahead_error *v, const double *base, size_t n, double own,
                      const tab_ahead_band *past, double *better)
{
    double members = 0, simple = 0, unit = 0;
    for (size_t i = 0; i < n; i++) {
        double e = fmin(fabs(v[i].error), TAB_AHEAD_FAR), b = fmin(fabs(base[i]), TAB_AHEAD_FAR);
        double u = b / (deviation(past, v[i].distance) * past->spread);
        members += e * e, simple += b * b, unit += u * u / (double)n;
    }
    double log_gain = members > 0 && simple > 0 ? 0.5 * log(members / simple) : 0;
    double wilder = fmax(0, 0.5 * log(fmax(unit, 1e-9)));
    *better = exp(log_gain * own / (own + GAIN));
    return exp((log_gain + wilder) * own / (own + GAIN));
}

/* Widens the band of the cuts where these fell in a calm stretch: the errors of the best simple forecast were
 * less there than over all the past. Half of that, as a factor, is taken over: the mean, in logarithms, of
 * what the cuts and what the past bear out. */
static void widen(const double *base, size_t n, const tab_ahead_answers *past, tab_ahead_band *b)
{
    double here = 0, usual = 0;
    for (size_t i = 0; i < n; i++)
        here += fmin(base[i] * base[i], TAB_AHEAD_FAR * TAB_AHEAD_FAR) / (double)n;
    for (size_t i = 0; i < past->pasts; i++)
        usual += past->past[i].error * past->past[i].error / (double)past->pasts;
    double ratio = here > 0 ? fmin(CALMEST, sqrt(usual / here)) : 1;
    if (ratio > 1)
        b->flat *= ratio, b->slope *= ratio, b->curve *= ratio, b->far *= ratio;
}

bool tab_ahead_bands_of(const tab_ahead_error *v, const double *base, size_t n, size_t origins,
                        const tab_ahead_growth *g, const tab_ahead_answers *past, tab_ahead_bands *ret)
{
    *ret = (tab_ahead_bands){ .share = 1, .gain = 1, .better = 1 };
    if (!tab_ahead_band_of(v, n, origins, g, &ret->cuts))
        return false;
    widen(base, n, past, &ret->cuts);
    if (past->past_rows < LEAST_PAST)
        return true;
    if (!tab_ahead_band_of(past->past, past->pasts, past->spans, g, &ret->past))
        return false;
    double own = ret->cuts.own, before = fmin(ret->past.own, (double)past->past_rows);
    ret->gain = gain_of(v, base, n, own, &ret->past, &ret->better);
    ret->share = own / (own + TRUST * before / (before + TRUST));
    return true;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* The growth that is expected of those whose shapes are tried: of a part that stays and a part that grows by
 * the distance, as a random walk's errors do, or by its square, as those of a trend that turns. Each counts
 * by how likely it makes the mean squares: a logarithm of one, of n independent squares, varies by 2 / n. So
 * errors beyond all that were judged grow as far as the past does not exclude it. What grows as a walk may
 * drift, and its drift is known as well as a walk of the span tells it: the variance is d (1 + d / span). */
tab_ahead_growth tab_ahead_grows(const tab_ahead_square *v, size_t n, size_t ranges, double at, double span)
{
    static const double part[] = { 0, 0.125, 0.25, 0.5, 0.75, 0.9, 1 };
    enum { PARTS = sizeof part / sizeof *part };
    double likely[2][PARTS], most = (double)-INFINITY, sum = 0;
    for (size_t power = 1; power <= 2; power++)
        for (size_t k = 0; k < PARTS; k++) {
            double *l = &likely[power - 1][k];
            *l = power == 2 ? log(TURNS) : 0;
            for (size_t s = 0; s < n; s++) {
                double own = 0, mean = 0, square = 0;
                for (size_t r = 0; r < ranges; r++) {
                    const tab_ahead_square *q = &v[s * ranges + r];
                    if (!(q->square > 0 && q->own > 0))
                        continue;
                    double shape = 1 - part[k] + part[k] * pow(q->distance / at, (double)power);
                    double off = log(q->square / shape), each = fmin(q->own, ENOUGH) / 2, d = off - mean;
                    own += each;
                    mean += d * each / own;
                    square += each * d * (off - mean);
                }
                *l -= square / 2;
            }
            most = fmax(most, *l);
        }
    tab_ahead_growth g = { .at = at };
    for (size_t power = 0; power < 2; power++)
        for (size_t k = 0; k < PARTS; k++) {
            double p = exp(likely[power][k] - most);
            sum += p;
            g.flat += p * (1 - part[k]);
            *(power == 0 ? &g.slope : &g.curve) += p * part[k];
        }
    g.flat /= sum, g.slope /= sum * at * (1 + at / span), g.curve /= sum * at * at;
    g.curve += g.slope / span;
    return g;
}

/* The mean squares of v (n) in GROWN ranges of distances, ascending. False: memory. */
static bool squares_of(const tab_ahead_error *errors, size_t n, size_t origins, tab_ahead_square *ret)
{
    tab_ahead_error *v = malloc((n + 1) * sizeof *v);
    tab_ahead_band b;
    bool ok = v != NULL;
    if (ok && n > 0) {
        memcpy(v, errors, n * sizeof *v);
        qsort(v, n, sizeof *v, by_distance);
    }
    for (size_t k = 0; ok && k < GROWN; k++) {
        size_t from = k * n / GROWN, to = (k + 1) * n / GROWN;
        ret[k] = (tab_ahead_square){ 0 };
        if (to - from < LEAST_PAST)
            continue;
        ok = tab_ahead_band_of(v + from, to - from, origins, NULL, &b);
        ret[k].own = b.own;
        for (size_t i = from; i < to; i++) {
            ret[k].distance += v[i].distance / (double)(to - from);
            ret[k].square += v[i].error * v[i].error / (double)(to - from);
        }
    }
    free(v);
    return ok;
}

bool tab_ahead_growth_of(const tab_ahead_error *v, size_t n, size_t origins, const tab_ahead_answers *past,
                         double at, double span, tab_ahead_growth *ret)
{
    tab_ahead_square square[2 * GROWN];
    if (!squares_of(v, n, origins, square) ||
        !squares_of(past->past, past->pasts, past->spans, square + GROWN))
        return false;
    *ret = tab_ahead_grows(square, 2, GROWN, at, span);
    return true;
}

double tab_ahead_quantile(const tab_ahead_bands *b, double distance, size_t level)
{
    double cuts = deviation(&b->cuts, distance) * b->cuts.quantile[level];
    double past = b->share < 1 ? b->gain * deviation(&b->past, distance) * b->past.quantile[level] : 0;
    return b->share * cuts + (1 - b->share) * past;
}

double tab_ahead_deviation(const tab_ahead_bands *b, double distance)
{
    double cuts = deviation(&b->cuts, distance) * b->cuts.spread;
    double past = b->share < 1 ? b->gain * deviation(&b->past, distance) * b->past.spread : 0;
    return b->share * cuts + (1 - b->share) * past;
}

void tab_ahead_reach(const tab_ahead_answers *at, size_t i, double value, const double *off, double *out)
{
    double stays = at->moved[i], span = (off[TAB_LEVELS - 2] - off[1]) / 2, grown = 1;
    if (at->more[i] > 0 && span > 0)
        grown = sqrt(1 + NINETY * NINETY * at->more[i] / (span * span));
    for (size_t l = 0; l < TAB_LEVELS; l++) {
        double by = grown * off[l];
        out[l] = value + by;
        if (tab_quantile_level[l] < 0.5) /* of NaN the other */
            out[l] = fmin(out[l], fmin(stays + by, at->low[i] + by));
        if (tab_quantile_level[l] > 0.5)
            out[l] = fmax(out[l], fmax(stays + by, at->high[i] + by));
    }
}
