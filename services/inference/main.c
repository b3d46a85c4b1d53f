/* inference: passes of the engine. Keeps which bases are retired or an organization's own, and the fitted
 * states of endpoints (Postgres schema `inference`; a folder and memory of each process before it). Start:
 * configuration, log, servers, helpers, methods, ready. Stop, on SIGTERM: not ready, drain, free. */
#include <stdlib.h>

#include "common/base/config.h"
#include "common/base/log.h"
#include "common/rpc/daemon.h"
#include "common/run/health.h"
#include "common/run/machine.h"
#include "common/run/signals.h"
#include "common/run/trace.h"
#include "common/security/pkcs11.h"
#include "services/inference/engine/learn/pfn/weights.h"
#include "services/inference/inference.h"
#include "services/inference/states/fit_ahead.h"
#include "services/inference/states/state_store.h"

extern void openblas_set_num_threads(int n);

typedef struct {
    TAB_COMMON_CONFIG;
    TAB_PKCS11_CONFIG;
    int64_t passes, helpers, states_mib, states_disk_mib, call_mib, memory_mib;
    const char *states_folder, *kek;
    bool alone;
} config;

enum { FORECASTS_BYTES = 64 << 20 }; /* of forecasts that are kept, 10,000 rows at most each */

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
    TAB_OPTION(config, states_folder, TEXT, "TAB_STATES_FOLDER", "",
               "folder of this process alone for fitted states, a cache that may be lost; empty: none"),
    TAB_OPTION(
        config, kek, SECRET, "TAB_STATE_KEK", "",
        "keys that wrap a key of each organization, which encrypts its fitted states where they are kept; "
        "ID:64 hex digits or ID:pkcs11:LABEL, comma between, the newest first; "
        "empty: they are not encrypted"),
    TAB_PKCS11_OPTIONS(config),
    TAB_OPTION(config, states_disk_mib, INT, "TAB_STATES_DISK_MIB", "4096",
               "most that the folder may hold, in MiB"),
    TAB_OPTION(config, call_mib, INT, "TAB_CALL_MIB", "4096",
               "memory that one call may take, and as much again its pass, in MiB"),
    TAB_OPTION(
        config, memory_mib, INT, "TAB_MEMORY_MIB", "0",
        "memory that all calls, passes and states may take together, in MiB; 0: four fifths of what the "
        "control group, or the machine, has"),
    TAB_OPTION(config, alone, BOOL, "TAB_ALONE", "0",
               "1: a process for one pass; inference starts it itself, for a job whose worker died"),
    TAB_OPTIONS_END,
};

static void ready_engine(void)
{
    openblas_set_num_threads(1); /* one order of summation, whatever the machine */
    const char *why;
    if (tab_pfn_default(&why) == NULL) /* base-3 goes on without its transformer, others never had it */
        tab_log(TAB_WARN, "%s", why);
}

/* What seals states; a process for one pass keeps none, and has no key. */
static bool seal_states(const config *cfg, state_store *store, tab_keyring **ret_kek)
{
    if (!cfg->alone && !tab_master_keys_open(cfg->kek, "TAB_STATE_KEK", TAB_PKCS11_OF(cfg), ret_kek))
        return false;
    store->own = (tab_data_keys){ .schema = "inference", .setting = "TAB_STATE_KEK", .master = *ret_kek };
    state_store_key(cfg->org_key, store->key);
    return true;
}

/* Who watches the process, and how much it takes at once. */
static void watch_and_limit(tab_health *health, tab_rpc *rpc, tab_pg *pg, const config *cfg, int64_t slots)
{
    static tab_schema schema = { .schema = "inference", .least = 4 };
    tab_daemon_watch(health, rpc, pg, &schema);
    /* A pass holds a thread from when its tables come, before it waits for a slot: twice as many. */
    static const char *const passes[] = { "Run", "Evaluate", NULL };
    int64_t heavy = 2 * 3 * slots;
    tab_rpc_heavy(rpc, heavy, passes);
    /* A serve call that waits for its state's fit holds one, too: no other call is to wait with it. */
    tab_rpc_limits(rpc, heavy + cfg->threads + TAB_STATES_FITS, 4096, (size_t)cfg->call_mib << 20);
}

/* What looks after states that are kept. */
static tab_sweeper *sweeper;

static bool look_after_states(inference *self, tab_health *health)
{
    if (self->store == NULL)
        return true;
    sweeper = state_store_sweeps(self->store);
    if (sweeper == NULL || !fit_ahead_start(self))
        return false;
    tab_health_show(health, "states", true, fit_ahead_done, NULL);
    return true;
}

static void stop_threads(inference *self)
{
    inference_stop(self);
    deleted_endpoints_stop(self);
    fit_ahead_stop();
    tab_sweeper_close(sweeper);
}

static void leave(inference *self, tab_health *health, tab_rpc *rpc, const config *cfg)
{
    atomic_store(&self->leaves, true);
    tab_health_leave(health, cfg->leave_s);
    if (!tab_rpc_drain(rpc, cfg->drain_s)) /* passes may take hours: none is waited for longer */
        tab_log(TAB_INFO, "what still computes is given back");
    stop_threads(self);
}

static void until_stopped(inference *self, tab_health *health, tab_rpc *rpc, const config *cfg,
                          const sigset_t *stop)
{
    tab_health_ready(health, true);
    if (cfg->alone)
        isolated_pass_begin(self);
    tab_log(TAB_INFO, "stopping on signal %d", tab_signals_wait(stop));
    leave(self, health, rpc, cfg);
}

int main(int argc, char **argv)
{
    config cfg;
    int early = tab_config_read(options, &cfg, argc, argv);
    if (early >= 0)
        return early;

    tab_log_open("inference", cfg.log_level);
    sigset_t stop = tab_signals_hold();
    if (!tab_trace_open(cfg.otlp))
        return EXIT_FAILURE;
    ready_engine();
    const tab_machine machine = tab_machine_look();
    int64_t cores = machine.cores;
    const size_t memory = cfg.memory_mib > 0 ? (size_t)cfg.memory_mib << 20 : machine.memory / 5 * 4;
    const int64_t alone = (int64_t)(memory / 4 * 3); /* a pass that needs more is told so, and not to wait */
    tab_memory_limit(memory);
    tab_log(TAB_INFO, "%lld cores, %zu MiB of memory", (long long)cores, machine.memory >> 20);
    int64_t slots = cfg.passes > 0 ? cfg.passes : cores > 2 ? cores : 2;
    int64_t helpers = cfg.helpers > 0 ? cfg.helpers : cores - 1;

    TAB_AUTO(tab_pg) *pg = tab_pg_open(cfg.postgres, cfg.org_key, cfg.pg_pool);
    TAB_AUTO(tab_states) *states = tab_states_new((size_t)cfg.states_mib << 20, serve_state_free);
    TAB_AUTO(tab_states) *forecasts = tab_states_new(FORECASTS_BYTES, serve_forecast_free);
    static char told[HOMES_MOST][HOME_KEY];
    static state_store store;
    TAB_AUTO(tab_keyring) *kek = NULL;
    if (!seal_states(&cfg, &store, &kek))
        return EXIT_FAILURE;
    TAB_AUTO(state_disk) *disk =
        cfg.states_folder[0] == 0 || cfg.alone
            ? NULL
            : state_disk_open(cfg.states_folder, (size_t)cfg.states_disk_mib << 20, kek != NULL);
    store.pg = pg;
    store.disk = disk;
    TAB_AUTO(tab_pool) *pool = tab_pool_new((size_t)(helpers > 0 ? helpers : 0), false);
    TAB_AUTO(tab_pool) *behind = tab_pool_new((size_t)(helpers > 0 ? helpers : 0), true);
    TAB_AUTO(tab_shares) *shares = tab_shares_new();
    /* What is waited for is small (TAB_INLINE_CELLS): three organizations find a place at once. */
    const size_t places[SLOT_LANES] = { [AWAITED] = 2 * (size_t)slots, [JOBS] = (size_t)slots };
    TAB_AUTO(tab_fair_queue) *turns = tab_fair_queue_new(SLOT_LANES, places, SIZE_MAX);
    TAB_AUTO(tab_rpc) *rpc = tab_rpc_open(&cfg.nats, cfg.alone ? ALONE : "inference");
    /* Last opened, first freed: it looks at all others. */
    TAB_AUTO(tab_health) *health = tab_health_open(cfg.alone ? 0 : cfg.port);
    if (pg == NULL || states == NULL || forecasts == NULL || pool == NULL || behind == NULL ||
        shares == NULL || turns == NULL || rpc == NULL || health == NULL)
        return EXIT_FAILURE;

    static inference self;
    self = (inference){ .pg = pg,
                        .rpc = rpc,
                        .pool = pool,
                        .behind = behind,
                        .shares = shares,
                        .states = states,
                        .forecasts = forecasts,
                        .store = cfg.alone ? NULL : &store,
                        .told = told,
                        .cores = cores,
                        .pass_bytes = cfg.call_mib << 20 < alone ? cfg.call_mib << 20 : alone,
                        .slots = turns,
                        .alone = cfg.alone };
    watch_and_limit(health, rpc, pg, &cfg, slots);
    if (!inference_start(&self) || !deleted_endpoints_start(&self) || !look_after_states(&self, health) ||
        !tab_rpc_serve(rpc, inference_methods, &self)) {
        stop_threads(&self);
        return EXIT_FAILURE;
    }
    until_stopped(&self, health, rpc, &cfg, &stop);
    return EXIT_SUCCESS;
}
