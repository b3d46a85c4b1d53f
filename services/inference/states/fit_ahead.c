/* See fit_ahead.h.
 *
 *   rows of inference.state without one of our release ──jobs: calls of each──> in the order of use
 *                                  ──jobs: the endpoint, as it is now──> fitted, written, told (homes.c)
 *
 * A quiet installation reads the rows once, at the start. They are read again while processes of another
 * release live, and once after, for those write states of their own; and as long as there was something to
 * do. */
#include "services/inference/states/fit_ahead.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "common/rpc/serve_state.h"
#include "proto/jobs.pb-c.h"
#include "services/inference/states/serve_state.h"
#include "services/inference/states/state_store.h"

/* HEAR_MS: within which a process has heard of all others. DUE_MS: so long one that stops waits for us. */
enum { HEAR_MS = 3000, AGAIN_MS = 10000, DUE_MS = 60000, ASK_MS = 5000, PAGE = 2000, MOST = 20000 };
enum { WORKERS = 64, STEP_MS = 100 };

typedef struct {
    state_row row;
    uint64_t calls;
} lacking;

typedef struct {
    inference *self;
    pthread_t thread;
    bool runs;
    int64_t began;
    atomic_bool done;
    /* of a round */
    lacking *list;
    size_t n;
    atomic_size_t next, fitted;
} fit_ahead;

static fit_ahead process; /* there is one, and the thread of the health looks at it to the end */

static bool stopped(const fit_ahead *f)
{
    return atomic_load(&f->self->ends);
}

static void pause_ms(const fit_ahead *f, int64_t ms)
{
    for (int64_t end = tab_mono_ms() + ms; !stopped(f) && tab_mono_ms() < end;) {
        struct timespec t = { 0, STEP_MS * 1000000 };
        nanosleep(&t, NULL);
    }
}

/* ---- what there is to fit -------------------------------------------------------------------- */

static bool same_state(const state_row *a, const state_row *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->endpoint_id, b->endpoint_id) == 0 &&
           strcmp(a->org, b->org) == 0;
}

static state_row copy(tab_arena *a, const state_row *r)
{
    return (state_row){ tab_proto_text(a, r->org), tab_proto_text(a, r->endpoint_id),
                        tab_proto_text(a, r->name), tab_proto_text(a, r->release) };
}

/* Rows come in the order of their states: of each, whether one is of our release. The last row of a page
 * lives in an arena of two that take turns. */
static tab_status find(fit_ahead *f, tab_arena *a, tab_error *err)
{
    TAB_AUTO(tab_arena) *turn = NULL;
    state_row at = { "", "", "", "" }, *page = NULL;
    size_t n = PAGE;
    bool have = true; /* there is no row before the first */
    f->n = 0;
    if ((f->list = tab_arena_new_of(a, lacking, MOST)) == NULL)
        return tab_no_memory(err);
    while (n == PAGE && !stopped(f) && f->n < MOST) {
        tab_arena *here = tab_arena_new(16 << 20);
        if (here == NULL)
            return tab_no_memory(err);
        tab_status s = state_store_rows(f->self->store, here, &at, PAGE, &page, &n, err);
        for (size_t i = 0; s == TAB_OK && i < n; i++) {
            bool same = same_state(&at, &page[i]);
            if (!same && !have && f->n < MOST)
                f->list[f->n++].row = copy(a, &at);
            have = (same && have) || strcmp(page[i].release, state_release()) == 0;
            at = page[i];
        }
        tab_arena_free(turn);
        turn = here;
        TAB_TRY(s);
    }
    if (!have && f->n < MOST)
        f->list[f->n++].row = copy(a, &at);
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

static tab_status ask_jobs(fit_ahead *f, tab_arena *a, const char *method, const char *org,
                           const ProtobufCMessage *in, const ProtobufCMessageDescriptor *reply,
                           const void **ret, tab_error *err)
{
    tab_ask ask = { .service = "jobs",
                    .method = method,
                    .org = org,
                    .actor = "inference",
                    .deadline = tab_in_ms(ASK_MS),
                    .in = in,
                    .reply = reply,
                    .arena = a,
                    .gone = &f->self->ends };
    tab_answer answer = { 0 };
    TAB_TRY(tab_rpc_call(f->self->rpc, &ask, &answer, err));
    *ret = answer.msg;
    return TAB_OK;
}

static int by_calls(const void *a, const void *b)
{
    const lacking *x = a, *y = b;
    return x->calls < y->calls ? 1 : -(x->calls > y->calls);
}

/* The most called first. A version of jobs that does not count leaves the order as it is. */
static tab_status sort(fit_ahead *f, tab_arena *a, tab_error *err)
{
    for (size_t from = 0; from < f->n; from += PAGE) {
        size_t n = f->n - from < PAGE ? f->n - from : PAGE;
        Tabella__GoneRequest q = TABELLA__GONE_REQUEST__INIT;
        const void *msg = NULL;
        q.ids = tab_arena_new_of(a, char *, n);
        q.orgs = tab_arena_new_of(a, char *, n);
        if (q.ids == NULL || q.orgs == NULL)
            return tab_no_memory(err);
        for (size_t i = 0; i < n; i++) {
            q.ids[i] = (char *)(uintptr_t)f->list[from + i].row.endpoint_id;
            q.orgs[i] = (char *)(uintptr_t)f->list[from + i].row.org;
        }
        q.n_ids = q.n_orgs = n;
        q.with_calls = true;
        TAB_TRY(ask_jobs(f, a, "GoneOfAll", "", &q.base, &tabella__gone_reply__descriptor, &msg, err));
        const Tabella__GoneReply *y = msg;
        for (size_t i = 0; y->n_calls == n && i < n; i++)
            f->list[from + i].calls = y->calls[i];
    }
    qsort(f->list, f->n, sizeof *f->list, by_calls);
    return TAB_OK;
}

/* ---- a fit ----------------------------------------------------------------------------------- */

/* The state of an endpoint that serves from it now, unless somebody has fitted it meanwhile. */
static tab_status fit_now(fit_ahead *f, tab_arena *a, const state_row *row, const char *key, bool *ret_fitted,
                          tab_error *err)
{
    inference *self = f->self;
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    Tabella__ServeState state;
    const void *msg = NULL;
    const char *base = NULL;
    char now[SERVE_KEY], other[STATE_RELEASE];
    void *st = NULL;
    size_t bytes = 0;
    q.id_or_name = (char *)(uintptr_t)row->endpoint_id;
    TAB_TRY(ask_jobs(f, a, "GetEndpoint", row->org, &q.base, &tabella__endpoint__descriptor, &msg, err));
    TAB_TRY(tab_serve_state_of(a, msg, &state, err));
    TAB_TRY(base_resolve(self, row->org, state.options->base_model, &base, err));
    serve_key(now, row->org, &state, base);
    if (strcmp(now, key) != 0 || state_store_has(self->store, key, other))
        return TAB_OK;
    tab_call call = { .method = "Serve",
                      .org = row->org,
                      .request_id = "",
                      .actor = "inference",
                      .address = "",
                      .arena = a,
                      .rpc = self->rpc };
    serve_first first = { .self = self, .call = &call, .key = &state, .ahead = true };
    void *own = serve_state_maker.own(&first);
    if (own == NULL)
        return tab_no_memory(err);
    tab_status s = serve_state_maker.fit(own, &st, &bytes, err);
    serve_state_maker.disown(own);
    tab_log_context("", "");
    if (s == TAB_OK)
        serve_state_free(st);
    *ret_fitted = s == TAB_OK;
    return s;
}

static void *worker(void *arg)
{
    fit_ahead *f = arg;
    for (size_t i; !stopped(f) && (i = atomic_fetch_add(&f->next, 1)) < f->n;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
        const state_row *row = &f->list[i].row;
        char key[SERVE_KEY];
        tab_error err = { 0 };
        bool fitted = false;
        snprintf(key, sizeof key, "%s/%s/%s", row->org, row->endpoint_id, row->name);
        tab_status s = a == NULL ? TAB_INTERNAL : fit_now(f, a, row, key, &fitted, &err);
        if (s != TAB_OK && s != TAB_NOT_FOUND && !stopped(f))
            tab_log_fields(TAB_WARN, "a state is not fitted ahead", "state", key, "why", err.message, NULL);
        atomic_fetch_add(&f->fitted, fitted);
        atomic_fetch_add(&f->self->store->ahead, fitted);
        atomic_fetch_sub(&f->self->store->lacking, 1);
    }
    return NULL;
}

/* ---- a round --------------------------------------------------------------------------------- */

/* Those that this process is the first home of. */
static void keep_own(fit_ahead *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        const state_row *row = &f->list[i].row;
        char key[SERVE_KEY], home[2][40];
        snprintf(key, sizeof key, "%s/%s/%s", row->org, row->endpoint_id, row->name);
        homes_of(f->self, key, home);
        if (strcmp(home[0], tab_rpc_worker(f->self->rpc)) == 0)
            f->list[n++] = f->list[i];
    }
    f->n = n;
}

static void fit_all(fit_ahead *f)
{
    size_t most = (size_t)f->self->cores / 2, n = 0;
    pthread_t t[WORKERS];
    most = most < 1 ? 1 : most > WORKERS ? WORKERS : most;
    tab_log(TAB_INFO, "%zu states of another release are fitted ahead", f->n);
    atomic_store(&f->self->store->lacking, f->n);
    atomic_store(&f->next, 0);
    while (n < most && n < f->n && pthread_create(&t[n], NULL, worker, f) == 0)
        n++;
    for (size_t i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    atomic_store(&f->self->store->lacking, 0);
    tab_log(TAB_INFO, "%zu states were fitted ahead", atomic_load(&f->fitted));
}

/* *ret_again: something was fitted, or could not be read. */
static void one_round(fit_ahead *f, bool *ret_again)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(256 << 20);
    tab_error err = { 0 };
    *ret_again = true;
    atomic_store(&f->fitted, 0);
    tab_status s = a == NULL ? tab_no_memory(&err) : find(f, a, &err);
    if (s == TAB_OK && f->n > 0 && tab_mono_ms() - f->began < HEAR_MS)
        pause_ms(f, HEAR_MS);
    if (s != TAB_OK || f->n == 0 || !homes_other_release(f->self))
        atomic_store(&f->done, true);
    if (s == TAB_OK && f->n > 0)
        s = sort(f, a, &err);
    if (s != TAB_OK)
        return; /* PostgreSQL or jobs is away: the next round */
    keep_own(f);
    if (f->n > 0 && !stopped(f))
        fit_all(f);
    *ret_again = atomic_load(&f->fitted) > 0;
    atomic_store(&f->done, true);
}

static void *rounds(void *arg)
{
    fit_ahead *f = arg;
    for (bool again = true, others = false; !stopped(f);) {
        bool live = homes_other_release(f->self);
        if (again || live || others)
            one_round(f, &again);
        others = live;
        pause_ms(f, AGAIN_MS);
    }
    return NULL;
}

bool fit_ahead_start(inference *self)
{
    process = (fit_ahead){ .self = self, .began = tab_mono_ms() };
    return process.runs = pthread_create(&process.thread, NULL, rounds, &process) == 0;
}

void fit_ahead_stop(void)
{
    if (process.runs)
        pthread_join(process.thread, NULL);
    process.runs = false;
}

bool fit_ahead_done(void *unused)
{
    (void)unused;
    return atomic_load(&process.done) || tab_mono_ms() - process.began > DUE_MS;
}
