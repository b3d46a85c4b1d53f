/* The SQL of reports: immutable rows whose content is the serialized Report, with its SHA-256 beside it. */
#ifndef TAB_REPORTS_STORE_H
#define TAB_REPORTS_STORE_H

#include "common/pg/pg.h"
#include "proto/events.pb-c.h"
#include "proto/reports.pb-c.h"

/* What a call works with: the organization it is bound to and the time it has. */
typedef struct {
    tab_pg *pg;
    const char *org;
    tab_deadline deadline;
    tab_arena *arena; /* results live here */
} reports_at;

/* Mint with an id that is there answers what is stored and changes nothing. VALIDATION: no id, or a kind
 * that is none. A name that is empty is made: {endpoint}.b{n}.{kind}.{YYYY-MM-DD}. */
tab_status reports_mint(const reports_at *at, const Tabella__Report *r, Tabella__Report **ret,
                        tab_error *err) TAB_CHECKED;
tab_status reports_get(const reports_at *at, const char *id, Tabella__Report **ret,
                       tab_error *err) TAB_CHECKED;
/* Starred first, then newest first. VALIDATION on "cursor" when `after` is no cursor of this list. */
tab_status reports_list(const reports_at *at, const Tabella__ListReportsRequest *q,
                        Tabella__ListReportsReply **ret, tab_error *err) TAB_CHECKED;
tab_status reports_star(const reports_at *at, const char *id, bool starred, Tabella__Report **ret,
                        tab_error *err) TAB_CHECKED;

/* The run record of a quick run's event; e->run is there. */
tab_status reports_record_run(tab_tx *tx, tab_arena *a, const Tabella__WorkDone *e,
                              tab_error *err) TAB_CHECKED;

#endif
