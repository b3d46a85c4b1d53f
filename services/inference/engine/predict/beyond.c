/* Rows beyond the fitted range of times or numbers, for fitted.c. They are answered as they are, marked, and
 * their intervals widen: beyond the times by what a forward fit on the pinned rows lost (arrange.h), beyond a
 * number's range as if the target might move by its own spread while the number moves by its range. Decision
 * 0294. */
#include <math.h>

#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* A number within a tenth of the range beyond its ends is no news; farther than FARTHEST ranges counts as
 * that. Chosen by hand, not measured. */
static const double MARGIN = 0.1, FARTHEST = 10;

/* How far x lies outside, by the column's range; 0 where it is inside or near. */
static double distance(const tab_fitted_column *c, double x, bool time)
{
    double span = c->most - c->least, off = x > c->most ? x - c->most : c->least - x;
    if (!(off > 0) || !(span > 0) || !isfinite(span))
        return 0;
    return off / span < (time ? 0 : MARGIN) ? 0 : fmin(off / span, FARTHEST);
}

/* The sentence for a column. NULL: the arena is full. */
static char *words(tab_arena *a, const tab_fitted_column *c, bool time)
{
    if (time || c->type == TAB_DATETIME)
        return tab_arena_printf(a, "%.*s lies beyond the times that were fitted", TAB_STR(c->address));
    return tab_arena_printf(a, "%.*s lies beyond the range that was fitted (%.6g to %.6g)",
                            TAB_STR(c->address), c->least, c->most);
}

bool tab_beyond_read(tab_arena *a, const tab_fitted *f, const tab_values *values, size_t rows,
                     tab_scoring *ret)
{
    Tabella__Prediction *m = ret->m;
    ret->beyond = tab_arena_new_of(a, float, rows + 1);
    uint32_t *doubt = tab_arena_new_of(a, uint32_t, rows + 1);
    m->doubts = tab_arena_new_of(a, char *, f->cols + 1);
    if (tab_arena_full(a))
        return false;
    for (size_t c = 0; f->task != TAB_TASK_ANOMALY && c < f->cols; c++) {
        const tab_fitted_column *own = &f->column[c];
        bool time = c == f->split.time, any = false;
        if (!own->used || values[c].number == NULL || own->type == TAB_BOOLEAN)
            continue;
        for (size_t r = 0; r < rows; r++) {
            double d = distance(own, values[c].number[r], time);
            if (!(d > 0))
                continue;
            ret->beyond[r] += (float)(d * d * (time ? f->split.drift : 1));
            if (doubt[r] == 0)
                doubt[r] = (uint32_t)m->n_doubts + 1, any = true;
        }
        if (any && (m->doubts[m->n_doubts++] = words(a, own, time)) == NULL)
            return false;
    }
    if (m->n_doubts > 0) {
        m->results->doubt = doubt;
        m->results->n_doubt = rows;
    }
    return true;
}
