/* What of an endpoint's answers came true: sums over outcomes, which add up in any order. No clock, no
 * server: the same outcomes give the same sums.
 *
 * The 80 % interval of a number stands between its quantiles 0.1 and 0.9. A class that the receipt does not
 * name has an equal part of the share that it leaves for all such classes, and SURPRISE at least. */
#ifndef TAB_JOBS_QUALITY_H
#define TAB_JOBS_QUALITY_H

#include "common/base/arena.h"
#include "common/security/receipt.h"
#include "proto/jobs.pb-c.h"

/* Slices of a day: QUALITY_OWN by regime and revision, and so many by columns of the rows (decision 0818). */
enum { QUALITY_BINS = 10, QUALITY_CLASSES = 64, QUALITY_OWN = 16, QUALITY_COLUMNS = 40 };
enum { QUALITY_SLICES = QUALITY_OWN + QUALITY_COLUMNS };

/* An outcome as the task of its receipt has it. */
typedef struct {
    double number;    /* numbers; anomalies: 1 is one, 0 none */
    uint64_t hash[2]; /* classes: what it may be called; of a number as text both forms */
    size_t hashes;
} outcome;

/* NULL, or in a sentence why the outcome is none for such a receipt. */
const char *outcome_read(const tab_receipt *r, const Tabella__OutcomeRow *row, outcome *ret) TAB_CHECKED;

/* Which of the receipt's classes came true, by its place; r->classes: none of those that it names. */
size_t outcome_class(const tab_receipt *r, const outcome *o);

/* Whether sums that were stored are such as these functions write. */
bool quality_sound(const Tabella__OutcomeDay *d) TAB_CHECKED;

/* Of one day and task, empty; NULL: out of memory. kept: a sound one that was stored, or NULL: its sums go
 * on. */
Tabella__OutcomeDay *quality_day(tab_arena *a, int32_t day, tab_receipt_task task,
                                 const Tabella__OutcomeDay *kept) TAB_CHECKED;
/* False: out of memory. delay_us: from the answer to its outcome. */
bool quality_add(tab_arena *a, Tabella__OutcomeDay *d, const tab_receipt *r, const outcome *o,
                 int64_t delay_us) TAB_CHECKED;
/* Adds all of `from`, of the same task. */
bool quality_merge(tab_arena *a, Tabella__OutcomeDay *into, const Tabella__OutcomeDay *from) TAB_CHECKED;

#endif
