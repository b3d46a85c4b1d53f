/* Whether answers still hold (decision 0478): each outcome is a bet against what its answer said.
 *
 * An answer says that it is right with probability p: 0.8 of an interval, the label's share of a class.
 * Against it stand odds that are halved, and odds that are doubled. The likelihood ratio of the outcome
 * adds to the evidence of each side, which never falls below 0 (Page's CUSUM, 1954). If the answers are
 * true a side passes the logarithm of B once in B outcomes at most (Lorden 1971): RARELY of both sides
 * together. */
#ifndef TAB_JOBS_WATCH_H
#define TAB_JOBS_WATCH_H

#include "proto/events.pb-c.h"
#include "services/jobs/outcomes/calibration.h"

enum { WATCH_RARELY = 20000 };

/* Begins anew, of that task. False: out of memory. */
bool watch_begin(tab_arena *a, Tabella__Watch *w, const Tabella__Endpoint *e,
                 tab_receipt_task task) TAB_CHECKED;
bool watch_sound(const Tabella__Watch *w) TAB_CHECKED;
/* Right with probability `said`, and was it? high_said: beside what an answer counts as right too often.
 * NULL, or the side that has passed, whose evidence begins anew with the next outcome. */
const Tabella__WatchSide *watch_tell(Tabella__Watch *w, double said, double high_said, bool right);

/* An outcome of w's task. coverage: of rows within their intervals, as watch_coverage_told has it. */
const Tabella__WatchSide *watch_outcome(Tabella__Watch *w, const counted *c, double coverage);
/* What share of rows lay within their intervals as the report saw it, 0.8 at least: some targets, of few
 * values, have more than they should, and that is no news. */
double watch_coverage_told(const Tabella__Endpoint *e);
/* The columns of served rows that moved, most first, five at most, into q. False: out of memory. */
bool watch_columns(tab_arena *a, const Tabella__Drift *d, Tabella__QualityAlert *q) TAB_CHECKED;

/* Whether an alert is due: a side has passed, and none was told of for a day. It counts as told then. */
bool watch_tells(Tabella__Watch *w, const Tabella__WatchSide *passed, int64_t now) TAB_CHECKED;

/* All outcomes of a call, in the order in which their rows were served; where a side passed, and none did for
 * a day, an event is written. */
tab_status watch_outcomes(tab_tx *tx, tab_call *call, Tabella__Endpoint *e, const counted *const *of,
                          size_t n, tab_error *err) TAB_CHECKED;

#endif
