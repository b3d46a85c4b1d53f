/* Whether PostgreSQL takes bills, and what organizations owe while it does not. */
#include <assert.h>
#include <stdio.h>

#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "proto/events.pb-c.h"
#include "services/api/serve/bills_internal.h"

/* SLOW_MS: so long it may be slow and is not yet away. PROBES: entries that an organization may lie in. */
enum { SLOW_MS = 400, OWING = 4096, PROBES = 16 };

struct bills bills = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Cells that organizations owe; open addressing, an entry of nothing is free. */
static struct {
    char org[48];
    uint64_t cells;
} owing[OWING];

/* ---- PostgreSQL is there, or not; the lock is held -------------------------------------------- */

void bills_away(void)
{
    bills.shaken = true;
    if (bills.away == 0) {
        bills.away = tab_mono_ms();
        tab_log(TAB_WARN, "PostgreSQL takes no bills of serve calls%s",
                journal_kept() ? "; they are kept in the journal" : "");
    }
}

void bills_well(void)
{
    if (bills.away != 0 || bills.well == 0)
        bills.well = tab_mono_ms();
    if (bills.away != 0)
        tab_log(TAB_INFO, "PostgreSQL takes bills again");
    bills.away = 0;
}

bool bill_away(void)
{
    pthread_mutex_lock(&bills.lock);
    bool away = bills.away != 0 && tab_mono_ms() - bills.away > SLOW_MS;
    pthread_mutex_unlock(&bills.lock);
    return away;
}

/* ---- what is owed ----------------------------------------------------------------------------- */

/* The organization's entry, else a free one, else that of others, who then are counted together with it. */
static size_t owing_at(const char *org)
{
    size_t first = tab_text_slot(org, OWING), none = OWING;
    for (size_t i = 0; i < PROBES; i++) {
        size_t at = (first + i) % OWING;
        if (owing[at].cells > 0 && strcmp(owing[at].org, org) == 0)
            return at;
        if (owing[at].cells == 0 && none == OWING)
            none = at;
    }
    return none < OWING ? none : first;
}

static uint64_t cells_of(const Tabella__WorkDone *w)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < w->n_usage; i++)
        sum += w->usage[i]->cells;
    return sum;
}

void bills_owe(const bill *b, bool more)
{
    for (size_t i = 0; i < b->n; i++) {
        size_t at = owing_at(b->event[i]->org_id);
        uint64_t cells = cells_of(b->event[i]);
        if (more && owing[at].cells == 0)
            snprintf(owing[at].org, sizeof owing[at].org, "%s", b->event[i]->org_id);
        owing[at].cells = more                      ? owing[at].cells + cells
                          : owing[at].cells > cells ? owing[at].cells - cells
                                                    : 0;
        tab_metric_add(bills.owed, more ? (double)cells : -(double)cells);
    }
}

tab_status bill_may(const api *a, const char *org, uint64_t cells, tab_error *err)
{
    pthread_mutex_lock(&bills.lock);
    int64_t away = bills.away == 0 ? 0 : tab_mono_ms() - bills.away;
    uint64_t owed = away == 0 ? 0 : owing[owing_at(org)].cells;
    pthread_mutex_unlock(&bills.lock);
    if (away == 0 || !journal_kept())
        return TAB_OK;
    assert(a->cfg.owed_s >= 0 && a->cfg.owed_cells >= 0);
    return away <= a->cfg.owed_s * 1000 && cells <= (uint64_t)a->cfg.owed_cells &&
                   owed <= (uint64_t)a->cfg.owed_cells - cells
               ? TAB_OK
               : tab_fail(
                     err, TAB_UNAVAILABLE, "",
                     "the database is not responding and the limit of unsettled usage is reached; try again");
}
