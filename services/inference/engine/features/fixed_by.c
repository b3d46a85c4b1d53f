#include "services/inference/engine/features/fixed_by.h"

#include <math.h>
#include <stdlib.h>

double tab_fixed_by(const tab_data *d, size_t f, const float *y, const uint32_t *label, size_t classes)
{
    const uint8_t *bin = d->bin[f];
    size_t rows = d->rows, groups = 0, n = 0;
    double count[256] = { 0 };
    if (y != NULL) {
        /* between and within the bins, from sums; the within-part adjusted for the number of bins */
        double sum[256] = { 0 }, square = 0, all = 0, within = 0;
        for (size_t i = 0; i < rows; i++)
            if (!isnan(y[i])) {
                double v = (double)y[i];
                count[bin[i]]++, sum[bin[i]] += v, square += v * v, all += v, n++;
            }
        double total = square - all * all / (double)(n + 1), between = 0;
        for (size_t b = 0; b < 256; b++)
            if (count[b] > 0)
                groups++, between += sum[b] * sum[b] / count[b];
        within = square - between;
        if (n <= groups + 1 || !(total > 0))
            return 0;
        return 1 - within / (double)(n - groups) / (total / (double)(n - 1));
    }
    /* classes by bin: the best guess a bin, against the best guess overall */
    uint32_t *table = calloc(256 * classes, sizeof *table), *overall = calloc(classes, sizeof *overall);
    double right = 0;
    uint32_t best_class = 0;
    for (size_t i = 0; table != NULL && overall != NULL && i < rows; i++)
        if (label[i] != TAB_NULL) {
            table[bin[i] * classes + label[i]]++;
            count[bin[i]]++, n++;
            if (++overall[label[i]] > best_class)
                best_class = overall[label[i]];
        }
    for (size_t b = 0; table != NULL && b < 256; b++) {
        uint32_t best = 0;
        for (size_t k = 0; k < classes; k++)
            best = table[b * classes + k] > best ? table[b * classes + k] : best;
        right += best;
        groups += count[b] > 0;
    }
    free(table);
    free(overall);
    /* fewer than three rows a bin fit any target by chance */
    if (n <= 3 * groups || best_class == n)
        return 0;
    return (right - best_class) / ((double)n - best_class);
}
