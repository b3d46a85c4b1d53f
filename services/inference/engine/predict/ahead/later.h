/* What a fitted model keeps to answer rows that come later than all labelled ones and that nobody has sent
 * yet: the members of ahead.h as they are at the end of the labelled rows, and, by ranges of distances, their
 * weights and bands, made of the errors after earlier cuts (decision 0400). A served row is so answered as a
 * run would answer it that was asked at any distance. */
#ifndef TAB_LATER_H
#define TAB_LATER_H

#include "services/inference/engine/pack/pack.h"
#include "services/inference/engine/predict/ahead/ahead.h"
#include "services/inference/engine/predict/ahead/clock.h"

typedef struct tab_later tab_later;

/* plain: the recipe that stands for the fitted model itself, which answers by a row's own columns; it is
 * fitted on the rows before earlier cuts. turned: t's rows by a time that runs backwards. ret[TAB_LATER],
 * ret[TAB_EARLIER]: of rows after the labelled ones, and before them, which are told from the other end by
 * what errors are at the same distances after the cuts (decision 0651); of numbers alone. NULL where the past
 * is too short to tell anything by. What is kept lies in a, all else in memory of its own. Errors: CANCELLED,
 * INTERNAL. */
enum { TAB_LATER, TAB_EARLIER, TAB_SIDES };
tab_status tab_later_fit(const tab_engine *e, tab_arena *a, const tab_ahead_task *t, const tab_asked *turned,
                         const tab_recipe *plain, tab_later *ret[TAB_SIDES], tab_error *err) TAB_CHECKED;

/* Rows of the last known times that were not learned from. */
const tab_ahead_apart *tab_later_apart(const tab_later *l);

size_t tab_later_bytes(const tab_later *l);       /* of the members' own arenas; NULL is fine */
void tab_pack_later(tab_pack *p, tab_later **at); /* a pointer to one in few bytes, as tab_pack_fitted */

/* Rows of one request. */
typedef struct {
    const tab_values *values; /* (columns of the table) */
    const uint32_t *row;      /* (n) which of its rows come later */
    size_t n;
    const float
        *plain; /* (n, outputs) what the fitted model says: numbers in the target's units, log-shares */
} tab_later_rows;

/* Numbers: ret (n, TAB_LEVELS + 2) value, spread and quantiles. Classes: ret (n, classes). False: memory. */
bool tab_later_answer(const tab_engine *e, const tab_later *l, const tab_clock *clock,
                      const tab_later_rows *q, double *ret) TAB_CHECKED;
#endif
