/* jobs: job rows, endpoints, and the workers that see both to their ends. Owns the Postgres schema `jobs`.
 * Start: configuration, log, servers, methods, workers, ready. Stop, on SIGTERM: not ready, hand back,
 * drain, free. */
#include <stdlib.h>

#include "common/base/config.h"
#include "common/rpc/daemon.h"
#include "common/run/health.h"
#include "common/run/signals.h"
#include "common/run/trace.h"
#include "services/jobs/jobs.h"

typedef struct {
    TAB_COMMON_CONFIG;
    TAB_RUN_KEY_CONFIG;
    TAB_REDIS_CONFIG;
    int64_t workers, window_s, give_up_s, outcome_days, outcome_row_days;
} config;

static const tab_option options[] = {
    TAB_COMMON_OPTIONS(config),
    TAB_RUN_KEY_OPTIONS(config),
    TAB_REDIS_OPTIONS(config),
    TAB_OPTION(config, workers, INT, "TAB_JOBS_WORKERS", "4", "jobs that this process works on at once"),
    TAB_OPTION(config, window_s, INT, "TAB_BATCH_WINDOW_S", "86400",
               "completion window of a batch job, in seconds"),
    TAB_OPTION(config, give_up_s, INT, "TAB_JOBS_GIVE_UP_S", "3600",
               "age in seconds at which a job fails while servers that it needs are away"),
    TAB_OPTION(config, outcome_days, INT, "TAB_OUTCOME_DAYS", "90",
               "days from a receipt to the last moment at which its outcome counts, 1 to 1000"),
    TAB_OPTION(config, outcome_row_days, INT, "TAB_OUTCOME_ROW_DAYS", "365",
               "days for which cells that came with an outcome are kept for a refresh, 0 to 3650"),
    TAB_OPTIONS_END,
};

int main(int argc, char **argv)
{
    config cfg;
    int early = tab_config_read(options, &cfg, argc, argv);
    if (early >= 0)
        return early;

    tab_log_open("jobs", cfg.log_level);
    sigset_t stop = tab_signals_hold();
    if (!tab_trace_open(cfg.otlp))
        return EXIT_FAILURE;

    /* A connection for each worker, the beat, the sweeper, the relay and the consumer, and some for calls. */
    int64_t pool = cfg.workers + cfg.threads + TAB_LANES_MOST + 2;
    TAB_AUTO(tab_pg) *pg = tab_pg_open(cfg.postgres, cfg.org_key, cfg.pg_pool > pool ? cfg.pg_pool : pool);
    TAB_AUTO(tab_redis) *redis = tab_redis_open(&cfg.redis);
    TAB_AUTO(tab_rpc) *rpc = tab_rpc_open(&cfg.nats, "jobs");
    if (pg == NULL || redis == NULL || rpc == NULL)
        return EXIT_FAILURE;

    static jobs self;
    self = (jobs){ .pg = pg,
                   .redis = redis,
                   .rpc = rpc,
                   .workers = cfg.workers > 0 ? cfg.workers : 1,
                   .window_s = cfg.window_s,
                   .give_up_s = cfg.give_up_s,
                   .outcome_days = cfg.outcome_days < 1      ? 1
                                   : cfg.outcome_days > 1000 ? 1000
                                                             : cfg.outcome_days,
                   .outcome_row_days = cfg.outcome_row_days < 0      ? 0
                                       : cfg.outcome_row_days > 3650 ? 3650
                                                                     : cfg.outcome_row_days };
    if (!tab_run_keys_read(cfg.run_key, cfg.run_seal, &self.run_keys))
        return EXIT_FAILURE;
    static const tab_event_route routes[] = { { "tabella.event.work.done", "metering" },
                                              { "tabella.event.work.done", "jobs" },
                                              { "tabella.event.work.done", "reports" },
                                              { "tabella.event.job.ended", "keys" },
                                              { "tabella.event.job.ended", "metering" },
                                              { "tabella.event.audit", "keys" },
                                              { "tabella.event.quality.alert", "keys" },
                                              { "tabella.event.runs.gone", "reports" },
                                              TAB_EVENT_ROUTES_END };
    TAB_AUTO(tab_relay) *relay = tab_relay_open(pg, rpc, "jobs", routes);
    TAB_AUTO(tab_health) *health = tab_health_open(cfg.port); /* last opened, first freed: it looks at all */
    if (relay == NULL || health == NULL)
        return EXIT_FAILURE;
    self.relay = relay;
    jobs_figures_start();
    static tab_schema schema = { .schema = "jobs", .least = 17 };
    tab_daemon_watch(health, rpc, pg, &schema);
    static const char *const slow[] = { "EditEndpoint", "RefreshCost", NULL }; /* they wait for others */
    tab_rpc_heavy(rpc, cfg.threads, slow);
    tab_rpc_limits(rpc, cfg.threads, 0, 0);
    bool good = tab_events_take(pg, rpc, "jobs", NULL, jobs_on_work, &self) && jobs_work_start(&self) &&
                tab_rpc_serve(rpc, jobs_methods, &self);
    tab_daemon_until_stopped(health, good, &stop, cfg.leave_s);
    jobs_work_stop(&self);
    return good && tab_rpc_drain(rpc, cfg.drain_s) ? EXIT_SUCCESS : EXIT_FAILURE;
}
