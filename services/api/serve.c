/* POST /v2/serve/:id.
 *
 * The endpoint's row is kept under the state version that the gateway read in the same round trip
 * that let the request in: a deleted or changed endpoint has another version, so a stale row is
 * never used. Without a version (Redis away, entry not there yet) the row is read. What is asked,
 * answered and billed together stands in serve_together.c. */
#include <stdio.h>
#include <stdlib.h>

#include "services/api/allowance.h"
#include "services/api/serve.h"

enum { SLOTS = 1024 };

/* An endpoint as serving needs it, read by any number of calls at once. */
typedef struct {
    atomic_size_t refs;
    tab_arena *arena;
    serve_row row;
    tab_out held;
    char org[48], id[129], state[64];
    char worker[40]; /* under the lock of `rows` */
} kept_row;

static struct {
    pthread_mutex_t lock;
    kept_row *slot[SLOTS];
} rows = { .lock = PTHREAD_MUTEX_INITIALIZER };

static kept_row **slot_of(const request *r)
{
    uint64_t h = 1469598103934665603u;
    for (const char *p = r->who.org; *p != 0; p++)
        h = (h ^ (uint8_t)*p) * 1099511628211u;
    for (size_t i = 0; i < r->param[0].n; i++)
        h = (h ^ (uint8_t)r->param[0].p[i]) * 1099511628211u;
    return &rows.slot[(h ^ h >> 32) % SLOTS];
}

static bool same(const kept_row *s, const request *r)
{
    return strcmp(s->org, r->who.org) == 0 && strlen(s->id) == r->param[0].n &&
           memcmp(s->id, r->param[0].p, r->param[0].n) == 0 && strcmp(s->state, r->state) == 0;
}

static void unref(void *arg)
{
    kept_row *k = arg;
    if (k == NULL || atomic_fetch_sub(&k->refs, 1) > 1)
        return;
    tab_out_free(&k->held);
    tab_arena_free(k->arena);
    free(k);
}

/* The caller's reference ends with the request's arena. NULL: none is kept. */
static const serve_row *kept(request *r, char worker[40])
{
    kept_row *k = NULL;
    if (r->state[0] == 0)
        return NULL;
    kept_row **s = slot_of(r);
    pthread_mutex_lock(&rows.lock);
    if (*s != NULL && same(*s, r)) {
        k = *s;
        atomic_fetch_add(&k->refs, 1);
        memcpy(worker, k->worker, sizeof k->worker);
    }
    pthread_mutex_unlock(&rows.lock);
    if (k != NULL && !tab_arena_defer(r->arena, unref, k)) {
        unref(k);
        k = NULL;
    }
    return k == NULL ? NULL : &k->row;
}

/* For this request, and for later ones where the state that the gateway saw is the row's own. */
static const serve_row *keep(request *r, const Tabella__Endpoint *e)
{
    char state[64];
    snprintf(state, sizeof state, "%.40s:%llu", e->id, (unsigned long long)e->state_version);
    Tabella__Endpoint small = *e; /* what serving needs */
    small.n_system_prompts = 0;
    kept_row *k = calloc(1, sizeof *k);
    if (k == NULL)
        return NULL;
    atomic_init(&k->refs, 1);
    k->arena = tab_arena_new((size_t)64 << 20);
    tab_str bytes = tab_proto_write(r->arena, &small.base);
    if (k->arena != NULL && bytes.p != NULL)
        k->row.e = tab_proto_read(k->arena, &tabella__endpoint__descriptor, bytes);
    if (k->row.e == NULL) {
        unref(k);
        return NULL;
    }
    k->row.held_out = endpoint_held_out(k->row.e, &k->held);
    snprintf(k->org, sizeof k->org, "%s", r->who.org);
    snprintf(k->id, sizeof k->id, "%.*s", TAB_STR(r->param[0]));
    snprintf(k->state, sizeof k->state, "%s", state);
    if (!tab_arena_defer(r->arena, unref, k)) {
        unref(k);
        return NULL;
    }
    if (strcmp(state, r->state) == 0) {
        kept_row **s = slot_of(r);
        atomic_fetch_add(&k->refs, 1);
        pthread_mutex_lock(&rows.lock);
        kept_row *old = *s;
        *s = k;
        pthread_mutex_unlock(&rows.lock);
        unref(old);
    }
    return &k->row;
}

void serve_keep_worker(const request *r, const char *worker)
{
    kept_row **s = slot_of(r);
    pthread_mutex_lock(&rows.lock);
    if (*s != NULL && same(*s, r))
        snprintf((*s)->worker, sizeof(*s)->worker, "%s", worker);
    pthread_mutex_unlock(&rows.lock);
}

/* What metering said of an organization last: it lets a sixteenth of what was left then go without asking
 * again for half a second, which is how old metering's own sums may be. An organization that pays as it
 * goes is always asked. */
static struct {
    pthread_mutex_t lock;
    struct leave {
        char org[48];
        int64_t until;
        uint64_t cells;
    } of[SLOTS];
} leaves = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct leave *leave_of(const char *org)
{
    uint64_t h = 1469598103934665603u;
    for (; *org != 0; org++)
        h = (h ^ (uint8_t)*org) * 1099511628211u;
    return &leaves.of[(h ^ h >> 32) % SLOTS];
}

static bool has_leave(const char *org, uint64_t cells)
{
    struct leave *l = leave_of(org);
    pthread_mutex_lock(&leaves.lock);
    bool yes = strcmp(l->org, org) == 0 && tab_mono_ms() < l->until && cells <= l->cells;
    l->cells -= yes ? cells : 0;
    pthread_mutex_unlock(&leaves.lock);
    return yes;
}

static void give_leave(const char *org, uint64_t remaining)
{
    struct leave *l = leave_of(org);
    pthread_mutex_lock(&leaves.lock);
    snprintf(l->org, sizeof l->org, "%s", org);
    l->until = tab_mono_ms() + 500;
    l->cells = remaining / 16;
    pthread_mutex_unlock(&leaves.lock);
}

static tab_status reserve(request *r, const Tabella__Endpoint *e, uint64_t cells, tab_error *err)
{
    uint64_t left;
    if (has_leave(r->who.org, cells))
        return TAB_OK;
    tab_status s = allowance_ask(r, "serve", cells, e->id, &left, err);
    if (s == TAB_OK && left > 0)
        give_leave(r->who.org, left);
    return s;
}

/* ---- calls at once --------------------------------------------------------------------------- */

/* Calls under way by endpoint, in this process: open addressing, an entry without calls is free. Those of
 * all processes are counted where they meet, by the worker that holds the endpoint's state (decision
 * 0151). */
static struct {
    pthread_mutex_t lock;
    struct {
        char id[48];
        uint32_t n;
    } of[SLOTS];
} busy = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The entry of the endpoint, else a free one, else -1. Entries are never moved, so a search passes freed
 * ones. */
static ptrdiff_t busy_at(const char *id)
{
    uint64_t h = 1469598103934665603u;
    ptrdiff_t free_one = -1;
    for (const char *p = id; *p != 0; p++)
        h = (h ^ (uint8_t)*p) * 1099511628211u;
    for (size_t i = 0; i < 64; i++) {
        size_t at = (h + i) % SLOTS;
        if (busy.of[at].n > 0 && strcmp(busy.of[at].id, id) == 0)
            return (ptrdiff_t)at;
        if (busy.of[at].n == 0 && free_one < 0)
            free_one = (ptrdiff_t)at;
    }
    return free_one;
}

/* False: the plan's number of calls is under way already. */
static bool enter(const char *id, uint32_t most)
{
    pthread_mutex_lock(&busy.lock);
    ptrdiff_t at = busy_at(id);
    bool ok = at < 0 || most == 0 || busy.of[at].n < most;
    if (ok && at >= 0) {
        snprintf(busy.of[at].id, sizeof busy.of[at].id, "%s", id);
        busy.of[at].n++;
    }
    pthread_mutex_unlock(&busy.lock);
    return ok;
}

void serve_leave(const char *id)
{
    pthread_mutex_lock(&busy.lock);
    ptrdiff_t at = busy_at(id);
    if (at >= 0 && busy.of[at].n > 0)
        busy.of[at].n--;
    pthread_mutex_unlock(&busy.lock);
}

tab_status post_serve(request *r, tab_error *err)
{
    serve_call *c = tab_arena_new_of(r->arena, serve_call, 1);
    if (c == NULL)
        return tab_no_memory(err);
    tab_status s = body_read(r, &c->body, err);
    if (s != TAB_OK)
        return s;
    if (c->body.n_tables == 0)
        return tab_fail(err, TAB_VALIDATION, "tables", "`tables` is required");
    request_body_drop(r);
    c->r = r;
    c->row = kept(r, c->worker);
    if (c->row == NULL) {
        const Tabella__Endpoint *e;
        if ((s = endpoint_of(r, &e, err)) != TAB_OK)
            return s;
        if ((s = endpoint_live(e, err)) != TAB_OK)
            return s;
        if ((c->row = keep(r, e)) == NULL)
            return tab_no_memory(err);
    }
    const char *id = c->row->e->id;
    if (!enter(id, r->who.endpoint_concurrency))
        return serve_too_many(r, err);
    s = reserve(r, c->row->e, c->body.cells, err);
    if (s == TAB_OK)
        s = cells_debit(r, c->body.cells, true, err);
    if (s == TAB_OK)
        return serve_together(c, err); /* which leaves */
    serve_leave(id);
    return s;
}
