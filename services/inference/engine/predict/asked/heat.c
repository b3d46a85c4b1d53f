/* See heat.h. */
#include "services/inference/engine/predict/asked/heat.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Temperatures are tried at logarithms from -WIDE to WIDE, none in the middle. Beforehand rows of the asked
 * mix are answered as surely as all others but for one table in ten where they are to be doubted, and one in
 * a hundred where they are surer; there logarithms vary by SPREAD (a spike and slabs: Mitchell & Beauchamp,
 * JASA 1988). Of real levels hardly one has a temperature of its own, and one that has is far off. */
enum { NONE = TAB_HEATS / 2 };
static const double WIDE = 1.6, SPREAD = 0.7, DOUBTED = 0.1, SURER = 0.01;

void tab_heat_apply(double heat, size_t n, float *out)
{
    double most = (double)-INFINITY, sum = 0;
    assert(heat > 0 && n > 0);
    for (size_t k = 0; k < n; k++)
        most = fmax(most, (double)out[k] / heat);
    for (size_t k = 0; k < n; k++)
        sum += exp((double)out[k] / heat - most);
    for (size_t k = 0; k < n; k++)
        out[k] = (float)((double)out[k] / heat - most - log(sum));
}

static double heat_at(size_t h)
{
    return exp(-WIDE + 2 * WIDE * (double)h / (TAB_HEATS - 1));
}

double tab_heat_expected(const double *loss, double scale, double doubted, double surer)
{
    double before[TAB_HEATS], least = (double)INFINITY, half = 0, sum = 0, mean = 0;
    assert(doubted >= 0 && surer >= 0 && doubted + surer < 1); /* the rest is as all others */
    for (size_t h = 0; h < TAB_HEATS; h++) {
        double off = log(heat_at(h)) / SPREAD;
        before[h] = exp(-off * off / 2);
        half += h > NONE ? before[h] : 0;
        least = fmin(least, scale * loss[h]);
    }
    for (size_t h = 0; h < TAB_HEATS; h++) {
        double p = h == NONE ? 1 - doubted - surer : (h > NONE ? doubted : surer) * before[h] / half;
        p *= exp(least - scale * loss[h]);
        sum += p, mean += p * log(heat_at(h));
    }
    return exp(mean / sum);
}

void tab_heat_losses(const tab_stack *s, uint32_t label, size_t i, float *scratch, double *ret)
{
    size_t k = s->outputs;
    assert(label < k);
    for (size_t h = 0; h < TAB_HEATS; h++) {
        memcpy(scratch, s->oof + i * k, k * sizeof *scratch);
        tab_heat_apply(heat_at(h), k, scratch);
        ret[h] = -(double)scratch[label];
    }
}

double tab_heat_of_asked(const double *loss, double scale)
{
    return tab_heat_expected(loss, scale, DOUBTED, SURER);
}
