/* The resources' JSON, from their protobuf forms (specification, "Resources and their fields"). */
#include <stdio.h>
#include <stdlib.h>

#include "common/bundle/bundle_json.h"
#include "common/bundle/bundle_pieces.h"
#include "proto/data.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/api.h"
#include "services/api/http/params.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"

void time_member(tab_out *o, const char *key, int64_t us)
{
    char text[TAB_TIME_TEXT];
    tab_out_key(o, key);
    if (us == 0) {
        tab_out_null(o);
        return;
    }
    tab_time_text(us, text);
    tab_out_cstr(o, text);
}

void result_member(request *r, const char *job_id)
{
    text_member(&r->out, "result_url", tab_arena_printf(r->arena, "/v2/jobs/%s", job_id));
}

void deleted_json(tab_out *o, const char *id, int64_t at_us)
{
    tab_out_open(o, '{');
    text_member(o, "id", id);
    text_member(o, "status", "deleted");
    time_member(o, "deleted_at", at_us);
    tab_out_close(o, '}');
}

void row_diff_member(tab_out *o, const Tabella__RowDiff *d)
{
    open_member(o, "diff", '{');
    if (d != NULL) {
        uint_member(o, "rows_added", d->rows_added);
        uint_member(o, "rows_changed", d->rows_changed);
        uint_member(o, "rows_removed", d->rows_removed);
        uint_member(o, "rows_unchanged", d->rows_unchanged);
        texts_member(o, "columns_added", d->n_columns_added, d->columns_added);
        texts_member(o, "columns_removed", d->n_columns_removed, d->columns_removed);
        texts_member(o, "types_changed", d->n_types_changed, d->types_changed);
        texts_member(o, "key", d->n_key, d->key);
    }
    tab_out_close(o, '}');
}

static void text_or_null(tab_out *o, const char *key, ProtobufCBinaryData d)
{
    tab_out_key(o, key);
    if (d.len == 0)
        tab_out_null(o);
    else
        tab_out_str(o, (tab_str){ (const char *)d.data, d.len });
}

void expectations_member(tab_out *o, const Tabella__Expectations *m)
{
    if (m == NULL) {
        tab_out_key(o, "expectations");
        tab_out_null(o);
        return;
    }
    open_member(o, "expectations", '{');
    uint_member(o, "checks", m->checks);
    uint_member(o, "rows", m->rows);
    uint_member(o, "earlier", m->earlier);
    open_member(o, "changed", '[');
    for (size_t i = 0; i < m->n_changed; i++) {
        const Tabella__Expectation *e = m->changed[i];
        tab_out_open(o, '{');
        text_member(o, "kind", e->kind);
        text_or_null(o, "column", e->column);
        text_or_null(o, "with", e->with);
        text_or_null(o, "value", e->value);
        double_member(o, "before", e->before);
        double_member(o, "after", e->after);
        double_member(o, "p", e->p);
        tab_out_key(o, "reason");
        tab_out_str(o, (tab_str){ (const char *)e->reason.data, e->reason.len });
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
}

void sync_members(request *r, const Tabella__SyncReply *y)
{
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    text_member(o, "id", y->id);
    text_member(o, "dataset", y->dataset);
    text_member(o, "snapshot", y->snapshot);
    text_member(o, "previous_snapshot", y->previous_snapshot[0] != 0 ? y->previous_snapshot : NULL);
    row_diff_member(o, y->diff);
    expectations_member(o, y->expectations);
    time_member(o, "synced_at", y->synced_at);
    tab_out_close(o, '}');
}

/* The same of a serialized one: a job's answer. */
static void sync_json(request *r, tab_str reply)
{
    const Tabella__SyncReply *y = tab_proto_read(r->arena, &tabella__sync_reply__descriptor, reply);
    if (y == NULL)
        tab_out_null(&r->out);
    else
        sync_members(r, y);
}

void data_json(tab_out *o, const Tabella__DataObject *d)
{
    bool connection = strcmp(d->kind, "connection") == 0;
    tab_out_open(o, '{');
    text_member(o, "id", d->id);
    text_member(o, "kind", d->kind);
    text_member(o, "name", d->name);
    text_member(o, "source", d->source);
    text_member(o, "snapshot", d->snapshot[0] != 0 ? d->snapshot : NULL);
    time_member(o, "snapshot_at", d->snapshot_at);
    if (connection) {
        text_member(o, "dataset", d->dataset[0] != 0 ? d->dataset : NULL);
        time_member(o, "last_sync_at", d->last_sync_at);
        text_member(o, "last_sync_outcome", d->last_sync_outcome[0] != 0 ? d->last_sync_outcome : NULL);
        text_member(o, "last_sync_message", d->last_sync_message[0] != 0 ? d->last_sync_message : NULL);
        texts_member(o, "credentials_set", d->n_credentials_set, d->credentials_set);
    } else {
        uint_member(o, "rows", d->rows);
        uint_member(o, "cols", d->cols);
        uint_member(o, "cells", d->cells);
        uint_member(o, "size_bytes", d->size_bytes);
        bool_member(o, "pinned", d->pinned);
        texts_member(o, "pinned_by", d->n_pinned_by, d->pinned_by);
    }
    time_member(o, "created_at", d->created_at);
    if (d->n_notes > 0)
        texts_member(o, "notes", d->n_notes, d->notes);
    if (d->reading[0] != 0) {
        tab_out_key(o, "reading");
        tab_out_raw(o, tab_str_of(d->reading));
    }
    tab_out_close(o, '}');
}

void upload_members(request *r, const Tabella__LoadReply *y)
{
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    tab_out_key(o, "dataset");
    if (y->n_datasets > 0)
        data_json(o, y->datasets[0]);
    else
        tab_out_null(o);
    if (y->n_datasets > 1) {
        open_member(o, "datasets", '[');
        for (size_t i = 0; i < y->n_datasets; i++)
            data_json(o, y->datasets[i]);
        tab_out_close(o, ']');
    }
    if (y->n_notes > 0)
        texts_member(o, "notes", y->n_notes, y->notes);
    tab_out_close(o, '}');
}

/* "+0.012": how deltas are written. */
static void delta_member(tab_out *o, const char *key, double delta)
{
    char text[32];
    snprintf(text, sizeof text, "%+.4f", delta);
    text_member(o, key, text);
}

void diff_json(tab_out *o, const Tabella__Diff *d)
{
    if (d == NULL) {
        tab_out_null(o);
        return;
    }
    tab_out_open(o, '{');
    uint_member(o, "rows_added", d->rows_added);
    uint_member(o, "rows_changed", d->rows_changed);
    uint_member(o, "rows_removed", d->rows_removed);
    uint_member(o, "rows_unchanged", d->rows_unchanged);
    tab_out_close(o, '}');
}

void class_member(tab_out *o, const Tabella__HeldOut *h, size_t k)
{
    tab_column cells;
    if (h->class_cells != NULL && tab_column_view(h->class_cells, h->n_classes, &cells))
        tab_out_cell(o, &cells, k);
    else
        tab_out_str(o, (tab_str){ (const char *)h->classes[k].data, h->classes[k].len });
}

/* By part of the rows, class and quantile: what an answer to a serve call does not repeat. */
static void table_members(tab_out *o, const Tabella__HeldOut *h)
{
    if (h->n_slices > 0) {
        tab_out_key(o, "slices");
        tab_slices_json(o, h->n_slices, h->slices);
    }
    if (h->n_regimes > 0) {
        tab_out_key(o, "regimes");
        tab_regimes_json(o, h->n_regimes, h->regimes);
    }
    if (h->n_calibration > 0) {
        tab_out_key(o, "calibration");
        tab_calibration_json(o, h->n_calibration, h->calibration);
    }
    if (h->n_per_class > 0) {
        open_member(o, "per_class", '[');
        for (size_t i = 0; i < h->n_per_class; i++) {
            const Tabella__ClassMetrics *c = h->per_class[i];
            tab_out_open(o, '{');
            tab_out_key(o, "label");
            class_member(o, h, i);
            fixed_member(o, "precision", c->precision);
            fixed_member(o, "recall", c->recall);
            fixed_member(o, "f1", c->f1);
            uint_member(o, "support", c->support);
            tab_out_close(o, '}');
        }
        tab_out_close(o, ']');
    }
    if (h->n_quantile_calibration > 0) {
        open_member(o, "quantile_calibration", '[');
        for (size_t i = 0; i < h->n_quantile_calibration; i++) {
            tab_out_open(o, '{');
            fixed_member(o, "nominal", h->quantile_calibration[i]->nominal);
            fixed_member(o, "observed", h->quantile_calibration[i]->observed);
            tab_out_close(o, '}');
        }
        tab_out_close(o, ']');
    }
}

/* score, metric, the task's own figures and the baseline: members of held_out and of a report's
 * metrics. */
static void metric_members(tab_out *o, const Tabella__HeldOut *h, bool tables)
{
    fixed_member(o, "score", h->score);
    text_member(o, "metric", h->metric);
    if (h->has_interval) {
        fixed_member(o, "score_low", h->score_low);
        fixed_member(o, "score_high", h->score_high);
    }
    for (size_t i = 0; i < h->n_metrics; i++) {
        if (strcmp(h->metrics[i]->name, "score") == 0 || strcmp(h->metrics[i]->name, "metric") == 0)
            continue;
        real_member(o, h->metrics[i]->name, h->metrics[i]->value);
    }
    if (strcmp(h->metric, "score_separation") == 0) { /* no labels to grade against */
        bool_member(o, "unsupervised", true);
    }
    if (tables)
        table_members(o, h);
}

void metrics_json(tab_out *o, const Tabella__HeldOut *h)
{
    tab_out_open(o, '{');
    if (h == NULL)
        text_member(o, "metric", "none");
    else
        metric_members(o, h, true);
    tab_out_close(o, '}');
}

void held_out_json(tab_out *o, const Tabella__HeldOut *h, const char *snapshot, int64_t version_us,
                   const char *report_id, bool tables)
{
    if (h == NULL) {
        tab_out_null(o);
        return;
    }
    char url[128];
    tab_out_open(o, '{');
    metric_members(o, h, tables);
    open_member(o, "split", '{');
    text_member(o, "method", h->split_method);
    uint_member(o, "train_rows", h->train_rows);
    uint_member(o, "test_rows", h->test_rows);
    uint_member(o, "seed", h->seed);
    text_member(o, "unit", h->unit);
    if (h->split != NULL)
        tab_split_json(o, h->split);
    tab_out_close(o, '}');
    time_member(o, "data_version", version_us);
    text_member(o, "data_snapshot", snapshot[0] != 0 ? snapshot : NULL);
    text_member(o, "weakest_slice", h->weakest_slice[0] != 0 ? h->weakest_slice : NULL);
    tab_out_key(o, "low_confidence");
    if (h->low_confidence)
        tab_out_bool(o, true);
    else
        tab_out_null(o);
    text_member(o, "low_confidence_reason", h->low_confidence ? h->low_confidence_reason : NULL);
    texts_member(o, "warnings", h->n_warnings, h->warnings);
    text_member(o, "note", h->note);
    snprintf(url, sizeof url, "/v2/reports/%s", report_id);
    text_member(o, "report_url", report_id[0] != 0 ? url : NULL);
    tab_out_close(o, '}');
}

/* ---- bundles --------------------------------------------------------------------------------- */

typedef struct {
    const request *r;
    const char *list;
} cursor_of;

static void array_cursor(void *arg, tab_out *o, tab_paged array, size_t next)
{
    const cursor_of *c = arg;
    char position[48];
    int n = snprintf(position, sizeof position, "%d:%zu", (int)array, next);
    cursor_write(c->r, o, c->list, (tab_str){ position, (size_t)n });
}

static tab_status write_bundle(request *r, const Tabella__Bundle *b, const tab_bundle_view *view,
                               tab_error *err)
{
    if (b == NULL || !tab_bundle_sound(b))
        return tab_fail(err, TAB_INTERNAL, "", "a bundle that is not sound");
    tab_bundle_json(&r->out, b, view);
    return TAB_OK;
}

tab_status bundle_members(request *r, const Tabella__Bundle *b, const char *list, tab_str held_out,
                          tab_error *err)
{
    cursor_of c = { r, list };
    tab_bundle_view view = { .cursor = array_cursor, .arg = &c, .held_out = held_out };
    for (int i = 0; i < TAB_PAGE_COUNT; i++)
        view.first[i] = tab_paged_first((tab_paged)i);
    return write_bundle(r, b, &view, err);
}

tab_status bundle_whole(request *r, const Tabella__Bundle *b, const tab_bundle_view *view, tab_error *err)
{
    return write_bundle(r, b, view, err);
}

tab_status bundle_of_reply(tab_arena *a, const Tabella__OutputReply *y, const Tabella__Bundle **ret,
                           tab_error *err)
{
    *ret = y->packed.len > 0 ? tab_proto_read(a, &tabella__bundle__descriptor,
                                              (tab_str){ (const char *)y->packed.data, y->packed.len })
                             : y->bundle;
    return *ret != NULL && tab_bundle_sound(*ret)
               ? TAB_OK
               : tab_fail(err, TAB_INTERNAL, "", "a bundle that is not sound");
}

tab_status bundle_page(request *r, piece_of *piece, const void *of, const char *list, tab_str position,
                       uint32_t limit, tab_error *err)
{
    cursor_of c = { r, list };
    tab_bundle_view view = { .cursor = array_cursor, .arg = &c };
    char *end;
    /* The signature held, so the cursor is ours; its text ends in the arena's 0. */
    unsigned long array = strtoul(position.p, &end, 10);
    size_t from = *end == ':' ? strtoul(end + 1, NULL, 10) : 0, n = 0;
    if (array >= TAB_PAGE_COUNT || *end != ':')
        return tab_fail(err, TAB_VALIDATION, "cursor", "the cursor is invalid; start again without one");
    limit = limit > 0 ? limit : (uint32_t)tab_paged_first((tab_paged)array);
    const Tabella__Bundle **pieces = tab_arena_new_of(r->arena, const Tabella__Bundle *, limit + 1);
    if (pieces == NULL)
        return tab_no_memory(err);
    for (size_t at = from, total = SIZE_MAX; n < limit && at < total && at < from + limit; n++) {
        TAB_TRY(piece(r, of, (tab_paged)array, at, &pieces[n], err));
        if (pieces[n] == NULL || !tab_bundle_sound(pieces[n]))
            return tab_fail(err, TAB_INTERNAL, "", "a bundle that is not sound");
        total = tab_bundle_total(pieces[n], (tab_paged)array);
        size_t first = tab_bundle_first(pieces[n], (tab_paged)array);
        size_t past = first + tab_bundle_held(pieces[n], (tab_paged)array);
        if (at < total && (at < first || at >= past))
            return tab_fail(err, TAB_INTERNAL, "", "a piece that does not hold what it should");
        at = past;
    }
    tab_bundle_page_json(&r->out, pieces, n, (tab_paged)array, from, limit, &view);
    return TAB_OK;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void upgrade_side(tab_out *o, const char *base, const Tabella__HeldOut *h)
{
    text_member(o, "base", base);
    tab_out_key(o, "held_out");
    if (h == NULL) {
        tab_out_null(o);
        return;
    }
    tab_out_open(o, '{');
    fixed_member(o, "score", h->score);
    text_member(o, "metric", h->metric);
    tab_out_close(o, '}');
}

/* Of a refresh that was asked to take them. */
static void outcomes_used(tab_out *o, const Tabella__OutcomesUsed *x)
{
    if (x == NULL)
        return;
    open_member(o, "outcomes", '{');
    uint_member(o, "rows_added", x->added);
    uint_member(o, "rows_labelled", x->labelled);
    uint_member(o, "rows_known", x->known);
    tab_out_close(o, '}');
}

/* The result of a finished job of another kind than run and batch, whose result is a bundle. */
static void result_json(request *r, const Tabella__Job *j)
{
    tab_out *o = &r->out;
    const Tabella__JobResult *x = j->result;
    if (x->sync.len > 0) {
        sync_json(r, (tab_str){ (const char *)x->sync.data, x->sync.len });
        return;
    }
    if (x->load.len > 0) {
        const Tabella__LoadReply *y = tab_proto_read(r->arena, &tabella__load_reply__descriptor,
                                                     (tab_str){ (const char *)x->load.data, x->load.len });
        if (y == NULL)
            tab_out_null(o);
        else
            upload_members(r, y);
        return;
    }
    if (x->json.len > 0) {
        tab_out_raw(o, (tab_str){ (const char *)x->json.data, x->json.len });
        return;
    }
    tab_out_open(o, '{');
    if (strcmp(j->kind, "create") == 0) {
        text_member(o, "endpoint", x->endpoint);
        text_member(o, "id", x->endpoint_id);
        text_member(o, "report_id", x->report_id);
        tab_out_key(o, "held_out");
        held_out_json(o, x->held_out, x->data_snapshot, x->data_version_us, x->report_id, true);
    } else if (strcmp(j->kind, "refresh") == 0) {
        text_member(o, "snapshot", x->snapshot);
        text_member(o, "previous_snapshot", x->previous_snapshot);
        tab_out_key(o, "diff");
        diff_json(o, x->diff);
        outcomes_used(o, x->outcomes);
        tab_out_key(o, "held_out");
        held_out_json(o, x->held_out, x->data_snapshot, x->data_version_us, x->report_id, true);
        text_member(o, "report", x->report);
        text_member(o, "report_id", x->report_id);
    } else if (strcmp(j->kind, "upgrade") == 0) {
        upgrade_side(o, x->base_model, x->held_out);
        open_member(o, "previous", '{');
        upgrade_side(o, x->previous_base, x->previous_held_out);
        tab_out_close(o, '}');
        if (x->has_delta)
            delta_member(o, "delta", x->delta);
        else
            text_member(o, "delta", NULL);
        text_member(o, "report", x->report);
        text_member(o, "report_id", x->report_id);
    }
    tab_out_close(o, '}');
}

void job_members(request *r, const Tabella__Job *j, bool detail)
{
    tab_out *o = &r->out;
    text_member(o, "job_id", j->job_id);
    text_member(o, "kind", j->kind);
    text_member(o, "status", j->status);
    uint_member(o, "progress", j->progress);
    text_member(o, "phase", j->phase[0] != 0 ? j->phase : NULL);
    text_member(o, "label", j->label);
    text_member(o, "about", j->about[0] != 0 ? j->about : NULL);
    text_member(o, "endpoint_id", j->endpoint_id);
    text_member(o, "report_id", j->report_id);
    tab_out_key(o, "eta");
    if (j->eta == NULL) {
        tab_out_null(o);
    } else {
        tab_out_open(o, '{');
        text_member(o, "basis", j->eta->basis);
        time_member(o, "due_at", j->eta->due_us);
        uint_member(o, "seconds_remaining", j->eta->seconds_remaining);
        tab_out_close(o, '}');
    }
    text_member(o, "error", j->error);
    if (j->processing[0] != 0)
        text_member(o, "processing", j->processing);
    if (detail) {
        open_member(o, "logs", '[');
        for (size_t i = 0; i < j->n_logs; i++)
            tab_out_cstr(o, j->logs[i]);
        tab_out_close(o, ']');
    }
    time_member(o, "created_at", j->created_us);
    time_member(o, "updated_at", j->updated_us);
    bool bundle = strcmp(j->kind, "run") == 0 || strcmp(j->kind, "serve") == 0 ||
                  (strcmp(j->kind, "batch") == 0 && j->result != NULL && j->result->json.len == 0);
    if (detail && j->result != NULL && !bundle && strcmp(j->status, "done") == 0) {
        tab_out_key(o, "result");
        result_json(r, j);
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

void list_answer_with(request *r, const list_page *p, void (*more)(request *r, const void *reply))
{
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    open_member(o, p->name, '[');
    for (size_t i = 0; i < p->n; i++)
        p->entry(r, p->reply, i);
    tab_out_close(o, ']');
    next_cursor_member(r, p->list, p->next);
    uint_member(o, "total", p->total);
    if (more != NULL)
        more(r, p->reply);
    tab_out_close(o, '}');
}

void list_answer(request *r, const list_page *p)
{
    list_answer_with(r, p, NULL);
}
