/* See bills.h. Two threads: one writes the rows of calls that begin, all that came while it wrote the last
 * ones in one transaction; the other settles rows that are certain, every SETTLE_MS. */
#include "services/api/serve/bills.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/proto.h"
#include "common/base/spent.h"

/* GROUP: rows a transaction. BILL_MS: two groups may wait for a frozen database, one after the other: within
 * 10 s all know. */
enum { GROUP = 256, SETTLED_MOST = 1024, BILL_MS = 4000, SETTLE_MS = 200, AWAY_MS = 1000 };
enum { LOOK_MS = 2000, LEASE_S = 8, FOUND_MOST = 200 };

struct bill {
    bill *next;
    tab_arena *arena;
    api *a;
    char id[TAB_ID];
    Tabella__WorkDone **event; /* (n): what its calls would be in the outbox */
    size_t n, calls;
    tab_str bytes; /* the same as the row has them */
    enum { QUEUED, WRITING, WRITTEN } state;
    tab_status s;
    tab_error err;
    pthread_cond_t wake;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t came, certain;
    pthread_t writer, settler;
    bill *first, **last; /* to be written */
    bill *settled;       /* certain, to be settled */
    size_t open;         /* begun, not settled */
    bool stop;           /* nobody begins any more */
    tab_metric *waiting, *aside;
} bills = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- sums ------------------------------------------------------------------------------------ */

/* Whether two calls would be one row of the ledger and of the usage object. */
static bool alike(const Tabella__WorkDone *a, const Tabella__WorkDone *b)
{
    bool ok = a->n_usage == b->n_usage && strcmp(a->endpoint_id, b->endpoint_id) == 0 &&
              strcmp(a->key_id, b->key_id) == 0 && strcmp(a->org_id, b->org_id) == 0 &&
              strcmp(a->endpoint, b->endpoint) == 0 && strcmp(a->base_model, b->base_model) == 0 &&
              strcmp(a->hold, b->hold) == 0 && strcmp(a->kind, b->kind) == 0 &&
              strcmp(a->surface, b->surface) == 0;
    for (size_t i = 0; ok && i < a->n_usage; i++)
        ok = strcmp(a->usage[i]->op, b->usage[i]->op) == 0;
    return ok;
}

static Tabella__WorkDone *copy(tab_arena *a, const Tabella__WorkDone *w)
{
    tab_str bytes = tab_proto_write(a, &w->base);
    return bytes.p == NULL ? NULL
                           : (Tabella__WorkDone *)tab_proto_read(a, &tabella__work_done__descriptor, bytes);
}

static uint32_t calls_of(const Tabella__WorkDone *w)
{
    return w->calls == 0 ? 1 : w->calls;
}

size_t bills_sum(tab_arena *a, const Tabella__WorkDone *const *work, size_t n, Tabella__WorkDone **ret)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < m && !alike(ret[k], work[i]))
            k++;
        if (k == m) {
            if ((ret[m] = copy(a, work[i])) == NULL)
                return 0;
            ret[m++]->calls = calls_of(work[i]);
            continue;
        }
        ret[k]->calls += calls_of(work[i]);
        ret[k]->tables += work[i]->tables;
        for (size_t u = 0; u < ret[k]->n_usage; u++)
            ret[k]->usage[u]->cells += work[i]->usage[u]->cells;
    }
    return m;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* What the row of these calls has: their sums, and the sums as bytes. */
static bool fill(bill *b, const Tabella__WorkDone *const *work, size_t n)
{
    Tabella__Bills all = TABELLA__BILLS__INIT;
    b->event = tab_arena_new_of(b->arena, Tabella__WorkDone *, n);
    b->n = b->event == NULL ? 0 : bills_sum(b->arena, work, n, b->event);
    b->calls = n;
    all.n_work = b->n;
    all.work = b->event;
    b->bytes = b->n == 0 ? (tab_str){ NULL, 0 } : tab_proto_write(b->arena, &all.base);
    return b->bytes.p != NULL;
}

static void bill_free(bill *b)
{
    pthread_cond_destroy(&b->wake);
    tab_arena_free(b->arena);
    free(b);
}

bill *bill_begin(api *a, const Tabella__WorkDone *const *work, size_t n)
{
    bill *b = calloc(1, sizeof *b);
    if (b == NULL || (b->arena = tab_arena_new((size_t)4 << 20)) == NULL || !fill(b, work, n)) {
        if (b != NULL)
            tab_arena_free(b->arena);
        free(b);
        return NULL;
    }
    b->a = a;
    tab_id_new(b->id, "bill_");
    pthread_cond_init(&b->wake, NULL);
    pthread_mutex_lock(&bills.lock);
    *bills.last = b;
    bills.last = &b->next;
    bills.open++;
    pthread_cond_signal(&bills.came);
    pthread_mutex_unlock(&bills.lock);
    return b;
}

/* The bytes as PostgreSQL reads a bytea. */
static char *hex(tab_arena *a, tab_str bytes)
{
    char *text = tab_arena_new_of(a, char, 2 * bytes.n + 3);
    if (text == NULL)
        return NULL;
    memcpy(text, "\\x", 2);
    tab_hex((const uint8_t *)bytes.p, bytes.n, text + 2);
    return text;
}

static tab_status write_group(api *a, bill *const *b, size_t n, tab_error *err)
{
    TAB_AUTO(tab_arena) *arena = tab_arena_new((size_t)64 << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    char **id = NULL, **row = NULL;
    if (arena == NULL || (id = tab_arena_new_of(arena, char *, n)) == NULL ||
        (row = tab_arena_new_of(arena, char *, n)) == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        id[i] = b[i]->id;
        if ((row[i] = hex(arena, b[i]->bytes)) == NULL)
            return tab_no_memory(err);
    }
    const char *ids = tab_pg_array(arena, id, n), *rows = tab_pg_array(arena, row, n);
    if (ids == NULL || rows == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(a->pg, TAB_ORG_ALL, tab_in_ms(BILL_MS), &tx, err));
    return tab_tx_finish(&tx, NULL, err,
                         "INSERT INTO api.bill (id, owner, bills, until) "
                         "SELECT id, $1, bills, now() + make_interval(secs => $2) "
                         "FROM unnest($3::text[], $4::bytea[]) b(id, bills)",
                         TAB_P(tab_p_text(a->owner), tab_p_int(LEASE_S), tab_p_text(ids), tab_p_text(rows)));
}

static void *write_all(void *arg)
{
    api *a = arg;
    pthread_mutex_lock(&bills.lock);
    while (!bills.stop || bills.first != NULL) {
        bill *group[GROUP];
        size_t n = 0;
        for (; bills.first != NULL && n < GROUP; bills.first = bills.first->next) {
            group[n++] = bills.first;
            bills.first->state = WRITING;
        }
        if (bills.first == NULL)
            bills.last = &bills.first;
        if (n == 0) {
            pthread_cond_wait(&bills.came, &bills.lock);
            continue;
        }
        pthread_mutex_unlock(&bills.lock);
        tab_error err = { 0 };
        tab_status s = write_group(a, group, n, &err);
        pthread_mutex_lock(&bills.lock);
        for (size_t i = 0; i < n; i++) {
            group[i]->s = s;
            group[i]->err = err;
            group[i]->state = WRITTEN;
            pthread_cond_signal(&group[i]->wake);
        }
    }
    pthread_mutex_unlock(&bills.lock);
    return NULL;
}

/* ---- the end of a call ----------------------------------------------------------------------- */

static tab_status unknown(tab_error *err)
{
    return tab_fail(err, TAB_UNAVAILABLE, "", "the database does not answer now");
}

/* Takes a bill that nobody has begun to write out of the queue. The lock is held. */
static bool withdraw(bill *b)
{
    if (b->state != QUEUED)
        return false;
    bill **at = &bills.first;
    while (*at != b)
        at = &(*at)->next;
    if ((*at = b->next) == NULL)
        bills.last = at;
    return true;
}

static void drop(bill *b)
{
    pthread_mutex_lock(&bills.lock);
    bills.open--;
    pthread_mutex_unlock(&bills.lock);
    bill_free(b);
}

/* Fewer of its calls were answered than it began with. */
static tab_status change(bill *b, const Tabella__WorkDone *const *answered, size_t m, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    if (m > 0 && !fill(b, answered, m))
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(b->a->pg, TAB_ORG_ALL, tab_in_ms(BILL_MS), &tx, err));
    if (m > 0)
        TAB_TRY(tab_tx_finish(&tx, &rows, err, "UPDATE api.bill SET bills = $2 WHERE id = $1 RETURNING 1",
                              TAB_P(tab_p_text(b->id), tab_p_bytes(b->bytes))));
    else
        TAB_TRY(tab_tx_finish(&tx, &rows, err, "DELETE FROM api.bill WHERE id = $1 RETURNING 1",
                              TAB_P(tab_p_text(b->id))));
    return tab_rows_count(rows) == 1 ? TAB_OK : unknown(err); /* its lease had ended: it is billed as begun */
}

tab_status bill_end(bill *b, const Tabella__WorkDone *const *answered, size_t m, tab_error *err)
{
    int64_t from = tab_mono_us();
    pthread_mutex_lock(&bills.lock);
    bool never = m == 0 && withdraw(b);
    while (!never && b->state != WRITTEN)
        pthread_cond_wait(&b->wake, &bills.lock);
    pthread_mutex_unlock(&bills.lock);
    tab_spent_here.postgres_us += tab_mono_us() - from;
    tab_status s = never ? TAB_OK : b->s;
    if (s != TAB_OK)
        *err = b->err;
    else if (!never && m < b->calls)
        s = change(b, answered, m, err);
    if (s == TAB_CANCELLED)
        s = unknown(err);
    if (s != TAB_OK || m == 0) {
        drop(b);
        return s;
    }
    pthread_mutex_lock(&bills.lock);
    b->next = bills.settled;
    bills.settled = b;
    if (b->next == NULL)
        pthread_cond_signal(&bills.certain);
    pthread_mutex_unlock(&bills.lock);
    return TAB_OK;
}

/* ---- settling -------------------------------------------------------------------------------- */

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

/* One transaction: the rows go, their sums come. A row that is no longer there was settled by who found it,
 * or by a commit of ours whose answer was lost. */
static tab_status settle(api *a, bill *const *b, size_t n, tab_error *err)
{
    TAB_AUTO(tab_arena) *arena = tab_arena_new((size_t)64 << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    size_t most = 0, m = 0;
    for (size_t i = 0; i < n; i++)
        most += b[i]->n;
    char **id = arena == NULL ? NULL : tab_arena_new_of(arena, char *, n);
    const Tabella__WorkDone **work =
        arena == NULL ? NULL : tab_arena_new_of(arena, const Tabella__WorkDone *, most);
    for (size_t i = 0; id != NULL && i < n; i++)
        id[i] = b[i]->id;
    const char *ids = id == NULL ? NULL : tab_pg_array(arena, id, n);
    if (ids == NULL || work == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(a->pg, TAB_ORG_ALL, tab_in_ms(BILL_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &rows, err, "DELETE FROM api.bill WHERE id = ANY($1::text[]) RETURNING id",
                         TAB_P(tab_p_text(ids))));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < b[i]->n && (tab_rows_count(rows) == n || has(rows, b[i]->id)); k++)
            work[m++] = b[i]->event[k];
    if (m > 0)
        TAB_TRY(put_events(tx, arena, work, m, err));
    return tab_tx_commit(&tx, err);
}

/* A row that cannot be read is set aside, where no look finds it again, for a person to see to. Nobody else's
 * bills wait for it. */
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
    for (size_t i = 0; i < found.n; i++)
        for (size_t k = 0; k < found.bills[i]->n_work; k++)
            work[m++] = found.bills[i]->work[k];
    if (found.n > 0)
        TAB_TRY(tab_tx_query(tx, NULL, err, "DELETE FROM api.bill WHERE id = ANY($1::text[])",
                             TAB_P(tab_p_text(ids))));
    if (m > 0)
        TAB_TRY(put_events(tx, arena, work, m, err));
    *ret = tab_rows_count(rows);
    *settled = found.n;
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

/* Settles what is certain now, SETTLED_MOST at most. False: it waits for the next time. The lock is held. */
static bool settle_some(api *a)
{
    bill *b[SETTLED_MOST];
    size_t n = 0;
    for (; bills.settled != NULL && n < SETTLED_MOST; bills.settled = bills.settled->next)
        b[n++] = bills.settled;
    if (n == 0)
        return true;
    pthread_mutex_unlock(&bills.lock);
    tab_error err = { 0 };
    tab_status s = settle(a, b, n, &err);
    if (s == TAB_OK)
        tab_relay_nudge(a->relay);
    for (size_t i = 0; s == TAB_OK && i < n; i++)
        bill_free(b[i]);
    pthread_mutex_lock(&bills.lock);
    for (size_t i = 0; s != TAB_OK && i < n; i++) {
        b[i]->next = bills.settled;
        bills.settled = b[i];
    }
    bills.open -= s == TAB_OK ? n : 0;
    tab_metric_set(bills.waiting, (double)bills.open);
    return s == TAB_OK;
}

static void look(api *a, bool any_open)
{
    size_t n = FOUND_MOST;
    if (any_open)
        renew(a);
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

static void *settle_all(void *arg)
{
    api *a = arg;
    int64_t began = 0, looked = 0;
    bool ok = true;
    pthread_mutex_lock(&bills.lock);
    while (!bills.stop) {
        if (bills.settled == NULL)
            tab_cond_wait(&bills.certain, &bills.lock, looked + LOOK_MS);
        int64_t due = began + (ok ? SETTLE_MS : AWAY_MS);
        while (!bills.stop && tab_mono_ms() < due)
            tab_cond_wait(&bills.certain, &bills.lock, due);
        began = tab_mono_ms();
        ok = settle_some(a);
        if (began - looked >= LOOK_MS && !bills.stop) {
            bool any = bills.open > 0;
            looked = began;
            pthread_mutex_unlock(&bills.lock);
            look(a, any);
            pthread_mutex_lock(&bills.lock);
        }
    }
    while (settle_some(a) && bills.settled != NULL)
        continue;
    pthread_mutex_unlock(&bills.lock);
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

bool bills_open(api *a)
{
    bills.last = &bills.first;
    pthread_cond_init(&bills.came, NULL);
    pthread_cond_init(&bills.certain, NULL);
    bills.waiting = tab_gauge("tabella_bills_open", "Bills of serve calls that are not yet events", NULL);
    bills.aside = tab_counter("tabella_bills_unreadable_total",
                              "Bills that could not be read and were set aside", NULL);
    if (pthread_create(&bills.writer, NULL, write_all, a) != 0)
        return false;
    if (pthread_create(&bills.settler, NULL, settle_all, a) == 0)
        return true;
    bills.stop = true;
    pthread_cond_signal(&bills.came);
    pthread_join(bills.writer, NULL);
    return false;
}

void bills_close(api *a)
{
    (void)a;
    pthread_mutex_lock(&bills.lock);
    bills.stop = true;
    pthread_cond_signal(&bills.came);
    pthread_cond_signal(&bills.certain);
    pthread_mutex_unlock(&bills.lock);
    pthread_join(bills.writer, NULL);
    pthread_join(bills.settler, NULL);
}
