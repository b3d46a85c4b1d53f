/* See daemon.h. */
#include "common/rpc/daemon.h"

#include "common/base/log.h"
#include "common/run/signals.h"

/* A daemon's. */
static struct {
    tab_rpc *rpc;
    tab_pg *pg;
} database;

/* Callers hear of it, too. */
static bool database_alive(void *unused)
{
    (void)unused;
    bool alive = tab_pg_alive(database.pg);
    tab_rpc_able(database.rpc, alive);
    return alive;
}

void tab_daemon_watch(tab_health *health, tab_rpc *rpc, tab_pg *pg, tab_schema *schema)
{
    schema->pg = pg;
    database.rpc = rpc;
    database.pg = pg;
    tab_health_loop(health, "rpc", tab_rpc_turned(rpc));
    tab_health_watch(health, "postgres", database_alive, NULL);
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
