/* See anomaly_overview.h. */
#include "services/inference/engine/predict/anomaly/anomaly_overview.h"

#include <math.h>

#include "services/inference/engine/message.h"

/* As scores are written, so that what is counted agrees with what is shown (common/bundle/bundle_pages.c). */
static double written(double score)
{
    return round(score * 1e6) / 1e6;
}

/* The places of the rows that score most, the highest first; of equal ones the first row. */
static size_t highest(const double *score, size_t n, size_t ret[TAB_ANOMALY_SHOWN])
{
    size_t held = 0;
    for (size_t i = 0; i < n; i++) {
        if (held == TAB_ANOMALY_SHOWN && score[i] <= score[ret[held - 1]])
            continue;
        size_t at = held < TAB_ANOMALY_SHOWN ? held++ : held - 1;
        for (; at > 0 && score[i] > score[ret[at - 1]]; at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
    }
    return held;
}

bool tab_anomaly_overview(tab_arena *a, Tabella__Prediction *p)
{
    const Tabella__Results *r = p->results;
    size_t top[TAB_ANOMALY_SHOWN], shown = highest(r->anomaly_score, r->n_row, top);
    Tabella__Results *m = tab_message(a, Tabella__Results, TABELLA__RESULTS__INIT);
    p->score_bins = tab_arena_new_of(a, uint64_t, TAB_ANOMALY_BINS);
    if (m == NULL || p->score_bins == NULL)
        return false;
    p->n_score_bins = TAB_ANOMALY_BINS;
    for (size_t i = 0; i < r->n_row; i++) {
        size_t bin = (size_t)(fmin(fmax(r->anomaly_score[i], 0), 1) * TAB_ANOMALY_BINS);
        p->score_bins[bin < TAB_ANOMALY_BINS ? bin : TAB_ANOMALY_BINS - 1]++;
        p->anomalies += written(r->anomaly_score[i]) >= written(p->threshold);
    }
    m->row = tab_arena_new_of(a, uint32_t, shown + 1);
    m->anomaly_score = tab_arena_new_of(a, double, shown + 1);
    if (r->n_reasons > 0)
        m->reasons = tab_arena_new_of(a, Tabella__ResultReasons *, shown + 1);
    if (tab_arena_full(a))
        return false;
    m->n_row = m->n_anomaly_score = shown;
    m->n_reasons = r->n_reasons > 0 ? shown : 0;
    for (size_t i = 0; i < shown; i++) {
        m->row[i] = r->row[top[i]];
        m->anomaly_score[i] = r->anomaly_score[top[i]];
        if (m->n_reasons > 0)
            m->reasons[i] = r->reasons[top[i]]; /* shared: nothing frees them but the arena */
    }
    p->most_unusual = m;
    return true;
}
