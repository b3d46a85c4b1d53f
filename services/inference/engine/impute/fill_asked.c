/* See fill_asked.h. */
#include "services/inference/engine/impute/fill_asked.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/impute/fill.h"
#include "services/inference/engine/predict/asked/heat.h"
#include "services/inference/engine/predict/asked/truncated.h"

/* As many rows say beforehand that confidences hold where cells are missing. By hand. */
static const double BEFOREHAND = 10;
/* Logits are moved by no more. */
static const double FARTHEST = 8;

bool tab_fill_heat(const tab_stack *s, const uint32_t *label, const float *weight, size_t rows, double *ret)
{
    float *scratch = malloc((s->outputs + 1) * sizeof *scratch);
    double loss[TAB_HEATS] = { 0 }, own[TAB_HEATS], w = 0, ww = 0;
    for (size_t i = 0; scratch != NULL && i < rows; i++) {
        if (label[i] == TAB_NULL)
            continue;
        double each = (double)weight[i];
        tab_heat_losses(s, label[i], i, scratch, own);
        for (size_t h = 0; h < TAB_HEATS; h++)
            loss[h] += each * own[h];
        w += each, ww += each * each;
    }
    *ret = ww > 0 ? tab_heat_of_asked(loss, w / ww) : 1;
    bool ok = scratch != NULL;
    free(scratch);
    return ok;
}

static double moved(double p, double by)
{
    double q = fmin(fmax(p, 1e-6), 1 - 1e-6);
    return 1 / (1 + exp(-log(q / (1 - q)) - by));
}

void tab_fill_shift(float *sure, const uint32_t *right, const float *weight, size_t rows)
{
    double w = 0, ww = 0, true_share = 0, said = 0, low = -FARTHEST, high = FARTHEST;
    for (size_t i = 0; i < rows; i++) {
        if (right[i] == TAB_NULL)
            continue;
        double each = (double)weight[i];
        w += each, ww += each * each;
        true_share += each * (double)right[i];
        said += each * (double)sure[i];
    }
    if (!(w > 0))
        return;
    double as_good_as = w * w / ww;
    double goal = (as_good_as * true_share / w + BEFOREHAND * said / w) / (as_good_as + BEFOREHAND);
    for (int k = 0; k < 50; k++) {
        double middle = (low + high) / 2, mean = 0;
        for (size_t i = 0; i < rows; i++)
            mean += right[i] == TAB_NULL ? 0 : (double)weight[i] / w * moved((double)sure[i], middle);
        *(mean < goal ? &low : &high) = middle;
    }
    for (size_t i = 0; i < rows; i++)
        sure[i] = (float)moved((double)sure[i], (low + high) / 2);
}

bool tab_fill_cut_off(const tab_data *d, const double *y, const double *at, const bool *open, size_t rows,
                      bool whole, double sd, double *answer, float *sure)
{
    double *of = calloc(4 * rows + 1, sizeof *of);
    bool *there = calloc(rows + 1, sizeof *there);
    if (of == NULL || there == NULL) {
        free(of);
        free(there);
        return false;
    }
    double *known = of, *m = of + rows, *asked = of + 2 * rows, *score = of + 3 * rows, least = INFINITY;
    size_t n = 0, k = 0;
    for (size_t i = 0; i < rows; i++) {
        there[i] = !open[i] && !isnan(y[i]);
        if (open[i])
            asked[k++] = at[i];
        else if (there[i])
            least = fmin(least, y[i]), known[n] = y[i], m[n++] = at[i];
    }
    tab_truncation t;
    bool ok = tab_truncation_find(known, m, n, asked, k, whole, score, &t);
    if (ok && t.deviation > 0 && tab_truncation_by_column(d, there, open) >= t.gain)
        t.deviation = 0;
    for (size_t i = 0, j = 0; ok && t.deviation > 0 && i < rows; i++) {
        if (!open[i])
            continue;
        double v = tab_truncation_quantile(&t, score[j], 0.5);
        answer[i] = fmax(whole ? round(v) : v, least >= 0 ? 0 : (double)-INFINITY);
        sure[i] = (float)tab_truncation_within(&t, score[j++], answer[i], TAB_FILL_TOLERANCE * sd);
    }
    free(of);
    free(there);
    return ok;
}
