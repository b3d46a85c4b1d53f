/* A daemon's own port: /livez (also /healthz) says it turns and looks at no server; /readyz says whether
 * it takes work and, when not, which server is away; /metrics is for Prometheus. */
#ifndef TAB_HEALTH_H
#define TAB_HEALTH_H

#include "common/base.h"
#include "common/metrics.h"

typedef struct tab_health tab_health;
tab_health *tab_health_open(int64_t port); /* 0: any free port, named in the log; NULL after logging why */
void tab_health_free(tab_health *h);
TAB_DEFINE_AUTO(tab_health)
int tab_health_port(const tab_health *h);

/* `alive` runs on the health thread, at most once a second, and may take a second. `name` is a literal. */
void tab_health_watch(tab_health *h, const char *name, bool (*alive)(void *arg), void *arg);
void tab_health_ready(tab_health *h, bool ready);

#endif
