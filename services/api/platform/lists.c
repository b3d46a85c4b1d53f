/* Jobs, reports, usage and models: the routes that read, and the small ones that change something.
 * Each calls one service and writes its reply as JSON. */
#include <stdio.h>

#include "proto/data.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "proto/metering.pb-c.h"
#include "proto/reports.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/runs/outputs.h"
#include "services/api/service_calls.h"

static tab_str bytes_of(ProtobufCBinaryData d)
{
    return (tab_str){ (const char *)d.data, d.len };
}

/* ---- models ---------------------------------------------------------------------------------- */

tab_status get_models(request *r, tab_error *err)
{
    const Tabella__ModelsReply *m;
    tab_out *o = &r->out;
    tab_status s = models(r, &m, err);
    if (s != TAB_OK)
        return s;
    tab_out_open(o, '{');
    open_member(o, "models", '[');
    for (size_t i = 0; i < m->n_models; i++) {
        if (strcmp(m->models[i]->status, "available") != 0)
            continue;
        tab_out_open(o, '{');
        text_member(o, "id", m->models[i]->id);
        text_member(o, "name", m->models[i]->name);
        text_member(o, "status", m->models[i]->status);
        bool_member(o, "default", m->models[i]->default_base);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    open_member(o, "service", '{');
    text_member(o, "version", TAB_VERSION);
    text_member(o, "commit", tab_commit);
    tab_out_close(o, '}');
    text_member(o, "request_id", r->request_id);
    tab_out_close(o, '}');
    return TAB_OK;
}

static char *param_text(request *r, int i)
{
    return STR(tab_arena_copy(r->arena, r->param[i]).p);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void job_entry(request *r, const void *reply, size_t i)
{
    tab_out_open(&r->out, '{');
    job_members(r, ((const Tabella__ListJobsReply *)reply)->jobs[i], false);
    tab_out_close(&r->out, '}');
}

tab_status get_jobs(request *r, tab_error *err)
{
    static const char *const statuses[] = { "queued", "running", "done", "failed", "cancelled", "expired" };
    Tabella__ListJobsRequest q = TABELLA__LIST_JOBS_REQUEST__INIT;
    const Tabella__ListJobsReply *y;
    tab_str status, after;
    char list[64];
    tab_status s = query_param(r, "status", &status, err);
    if (s != TAB_OK)
        return s;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses && status.p != NULL; i++)
        if (tab_str_eq(status, tab_str_of(statuses[i])))
            q.status = STR(statuses[i]);
    if (status.p != NULL && q.status[0] == 0)
        return tab_fail(err, TAB_VALIDATION, "status",
                        "no job has this status; use queued, running, done, failed, cancelled or expired");
    snprintf(list, sizeof list, "jobs:%s", q.status);
    s = query_page(r, list, 20, &q.limit, &after, err);
    if (s != TAB_OK)
        return s;
    q.after = (ProtobufCBinaryData){ after.n, (uint8_t *)(uintptr_t)after.p };
    s = call(r, "jobs", "List", &q.base, &tabella__list_jobs_reply__descriptor, &y, err);
    if (s != TAB_OK)
        return s;
    list_answer(r, &(list_page){ list, "jobs", y, y->n_jobs, job_entry, bytes_of(y->next), y->total });
    return TAB_OK;
}

tab_status post_job_cancel(request *r, tab_error *err)
{
    Tabella__CancelJobRequest q = TABELLA__CANCEL_JOB_REQUEST__INIT;
    const Tabella__Job *j;
    q.job_id = param_text(r, 0);
    q.actor = r->who.key;
    tab_status s = call(r, "jobs", "Cancel", &q.base, &tabella__job__descriptor, &j, err);
    if (s == TAB_NOT_FOUND) { /* an inline run whose row is not there yet is done all the same */
        output out;
        tab_error none;
        if (output_get(r, q.job_id, &out, &none) == TAB_OK)
            return tab_fail(err, TAB_CONFLICT, "", "the job has already finished");
    }
    if (s != TAB_OK)
        return s;
    tab_out_open(&r->out, '{');
    job_members(r, j, true);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

/* A run whose row or record is on its way is waited for: what comes later would stay. */
static tab_status arrived(request *r, const char *job_id, tab_error *err)
{
    Tabella__GetJobRequest q = TABELLA__GET_JOB_REQUEST__INIT;
    const Tabella__Job *j = NULL;
    q.job_id = STR(job_id);
    tab_status s = call_promised(r, "jobs", "Get", &q, &tabella__job__descriptor, &j, err);
    if (s != TAB_OK || j->report_id[0] == 0 || strcmp(j->kind, "run") != 0)
        return s == TAB_NOT_FOUND ? TAB_OK : s;
    Tabella__GetReportRequest g = TABELLA__GET_REPORT_REQUEST__INIT;
    const Tabella__Report *report;
    g.id = j->report_id;
    s = call_promised(r, "reports", "Get", &g, &tabella__report__descriptor, &report, err);
    return s == TAB_NOT_FOUND ? TAB_OK : s;
}

tab_status delete_job(request *r, tab_error *err)
{
    Tabella__DeleteJobRequest q = TABELLA__DELETE_JOB_REQUEST__INIT;
    const Tabella__DeleteJobReply *y = NULL;
    bool there = false;
    tab_error lost;
    q.job_id = param_text(r, 0);
    q.actor = r->who.key;
    TAB_TRY(arrived(r, q.job_id, err));
    tab_status s = call(r, "jobs", "DeleteJob", &q.base, &tabella__delete_job_reply__descriptor, &y, err);
    if (s != TAB_OK && s != TAB_NOT_FOUND)
        return s;
    TAB_TRY(output_delete(r, q.job_id, &there, s == TAB_OK ? err : &lost));
    if (s != TAB_OK && !there)
        return s;
    deleted_json(&r->out, q.job_id, s == TAB_OK ? y->deleted_us : tab_now_us());
    return TAB_OK;
}

/* ---- reports --------------------------------------------------------------------------------- */

static void delta_or_null(tab_out *o, double delta)
{
    char text[32];
    snprintf(text, sizeof text, "%+.4f", delta);
    tab_out_cstr(o, text);
}

static void report_entry(request *r, const void *reply, size_t i)
{
    const Tabella__ReportSummary *x = ((const Tabella__ListReportsReply *)reply)->reports[i];
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    text_member(o, "id", x->id);
    text_member(o, "name", x->name);
    text_member(o, "kind", x->kind);
    text_member(o, "base", x->base_model);
    text_member(o, "metric", x->metric[0] != 0 ? x->metric : NULL);
    tab_out_key(o, "score");
    if (x->has_score)
        tab_out_fixed(o, x->score);
    else
        tab_out_null(o);
    if (x->has_delta) {
        tab_out_key(o, "delta");
        delta_or_null(o, x->delta);
    }
    bool_member(o, "pinned", x->pinned);
    time_member(o, "created_at", x->created_us);
    tab_out_close(o, '}');
}

tab_status get_reports(request *r, tab_error *err)
{
    Tabella__ListReportsRequest q = TABELLA__LIST_REPORTS_REQUEST__INIT;
    const Tabella__ListReportsReply *y;
    tab_str after;
    tab_status s = query_page(r, "reports", 20, &q.limit, &after, err);
    if (s != TAB_OK)
        return s;
    q.after = (ProtobufCBinaryData){ after.n, (uint8_t *)(uintptr_t)after.p };
    s = call(r, "reports", "List", &q.base, &tabella__list_reports_reply__descriptor, &y, err);
    if (s != TAB_OK)
        return s;
    list_answer(
        r, &(list_page){ "reports", "reports", y, y->n_reports, report_entry, bytes_of(y->next), y->total });
    return TAB_OK;
}

static void target_member(tab_out *o, const Tabella__Report *x)
{
    open_member(o, "target", '{');
    text_member(o, "column", x->target[0] != 0 ? x->target : NULL);
    text_member(o, "task", x->task[0] != 0 ? x->task : NULL);
    if (x->n_classes > 0) {
        open_member(o, "classes", '[');
        for (size_t i = 0; i < x->n_classes; i++)
            x->held_out != NULL && x->held_out->n_classes == x->n_classes
                ? class_member(o, x->held_out, i)
                : tab_out_str(o, bytes_of(x->classes[i]));
        tab_out_close(o, ']');
    }
    tab_out_close(o, '}');
}

static void data_member(tab_out *o, const Tabella__ReportData *d)
{
    open_member(o, "data", '{');
    if (d != NULL) {
        text_member(o, "snapshot", d->snapshot[0] != 0 ? d->snapshot : NULL);
        time_member(o, "version", d->version_us);
        uint_member(o, "rows", d->rows);
        texts_member(o, "snapshots", d->n_snapshots, d->snapshots);
    }
    tab_out_close(o, '}');
}

static void split_member(tab_out *o, const Tabella__HeldOut *h)
{
    tab_out_key(o, "split");
    if (h == NULL) {
        tab_out_null(o);
    } else {
        tab_out_open(o, '{');
        text_member(o, "method", h->split_method);
        uint_member(o, "train_rows", h->train_rows);
        uint_member(o, "test_rows", h->test_rows);
        uint_member(o, "seed", h->seed);
        bool_member(o, "stratified", h->stratified);
        text_member(o, "unit", h->unit);
        if (h->split != NULL)
            tab_split_json(o, h->split);
        tab_out_close(o, '}');
    }
}

static void cross_table_member(tab_out *o, const Tabella__Report *x)
{
    open_member(o, "cross_table", '{');
    open_member(o, "column_alignment", '[');
    for (size_t i = 0; i < x->n_column_alignment; i++) {
        const Tabella__ColumnAlignment *c = x->column_alignment[i];
        if (c->a == NULL || c->b == NULL)
            continue;
        tab_out_open(o, '{');
        tab_alignment_members(o, c);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
}

static void report_json(tab_out *o, const Tabella__Report *x)
{
    const Tabella__HeldOut *h = x->held_out;
    tab_out_open(o, '{');
    text_member(o, "id", x->id);
    text_member(o, "name", x->name);
    text_member(o, "endpoint", x->endpoint);
    text_member(o, "endpoint_id", x->endpoint_id);
    text_member(o, "kind", x->kind);
    text_member(o, "base", x->base_model);
    time_member(o, "created_at", x->created_us);
    bool_member(o, "pinned", x->pinned);
    target_member(o, x);
    data_member(o, x->data);
    split_member(o, h);
    tab_out_key(o, "metrics");
    if (strcmp(x->kind, "run") == 0)
        tab_out_null(o);
    else
        metrics_json(o, h);
    tab_out_key(o, "confidence");
    if (h == NULL) {
        tab_out_null(o);
    } else {
        tab_out_open(o, '{');
        bool_member(o, "calibrated", h->calibrated);
        text_member(o, "spread", h->spread);
        tab_out_close(o, '}');
    }
    text_member(o, "weakest_slice", h != NULL && h->weakest_slice[0] != 0 ? h->weakest_slice : NULL);
    texts_member(o, "warnings", h == NULL ? 0 : h->n_warnings, h == NULL ? NULL : h->warnings);
    tab_out_key(o, "likely_leaks");
    tab_leaks_json(o, h == NULL ? 0 : h->n_leaks, h == NULL ? NULL : h->leaks);
    tab_out_key(o, "regimes");
    tab_regimes_json(o, h == NULL ? 0 : h->n_regimes, h == NULL ? NULL : h->regimes);
    tab_out_key(o, "previous");
    if (x->previous == NULL) {
        tab_out_null(o);
    } else {
        tab_out_open(o, '{');
        text_member(o, "report_id", x->previous->report_id);
        text_member(o, "base", x->previous->base_model);
        fixed_member(o, "score", x->previous->score);
        tab_out_close(o, '}');
        tab_out_key(o, "delta");
        delta_or_null(o, x->previous->delta);
    }
    cross_table_member(o, x);
    text_member(o, "estimate_note", x->estimate_note);
    tab_out_close(o, '}');
}

tab_status get_report(request *r, tab_error *err)
{
    Tabella__GetReportRequest q = TABELLA__GET_REPORT_REQUEST__INIT;
    const Tabella__Report *x;
    q.id = param_text(r, 0);
    tab_status s = call_promised(r, "reports", "Get", &q.base, &tabella__report__descriptor, &x, err);
    if (s == TAB_OK)
        report_json(&r->out, x);
    return s;
}

/* ---- usage ----------------------------------------------------------------------------------- */

static void op_table(tab_out *o, const char *key, const Tabella__UsageReply *y, int which)
{
    open_member(o, key, '{');
    for (size_t i = 0; i < y->n_by_op; i++) {
        tab_out_key_str(o, tab_str_of(y->by_op[i]->op));
        if (which == 2)
            tab_out_double(o, y->by_op[i]->multiplier);
        else
            tab_out_uint(o, which == 0 ? (uint64_t)y->by_op[i]->cells : y->by_op[i]->raw);
    }
    tab_out_close(o, '}');
}

static void events_member(tab_out *o, const Tabella__UsageReply *y)
{
    open_member(o, "events", '[');
    for (size_t i = 0; i < y->n_events; i++) {
        const Tabella__UsageEvent *e = y->events[i];
        tab_out_open(o, '{');
        text_member(o, "day", e->day);
        text_member(o, "op", e->op);
        double_member(o, "cells", e->cells);
        uint_member(o, "tables", e->tables);
        text_member(o, "model", e->model);
        text_member(o, "key", e->key);
        text_member(o, "endpoint_id", e->endpoint_id);
        uint_member(o, "requests", e->requests);
        text_member(o, "surface", e->surface);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

/* What the organization stores; null while that cannot be asked: the meter does not wait for it. */
static void storage_member(request *r)
{
    const Tabella__StorageReply *y = NULL;
    Tabella__Empty q = TABELLA__EMPTY__INIT;
    tab_answer answer;
    tab_error none;
    tab_out *o = &r->out;
    tab_ask ask = { .service = "data-connector",
                    .method = "Storage",
                    .in = &q.base,
                    .deadline = tab_within_ms(r->deadline, 1000),
                    .reply = &tabella__storage_reply__descriptor };
    if (call_with(r, &ask, &answer, &none) == TAB_OK)
        y = answer.msg;
    tab_out_key(o, "storage");
    if (y == NULL) {
        tab_out_null(o);
        return;
    }
    tab_out_open(o, '{');
    uint_member(o, "pinned_bytes", y->pinned_bytes);
    uint_member(o, "pinned_snapshots", y->pinned_snapshots);
    uint_member(o, "snapshot_bytes", y->snapshot_bytes);
    uint_member(o, "snapshots", y->snapshots);
    tab_out_close(o, '}');
}

static void usd_member(tab_out *o, const char *key, bool priced, double usd)
{
    tab_out_key(o, key);
    if (priced)
        tab_out_double(o, usd);
    else
        tab_out_null(o);
}

/* The name that an endpoint has now; the meter knows the one that it had when it was used last. */
static const char *name_now(request *r, const char *id, const char *before)
{
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    const Tabella__Endpoint *e = NULL;
    tab_error none;
    q.id_or_name = STR(id);
    if (call(r, "jobs", "GetEndpoint", &q.base, &tabella__endpoint__descriptor, &e, &none) != TAB_OK)
        return before;
    return strcmp(e->id, id) == 0 ? e->name : before;
}

tab_status get_usage(request *r, tab_error *err)
{
    Tabella__UsageRequest q = TABELLA__USAGE_REQUEST__INIT;
    const Tabella__UsageReply *y;
    tab_out *o = &r->out;
    tab_str after;
    TAB_TRY(query_page(r, "usage", 0, &q.limit, &after, err)); /* 0: as many as metering gives */
    q.after = STR(after.p);                                    /* the arena's, with a NUL behind */
    tab_status s = call(r, "metering", "Usage", &q.base, &tabella__usage_reply__descriptor, &y, err);
    if (s != TAB_OK)
        return s;
    tab_out_open(o, '{');
    text_member(o, "org", y->org);
    text_member(o, "plan", y->plan);
    text_member(o, "window", y->window);
    text_member(o, "resets_in", y->resets_in[0] != 0 ? y->resets_in : NULL);
    uint_member(o, "days", y->days);
    fixed_member(o, "used_pct", y->used_pct);
    uint_member(o, "total_cells", (uint64_t)y->total_cells);
    bool priced = y->usd_per_million > 0;
    usd_member(o, "price_usd_per_million_cells", priced, y->usd_per_million);
    usd_member(o, "amount_usd", priced, y->amount_usd);
    open_member(o, "by_surface", '{');
    for (size_t i = 0; i < y->n_by_surface; i++) {
        tab_out_key_str(o, tab_str_of(y->by_surface[i]->surface));
        tab_out_uint(o, (uint64_t)y->by_surface[i]->cells);
    }
    tab_out_close(o, '}');
    op_table(o, "by_op", y, 0);
    op_table(o, "by_op_multiplier", y, 2);
    op_table(o, "by_op_raw", y, 1);
    open_member(o, "top_endpoints", '[');
    for (size_t i = 0; i < y->n_top_endpoints; i++) {
        tab_out_open(o, '{');
        text_member(o, "endpoint", name_now(r, y->top_endpoints[i]->id, y->top_endpoints[i]->endpoint));
        text_member(o, "id", y->top_endpoints[i]->id);
        uint_member(o, "cells", (uint64_t)y->top_endpoints[i]->cells);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    open_member(o, "add_usage", '{');
    bool_member(o, "enabled", y->add_usage_enabled);
    bool_member(o, "spend_cap_set", y->spend_cap_set);
    tab_out_key(o, "spend_cap_usd");
    if (y->spend_cap_set)
        tab_out_double(o, y->spend_cap_usd);
    else
        tab_out_null(o);
    double left = y->spend_cap_usd - y->amount_usd;
    usd_member(o, "spend_cap_left_usd", priced && y->spend_cap_set, left > 0 ? left : 0);
    text_member(o, "spend_cap_managed_in", "platform");
    tab_out_close(o, '}');
    events_member(o, y);
    next_cursor_member(r, "usage", tab_str_of(y->next));
    bool_member(o, "lifetime", y->lifetime);
    storage_member(r);
    tab_out_close(o, '}');
    return TAB_OK;
}
