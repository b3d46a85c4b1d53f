/* metering: how much was used. Owns the usage ledger in the Postgres schema `metering`.
 * Start: configuration, log, servers, methods, relay, ready. Stop, on SIGTERM: not ready, drain,
 * free. */
#include <math.h>
#include <stdlib.h>

#include "common/base/config.h"
#include "common/rpc/daemon.h"
#include "common/run/health.h"
#include "common/run/signals.h"
#include "common/run/trace.h"
#include "services/metering/metering.h"

typedef struct {
    TAB_COMMON_CONFIG;
    double ratio[METERING_OP_COUNT];
    double usd_per_million;
    int64_t verify_hour;
    const char *checkpoint_keys;
} config;

static const tab_option options[] = {
    TAB_COMMON_OPTIONS(config),
    TAB_OPTION(config, ratio[METERING_RUN], REAL, "TAB_RATIO_RUN", "1",
               "ratio of a run's cells to the fresh rate"),
    TAB_OPTION(config, ratio[METERING_CACHED], REAL, "TAB_RATIO_CACHED", "0.05", "the same for cached cells"),
    TAB_OPTION(config, ratio[METERING_CREATE], REAL, "TAB_RATIO_CREATE", "1", "the same for a creation"),
    TAB_OPTION(config, ratio[METERING_REFRESH], REAL, "TAB_RATIO_REFRESH", "1", "the same for a refresh"),
    TAB_OPTION(config, ratio[METERING_SERVE], REAL, "TAB_RATIO_SERVE", "1", "the same for a serve call"),
    TAB_OPTION(config, ratio[METERING_BATCH], REAL, "TAB_RATIO_BATCH", "0.5",
               "the same for batch processing"),
    TAB_OPTION(config, ratio[METERING_GENERATE], REAL, "TAB_RATIO_GENERATE", "0.5",
               "the same for generated cells"),
    TAB_OPTION(config, usd_per_million, REAL, "TAB_USD_PER_MILLION", "0.1",
               "US dollars for a million fresh cells beyond the allowance; spend caps are counted by it"),
    TAB_OPTION(config, verify_hour, INT, "TAB_VERIFY_HOUR", "3",
               "hour of the day (UTC) from which on all sums are computed anew, once a day; 24: never"),
    TAB_OPTION(config, checkpoint_keys, TEXT, "TAB_CHECKPOINT_PUBLIC", "",
               "public keys that may sign checkpoints of the ledger, commas between; empty: any"),
    TAB_OPTIONS_END,
};

int main(int argc, char **argv)
{
    config cfg;
    int early = tab_config_read(options, &cfg, argc, argv);
    if (early >= 0)
        return early;

    tab_log_open("metering", cfg.log_level);
    sigset_t stop = tab_signals_hold();
    if (!tab_trace_open(cfg.otlp))
        return EXIT_FAILURE;

    static const tab_event_route routes[] = { { "tabella.event.usage.alert", "keys" },
                                              { "tabella.event.usage.counted", "keys" },
                                              TAB_EVENT_ROUTES_END };
    TAB_AUTO(tab_pg) *pg = tab_pg_open(cfg.postgres, cfg.org_key, cfg.pg_pool);
    TAB_AUTO(tab_rpc) *rpc = tab_rpc_open(&cfg.nats, "metering");
    if (pg == NULL || rpc == NULL)
        return EXIT_FAILURE;
    TAB_AUTO(tab_relay) *relay = tab_relay_open(pg, rpc, "metering", routes);
    TAB_AUTO(tab_health) *health = tab_health_open(cfg.port); /* last opened, first freed: it looks at all */
    if (relay == NULL || health == NULL)
        return EXIT_FAILURE;

    static metering self = { .lock = PTHREAD_MUTEX_INITIALIZER };
    self.pg = pg;
    self.rpc = rpc;
    self.usd_per_million = cfg.usd_per_million;
    self.verify_hour = cfg.verify_hour;
    self.checkpoint_keys = cfg.checkpoint_keys;
    for (int i = 0; i < METERING_OP_COUNT; i++)
        self.rates.milli[i] = llround(cfg.ratio[i] * 1000);
    metering_figures_start();
    static tab_schema schema = { .schema = "metering", .least = 6 };
    tab_daemon_watch(health, rpc, pg, &schema);
    static const char *const slow[] = { "Verify", NULL };
    tab_rpc_heavy(rpc, 1, slow);
    tab_rpc_limits(rpc, cfg.threads, 0, 0);
    if (!tab_events_take(pg, rpc, "metering", NULL, metering_on_work, &self))
        return EXIT_FAILURE;
    struct metering_nightly *nightly = metering_nightly_start(&self);
    bool good = nightly != NULL && tab_rpc_serve(rpc, metering_methods, &self);
    tab_daemon_until_stopped(health, good, &stop, cfg.leave_s);
    metering_nightly_stop(nightly);
    return good && tab_rpc_drain(rpc, cfg.drain_s) ? EXIT_SUCCESS : EXIT_FAILURE;
}
