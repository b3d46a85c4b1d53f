#include "services/inference/engine/predict/choose/beyond_chance.h"

#include <math.h>
#include <stdlib.h>

/* A row by its value. */
typedef struct {
    float value;
    uint32_t row;
} valued;

static int by_value(const void *a, const void *b)
{
    const valued *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* rank (n): centred, rows of one value share the mean of their ranks. Gives the sum of their squares. */
static double ranks(valued *v, size_t n, double *rank)
{
    double square = 0;
    qsort(v, n, sizeof *v, by_value);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && !(v[j].value > v[i].value); j++)
            ;
        double r = (double)(i + j - 1) / 2 - (double)(n - 1) / 2;
        for (size_t k = i; k < j; k++)
            rank[v[k].row] = r;
        square += r * r * (double)(j - i);
    }
    return square;
}

static double numbers(const tab_problem *p, const tab_stack *s)
{
    size_t rows = p->data->rows, n = 0;
    valued *v = malloc((rows + 1) * sizeof *v), *w = malloc((rows + 1) * sizeof *w);
    double *x = malloc((rows + 1) * sizeof *x), *y = malloc((rows + 1) * sizeof *y), sum = 0, z = (double)NAN;
    for (size_t i = 0; v != NULL && w != NULL && i < rows; i++)
        if (!isnan(p->y[i])) {
            v[n] = (valued){ p->y[i], (uint32_t)n };
            w[n] = (valued){ s->oof[i], (uint32_t)n };
            n++;
        }
    if (v != NULL && w != NULL && x != NULL && y != NULL && n > 1) {
        double xx = ranks(v, n, x), yy = ranks(w, n, y);
        for (size_t i = 0; i < n; i++)
            sum += x[i] * y[i];
        if (xx > 0 && yy > 0)
            z = sum / sqrt(xx * yy) * sqrt((double)(n - 1) / 2);
    }
    free(v), free(w), free(x), free(y);
    return z;
}

/* The sum of the true classes' probabilities. In a random order of the labels a row i has the label of row
 * j: the variance is that of the doubly centred matrix of all such pairs (Hoeffding, A combinatorial central
 * limit theorem, 1951). */
static double classes(const tab_problem *p, const tab_stack *s)
{
    size_t rows = p->data->rows, k = p->outputs;
    double *mean = calloc(k + 1, sizeof *mean), *share = calloc(k + 1, sizeof *share), n = 0, sum = 0,
           var = 0;
    double *of = malloc((k + 1) * sizeof *of);
    if (mean == NULL || share == NULL || of == NULL) {
        free(mean), free(share), free(of);
        return (double)NAN;
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; p->label[i] != TAB_NULL && c < k; c++) {
            mean[c] += exp((double)s->oof[i * k + c]);
            share[c] += p->label[i] == c;
            n += p->label[i] == c;
        }
    for (size_t i = 0; n > 1 && i < rows; i++) {
        double own = 0;
        if (p->label[i] == TAB_NULL)
            continue;
        for (size_t c = 0; c < k; c++) {
            of[c] = exp((double)s->oof[i * k + c]) - mean[c] / n;
            own += share[c] / n * of[c];
        }
        sum += of[p->label[i]];
        for (size_t c = 0; c < k; c++)
            var += share[c] / n * (of[c] - own) * (of[c] - own);
    }
    free(mean), free(share), free(of);
    /* answers that are the base rate differ by their rounding alone */
    return var > 1e-10 * n ? sum / sqrt(2 * var * n / (n - 1)) : (double)NAN;
}

double tab_agreement_z(const tab_problem *p, const tab_stack *s)
{
    return p->classification ? classes(p, s) : numbers(p, s);
}

double tab_chance_z(size_t n, double alpha)
{
    return sqrt(2 * log((double)(n > 0 ? n : 1) / alpha));
}
