/* Which columns tell of what a model left open, beyond what chance lets any of them tell (decision 0393). */
#ifndef TAB_LINKS_SCREEN_H
#define TAB_LINKS_SCREEN_H

#include "services/inference/engine/features/encode.h"

/* What is left of the target, and of what features it is asked.
 *
 * Rows whose values come from one row of another table share a unit: what is left of them may go together by
 * chance, so that they count as one. */
typedef struct {
    const tab_data *data;
    const tab_encoder *enc;
    size_t features;
    const size_t *feature; /* (features) of enc */
    const size_t *unit_of; /* (features) a list of units */
    size_t units;          /* lists */
    uint64_t *const *unit; /* (units)(rows) */
    const float *left;     /* (outputs, rows) out of fold: the label's indicator less its probability, or the
                             * number less its answer */
    size_t outputs;
} tab_links_left;

/* beyond (features): whether a feature splits what is left better than the best of them all ever does in 199
 * draws of its signs, unit by unit. Where none tells anything, the chance that any is taken for one that does
 * is 1/200. False: out of memory, or cancelled. */
bool tab_links_screen(const tab_engine *e, tab_arena *a, const tab_links_left *p, bool *beyond) TAB_CHECKED;
#endif
