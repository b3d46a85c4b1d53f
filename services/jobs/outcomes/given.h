/* The rows of a call of outcomes: which of them count, in which order, under which ids. No server, no clock:
 * outcomes.c has those. */
#ifndef TAB_JOBS_OUTCOMES_GIVEN_H
#define TAB_JOBS_OUTCOMES_GIVEN_H

#include "services/jobs/outcomes/calibration.h"

enum { OUTCOME_UUID = 36 };

typedef struct {
    int64_t now, kept_days; /* microseconds since 1970; how long a receipt is taken */
    counted *of;            /* (n), by id; no id twice */
    size_t n;
} given;

/* Reads q's rows against e's key; what is refused, with its reason, and how many came twice go into y. Of
 * several rows of a receipt the first counts. */
tab_status given_read(tab_arena *a, const Tabella__Endpoint *e, const Tabella__OutcomesRequest *q, given *g,
                      Tabella__OutcomesReply *y, tab_error *err) TAB_CHECKED;

/* Their ids, and the seconds since 1970 at which those are forgotten, a day after their receipts are no
 * longer taken, as PostgreSQL reads arrays. False: out of memory. */
bool given_arrays(tab_arena *a, const given *g, const char **ret_ids, const char **ret_ends) TAB_CHECKED;

/* Receipts' ids, added one by one, as an array of PostgreSQL's. begin: room for as many; false: out of
 * memory. */
typedef struct {
    char *text;
    size_t n;
} outcome_ids;
bool outcome_ids_begin(tab_arena *a, size_t most, outcome_ids *x) TAB_CHECKED;
void outcome_ids_add(outcome_ids *x, const uint8_t id[TAB_RECEIPT_ID]);
const char *outcome_ids_end(outcome_ids *x);

/* The ids of rows that are to be forgotten, as such an array. NOT_FOUND on receipts[i]: the endpoint has
 * issued no such receipt. */
tab_status given_to_forget(tab_arena *a, const Tabella__Endpoint *e, const Tabella__ForgetOutcomesRequest *q,
                           const char **ret, tab_error *err) TAB_CHECKED;

/* Moves *at to the row of that id, from *at on; false: none of those has it. */
bool given_find(const given *g, const char *uuid, size_t *at) TAB_CHECKED;

/* Into the order in which their rows were served. */
void given_as_served(const counted **of, size_t n);

int32_t outcome_day_of(int64_t us);          /* since 1970, in UTC */
size_t outcome_days_most(int64_t kept_days); /* so many days can the rows of a call be of */

#endif
