/* See newton.h. */
#include "tools/train/keys/newton.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { W = NEWTON_MOST + 1, STEPS = 50 };
static const double SETTLED = 1e-9, RIDGE = 1e-6; /* RIDGE: of the constant */

bool newton_rows_new(newton_rows *r, size_t n, size_t d)
{
    *r =
        (newton_rows){ .d = d, .x = malloc((n + 1) * d * sizeof *r->x), .y = malloc((n + 1) * sizeof *r->y) };
    return r->x != NULL && r->y != NULL;
}

void newton_rows_add(newton_rows *r, const float *x, bool y)
{
    for (size_t k = 0; k < r->d; k++)
        r->x[r->n * r->d + k] = (double)x[k];
    r->y[r->n++] = y;
}

void newton_rows_free(newton_rows *r)
{
    free(r->x);
    free(r->y);
}

/* Solves the symmetric a (n, n) x = b in place, by Cholesky. */
static void solve(double a[W][W], size_t n, double *b)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i][j];
            for (size_t k = 0; k < j; k++)
                sum -= a[i][k] * a[j][k];
            a[i][j] = i == j ? sqrt(sum) : sum / a[j][j];
        }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
}

/* One step; the greatest change. w (d + 1). */
static double step(const newton_rows *s, double l2, double *w)
{
    static double hessian[W][W];
    double gradient[W], most = 0;
    size_t n = s->d + 1;
    for (size_t i = 0; i < n; i++) {
        gradient[i] = i < s->d ? l2 * w[i] : 0;
        for (size_t j = 0; j < n; j++)
            hessian[i][j] = i == j ? (i < s->d ? l2 : RIDGE) : 0;
    }
    for (size_t r = 0; r < s->n; r++) {
        double x[W], z = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = i < s->d ? s->x[r * s->d + i] : 1;
            z += w[i] * x[i];
        }
        double p = 1 / (1 + exp(-z));
        for (size_t i = 0; i < n; i++) {
            gradient[i] += (p - s->y[r]) * x[i];
            for (size_t j = 0; j <= i; j++)
                hessian[i][j] += p * (1 - p) * x[i] * x[j];
        }
    }
    solve(hessian, n, gradient);
    for (size_t i = 0; i < n; i++) {
        w[i] -= gradient[i];
        most = fmax(most, fabs(gradient[i]));
    }
    return most;
}

/* Standardizes the features and says how; one that never varies weighs nothing. */
static void standardize(newton_rows *s, double *mean, double *scale)
{
    for (size_t i = 0; i < s->d; i++) {
        double sum = 0, square = 0, n = (double)s->n;
        for (size_t r = 0; r < s->n; r++)
            sum += s->x[r * s->d + i];
        mean[i] = sum / n;
        for (size_t r = 0; r < s->n; r++)
            square += (s->x[r * s->d + i] - mean[i]) * (s->x[r * s->d + i] - mean[i]);
        scale[i] = square > 0 ? sqrt(square / n) : HUGE_VAL;
        for (size_t r = 0; r < s->n; r++)
            s->x[r * s->d + i] = (s->x[r * s->d + i] - mean[i]) / scale[i];
    }
}

bool newton_fit(newton_rows *r, double l2, double *w)
{
    double mean[NEWTON_MOST], scale[NEWTON_MOST];
    if (r->n == 0 || r->d > NEWTON_MOST) {
        fprintf(stderr, "train-keys: nothing to learn from\n");
        return false;
    }
    for (size_t i = 0; i <= r->d; i++)
        w[i] = 0;
    standardize(r, mean, scale);
    for (int i = 0; i < STEPS && step(r, l2, w) > SETTLED; i++)
        ;
    for (size_t i = 0; i < r->d; i++) {
        w[i] /= scale[i];
        w[r->d] -= w[i] * mean[i];
    }
    return true;
}

bool newton_write(const char *path, const char *name, const char *upper, const char *from,
                  const char *const *feature, size_t d, const double *w)
{
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        fprintf(stderr, "%s: cannot be written\n", path);
        return false;
    }
    fprintf(
        f,
        "/* The weights of each feature of %s, the constant last. Made by `train-keys` (tests/bench/keys).",
        from);
    fprintf(f, " */\n#ifndef TAB_KEY_%s_WEIGHTS_H\n#define TAB_KEY_%s_WEIGHTS_H\n\n", upper, upper);
    fprintf(f, "#include \"services/inference/engine/keys/%s\"\n\n/* clang-format off */\n", from);
    fprintf(f, "static const double tab_key_%s_weights[TAB_KEY_%s_FEATURES + 1] = {\n", name, upper);
    for (size_t i = 0; i < d; i++)
        fprintf(f, "    [TAB_KEY_%s_F_%s] = %.4f,\n", upper, feature[i], w[i]);
    fprintf(f, "    [TAB_KEY_%s_FEATURES] = %.4f,\n};\n/* clang-format on */\n\n#endif\n", upper, w[d]);
    if (fclose(f) != 0) {
        fprintf(stderr, "%s: cannot be written\n", path);
        return false;
    }
    return true;
}
