/* Exponential smoothing over a grid of parameters, eight of them at once.
 *
 *   e[t] = z[t] - (l + f b),   l <- l + f b + a e,   b <- f b + a g e        (f: damping)
 *
 * No parameter is searched for: each kind's forecast is the mean over its grid, weighed by the likelihood
 * SSE^(-n/2) of the one-step errors, which costs one pass and varies less than the best one. The first state
 * is not guessed either. Errors are linear in it, so that its least-squares value follows from the
 * sensitivities of the errors, which obey the same recursion; a first trend is shrunk to none. */
#include <assert.h>
#include <math.h>

#include "services/inference/engine/forecast/parts.h"

enum { LANES = 8, HEAD = 128 }; /* the first state is fitted on HEAD values; later ones hardly know it */
typedef double lanes __attribute__((vector_size(64)));

typedef struct {
    lanes level, trend, sse;
} state;

typedef struct {
    lanes alpha, gain, damp; /* gain: a g */
    bool trends;             /* the first trend is fitted too */
} grid;

/* One step of all lanes. */
static inline void step(state *s, const grid *g, double z, double w)
{
    lanes ahead = s->level + g->damp * s->trend;
    lanes e = z - ahead;
    s->level = ahead + g->alpha * e;
    s->trend = g->damp * s->trend + g->gain * e;
    s->sse += e * e * w;
}

/* The first state's least-squares value: errors are e - d1 c1 - d2 c2 with c1, c2 the responses to a unit
 * of level and of trend. */
static void fit_first(state *s, const grid *g, const tab_smooth_view *v, size_t head)
{
    state unit[2] = { { .level = { 0 } }, { .level = { 0 } } };
    unit[0].level += 1;
    unit[1].trend += 1;
    lanes zero = { 0 }, c11 = zero + 1e-6, c12 = zero, c22 = zero + 1, r1 = zero, r2 = zero;
    for (size_t t = 0; t < head; t++) {
        double w = v->weight == NULL ? 1 : v->weight[t];
        lanes e = v->z[t] - (s->level + g->damp * s->trend);
        lanes c1 = unit[0].level + g->damp * unit[0].trend, c2 = unit[1].level + g->damp * unit[1].trend;
        c11 += c1 * c1 * w;
        c12 += c1 * c2 * w;
        c22 += c2 * c2 * w;
        r1 += c1 * e * w;
        r2 += c2 * e * w;
        step(s, g, v->z[t], w);
        step(&unit[0], g, 0, 0);
        step(&unit[1], g, 0, 0);
    }
    lanes d1, d2;
    if (g->trends) {
        lanes det = c11 * c22 - c12 * c12;
        d1 = (r1 * c22 - r2 * c12) / det;
        d2 = (r2 * c11 - r1 * c12) / det;
    } else {
        d1 = r1 / c11;
        d2 = zero;
    }
    s->level += d1 * unit[0].level + d2 * unit[1].level;
    s->trend += d1 * unit[0].trend + d2 * unit[1].trend;
    s->sse -= d1 * r1 + d2 * r2;
    for (size_t i = 0; i < LANES; i++)
        s->sse[i] = fmax(s->sse[i], 0);
}

static void run(state *s, const grid *g, const tab_smooth_view *v)
{
    size_t head = v->n < HEAD ? v->n : HEAD;
    fit_first(s, g, v, head);
    for (size_t t = head; t < v->n; t++)
        step(s, g, v->z[t], v->weight == NULL ? 1 : v->weight[t]);
}

/* The slope of a straight line through z. */
static double slope(const double *z, size_t n)
{
    double middle = 0.5 * ((double)n - 1), sxy = 0, sxx = 0;
    for (size_t t = 0; t < n; t++) {
        sxy += ((double)t - middle) * z[t];
        sxx += ((double)t - middle) * ((double)t - middle);
    }
    return sxx > 0 ? sxy / sxx : 0;
}

/* The grids of parameters: level gains, trend gains as a share of them, dampings. */
static const double alphas[LANES] = { .03, .1, .2, .35, .5, .7, .85, 1 };
static const double shares[] = { .02, .08, .2, .45 };
static const double dampings[] = { .8, .9, .96 };

enum {
    SHARES = sizeof shares / sizeof *shares,
    DAMPINGS = sizeof dampings / sizeof *dampings,
    BLOCKS = SHARES * DAMPINGS
};

/* The mean of `blocks` runs, weighed by likelihood. `rise`: a drift that every path has besides. */
static double mix(const state *s, const grid *g, size_t blocks, const tab_smooth_view *v, double *path)
{
    double best = INFINITY, total = 0, error = 0, floor = 0;
    for (size_t t = 0; t < v->n; t++)
        floor = fmax(floor, fabs(v->z[t]));
    floor = 1e-18 * floor * floor * (double)v->n + 1e-300; /* below: rounding */
    for (size_t k = 0; k < blocks; k++)
        for (size_t i = 0; i < LANES; i++)
            best = fmin(best, s[k].sse[i] + floor);
    for (size_t h = 0; h < v->horizon; h++)
        path[h] = 0;
    for (size_t k = 0; k < blocks; k++) {
        double level = 0, trend = 0;
        double f = g[k].damp[0]; /* one damping a block */
        for (size_t i = 0; i < LANES; i++) {
            double w = exp(-0.5 * (double)v->n * log((s[k].sse[i] + floor) / best));
            total += w;
            level += w * s[k].level[i];
            trend += w * s[k].trend[i];
            error += w * s[k].sse[i];
        }
        double sum = 0, power = 1;
        for (size_t h = 0; h < v->horizon; h++) {
            power *= f;
            sum += power;
            path[h] += level + trend * sum;
        }
    }
    assert(total >= 1); /* the best one's weight is 1 */
    for (size_t h = 0; h < v->horizon; h++)
        path[h] /= total;
    return error / total;
}

void tab_smooth(const tab_smooth_view *v, double *path, double error[TAB_SMOOTH_KINDS])
{
    state s[BLOCKS];
    grid g[BLOCKS];
    lanes zero = { 0 }, alpha;
    memcpy(&alpha, alphas, sizeof alpha);
    double all = 0;
    for (size_t t = 0; t < v->n; t++)
        all += v->weight == NULL ? 1 : v->weight[t];
    const double half = 0.5 * slope(v->z, v->n);
    for (size_t kind = 0; kind < TAB_SMOOTH_KINDS; kind++) {
        size_t blocks = kind <= TAB_SMOOTH_THETA ? 1 : kind == TAB_SMOOTH_DAMPED ? BLOCKS : SHARES;
        for (size_t k = 0; k < blocks; k++) {
            double share = kind <= TAB_SMOOTH_THETA ? 0 : shares[k % SHARES];
            double f = kind == TAB_SMOOTH_DAMPED ? dampings[k / SHARES] : 1;
            g[k] = (grid){
                .alpha = alpha, .gain = alpha * share, .damp = zero + f, .trends = kind >= TAB_SMOOTH_DAMPED
            };
            s[k] = (state){ .level = zero + v->z[0], .trend = zero, .sse = zero };
            if (kind == TAB_SMOOTH_THETA)
                s[k].trend += half;
            run(&s[k], &g[k], v);
        }
        error[kind] = mix(s, g, blocks, v, path + kind * v->horizon) / all;
    }
}

void tab_smooth_season(const tab_smooth_view *v, size_t period, double *states, double *path, double *error)
{
    static const double gammas[] = { .05, .15, .3, .5 };
    enum { GAMMAS = sizeof gammas / sizeof *gammas };
    lanes zero = { 0 }, alpha, *season = (lanes *)states;
    memcpy(&alpha, alphas, sizeof alpha);
    double best = INFINITY, total = 0, all = 0;
    *error = 0;
    for (size_t t = 0; t < v->n; t++)
        all += v->weight == NULL ? 1 : v->weight[t];
    for (size_t h = 0; h < v->horizon; h++)
        path[h] = 0;
    for (size_t k = 0; k < GAMMAS * 2; k++) {
        double f = k < GAMMAS ? 1 : .93, share = k < GAMMAS ? 0 : .1;
        state s = { .level = zero + v->z[0], .trend = zero, .sse = zero };
        grid g = { .alpha = alpha, .gain = alpha * share, .damp = zero + f, .trends = false };
        lanes gamma = (1 - alpha) * gammas[k % GAMMAS];
        memset(states, 0, period * sizeof *season);
        for (size_t t = 0, p = 0; t < v->n; t++, p = p + 1 == period ? 0 : p + 1) {
            double w = v->weight == NULL ? 1 : v->weight[t];
            lanes ahead = s.level + g.damp * s.trend, e = v->z[t] - ahead - season[p];
            s.level = ahead + g.alpha * e;
            s.trend = g.damp * s.trend + g.gain * e;
            season[p] += gamma * e;
            s.sse += e * e * w;
        }
        lanes weight;
        for (size_t i = 0; i < LANES; i++)
            if (s.sse[i] < best) { /* weights are relative to the best: rescale what was summed */
                double scale =
                    isinf(best) || s.sse[i] <= 0 ? 0 : exp(-0.5 * (double)v->n * log(best / s.sse[i]));
                best = s.sse[i];
                total *= scale;
                *error *= scale;
                for (size_t h = 0; h < v->horizon; h++)
                    path[h] *= scale;
            }
        for (size_t i = 0; i < LANES; i++) {
            weight[i] = s.sse[i] <= best ? 1
                        : best <= 0      ? 0
                                         : exp(-0.5 * (double)v->n * log(s.sse[i] / best));
            total += weight[i];
            *error += weight[i] * s.sse[i];
        }
        double sum = 0, power = 1;
        for (size_t h = 0; h < v->horizon; h++) {
            power *= f;
            sum += power;
            lanes y = weight * (s.level + s.trend * sum + season[(v->n + h) % period]);
            for (size_t i = 0; i < LANES; i++)
                path[h] += y[i];
        }
    }
    for (size_t h = 0; h < v->horizon; h++)
        path[h] /= total;
    *error /= total * all;
}
