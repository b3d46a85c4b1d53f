#include "services/inference/engine/evaluate/baselines.h"

#include <math.h>

#include "services/inference/engine/predict/ahead/history.h"

enum { ROUNDS = 50 };

/* The part of the last class in the mixture with the shares that makes the fitted rows likeliest, by
 * expectation and maximization; each is read from as far before it as one of the held rows lies after the
 * last. */
static double stays(const tab_held_part *s, const tab_history *h, const tab_series *times, int64_t last,
                    const uint32_t *class, const double *share, size_t classes)
{
    const bool *test = s->part.test;
    size_t rows = s->p->table->rows, at = 0;
    double part = 0.5;
    for (int round = 0; round < ROUNDS; round++) {
        double sum = 0, n = 0;
        for (size_t r = 0; r < rows; r++) {
            if (test[r] || class[r] >= classes || times->series[r] == TAB_NULL ||
                times->index[r] == INT64_MIN)
                continue;
            size_t asked = 0; /* the next held row with a time, in turns */
            while (asked++ < rows && (at = (at + 1) % rows, !test[at] || times->index[at] <= last))
                ;
            if (!test[at] || times->index[at] <= last)
                return 0;
            double pos = (double)times->index[r] - (double)(times->index[at] - last);
            uint32_t before = tab_history_row(h, times->series[r], pos);
            if (before == TAB_NULL)
                continue;
            n++;
            if (class[before] == class[r])
                sum += part / (part + (1 - part) * share[class[r]]);
        }
        part = n > 0 ? sum / n : 0;
    }
    return part;
}

double *tab_baselines(tab_arena *a, const tab_held_part *s, const tab_series *times, int64_t last,
                      const double *y, const uint32_t *class, const double *share, size_t classes)
{
    size_t rows = s->p->table->rows, n = 0;
    double *pos = tab_arena_new_of(a, double, rows + 1), *known = tab_arena_new_of(a, double, rows + 1),
           *ret = tab_arena_new_of(a, double, TAB_BASELINES *(s->part.held + 1)), simple[TAB_PAST_MOST];
    if (tab_arena_full(a))
        return NULL;
    for (size_t r = 0; r < rows; r++) {
        bool fitted = !s->part.test[r] && s->class[r] != TAB_NULL && times->index[r] != INT64_MIN;
        pos[r] = times->index[r] == INT64_MIN ? (double)NAN : (double)times->index[r];
        known[r] = !fitted ? (double)NAN : y != NULL ? y[r] : (double)class[r];
    }
    tab_history *h = tab_history_new(a, times, pos, known, rows);
    if (h == NULL)
        return NULL;
    double part = y == NULL ? stays(s, h, times, last, class, share, classes) : 0;
    for (size_t r = 0; r < rows; r++) {
        if (!s->part.test[r])
            continue;
        double *own = ret + TAB_BASELINES * n++;
        for (size_t k = 0; k < TAB_BASELINES; k++)
            own[k] = (double)NAN;
        if (isnan(pos[r]) || times->series[r] == TAB_NULL)
            continue;
        if (y == NULL) {
            uint32_t before = tab_history_row(h, times->series[r], (double)last);
            if (before != TAB_NULL && class[r] < classes)
                own[0] = part * (class[before] == class[r]) + (1 - part) * share[class[r]];
        } else if (tab_history_read(h, times->series[r], pos[r], (double)last, simple) > 0) {
            own[0] = simple[TAB_PAST_LAST];
            own[1] = h->seasons > 0 ? simple[TAB_PAST_PLAIN + TAB_PAST_SAME] : (double)NAN;
            own[2] = simple[TAB_PAST_MEAN];
        }
    }
    return ret;
}
