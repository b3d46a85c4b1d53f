/* Serve calls of one endpoint that come at the same moment go together (decision 0184): one message to
 * inference, one bill, and one thread for all of them.
 *
 *   call --alone--> batch: bill + ask -> write answers -> bill_end -> end
 *   call --a batch is in flight--> the first waits for it, GATHER_MS at most, then sends all that came as the
 *                                  next batch; the others are parked: they hold no thread, and their batch
 *                                  ends them
 *
 * Calls come from a worker, or at once from the loop's thread; where many come, batches leave at a distance
 * from each other (decision 0369). A lone call waits for nobody. Each call is answered, refused and
 * billed as if it had been alone. The bill is committed while inference computes; where a call of the
 * endpoint was refused a moment ago it is written after the answer, so that refusals cost the database
 * nothing (decision 0354). */
#include "services/api/serve/serve_batch.h"
#include "services/api/counts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/hash.h"
#include "common/base/point.h"
#include "common/bundle/bundle_json.h"
#include "common/calibration/follow.h"
#include "common/rpc/serve_state.h"
#include "proto/events.pb-c.h"
#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/render/members.h"
#include "services/api/render/receipts.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/runs/download.h"
#include "services/api/serve/bills.h"
#include "services/api/serve/concurrency.h"
#include "services/api/service_calls.h"

enum {
    SLOTS = 1024,
    GATHER_MS = 8,   /* so long a call waits for a batch before it: a slow one (a fit) holds nobody up */
    ARRIVE_MS = 1,   /* and so long for those that are in this process already */
    BATCH_MOST = 64, /* calls of one message */
    ALONE_ROWS = 48, /* a call of so many rows fills the models' tiles by itself, and its size is its own */
    PARKED_MOST = 4096,
    REFUSED_MS = 5000, /* how long a refusal has the endpoint's bills wait for answers */
    PACE_US = 500,     /* a batch leaves so long after the one before, for each call of that one, */
    PACED_MOST = 8,    /* of which so many count: more than 1 / PACE_US a second form larger batches; */
    QUIET_US = 400,    /* sooner where nobody has come for so long: those that were answered are back */
    SERVE_MS = 1000    /* in which a call ends, as far as its organization's next one is told */
};

/* ---- a batch --------------------------------------------------------------------------------- */

/* Asks the worker that answered last, so that calls of an endpoint go to one process. Where that one is away
 * or is no longer the owner of the state, any worker answers and says who did. The answer lives in the
 * arena. */
static tab_status ask(tab_arena *a, serve_call *const *c, size_t n, bool count_only,
                      const Tabella__ServeReply **ret, tab_error *err)
{
    request *r = c[0]->r;
    Tabella__ServeState state;
    Tabella__ServeRequest q = TABELLA__SERVE_REQUEST__INIT;
    tab_answer answer;
    tab_status s = tab_serve_state_of(a, c[0]->row->e, &state, err);
    size_t tables = 0;
    for (size_t i = 0; i < n; i++)
        tables += c[i]->body.n_tables;
    const tab_table **table = tab_arena_new_of(a, const tab_table *, tables);
    q.calls = tab_arena_new_of(a, uint32_t, n);
    if (s != TAB_OK || table == NULL || q.calls == NULL)
        return s != TAB_OK ? s : tab_no_memory(err);
    for (size_t i = 0, at = 0; i < n; i++) {
        q.with_slices |= c[i]->receipts;
        q.calls[i] = (uint32_t)c[i]->body.n_tables;
        for (size_t t = 0; t < c[i]->body.n_tables; t++)
            table[at++] = c[i]->body.tables[t];
    }
    q.n_calls = n;
    q.state = &state;
    q.at_once = r->who.endpoint_concurrency;
    q.horizon = c[0]->horizon;
    q.count_only = count_only;
    q.answers_only = c[0]->as_table; /* such a call goes alone */
    tab_ask ask = { .service = "inference",
                    .method = "Serve",
                    .worker = c[0]->worker[0] != 0 ? c[0]->worker : NULL,
                    .org = r->who.org,
                    .request_id = r->request_id,
                    .actor = r->who.key,
                    .deadline = r->deadline,
                    .in = &q.base,
                    .tables = table,
                    .n_tables = tables,
                    .arena = a,
                    .gone = n == 1 ? &r->gone : NULL,
                    .slot = state.endpoint_id,
                    .slots = q.at_once,
                    .slot_calls = (uint32_t)n,
                    .repeats = true, /* what it changes is billed here */
                    .reply = &tabella__serve_reply__descriptor };
    ask.tell_begun = ask.worker == NULL; /* else it is known whose death to look for */
    s = tab_rpc_call(r->api->rpc, &ask, &answer, err);
    if (tab_rpc_lost(s, err)) { /* perhaps of this call: it must not take the next worker along */
        serve_cache_worker(r, "");
    } else if (s == TAB_UNAVAILABLE && ask.worker != NULL) {
        serve_cache_worker(r, "");
        ask.worker = NULL;
        s = tab_rpc_call(r->api->rpc, &ask, &answer, err);
    }
    if (s != TAB_OK)
        return s;
    *ret = answer.msg;
    if ((*ret)->n_parts != n)
        return tab_fail(err, TAB_INTERNAL, "", "an answer for another number of calls than were asked");
    if (strcmp((*ret)->worker, c[0]->worker) != 0)
        serve_cache_worker(r, (*ret)->worker);
    return TAB_OK;
}

tab_status serve_count(serve_call *c, uint64_t *ret_cells, tab_error *err)
{
    const Tabella__ServeReply *y;
    TAB_TRY(ask(c->r->arena, &c, 1, true, &y, err));
    *ret_cells = y->parts[0]->request_cells;
    return TAB_OK;
}

/* A part's bundle, completed by what it shares with others. NULL: not an answer of inference. */
static Tabella__Bundle *whole(const Tabella__ServeReply *y, size_t i)
{
    size_t first = 0, of = y->parts[i]->tables_of;
    while (first < i && y->parts[first]->bundle == NULL)
        first++;
    Tabella__Bundle *b = y->parts[i]->bundle;
    const Tabella__Bundle *common = y->parts[first]->bundle;
    if (b == NULL || first == i)
        return b;
    b->target_selection = common->target_selection;
    b->task_selection = common->task_selection;
    if (of == i)
        return b;
    if (of > i || y->parts[of]->bundle == NULL || b->n_tables != 0)
        return NULL;
    b->tables = y->parts[of]->bundle->tables;
    b->n_tables = y->parts[of]->bundle->n_tables;
    return b;
}

static tab_status write_answer(serve_call *c, const Tabella__ServePart *part, tab_bundle_memory *memory,
                               tab_error *err)
{
    Tabella__Bundle *b = part->bundle;
    const Tabella__Endpoint *e = c->row->e;
    tab_out *o = &c->r->out;
    const tab_followed *own = NULL;
    if (c->as_table) {
        if (e->adapt)
            TAB_TRY(tab_follow_outcomes(c->r->arena, e->calibration, b, &own, err));
        tab_status s = tab_bundle_sound(b) ? download_answers(c->r, b, c->format, err)
                                           : tab_fail(err, TAB_INTERNAL, "", "a bundle that is not sound");
        return s == TAB_NOT_FOUND ? tab_fail(err, TAB_VALIDATION, "Accept",
                                             "this endpoint has no answers that are a table; accept "
                                             "application/json")
                                  : s;
    }
    tab_out_open(o, '{');
    text_member(o, "mode", "serve");
    text_member(o, "endpoint", e->name);
    text_member(o, "id", e->id);
    text_member(o, "base", e->base_model);
    text_member(o, "feed", e->feed);
    text_member(o, "status", "complete");
    if (e->adapt)
        TAB_TRY(tab_follow_outcomes(c->r->arena, e->calibration, b, &own, err));
    if (own != NULL)
        uint_member(o, "calibration_state", own->state);
    warnings_member(c->r, b);
    tab_bundle_view view = { .held_out = c->verbose ? c->row->held_out_tables : c->row->held_out,
                             .memory = memory };
    serve_receipts receipts;
    if (c->receipts)
        TAB_TRY(serve_receipts_begin(&receipts, c->r->arena, e, &c->work, part, own, &view, err));
    tab_status s = bundle_whole(c->r, b, &view, err);
    tab_out_close(o, '}');
    if (s == TAB_OK && o->failed)
        s = tab_no_memory(err);
    return s;
}

/* What it will be billed. False: out of memory. */
static bool work_of(serve_call *c)
{
    request *r = c->r;
    const Tabella__Endpoint *e = c->row->e;
    Tabella__WorkDone *w = &c->work;
    tabella__work_done__init(w);
    w->usage = cost_lines(&c->cost);
    w->n_usage = c->cost.n;
    w->hold = c->drawn.hold;
    if (c->once.event[0][0] != 0) {
        w->event_id = c->once.event[0];
        w->also = c->once.also;
        w->n_also = SERVE_ONCE_IDS - 1;
    } else {
        w->event_id = STR(tab_arena_printf(r->arena, "serve_%s", r->seed));
    }
    w->org_id = r->who.org;
    w->at_us = tab_now_us();
    w->kind = STR("serve");
    w->surface = request_surface(r);
    w->key_id = r->who.key;
    w->endpoint_id = e->id;
    w->endpoint = e->name;
    w->base_model = e->base_model;
    w->tables = (uint32_t)c->body.n_tables;
    w->request_id = r->request_id;
    return w->event_id != NULL;
}

/* Writes their answers. */
static void take_answers(serve_call *const *c, size_t n, const Tabella__ServeReply *y)
{
    assert(y->n_parts == n);
    TAB_AUTO(tab_bundle_memory) *memory = n > 1 ? tab_bundle_memory_new() : NULL;
    size_t last = 0; /* bytes: calls that come together are alike */
    for (size_t i = 0; i < n; i++) {
        const Tabella__ServePart *part = y->parts[i];
        Tabella__Bundle *b = whole(y, i);
        if (part->status != TAB_OK && part->status < TAB_STATUS_COUNT)
            c[i]->s = tab_fail(&c[i]->err, (tab_status)part->status, part->param, "%s", part->message);
        else if (b == NULL || part->status != TAB_OK)
            c[i]->s = tab_fail(&c[i]->err, TAB_INTERNAL, "", "an answer is damaged");
        else {
            tab_out_room(&c[i]->r->out, last + last / 8);
            c[i]->s = write_answer(c[i], part, memory, &c[i]->err);
            last = c[i]->r->out.n;
        }
    }
}

/* ---- bills ----------------------------------------------------------------------------------- */

/* tab_mono_ms when a call of the endpoint was last refused; endpoints that share a slot share it. */
static _Atomic int64_t refused_at[SLOTS];

static _Atomic int64_t *refused_of(const serve_call *c)
{
    return &refused_at[tab_text_slot(c->row->e->id, SLOTS)];
}

/* Before the calls are asked. NULL: it is written after the answers. */
static bill *bill_ahead(serve_call *const *c, size_t n)
{
    const Tabella__WorkDone *work[BATCH_MOST];
    int64_t refused = atomic_load(refused_of(c[0]));
    if (refused != 0 && tab_mono_ms() - refused < REFUSED_MS)
        return NULL;
    assert(n > 0 && n <= BATCH_MOST);
    for (size_t i = 0; i < n; i++)
        work[i] = &c[i]->work;
    return bill_begin(c[0]->r->api, work, n);
}

/* All calls end like this, those that were refused too: they may be billed. */
static void end_all(serve_call *const *c, size_t n, tab_status s, const tab_error *err)
{
    for (size_t i = 0; i < n; i++) {
        c[i]->s = s;
        c[i]->err = *err;
    }
}

/* Whoever waited has gone, or is about to give up: the answer would be billed and not read. */
static bool too_late(const serve_call *c)
{
    return atomic_load(&c->r->gone) || tab_left_ms(c->r->deadline, 1) == 0;
}

/* Bills what was answered; b: begun ahead, or NULL. Where that fails no answer leaves, and what the calls
 * have drawn stays, for they may be billed. */
static void bill_answers(serve_call *const *c, size_t n, bill *b)
{
    const Tabella__WorkDone *work[BATCH_MOST];
    tab_error err = { 0 };
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (c[i]->s == TAB_OK && too_late(c[i]))
            c[i]->s = tab_fail(&c[i]->err, TAB_UNAVAILABLE, "", "the answer took too long; try again");
        if (c[i]->s == TAB_OK)
            work[m++] = &c[i]->work;
    }
    assert(m <= n);
    if (n > m)
        atomic_store(refused_of(c[0]), tab_mono_ms());
    int64_t began = tab_mono_us();
    tab_status s = TAB_OK;
    if (b == NULL && m > 0 && (b = bill_begin(c[0]->r->api, work, m)) == NULL)
        s = tab_no_memory(&err);
    if (b != NULL)
        s = bill_end(b, work, m, &err);
    if (m > 0)
        count_meter(began);
    if (s != TAB_OK)
        end_all(c, n, s, &err);
    for (size_t i = 0; s == TAB_OK && i < n; i++)
        if (c[i]->s != TAB_OK)
            reservation_return(c[i]->r->api, c[i]->r->who.org, &c[i]->drawn);
}

static tab_status alone(void *call, tab_error *err);

/* Takes their places among the organization's calls, then sends one message. */
static tab_status ask_in_place(tab_arena *a, serve_call *const *c, size_t n, concurrent *p, bill **ret_bill,
                               const Tabella__ServeReply **ret, tab_error *err)
{
    request *r = c[0]->r;
    if (!concurrency_take(r, p, (uint32_t)n, tab_mono_ms() + SERVE_MS)) {
        if (n == 1) /* several are asked for again, one by one */
            count_limited(LIMIT_ORG_CALLS);
        return tab_fail(
            err, TAB_RATE_LIMIT, "",
            "the organization has %u realtime calls in progress, the most its plan allows at once",
            r->who.endpoint_concurrency);
    }
    *ret_bill = bill_ahead(c, n);
    tab_status s = ask(a, c, n, false, ret, err);
    if (s == TAB_RATE_LIMIT)
        return serve_too_many(r, err);
    if (s == TAB_CANCELLED) /* its state is still being fitted, say, and will be there for a later call */
        return tab_fail(err, TAB_UNAVAILABLE, "", "the endpoint was not ready in time; try again");
    return s;
}

/* There may be fewer places or slots than calls. Then they are refused together, and each asks for one by
 * itself: ours, which now stands first, here, the others from threads of their own. What is left in c has
 * its status. */
static bill *ask_all(tab_arena *a, serve_call **c, size_t *n, const serve_call *own, concurrent *p)
{
    const Tabella__ServeReply *y = NULL;
    tab_error err = { 0 };
    bill *b = NULL;
    tab_status s = ask_in_place(a, c, *n, p, &b, &y, &err);
    if (s == TAB_RATE_LIMIT && *n > 1) {
        concurrency_release(c[0]->r->api, p, p->n);
        atomic_store(refused_of(c[0]), tab_mono_ms());
        s = b == NULL ? TAB_OK : bill_end(b, NULL, 0, &err);
        b = NULL;
        if (s == TAB_OK) { /* else they may be billed, and are not asked again */
            size_t left = c[0] == own;
            for (size_t i = left; i < *n; i++)
                request_again(c[i]->r, alone, c[i]);
            *n = left;
            if (left == 0)
                return NULL;
            s = ask_in_place(a, c, 1, p, &b, &y, &err);
        } else {
            for (size_t i = 0; i < *n; i++) /* and what they have drawn stays */
                c[i]->drawn = (drawn){ 0 };
        }
    }
    if (s == TAB_OK)
        take_answers(c, *n, y);
    else
        end_all(c, *n, s, &err);
    return b;
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* An endpoint in one state whose calls are under way; free without any. */
static struct serve_group {
    pthread_cond_t changed;
    char endpoint[48];
    uint64_t state;
    serve_call *first, **last;
    size_t waiting, in_flight;
    bool led;     /* the first that waits has a thread, or will, and sends the batch */
    bool gathers; /* it waits for those that are in this process already */
    int64_t came; /* tab_mono_us when the last call came */
    int64_t left; /* and when the last batch left */
    size_t size;  /* calls of that one */
} groups[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t parked; /* over all endpoints */

/* NULL: another endpoint has the place. The lock is held. */
static struct serve_group *group_of(const Tabella__Endpoint *e)
{
    static bool made;
    for (size_t i = 0; !made && i < SLOTS; i++)
        pthread_cond_init(&groups[i].changed, NULL);
    made = true;
    struct serve_group *g = &groups[tab_text_slot(e->id, SLOTS)];
    if (g->in_flight == 0 && !g->led) {
        snprintf(g->endpoint, sizeof g->endpoint, "%s", e->id);
        g->state = e->state_version;
        g->first = NULL;
        g->last = &g->first;
    }
    return strcmp(g->endpoint, e->id) == 0 && g->state == e->state_version ? g : NULL;
}

static void batch_ended(struct serve_group *g)
{
    pthread_mutex_lock(&lock);
    assert(g->in_flight > 0);
    g->in_flight--;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&lock);
}

static void run_batch(serve_call **c, size_t n, const serve_call *own, struct serve_group *g)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    concurrent p = { 0 };
    api *owner = c[0]->r->api; /* c may be empty afterwards */
    bill *b = NULL;
    bool full = a == NULL;
    for (size_t i = 0; i < n; i++)
        full |= !work_of(c[i]);
    if (!full)
        b = ask_all(a, c, &n, own, &p);
    for (size_t i = 0; full && i < n; i++)
        c[i]->s = tab_no_memory(&c[i]->err);
    if (g != NULL)
        batch_ended(g);
    TAB_POINT("serve.answered");
    if (n > 0)
        bill_answers(c, n, b);
    TAB_POINT("serve.billed");
    concurrency_release(owner, &p, p.n);
    for (size_t i = 0; i < n; i++) {
        if (c[i]->s == TAB_OK)
            serve_once_done(c[i]->r, &c[i]->once);
        else
            serve_once_failed(c[i]->r, &c[i]->once);
        serve_end(c[i]->row->e->id);
        if (c[i] != own)
            request_end(c[i]->r, c[i]->s, &c[i]->err);
    }
}

static tab_status alone(void *call, tab_error *err)
{
    serve_call *c = call;
    run_batch(&c, 1, c, NULL);
    if (c->s != TAB_OK)
        *err = c->err;
    return c->s;
}

/* Waits for `changed` until then, of tab_mono_us. False: it is then. The lock is held. */
static bool wait_until(struct serve_group *g, int64_t us)
{
    struct timespec at = { us / 1000000, us % 1000000 * 1000 };
    return pthread_cond_clockwait(&g->changed, &lock, CLOCK_MONOTONIC, &at) == 0;
}

static size_t rows_of(const serve_call *c)
{
    size_t rows = 0;
    for (size_t t = 0; t < c->body.n_tables; t++)
        rows += c->body.tables[t]->rows;
    return rows;
}

/* True: c is the first that waits, and leads. The lock is held. */
static bool join(struct serve_group *g, serve_call *c)
{
    *g->last = c;
    g->last = &c->next;
    g->waiting++;
    g->came = tab_mono_us();
    if (g->led) {
        parked++;
        return false;
    }
    g->led = true;
    c->group = g;
    return true;
}

/* Waits until the next batch may leave. The lock is held. */
static void keep_distance(struct serve_group *g)
{
    int64_t paced = g->left + (int64_t)(PACE_US * (g->size < PACED_MOST ? g->size : PACED_MOST)), until;
    while (until = g->came + QUIET_US < paced ? g->came + QUIET_US : paced, tab_mono_us() < until)
        wait_until(g, until);
}

/* Sends what has come when the batch before it has been answered. c is the first of the first batch. */
static tab_status lead(void *call, tab_error *err)
{
    serve_call *c = call;
    struct serve_group *g = c->group;
    const atomic_int *arriving = &c->r->api->arriving;
    int64_t until = tab_mono_us() + GATHER_MS * 1000;
    pthread_mutex_lock(&lock);
    while (g->in_flight > 0 && wait_until(g, until))
        continue;
    if (g->size > 1)
        keep_distance(g);
    until = tab_mono_us() + ARRIVE_MS * 1000;
    g->gathers = true;
    while (atomic_load(arriving) > 0 && wait_until(g, until))
        continue;
    size_t n = g->waiting;
    assert(n > 0 && g->first == c && parked >= n - 1); /* who leads stands first */
    g->left = tab_mono_us();
    g->size = n;
    serve_call *list = g->first;
    parked -= n - 1;
    g->waiting = 0;
    g->first = NULL;
    g->last = &g->first;
    g->led = g->gathers = false;
    g->in_flight += (n + BATCH_MOST - 1) / BATCH_MOST;
    pthread_mutex_unlock(&lock);
    serve_call *of[BATCH_MOST];
    for (size_t m = 0; list != NULL; m = 0) {
        for (; list != NULL && m < BATCH_MOST; list = list->next)
            of[m++] = list;
        run_batch(of, m, c, g);
    }
    if (c->s != TAB_OK)
        *err = c->err;
    return c->s;
}

tab_status serve_in_batch(serve_call *c, tab_error *err)
{
    pthread_mutex_lock(&lock);
    request_arrived(c->r);
    struct serve_group *g = c->horizon == 0 && !c->as_table && rows_of(c) < ALONE_ROWS && parked < PARKED_MOST
                                ? group_of(c->row->e)
                                : NULL;
    bool leads = g != NULL && join(g, c);
    if (g != NULL && g->gathers && atomic_load(&c->r->api->arriving) == 0)
        pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&lock);
    return g == NULL ? alone(c, err) : leads ? lead(c, err) : PARKED;
}

bool serve_may_join(const serve_call *c)
{
    size_t rows = rows_of(c);
    pthread_mutex_lock(&lock);
    bool may = rows > 0 && rows < ALONE_ROWS && parked < PARKED_MOST && group_of(c->row->e) != NULL;
    pthread_mutex_unlock(&lock);
    return may;
}

void serve_join(serve_call *c)
{
    request *r = c->r;
    pthread_mutex_lock(&lock);
    struct serve_group *g = group_of(c->row->e);
    bool leads = g != NULL && join(g, c);
    pthread_mutex_unlock(&lock);
    if (g == NULL || leads) /* else another thread may have ended it */
        request_soon(r, leads ? lead : alone, c);
}
