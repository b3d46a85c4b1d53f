/* See opinion_pool.h: calibrates and weighs the members of a stack, for stack.c and stack_members.c. z_l are
 * the calibrated out-of-fold log-probabilities of learner l.
 *
 *   temperature   t minimises the log-loss of softmax(t z)                     (Guo et al., ICML 2017)
 *   weights       w >= 0 minimise the log-loss of softmax(sum over l of w_l z_l) plus a small ridge towards
 *                 equality: a logarithmic opinion pool (Hinton, Neural Computation 2002), convex in w. The
 *                 sum of w is free, so that the pool is sharpened or softened in the same step
 *
 * Both see a quarter of a row of doubt: of each row the label's share is 1, and every class has DOUBT / (n K)
 * more. Where the rows hold no error the loss alone would sharpen without end, and one new row between the
 * classes would cost what all others gain (Platt, Advances in Large Margin Classifiers 1999, smooths the
 * targets of a calibration for that; decision 0381).
 *
 * The class shares are one of the z_l: a target that nothing explains is answered by its shares. For
 * regression the weights minimise the squared error plus a ridge towards equality, on the simplex, by exact
 * moves between pairs (stacking: Wolpert, Neural Networks 1992; Breiman, Machine Learning 1996). */
#include "services/inference/engine/learn/stack/opinion_pool.h"

#include <assert.h>
#include <math.h>

#include "services/inference/engine/learn/linear/solve.h"

/* MOST: the learners and the prior. LEAST_WEIGHT: a learner below it is dropped from answers (decision
 * 0050). */
enum { MOST = TAB_LEARNERS + 1, POOLED = 10000 /* most classes */ };
static const double LEAST_WEIGHT = 0.03;
static const double DOUBT = 0.25; /* rows whose label is every class alike: decision 0381 */

/* Subtracts the greatest first: no exponential overflows. */
void tab_log_softmax(float *z, size_t k, double t)
{
    assert(k > 0 && !(t <= 0));
    double top = (double)z[0] * t, sum = 0;
    for (size_t j = 1; j < k; j++)
        top = fmax(top, (double)z[j] * t);
    for (size_t j = 0; j < k; j++)
        sum += exp((double)z[j] * t - top);
    double norm = top + log(sum);
    for (size_t j = 0; j < k; j++)
        z[j] = (float)((double)z[j] * t - norm);
}

/* The summed log-loss of softmax(t z), doubt included. */
static double tempered_loss(const tab_problem *p, const uint32_t *row, size_t n, const float *z, double t)
{
    size_t k = p->outputs;
    double loss = 0, doubt = DOUBT / (double)n;
    for (size_t i = 0; i < n; i++) {
        const float *f = z + (size_t)row[i] * k;
        double top = (double)f[0] * t, sum = 0, mean = 0;
        for (size_t j = 1; j < k; j++)
            top = fmax(top, (double)f[j] * t);
        for (size_t j = 0; j < k; j++) {
            sum += exp((double)f[j] * t - top);
            mean += (double)f[j] / (double)k;
        }
        loss += (1 + doubt) * (top + log(sum)) - ((double)f[p->label[row[i]]] + doubt * mean) * t;
    }
    return loss;
}

/* Golden-section search over log t: the loss is convex in t. Eighteen steps narrow the interval to a
 * thousandth. The pull to 1 adds (log t)^2, which only small tables feel. */
double tab_best_temperature(const tab_problem *p, const uint32_t *row, size_t n, const float *z)
{
    /* two inner points a < b; the side of the greater loss is cut off, and one point serves again */
    const double golden = 0.6180339887498949;
    double lo = log(0.2), hi = log(4), a = hi - golden * (hi - lo), b = lo + golden * (hi - lo);
    double fa = tempered_loss(p, row, n, z, exp(a)) + a * a, fb = tempered_loss(p, row, n, z, exp(b)) + b * b;
    for (int i = 0; i < 18; i++) {
        if (fa <= fb) {
            hi = b, b = a, fb = fa, a = hi - golden * (hi - lo);
            fa = tempered_loss(p, row, n, z, exp(a)) + a * a;
        } else {
            lo = a, a = b, fa = fb, b = lo + golden * (hi - lo);
            fb = tempered_loss(p, row, n, z, exp(b)) + b * b;
        }
    }
    return exp((lo + hi) / 2);
}

/* Loss of the geometric pool at w, doubt included, its gradient and Hessian. */
static double pool_loss(const tab_problem *p, const tab_stack *s, const uint32_t *row, size_t n,
                        float *const *z, const double *w, double *g, double (*h)[TAB_LEARNERS + 1])
{
    /* the prior is the last part */
    size_t parts = s->members + 1, k = s->outputs;
    double loss = 0, doubt = DOUBT / (double)n, share[POOLED];
    if (g != NULL) {
        memset(g, 0, MOST * sizeof *g);
        memset(h, 0, MOST * sizeof *h);
    }
    for (size_t i = 0; i < n; i++) {
        const float *at[MOST];
        for (size_t l = 0; l < s->members; l++)
            at[l] = z[l] + (size_t)row[i] * k;
        at[s->members] = s->prior;
        uint32_t label = p->label[row[i]];
        /* the pool's log-probabilities, up to a constant */
        double top = -INFINITY, sum = 0, own = 0;
        for (size_t j = 0; j < k; j++) {
            double v = 0;
            for (size_t l = 0; l < parts; l++)
                v += w[l] * (double)at[l][j];
            share[j] = v;
            top = fmax(top, v);
            own += ((j == label) + doubt / (double)k) * v;
        }
        for (size_t j = 0; j < k; j++)
            sum += share[j] = exp(share[j] - top);
        loss += (1 + doubt) * (top + log(sum)) - own;
        if (g == NULL)
            continue;
        /* mean: of each part's z over the pool's classes. The gradient is mean less the label's z, and
         * likewise of the doubt; the Hessian is the covariance of the parts' z over the classes */
        double mean[MOST] = { 0 };
        for (size_t j = 0; j < k; j++) {
            for (size_t l = 0; l < parts; l++)
                g[l] -= doubt / (double)k * (double)at[l][j];
            share[j] /= sum;
            if (share[j] < 1e-12)
                continue;
            for (size_t l = 0; l < parts; l++)
                mean[l] += share[j] * (double)at[l][j];
        }
        for (size_t l = 0; l < parts; l++)
            g[l] += (1 + doubt) * mean[l] - (double)at[l][label];
        for (size_t j = 0; j < k; j++) {
            if (share[j] < 1e-12)
                continue;
            for (size_t l = 0; l < parts; l++) {
                double d = (1 + doubt) * share[j] * ((double)at[l][j] - mean[l]);
                for (size_t q = 0; q <= l; q++)
                    h[l][q] += d * ((double)at[q][j] - mean[q]);
            }
        }
    }
    return loss;
}

/* Adds a ridge towards equal weights of the learners, and of the prior towards none. */
static double pull(const tab_stack *s, double strength, const double *w, double *g,
                   double (*h)[TAB_LEARNERS + 1])
{
    double loss = 0;
    for (size_t l = 0; l <= s->members; l++) {
        double d = w[l] - (l < s->members ? 1.0 / (double)s->members : 0);
        loss += strength * d * d / 2;
        if (g != NULL) {
            g[l] += strength * d;
            h[l][l] += strength;
        }
    }
    return loss;
}

/* x (m) <- the solution of H x = g on the open weights; h holds the lower triangle. A little on the diagonal
 * serves learners that answer alike. */
static void newton_step(size_t n, const double *g, double (*h)[MOST], const size_t *open, size_t m, double *x)
{
    double a[MOST][MOST];
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            size_t u = open[i] > open[j] ? open[i] : open[j], v = open[i] > open[j] ? open[j] : open[i];
            a[i][j] = h[u][v] + (i == j ? 1e-9 * (double)n + 1e-9 : 0);
        }
        x[i] = g[open[i]];
    }
    tab_eliminate(&a[0][0], MOST, x, m);
}

/* Newton's method on w >= 0: weights at 0 whose gradient keeps them there are held (Bertsekas, SIAM Journal
 * on Control 1982). The loss is convex, and there are as many unknowns as learners. The ridge of 0.005 a row
 * and 2 is not sensitive: half and double of it move the log-loss by 0.0006 of tuned XGBoost's (decision
 * 0307). */
static void pool_weights(const tab_problem *p, tab_stack *s, const uint32_t *row, size_t n, float *const *z)
{
    size_t parts = s->members + 1;
    /* equal weights to begin with, and none for the prior */
    double w[MOST], g[MOST], h[MOST][MOST], strength = 0.005 * (double)n + 2, loss;
    bool closed[MOST] = { false };
    for (size_t l = 0; l < parts; l++)
        w[l] = l < s->members ? 1.0 / (double)s->members : 0;
again:
    loss = INFINITY;
    for (int round = 0; round < 25; round++) {
        loss = pool_loss(p, s, row, n, z, w, g, h) + pull(s, strength, w, g, h);
        double x[MOST];
        /* weights that may move: above 0, or at 0 with a gradient that lifts them */
        size_t open[MOST], m = 0;
        for (size_t l = 0; l < parts; l++)
            if (!closed[l] && (w[l] > 0 || g[l] < 0))
                open[m++] = l;
        newton_step(n, g, h, open, m, x);
        /* half the step until the loss falls; weights below 0 are put to 0 */
        double next[MOST], got = INFINITY, length = 1, moved = 0;
        for (int halving = 0; halving < 10; halving++, length /= 2) {
            memcpy(next, w, sizeof next);
            for (size_t i = 0; i < m; i++) {
                next[open[i]] = w[open[i]] - length * x[i];
                if (!(next[open[i]] > 0))
                    next[open[i]] = 0;
            }
            got = pool_loss(p, s, row, n, z, next, NULL, NULL) + pull(s, strength, next, NULL, NULL);
            if (got <= loss)
                break;
        }
        if (!(got <= loss))
            break;
        for (size_t l = 0; l < parts; l++)
            moved = fmax(moved, fabs(next[l] - w[l])), w[l] = next[l];
        if (moved < 1e-4)
            break;
    }
    /* A learner of small weight costs every answer its time: it is dropped, and the others are weighed
     * again. */
    bool closing = false;
    for (size_t l = 0; l < s->members; l++)
        if (!closed[l] && w[l] < LEAST_WEIGHT) {
            closing = closing || w[l] > 0;
            closed[l] = true;
            w[l] = 0;
        }
    if (closing)
        goto again;
    for (size_t l = 0; l < s->members; l++)
        s->member[l].weight = w[l];
    for (size_t l = 0; l < parts; l++)
        assert(!(w[l] < 0)); /* NaN: what came overflows a float */
    s->prior_weight = w[s->members];
}

/* a += F'F, lower triangle, and b += F'y, with F (n, parts) the answers of the learners and of the prior. */
static void add_products(const tab_problem *p, const tab_stack *s, const uint32_t *row, size_t n,
                         float *const *z, double (*a)[MOST], double *b)
{
    size_t parts = s->members + 1;
    for (size_t i = 0; i < n; i++) {
        double f[MOST], y = (double)p->y[row[i]];
        for (size_t l = 0; l < s->members; l++)
            f[l] = (double)z[l][row[i]];
        f[s->members] = (double)s->prior[0];
        for (size_t l = 0; l < parts; l++) {
            b[l] += f[l] * y;
            for (size_t j = 0; j <= l; j++)
                a[l][j] += f[l] * f[j];
        }
    }
}

/* Exact moves of weight between pairs until nothing moves: 200 rounds are far more than a dozen learners
 * take. The ridge of 0.002 a row and 0.1 is not sensitive: half and double of it move the RMSE by 0.0012 of
 * tuned XGBoost's (decision 0307). */
static void least_squares_weights(const tab_problem *p, tab_stack *s, const uint32_t *row, size_t n,
                                  float *const *z)
{
    size_t parts = s->members + 1;
    double a[MOST][MOST] = { { 0 } }, b[MOST] = { 0 }, w[MOST];
    add_products(p, s, row, n, z, a, b);
    /* the ridge pulls the learners' weights to equality, and leaves the prior's alone */
    double equal = s->members > 0 ? 1.0 / (double)s->members : 0, pull = 0.002 * (double)n + 0.1;
    for (size_t l = 0; l < parts; l++) {
        for (size_t j = l + 1; j < parts; j++)
            a[l][j] = a[j][l];
        w[l] = l < s->members ? equal : (s->members == 0);
    }
    for (size_t l = 0; l < s->members; l++) {
        a[l][l] += pull;
        b[l] += pull * equal;
    }
    bool closed[MOST] = { false };
again:
    for (int round = 0; round < 200; round++)
        for (size_t i = 0; i < parts; i++)
            for (size_t j = 0; j < i; j++) { /* the best shift d of weight from j to i */
                if (closed[i] || closed[j])
                    continue;
                /* the squared error along the shift is a parabola: its least point, within what both weights
                 * hold */
                double slope = b[i] - b[j], curve = a[i][i] + a[j][j] - 2 * a[i][j];
                for (size_t l = 0; l < parts; l++)
                    slope -= (a[i][l] - a[j][l]) * w[l];
                double d = curve > 1e-12 ? slope / curve : 0;
                d = d > w[j] ? w[j] : d < -w[i] ? -w[i] : d;
                w[i] += d;
                w[j] -= d;
            }
    bool closing = false;
    size_t most = 0;
    for (size_t l = 1; l < s->members; l++)
        most = w[l] > w[most] ? l : most;
    for (size_t l = 0; l < s->members; l++)
        if (!closed[l] && l != most && w[l] < LEAST_WEIGHT) {
            closing = closing || w[l] > 0;
            closed[l] = true;
            w[most] += w[l];
            w[l] = 0;
        }
    if (closing)
        goto again;
    for (size_t l = 0; l < s->members; l++)
        s->member[l].weight = w[l];
    double sum = 0;
    for (size_t l = 0; l < parts; l++)
        sum += w[l];
    assert(!(fabs(sum - 1) >= 1e-6)); /* on the simplex: exact moves between pairs keep it */
    s->prior_weight = w[s->members];
}

void tab_pool_weights(const tab_problem *p, tab_stack *s, const uint32_t *row, size_t n, float *const *z)
{
    if (s->classification)
        pool_weights(p, s, row, n, z);
    else
        least_squares_weights(p, s, row, n, z);
}
