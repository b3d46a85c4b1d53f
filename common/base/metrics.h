/* Metrics for Prometheus: counters, gauges and histograms in one registry of the process.
 *
 * The same name and labels give the same metric; metrics live as long as the process, and any thread may
 * change them. labels: "route=\"/v2/run\",code=\"200\"", or NULL. Labels come from closed sets only:
 * never an organization, a key, an endpoint or a request id. */
#ifndef TAB_METRICS_H
#define TAB_METRICS_H

#include "common/base/base.h"

struct evbuffer;

typedef struct tab_metric tab_metric;
tab_metric *tab_counter(const char *name, const char *help, const char *labels);
tab_metric *tab_gauge(const char *name, const char *help, const char *labels);
tab_metric *tab_histogram(const char *name, const char *help, const char *labels); /* seconds */
void tab_metric_add(tab_metric *m, double by);                                     /* counter, gauge */
void tab_metric_set(tab_metric *m, double to);                                     /* gauge */
void tab_metric_observe(tab_metric *m, double seconds);

/* Before each tab_metrics_write, fn sets gauges that would be costly to keep exact all the time. One a
 * process. NULL removes it; when that call returns, fn is not running. */
void tab_metrics_before(void (*fn)(void *ctx), void *ctx);
void tab_metrics_write(struct evbuffer *out); /* the exposition format, version 0.0.4 */

#endif
