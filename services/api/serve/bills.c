/* See bills.h. One thread writes the rows of calls that begin, all that came while it wrote the last ones in
 * one transaction; bills_settle.c settles what is certain.
 *
 *   QUEUED --the writer takes it--> WRITING --> WRITTEN, with its status
 *     |                               |
 *     +------- PATIENCE_MS -----------+--> the journal (owed); the row may be there or not
 *
 * Once PostgreSQL has let a bill wait for so long, those that follow go to the journal at once, until it
 * takes one again. */
#include "services/api/serve/bills_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/point.h"
#include "common/base/proto.h"
#include "common/base/wait_time.h"
#include "proto/events.pb-c.h"

/* GROUP: rows a transaction. PATIENCE_MS: so long a row is waited for where there is a journal. */
enum { GROUP = 256, PATIENCE_MS = 300 };

/* ---- rows ------------------------------------------------------------------------------------ */

bill *bill_begin(api *a, const Tabella__WorkDone *const *work, size_t n)
{
    bill *b = bill_new(a);
    if (b == NULL || !bill_fill(b, work, n)) {
        if (b != NULL)
            bill_free(b);
        return NULL;
    }
    tab_id_new(b->id, "bill_");
    b->row = b->bytes;
    pthread_mutex_lock(&bills.lock);
    bills.open++;
    if (bills.away != 0 && journal_kept()) {
        b->state = UNWRITTEN;
    } else {
        *bills.last = b;
        bills.last = &b->next;
        pthread_cond_signal(&bills.came);
    }
    assert(b->n > 0 && b->n <= n); /* calls that the ledger would not tell apart are one line */
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
    assert(n > 0 && n <= GROUP);
    for (size_t i = 0; i < n; i++) {
        id[i] = b[i]->id;
        if ((row[i] = hex(arena, b[i]->row)) == NULL)
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
        TAB_POINT("bills.written");
        pthread_mutex_lock(&bills.lock);
        if (s == TAB_OK)
            bills_well();
        else
            bills_away();
        for (size_t i = 0; i < n; i++) {
            assert(group[i]->state == WRITING);
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
    return tab_fail(err, TAB_UNAVAILABLE, "", "the database is not responding; try again");
}

/* Takes a bill that nobody has begun to write out of the queue. False: somebody has. The lock is held. */
static bool withdraw(bill *b)
{
    if (b->state != QUEUED)
        return b->state == UNWRITTEN;
    bill **at = &bills.first;
    while (*at != b) {
        assert(*at != NULL); /* what is QUEUED is in the queue */
        at = &(*at)->next;
    }
    if ((*at = b->next) == NULL)
        bills.last = at;
    b->state = UNWRITTEN;
    return true;
}

static void drop(bill *b)
{
    pthread_mutex_lock(&bills.lock);
    assert(bills.open > 0);
    bills.open--;
    pthread_mutex_unlock(&bills.lock);
    bill_free(b);
}

/* It is certain what its calls are billed. */
static void pass_on(bill *b)
{
    pthread_mutex_lock(&bills.lock);
    if (b->owed) {
        (void)!withdraw(b);
        bills_owe(b, true);
    }
    assert(b->state == WRITTEN || b->owed); /* else nothing would say what it bills, if this process died */
    b->next = bills.settled;
    bills.settled = b;
    if (b->next == NULL)
        pthread_cond_signal(&bills.certain);
    pthread_mutex_unlock(&bills.lock);
}

/* Waits for its row, no longer than there is a journal in its place. The lock is held. */
static void await_row(bill *b, bool patient)
{
    while (b->state == QUEUED || b->state == WRITING) {
        if (patient || !journal_kept()) {
            pthread_cond_wait(&b->wake, &bills.lock);
        } else if (bills.away != 0 || !tab_cond_wait(&b->wake, &bills.lock, b->began + PATIENCE_MS)) {
            bills_away();
            return;
        }
    }
}

/* Fewer of its calls were answered than it began with. CONFLICT: another process has billed them all. */
static tab_status change(bill *b, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(
        tab_tx_begin(b->a->pg, TAB_ORG_ALL, tab_in_ms(journal_kept() ? 4 * PATIENCE_MS : BILL_MS), &tx, err));
    if (b->n > 0)
        TAB_TRY(tab_tx_finish(&tx, &rows, err, "UPDATE api.bill SET bills = $2 WHERE id = $1 RETURNING 1",
                              TAB_P(tab_p_text(b->id), tab_p_bytes(b->bytes))));
    else
        TAB_TRY(tab_tx_finish(&tx, &rows, err, "DELETE FROM api.bill WHERE id = $1 RETURNING 1",
                              TAB_P(tab_p_text(b->id))));
    if (tab_rows_count(rows) == 1)
        return TAB_OK;
    /* Its lease had ended, and it was billed as begun; or the row was lost. */
    TAB_TRY(tab_tx_begin(b->a->pg, TAB_ORG_ALL, tab_in_ms(4 * PATIENCE_MS), &tx, err));
    TAB_TRY(
        tab_tx_finish(&tx, &rows, err, "SELECT 1 FROM api.settled WHERE id = $1", TAB_P(tab_p_text(b->id))));
    return tab_rows_count(rows) == 1 ? TAB_CONFLICT : unknown(err);
}

/* The journal says what its calls are billed, whatever a row of it says. */
static tab_status owe(bill *b, tab_error *err)
{
    TAB_POINT("bills.owe");
    TAB_TRY(journal_put(b->id, b->bytes, &b->file, err));
    b->owed = true;
    pass_on(b);
    return TAB_OK;
}

/* Its calls are told that they failed: they will not be billed, as far as this process lives. */
static tab_status annul(bill *b, tab_status s)
{
    TAB_POINT("bills.annul");
    b->n = 0;
    b->owed = true;
    pass_on(b);
    return s;
}

tab_status bill_end(bill *b, const Tabella__WorkDone *const *answered, size_t m, tab_error *err)
{
    assert(m <= b->calls);
    int64_t from = tab_mono_us();
    pthread_mutex_lock(&bills.lock);
    bool never = m == 0 && withdraw(b);
    if (!never)
        await_row(b, false);
    bool there = b->state == WRITTEN && b->s == TAB_OK;
    pthread_mutex_unlock(&bills.lock);
    if (never) {
        drop(b);
        return TAB_OK;
    }
    bool fewer = m < b->calls;
    tab_status s = TAB_OK;
    if (fewer && m > 0 && !bill_fill(b, answered, m))
        return annul(b, tab_no_memory(err));
    if (m == 0) {
        b->n = 0;
        b->bytes = (tab_str){ "", 0 };
    }
    if (there && fewer && (s = change(b, err)) == TAB_CONFLICT) {
        TAB_POINT("bills.overtaken");
        drop(b);
        return unknown(err);
    }
    there = there && s == TAB_OK;
    if (there && m == 0) {
        drop(b);
    } else if (there) {
        pass_on(b);
    } else if ((s = owe(b, err)) != TAB_OK) { /* no journal: the row decides, for as long as it takes */
        pthread_mutex_lock(&bills.lock);
        await_row(b, true);
        there = b->state == WRITTEN && b->s == TAB_OK && !fewer;
        pthread_mutex_unlock(&bills.lock);
        if (!there)
            s = annul(b, unknown(err));
        else
            pass_on(b);
        s = there ? TAB_OK : s;
    }
    tab_wait_time_of_thread.postgres_us += tab_mono_us() - from;
    return s;
}

/* ---- start and stop -------------------------------------------------------------------------- */

bool bills_open(api *a)
{
    bills.last = &bills.first;
    pthread_cond_init(&bills.came, NULL);
    pthread_cond_init(&bills.certain, NULL);
    bills.waiting = tab_gauge("tabella_bills_open", "Bills of serve calls that are not yet events", NULL);
    bills.owed = tab_gauge("tabella_bills_owed_cells", "Cells of bills that lie in the journal", NULL);
    bills.aside = tab_counter("tabella_bills_unreadable_total",
                              "Bills that could not be read and were set aside", NULL);
    bills.lost = tab_counter("tabella_bills_lost_rows_total",
                             "Bills whose rows PostgreSQL had confirmed and lost; they were billed", NULL);
    if (!journal_open(a->cfg.journal) || pthread_create(&bills.writer, NULL, write_all, a) != 0)
        return false;
    if (pthread_create(&bills.settler, NULL, bills_settle_all, a) == 0)
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
    journal_close();
}
