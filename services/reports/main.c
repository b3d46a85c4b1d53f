/* reports: held-out reports and run records, immutable. Owns the Postgres schema `reports`.
 * Start: configuration, log, servers, methods, ready. Stop, on SIGTERM: not ready, drain, free. */
#include <stdlib.h>

#include "common/base/config.h"
#include "common/pg/sweep.h"
#include "common/pg/tally.h"
#include "common/rpc/daemon.h"
#include "common/run/health.h"
#include "common/run/signals.h"
#include "common/run/trace.h"
#include "services/reports/reports.h"

typedef struct {
    TAB_COMMON_CONFIG;
} config;

static const tab_option options[] = { TAB_COMMON_OPTIONS(config), TAB_OPTIONS_END };

static tab_status fold(tab_tx *tx, void *arg, int64_t most, size_t *n, tab_error *err)
{
    (void)arg;
    return tab_tally_fold(tx, "reports", most, n, err);
}

int main(int argc, char **argv)
{
    config cfg;
    int early = tab_config_read(options, &cfg, argc, argv);
    if (early >= 0)
        return early;

    tab_log_open("reports", cfg.log_level);
    sigset_t stop = tab_signals_hold();
    if (!tab_trace_open(cfg.otlp))
        return EXIT_FAILURE;

    TAB_AUTO(tab_pg) *pg = tab_pg_open(cfg.postgres, cfg.org_key, cfg.pg_pool);
    TAB_AUTO(tab_rpc) *rpc = tab_rpc_open(&cfg.nats, "reports");
    TAB_AUTO(tab_health) *health = tab_health_open(cfg.port); /* last opened, first freed: it looks at all */
    if (pg == NULL || rpc == NULL || health == NULL)
        return EXIT_FAILURE;

    static reports self;
    self.pg = pg;
    static tab_schema schema = { .schema = "reports", .least = 4 };
    tab_daemon_watch(health, rpc, pg, &schema);
    tab_rpc_limits(rpc, cfg.threads, 0, 0);
    if (!tab_events_take(pg, rpc, "reports", reports_on_work, NULL, &self) ||
        !tab_rpc_serve(rpc, reports_methods, &self))
        return EXIT_FAILURE;
    static tab_sweep sweeps[] = {
        { .name = "counts of reports", .batch = fold, .most = 1000, .idle_ms = 8000 },
    };
    tab_sweeper *sweeper = tab_sweeper_open(pg, sweeps, 1, NULL);
    if (sweeper == NULL)
        return EXIT_FAILURE;
    tab_daemon_until_stopped(health, true, &stop, cfg.leave_s);
    tab_sweeper_close(sweeper);
    return tab_rpc_drain(rpc, cfg.drain_s) ? EXIT_SUCCESS : EXIT_FAILURE;
}
