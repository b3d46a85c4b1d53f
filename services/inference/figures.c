/* Passes and states as metrics. */
#include <stdio.h>

#include "common/base/metrics.h"
#include "services/inference/inference.h"

/* queue: waits for a slot; read: before the engine's first word; then the engine's own. */
static const char *const phases[] = {
    "queue", "read", "profile", "link", "select", "learn", "impute", "done"
};

static tab_metric *seconds_of(const char *phase)
{
    char labels[48];
    snprintf(labels, sizeof labels, "phase=\"%s\"", phase);
    return tab_histogram("tabella_inference_phase_duration_seconds", "Phases of passes", labels);
}

static tab_metric *cells_of(const char *method)
{
    char labels[48];
    snprintf(labels, sizeof labels, "method=\"%s\"", method);
    return tab_counter("tabella_inference_cells_total", "Cells that came with calls that compute", labels);
}

void pass_figures_start(void)
{
    tab_metric_set(tab_gauge("tabella_inference_memory_limit_bytes", "Most that such blocks may take", NULL),
                   (double)tab_memory_most());
    (void)tab_counter("tabella_inference_died_alone_total",
                      "Passes that ended the process in which they were alone", NULL);
    (void)tab_counter("tabella_serve_together_total", "Serve calls scored in a group with others", NULL);
    static const char *const methods[] = { "Run", "Fit", "Serve" };
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        (void)seconds_of(phases[i]);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        (void)cells_of(methods[i]);
}

/* The name is one of the list, so that a label comes from a closed set whatever an engine says. */
void pass_phase(pass *p, const char *phase)
{
    const char *known = NULL;
    for (size_t i = 0; phase != NULL && i < sizeof phases / sizeof *phases; i++)
        if (strcmp(phases[i], phase) == 0)
            known = phases[i];
    if (known == p->timed)
        return;
    int64_t now = tab_mono_us();
    if (p->timed != NULL)
        tab_metric_observe(seconds_of(p->timed), (double)(now - p->timed_us) * 1e-6);
    p->timed = known;
    p->timed_us = now;
}

void pass_count(const tab_call *call)
{
    double cells = 0;
    for (size_t t = 0; t < call->n_tables; t++)
        cells += (double)call->tables[t]->rows * (double)call->tables[t]->cols;
    tab_metric_add(cells_of(call->method), cells);
}
