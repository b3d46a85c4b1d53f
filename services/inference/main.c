/* inference: passes of the engine. Keeps nothing but which bases are retired (Postgres schema `inference`)
 * and, in memory, the fitted states of endpoints. Start: configuration, log, servers, helpers, methods,
 * ready. Stop, on SIGTERM: not ready, drain, free. */
#include <stdlib.h>
#include <unistd.h>

#include "common/config.h"
#include "common/health.h"
#include "common/signals.h"
#include "services/inference/engine/learn/pfn/weights.h"
#include "services/inference/inference.h"

extern void openblas_set_num_threads(int n);

typedef struct {
    TAB_COMMON_CONFIG;
    int64_t passes, helpers, states_mib, call_mib;
    bool alone;
} config;

static const tab_option options[] = {
    TAB_COMMON_OPTIONS(config),
    TAB_OPTION(
        config, passes, INT, "TAB_PASSES", "0",
        "passes of jobs at once, and twice as many of calls that somebody waits for; one organization gets "
        "at most half of each; 0: one per core, at least 2"),
    TAB_OPTION(config, helpers, INT, "TAB_HELPERS", "0",
               "threads that passes share; 0: one fewer than cores"),
    TAB_OPTION(config, states_mib, INT, "TAB_STATES_MIB", "1024",
               "memory for fitted states of endpoints, in MiB"),
    TAB_OPTION(config, call_mib, INT, "TAB_CALL_MIB", "4096", "memory that one call may take, in MiB"),
    TAB_OPTION(config, alone, BOOL, "TAB_ALONE", "0",
               "1: a process for one pass; inference starts it itself, for a job whose worker died"),
    TAB_OPTIONS_END,
};

int main(int argc, char **argv)
{
    config cfg;
    int early = tab_config_read(options, &cfg, argc, argv);
    if (early >= 0)
        return early;

    tab_log_open("inference", cfg.log_level);
    sigset_t stop = tab_signals_hold();
    openblas_set_num_threads(1); /* one order of summation, whatever the machine */
    const char *why;
    if (tab_pfn_default(&why) ==
        NULL) /* base-3 goes on without its transformer, the other bases never had it */
        tab_log(TAB_WARN, "%s", why);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t slots = cfg.passes > 0 ? cfg.passes : cores > 2 ? cores : 2;
    int64_t helpers = cfg.helpers > 0 ? cfg.helpers : cores - 1;

    TAB_AUTO(tab_pg) *pg = tab_pg_open(cfg.postgres, cfg.org_key, cfg.pg_pool);
    TAB_AUTO(tab_health) *health = tab_health_open(cfg.alone ? 0 : cfg.port);
    TAB_AUTO(tab_states) *states = tab_states_new((size_t)cfg.states_mib << 20, serve_state_free);
    TAB_AUTO(tab_pool) *pool = tab_pool_new((size_t)(helpers > 0 ? helpers : 0), false);
    TAB_AUTO(tab_pool) *behind = tab_pool_new((size_t)(helpers > 0 ? helpers : 0), true);
    TAB_AUTO(tab_shares) *shares = tab_shares_new();
    /* What is waited for is small (TAB_INLINE_CELLS): three organizations find a place at once. */
    const size_t places[SLOT_LANES] = { [AWAITED] = 2 * (size_t)slots, [JOBS] = (size_t)slots };
    TAB_AUTO(tab_turns) *turns = tab_turns_new(SLOT_LANES, places, SIZE_MAX);
    TAB_AUTO(tab_rpc) *rpc = tab_rpc_open(&cfg.nats, cfg.alone ? ALONE : "inference");
    if (pg == NULL || health == NULL || states == NULL || pool == NULL || behind == NULL || shares == NULL ||
        turns == NULL || rpc == NULL)
        return EXIT_FAILURE;

    static inference self;
    self = (inference){ .pg = pg,
                        .rpc = rpc,
                        .pool = pool,
                        .behind = behind,
                        .shares = shares,
                        .states = states,
                        .cores = cores > 0 ? cores : 1,
                        .slots = turns,
                        .alone = cfg.alone };
    tab_health_watch(health, "postgres", tab_pg_alive, pg);
    tab_health_watch(health, "nats", tab_rpc_alive, rpc);
    /* A pass holds a thread from when its tables come, before it waits for a slot: twice as many. */
    static const char *const passes[] = { "Run", "Evaluate", NULL };
    int64_t heavy = 2 * 3 * slots;
    tab_rpc_heavy(rpc, heavy, passes);
    tab_rpc_limits(rpc, heavy + cfg.threads, 4096, (size_t)cfg.call_mib << 20);
    if (!inference_start(&self) || !tab_rpc_serve(rpc, inference_methods, &self))
        return EXIT_FAILURE;
    tab_health_ready(health, true);
    if (cfg.alone)
        alone_begin(&self);

    tab_log(TAB_INFO, "stopping on signal %d", tab_signals_wait(&stop));
    tab_health_ready(health, false);
    bool drained = tab_rpc_drain(rpc, cfg.drain_s);
    inference_stop(&self);
    return drained ? EXIT_SUCCESS : EXIT_FAILURE;
}
