/* See quality_metrics.h: the figures of a report, for held_out.c and the benchmarks. NaN stands for a figure
 * that the rows do not carry (an AUC of one class), and memory that ends. */
#include "services/inference/engine/evaluate/quality_metrics.h"

#include <math.h>
#include <stdlib.h>

/* A row by its score. */
typedef struct {
    double score;
    bool positive;
} ranked;

/* For qsort. */
static int by_score(const void *a, const void *b)
{
    double x = ((const ranked *)a)->score, y = ((const ranked *)b)->score;
    return (x > y) - (x < y);
}

/* By rising score, and how many are positive; the caller frees it. NULL: out of memory. */
static ranked *rank_by(const double *score, const bool *positive, size_t n, double *positives)
{
    ranked *r = malloc((n + 1) * sizeof *r);
    if (r == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        r[i] = (ranked){ score[i], positive[i] };
        *positives += positive[i];
    }
    qsort(r, n, sizeof *r, by_score);
    return r;
}

/* Mann-Whitney: the positives' mean ranks. */
double tab_auc(const double *score, const bool *positive, size_t n)
{
    double ranks = 0, p = 0;
    ranked *r = rank_by(score, positive, n, &p);
    if (r == NULL)
        return (double)NAN;
    /* rows of one score share the mean of their ranks */
    for (size_t i = 0; i < n;) {
        size_t j = i, hits = 0;
        for (; j < n && r[j].score == r[i].score; j++)
            hits += r[j].positive;
        ranks += (double)hits * ((double)(i + j + 1) / 2);
        i = j;
    }
    free(r);
    /* pairs in which the positive stands higher, over all pairs */
    double q = (double)n - p;
    return p > 0 && q > 0 ? (ranks - p * (p + 1) / 2) / (p * q) : (double)NAN;
}

/* Rows of one score are taken together: the order within a tie does not matter. */
double tab_average_precision(const double *score, const bool *positive, size_t n)
{
    double p = 0, taken = 0, hits = 0, sum = 0;
    ranked *r = rank_by(score, positive, n, &p);
    if (r == NULL)
        return (double)NAN;
    for (size_t end = n; end > 0;) { /* from the highest score down */
        /* rows of one score, and how many positives they bring */
        size_t from = end;
        double gained = 0;
        while (from > 0 && r[from - 1].score == r[end - 1].score)
            gained += r[--from].positive;
        hits += gained;
        taken += (double)(end - from);
        sum += gained * hits / taken;
        end = from;
    }
    free(r);
    return p > 0 ? sum / p : (double)NAN;
}

/* Classes that have no row, or all of them, are left out of the mean. */
double tab_auc_classes(const double *probability, const uint32_t *truth, size_t n, size_t classes)
{
    double *score = malloc((n + 1) * sizeof *score), sum = 0;
    bool *positive = malloc((n + 1) * sizeof *positive);
    size_t used = 0;
    /* one class against all others, averaged over the classes; of two classes the second alone */
    for (size_t k = classes == 2; score != NULL && positive != NULL && k < classes; k++) {
        for (size_t i = 0; i < n; i++) {
            score[i] = probability[i * classes + k];
            positive[i] = truth[i] == k;
        }
        /* a class without rows has none */
        double a = tab_auc(score, positive, n);
        if (!isnan(a))
            sum += a, used++;
    }
    free(score);
    free(positive);
    return used > 0 ? sum / (double)used : (double)NAN;
}

/* The most probable class; the first of equals. */
static size_t top_of(const double *p, size_t classes)
{
    size_t top = 0;
    for (size_t k = 1; k < classes; k++)
        if (p[k] > p[top])
            top = k;
    return top;
}

/* Naeini, Cooper & Hauskrecht, AAAI 2015. Fifteen bins are the number most published figures use. */
double tab_ece(const double *probability, const uint32_t *truth, size_t n, size_t classes)
{
    enum { BINS = 15 };
    /* the bins' hits less their confidence; dividing by n at the end weighs the bins by their rows */
    double gap[BINS] = { 0 }, sum = 0;
    for (size_t i = 0; i < n; i++) {
        /* the confidence of the answered class goes into its bin */
        const double *p = probability + i * classes;
        size_t top = top_of(p, classes), b = (size_t)(p[top] * BINS);
        gap[b < BINS ? b : BINS - 1] += (truth[i] == top) - p[top];
    }
    for (size_t b = 0; b < BINS; b++)
        sum += fabs(gap[b]);
    return n > 0 ? sum / (double)n : 0;
}

/* Probabilities below 1e-7 count as 1e-7, as does a class that was never seen. */
double tab_log_loss(const double *probability, const uint32_t *truth, size_t n, size_t classes)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum -= log(truth[i] < classes ? fmax(1e-7, probability[i * classes + truth[i]]) : 1e-7);
    return n > 0 ? sum / (double)n : 0;
}

/* Each answer is a draw that is right with its own probability: the sum's variance is that of p (1 - p). */
double tab_calibration_z(const double *probability, const uint32_t *truth, size_t n, size_t classes)
{
    /* hits less confidence, in standard deviations of what chance would give at these confidences */
    double over = 0, var = 0;
    for (size_t i = 0; i < n; i++) {
        const double *p = probability + i * classes;
        size_t top = top_of(p, classes);
        over += (truth[i] == top) - p[top];
        var += p[top] * (1 - p[top]);
    }
    return var > 1e-9 ? over / sqrt(var) : 0;
}
