/* Settling: bills that are certain become events, every SETTLE_MS; and so do those that processes left which
 * died, as rows or in journals.
 *
 *   certain --settle--> settled --KEPT_MS, if PostgreSQL goes away meanwhile: is its mark there?--> over
 *                          ^                                                        |
 *                          +------------------- no: it was lost in a failover ------+
 *
 * A settlement is one transaction: its mark, its rows away, marks of the bills that others may settle, too,
 * and the events of those that nobody has settled. One that failed is made again as it was: where its mark is
 * there, only the answer had been lost. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/point.h"
#include "common/base/proto.h"
#include "proto/events.pb-c.h"
#include "services/api/serve/bills_internal.h"

enum { SETTLE_MS = 200, AWAY_MS = 1000 };
enum { LOOK_MS = 2000, FOUND_MOST = 200, KEPT_MOST = 32768, KEPT_MS = 60000, LAST_MS = 5000 };

/* The settler's own. */
static struct {
    settlement *failed; /* made again before any other */
    bills_kept kept;    /* for as long as a failover may lose that they were settled */
    uint64_t breaks;    /* of connections to PostgreSQL, as far as they are known */
} own = { .kept = { .last = &own.kept.first } };

/* ---- events ----------------------------------------------------------------------------------- */

/* The sums of n sums become events. */
static tab_status put_events(tab_tx *tx, tab_arena *a, const Tabella__WorkDone *const *work, size_t n,
                             tab_error *err)
{
    Tabella__WorkDone **event = tab_arena_new_of(a, Tabella__WorkDone *, n);
    size_t m = event == NULL ? 0 : bills_sum(a, work, n, event);
    tab_outbox_event *out = tab_arena_new_of(a, tab_outbox_event, m + 1);
    if (m == 0 || out == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < m; i++)
        out[i] = (tab_outbox_event){ event[i]->event_id, event[i]->org_id, &event[i]->base };
    return tab_outbox_put_all(tx, a, "api", "tabella.event.work.served", out, m, err);
}

static bool has(const tab_rows *rows, const char *id)
{
    for (size_t i = 0; i < tab_rows_count(rows); i++)
        if (strcmp(tab_rows_text(rows, i, 0), id) == 0)
            return true;
    return false;
}

#define MARK                                                                                             \
    "INSERT INTO api.settled (id, until) SELECT id, now() + $2::interval FROM unnest($1::text[]) x(id) " \
    "ON CONFLICT DO NOTHING RETURNING id"

/* Marks n bills; *ret: those that had no mark, and are ours to settle. */
static tab_status mark(tab_tx *tx, tab_arena *a, char *const *id, size_t n, const char *keep, tab_rows **ret,
                       tab_error *err)
{
    const char *ids = tab_pg_array(a, id, n);
    return ids == NULL ? tab_no_memory(err)
                       : tab_tx_query(tx, ret, err, MARK, TAB_P(tab_p_text(ids), tab_p_text(keep)));
}

/* ---- a settlement ----------------------------------------------------------------------------- */

/* Whether the row of the i-th bill was there. */
static bool has_row(const settlement *s, const tab_rows *there, size_t i)
{
    return tab_rows_count(there) == s->n || has(there, s->bill[i]->id);
}

/* Bills without a row of theirs: owed, or settled by who found the row, or lost with it. */
static tab_status mark_others(const settlement *s, tab_tx *tx, tab_arena *a, const tab_rows *there,
                              tab_rows **ret, tab_error *err)
{
    char **id = tab_arena_new_of(a, char *, s->n + 1);
    size_t n = 0, lost = 0;
    if (id == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < s->n; i++) {
        if (bill_by_row(s->bill[i], has_row(s, there, i)))
            continue;
        id[n++] = s->bill[i]->id;
        lost += !s->bill[i]->owed;
    }
    if (n == 0)
        return TAB_OK;
    TAB_TRY(mark(tx, a, id, n, "30 days", ret, err));
    if (lost > 0)
        tab_metric_add(bills.lost, (double)lost);
    return TAB_OK;
}

static tab_status make(api *a, const settlement *s, tab_error *err)
{
    TAB_AUTO(tab_arena) *arena = tab_arena_new((size_t)64 << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *first = NULL;
    TAB_AUTO(tab_rows) *there = NULL;
    TAB_AUTO(tab_rows) *fresh = NULL;
    size_t most = 0, m = 0;
    for (size_t i = 0; i < s->n; i++)
        most += s->bill[i]->n;
    char **id = arena == NULL ? NULL : tab_arena_new_of(arena, char *, s->n),
         *own_id = (char *)(uintptr_t)s->id;
    const Tabella__WorkDone **work =
        arena == NULL ? NULL : tab_arena_new_of(arena, const Tabella__WorkDone *, most + 1);
    for (size_t i = 0; id != NULL && i < s->n; i++)
        id[i] = s->bill[i]->id;
    const char *ids = id == NULL ? NULL : tab_pg_array(arena, id, s->n);
    if (ids == NULL || work == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(a->pg, TAB_ORG_ALL, tab_in_ms(BILL_MS), &tx, err));
    TAB_TRY(mark(tx, arena, &own_id, 1, "1 hour", &first, err));
    if (tab_rows_count(first) == 0)
        return TAB_OK; /* it was committed */
    TAB_TRY(tab_tx_query(tx, &there, err, "DELETE FROM api.bill WHERE id = ANY($1::text[]) RETURNING id",
                         TAB_P(tab_p_text(ids))));
    TAB_TRY(mark_others(s, tx, arena, there, &fresh, err));
    for (size_t i = 0; i < s->n; i++) {
        bool ours =
            bill_by_row(s->bill[i], has_row(s, there, i)) || (fresh != NULL && has(fresh, s->bill[i]->id));
        for (size_t k = 0; k < s->bill[i]->n && ours; k++)
            work[m++] = s->bill[i]->event[k];
    }
    assert(m <= most);
    if (m > 0)
        TAB_TRY(put_events(tx, arena, work, m, err));
    return tab_tx_commit(&tx, err);
}

/* ---- what was settled, for a while ------------------------------------------------------------- */

/* The lock is not held. */
static void end(settlement *s)
{
    for (size_t i = 0; i < s->n; i++) {
        bills_keep(&own.kept, s->id, s->bill[i], tab_mono_ms());
        if (s->bill[i]->file != NULL)
            journal_settled(s->bill[i]->file);
    }
    pthread_mutex_lock(&bills.lock);
    for (size_t i = 0; i < s->n; i++)
        if (s->bill[i]->owed)
            bills_owe(s->bill[i], false);
    assert(bills.open >= s->n);
    bills.open -= s->n;
    tab_metric_set(bills.waiting, (double)bills.open);
    pthread_mutex_unlock(&bills.lock);
    for (size_t i = 0; i < s->n; i++)
        bill_free(s->bill[i]);
    free(s->bill);
    free(s);
    bills_forget(&own.kept, KEPT_MOST, tab_mono_ms() - KEPT_MS);
}

/* A bill that whoever settles it marks. */
static void take_in(bill *b)
{
    pthread_mutex_lock(&bills.lock);
    bills.open++;
    bills_owe(b, true);
    b->next = bills.settled;
    bills.settled = b;
    pthread_mutex_unlock(&bills.lock);
}

/* PostgreSQL was away, or ended connections: whatever it had confirmed shortly before may have been lost with
 * a server that did not come back. Those bills are settled again, under the same names. */
static tab_status look_up_kept(api *a, tab_error *err)
{
    TAB_AUTO(tab_arena) *arena = tab_arena_new((size_t)64 << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    char **id = arena == NULL ? NULL : tab_arena_new_of(arena, char *, own.kept.n + 1);
    size_t lost = 0;
    if (id == NULL)
        return tab_no_memory(err);
    size_t n = bills_settlements(&own.kept, id);
    const char *ids = tab_pg_array(arena, id, n);
    if (ids == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(a->pg, TAB_ORG_ALL, tab_in_ms(BILL_MS), &tx, err));
    TAB_TRY(tab_tx_finish(&tx, &rows, err, "SELECT id FROM api.settled WHERE id = ANY($1::text[])",
                          TAB_P(tab_p_text(ids))));
    if (tab_rows_count(rows) == n)
        return TAB_OK;
    TAB_POINT("bills.kept-lost");
    for (kept_bill **at = &own.kept.first; *at != NULL;) {
        bill *b = has(rows, (*at)->settlement) ? NULL : bills_take_back(&own.kept, a, at);
        if (b == NULL) {
            at = &(*at)->next;
            continue;
        }
        take_in(b);
        lost++;
    }
    tab_log(TAB_WARN, "PostgreSQL has lost what it had confirmed: %zu bills are settled again", lost);
    tab_metric_add(bills.lost, (double)lost);
    return TAB_OK;
}

/* ---- what others left -------------------------------------------------------------------------- */

static tab_status set_aside(tab_tx *tx, const char *id, tab_error *err)
{
    tab_log_fields(TAB_ERROR, "a bill cannot be read; its row is kept in api.bill", "bill", id, NULL);
    tab_metric_add(bills.aside, 1);
    return tab_tx_query(tx, NULL, err, "UPDATE api.bill SET until = 'infinity' WHERE id = $1",
                        TAB_P(tab_p_text(id)));
}

/* Bills that were found and can be read. */
typedef struct {
    Tabella__Bills **bills; /* (n) */
    char **id;              /* (n) of their rows */
    size_t n, work;         /* work: lines of all of them */
} found_bills;

/* rows: id, bills. */
static tab_status read_found(tab_tx *tx, const tab_rows *rows, tab_arena *a, found_bills *ret, tab_error *err)
{
    size_t n = tab_rows_count(rows);
    ret->bills = tab_arena_new_of(a, Tabella__Bills *, n + 1);
    ret->id = tab_arena_new_of(a, char *, n + 1);
    for (size_t i = 0; ret->bills != NULL && ret->id != NULL && i < n; i++) {
        const char *id = tab_rows_text(rows, i, 0);
        tab_str bytes = tab_rows_bytes(rows, i, 1, a);
        Tabella__Bills *b = (Tabella__Bills *)tab_proto_read(a, &tabella__bills__descriptor, bytes);
        if (tab_arena_full(a))
            break;
        if (b == NULL) {
            TAB_TRY(set_aside(tx, id, err));
            continue;
        }
        ret->bills[ret->n] = b;
        ret->id[ret->n++] = (char *)(uintptr_t)id;
        ret->work += b->n_work;
    }
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

/* Rows whose owner has died, or stood still for longer than their lease. *ret: how many rows were looked at;
 * *settled: how many were settled. */
static tab_status settle_found(api *a, size_t *ret, size_t *settled, tab_error *err)
{
    TAB_AUTO(tab_arena) *arena = tab_arena_new((size_t)256 << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_AUTO(tab_rows) *fresh = NULL;
    found_bills found = { 0 };
    size_t m = 0;
    if (arena == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(a->pg, TAB_ORG_ALL, tab_in_ms(BILL_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT id, bills FROM api.bill WHERE until < now() ORDER BY id LIMIT $1 "
                         "FOR UPDATE SKIP LOCKED",
                         TAB_P(tab_p_int(FOUND_MOST))));
    TAB_TRY(read_found(tx, rows, arena, &found, err));
    const Tabella__WorkDone **work = tab_arena_new_of(arena, const Tabella__WorkDone *, found.work + 1);
    const char *ids = found.n == 0 ? "{}" : tab_pg_array(arena, found.id, found.n);
    if (ids == NULL || work == NULL)
        return tab_no_memory(err);
    if (found.n > 0) {
        TAB_TRY(mark(tx, arena, found.id, found.n, "30 days", &fresh, err));
        TAB_TRY(tab_tx_query(tx, NULL, err, "DELETE FROM api.bill WHERE id = ANY($1::text[])",
                             TAB_P(tab_p_text(ids))));
    }
    for (size_t i = 0; i < found.n; i++)
        for (size_t k = 0; k < found.bills[i]->n_work && has(fresh, found.id[i]); k++)
            work[m++] = found.bills[i]->work[k];
    assert(m <= found.work);
    if (m > 0)
        TAB_TRY(put_events(tx, arena, work, m, err));
    *ret = tab_rows_count(rows);
    *settled = found.n;
    if (found.n > 0)
        TAB_POINT("bills.found");
    return tab_tx_commit(&tx, err);
}

/* Bills of calls that take long stay ours. */
static void renew(api *a)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_error err;
    if (tab_tx_begin(a->pg, TAB_ORG_ALL, tab_in_ms(2000), &tx, &err) == TAB_OK)
        (void)!tab_tx_finish(&tx, NULL, &err,
                             "UPDATE api.bill SET until = now() + make_interval(secs => $2) "
                             "WHERE owner = $1 AND until < now() + make_interval(secs => $2 - 2)",
                             TAB_P(tab_p_text(a->owner), tab_p_int(LEASE_S)));
}

static void adopt(void *arg, const char *id, tab_str bytes, journal_file *f)
{
    bill *b = bill_of_bytes(arg, id, bytes);
    if (b == NULL) { /* its file stays, since it is never settled */
        tab_log_fields(TAB_ERROR, "a bill in a journal cannot be read; the file is kept", "bill", id, NULL);
        tab_metric_add(bills.aside, 1);
        return;
    }
    b->file = f;
    TAB_POINT("bills.adopt");
    take_in(b);
    tab_log_fields(TAB_WARN, "a bill that a process left in its journal is settled", "bill", id, NULL);
}

static void look(api *a)
{
    size_t n = FOUND_MOST;
    while (n == FOUND_MOST) {
        tab_error err = { 0 };
        size_t settled = 0;
        n = 0;
        tab_status s = settle_found(a, &n, &settled, &err);
        if (s != TAB_OK)
            tab_log_fields(TAB_WARN, "bills of processes that died wait; tried again", "why", err.message,
                           NULL);
        if (s == TAB_OK && settled > 0) {
            tab_log(TAB_WARN, "%zu bills of a process that died are settled", settled);
            tab_relay_nudge(a->relay);
        }
    }
}

/* ---- the thread -------------------------------------------------------------------------------- */

/* False: PostgreSQL does not take it. The lock is held. */
static bool settle_some(api *a)
{
    settlement *s = own.failed != NULL ? own.failed : bills_gather();
    own.failed = NULL; /* as it is until it succeeds */
    if (s == NULL)
        return true;
    pthread_mutex_unlock(&bills.lock);
    tab_error err = { 0 };
    TAB_POINT("bills.settle");
    tab_status status = make(a, s, &err);
    TAB_POINT("bills.settled");
    if (status == TAB_OK) {
        tab_relay_nudge(a->relay);
        end(s);
    } else {
        own.failed = s;
    }
    pthread_mutex_lock(&bills.lock);
    if (status == TAB_OK)
        bills_well();
    else
        bills_away();
    return status == TAB_OK;
}

/* Once PostgreSQL is there: what it confirmed before is looked up; and rows of others are left alone as long
 * as their owners may still say what became of them. The lock is held, and left meanwhile. */
static void tend(api *a)
{
    uint64_t breaks = tab_pg_breaks(a->pg);
    bills.shaken |= breaks != own.breaks;
    own.breaks = breaks;
    bool any_open = bills.open > 0, shaken = bills.shaken && bills.away == 0;
    bool rested = bills.well != 0 && tab_mono_ms() - bills.well > LEASE_S * 1000;
    pthread_mutex_unlock(&bills.lock);
    tab_error err = { 0 };
    journal_adopt(adopt, a);
    if (shaken && own.kept.first != NULL && look_up_kept(a, &err) != TAB_OK)
        shaken = false; /* asked again */
    if (any_open)
        renew(a);
    if (rested)
        look(a);
    bills_forget(&own.kept, KEPT_MOST, tab_mono_ms() - KEPT_MS);
    pthread_mutex_lock(&bills.lock);
    if (shaken && bills.away == 0)
        bills.shaken = false;
}

void *bills_settle_all(void *arg)
{
    api *a = arg;
    int64_t began = 0, looked = 0;
    bool ok = true;
    pthread_mutex_lock(&bills.lock);
    bills.well = tab_mono_ms() - LEASE_S * 1000; /* as far as is known */
    while (!bills.stop) {
        if (bills.settled == NULL && own.failed == NULL)
            tab_cond_wait(&bills.certain, &bills.lock, looked + LOOK_MS);
        int64_t due = began + (ok ? SETTLE_MS : AWAY_MS);
        while (!bills.stop && tab_mono_ms() < due)
            tab_cond_wait(&bills.certain, &bills.lock, due);
        began = tab_mono_ms();
        ok = settle_some(a);
        if (began - looked >= LOOK_MS && !bills.stop) {
            looked = began;
            tend(a);
        }
    }
    /* A volume may end with this process: what is owed is worth some seconds more. */
    tab_deadline until = tab_in_ms(LAST_MS);
    while ((bills.settled != NULL || own.failed != NULL) && tab_left_ms(until, 1) > 0)
        if (!settle_some(a))
            tab_cond_wait(&bills.certain, &bills.lock, tab_within_ms(until, AWAY_MS));
    pthread_mutex_unlock(&bills.lock);
    return NULL;
}
