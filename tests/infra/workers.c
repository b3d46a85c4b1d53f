/* The RPC's workers against a real server: whose turn it is, slots, drains, deaths, two builds side by side.
 * TAB_NATS names it. Run by tests/suite/common, which starts it. One line a check, then "N passed, N
 * failed". */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/run/signals.h"
#include "tests/infra/methods.h"

int passed, failed;

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
    TAB_AUTO(tab_rpc) *one = tab_rpc_open(TAB_AT(nats), "caller"),
                      *other = tab_rpc_open(TAB_AT(nats), "caller");
    CHECK(one != NULL && other != NULL && rpc_ready(one) && rpc_ready(other));
    a_full_queue_says_so(nats, one);
    an_organization_leaves_others_workers(nats, one);
    a_draining_service_finishes_its_work(nats, one);
    a_call_under_way_is_not_lost_in_a_drain(nats, one);
    a_stopping_service_gives_calls_back(nats, one);
    no_method_runs_after_a_drain(nats, one);
    who_leaves_in_order_has_not_died(nats, one);
    what_one_build_cannot_read_another_does(nats, one);
    a_death_is_told_from_absence(one);
    TAB_AUTO(tab_rpc) *narrow = tab_rpc_open(TAB_AT(nats), "narrow");
    tab_rpc_limits(narrow, 4, 64, 0);
    CHECK(tab_rpc_serve(narrow, methods, NULL) && rpc_ready(narrow));
    calls_of_a_word_are_counted_over_all_callers(one, other);
    a_dead_callers_slot_is_free_soon(nats, one);
    CHECK(tab_rpc_drain(narrow, 5));
    printf("workers: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
