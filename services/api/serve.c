/* POST /v2/serve/:id.
 *
 * The endpoint's row is kept under the state version that the gateway read in the same round trip
 * that let the request in: a deleted or changed endpoint has another version, so a stale row is
 * never used. Without a version (Redis away, entry not there yet) the row is read. The bill is one
 * event in the outbox, before the first byte. */
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "proto/metering.pb-c.h"
#include "services/api/api.h"

enum { SLOTS = 1024 };

static struct {
    pthread_mutex_t lock;
    struct slot {
        char org[48], id[129], state[64];
        char worker[40]; /* of inference, which answered last: it holds the fitted state; "" */
        tab_str packed;  /* malloc'ed Endpoint */
    } slot[SLOTS];
} rows = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct slot *slot_of(const request *r)
{
    uint64_t h = 1469598103934665603u;
    for (const char *p = r->who.org; *p != 0; p++)
        h = (h ^ (uint8_t)*p) * 1099511628211u;
    for (size_t i = 0; i < r->param[0].n; i++)
        h = (h ^ (uint8_t)r->param[0].p[i]) * 1099511628211u;
    return &rows.slot[(h ^ h >> 32) % SLOTS];
}

static bool same(const struct slot *s, const request *r)
{
    return strcmp(s->org, r->who.org) == 0 && strlen(s->id) == r->param[0].n &&
           memcmp(s->id, r->param[0].p, r->param[0].n) == 0 && strcmp(s->state, r->state) == 0;
}

static const Tabella__Endpoint *kept(request *r, char worker[40])
{
    const Tabella__Endpoint *e = NULL;
    if (r->state[0] == 0)
        return NULL;
    struct slot *s = slot_of(r);
    pthread_mutex_lock(&rows.lock);
    if (s->packed.p != NULL && same(s, r)) {
        e = tab_proto_read(r->arena, &tabella__endpoint__descriptor, s->packed);
        memcpy(worker, s->worker, sizeof s->worker);
    }
    pthread_mutex_unlock(&rows.lock);
    return e;
}

static void keep(request *r, const Tabella__Endpoint *e)
{
    char state[64];
    snprintf(state, sizeof state, "%.40s:%llu", e->id, (unsigned long long)e->state_version);
    if (strcmp(state, r->state) != 0)
        return;
    Tabella__Endpoint small = *e; /* what serving needs */
    small.n_system_prompts = 0;
    size_t n = tabella__endpoint__get_packed_size(&small);
    char *p = malloc(n + 1);
    if (p == NULL)
        return;
    tabella__endpoint__pack(&small, (uint8_t *)p);
    struct slot *s = slot_of(r);
    pthread_mutex_lock(&rows.lock);
    free((void *)(uintptr_t)s->packed.p);
    s->packed = (tab_str){ p, n };
    snprintf(s->org, sizeof s->org, "%s", r->who.org);
    snprintf(s->id, sizeof s->id, "%.*s", TAB_STR(r->param[0]));
    snprintf(s->state, sizeof s->state, "%s", r->state);
    s->worker[0] = 0;
    pthread_mutex_unlock(&rows.lock);
}

static void keep_worker(const request *r, const char *worker)
{
    struct slot *s = slot_of(r);
    pthread_mutex_lock(&rows.lock);
    if (same(s, r))
        snprintf(s->worker, sizeof s->worker, "%s", worker);
    pthread_mutex_unlock(&rows.lock);
}

/* What metering said of an organization last: it lets a sixteenth of what was left then go without asking again for
 * half a second, which is how old metering's own sums may be. An organization that pays as it goes is always asked. */
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
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    tab_answer answer;
    if (has_leave(r->who.org, cells))
        return TAB_OK;
    q.op = STR("serve");
    q.cells = cells;
    q.endpoint_id = e->id;
    tab_ask ask = { .service = "metering",
                    .method = "Reserve",
                    .in = &q.base,
                    .deadline = tab_in_ms(2000),
                    .reply = &tabella__reserve_reply__descriptor };
    tab_status s = call_with(r, &ask, &answer, err);
    if (s == TAB_UNAVAILABLE || s == TAB_CANCELLED)
        return TAB_OK; /* the ledger fills from events later */
    if (s != TAB_OK)
        return s;
    const Tabella__ReserveReply *y = answer.msg;
    if (y->allowed) {
        give_leave(r->who.org, y->remaining);
        return TAB_OK;
    }
    r->retry_after = y->retry_after_s > 0 ? y->retry_after_s : 1;
    return tab_fail(err, TAB_RATE_LIMIT, "", "%s", y->message);
}

static tab_status bill(request *r, const Tabella__Endpoint *e, const Tabella__ServeReply *y,
                       size_t tables, tab_error *err)
{
    Tabella__WorkDone w = TABELLA__WORK_DONE__INIT;
    Tabella__UsageLine line[2] = { TABELLA__USAGE_LINE__INIT, TABELLA__USAGE_LINE__INIT };
    Tabella__UsageLine *usage[2] = { &line[0], &line[1] };
    char id[64];
    snprintf(id, sizeof id, "serve_%s", r->seed);
    line[0].op = STR("serve");
    line[0].cells = y->request_cells;
    line[1].op = STR("cached");
    line[1].cells = y->pinned_cells;
    w.n_usage = y->pinned_cells > 0 && r->api->cfg.bill_pinned ? 2 : 1;
    w.usage = usage;
    w.event_id = id;
    w.org_id = r->who.org;
    w.at_us = tab_now_us();
    w.kind = STR("serve");
    w.surface = STR("api");
    w.key_id = r->who.key;
    w.endpoint_id = e->id;
    w.endpoint = e->name;
    w.base_model = e->base_model;
    w.tables = (uint32_t)tables;
    w.request_id = r->request_id;
    return bill_put(r, &w, err);
}

static tab_status state_of(request *r, const Tabella__Endpoint *e, Tabella__ServeState *ret,
                           tab_error *err)
{
    tabella__serve_state__init(ret);
    ret->endpoint_id = e->id;
    ret->base_model = e->base_model;
    ret->config_revision = e->config_revision;
    ret->data_revision = e->data_revision;
    /* The endpoint's options stay as they were given; its base is the one it was last moved to. */
    ret->options = tab_arena_new_of(r->arena, Tabella__RunOptions, 1);
    if (ret->options == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    tabella__run_options__init(ret->options);
    if (e->options != NULL)
        *ret->options = *e->options;
    ret->options->base_model = e->base_model;
    ret->n_sources = e->n_datasets;
    ret->sources = tab_arena_new_of(r->arena, Tabella__TableSource *, e->n_datasets + 1);
    Tabella__TableSource *t = tab_arena_new_of(r->arena, Tabella__TableSource, e->n_datasets + 1);
    if (ret->sources == NULL || t == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    for (size_t i = 0; i < e->n_datasets; i++) {
        tabella__table_source__init(&t[i]);
        t[i].id = e->datasets[i]->table_id;
        t[i].snapshot = e->datasets[i]->snapshot;
        t[i].dataset = e->datasets[i]->dataset;
        ret->sources[i] = &t[i];
    }
    return TAB_OK;
}

/* ---- calls at once --------------------------------------------------------------------------- */

/* Calls under way by endpoint, in this process: open addressing, an entry without calls is free. Those of all processes
 * are counted where they meet, by the worker that holds the endpoint's state (decision 0151). */
static struct {
    pthread_mutex_t lock;
    struct {
        char id[48];
        uint32_t n;
    } of[SLOTS];
} busy = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The entry of the endpoint, else a free one, else -1. Entries are never moved, so a search passes freed ones. */
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

static tab_status too_many(request *r, tab_error *err)
{
    r->retry_after = 1;
    return tab_fail(err, TAB_RATE_LIMIT, "",
                    "%u calls of this endpoint are under way, as many as the plan has at once",
                    r->who.endpoint_concurrency);
}

static void leave(const char *id)
{
    pthread_mutex_lock(&busy.lock);
    ptrdiff_t at = busy_at(id);
    if (at >= 0 && busy.of[at].n > 0)
        busy.of[at].n--;
    pthread_mutex_unlock(&busy.lock);
}

static tab_status serve(request *r, const Tabella__Endpoint *e, const tab_body *b,
                        const char *worker, const Tabella__ServeReply **ret, tab_error *err);

tab_status post_serve(request *r, tab_error *err)
{
    tab_body b;
    tab_status s = body_read(r, &b, err);
    if (s != TAB_OK)
        return s;
    if (b.n_tables == 0)
        return tab_fail(err, TAB_VALIDATION, "tables", "`tables` is required");
    request_body_drop(r);
    char worker[40] = "";
    const Tabella__Endpoint *e = kept(r, worker);
    if (e == NULL) {
        if ((s = endpoint_of(r, &e, err)) != TAB_OK)
            return s;
        if (strcmp(e->status, "live") != 0) {
            char running[128];
            bool at_work =
                strcmp(e->job_status, "queued") == 0 || strcmp(e->job_status, "running") == 0;
            snprintf(running, sizeof running, "running_job_id:%.100s", e->job_id);
            return tab_fail(err, TAB_CONFLICT, at_work ? running : "",
                            "the endpoint is not live yet");
        }
        keep(r, e);
    }
    if (!enter(e->id, r->who.endpoint_concurrency))
        return too_many(r, err);
    const Tabella__ServeReply *y = NULL;
    bill_coming();
    s = serve(r, e, &b, worker, &y, err);
    if (s == TAB_OK)
        s = bill(r, e, y, b.n_tables, err);
    else
        bill_none();
    leave(e->id);
    return s;
}

/* The worker that answered last is asked, so that one call goes to one process; any of them answers where it does not,
 * or is no longer the owner, and says who did. */
static tab_status ask_inference(request *r, const Tabella__ServeRequest *q, const tab_body *b,
                                const char *worker, const Tabella__ServeReply **ret, tab_error *err)
{
    tab_answer answer;
    tab_ask ask = { .service = "inference",
                    .method = "Serve",
                    .worker = worker[0] != 0 ? worker : NULL,
                    .in = &q->base,
                    .tables = b->tables,
                    .n_tables = b->n_tables,
                    .gone = &r->gone,
                    .slot = q->state->endpoint_id,
                    .slots = q->at_once,
                    .reply = &tabella__serve_reply__descriptor };
    tab_status s = call_with(r, &ask, &answer, err);
    if (s == TAB_UNAVAILABLE && ask.worker != NULL) {
        keep_worker(r, "");
        ask.worker = NULL;
        s = call_with(r, &ask, &answer, err);
    }
    if (s == TAB_RATE_LIMIT)
        return too_many(r, err);
    if (s != TAB_OK)
        return s;
    *ret = answer.msg;
    if (strcmp((*ret)->worker, worker) != 0)
        keep_worker(r, (*ret)->worker);
    return TAB_OK;
}

static tab_status serve(request *r, const Tabella__Endpoint *e, const tab_body *b,
                        const char *worker, const Tabella__ServeReply **ret, tab_error *err)
{
    tab_status s = reserve(r, e, b->cells, err);
    if (s == TAB_OK)
        s = cells_debit(r, b->cells, true, err);
    if (s != TAB_OK)
        return s;
    Tabella__ServeState state;
    Tabella__ServeRequest q = TABELLA__SERVE_REQUEST__INIT;
    if ((s = state_of(r, e, &state, err)) != TAB_OK)
        return s;
    q.state = &state;
    q.at_once = r->who.endpoint_concurrency;
    if ((s = ask_inference(r, &q, b, worker, ret, err)) != TAB_OK)
        return s;
    const Tabella__ServeReply *y = *ret;
    tab_out *o = &r->out;
    tab_out held = { 0 };
    tab_out_open(o, '{');
    tab_out_key(o, "mode");
    tab_out_cstr(o, "serve");
    tab_out_key(o, "endpoint");
    tab_out_cstr(o, e->name);
    tab_out_key(o, "id");
    tab_out_cstr(o, e->id);
    tab_out_key(o, "base");
    tab_out_cstr(o, e->base_model);
    tab_out_key(o, "feed");
    tab_out_cstr(o, e->feed);
    tab_out_key(o, "status");
    tab_out_cstr(o, "complete");
    s = bundle_members(r, y->bundle, "", endpoint_held_out(e, &held), true, err);
    tab_out_free(&held);
    tab_out_close(o, '}');
    if (s == TAB_OK && o->failed)
        s = tab_fail(err, TAB_INTERNAL, "", "out of memory");
    return s;
}
