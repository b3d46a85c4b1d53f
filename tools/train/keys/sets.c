/* See sets.h: a logistic regression by Newton's method on standardized features, with an L2 term that does not
 * touch the constant. */
#include "tools/train/keys/sets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { D = TAB_KEY_SET_FEATURES, W = D + 1, STEPS = 50, BINS = 3 };
/* L2: of 1, 3 and 10 the one of the least log loss on kinds that are left out. */
static const double L2 = 3;

typedef struct {
    size_t n;
    double *x; /* (n, W), the last 1 */
    double *y; /* (n) */
} sample;

/* Solves the symmetric a (W, W) x = b in place, by Cholesky. */
static void solve(double a[W][W], double *b)
{
    for (int i = 0; i < W; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i][j];
            for (int k = 0; k < j; k++)
                sum -= a[i][k] * a[j][k];
            a[i][j] = i == j ? sqrt(sum) : sum / a[j][j];
        }
    for (int i = 0; i < W; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (int i = W - 1; i >= 0; i--) {
        for (int k = i + 1; k < W; k++)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
}

/* One step of Newton's method on standardized features; the greatest change. */
static double step(const sample *s, double *w)
{
    static double hessian[W][W];
    double gradient[W], most = 0;
    for (int i = 0; i < W; i++) {
        gradient[i] = i < D ? L2 * w[i] : 0;
        for (int j = 0; j < W; j++)
            hessian[i][j] = i == j ? (i < D ? L2 : 1e-6) : 0;
    }
    for (size_t r = 0; r < s->n; r++) {
        const double *x = s->x + r * W;
        double z = 0;
        for (int i = 0; i < W; i++)
            z += w[i] * x[i];
        double p = 1 / (1 + exp(-z));
        for (int i = 0; i < W; i++) {
            gradient[i] += (p - s->y[r]) * x[i];
            for (int j = 0; j <= i; j++)
                hessian[i][j] += p * (1 - p) * x[i] * x[j];
        }
    }
    solve(hessian, gradient);
    for (int i = 0; i < W; i++) {
        w[i] -= gradient[i];
        most = fmax(most, fabs(gradient[i]));
    }
    return most;
}

/* Standardizes the features and says how; a feature that never varies weighs nothing. */
static void standardize(sample *s, double *mean, double *scale)
{
    for (int i = 0; i < D; i++) {
        double sum = 0, square = 0, n = (double)s->n;
        for (size_t r = 0; r < s->n; r++)
            sum += s->x[r * W + i];
        mean[i] = sum / n;
        for (size_t r = 0; r < s->n; r++)
            square += (s->x[r * W + i] - mean[i]) * (s->x[r * W + i] - mean[i]);
        scale[i] = square > 0 ? sqrt(square / n) : HUGE_VAL;
        for (size_t r = 0; r < s->n; r++)
            s->x[r * W + i] = (s->x[r * W + i] - mean[i]) / scale[i];
    }
}

/* The weights of all schemas that teach and are not of the family `without`; of raw features. */
static bool fit(const schema *s, size_t n, const char *without, double *w)
{
    sample t = { 0 };
    double mean[D], scale[D];
    for (size_t i = 0; i < n; i++)
        t.n += s[i].sets;
    t.x = malloc((t.n + 1) * W * sizeof *t.x);
    t.y = malloc((t.n + 1) * sizeof *t.y);
    t.n = 0;
    for (size_t i = 0; t.x != NULL && t.y != NULL && i < n; i++)
        for (size_t q = 0; q < s[i].sets; q++) {
            if (s[i].silent || (without != NULL && strcmp(s[i].family, without) == 0))
                continue;
            for (int k = 0; k < D; k++)
                t.x[t.n * W + k] = (double)s[i].set[q].f[k];
            t.x[t.n * W + D] = 1;
            t.y[t.n++] = schema_has_set(&s[i], &s[i].set[q]);
        }
    bool ok = t.n > 0;
    for (int i = 0; i < W; i++)
        w[i] = 0;
    if (ok) {
        standardize(&t, mean, scale);
        for (int i = 0; i < STEPS && step(&t, w) > 1e-9; i++)
            ;
        for (int i = 0; i < D; i++) {
            w[i] /= scale[i];
            w[D] -= w[i] * mean[i];
        }
    }
    free(t.x);
    free(t.y);
    if (!ok)
        fprintf(stderr, "train-keys: nothing to learn references of several columns from\n");
    return ok;
}

bool sets_write(schema *s, size_t n, const char *path)
{
    static const char *const name[] = {
#define TAB_X(name) #name,
        TAB_KEY_SET_FEATURE_LIST(TAB_X)
#undef TAB_X
    };
    double w[W];
    if (!fit(s, n, NULL, w))
        return false;
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        fprintf(stderr, "%s: cannot be written\n", path);
        return false;
    }
    fprintf(
        f,
        "/* The weights of references by several columns: of each feature of sets.h, the constant last. Made"
        " by\n * `train-keys --sets-write FILE`. */\n#ifndef TAB_KEY_SET_WEIGHTS_H\n"
        "#define TAB_KEY_SET_WEIGHTS_H\n\n#include \"services/inference/engine/keys/sets.h\"\n\n"
        "static const double tab_key_set_weights[TAB_KEY_SET_FEATURES + 1] = {\n");
    for (int i = 0; i < D; i++)
        fprintf(f, "    [TAB_KEY_SET_F_%s] = %.4f,\n", name[i], w[i]);
    fprintf(f, "    [TAB_KEY_SET_FEATURES] = %.4f,\n};\n\n#endif\n", w[D]);
    if (fclose(f) != 0) {
        fprintf(stderr, "%s: cannot be written\n", path);
        return false;
    }
    return true;
}

/* What is chosen in some schemas, and how sure of it. */
typedef struct {
    size_t right, wrong, missed;
    double sum[BINS], yes[BINS], n[BINS];
} judged;

static int bin_of(double p)
{
    static const double from[BINS] = { 0, 0.8, 0.95 };
    int b = BINS - 1;
    while (p < from[b])
        b--;
    return b;
}

static void name_set(const schema *s, const char *what, double p, const uint32_t *child,
                     const uint32_t *parent, uint32_t n)
{
    printf("  %s %.2f", what, p);
    for (uint32_t i = 0; i < n; i++)
        printf(" %s", s->title[child[i]]);
    printf(" >");
    for (uint32_t i = 0; i < n; i++)
        printf(" %s", s->title[parent[i]]);
    printf("\n");
}

static bool judge(schema *s, const double *w, bool verbose, judged *j)
{
    tab_key_set *x = malloc((s->sets + 1) * sizeof *x);
    if (x == NULL)
        return false;
    if (s->sets > 0)
        memcpy(x, s->set, s->sets * sizeof *x);
    size_t said = tab_key_sets_choose(&s->search, w, x, s->sets), right = 0;
    for (size_t i = 0; i < said; i++) {
        bool is = schema_has_set(s, &x[i]);
        int b = bin_of(x[i].p);
        j->sum[b] += x[i].p;
        j->yes[b] += is;
        j->n[b]++;
        right += is;
        j->wrong += !is;
        if (verbose && !is)
            name_set(s, "wrong ", x[i].p, x[i].child, x[i].parent, x[i].n);
    }
    for (size_t k = 0; k < s->truths; k++) {
        const true_key *t = &s->truth[k];
        bool found = t->n == 1;
        for (size_t i = 0; i < said && !found; i++)
            found = schema_is_set(&x[i], t);
        double p = 0;
        for (size_t i = 0; i < s->sets; i++)
            if (schema_is_set(&s->set[i], t))
                p = tab_key_set_p(&s->set[i], w);
        j->missed += !found;
        if (verbose && !found)
            name_set(s, "missed", p, t->child, t->parent, t->n);
    }
    j->right += right;
    free(x);
    return true;
}

static void say(const char *name, const judged *j)
{
    double error = 0, all = 0;
    printf("%-14s recall %.3f precision %.3f  (%zu of %zu, %zu wrong)\n", name,
           (double)j->right / fmax((double)(j->right + j->missed), 1),
           (double)j->right / fmax((double)(j->right + j->wrong), 1), j->right, j->right + j->missed,
           j->wrong);
    for (int b = 0; b < BINS; b++)
        if (j->n[b] > 0) {
            printf("  said %.2f  right %.2f  (%.0f)\n", j->sum[b] / j->n[b], j->yes[b] / j->n[b], j->n[b]);
            error += fabs(j->sum[b] - j->yes[b]);
            all += j->n[b];
        }
    if (all > 0)
        printf("  calibration error %.3f of %.0f said\n", error / all, all);
}

bool sets_leave_out(schema *s, size_t n, bool verbose)
{
    enum { SILENT, PUBLIC, MADE, KINDS };
    static const char *const kind[] = { "teach nothing", "public", "made" };
    judged all[KINDS] = { 0 };
    for (size_t i = 0; i < n; i++) {
        double w[W];
        judged *j = &all[s[i].silent ? SILENT : strncmp(s[i].family, "made", 4) == 0 ? MADE : PUBLIC];
        if (verbose)
            printf("%s\n", s[i].name);
        if (!fit(s, n, s[i].family, w) || !judge(&s[i], w, verbose, j))
            return false;
    }
    for (int k = 0; k < KINDS; k++)
        say(kind[k], &all[k]);
    return true;
}
