/* Rows whose outcomes are known, with their cells, for a refresh that takes them as labelled rows (decision
 * 0515). Nothing is kept of outcomes that come without cells. */
#ifndef TAB_JOBS_OUTCOME_ROWS_H
#define TAB_JOBS_OUTCOME_ROWS_H

#include "services/jobs/outcomes/calibration.h"
#include "services/jobs/work.h"

/* ROWS: an endpoint keeps so many, and so many bytes of cells; the oldest go first. CELLS: bytes of a row. */
enum { OUTCOME_ROWS = 100000, OUTCOME_ROWS_BYTES = 64 << 20, OUTCOME_CELLS = 16 << 10 };

/* Keeps the cells of those that count now, of what the endpoint predicts now, for so many days; an audit
 * event says how many (*ret). Under the endpoint's row. */
tab_status outcome_rows_keep(tab_tx *tx, tab_call *call, const Tabella__Endpoint *e,
                             const Tabella__OutcomesRequest *q, const counted *const *of, size_t n,
                             int64_t days, uint64_t *ret, tab_error *err) TAB_CHECKED;

/* Kept rows of these receipts are kept no longer, whatever was predicted when they were: *ret, how many.
 * ids: an array of PostgreSQL's. *ret_unnamed: rows that were kept before receipts were noted. Under the
 * endpoint's row; an audit event tells of it, also where there was none. */
tab_status outcome_rows_forget(tab_tx *tx, tab_call *call, const Tabella__Endpoint *e, const char *ids,
                               uint64_t *ret, uint64_t *ret_unnamed, tab_error *err) TAB_CHECKED;

/* How many of what the endpoint predicts are kept. */
tab_status outcome_rows_count(tab_tx *tx, const char *org, const Tabella__Endpoint *e, uint64_t *ret,
                              tab_error *err) TAB_CHECKED;

/* They as a table, the outcomes first, in the order in which they came; NULL: there are none. */
tab_status outcome_rows_read(tab_pg *pg, tab_arena *a, const char *org, const Tabella__Endpoint *e,
                             tab_deadline deadline, const tab_table **ret, tab_error *err) TAB_CHECKED;

/* What is decided of them, of no server. gather: those of the n that are kept, without their receipts, and
 * the receipts' ids as PostgreSQL reads arrays, one for each row; false: out of memory. without: k loses
 * the rows at these places, "{0,3}", in order; false: the text is none of those. */
bool outcome_rows_gather(tab_arena *a, const Tabella__Endpoint *e, const Tabella__OutcomesRequest *q,
                         const counted *const *of, size_t n, Tabella__KeptOutcomes *ret,
                         const char **ret_ids) TAB_CHECKED;
bool outcome_rows_without(Tabella__KeptOutcomes *k, const char *places) TAB_CHECKED;

/* Which of its datasets e predicts a column of, and that column; e->n_datasets: none. */
size_t outcome_rows_dataset(const Tabella__Endpoint *e, tab_str *ret_column);

#endif
