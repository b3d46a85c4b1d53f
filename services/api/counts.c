/* See counts.h. Metrics of the common case are looked up once; others are rare enough to be looked up each
 * time. */
#include "services/api/counts.h"
#include "common/base/metrics.h"

#include <stdio.h>

enum { NO_ROUTE = TAB_ROUTE_COUNT, QUESTION }; /* beside the routes: none, and the gateway's about a key */

static struct {
    _Atomic(tab_metric *) ok, seconds;
} of_route[TAB_ROUTE_COUNT + 2];

static const char *method_of(size_t at)
{
    return at < TAB_ROUTE_COUNT ? tab_routes[at].method : at == QUESTION ? "GET" : "";
}

static const char *path_of(size_t at)
{
    return at < TAB_ROUTE_COUNT ? tab_routes[at].path : at == QUESTION ? "authenticate" : "none";
}

static size_t at_of(const request *r)
{
    return r->internal ? QUESTION : r->route < TAB_ROUTE_COUNT ? (size_t)r->route : NO_ROUTE;
}

static tab_metric *answers(size_t at, int status)
{
    char labels[160];
    snprintf(labels, sizeof labels, "route=\"%s\",method=\"%s\",code=\"%d\"", path_of(at), method_of(at),
             status);
    return tab_counter("tabella_api_requests_total", "Requests answered", labels);
}

static tab_metric *seconds_of(size_t at)
{
    char labels[160];
    snprintf(labels, sizeof labels, "route=\"%s\",method=\"%s\"", path_of(at), method_of(at));
    return tab_histogram("tabella_api_request_duration_seconds", "From a request's arrival to its answer",
                         labels);
}

void count_answer(const request *r)
{
    size_t at = at_of(r);
    tab_metric *n = r->status == 200 ? atomic_load(&of_route[at].ok) : NULL;
    tab_metric *time = atomic_load(&of_route[at].seconds);
    if (n == NULL) {
        n = answers(at, r->status);
        if (r->status == 200)
            atomic_store(&of_route[at].ok, n);
    }
    if (time == NULL)
        atomic_store(&of_route[at].seconds, time = seconds_of(at));
    tab_metric_add(n, 1);
    tab_metric_observe(time, (double)(tab_mono_ms() - r->began) / 1000);
    if (r->replayed)
        tab_metric_add(tab_counter("tabella_idempotency_replays_total",
                                   "Answers that an earlier request with the key had had", NULL),
                       1);
}

static tab_metric *errors(size_t at, tab_status s)
{
    char labels[160];
    snprintf(labels, sizeof labels, "type=\"%s\",route=\"%s\"", tab_status_name(s), path_of(at));
    return tab_counter("tabella_errors_total", "Error envelopes made here, by type", labels);
}

static tab_metric *conflicts(void)
{
    return tab_counter("tabella_idempotency_conflicts_total", "Keys used again with another body", NULL);
}

void count_error(const request *r, const tab_error *err)
{
    tab_metric_add(errors(at_of(r), err->status), 1);
    if (err->status == TAB_CONFLICT && strcmp(err->param, "Idempotency-Key") == 0)
        tab_metric_add(conflicts(), 1);
}

static tab_metric *limited(count_limit which)
{
    static const char *const labels[] = { [LIMIT_CELLS] = "scope=\"org\",unit=\"cells\"",
                                          [LIMIT_ORG_CALLS] = "scope=\"org\",unit=\"concurrency\"",
                                          [LIMIT_ENDPOINT_CALLS] = "scope=\"endpoint\",unit=\"concurrency\"",
                                          [LIMIT_ALLOWANCE] = "scope=\"org\",unit=\"allowance\"",
                                          [LIMIT_BYTES] = "scope=\"org\",unit=\"bytes\"" };
    return tab_counter("tabella_rate_limited_total", "Requests that a limit of their plan refused",
                       labels[which]);
}

void count_limited(count_limit which)
{
    tab_metric_add(limited(which), 1);
}

static tab_metric *metered(void)
{
    static _Atomic(tab_metric *) seconds;
    tab_metric *m = atomic_load(&seconds);
    if (m == NULL) {
        m = tab_histogram("tabella_serve_meter_seconds",
                          "Waits of serve calls for the meter: to be let in, and to be billed", NULL);
        atomic_store(&seconds, m);
    }
    return m;
}

void count_meter(int64_t began)
{
    tab_metric_observe(metered(), (double)(tab_mono_us() - began) / 1e6);
}

void counts_start(void)
{
    for (size_t i = 0; i < TAB_ROUTE_COUNT + 2; i++) {
        (void)answers(i, 200);
        (void)seconds_of(i);
        (void)errors(i, TAB_INTERNAL);
        (void)errors(i, TAB_UNAVAILABLE);
    }
    for (count_limit l = LIMIT_CELLS; l <= LIMIT_BYTES; l++)
        (void)limited(l);
    (void)conflicts();
    (void)metered();
    (void)tab_counter("tabella_idempotency_replays_total",
                      "Answers that an earlier request with the key had had", NULL);
}
