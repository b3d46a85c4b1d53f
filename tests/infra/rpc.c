/* The RPC, the stream and the outbox against real servers: TAB_NATS, TAB_POSTGRES and TAB_REDIS name them.
 * Run by tests/suite/common, which starts them. One line a check, then "N passed, N failed". */
#include <nats/nats.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/ids.h"
#include "common/log.h"
#include "common/rpc.h"
#include "common/signals.h"
#include "proto/events.pb-c.h"
#include "tests/infra/check.h"

int passed, failed;

/* ---- methods --------------------------------------------------------------------------------- */

static atomic_int saw_cancel, running, holding;
static atomic_bool let_go;

static tab_status echo(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    (void)err;
    const Tabella__UsageLine *in = call->in;
    Tabella__UsageLine *out = call->out;
    out->op = tab_arena_printf(call->arena, "%s %s %s", in->op, call->org, call->request_id);
    out->cells = in->cells + 1;
    call->out_tables = call->tables;
    call->n_out_tables = call->n_tables;
    return TAB_OK;
}

static tab_status refuse(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    (void)call;
    return tab_fail(err, TAB_CONFLICT, "name", "the name\nis taken");
}

static tab_status slow(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    const Tabella__UsageLine *in = call->in;
    atomic_fetch_add(&running, 1);
    for (uint64_t i = 0; i < in->cells / 10 && !atomic_load(call->cancel); i++)
        poll(NULL, 0, 10);
    atomic_fetch_sub(&running, 1);
    if (!atomic_load(call->cancel))
        return TAB_OK;
    atomic_fetch_add(&saw_cancel, 1);
    return tab_fail(err, TAB_CANCELLED, NULL, "stopped");
}

/* Until it is let go or cancelled. */
static tab_status hold(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    atomic_fetch_add(&holding, 1);
    while (!atomic_load(&let_go) && !atomic_load(call->cancel))
        poll(NULL, 0, 5);
    atomic_fetch_sub(&holding, 1);
    return atomic_load(call->cancel) ? tab_fail(err, TAB_CANCELLED, NULL, "stopped") : TAB_OK;
}

static tab_status big(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    (void)err;
    const Tabella__UsageLine *in = call->in;
    Tabella__UsageLine *out = call->out;
    out->op = tab_arena_alloc(call->arena, in->cells + 1, 1);
    if (out->op == NULL)
        return tab_fail(err, TAB_INTERNAL, NULL, "out of memory");
    for (size_t i = 0; i < in->cells; i++)
        out->op[i] = (char)('a' + i % 23);
    return TAB_OK;
}

/* Ends its process as a crash does, once a call of Slow is under way in it. */
static tab_status die(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    (void)call;
    (void)err;
    while (atomic_load(&running) == 0)
        poll(NULL, 0, 5);
    raise(SIGKILL);
    return TAB_OK;
}

#define LINE &tabella__usage_line__descriptor
static const tab_rpc_method methods[] = { { "Echo", LINE, LINE, echo }, { "Refuse", LINE, LINE, refuse },
                                          { "Slow", LINE, LINE, slow }, { "Hold", LINE, LINE, hold },
                                          { "Big", LINE, LINE, big },   { "Die", LINE, LINE, die },
                                          TAB_RPC_METHODS_END };

static tab_ask ask_of(tab_arena *a, const char *method, Tabella__UsageLine *in, int64_t ms)
{
    return (tab_ask){ .service = "test",
                      .method = method,
                      .org = "org_a",
                      .request_id = "req_b",
                      .deadline = tab_in_ms(ms),
                      .in = &in->base,
                      .reply = LINE,
                      .arena = a };
}

static long rss_mb(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (f != NULL)
        fclose(f);
    return resident * sysconf(_SC_PAGESIZE) / 1048576;
}

static const tab_table *numbers(tab_arena *a, size_t rows, size_t cols)
{
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *c = tab_arena_new_of(a, tab_column, cols);
    for (size_t k = 0; k < cols; k++) {
        double *x = tab_arena_new_of(a, double, rows);
        for (size_t r = 0; r < rows; r++)
            x[r] = (double)(r * (k + 1));
        c[k] = (tab_column){ .name = tab_str_of(tab_arena_printf(a, "c%zu", k)), .num = x };
    }
    *t = (tab_table){ TAB_S("numbers"), rows, cols, c };
    return t;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void values_and_errors(tab_rpc *c)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_answer ans = { 0 };
    tab_error err = { 0 };
    char hello[] = "hello";
    in.op = hello;
    in.cells = 41;
    tab_ask q = ask_of(a, "Echo", &in, 30000);
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_OK);
    const Tabella__UsageLine *out = ans.msg;
    CHECK(out != NULL && out->cells == 42 && strcmp(out->op, "hello org_a req_b") == 0);
    q = ask_of(a, "Refuse", &in, 30000);
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_CONFLICT);
    CHECK(strcmp(err.param, "name") == 0 && strcmp(err.message, "the name is taken") == 0);
    q = ask_of(a, "Nothing", &in, 30000);
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_UNAVAILABLE);
    CHECK(tab_rpc_own_param(TAB_UNAVAILABLE, &err) && !tab_rpc_lost(TAB_UNAVAILABLE, &err));
    q = ask_of(a, "Echo", &in, 60000);
    q.service = "nobody";
    int64_t from = tab_mono_ms();
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_UNAVAILABLE);
    CHECK(tab_mono_ms() - from < 10000); /* nobody there is known at once */
}

static void deadline_stops_both_sides(tab_rpc *c)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_answer ans;
    tab_error err;
    in.cells = 20000;
    tab_ask q = ask_of(a, "Slow", &in, 300);
    int64_t from = tab_mono_ms();
    int before = atomic_load(&saw_cancel);
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_CANCELLED);
    CHECK(tab_mono_ms() - from < 10000);
    for (int i = 0; i < 1000 && atomic_load(&saw_cancel) == before; i++)
        poll(NULL, 0, 10);
    CHECK(atomic_load(&saw_cancel) == before + 1);
}

/* Longer than the silence after which a server is given up: its beats keep the call alive. */
static void long_calls_are_kept_alive(tab_rpc *c, const tab_rpc *server)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_answer ans;
    tab_error err = { 0 };
    in.cells = 6500;
    tab_ask q = ask_of(a, "Slow", &in, 20000);
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_OK);
    q.worker = tab_rpc_worker(server); /* and finds its pings heard */
    q.deadline = tab_in_ms(20000);
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_OK);
}

static void large_bodies_are_streamed(tab_rpc *c)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)400 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_answer ans = { 0 };
    tab_error err = { 0 };
    in.cells = (uint64_t)20 << 20;
    tab_ask q = ask_of(a, "Big", &in, 30000);
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_OK);
    const Tabella__UsageLine *out = ans.msg;
    CHECK(out != NULL && strlen(out->op) == in.cells);
    bool same = out != NULL;
    for (size_t i = 0; same && i < in.cells; i++)
        same = out->op[i] == (char)('a' + i % 23);
    CHECK(same);
    static const size_t sizes[] = { 0, 1, 32767, 32768, 32769, 300000 };
    for (size_t i = 0; i < 6; i++) { /* around the size that fits one message */
        const tab_table *t = numbers(a, sizes[i], 1), *two[] = { t, t };
        in.cells = 1;

        q = ask_of(a, "Echo", &in, 20000);
        q.tables = two;
        q.n_tables = 2;
        CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_OK);
        CHECK(ans.n_tables == 2 && tab_table_equal(ans.tables[0], t) && tab_table_equal(ans.tables[1], t));
    }
}

typedef struct {
    atomic_int done;
    tab_status s;
    size_t n_tables;
    bool equal, lost;
    const tab_table *sent;
} async_result;

static void async_done(void *arg, tab_status s, const tab_answer *ans, const tab_error *err)
{
    async_result *r = arg;
    r->s = s;
    r->lost = err != NULL && tab_rpc_lost(s, err);
    r->n_tables = ans == NULL ? 0 : ans->n_tables;
    r->equal = ans != NULL && ans->n_tables == 1 && tab_table_equal(ans->tables[0], r->sent);
    atomic_fetch_add(&r->done, 1);
}

static void turn_loop(tab_rpc *c, atomic_int *done, int want, int64_t ms)
{
    tab_deadline d = tab_in_ms(ms);
    while (atomic_load(done) < want && tab_left_ms(d, 1) > 0) {
        struct pollfd p = { tab_rpc_fd(c), POLLIN, 0 };
        if (poll(&p, 1, 100) > 0)
            tab_rpc_dispatch(c);
    }
}

static void an_event_loop_calls_without_waiting(tab_rpc *c)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)400 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_error err = { 0 };
    enum { N = 20 };
    async_result r[N] = { 0 };
    for (size_t i = 0; i < N; i++) { /* every fifth is streamed */
        r[i].sent = numbers(a, i % 5 == 0 ? 200000 : 10, 1);
        tab_ask q = ask_of(a, "Echo", &in, 20000);
        q.tables = &r[i].sent;
        q.n_tables = 1;
        CHECK(tab_rpc_start(c, &q, async_done, &r[i], &err));
    }
    for (size_t i = 0; i < N; i++) {
        turn_loop(c, &r[i].done, 1, PATIENCE_MS);
        CHECK(atomic_load(&r[i].done) == 1 && r[i].s == TAB_OK && r[i].equal);
    }
    async_result gone = { 0 };
    in.cells = 60000;
    int before = atomic_load(&saw_cancel);
    tab_ask q = ask_of(a, "Slow", &in, 60000);
    atomic_bool left = false;
    q.gone = &left;
    CHECK(tab_rpc_start(c, &q, async_done, &gone, &err));
    for (int i = 0; i < 3000 && atomic_load(&running) == 0; i++)
        poll(NULL, 0, 10);
    atomic_store(&left, true); /* the caller's client went */
    turn_loop(c, &gone.done, 1, 30000);
    CHECK(atomic_load(&gone.done) == 1 && gone.s == TAB_CANCELLED);
    for (int i = 0; i < 1000 && atomic_load(&saw_cancel) == before; i++)
        poll(NULL, 0, 10);
    CHECK(atomic_load(&saw_cancel) == before + 1); /* the server stopped, too */
}

static void a_worker_is_addressed(tab_rpc *c, tab_rpc *server)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_answer ans;
    tab_error err;
    tab_ask q = ask_of(a, "Echo", &in, 30000);
    q.worker = tab_rpc_worker(server);
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_OK);
    q.worker = "somebodyelse";
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_UNAVAILABLE);
}

static bool reaches(const atomic_int *n, int want)
{
    for (int i = 0; i < PATIENCE_MS / 10 && atomic_load(n) < want; i++)
        poll(NULL, 0, 10);
    return atomic_load(n) >= want;
}

/* A service that has just begun to serve: nobody knows it before a call of it is answered. */
static bool served(tab_rpc *c, const char *service)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_answer ans;
    tab_error err;
    tab_ask q = ask_of(a, "Echo", &in, 60000);
    q.service = service;
    for (int i = 0; i < PATIENCE_MS / 50; i++, poll(NULL, 0, 50))
        if (tab_rpc_call(c, &q, &ans, &err) == TAB_OK)
            return true;
    return false;
}

static void a_full_queue_says_so(const char *nats, tab_rpc *c)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    TAB_AUTO(tab_rpc) *s = tab_rpc_open(TAB_AT(nats), "tiny");
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_error err = { 0 };
    tab_rpc_limits(s, 1, 4, 0); /* of which one organization gets half */
    CHECK(tab_rpc_serve(s, methods, NULL) && served(c, "tiny"));
    enum { N = 8 };
    async_result r[N] = { 0 };
    int busy = 0, ok = 0;
    atomic_store(&let_go, false);
    for (size_t i = 0; i < N; i++) {
        tab_ask q = ask_of(a, "Hold", &in, PATIENCE_MS);
        q.service = "tiny";
        CHECK(tab_rpc_start(c, &q, async_done, &r[i], &err));
        if (i == 0) /* it is worked on, not waiting */
            CHECK(reaches(&holding, 1));
    }
    for (size_t i = 3; i < N; i++) /* they come in order: two wait, the others are refused */
        turn_loop(c, &r[i].done, 1, PATIENCE_MS);
    atomic_store(&let_go, true);
    for (size_t i = 0; i < N; i++) {
        turn_loop(c, &r[i].done, 1, PATIENCE_MS);
        busy += r[i].s == TAB_UNAVAILABLE;
        ok += r[i].s == TAB_OK;
    }
    CHECK(ok == 3 && busy == N - 3); /* one worked on, two waiting */
    CHECK(tab_rpc_drain(s, 5));
}

/* Decision 0236: whoever comes new is served at once, whatever one organization has under way and waiting. */
static void an_organization_leaves_others_workers(const char *nats, tab_rpc *c)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    TAB_AUTO(tab_rpc) *s = tab_rpc_open(TAB_AT(nats), "shared");
    static const char *const heavy[] = { "Hold", NULL };
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_error err = { 0 };
    tab_answer ans;
    tab_rpc_limits(s, 1, 64, 0);
    tab_rpc_heavy(s, 4, heavy);
    CHECK(tab_rpc_serve(s, methods, NULL) && served(c, "shared"));
    enum { N = 20 };
    async_result r[N + 1] = { 0 };
    atomic_bool left[N] = { false };
    atomic_store(&let_go, false);
    CHECK(atomic_load(&holding) == 0);
    for (size_t i = 0; i < N; i++) {
        tab_ask q = ask_of(a, "Hold", &in, PATIENCE_MS);
        q.service = "shared";
        q.org = "org_noisy";
        q.gone = &left[i];
        CHECK(tab_rpc_start(c, &q, async_done, &r[i], &err));
    }
    CHECK(reaches(&holding, 2));
    tab_ask q = ask_of(a, "Echo", &in, PATIENCE_MS);
    q.service = "shared";
    q.org = "org_noisy"; /* short work has a worker of its own */
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_OK && atomic_load(&holding) == 2);
    q = ask_of(a, "Hold", &in, PATIENCE_MS);
    q.service = "shared";
    q.org = "org_quiet";
    CHECK(tab_rpc_start(c, &q, async_done, &r[N], &err) && reaches(&holding, 3));
    for (size_t i = 2; i < N; i++) /* what waits and is given up does not wait for its turn */
        atomic_store(&left[i], true);
    for (size_t i = 2; i < N; i++)
        turn_loop(c, &r[i].done, 1, PATIENCE_MS);
    CHECK(atomic_load(&holding) == 3);
    atomic_store(&let_go, true);
    turn_loop(c, &r[0].done, 1, PATIENCE_MS);
    turn_loop(c, &r[1].done, 1, PATIENCE_MS);
    turn_loop(c, &r[N].done, 1, PATIENCE_MS);
    CHECK(r[0].s == TAB_OK && r[1].s == TAB_OK && r[N].s == TAB_OK);
    CHECK(tab_rpc_drain(s, 5));
}

static tab_ask hold_of(tab_arena *a, Tabella__UsageLine *in, const char *slot, uint32_t slots)
{
    tab_ask q = ask_of(a, "Hold", in, 60000);
    q.service = "narrow";
    q.slot = slot;
    q.slots = slots;
    return q;
}

/* Two callers, as two api processes are: what is counted is what meets at the worker. */
static void calls_of_a_word_are_counted_over_all_callers(tab_rpc *one, tab_rpc *other)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_error err = { 0 };
    tab_answer ans;
    enum { N = 12, SLOTS = 3, FREE = 2 };
    async_result r[N] = { 0 };
    atomic_store(&let_go, false);
    for (size_t i = 0; i < N; i++) { /* the last two are another word's */
        tab_ask q = hold_of(a, &in, i < N - FREE ? "word" : "another", SLOTS);
        CHECK(tab_rpc_start(i % 2 == 0 ? one : other, &q, async_done, &r[i], &err));
    }
    int refused = 0;
    for (int turn = 0; turn < 2000 && refused < N - FREE - SLOTS; turn++) {
        refused = 0;
        tab_rpc_dispatch(one);
        tab_rpc_dispatch(other);
        for (size_t i = 0; i < N; i++)
            refused += atomic_load(&r[i].done) == 1 && r[i].s == TAB_RATE_LIMIT;
        poll(NULL, 0, 5);
    }
    CHECK(refused == N - FREE - SLOTS);
    atomic_store(&let_go, true);
    int ok = 0;
    for (size_t i = 0; i < N; i++) {
        turn_loop(i % 2 == 0 ? one : other, &r[i].done, 1, 20000);
        ok += r[i].s == TAB_OK && atomic_load(&r[i].done) == 1;
    }
    CHECK(ok == SLOTS + FREE);
    atomic_store(&let_go, false); /* several calls in one hold as many slots, all or none */
    async_result two = { 0 };
    tab_ask q = hold_of(a, &in, "word", SLOTS);
    q.slot_calls = 2;
    CHECK(tab_rpc_start(one, &q, async_done, &two, &err) && reaches(&holding, 1));
    CHECK(tab_rpc_call(other, &q, &ans, &err) == TAB_RATE_LIMIT);
    q.slot_calls = 1;
    async_result third = { 0 };
    CHECK(tab_rpc_start(one, &q, async_done, &third, &err) && reaches(&holding, 2));
    q.slot_calls = 0; /* one */
    CHECK(tab_rpc_call(other, &q, &ans, &err) == TAB_RATE_LIMIT);
    atomic_store(&let_go, true);
    turn_loop(one, &two.done, 1, 20000);
    turn_loop(one, &third.done, 1, 20000);
    CHECK(two.s == TAB_OK && third.s == TAB_OK);
    for (int i = 0; i < 20; i++) { /* whoever has an answer may call again at once */
        q = hold_of(a, &in, "word", 1);
        CHECK(tab_rpc_call(i % 2 == 0 ? one : other, &q, &ans, &err) == TAB_OK);
    }
}

static void a_dead_callers_slot_is_free_soon(const char *nats, tab_rpc *c)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_error err = { 0 };
    tab_answer ans;
    async_result lost = { 0 };
    tab_rpc *dies = tab_rpc_open(TAB_AT(nats), "dies");
    for (int i = 0; i < 2000 && !tab_rpc_alive(dies); i++)
        poll(NULL, 0, 10);
    atomic_store(&let_go, false);
    tab_ask q = hold_of(a, &in, "word", 1);
    CHECK(tab_rpc_start(dies, &q, async_done, &lost, &err));
    for (int i = 0; i < 2000 && atomic_load(&holding) == 0; i++)
        poll(NULL, 0, 10);
    q = hold_of(a, &in, "word", 1);
    tab_status s = tab_rpc_call(c, &q, &ans, &err);
    CHECK(s == TAB_RATE_LIMIT);
    tab_rpc_free(dies); /* says nothing to anybody, as a killed process does not */
    for (int i = 0; i < 3000 && s == TAB_RATE_LIMIT; i++) {
        q = hold_of(a, &in, "word", 1);
        q.deadline = tab_in_ms(20); /* a call that is let in ends by this */
        s = tab_rpc_call(c, &q, &ans, &err);
        poll(NULL, 0, 10);
    }
    CHECK(s == TAB_CANCELLED);
    atomic_store(&let_go, true);
}

static void *drain_caller(void *arg)
{
    tab_rpc *c = arg;
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_answer ans;
    tab_error err;
    in.cells = 500;
    tab_ask q = ask_of(a, "Slow", &in, 10000);
    q.service = "leaving";
    return tab_rpc_call(c, &q, &ans, &err) == TAB_OK ? arg : NULL;
}

static void a_draining_service_finishes_its_work(const char *nats, tab_rpc *c)
{
    TAB_AUTO(tab_rpc) *s = tab_rpc_open(TAB_AT(nats), "leaving");
    CHECK(tab_rpc_serve(s, methods, NULL) && served(c, "leaving"));
    pthread_t t;
    void *ok = NULL;
    pthread_create(&t, NULL, drain_caller, c);
    CHECK(reaches(&running, 1));
    CHECK(tab_rpc_drain(s, 60));
    pthread_join(t, &ok);
    CHECK(ok != NULL);
}

typedef struct {
    tab_rpc *rpc;
    const char *method;
    bool returns;
    uint64_t ms;
    tab_status s;
    tab_error err;
} leaving_call;

static void *leaving_caller(void *arg)
{
    leaving_call *x = arg;
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_answer ans;
    in.cells = x->ms;
    tab_ask q = ask_of(a, x->method, &in, PATIENCE_MS);
    q.service = "leaving";
    q.tell_begun = true;
    q.returns = x->returns;
    x->s = tab_rpc_call(x->rpc, &q, &ans, &x->err);
    return NULL;
}

/* Longer than a known worker goes without being asked for (RPC_PING_MS): it is there until its end. */
static void a_call_under_way_is_not_lost_in_a_drain(const char *nats, tab_rpc *c)
{
    TAB_AUTO(tab_rpc) *s = tab_rpc_open(TAB_AT(nats), "leaving");
    CHECK(tab_rpc_serve(s, methods, NULL) && served(c, "leaving"));
    leaving_call x = { .rpc = c, .method = "Slow", .returns = true, .ms = 2500 };
    pthread_t t;
    pthread_create(&t, NULL, leaving_caller, &x);
    CHECK(reaches(&running, 1));
    CHECK(tab_rpc_drain(s, 60));
    pthread_join(t, NULL);
    CHECK(x.s == TAB_OK);
}

/* What a drain did not wait for is given back, also what had not begun: to its caller, or to a worker. */
static void a_stopping_service_gives_calls_back(const char *nats, tab_rpc *c)
{
    enum { CALLS = 4 };
    tab_rpc *s = tab_rpc_open(TAB_AT(nats), "leaving");
    tab_rpc_limits(s, 1, 64, 0);
    CHECK(tab_rpc_serve(s, methods, NULL) && served(c, "leaving"));
    atomic_store(&let_go, false);
    leaving_call x[CALLS];
    pthread_t t[CALLS];
    for (int i = 0; i < CALLS; i++) {
        x[i] = (leaving_call){ .rpc = c, .method = "Hold", .returns = i < CALLS - 1 };
        pthread_create(&t[i], NULL, leaving_caller, &x[i]);
    }
    CHECK(reaches(&holding, 1));
    TAB_AUTO(tab_rpc) *next = tab_rpc_open(TAB_AT(nats), "leaving");
    CHECK(tab_rpc_serve(next, methods, NULL) && rpc_ready(next));
    CHECK(!tab_rpc_drain(s, 1));
    tab_rpc_free(s);
    for (int i = 0; i < CALLS - 1; i++) {
        pthread_join(t[i], NULL);
        CHECK(tab_rpc_stopped(x[i].s, &x[i].err) && !tab_rpc_lost(x[i].s, &x[i].err));
    }
    CHECK(reaches(&holding, 1)); /* the last one, at the other worker */
    atomic_store(&let_go, true);
    pthread_join(t[CALLS - 1], NULL);
    CHECK(x[CALLS - 1].s == TAB_OK);
}

static void no_method_runs_after_a_drain(const char *nats, tab_rpc *c)
{
    TAB_AUTO(tab_rpc) *s = tab_rpc_open(TAB_AT(nats), "leaving");
    CHECK(tab_rpc_serve(s, methods, NULL) && served(c, "leaving"));
    leaving_call x = { .rpc = c, .method = "Slow", .returns = true, .ms = PATIENCE_MS };
    pthread_t t;
    pthread_create(&t, NULL, leaving_caller, &x);
    CHECK(reaches(&running, 1));
    CHECK(!tab_rpc_drain(s, 0) && atomic_load(&running) == 0);
    pthread_join(t, NULL);
    CHECK(tab_rpc_stopped(x.s, &x.err));
}

/* Calls one worker by its name until it answers no more; gives the last error. */
static void *addressing_caller(void *arg)
{
    leaving_call *x = arg;
    while (x->s == TAB_OK) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
        tab_answer ans;
        in.op = (char *)"echo";
        tab_ask q = ask_of(a, "Echo", &in, PATIENCE_MS);
        q.service = "leaving";
        q.worker = x->method;
        x->s = tab_rpc_call(x->rpc, &q, &ans, &x->err);
    }
    return NULL;
}

/* A call that was on its way when the worker closed its connection is answered, or finds nobody: it is not
 * taken for one that the worker died of. */
static void who_leaves_in_order_has_not_died(const char *nats, tab_rpc *c)
{
    enum { ROUNDS = 20, CALLERS = 24 };
    for (int round = 0; round < ROUNDS; round++) {
        tab_rpc *s = tab_rpc_open(TAB_AT(nats), "leaving");
        CHECK(tab_rpc_serve(s, methods, NULL) && served(c, "leaving"));
        char name[40];
        snprintf(name, sizeof name, "%s", tab_rpc_worker(s));
        leaving_call x[CALLERS];
        pthread_t t[CALLERS];
        for (int i = 0; i < CALLERS; i++) {
            x[i] = (leaving_call){ .rpc = c, .method = name };
            pthread_create(&t[i], NULL, addressing_caller, &x[i]);
        }
        poll(NULL, 0, 20);
        CHECK(tab_rpc_drain(s, 60));
        tab_rpc_free(s);
        for (int i = 0; i < CALLERS; i++) {
            pthread_join(t[i], NULL);
            CHECK(x[i].s == TAB_UNAVAILABLE && !tab_rpc_lost(x[i].s, &x[i].err));
        }
    }
}

/* Two builds side by side: one knows the method and reads its message, the other has no such method, or
 * cannot read it. It is nobody's fault, and comes to the one that can; who is asked is NATS' choice. */
static void what_one_build_cannot_read_another_does(const char *nats, tab_rpc *c)
{
    enum { CALLS = 20 };
    static const tab_rpc_method older[] = {
        { "Slow", &tabella__usage_line__descriptor, &tabella__usage_line__descriptor, slow },
        { "Hold", &tabella__work_done__descriptor, &tabella__usage_line__descriptor, hold },
        TAB_RPC_METHODS_END,
    };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    TAB_AUTO(tab_rpc) *old = tab_rpc_open(TAB_AT(nats), "mixed"), *new = tab_rpc_open(TAB_AT(nats), "mixed");
    CHECK(tab_rpc_serve(old, older, NULL) && tab_rpc_serve(new, methods, NULL));
    CHECK(rpc_ready(old) && rpc_ready(new));
    atomic_store(&let_go, true);
    static const char *const names[] = { "Echo", "Hold" };
    for (int ok = 0, i = 0; ok < CALLS && i < 100 * CALLS; i++) {
        Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
        tab_answer ans;
        tab_error err = { 0 };
        in.cells = UINT64_MAX; /* a varint where a text is wanted */
        tab_ask q = ask_of(a, names[i % 2], &in, PATIENCE_MS);
        q.service = "mixed";
        tab_status s = tab_rpc_call(c, &q, &ans, &err);
        CHECK(s == TAB_OK || (s == TAB_UNAVAILABLE && tab_rpc_own_param(s, &err)));
        ok += s == TAB_OK;
        CHECK(ok > 0 || i < 99 * CALLS);
    }
}

/* 64 MiB of table there and back. Beyond the tables themselves neither side may grow by more than some
 * windows. Both sides are this process: sent once, received by the server (answered from that very
 * memory), received by the caller: three copies in all. */
static void a_64_mib_table_goes_both_ways_in_bounded_memory(tab_rpc *c)
{
    enum { MB = 64 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)600 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_answer ans = { 0 };
    tab_error err = { 0 };
    const tab_table *t = numbers(a, (size_t)MB * 1048576 / 8 / 20, 20);
    long before = rss_mb();
    int64_t from = tab_mono_ms();
    tab_ask q = ask_of(a, "Echo", &in, 60000);
    q.tables = &t;
    q.n_tables = 1;
    CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_OK);
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    long grown = u.ru_maxrss / 1024 - before;
    printf("# 64 MiB there and back in %lld ms; memory grew by %ld MiB\n", (long long)(tab_mono_ms() - from),
           grown);
    CHECK(ans.n_tables == 1 && tab_table_equal(ans.tables[0], t));
    if (getenv("TAB_ASAN") == NULL)
        CHECK(grown < 2 * MB + 40);
}

/* Headers of a message are what anybody on the bus wrote: whatever numbers they hold, the worker answers
 * and stays. */
static void hostile_numbers_in_headers_are_answered(tab_rpc *c)
{
    static const char *const names[] = { "Tab-Time-Left", "Tab-Bytes", "Tab-Tables", "Tab-Slot" };
    static const char *const values[] = { "9223372036854775807",
                                          "9223372036854775808",
                                          "-9223372036854775808",
                                          "-1",
                                          "99999999999999999999999",
                                          "1e9",
                                          " 5",
                                          "x",
                                          "-1 -1 word",
                                          "1 18446744073709551615 word",
                                          "18446744073709551615 18446744073709551615 word" };
    natsConnection *nc = tab_rpc_nats(c);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            for (int streamed = 0; streamed < 2; streamed++) {
                natsMsg *m = NULL, *answer = NULL;
                natsStatus s = natsMsg_Create(&m, "tabella.v1.test.Echo", NULL, "", 0);
                if (s == NATS_OK)
                    s = natsMsgHeader_Set(m, names[n], values[v]);
                if (s == NATS_OK && streamed)
                    s = natsMsgHeader_Set(m, "Tab-Stream", "tabella.test.nobody");
                if (s == NATS_OK)
                    s = natsConnection_RequestMsg(&answer, nc, m, PATIENCE_MS);
                if (s != NATS_OK)
                    printf("%s: `%s`%s: %s\n", names[n], values[v], streamed ? " streamed" : "",
                           natsStatus_GetText(s));
                CHECK(s == NATS_OK);
                natsMsg_Destroy(answer);
                natsMsg_Destroy(m);
            }
}

static const char *rogue_bytes;

static void rogue_answers(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)sub;
    (void)arg;
    natsMsg *answer = NULL;
    if (natsMsg_Create(&answer, natsMsg_GetReply(m), NULL, "", 0) == NATS_OK &&
        natsMsgHeader_Set(answer, "Tab-Stream", "tabella.test.nobody") == NATS_OK &&
        natsMsgHeader_Set(answer, "Tab-Bytes", rogue_bytes) == NATS_OK)
        (void)natsConnection_PublishMsg(nc, answer);
    natsMsg_Destroy(answer);
    natsMsg_Destroy(m);
}

/* -1 once became a buffer of no bytes that takes 2^64 - 1. */
static void a_damaged_answer_is_an_error(tab_rpc *c)
{
    static const char *const values[] = { "-1", "0", "18446744073709551615", "x", "1099511627776" };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    natsSubscription *sub = NULL;
    CHECK(natsConnection_Subscribe(&sub, tab_rpc_nats(c), "tabella.v1.rogue.Echo", rogue_answers, NULL) ==
          NATS_OK);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        tab_error err = { 0 };
        tab_answer ans = { 0 };
        tab_ask q = ask_of(a, "Echo", &in, PATIENCE_MS);
        q.service = "rogue";
        rogue_bytes = values[i];
        CHECK(tab_rpc_call(c, &q, &ans, &err) == TAB_INTERNAL);
    }
    natsSubscription_Unsubscribe(sub);
    natsSubscription_Destroy(sub);
}

/* This program as a process that is going to die: it serves, says under which name, and waits. */
static int mortal(const char *nats)
{
    TAB_AUTO(tab_rpc) *s = tab_rpc_open(TAB_AT(nats), "mortal");
    if (s == NULL || !tab_rpc_serve(s, methods, NULL) || !rpc_ready(s))
        return 1;
    printf("%s\n", tab_rpc_worker(s));
    fflush(stdout);
    pause();
    return 0;
}

/* Who dies with a call is known for it, whether he said that he had begun or the call named him; so are those
 * who had other calls, and nobody else is. */
static void a_death_is_told_from_absence(tab_rpc *c)
{
    for (int addressed = 0; addressed < 2; addressed++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
        tab_error err = { 0 };
        tab_answer ans;
        char name[40] = "";
        FILE *child = popen("exec /proc/$PPID/exe mortal", "r");
        CHECK(child != NULL && fgets(name, sizeof name, child) != NULL);
        name[strcspn(name, "\n")] = 0;
        CHECK(served(c, "mortal"));
        async_result beside = { 0 };
        in.cells = 600000;
        tab_ask q = ask_of(a, "Slow", &in, PATIENCE_MS);
        q.service = "mortal";
        q.tell_begun = true;
        CHECK(tab_rpc_start(c, &q, async_done, &beside, &err));
        q = ask_of(a, "Die", &in, PATIENCE_MS);
        q.service = "mortal";
        q.worker = addressed ? name : NULL;
        q.tell_begun = !addressed;
        tab_status s = tab_rpc_call(c, &q, &ans, &err);
        CHECK(s == TAB_UNAVAILABLE && tab_rpc_lost(s, &err));
        turn_loop(c, &beside.done, 1, PATIENCE_MS);
        CHECK(beside.s == TAB_UNAVAILABLE && beside.lost);
        q.worker = NULL;
        s = tab_rpc_call(c, &q, &ans, &err);
        CHECK(s == TAB_UNAVAILABLE && !tab_rpc_lost(s, &err));
        pclose(child);
    }
}

int main(int argc, char **argv)
{
    const char *nats = getenv("TAB_NATS");
    tab_log_open("infra-test", TAB_WARN);
    if (argc > 1 && strcmp(argv[1], "mortal") == 0)
        return mortal(nats);
    tab_signals_hold();
    TAB_AUTO(tab_rpc) *server = tab_rpc_open(TAB_AT(nats), "test"),
                      *client = tab_rpc_open(TAB_AT(nats), "caller");
    CHECK(server != NULL && client != NULL && tab_rpc_serve(server, methods, NULL));
    CHECK(rpc_ready(server) && rpc_ready(client));
    a_64_mib_table_goes_both_ways_in_bounded_memory(client); /* first: the peak is measured */
    values_and_errors(client);
    hostile_numbers_in_headers_are_answered(client);
    a_damaged_answer_is_an_error(client);
    deadline_stops_both_sides(client);
    large_bodies_are_streamed(client);
    an_event_loop_calls_without_waiting(client);
    a_worker_is_addressed(client, server);
    a_full_queue_says_so(nats, client);
    an_organization_leaves_others_workers(nats, client);
    a_draining_service_finishes_its_work(nats, client);
    a_call_under_way_is_not_lost_in_a_drain(nats, client);
    a_stopping_service_gives_calls_back(nats, client);
    no_method_runs_after_a_drain(nats, client);
    who_leaves_in_order_has_not_died(nats, client);
    what_one_build_cannot_read_another_does(nats, client);
    a_death_is_told_from_absence(client);
    TAB_AUTO(tab_rpc) *narrow = tab_rpc_open(TAB_AT(nats), "narrow");
    tab_rpc_limits(narrow, 4, 64, 0);
    CHECK(tab_rpc_serve(narrow, methods, NULL));
    for (int i = 0; i < 2000 && !tab_rpc_alive(narrow); i++)
        poll(NULL, 0, 10);
    calls_of_a_word_are_counted_over_all_callers(client, server);
    a_dead_callers_slot_is_free_soon(nats, client);
    CHECK(tab_rpc_drain(narrow, 5));
    long_calls_are_kept_alive(client, server);
    CHECK(tab_rpc_drain(server, 5));
    printf("rpc: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
