/* See novelty.h; ahead.c and later.c ask. */
#include "services/inference/engine/predict/ahead/novelty.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/profile/profile.h"

/* LEAST: rows that a distance is told by. By hand. */
enum { LEAST = 20 };
static const double HALF = 0.5;

bool tab_novelty_of(const double *pos, const uint32_t *label, size_t rows, double cut, double most,
                    size_t classes, double *first, tab_novelty *ret)
{
    double *when = malloc((rows + 1) * sizeof *when), farthest = fmax(most, 1);
    size_t n = 0, young = 0;
    *ret = (tab_novelty){ .steps = 0 };
    for (size_t k = 0; k < classes; k++)
        first[k] = (double)INFINITY;
    if (when == NULL)
        return false;
    for (size_t r = 0; r < rows; r++)
        if (label[r] != TAB_NULL && pos[r] <= cut) {
            first[label[r]] = fmin(first[label[r]], pos[r]);
            when[n++] = pos[r];
        }
    qsort(when, n, sizeof *when, tab_ascending_double);
    double middle = n > 0 ? when[n / 2] : 0;
    free(when);
    for (size_t k = 0; k < classes; k++)
        young += isfinite(first[k]) && first[k] > middle;
    for (size_t s = 0; young > 0 && s < TAB_NOVELTY_STEPS; s++) {
        double d = HALF * pow(farthest / HALF, (double)s / (TAB_NOVELTY_STEPS - 1)), asked = 0, new = 0;
        for (size_t r = 0; r < rows; r++)
            if (label[r] != TAB_NULL && pos[r] <= cut && pos[r] - d >= middle) {
                asked++;
                new += pos[r] - first[label[r]] < d;
            }
        if (asked < LEAST)
            break;
        double before = s > 0 ? ret->share[s - 1] : 0;
        ret->distance[s] = d;
        ret->share[s] = fmax(before, new / asked);
        ret->steps = s + 1;
    }
    return true;
}

double tab_novelty_at(const tab_novelty *v, double distance)
{
    size_t s = 0;
    while (s < v->steps && v->distance[s] < distance)
        s++;
    if (v->steps == 0 || s == 0 || s == v->steps)
        return v->steps == 0 ? 0 : v->share[s == 0 ? 0 : s - 1];
    double from = v->distance[s - 1], part = (distance - from) / (v->distance[s] - from);
    return v->share[s - 1] + part * (v->share[s] - v->share[s - 1]);
}
