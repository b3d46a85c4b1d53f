/* A daemon's own port: /livez (also /healthz) says whether the daemon's loops turn, and looks at no server;
 * /readyz says whether it takes work and, when not, which server is away; /metrics is for Prometheus.
 *
 *   thread of the port     answers, from what the others noted: it waits for nobody
 *   thread of the servers  asks each watched server once a second; a name server may hold it up
 *   the daemon's loops     note when they turned last */
#ifndef TAB_HEALTH_H
#define TAB_HEALTH_H

#include <stdatomic.h>

#include "common/base/base.h"
#include "common/base/metrics.h"

typedef struct tab_health tab_health;
tab_health *tab_health_open(int64_t port); /* 0: any free port, named in the log; NULL after logging why */
void tab_health_free(tab_health *h);
TAB_DEFINE_AUTO(tab_health)
int tab_health_port(const tab_health *h);

/* `alive` runs on the servers' thread, once a second, and should take a second at most. `name`: a literal. */
void tab_health_watch(tab_health *h, const char *name, bool (*alive)(void *arg), void *arg);
/* A loop that is stuck where *turned (tab_mono_ms) is TAB_LOOP_STUCK_MS old; kept until tab_health_free. */
enum { TAB_LOOP_STUCK_MS = 10000 };
void tab_health_loop(tab_health *h, const char *name, const _Atomic int64_t *turned);
void tab_health_ready(tab_health *h, bool ready);
/* A stop begins: not ready, and nothing else changes for so long, until those who send work know it. */
void tab_health_leave(tab_health *h, int64_t seconds);

#endif
