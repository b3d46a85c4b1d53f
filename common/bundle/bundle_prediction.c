/* What a bundle says of its target: the answers, how good they are, what they rest on, and the steps
 * ahead. */
#include "common/bundle/bundle_internal.h"

#include <string.h>

void tab_split_json(tab_out *o, const Tabella__Split *s)
{
    MEMBER(o, "kind", tab_out_cstr(o, s->kind));
    MEMBER(o, "by", bundle_address(o, s->by));
    MEMBER(o, "reason", tab_out_cstr(o, s->reason));
    MEMBER(o, "metric", bundle_text_or_null(o, s->metric));
    MEMBER(o, "score", bundle_fixed_or_null(o, s->score, s->metric));
    MEMBER(o, "random_score", bundle_fixed_or_null(o, s->random_score, s->metric));
}

/* Of the rows whose target is known, and of those that are asked: what is known of answers to them. */
static void quality(tab_out *o, const Tabella__Prediction *p)
{
    if (p->judged == 0 && p->n_regimes == 0)
        return;
    tab_out_key(o, "quality");
    tab_out_open(o, '{');
    MEMBER(o, "rows", tab_out_uint(o, p->judged));
    MEMBER(o, "error", p->judged > 0 ? tab_out_real(o, p->error) : tab_out_null(o));
    MEMBER(o, "baseline", p->judged > 0 ? tab_out_real(o, p->baseline) : tab_out_null(o));
    MEMBER(o, "slices", tab_slices_json(o, p->n_slices, p->slices));
    MEMBER(o, "calibration", tab_calibration_json(o, p->n_calibration, p->calibration));
    MEMBER(o, "regimes", tab_regimes_json(o, p->n_regimes, p->regimes));
    tab_out_close(o, '}');
}

/* What rows of other tables count for: those that were known at the moment of the row that they belong to. */
static void linked(tab_out *o, const Tabella__Bundle *b, const Tabella__Prediction *p)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < p->n_linked; i++) {
        const Tabella__LinkedTable *l = p->linked[i];
        tab_out_open(o, '{');
        MEMBER(o, "table", tab_out_str(o, bundle_bytes(b->tables[l->table]->id)));
        MEMBER(o, "as_of", bundle_address(o, l->as_of));
        MEMBER(o, "rows_used", tab_out_uint(o, l->rows_used));
        MEMBER(o, "rows_left_out", tab_out_uint(o, l->rows_left_out));
        MEMBER(o, "reason", tab_out_cstr(o, l->reason));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

/* The column that holds the time; a list where it stands in parts, the coarsest first; null: the order of
 * rows. */
static void time_columns(tab_out *o, const Tabella__Forecast *f)
{
    if (f->n_time == 0)
        tab_out_null(o);
    else if (f->n_time == 1)
        bundle_address(o, f->time[0]);
    else
        bundle_addresses(o, f->n_time, f->time);
}

static void forecast(tab_out *o, const bundle_writer *w, const Tabella__Forecast *f,
                     const tab_bundle_view *view)
{
    tab_out_open(o, '{');
    MEMBER(o, "time", time_columns(o, f));
    MEMBER(o, "series", bundle_addresses(o, f->n_series, f->series));
    tab_out_key(o, "step");
    if (f->step_is_number)
        tab_out_raw(o, tab_str_of(f->step));
    else
        bundle_text_or_null(o, f->step);
    MEMBER(o, "regular", tab_out_bool(o, f->regular));
    tab_out_key(o, "seasons");
    tab_out_open(o, '[');
    for (size_t i = 0; i < f->n_seasons; i++)
        tab_out_real(o, f->seasons[i]);
    tab_out_close(o, ']');
    MEMBER(o, "method", tab_out_cstr(o, f->method));
    tab_out_key(o, "notes");
    tab_out_open(o, '[');
    for (size_t i = 0; i < f->n_notes; i++)
        tab_out_cstr(o, f->notes[i]);
    tab_out_close(o, ']');
    bundle_paged(o, w, TAB_PAGE_FORECAST, "rows", "next_cursor", view);
    MEMBER(o, "total", tab_out_uint(o, bundle_total(w->b, TAB_PAGE_FORECAST)));
    tab_out_close(o, '}');
}

/* Of a whole table's scores; serve calls have none. */
static void anomalies(tab_out *o, const bundle_writer *w, const Tabella__Prediction *p)
{
    if (p->most_unusual == NULL)
        return;
    MEMBER(o, "anomalies", tab_out_uint(o, p->anomalies));
    tab_out_key(o, "score_bins");
    tab_out_open(o, '[');
    for (size_t i = 0; i < p->n_score_bins; i++)
        tab_out_uint(o, p->score_bins[i]);
    tab_out_close(o, ']');
    tab_out_key(o, "most_unusual");
    tab_out_open(o, '[');
    for (size_t i = 0; i < p->most_unusual->n_row; i++)
        bundle_result(o, w, p->most_unusual, i);
    tab_out_close(o, ']');
}

void bundle_prediction(tab_out *o, const bundle_writer *w, const tab_bundle_view *view)
{
    const Tabella__Prediction *p = w->b->prediction;
    if (p == NULL) {
        tab_out_null(o);
        return;
    }
    bool anomaly = strcmp(p->task_type, "anomaly") == 0;
    tab_out_open(o, '{');
    if (p->target != NULL)
        MEMBER(o, "target", bundle_address(o, p->target));
    MEMBER(o, "task_type", tab_out_cstr(o, p->task_type));
    MEMBER(o, "tier", tab_out_cstr(o, p->tier));
    if (p->time)
        MEMBER(o, "time", tab_out_bool(o, true));
    if (p->table < w->b->n_tables)
        MEMBER(o, "table", tab_out_str(o, bundle_bytes(w->b->tables[p->table]->id)));
    if (w->n_classes > 0) {
        tab_out_key(o, "classes");
        tab_out_open(o, '[');
        for (size_t i = 0; i < w->n_classes; i++)
            tab_out_cell(o, &w->classes, i);
        tab_out_close(o, ']');
    }
    if (anomaly) {
        MEMBER(o, "threshold", tab_out_fixed(o, p->threshold));
        MEMBER(o, "expected_share", tab_out_fixed(o, p->expected_share));
        anomalies(o, w, p);
    } else {
        tab_out_key(o, "dropped_rows");
        tab_out_open(o, '{');
        MEMBER(o, "missing_target", tab_out_uint(o, p->missing_target));
        tab_out_close(o, '}');
    }
    bundle_paged(o, w, TAB_PAGE_RESULTS, "results", "next_cursor", view);
    MEMBER(o, "total", tab_out_uint(o, bundle_total(w->b, TAB_PAGE_RESULTS)));
    if (!anomaly) {
        bundle_paged(o, w, TAB_PAGE_MISSING_TARGET, "missing_target_results", "missing_target_next_cursor",
                     view);
        MEMBER(o, "missing_target_total", tab_out_uint(o, bundle_total(w->b, TAB_PAGE_MISSING_TARGET)));
    }
    if (p->split != NULL) {
        tab_out_key(o, "split");
        tab_out_open(o, '{');
        tab_split_json(o, p->split);
        tab_out_close(o, '}');
    }
    if (p->n_leaks > 0)
        MEMBER(o, "likely_leaks", tab_leaks_json(o, p->n_leaks, p->leaks));
    quality(o, p);
    if (p->n_linked > 0)
        MEMBER(o, "linked", linked(o, w->b, p));
    if (p->forecast != NULL)
        MEMBER(o, "forecast", forecast(o, w, p->forecast, view));
    MEMBER(o, "held_out",
           view != NULL && view->held_out.n > 0 ? tab_out_raw(o, view->held_out) : tab_out_null(o));
    MEMBER(o, "note", bundle_text_or_null(o, p->note));
    if (p->n_skipped > 0) {
        tab_out_key(o, "skipped");
        tab_out_open(o, '[');
        for (size_t i = 0; i < p->n_skipped; i++)
            tab_out_cstr(o, p->skipped[i]);
        tab_out_close(o, ']');
    }
    tab_out_close(o, '}');
}
