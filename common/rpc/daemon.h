/* What the mains of daemons do alike: what is watched, and the time between ready and stopped. */
#ifndef TAB_DAEMON_H
#define TAB_DAEMON_H

#include <signal.h>

#include "common/pg/pg.h"
#include "common/rpc/rpc.h"
#include "common/run/health.h"

/* Ready asks for PostgreSQL, its schema and NATS; alive, whether the RPC's thread turns. schema stays with
 * the health for good, and looks by pg from now on. */
void tab_daemon_watch(tab_health *health, tab_rpc *rpc, tab_pg *pg, tab_schema *schema);

/* Is ready until one of the signals comes, then says so and leaves time for callers to look elsewhere. Where
 * the start was not good it is not ready, and the end is now. */
void tab_daemon_until_stopped(tab_health *health, bool good, const sigset_t *stop, int64_t leave_s);

#endif
