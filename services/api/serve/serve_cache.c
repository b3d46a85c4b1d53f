/* See serve_cache.h: rows are shared by reference counts, so that a call keeps the row it began with. */
#include "services/api/serve/serve_cache.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/log.h"
#include "proto/jobs.pb-c.h"
#include "services/api/platform/endpoints.h"

/* SLOTS: two endpoints that meet in one are read anew by each call (decision 0384).
 * FRESH_MS: a version that Redis gives may have been written into it too late: a Redis that was frozen
 * carries out what lay before it. So a row is used no longer than jobs waits with the answer to a deletion
 * that did not reach Redis (services/jobs/state.c). */
enum { SLOTS = 4096, FRESH_MS = 2000, STALE_MS = 80000, PROBE_MS = 900 };

static atomic_bool jobs_away;

/* An endpoint as serving needs it, read by any number of calls at once. */
typedef struct {
    atomic_size_t refs;
    tab_arena *arena;
    serve_row row;
    tab_out held, held_tables;
    char org[48], id[129], state[64];
    char worker[40]; /* under the lock of `rows` */
    char since[SERVE_SINCE];
    int64_t asked; /* tab_mono_ms before jobs was asked for it */
} cached_row;

static struct {
    pthread_mutex_t lock;
    cached_row *slot[SLOTS];
} rows = { .lock = PTHREAD_MUTEX_INITIALIZER };

static cached_row **slot_of(const request *r)
{
    uint64_t h = tab_fnv1a(TAB_FNV1A, r->who.org, strlen(r->who.org));
    return &rows.slot[tab_hash_slot(tab_fnv1a(h, r->param[0].p, r->param[0].n), SLOTS)];
}

static bool same(const cached_row *s, const request *r)
{
    return strcmp(s->org, r->who.org) == 0 && strlen(s->id) == r->param[0].n &&
           memcmp(s->id, r->param[0].p, r->param[0].n) == 0 &&
           (r->state[0] == 0 || strcmp(s->state, r->state) == 0);
}

static void unref(void *arg)
{
    cached_row *k = arg;
    if (k == NULL || atomic_fetch_sub(&k->refs, 1) > 1)
        return;
    tab_out_free(&k->held);
    tab_out_free(&k->held_tables);
    tab_arena_free(k->arena);
    free(k);
}

/* Where its state is known, the row of that state. */
static const serve_row *get(request *r, int64_t age, char worker[40], char since[SERVE_SINCE])
{
    cached_row *k = NULL;
    cached_row **s = slot_of(r);
    pthread_mutex_lock(&rows.lock);
    if (*s != NULL && same(*s, r) && tab_mono_ms() - (*s)->asked < age) {
        k = *s;
        atomic_fetch_add(&k->refs, 1);
        memcpy(worker, k->worker, sizeof k->worker);
        memcpy(since, k->since, sizeof k->since);
    }
    pthread_mutex_unlock(&rows.lock);
    if (k != NULL && !tab_arena_defer(r->arena, unref, k)) {
        unref(k);
        k = NULL;
    }
    return k == NULL ? NULL : &k->row;
}

const serve_row *serve_cache_get(request *r, char worker[40])
{
    char since[SERVE_SINCE];
    return r->state[0] == 0 ? NULL : get(r, FRESH_MS, worker, since);
}

static struct {
    pthread_mutex_t lock;
    char org[48], id[129];
} unanswered = { .lock = PTHREAD_MUTEX_INITIALIZER }; /* the endpoint that jobs was asked for in vain */

void serve_cache_jobs_silent(const request *r)
{
    pthread_mutex_lock(&unanswered.lock);
    snprintf(unanswered.org, sizeof unanswered.org, "%s", r->who.org);
    snprintf(unanswered.id, sizeof unanswered.id, "%.*s", TAB_STR(r->param[0]));
    pthread_mutex_unlock(&unanswered.lock);
    if (!atomic_exchange(&jobs_away, true))
        tab_log(TAB_WARN, "jobs does not answer; endpoints that are known are served");
}

bool serve_cache_jobs_away(void)
{
    return atomic_load(&jobs_away);
}

void serve_cache_probe(api *a)
{
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    char org[48], id[129];
    tab_answer answer;
    tab_error err;
    if (!atomic_load(&jobs_away))
        return;
    pthread_mutex_lock(&unanswered.lock);
    memcpy(org, unanswered.org, sizeof org);
    memcpy(id, unanswered.id, sizeof id);
    pthread_mutex_unlock(&unanswered.lock);
    q.id_or_name = id;
    TAB_AUTO(tab_arena) *arena = tab_arena_new((size_t)64 << 20);
    tab_ask ask = { .service = "jobs",
                    .method = "GetEndpoint",
                    .org = org,
                    .request_id = "",
                    .actor = "",
                    .in = &q.base,
                    .deadline = tab_in_ms(PROBE_MS),
                    .reply = &tabella__endpoint__descriptor,
                    .arena = arena };
    tab_status s = arena == NULL ? TAB_UNAVAILABLE : tab_rpc_call(a->rpc, &ask, &answer, &err);
    if (s == TAB_UNAVAILABLE || s == TAB_CANCELLED)
        return;
    atomic_store(&jobs_away, false);
    tab_log(TAB_INFO, "jobs answers again");
}

void serve_cache_since(request *r, char ret[SERVE_SINCE])
{
    redisReply *y = NULL;
    ret[0] = 0;
    if (tab_redis_command(r->api->redis, (int)r->api->cfg.redis_ms, &y, NULL, "GET tab:s:since") != TAB_OK)
        return;
    if (y->type == REDIS_REPLY_STRING && y->len < SERVE_SINCE)
        memcpy(ret, y->str, y->len + 1);
    freeReplyObject(y);
}

/* A deletion leaves its mark for longer than STALE_MS (services/jobs/state.c). Without a mark the endpoint is
 * there only if Redis has lost nothing since before the row was read. */
static bool there(request *r, const Tabella__Endpoint *e, const char *since)
{
    redisReply *y = NULL;
    char now[SERVE_SINCE];
    if (tab_redis_command(r->api->redis, (int)r->api->cfg.redis_ms, &y, NULL, "GET tab:s:%s:%s", r->who.org,
                          e->id) != TAB_OK)
        return false;
    bool gone = y->type == REDIS_REPLY_STRING && strcmp(y->str, "gone") == 0;
    freeReplyObject(y);
    if (gone)
        return false;
    serve_cache_since(r, now);
    return now[0] != 0 && strcmp(now, since) == 0;
}

const serve_row *serve_cache_last(request *r, char worker[40])
{
    char since[SERVE_SINCE];
    const serve_row *row = get(r, STALE_MS, worker, since);
    return row == NULL || !there(r, row->e, since) ? NULL : row;
}

bool serve_cache_has_last(request *r)
{
    char worker[40], since[SERVE_SINCE];
    return get(r, STALE_MS, worker, since) != NULL;
}

const serve_row *serve_cache_put(request *r, const Tabella__Endpoint *e, int64_t asked, const char *since)
{
    char state[64];
    snprintf(state, sizeof state, "%.40s:%llu", e->id, (unsigned long long)e->state_version);
    Tabella__Endpoint small = *e; /* what serving needs */
    small.n_system_prompts = 0;
    cached_row *k = calloc(1, sizeof *k);
    if (k == NULL)
        return NULL;
    atomic_init(&k->refs, 1);
    k->asked = asked;
    k->arena = tab_arena_new((size_t)64 << 20);
    tab_str bytes = tab_proto_write(r->arena, &small.base);
    if (k->arena != NULL && bytes.p != NULL)
        k->row.e = tab_proto_read(k->arena, &tabella__endpoint__descriptor, bytes);
    if (k->row.e == NULL) {
        unref(k);
        return NULL;
    }
    k->row.held_out = endpoint_held_out(k->row.e, false, &k->held);
    k->row.held_out_tables = endpoint_held_out(k->row.e, true, &k->held_tables);
    snprintf(k->org, sizeof k->org, "%s", r->who.org);
    snprintf(k->id, sizeof k->id, "%.*s", TAB_STR(r->param[0]));
    snprintf(k->state, sizeof k->state, "%s", state);
    snprintf(k->since, sizeof k->since, "%s", since);
    if (!tab_arena_defer(r->arena, unref, k)) {
        unref(k);
        return NULL;
    }
    if (r->state[0] == 0 || strcmp(state, r->state) == 0) {
        cached_row **s = slot_of(r);
        atomic_fetch_add(&k->refs, 1);
        pthread_mutex_lock(&rows.lock);
        cached_row *old = *s;
        if (old != NULL && same(old, r))
            memcpy(k->worker, old->worker, sizeof k->worker);
        *s = k;
        pthread_mutex_unlock(&rows.lock);
        unref(old);
    }
    return &k->row;
}

void serve_cache_worker(const request *r, const char *worker)
{
    cached_row **s = slot_of(r);
    pthread_mutex_lock(&rows.lock);
    if (*s != NULL && same(*s, r))
        snprintf((*s)->worker, sizeof(*s)->worker, "%s", worker);
    pthread_mutex_unlock(&rows.lock);
}
