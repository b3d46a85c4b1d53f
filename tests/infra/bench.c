/* What the RPC costs beyond NATS itself: run by tests/bench/infra/run with TAB_NATS set. */
#include <nats/nats.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "common/base/log.h"
#include "common/rpc/rpc.h"
#include "common/run/signals.h"
#include "proto/events.pb-c.h"

enum { CALLS = 4000, MB = 64 };

static tab_status echo(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    (void)err;
    ((Tabella__UsageLine *)call->out)->cells = ((const Tabella__UsageLine *)call->in)->cells;
    return TAB_OK;
}

static const tab_rpc_method methods[] = {
    { "Echo", &tabella__usage_line__descriptor, &tabella__usage_line__descriptor, echo }, TAB_RPC_METHODS_END
};

static void bare_echo(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)sub;
    (void)arg;
    natsConnection_Publish(nc, natsMsg_GetReply(m), natsMsg_GetData(m), natsMsg_GetDataLength(m));
    natsMsg_Destroy(m);
}

static double cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static tab_ask ask_of(tab_arena *a, const Tabella__UsageLine *in)
{
    return (tab_ask){ .service = "bench",
                      .method = "Echo",
                      .org = "org_a",
                      .request_id = "req_b",
                      .deadline = tab_in_ms(60000),
                      .in = &in->base,
                      .reply = &tabella__usage_line__descriptor,
                      .arena = a };
}

static bool send_table(tab_rpc *client, const Tabella__UsageLine *in)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)256 << 20);
    size_t rows = (size_t)MB * 1048576 / 8;
    double *x = tab_arena_new_of(a, double, rows);
    for (size_t i = 0; i < rows; i++)
        x[i] = (double)i;
    tab_column c = { .name = TAB_S("x"), .num = x };
    tab_table t = { .id = TAB_S("t"), .rows = rows, .cols = 1, .col = &c };
    const tab_table *p = &t;
    tab_ask q = ask_of(a, in);
    q.tables = &p;
    q.n_tables = 1;
    tab_answer answer;
    double from = cpu();
    int64_t at = tab_now_us();
    if (tab_rpc_call(client, &q, &answer, NULL) != TAB_OK)
        return false;
    double s = (double)(tab_now_us() - at) * 1e-6;
    printf("64 MiB table to a service: %.0f MB/s (processor, both sides: %.2f s)\n", MB / s, cpu() - from);
    return true;
}

int main(void)
{
    static int64_t took[CALLS];
    natsConnection *nc[2] = { NULL, NULL };
    natsSubscription *sub = NULL;
    natsOptions *o = NULL;
    tab_log_open("bench", TAB_ERROR);
    tab_signals_hold();
    natsOptions_Create(&o);
    natsOptions_SetURL(o, getenv("TAB_NATS"));
    natsOptions_SetSendAsap(o, true);
    if (natsConnection_Connect(&nc[0], o) != NATS_OK || natsConnection_Connect(&nc[1], o) != NATS_OK ||
        natsConnection_Subscribe(&sub, nc[0], "bare.echo", bare_echo, NULL) != NATS_OK)
        return 1;
    natsConnection_Flush(nc[0]);
    double from = cpu();
    for (int i = 0; i < CALLS; i++) {
        natsMsg *m = NULL;
        int64_t at = tab_now_us();
        if (natsConnection_Request(&m, nc[1], "bare.echo", "12345678", 8, 2000) != NATS_OK)
            return 1;
        natsMsg_Destroy(m);
        took[i] = tab_now_us() - at;
    }
    double bare_cpu = (cpu() - from) / CALLS * 1e6;
    qsort(took, CALLS, sizeof *took, by_value);
    double bare = (double)took[CALLS / 2];

    TAB_AUTO(tab_rpc) *server = tab_rpc_open(TAB_AT(getenv("TAB_NATS")), "bench");
    TAB_AUTO(tab_rpc) *client = tab_rpc_open(TAB_AT(getenv("TAB_NATS")), "caller");
    if (!tab_rpc_serve(server, methods, NULL))
        return 1;
    while (!tab_rpc_alive(server) || !tab_rpc_alive(client))
        poll(NULL, 0, 10);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    in.cells = 7;
    from = cpu();
    for (int i = 0; i < CALLS; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        tab_answer answer;
        tab_ask q = ask_of(a, &in);
        int64_t at = tab_now_us();
        if (tab_rpc_call(client, &q, &answer, NULL) != TAB_OK)
            return 1;
        took[i] = tab_now_us() - at;
    }
    double rpc_cpu = (cpu() - from) / CALLS * 1e6;
    qsort(took, CALLS, sizeof *took, by_value);
    printf("round trip, median: bare NATS %.0f us, our RPC %.0f us: "
           "ratio %.2f (processor, client and server together: %.0f and %.0f us)\n",
           bare, (double)took[CALLS / 2], (double)took[CALLS / 2] / bare, bare_cpu, rpc_cpu);

    if (!send_table(client, &in))
        return 1;
    natsSubscription_Destroy(sub);
    natsConnection_Destroy(nc[0]);
    natsConnection_Destroy(nc[1]);
    natsOptions_Destroy(o);
    return 0;
}
