/* nats-check: whether NATS does what the suite needs of it. A message is published and read back through
 * the server, as the daemons' calls are: a server that accepts connections and carries nothing fails.
 *
 *   TAB_HEALTH_PORT=0   one check: exit code 0 or 1, and why on stderr (the stack's supervisor)
 *   TAB_HEALTH_PORT=N   serves /readyz, a check each time it is asked (a probe of Kubernetes) */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/config.h"
#include "common/rpc/rpc.h"
#include "common/run/health.h"
#include "common/run/signals.h"
#include "proto/events.pb-c.h"

typedef struct {
    tab_access nats;
    const char *health_bind;
    int64_t port, wait_s;
    tab_log_level log_level;
} config;

static const tab_option options[] = {
    TAB_OPTION(config, nats.address, SECRET, "TAB_NATS", "nats://127.0.0.1:4222", "NATS server's URL"),
    TAB_ACCESS_OPTIONS(config, nats, "TAB_NATS", "NATS"),
    TAB_OPTION(config, port, INT, "TAB_HEALTH_PORT", "0",
               "port of /readyz, which checks; 0: check once and end"),
    TAB_OPTION(config, health_bind, TEXT, "TAB_HEALTH_BIND", "127.0.0.1",
               "address of the health port; 0.0.0.0 in a pod"),
    TAB_OPTION(config, wait_s, INT, "TAB_NATS_CHECK_S", "5", "seconds until a single check has failed"),
    TAB_OPTION(config, log_level, LEVEL, "TAB_LOG_LEVEL", "error", "debug, info, warn, error"),
    TAB_OPTIONS_END
};

static tab_status echo(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    (void)err;
    ((Tabella__Event *)call->out)->payload = ((const Tabella__Event *)call->in)->payload;
    return TAB_OK;
}

static const tab_rpc_method methods[] = {
    { "Echo", &tabella__event__descriptor, &tabella__event__descriptor, echo },
    TAB_RPC_METHODS_END,
};

/* Published and read back within a second, both ways, by this very process. */
static bool carries(void *arg)
{
    static uint8_t bytes[1024];
    tab_rpc *rpc = arg;
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Event in = TABELLA__EVENT__INIT;
    tab_answer out = { 0 };
    in.payload = (ProtobufCBinaryData){ sizeof bytes, bytes };
    bytes[0]++;
    tab_ask ask = { .service = "nats-check",
                    .method = "Echo",
                    .worker = tab_rpc_worker(rpc),
                    .deadline = tab_in_ms(1000),
                    .in = &in.base,
                    .reply = &tabella__event__descriptor,
                    .arena = a };
    if (a == NULL || tab_rpc_call(rpc, &ask, &out, NULL) != TAB_OK)
        return false;
    const Tabella__Event *back = out.msg;
    return back->payload.len == sizeof bytes && memcmp(back->payload.data, bytes, sizeof bytes) == 0;
}

int main(int argc, char **argv)
{
    config cfg;
    int early = tab_config_read(options, &cfg, argc, argv);
    if (early >= 0)
        return early;
    tab_log_open("nats-check", cfg.log_level);
    sigset_t stop = tab_signals_hold();
    TAB_AUTO(tab_health) *health = cfg.port > 0 ? tab_health_open(cfg.port) : NULL;
    TAB_AUTO(tab_rpc) *rpc = tab_rpc_open(&cfg.nats, "nats-check");
    if (rpc == NULL || (cfg.port > 0 && health == NULL))
        return EXIT_FAILURE;
    tab_rpc_limits(rpc, 1, 0, 1 << 20);
    if (!tab_rpc_serve(rpc, methods, NULL))
        return EXIT_FAILURE;
    if (health != NULL) {
        tab_health_watch(health, "nats", carries, rpc);
        tab_health_ready(health, true);
        tab_signals_wait(&stop);
        return EXIT_SUCCESS;
    }
    tab_deadline until = tab_in_ms(cfg.wait_s * 1000);
    bool good = carries(rpc);
    while (!good && tab_left_ms(until, 1) > 0) {
        poll(NULL, 0, 20);
        good = carries(rpc);
    }
    if (!good)
        fputs("nats-check: a message was not read back\n", stderr);
    /* Without the orderly end: a server that answers nothing would be waited for. */
    fflush(NULL);
    _Exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
}
