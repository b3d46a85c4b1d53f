/* The bills of serve calls, written in groups: while one transaction commits, what comes meanwhile waits
 * and is written by the next one, so that a busy api pays for one commit a group and a lone call for its
 * own alone. Every call still waits for the commit of its bill before its first byte. Calls of a group
 * that the ledger would not tell apart are one event, which says how many they are (decision 0150). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "services/api/api.h"

enum { GROUP = 256 };
/* BILL_MS: two groups may wait for a frozen database, one after the other: within 10 s all know.
 * LINGER_MS: a group waits so long for calls that are under way: they come soon, and a commit costs more
 * than they do. */
enum { BILL_MS = 4000, LINGER_MS = 3 };

typedef struct bill {
    struct bill *next;
    const Tabella__WorkDone *const *work; /* (n) */
    size_t n;
    bool done, lead;
    tab_status s;
    tab_error err;
    pthread_cond_t wake;
} bill;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t came;
    bill *first, **last;
    bool busy;
    size_t coming; /* calls under way that have no bill yet */
} bills = { .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER };

void bill_coming(void)
{
    pthread_mutex_lock(&bills.lock);
    bills.coming++;
    pthread_mutex_unlock(&bills.lock);
}

static void has_come(void)
{
    if (--bills.coming == 0)
        pthread_cond_signal(&bills.came);
}

void bill_none(void)
{
    pthread_mutex_lock(&bills.lock);
    has_come();
    pthread_mutex_unlock(&bills.lock);
}

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
            ret[m++]->calls = 1;
            continue;
        }
        ret[k]->calls++;
        ret[k]->tables += work[i]->tables;
        for (size_t u = 0; u < ret[k]->n_usage; u++)
            ret[k]->usage[u]->cells += work[i]->usage[u]->cells;
    }
    return m;
}

static tab_status write_group(api *a, bill *const *b, size_t n, tab_deadline deadline, tab_error *err)
{
    TAB_AUTO(tab_arena) *arena = tab_arena_new((size_t)16 << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    size_t calls = 0, m = 0;
    for (size_t i = 0; i < n; i++)
        calls += b[i]->n;
    const Tabella__WorkDone **work = NULL;
    Tabella__WorkDone **event = NULL;
    if (arena != NULL) {
        work = tab_arena_new_of(arena, const Tabella__WorkDone *, calls);
        event = tab_arena_new_of(arena, Tabella__WorkDone *, calls);
    }
    if (work != NULL && event != NULL) {
        for (size_t i = 0, at = 0; i < n; i++)
            for (size_t k = 0; k < b[i]->n; k++)
                work[at++] = b[i]->work[k];
        m = bills_sum(arena, work, calls, event);
    }
    if (m == 0)
        return tab_no_memory(err);
    tab_status s = tab_tx_begin(a->pg, TAB_ORG_ALL, deadline, &tx, err);
    for (size_t i = 0; s == TAB_OK && i < m; i++)
        s = tab_outbox_put(tx, "api", event[i]->event_id, "tabella.event.work.served", event[i]->org_id,
                           &event[i]->base, err);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

/* Waits until no call is under way that will be billed, or for LINGER_MS. The lock is held. */
static void linger(void)
{
    tab_deadline until = tab_in_ms(LINGER_MS);
    while (bills.coming > 0 && tab_cond_wait(&bills.came, &bills.lock, until))
        continue;
}

/* Writes all bills that wait, its own among them. Then the first call that came meanwhile does the same. */
static void lead(api *a, tab_deadline deadline)
{
    bill *group[GROUP];
    size_t n = 0;
    linger();
    for (; bills.first != NULL && n < GROUP; bills.first = bills.first->next)
        group[n++] = bills.first;
    if (bills.first == NULL)
        bills.last = &bills.first;
    pthread_mutex_unlock(&bills.lock);
    tab_error err = { 0 };
    tab_status s = write_group(a, group, n, deadline, &err);
    if (s == TAB_OK)
        tab_relay_nudge(a->relay);
    pthread_mutex_lock(&bills.lock);
    for (size_t i = 0; i < n; i++) {
        group[i]->s = s;
        group[i]->err = err;
        group[i]->done = true;
        pthread_cond_signal(&group[i]->wake);
    }
    bills.busy = bills.first != NULL;
    if (bills.busy) {
        bills.first->lead = true;
        pthread_cond_signal(&bills.first->wake);
    }
}

tab_status bill_put(request *r, const Tabella__WorkDone *const *work, size_t n, tab_error *err)
{
    bill b = { .work = work, .n = n };
    pthread_cond_init(&b.wake, NULL);
    pthread_mutex_lock(&bills.lock);
    has_come();
    if (bills.first == NULL)
        bills.last = &bills.first;
    *bills.last = &b;
    bills.last = &b.next;
    b.lead = !bills.busy;
    bills.busy = true;
    while (!b.done) {
        if (b.lead)
            lead(r->api, tab_within_ms(r->deadline, BILL_MS));
        else
            pthread_cond_wait(&b.wake, &bills.lock);
    }
    pthread_mutex_unlock(&bills.lock);
    pthread_cond_destroy(&b.wake);
    if (b.s == TAB_CANCELLED)
        return tab_fail(err, TAB_UNAVAILABLE, "", "the database does not answer now");
    if (b.s != TAB_OK)
        return tab_fail(err, b.s, b.err.param, "%s", b.err.message);
    return TAB_OK;
}
