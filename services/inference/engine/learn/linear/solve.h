/* Penalised least squares and logistic regression on a dense matrix: what the spline learner and the kernel
 * learner share. Column 0 of z is constant 1 and is not penalised. One thread; OpenBLAS runs on one. */
#ifndef TAB_SOLVE_H
#define TAB_SOLVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "services/inference/engine/learn/learner.h"

typedef struct {
    const float *z; /* (n, m) row-major */
    size_t n, m;
    size_t k;              /* columns of w: 1, or a class each beyond two */
    const float *y;        /* (n) regression, or NULL */
    const uint32_t *label; /* (n) classification, or NULL: 0/1 when k is 1 */
    const double *lambda;  /* (path) falling; the penalty is lambda/2 |w|^2 on the summed loss */
    size_t path;
    const atomic_bool *cancel;
} tab_system;

/* w (path, m, k): the solution at each lambda, each warm-started from the one before. False: out of memory,
 * cancelled, or the system has no solution in numbers. */
bool tab_solve(const tab_system *s, float *w);

/* out (n, k) = z (n, m) w (m, k); a row's result does not depend on the rows beside it (decision 0186). */
enum { TAB_TILE = 48 }; /* rows that learners read and answer at a time */
void tab_apply(const float *z, size_t n, size_t m, const float *w, size_t k, float *out);

/* The targets of row[0..n) in order: y (n) for numbers or label (n) for classes, and prior (k), zeroed
 * before: the margins that answer best without features (the mean; log-odds with half a row of each class).
 * */
void tab_margin_targets(const tab_problem *p, const uint32_t *row, size_t n, size_t k, float *y,
                        uint32_t *label, float *prior);

/* The summed loss of margins f (n, k) for the n rows: log-loss, or squared error of a numeric target. */
double tab_margin_loss(const tab_problem *p, const uint32_t *row, size_t n, size_t k, const float *f);

/* Lower Cholesky factor in place, row-major lower triangle; false when a is not positive definite. */
bool tab_cholesky(double *a, size_t m);

/* x (m) <- a^-1 x, by Gauss without pivots: a (m, m) is positive definite, its rows `stride` apart; it is
 * overwritten. For a few unknowns. */
void tab_eliminate(double *a, size_t stride, double *x, size_t m);
#endif
