/* Requests that come while the first with their Idempotency-Key is at work. They hold no thread: one thread
 * looks which of the first ones have ended, here or in another process, and lets the others go on: they find
 * its answer, or take its place where it failed. */
#include <stdlib.h>
#include <time.h>

#include "common/base/log.h"
#include "services/api/api.h"
#include "services/api/idempotency.h"
#include "services/api/render/members.h"

enum { LOOK_MS = 50, LEFT_MS = 500, MOST = 4096, AT_ONCE = 256 };

typedef struct joiner {
    struct joiner *next;
    request *r;
    bool goes;
} joiner;

struct idempotency_wait {
    api *a;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    joiner *first, **last;
    size_t n;
    bool stop;
};

static tab_status join(request *r, tab_error *err);

/* Runs on a worker's thread: a joiner goes on. */
static tab_status go_on(void *arg, tab_error *err)
{
    request *r = arg;
    tab_status s = idempotency_claim(r, err);
    if (s != TAB_OK || r->replayed)
        return s;
    return r->claimed ? request_handle(r, err) : join(r, err);
}

static tab_status give_up(void *arg, tab_error *err)
{
    (void)arg;
    return tab_fail(err, TAB_UNAVAILABLE, "",
                    "the first request with this key is still in progress; try again");
}

/* PARKED, or UNAVAILABLE. */
static tab_status join(request *r, tab_error *err)
{
    struct idempotency_wait *j = r->api->waiting;
    joiner *w = tab_left_ms(r->deadline, LEFT_MS) < LEFT_MS ? NULL : calloc(1, sizeof *w);
    if (w == NULL)
        return give_up(NULL, err);
    w->r = r;
    pthread_mutex_lock(&j->lock);
    bool room = j->n < MOST;
    if (room) {
        *j->last = w;
        j->last = &w->next;
        j->n++;
        pthread_cond_signal(&j->wake);
    }
    pthread_mutex_unlock(&j->lock);
    if (!room) {
        free(w);
        return give_up(NULL, err);
    }
    return PARKED;
}

tab_status idempotency_begin(request *r, tab_error *err)
{
    if (r->idempotency_key == NULL || r->claimed)
        return TAB_OK;
    tab_status s = idempotency_key_check(r, err);
    if (s == TAB_OK)
        s = idempotency_claim(r, err);
    return s != TAB_OK || r->claimed || r->replayed ? s : join(r, err);
}

/* For some joiners: whether the request that each waits for has ended. One statement for all of them. */
static tab_status look(api *a, joiner *const *w, size_t n, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_out o = { 0 };
    tab_out_open(&o, '[');
    for (size_t i = 0; i < n; i++) {
        const request *r = w[i]->r;
        tab_out_open(&o, '{');
        int_member(&o, "n", (int64_t)i);
        text_member(&o, "org", r->who.org);
        text_member(&o, "method", tab_routes[r->route].method);
        str_member(&o, "path", r->path);
        text_member(&o, "key", r->idempotency_key);
        tab_out_close(&o, '}');
    }
    tab_out_close(&o, ']');
    tab_status s =
        o.failed ? tab_no_memory(err) : tab_tx_begin(a->pg, TAB_ORG_ALL, tab_in_ms(2000), &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(
            tx, &rows, err,
            "SELECT k.n "
            "FROM jsonb_to_recordset($1::jsonb) AS k(n int, org text, method text, path text, key text) "
            "LEFT JOIN api.idempotency i USING (org, method, path, key) "
            "WHERE i.org IS NULL OR i.status IS NOT NULL OR i.lease_until < now()",
            TAB_P(tab_p_str(tab_out_text(&o))));
    for (size_t i = 0; s == TAB_OK && i < tab_rows_count(rows); i++) {
        int64_t at = tab_rows_int(rows, i, 0);
        if (at >= 0 && (size_t)at < n)
            w[at]->goes = true;
    }
    tab_out_free(&o);
    return s;
}

/* Takes those off the list that go on, or have waited long enough; the lock is held. */
static joiner *take(struct idempotency_wait *j)
{
    joiner *gone = NULL;
    for (joiner **at = &j->first; *at != NULL;) {
        joiner *w = *at;
        if (!w->goes && tab_left_ms(w->r->deadline, LEFT_MS) == LEFT_MS && !atomic_load(&w->r->gone)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        j->n--;
        w->next = gone;
        gone = w;
    }
    j->last = &j->first;
    while (*j->last != NULL)
        j->last = &(*j->last)->next;
    return gone;
}

static void *watch(void *arg)
{
    struct idempotency_wait *j = arg;
    pthread_mutex_lock(&j->lock);
    while (!j->stop) {
        if (j->first == NULL) {
            pthread_cond_wait(&j->wake, &j->lock);
            continue;
        }
        joiner *some[AT_ONCE];
        size_t n = 0;
        while (j->first != NULL && n < AT_ONCE) { /* put at the end: others are looked up next time */
            joiner *w = some[n++] = j->first;
            j->first = w->next;
            w->next = NULL;
        }
        if (j->first == NULL)
            j->last = &j->first;
        for (size_t i = 0; i < n; i++) {
            *j->last = some[i];
            j->last = &some[i]->next;
        }
        pthread_mutex_unlock(&j->lock);
        tab_error err;
        (void)!look(j->a, some, n, &err); /* the next look tells */
        pthread_mutex_lock(&j->lock);
        joiner *gone = take(j);
        pthread_mutex_unlock(&j->lock);
        for (joiner *w = gone, *next; w != NULL; w = next) {
            next = w->next;
            request_again(w->r, w->goes ? go_on : give_up, w->r);
            free(w);
        }
        struct timespec t = { 0, LOOK_MS * 1000000 };
        nanosleep(&t, NULL);
        pthread_mutex_lock(&j->lock);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

struct idempotency_wait *idempotency_wait_open(api *a)
{
    struct idempotency_wait *j = calloc(1, sizeof *j);
    if (j == NULL)
        return NULL;
    j->a = a;
    j->last = &j->first;
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->wake, NULL);
    if (pthread_create(&j->thread, NULL, watch, j) != 0) {
        tab_log(TAB_ERROR, "no thread for requests that wait");
        free(j);
        return NULL;
    }
    return j;
}

void idempotency_wait_free(struct idempotency_wait *j)
{
    if (j == NULL)
        return;
    pthread_mutex_lock(&j->lock);
    j->stop = true;
    pthread_cond_signal(&j->wake);
    pthread_mutex_unlock(&j->lock);
    pthread_join(j->thread, NULL);
    for (joiner *w = j->first, *next; w != NULL; w = next) {
        next = w->next;
        free(w);
    }
    free(j);
}
