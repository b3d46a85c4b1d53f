/* /v2/endpoints: creation, retrieval, refresh, upgrade, deletion, logs. The rows and the jobs are
 * jobs'. */
#include <stdio.h>

#include "common/bundle/bundle_json.h"
#include "proto/data.pb-c.h"
#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/data/datasets.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/idempotency.h"
#include "services/api/platform/endpoints.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/allowance.h"
#include "services/api/runs/body.h"
#include "services/api/serve/cells.h"
#include "services/api/serve/drift.h"
#include "services/api/service_calls.h"

tab_status endpoint_of(request *r, const Tabella__Endpoint **ret, tab_error *err)
{
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    q.id_or_name = STR(tab_arena_copy(r->arena, r->param[0]).p);
    return call(r, "jobs", "GetEndpoint", &q.base, &tabella__endpoint__descriptor, ret, err);
}

tab_status endpoint_live(const Tabella__Endpoint *e, tab_error *err)
{
    char running[128];
    if (strcmp(e->status, "live") == 0)
        return TAB_OK;
    if (strcmp(e->job_status, "queued") == 0 || strcmp(e->job_status, "running") == 0) {
        snprintf(running, sizeof running, "running_job_id:%.100s", e->job_id);
        return tab_fail(err, TAB_CONFLICT, running,
                        "the endpoint is not live yet; wait for its job to finish");
    }
    return tab_fail(err, TAB_CONFLICT, "",
                    "the creation of this endpoint has %s; create it again under the same name or delete it",
                    strcmp(e->job_status, "cancelled") == 0 ? "been cancelled" : "failed");
}

tab_status endpoint_bound(const request *r, const Tabella__Endpoint *e, tab_error *err)
{
    tab_bounds b;
    if (r->who.bounds.n == 0 ||
        (tab_bounds_read(r->who.bounds, &b) && tab_bounds_has_endpoint(&b, tab_str_of(e->id))))
        return TAB_OK;
    return tab_fail(
        err, TAB_AUTH_SCOPE, "endpoints",
        "this API key is not bound to the endpoint `%.63s`; use another key or have the endpoint added to "
        "this key",
        e->name);
}

static void prompts_member(tab_out *o, const Tabella__Endpoint *e)
{
    open_member(o, "system_prompts", '[');
    for (size_t i = 0; i < e->n_system_prompts; i++) {
        const Tabella__SystemPrompt *p = e->system_prompts[i];
        tab_out_open(o, '{');
        text_member(o, "id", p->id);
        text_member(o, "name", p->name);
        bool_member(o, "active", p->active);
        int_member(o, "order", p->order);
        text_member(o, "body", p->body);
        uint_member(o, "version", p->version);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

/* Since when what its data were read from may have changed unseen: the last refresh could not read it. */
static void stale_member(tab_out *o, const Tabella__Endpoint *e)
{
    tab_out_key(o, "stale");
    if (e->stale_job[0] == 0) {
        tab_out_null(o);
        return;
    }
    tab_out_open(o, '{');
    time_member(o, "since", e->read_us != 0 ? e->read_us : e->data_version_us);
    text_member(o, "job_id", e->stale_job);
    text_member(o, "reason", e->stale_reason);
    tab_out_close(o, '}');
}

static void data_member(tab_out *o, const Tabella__Endpoint *e)
{
    bool pinned = e->n_datasets > 0;
    open_member(o, "data", '{');
    open_member(o, "datasets", '[');
    for (size_t i = 0; i < e->n_datasets; i++) {
        const Tabella__PinnedDataset *d = e->datasets[i];
        pinned &= d->pinned;
        tab_out_open(o, '{');
        text_member(o, "dataset", d->dataset);
        text_member(o, "name", d->name);
        str_member(o, "table", (tab_str){ (const char *)d->table_id.data, d->table_id.len });
        bool_member(o, "pinned", d->pinned);
        text_member(o, "snapshot", d->snapshot[0] != 0 ? d->snapshot : NULL);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    bool_member(o, "pinned", pinned);
    text_member(o, "snapshot", e->snapshot[0] != 0 ? e->snapshot : NULL);
    open_member(o, "tables", '[');
    for (size_t i = 0; i < e->n_datasets; i++)
        tab_out_cstr(o, e->datasets[i]->dataset);
    tab_out_close(o, ']');
    stale_member(o, e);
    tab_out_close(o, '}');
}

tab_str endpoint_held_out(const Tabella__Endpoint *e, bool tables, tab_out *scratch)
{
    held_out_json(scratch, e->held_out, e->data_snapshot, e->data_version_us, e->report_id, tables);
    return tab_out_text(scratch);
}

void endpoint_members(request *r, const Tabella__Endpoint *e, bool prompts)
{
    tab_out *o = &r->out;
    text_member(o, "id", e->id);
    text_member(o, "endpoint", e->name);
    text_member(o, "status", e->status);
    text_member(o, "url", tab_arena_printf(r->arena, "%s/v2/serve/%s", r->api->cfg.base_url, e->id));
    text_member(o, "serve_url", tab_arena_printf(r->arena, "/v2/serve/%s", e->id));
    text_member(o, "base", e->base_model);
    text_member(o, "feed", e->feed);
    time_member(o, "created_at", e->created_us);
    uint_member(o, "calls", e->calls);
    data_member(o, e);
    uint_member(o, "config_revision", e->config_revision);
    uint_member(o, "data_revision", e->data_revision);
    tab_out_key(o, "options");
    given_options(o, e->options, e->adapt);
    if (e->adapt)
        uint_member(o, "calibration_state", e->calibration == NULL ? 0 : e->calibration->state);
    if (prompts)
        prompts_member(o, e);
    text_member(o, "report", e->report[0] != 0 ? e->report : NULL);
    text_member(o, "report_id", e->report_id[0] != 0 ? e->report_id : NULL);
    tab_out_key(o, "held_out");
    held_out_json(o, e->held_out, e->data_snapshot, e->data_version_us, e->report_id, true);
    if (e->diff != NULL) {
        tab_out_key(o, "diff");
        diff_json(o, e->diff);
    }
    if (e->job_id[0] != 0) {
        open_member(o, "job", '{');
        text_member(o, "job_id", e->job_id);
        text_member(o, "status", e->job_status);
        text_member(o, "error", e->job_error);
        tab_out_close(o, '}');
    }
}

static void endpoint_entry(request *r, const void *reply, size_t i)
{
    tab_out_open(&r->out, '{');
    endpoint_members(r, ((const Tabella__ListEndpointsReply *)reply)->endpoints[i], false);
    tab_out_close(&r->out, '}');
}

tab_status get_endpoints(request *r, tab_error *err)
{
    Tabella__ListEndpointsRequest q = TABELLA__LIST_ENDPOINTS_REQUEST__INIT;
    const Tabella__ListEndpointsReply *y = NULL;
    tab_str after;
    tab_status s = query_page(r, "endpoints", 20, &q.limit, &after, err);
    if (s != TAB_OK)
        return s;
    q.after = (ProtobufCBinaryData){ after.n, (uint8_t *)(uintptr_t)after.p };
    s = call(r, "jobs", "ListEndpoints", &q.base, &tabella__list_endpoints_reply__descriptor, &y, err);
    if (s != TAB_OK)
        return s;
    tab_str next = { (const char *)y->next.data, y->next.len };
    list_answer(r,
                &(list_page){ "endpoints", "endpoints", y, y->n_endpoints, endpoint_entry, next, y->total });
    return TAB_OK;
}

static tab_status bundle_piece(request *r, const char *id, const char *array, size_t from,
                               const Tabella__Bundle **ret, tab_error *err)
{
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    const Tabella__OutputReply *y = NULL;
    q.id_or_name = STR(id);
    q.pieces = true;
    q.array = STR(array);
    q.from = from;
    TAB_TRY(call(r, "jobs", "EndpointBundle", &q.base, &tabella__output_reply__descriptor, &y, err));
    return bundle_of_reply(r->arena, y, ret, err);
}

static tab_status page_piece(request *r, const void *e, tab_paged array, size_t from,
                             const Tabella__Bundle **ret, tab_error *err)
{
    return bundle_piece(r, ((const Tabella__Endpoint *)e)->id, tab_paged_name(array), from, ret, err);
}

tab_status get_endpoint(request *r, tab_error *err)
{
    const Tabella__Endpoint *e = NULL;
    const Tabella__Bundle *b = NULL;
    char list[96];
    uint32_t limit;
    tab_str position;
    tab_status s = endpoint_of(r, &e, err);
    if (s != TAB_OK)
        return s;
    /* A cursor belongs to one state of the endpoint: after a change it is refused, so that pages of two
     * states are never mixed. */
    snprintf(list, sizeof list, "endpoint:%.40s:%llu.%llu", e->id, (unsigned long long)e->data_revision,
             (unsigned long long)e->config_revision);
    s = query_page(r, list, 0, &limit, &position, err);
    if (s != TAB_OK)
        return s;
    bool live = strcmp(e->status, "live") == 0;
    if (position.n > 0)
        return live ? bundle_page(r, page_piece, e, list, position, limit, err)
                    : tab_fail(err, TAB_VALIDATION, "cursor",
                               "the cursor is invalid; start again without one");
    if (live)
        TAB_TRY(bundle_piece(r, e->id, "", 0, &b, err));
    tab_out_open(&r->out, '{');
    endpoint_members(r, e, true);
    drift_member(&r->out, e->drift, e->held_out != NULL && strcmp(e->held_out->task, "regression") == 0);
    if (b != NULL) {
        tab_out held = { 0 };
        s = bundle_members(r, b, list, endpoint_held_out(e, true, &held), err);
        tab_out_free(&held);
    }
    tab_out_close(&r->out, '}');
    return s;
}

enum { JOB_LEASE_S = 26 * 3600 }; /* longer than any job of an endpoint */

/* ---- creation -------------------------------------------------------------------------------- */

typedef struct {
    tab_body body;
    uint64_t cells; /* inline and referenced */
    Tabella__RunOptions *options;
    tab_str name;
    char **refs;
    size_t n_refs;
    Tabella__TableSource **source;
    size_t n, ingested;
    const char *endpoint_id, *job_id;
    bool adapt;
    cost cost;
} creation;

static bool slug(tab_str s)
{
    bool ok = s.n >= 1 && s.n <= 63 && s.p[0] != '-' && s.p[s.n - 1] != '-';
    for (size_t i = 0; ok && i < s.n; i++)
        ok = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-';
    return ok;
}

static tab_status read_shape(request *r, creation *c, tab_error *err)
{
    bool batch;
    tab_str out;
    tab_status s = body_read(r, &c->body, err);
    if (s != TAB_OK || (s = body_text(c->body.root, "name", true, 63, &c->name, err)) != TAB_OK)
        return s;
    if (!slug(c->name))
        return tab_fail(
            err, TAB_VALIDATION, "name",
            "a name must be 1 to 63 characters of a-z, 0-9 and hyphens, not beginning or ending with a "
            "hyphen");
    if ((s = body_options(r, &c->body, &c->options, &batch, &out, err)) != TAB_OK ||
        (s = body_refs(r, &c->body, &c->n_refs, &c->refs, err)) != TAB_OK)
        return s;
    bool said;
    TAB_TRY(body_adapt(tab_json_get(c->body.root, "options"), &said, &c->adapt, err));
    if (batch || out.n > 0)
        return tab_fail(err, TAB_VALIDATION, batch ? "options.processing" : "options.out",
                        "this option does not apply to creating an endpoint");
    if (c->body.n_tables + c->n_refs == 0)
        return tab_fail(err, TAB_VALIDATION, "data",
                        "an endpoint needs at least one table in `tables`, or `data`");
    c->name = tab_arena_copy(r->arena, c->name);
    return c->name.p != NULL ? TAB_OK : tab_no_memory(err);
}

static bool add_source(request *r, creation *c, tab_str id, const char *snapshot, const char *dataset)
{
    Tabella__TableSource *s = tab_arena_new_of(r->arena, Tabella__TableSource, 1);
    if (s == NULL || c->source == NULL || c->n == 64)
        return false;
    tabella__table_source__init(s);
    s->id = tab_proto_bytes(r->arena, id);
    s->snapshot = tab_proto_text(r->arena, snapshot);
    s->dataset = tab_proto_text(r->arena, dataset);
    c->source[c->n++] = s;
    return true;
}

static tab_status resolve(request *r, creation *c, tab_error *err)
{
    Tabella__ResolveRequest q = TABELLA__RESOLVE_REQUEST__INIT;
    const Tabella__ResolveReply *y = NULL;
    if (c->n_refs == 0)
        return TAB_OK;
    q.n_refs = c->n_refs;
    q.refs = c->refs;
    q.owner = STR(c->job_id);
    q.for_endpoint = true;
    q.peek = r->dry_run;
    tab_status s =
        call(r, "data-connector", "Resolve", &q.base, &tabella__resolve_reply__descriptor, &y, err);
    for (size_t i = 0; s == TAB_OK && i < y->n_tables; i++) {
        const Tabella__Resolved *t = y->tables[i];
        tab_str id = tab_str_of(t->name);
        for (size_t k = 0; k < c->body.n_tables; k++)
            if (tab_str_eq(c->body.tables[k]->id, id))
                id = tab_str_of(t->dataset);
        c->cells += t->rows * t->cols;
        if (!add_source(r, c, id, t->snapshot, t->dataset))
            s = tab_no_memory(err);
    }
    return s;
}

static tab_status name_free(request *r, const creation *c, tab_error *err)
{
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    const Tabella__Endpoint *e = NULL;
    q.id_or_name = STR(c->name.p);
    tab_status s = call(r, "jobs", "GetEndpoint", &q.base, &tabella__endpoint__descriptor, &e, err);
    if (s == TAB_NOT_FOUND)
        return TAB_OK;
    if (s != TAB_OK)
        return s;
    bool at_work = strcmp(e->job_status, "queued") == 0 || strcmp(e->job_status, "running") == 0;
    if (strcmp(e->id, c->endpoint_id) != 0 && (strcmp(e->status, "live") == 0 || at_work) &&
        strcmp(e->name, c->name.p) == 0)
        return tab_fail(err, TAB_CONFLICT, "name", "an endpoint with this name already exists");
    return TAB_OK;
}

/* Steps ahead are asked of the endpoint's data as they will be pinned: inline tables, then references. */
static tab_status add_horizon(request *r, creation *c, tab_error *err)
{
    size_t m = c->body.n_tables;
    uint64_t made = 0;
    Tabella__TableSource **all = tab_arena_new_of(r->arena, Tabella__TableSource *, m + c->n + 1);
    Tabella__TableSource *own = tab_arena_new_of(r->arena, Tabella__TableSource, m + 1);
    if (all == NULL || own == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < m; i++) {
        tabella__table_source__init(&own[i]);
        own[i].id = tab_proto_bytes(r->arena, c->body.tables[i]->id);
        all[i] = &own[i];
    }
    for (size_t i = 0; i < c->n; i++)
        all[m + i] = c->source[i];
    TAB_TRY(horizon_cells(r, &c->body, c->options, all, m + c->n, c->cells, &made, err));
    c->cells += made;
    return TAB_OK;
}

/* Inline tables become datasets named by their ids; asked again with the same job, the same
 * datasets. */
static tab_status ingest(request *r, creation *c, tab_error *err)
{
    for (size_t i = 0; i < c->body.n_tables; i++) {
        const Tabella__DataObject *d;
        TAB_TRY(table_ingest(r, c->job_id, i, &c->body.tables[i], 0, &d, err));
        if (!add_source(r, c, c->body.tables[i]->id, d->snapshot, d->id))
            return tab_fail(err, TAB_INTERNAL, "", "an ingest without a dataset");
        c->ingested++;
    }
    return TAB_OK;
}

/* A creation that was refused leaves no datasets of its own behind. */
static void take_back(request *r, const creation *c)
{
    for (size_t i = 0; i < c->ingested; i++) {
        Tabella__DataRequest q = TABELLA__DATA_REQUEST__INIT;
        const Tabella__DeleteDataReply *y;
        tab_error none;
        q.id = c->source[c->n - 1 - i]->dataset;
        q.actor = r->who.key;
        (void)!call(r, "data-connector", "Delete", &q.base, &tabella__delete_data_reply__descriptor, &y,
                    &none);
    }
}

static void job_answer(request *r, const Tabella__EndpointJob *y, const char *job_id)
{
    tab_out *o = &r->out;
    r->status = 202;
    tab_out_open(o, '{');
    text_member(o, "endpoint", y->endpoint != NULL ? y->endpoint->name : NULL);
    text_member(o, "id", y->endpoint != NULL ? y->endpoint->id : NULL);
    text_member(o, "status", y->endpoint != NULL ? y->endpoint->status : NULL);
    const char *job = y->job != NULL && y->job->job_id[0] != 0 ? y->job->job_id : job_id;
    text_member(o, "job_id", job);
    result_member(r, job);
    if (r->route == TAB_POST_ENDPOINTS)
        warnings_member(r, NULL);
    tab_out_close(o, '}');
}

/* Under the id of the event that bills the job. jobs tells metering when the job ends without one. */
static tab_status job_reserve(request *r, cost *c, const char *job_id, tab_error *err)
{
    char id[TAB_ID + 8];
    snprintf(id, sizeof id, "job/%s", job_id);
    return allowance_reserve(r, c, id, "", JOB_LEASE_S, err);
}

static tab_status job_unreserve(request *r, const char *job_id, tab_status s)
{
    char id[TAB_ID + 8];
    snprintf(id, sizeof id, "job/%s", job_id);
    if (s != TAB_UNAVAILABLE && s != TAB_CANCELLED) /* those may have been submitted all the same */
        allowance_give_back(r->api, r->who.org, id, 0);
    return s;
}

tab_status post_endpoints(request *r, tab_error *err)
{
    creation c = { 0 };
    const Tabella__EndpointJob *y = NULL;
    tab_status s = read_shape(r, &c, err);
    if (s == TAB_OK && !r->dry_run)
        s = idempotency_begin(r, err);
    if (s != TAB_OK || r->replayed)
        return s;
    request_body_drop(r);
    c.endpoint_id = r->seed;
    c.job_id = tab_arena_printf(r->arena, "job_%s", r->seed);
    c.source = tab_arena_new_of(r->arena, Tabella__TableSource *, 64);
    c.cells = c.body.cells;
    if ((s = resolve(r, &c, err)) == TAB_OK && (s = name_free(r, &c, err)) == TAB_OK &&
        (s = base_check(r, &c.options->base_model, err)) == TAB_OK)
        s = target_check(r, &c.body, c.options, c.source, c.n, err);
    if (s == TAB_OK)
        s = add_horizon(r, &c, err);
    cost_add(&c.cost, "create", c.cells);
    if (s == TAB_OK && r->dry_run)
        s = dry_run_answer(r, &c.cost, err);
    if (r->dry_run)
        return dry_run_drop(r, c.n_refs, c.job_id, s);
    if (s != TAB_OK || (s = job_reserve(r, &c.cost, c.job_id, err)) != TAB_OK)
        return s;
    if ((s = cells_debit(r, c.cells, false, err)) != TAB_OK)
        return job_unreserve(r, c.job_id, s);
    s = ingest(r, &c, err);
    if (s == TAB_OK) {
        Tabella__CreateEndpointRequest q = TABELLA__CREATE_ENDPOINT_REQUEST__INIT;
        q.endpoint_id = STR(c.endpoint_id);
        q.job_id = STR(c.job_id);
        q.name = STR(c.name.p);
        q.n_sources = c.n;
        q.sources = c.source;
        q.options = c.options;
        q.adapt = c.adapt;
        q.key_id = r->who.key;
        q.surface = request_surface(r);
        s = call(r, "jobs", "CreateEndpoint", &q.base, &tabella__endpoint_job__descriptor, &y, err);
    }
    if (s != TAB_OK) {
        if (s != TAB_UNAVAILABLE && s != TAB_CANCELLED) /* those may have been done all the same */
            take_back(r, &c);
        return job_unreserve(r, c.job_id, s);
    }
    job_answer(r, y, c.job_id);
    return TAB_OK;
}

/* ---- what changes one ------------------------------------------------------------------------ */

tab_status endpoint_may_pass(request *r, const Tabella__Endpoint **ret, tab_error *err)
{
    const Tabella__Endpoint *e = NULL;
    tab_status s = endpoint_of(r, &e, err);
    if (s != TAB_OK || (s = endpoint_live(e, err)) != TAB_OK)
        return s;
    *ret = e;
    return e->job_id[0] != 0 ? TAB_OK : cells_debit(r, e->pinned_cells, false, err);
}

/* Outcomes label a column's cells: where none is predicted they cannot be rows of the data. */
static tab_status may_use_outcomes(const Tabella__Endpoint *e, bool asked, tab_error *err)
{
    bool none = e->held_out == NULL || e->held_out->target == NULL;
    return asked && none ? tab_fail(err, TAB_VALIDATION, "options.use_outcomes",
                                    "the endpoint predicts no column; outcomes cannot be used")
                         : TAB_OK;
}

static tab_status yes_or_no(const tab_json *v, const char *param, bool *ret, tab_error *err)
{
    *ret = v != NULL && v->yes;
    return v == NULL || v->kind == TAB_JSON_BOOL
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, param, "`%s` must be true or false", param);
}

static tab_status read_refresh(const tab_json *root, Tabella__RefreshRequest *q, tab_error *err)
{
    static const tab_str known[] = { { "use_outcomes", 12 } };
    const tab_json *options = tab_json_get(root, "options");
    bool accept, use;
    TAB_TRY(yes_or_no(tab_json_get(root, "accept_schema"), "accept_schema", &accept, err));
    if (options != NULL && options->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "options", "`options` must be an object");
    for (const tab_json *v = options == NULL ? NULL : options->first; v != NULL; v = v->next)
        if (!tab_str_eq(v->key, known[0]))
            return unknown_field(v->key, "options", known, 1, err);
    TAB_TRY(yes_or_no(tab_json_get(options, "use_outcomes"), "options.use_outcomes", &use, err));
    q->accept_schema = accept;
    q->use_outcomes = use;
    return TAB_OK;
}

/* What its snapshots and the newest ones differ by, as jobs counts it for the bill, and in columns. */
static tab_status refresh_dry(request *r, bool use_outcomes, tab_error *err)
{
    Tabella__RefreshRequest q = TABELLA__REFRESH_REQUEST__INIT;
    const Tabella__RefreshCost *y = NULL;
    const Tabella__Endpoint *e;
    cost c = { 0 };
    TAB_TRY(endpoint_of(r, &e, err));
    TAB_TRY(endpoint_live(e, err));
    TAB_TRY(may_use_outcomes(e, use_outcomes, err));
    q.use_outcomes = use_outcomes;
    q.id_or_name = e->id;
    q.job_id = tab_arena_printf(r->arena, "job_%s", r->seed);
    TAB_TRY(call(r, "jobs", "RefreshCost", &q.base, &tabella__refresh_cost__descriptor, &y, err));
    for (size_t i = 0; i < y->n_usage && i < 2; i++)
        cost_add(&c, y->usage[i]->op, y->usage[i]->cells);
    TAB_TRY(dry_run_open(r, &c, err));
    tab_out *o = &r->out;
    open_member(o, "schema_changes", '[');
    for (size_t i = 0; i < y->n_schema; i++) {
        const Tabella__SchemaChange *x = y->schema[i];
        tab_out_open(o, '{');
        text_member(o, "dataset", x->dataset);
        text_member(o, "name", x->name);
        texts_member(o, "columns_removed", x->n_removed, x->removed);
        texts_member(o, "columns_added", x->n_added, x->added);
        texts_member(o, "types_changed", x->n_retyped, x->retyped);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    return TAB_OK;
}

/* A refresh bills its unchanged rows at the cached rate, what changed at more; how much that is, is known
 * when the newest rows were read: then the job reserves it in place of this, about what it bills at least. */
static tab_status reserve_pass(request *r, const Tabella__Endpoint *e, const char *job_id, tab_error *err)
{
    cost c = { 0 };
    cost_add(&c, "cached", e->pinned_cells);
    return e->job_id[0] != 0 ? TAB_OK : job_reserve(r, &c, job_id, err);
}

/* Reserves the pass that q asks for, and hands it to jobs. */
static tab_status submit_pass(request *r, const char *method, const ProtobufCMessage *q,
                              const Tabella__Endpoint *e, char *job_id, tab_error *err)
{
    const Tabella__EndpointJob *y = NULL;
    TAB_TRY(reserve_pass(r, e, job_id, err));
    tab_status s = call(r, "jobs", method, q, &tabella__endpoint_job__descriptor, &y, err);
    if (s != TAB_OK)
        return job_unreserve(r, job_id, s);
    job_answer(r, y, job_id);
    return TAB_OK;
}

tab_status post_endpoint_refresh(request *r, tab_error *err)
{
    Tabella__RefreshRequest q = TABELLA__REFRESH_REQUEST__INIT;
    const Tabella__Endpoint *e;
    tab_body b;
    tab_status s = body_read(r, &b, err);
    if (s == TAB_OK)
        s = read_refresh(b.root, &q, err);
    if (s == TAB_OK && r->dry_run)
        return refresh_dry(r, q.use_outcomes, err);
    if (s == TAB_OK)
        s = idempotency_begin(r, err);
    if (s != TAB_OK || r->replayed || (s = endpoint_may_pass(r, &e, err)) != TAB_OK)
        return s;
    TAB_TRY(may_use_outcomes(e, q.use_outcomes, err));
    q.id_or_name = e->id;
    q.job_id = tab_arena_printf(r->arena, "job_%s", r->seed);
    q.key_id = r->who.key;
    q.surface = request_surface(r);
    return submit_pass(r, "Refresh", &q.base, e, q.job_id, err);
}

tab_status post_endpoint_upgrade(request *r, tab_error *err)
{
    Tabella__UpgradeRequest q = TABELLA__UPGRADE_REQUEST__INIT;
    const Tabella__Endpoint *e;
    tab_body b;
    tab_str base;
    tab_status s = body_read(r, &b, err);
    if (s != TAB_OK || (s = body_text(b.root, "base", true, 128, &base, err)) != TAB_OK ||
        (s = idempotency_begin(r, err)) != TAB_OK || r->replayed)
        return s;
    q.base_model = STR(tab_arena_copy(r->arena, base).p);
    if ((s = endpoint_may_pass(r, &e, err)) != TAB_OK)
        return s;
    q.id_or_name = e->id;
    q.job_id = tab_arena_printf(r->arena, "job_%s", r->seed);
    q.key_id = r->who.key;
    q.surface = request_surface(r);
    return submit_pass(r, "Upgrade", &q.base, e, q.job_id, err);
}

tab_status delete_endpoint(request *r, tab_error *err)
{
    Tabella__DeleteEndpointRequest q = TABELLA__DELETE_ENDPOINT_REQUEST__INIT;
    const Tabella__DeleteEndpointReply *y = NULL;
    q.id_or_name = STR(tab_arena_copy(r->arena, r->param[0]).p);
    q.actor = r->who.key;
    tab_status s =
        call(r, "jobs", "DeleteEndpoint", &q.base, &tabella__delete_endpoint_reply__descriptor, &y, err);
    if (s == TAB_OK)
        deleted_json(&r->out, y->id, y->deleted_us);
    return s;
}

static void log_entry(request *r, const void *reply, size_t i)
{
    const Tabella__EndpointLog *l = ((const Tabella__EndpointLogsReply *)reply)->logs[i];
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    time_member(o, "at", l->at_us);
    text_member(o, "event", l->event);
    text_member(o, "job_id", l->job_id[0] != 0 ? l->job_id : NULL);
    text_member(o, "actor", l->actor[0] != 0 ? l->actor : NULL);
    text_member(o, "message", l->message);
    tab_out_close(o, '}');
}

tab_status get_endpoint_logs(request *r, tab_error *err)
{
    Tabella__EndpointLogsRequest q = TABELLA__ENDPOINT_LOGS_REQUEST__INIT;
    const Tabella__EndpointLogsReply *y = NULL;
    char list[160];
    tab_str after;
    snprintf(list, sizeof list, "logs:%.*s", TAB_STR(r->param[0]));
    tab_status s = query_page(r, list, 20, &q.limit, &after, err);
    if (s != TAB_OK)
        return s;
    q.id_or_name = STR(tab_arena_copy(r->arena, r->param[0]).p);
    q.after = (ProtobufCBinaryData){ after.n, (uint8_t *)(uintptr_t)after.p };
    s = call(r, "jobs", "EndpointLogs", &q.base, &tabella__endpoint_logs_reply__descriptor, &y, err);
    if (s != TAB_OK)
        return s;
    tab_str next = { (const char *)y->next.data, y->next.len };
    list_answer(r, &(list_page){ list, "logs", y, y->n_logs, log_entry, next, y->total });
    return TAB_OK;
}
