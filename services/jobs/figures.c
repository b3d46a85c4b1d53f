/* Jobs as metrics. The label sets are closed (kinds and ends of the schema's CHECKs), so each is there with 0
 * from the start. An end is counted where it is decided; one whose transaction is then lost is decided, and
 * counted, again. */
#include "services/jobs/figures.h"

#include <stdio.h>

#include "common/base/metrics.h"

const char *const jobs_kinds[JOBS_KINDS] = { "run",   "create", "refresh", "upgrade", "generate",
                                             "batch", "sync",   "serve",   "export" };
static const char *const ends[] = { "done", "failed", "cancelled", "expired" };
static const char *const chores[] = { "pins", "drop" };
static const char *const outcomes[] = { "ok", "error", "away" };

static tab_metric *of_kind(tab_metric *(*make)(const char *, const char *, const char *), const char *name,
                           const char *help, const char *kind, const char *and, const char *value)
{
    char labels[96];
    if (and == NULL)
        snprintf(labels, sizeof labels, "kind=\"%s\"", kind);
    else
        snprintf(labels, sizeof labels, "kind=\"%s\",%s=\"%s\"", kind, and, value);
    return make(name, help, labels);
}

void jobs_count_end(const char *kind, const char *status)
{
    tab_metric_add(
        of_kind(tab_counter, "tabella_jobs_finished_total", "Jobs by how they ended", kind, "status", status),
        1);
}

static tab_metric *attempts(const char *kind, const char *outcome)
{
    return of_kind(tab_counter, "tabella_job_attempts_total", "Attempts by how they ended", kind, "outcome",
                   outcome);
}

static tab_metric *durations(const char *kind)
{
    return of_kind(tab_histogram, "tabella_job_duration_seconds", "An attempt, from claim to end", kind, NULL,
                   NULL);
}

void jobs_count_attempt(const char *kind, const char *outcome, double seconds)
{
    tab_metric_add(attempts(kind, outcome), 1);
    tab_metric_observe(durations(kind), seconds);
}

static tab_metric *waits(const char *kind)
{
    return of_kind(tab_histogram, "tabella_job_queue_wait_seconds",
                   "From when a job could begin to its first worker", kind, NULL, NULL);
}

void jobs_count_wait(const char *kind, double seconds)
{
    tab_metric_observe(waits(kind), seconds < 0 ? 0 : seconds);
}

void jobs_tell_open(const jobs_open of[JOBS_KINDS])
{
    for (size_t k = 0; k < JOBS_KINDS; k++) {
        tab_metric_set(of_kind(tab_gauge, "tabella_jobs_queued", "Jobs waiting", jobs_kinds[k], NULL, NULL),
                       (double)of[k].queued);
        tab_metric_set(of_kind(tab_gauge, "tabella_jobs_running", "Jobs at work", jobs_kinds[k], NULL, NULL),
                       (double)of[k].running);
        tab_metric_set(of_kind(tab_gauge, "tabella_oldest_queued_job_timestamp_seconds",
                               "Since when the oldest waiting job could begin; 0: none waits", jobs_kinds[k],
                               NULL, NULL),
                       (double)of[k].oldest_us * 1e-6);
    }
}

void jobs_figures_start(void)
{
    static const jobs_open none[JOBS_KINDS];
    jobs_tell_open(none);
    for (size_t i = 0; i < sizeof chores / sizeof *chores; i++)
        (void)of_kind(tab_counter, "tabella_jobs_chores_failed_total", "Chores that are tried again",
                      chores[i], NULL, NULL);
    for (size_t k = 0; k < JOBS_KINDS; k++) {
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            (void)of_kind(tab_counter, "tabella_jobs_finished_total", "Jobs by how they ended", jobs_kinds[k],
                          "status", ends[i]);
        for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
            (void)attempts(jobs_kinds[k], outcomes[i]);
        (void)durations(jobs_kinds[k]);
        (void)waits(jobs_kinds[k]);
    }
}
