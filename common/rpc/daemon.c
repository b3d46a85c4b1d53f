/* See daemon.h. */
#include "common/rpc/daemon.h"

#include "common/base/log.h"
#include "common/run/signals.h"

void tab_daemon_watch(tab_health *health, tab_rpc *rpc, tab_pg *pg, tab_schema *schema)
{
    schema->pg = pg;
    tab_health_loop(health, "rpc", tab_rpc_turned(rpc));
    tab_health_watch(health, "postgres", tab_pg_alive, pg);
    tab_health_watch(health, "schema", tab_schema_fits, schema);
    tab_health_watch(health, "nats", tab_rpc_alive, rpc);
}

void tab_daemon_until_stopped(tab_health *health, bool good, const sigset_t *stop, int64_t leave_s)
{
    tab_health_ready(health, good);
    if (!good)
        return;
    tab_log(TAB_INFO, "stopping on signal %d", tab_signals_wait(stop));
    tab_health_leave(health, leave_s);
}
