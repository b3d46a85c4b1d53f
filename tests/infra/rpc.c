/* The RPC's calls against a real server: values, errors, deadlines, large bodies, damaged messages. TAB_NATS
 * names it. Run by tests/suite/common, which starts it. One line a check, then "N passed, N failed". */
#include <nats/nats.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/run/signals.h"
#include "common/security/ids.h"
#include "tests/infra/methods.h"

int passed, failed;

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
    *t = (tab_table){ .id = TAB_S("numbers"), .rows = rows, .cols = cols, .col = c };
    return t;
}

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

/* ---- which of several ------------------------------------------------------------------------- */

static atomic_int asked[2];
static atomic_bool cut_off[2]; /* its database answers it no more */

static tab_status get(void *self, tab_call *call, tab_error *err)
{
    size_t i = *(const size_t *)self;
    (void)call;
    atomic_fetch_add(&asked[i], 1);
    return atomic_load(&cut_off[i])
               ? tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is not responding; try again")
               : TAB_OK;
}

/* Whether n calls, made until they come to both, all go well. */
static bool all_well(tab_rpc *c, int n)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    bool well = true;
    for (int i = 0; i < n; i++) {
        tab_answer ans;
        tab_error err;
        tab_ask q = ask_of(a, "Get", &in, 30000);
        q.service = "reports";
        well &= tab_rpc_call(c, &q, &ans, &err) == TAB_OK;
    }
    return well;
}

static bool both_asked(tab_rpc *c)
{
    atomic_store(&asked[0], 0);
    atomic_store(&asked[1], 0);
    for (int i = 0; i < PATIENCE_MS / 50; i++, poll(NULL, 0, 50))
        if (all_well(c, 4) && atomic_load(&asked[0]) > 0 && atomic_load(&asked[1]) > 0)
            return true;
    return false;
}

/* One of two processes that cannot reach its database is asked last: at first because of what it answers,
 * then because of what it says. */
static void who_cannot_is_asked_last(tab_rpc *c, const char *nats)
{
    static const tab_rpc_method can[] = { { "Get", LINE, LINE, get }, TAB_RPC_METHODS_END };
    static size_t which[2] = { 0, 1 };
    TAB_AUTO(tab_rpc) *one = tab_rpc_open(TAB_AT(nats), "reports"),
                      *two = tab_rpc_open(TAB_AT(nats), "reports");
    CHECK(one != NULL && two != NULL && tab_rpc_serve(one, can, &which[0]) &&
          tab_rpc_serve(two, can, &which[1]));
    CHECK(both_asked(c));
    atomic_store(&asked[1], 0);
    atomic_store(&cut_off[1], true);
    CHECK(all_well(c, 20)); /* asked of the other */
    CHECK(atomic_load(&asked[1]) > 0);
    tab_rpc_able(two, false);
    poll(NULL, 0, 2500); /* longer than the caller remembers by itself; beats come each second */
    atomic_store(&asked[1], 0);
    CHECK(all_well(c, 20));
    CHECK(atomic_load(&asked[1]) == 0);
    CHECK(tab_rpc_lives(c, "reports"));
    atomic_store(&cut_off[0], true); /* nobody is left: the answer says so, at once */
    tab_rpc_able(one, false);
    int64_t from = tab_mono_ms();
    CHECK(!all_well(c, 1) && tab_mono_ms() - from < 5000);
    atomic_store(&cut_off[0], false);
    atomic_store(&cut_off[1], false);
    tab_rpc_able(one, true);
    tab_rpc_able(two, true);
    CHECK(both_asked(c));
    CHECK(tab_rpc_drain(two, 5) && tab_rpc_drain(one, 5));
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

/* ---- calls that cannot be sent, while their time ends ----------------------------------------- */

enum { STARTS = 200, TEXT = 9 << 20 /* more than a message of the server may have */ };

typedef struct {
    tab_rpc *rpc;
    atomic_bool stop;
} dispatcher;

static void *dispatch_on(void *arg)
{
    dispatcher *d = arg;
    while (!atomic_load(&d->stop)) {
        struct pollfd p = { .fd = tab_rpc_fd(d->rpc), .events = POLLIN };
        if (poll(&p, 1, 1) == 1)
            tab_rpc_dispatch(d->rpc);
    }
    return NULL;
}

static void told(void *arg, tab_status s, const tab_answer *answer, const tab_error *err)
{
    (void)s;
    (void)answer;
    (void)err;
    atomic_fetch_add((atomic_int *)arg, 1);
}

/* Its deadline passes while the message is made, and then it cannot be sent: the thread that dispatches must
 * not end what the one that starts still holds, and the caller is told once. */
static void a_call_that_cannot_be_sent_is_told_once(tab_rpc *c)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    dispatcher d = { .rpc = c };
    atomic_int times = 0;
    int started = 0;
    pthread_t thread;
    char *actor = malloc(TEXT + 1);
    CHECK(actor != NULL && pthread_create(&thread, NULL, dispatch_on, &d) == 0);
    memset(actor, 'x', TEXT);
    actor[TEXT] = 0;
    for (int i = 0; i < STARTS; i++) {
        tab_error err = { 0 };
        tab_ask q = ask_of(a, "Echo", &in, 1 + i % 8);
        q.actor = actor;
        started += tab_rpc_start(c, &q, told, &times, &err);
    }
    poll(NULL, 0, 200); /* what would be told twice */
    atomic_store(&d.stop, true);
    pthread_join(thread, NULL);
    CHECK(started == 0);
    CHECK(atomic_load(&times) == started);
    free(actor);
}

int main(void)
{
    const char *nats = getenv("TAB_NATS");
    tab_log_open("infra-test", TAB_WARN);
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
    a_call_that_cannot_be_sent_is_told_once(client);
    a_worker_is_addressed(client, server);
    who_cannot_is_asked_last(client, nats);
    long_calls_are_kept_alive(client, server);
    CHECK(tab_rpc_drain(server, 5));
    printf("rpc: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
