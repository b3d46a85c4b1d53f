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
#include "services/inference/engine/learn/clones.h"

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
static inline __attribute__((always_inline)) void step(state *s, const grid *g, double z, double w)
{
    lanes ahead = s->level + g->damp * s->trend;
    lanes e = z - ahead;
    s->level = ahead + g->alpha * e;
    s->trend = g->damp * s->trend + g->gain * e;
    s->sse += e * e * w;
}

/* The first state's least-squares value: errors are e - d1 c1 - d2 c2 with c1, c2 the responses to a unit
 * of level and of trend. */
static inline __attribute__((always_inline)) void fit_first(state *s, const grid *g, const tab_smooth_view *v,
                                                            size_t head)
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

TAB_WIDE_CLONES static void run(state *s, const grid *g, const tab_smooth_view *v)
{
    size_t head = v->n < HEAD ? v->n : HEAD;
    fit_first(s, g, v, head);
    for (size_t t = head; t < v->n; t++)
        step(s, g, v->z[t], v->weight == NULL ? 1 : v->weight[t]);
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

/* What is added to every sum of squares: half a mean squared difference, so that few values that a path meets
 * by chance do not decide alone, and what rounding may leave. */
static double floor_of(const tab_smooth_view *v)
{
    double most = 0, steps = 0;
    for (size_t t = 0; t < v->n; t++) {
        most = fmax(most, fabs(v->z[t]));
        steps += t > 0 ? (v->z[t] - v->z[t - 1]) * (v->z[t] - v->z[t - 1]) : 0;
    }
    return 0.5 * steps / (double)v->n + 1e-18 * most * most * (double)v->n + 1e-300;
}

/* The mean of `blocks` runs, weighed by likelihood, and how they respond to an error. */
static double mix(const state *s, const grid *g, size_t blocks, const tab_smooth_view *v, double *path,
                  tab_response *r)
{
    double best = INFINITY, total = 0, error = 0, floor = floor_of(v);
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
            r->level += w * g[k].alpha[i];
            r->trend += w * g[k].gain[i];
            r->damp += w * f;
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
    *r = (tab_response){ r->level / total, r->trend / total, r->damp / total };
    return error / total;
}

/* The sum of the weights of errors. */
static double weights(const tab_smooth_view *v)
{
    double all = 0;
    for (size_t t = 0; t < v->n; t++)
        all += v->weight == NULL ? 1 : v->weight[t];
    return all;
}

/* The dynamic optimized theta model (Fiorucci et al. 2016): simple smoothing that is told a share of the
 * straight line through what was seen so far,
 *
 *   z[t] = l + share { d^t A + (1 - d^(t+1)) / a B } + e,   l <- l + a (z[t] - l),   d = 1 - a,
 *
 * A + B (t + 1) the line through z[0..t-1]. share: 1 - 1/theta. */
typedef struct {
    lanes level, sse, told, power, alpha, a, b, mean; /* told: z's forecast less the level */
    double share;
} theta;

static inline __attribute__((always_inline)) void theta_tell(theta *s)
{
    lanes one = s->alpha * 0 + 1;
    s->told = s->share * (s->power * s->a + (one - s->power * (one - s->alpha)) / s->alpha * s->b);
}

/* The k-th value: the level and the line follow it. */
static inline __attribute__((always_inline)) void theta_see(theta *s, lanes z, double k)
{
    s->level += s->alpha * (z - s->level);
    s->power *= 1 - s->alpha;
    s->b = ((k - 2) * s->b + 6 * (z - s->mean) / k) / (k + 1);
    s->mean = ((k - 1) * s->mean + z) / k;
    s->a = s->mean - 0.5 * (k + 1) * s->b;
}

TAB_WIDE_CLONES static void theta_run(theta *s, const tab_smooth_view *v)
{
    lanes c = s->alpha * 0 + 1, cc = c * 1e-6, ce = c * 0;
    s->level = s->mean = s->a = c * v->z[0];
    s->power = c - s->alpha;
    for (size_t t = 0; t < v->n; t++) {
        double w = t < 2 ? 0 : v->weight == NULL ? 1 : v->weight[t]; /* before: no line */
        if (t > 0)
            theta_tell(s);
        lanes e = v->z[t] - s->level - s->told;
        s->sse += e * e * w;
        cc += c * c * w;
        ce += c * e * w;
        c -= s->alpha * c;
        if (t > 0)
            theta_see(s, s->alpha * 0 + v->z[t], (double)t + 1);
    }
    lanes first = ce / cc; /* the first level's least-squares value, as above */
    s->level += first * c;
    s->sse -= first * ce;
    for (size_t i = 0; i < LANES; i++)
        s->sse[i] = fmax(s->sse[i], 0);
}

TAB_WIDE_CLONES static double theta_paths(const tab_smooth_view *v, double *path)
{
    static const double share[] = { 0, .3, .5, .7, .85, 1 };
    enum { SHARED = sizeof share / sizeof *share };
    theta s[SHARED];
    double best = INFINITY, total = 0, error = 0, floor = floor_of(v);
    for (size_t k = 0; k < SHARED; k++) {
        s[k] = (theta){ .share = share[k] };
        memcpy(&s[k].alpha, alphas, sizeof s[k].alpha);
        theta_run(&s[k], v);
        for (size_t i = 0; i < LANES; i++)
            best = fmin(best, s[k].sse[i] + floor);
    }
    memset(path, 0, v->horizon * sizeof *path);
    for (size_t k = 0; k < SHARED; k++) {
        lanes weight;
        for (size_t i = 0; i < LANES; i++) {
            weight[i] = exp(-0.5 * (double)v->n * log((s[k].sse[i] + floor) / best));
            total += weight[i];
            error += weight[i] * s[k].sse[i];
        }
        for (size_t h = 0; h < v->horizon; h++) {
            theta_tell(&s[k]);
            lanes ahead = s[k].level + s[k].told, y = weight * ahead;
            theta_see(&s[k], ahead, (double)(v->n + h) + 1);
            for (size_t i = 0; i < LANES; i++)
                path[h] += y[i];
        }
    }
    assert(total >= 1); /* the best one's weight is 1 */
    for (size_t h = 0; h < v->horizon; h++)
        path[h] /= total;
    return error / total;
}

void tab_smooth(const tab_smooth_view *v, double *path, double error[TAB_SMOOTH_KINDS], tab_response *ret)
{
    state s[BLOCKS];
    grid g[BLOCKS];
    lanes zero = { 0 }, alpha;
    memcpy(&alpha, alphas, sizeof alpha);
    double all = weights(v);
    for (size_t kind = 0; kind < TAB_SMOOTH_KINDS; kind++) {
        if (kind == TAB_SMOOTH_THETA) {
            error[kind] = theta_paths(v, path + kind * v->horizon) / all;
            continue;
        }
        size_t blocks = kind == TAB_SMOOTH_SES ? 1 : kind == TAB_SMOOTH_DAMPED ? BLOCKS : SHARES;
        for (size_t k = 0; k < blocks; k++) {
            double share = kind == TAB_SMOOTH_SES ? 0 : shares[k % SHARES];
            double f = kind == TAB_SMOOTH_DAMPED ? dampings[k / SHARES] : 1;
            g[k] = (grid){
                .alpha = alpha, .gain = alpha * share, .damp = zero + f, .trends = kind != TAB_SMOOTH_SES
            };
            s[k] = (state){ .level = zero + v->z[0], .trend = zero, .sse = zero };
            run(&s[k], &g[k], v);
        }
        tab_response r = { 0 };
        error[kind] = mix(s, g, blocks, v, path + kind * v->horizon, &r) / all;
        if (kind == TAB_SMOOTH_DAMPED)
            *ret = r;
    }
}

static const double gammas[] = { .05, .15, .3, .5 };

enum {
    GAMMAS = sizeof gammas / sizeof *gammas,
    SEASONAL = 2 * GAMMAS
}; /* with a level alone, with a trend */

/* One block of lanes: a gain of the season, with or without a damped trend. */
static grid seasonal_grid(size_t block)
{
    lanes zero = { 0 }, alpha;
    memcpy(&alpha, alphas, sizeof alpha);
    bool level = block < GAMMAS;
    return (grid){ .alpha = alpha, .gain = alpha * (level ? 0 : .1), .damp = zero + (level ? 1 : .93) };
}

/* season (period): what a phase adds, from 0. */
TAB_WIDE_CLONES static void seasonal_run(state *s, const grid *g, double gain, const tab_smooth_view *v,
                                         size_t period, lanes *season)
{
    lanes gamma = (1 - g->alpha) * gain;
    for (size_t t = 0, p = 0; t < v->n; t++, p = p + 1 == period ? 0 : p + 1) {
        lanes e = v->z[t] - season[p];
        lanes ahead = s->level + g->damp * s->trend;
        e -= ahead;
        s->level = ahead + g->alpha * e;
        s->trend = g->damp * s->trend + g->gain * e;
        season[p] += gamma * e;
        s->sse += e * e * (v->weight == NULL ? 1 : v->weight[t]);
    }
}

double tab_smooth_season(const tab_smooth_view *v, size_t period, double *states, double *path)
{
    lanes zero = { 0 }, *season = (lanes *)states;
    state s[SEASONAL];
    double best = INFINITY, total = 0, error = 0, floor = floor_of(v);
    for (size_t k = 0; k < SEASONAL; k++) {
        grid g = seasonal_grid(k);
        s[k] = (state){ .level = zero + v->z[0], .trend = zero, .sse = zero };
        seasonal_run(&s[k], &g, gammas[k % GAMMAS], v, period, season + k * period);
        for (size_t i = 0; i < LANES; i++)
            best = fmin(best, s[k].sse[i] + floor);
    }
    memset(path, 0, v->horizon * sizeof *path);
    for (size_t k = 0; k < SEASONAL; k++) {
        lanes weight;
        for (size_t i = 0; i < LANES; i++) {
            weight[i] = exp(-0.5 * (double)v->n * log((s[k].sse[i] + floor) / best));
            total += weight[i];
            error += weight[i] * s[k].sse[i];
        }
        double f = seasonal_grid(k).damp[0], sum = 0, power = 1;
        for (size_t h = 0; h < v->horizon; h++) {
            power *= f;
            sum += power;
            lanes y = weight * (s[k].level + s[k].trend * sum + season[k * period + (v->n + h) % period]);
            for (size_t i = 0; i < LANES; i++)
                path[h] += y[i];
        }
    }
    for (size_t h = 0; h < v->horizon; h++)
        path[h] /= total;
    return error / (total * weights(v));
}
