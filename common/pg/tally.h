/* How many rows a list of an organization has, without counting them (decision 0411).
 *
 * The transaction that adds a row to a list adds one to its schema's tally: (org, list, +1), by a trigger of
 * the listed table; one that takes a row away adds -1. The total is their sum: exact, and nobody waits for
 * anybody, for no row is changed. A sweep folds what was added into one row a list, so that sums stay short:
 *
 *   (o, job, 1) (o, job, 1) (o, job, -1) + (o, job, 4711, folded)  ->  (o, job, 4712, folded) */
#ifndef TAB_TALLY_H
#define TAB_TALLY_H

#include "common/pg/pg.h"

/* schema: of the service; a literal. */
tab_status tab_tally_total(tab_tx *tx, const char *schema, const char *org, const char *list, uint64_t *ret,
                           tab_error *err) TAB_CHECKED;
/* Folds at most so many added rows, of all organizations; how many it were. */
tab_status tab_tally_fold(tab_tx *tx, const char *schema, int64_t most, size_t *ret_n,
                          tab_error *err) TAB_CHECKED;

#endif
