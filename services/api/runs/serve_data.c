/* See serve_data.h.
 *
 *   shape -> key claimed -> endpoint -> options.out -> the dataset -> its columns -> price -> reserved -> job
 *
 * All that can be refused is refused here, before anything is done or billed. The job gets the endpoint's
 * state as it is now: what is priced is what is answered. */
#include "services/api/runs/serve_data.h"

#include <stdio.h>

#include "common/rpc/serve_state.h"
#include "proto/data.pb-c.h"
#include "proto/events.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/idempotency.h"
#include "services/api/platform/endpoints.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/allowance.h"
#include "services/api/runs/body.h"
#include "services/api/serve/cells.h"
#include "services/api/serve/serve_limits.h"
#include "services/api/service_calls.h"

enum {
    JOB_LEASE_S = 26 * 3600, /* of a job's reservation */
    READ_MS = 50000          /* a connection is read first: a serve call's time is too short */
};

/* In the request's arena. */
typedef struct {
    request *r;
    tab_str out;
    const char *out_mode;
    char **refs;
    size_t n_refs;
    const char *job_id, *event;
    const Tabella__Endpoint *e;
    const Tabella__PinnedDataset *pinned; /* whose rows these are like */
    Tabella__TableSource source;
    Tabella__ServeState state;
    Tabella__ServeJob of;
    uint64_t cells;
    cost cost;
    bool reserved;
} scoring;

bool serve_has_data(const tab_body *b)
{
    return tab_json_get(b->root, "data") != NULL;
}

static tab_status read_shape(scoring *x, const tab_body *b, tab_error *err)
{
    request *r = x->r;
    const tab_json *options = tab_json_get(b->root, "options");
    if ((r->who.scopes & TAB_SCOPE_RUN) == 0)
        return tab_fail(err, TAB_AUTH_SCOPE, "data",
                        "a key with the scope `serve` alone sends its rows in `tables`; scoring stored data "
                        "needs the scope `run` as well");
    if (b->n_tables > 0)
        return tab_fail(err, TAB_VALIDATION, "data",
                        "a serve call takes either rows in `tables` or a dataset in `data`, not both");
    TAB_TRY(body_refs(r, b, &x->n_refs, &x->refs, err));
    if (x->n_refs != 1)
        return tab_fail(err, TAB_VALIDATION, "data",
                        "`data` of a serve call must name exactly one dataset or connection; send one call "
                        "for each");
    TAB_TRY(body_serve_data(r, options, &x->out, err));
    return body_out_mode(b, &x->out_mode, err);
}

/* ---- the endpoint ----------------------------------------------------------------------------- */

/* The pinned table whose column is predicted; NULL: none is. */
static const Tabella__PinnedDataset *answered_table(const Tabella__Endpoint *e, tab_str *ret_target)
{
    const Tabella__ColumnRef *t = e->held_out == NULL ? NULL : e->held_out->target;
    *ret_target = (tab_str){ "", 0 };
    for (size_t i = 0; t != NULL && i < e->n_datasets; i++) {
        const ProtobufCBinaryData id = e->datasets[i]->table_id;
        if (t->address.len <= id.len || t->address.data[id.len] != '.' ||
            memcmp(t->address.data, id.data, id.len) != 0)
            continue;
        *ret_target = (tab_str){ (const char *)t->address.data + id.len + 1, t->address.len - id.len - 1 };
        return e->datasets[i];
    }
    bool anomaly = e->options != NULL && strcmp(e->options->task, "anomaly") == 0;
    return anomaly && e->n_datasets == 1 ? e->datasets[0] : NULL;
}

static tab_status find_endpoint(scoring *x, tab_error *err)
{
    request *r = x->r;
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    tab_str target;
    q.id_or_name = STR(tab_arena_copy(r->arena, r->param[0]).p);
    TAB_TRY(call(r, "jobs", "GetEndpoint", &q.base, &tabella__endpoint__descriptor, &x->e, err));
    TAB_TRY(endpoint_bound(r, x->e, err));
    TAB_TRY(endpoint_live(x->e, err));
    r->endpoint = tab_arena_copy(r->arena, tab_str_of(x->e->id)).p;
    x->pinned = answered_table(x->e, &target);
    if (x->pinned == NULL)
        return tab_fail(err, TAB_VALIDATION, "data",
                        "this endpoint predicts no column, so a dataset has nothing to be scored for");
    tabella__serve_job__init(&x->of);
    x->of.endpoint_id = x->e->id;
    x->of.endpoint = x->e->name;
    x->of.target = tab_proto_bytes(r->arena, target);
    x->of.state = &x->state;
    x->of.calibration = x->e->adapt ? x->e->calibration : NULL;
    x->of.source = &x->source;
    return tab_serve_state_of(r->arena, x->e, &x->state, err);
}

static tab_status check_out(scoring *x, tab_error *err)
{
    request *r = x->r;
    Tabella__WriteRequest q = TABELLA__WRITE_REQUEST__INIT;
    const Tabella__WriteReply *y;
    if (x->out.n == 0)
        return TAB_OK;
    q.out = STR(x->out.p);
    q.check = true;
    q.once = STR(x->job_id);
    q.mode = STR(x->out_mode);
    TAB_TRY(call(r, "data-connector", "Write", &q.base, &tabella__write_reply__descriptor, &y, err));
    if (strcmp(y->kind, "json") == 0)
        return tab_fail(err, TAB_VALIDATION, "options.out",
                        "a scored dataset is written to a table or to a .csv file; a .json file holds the "
                        "bundle of a run");
    x->out = tab_str_of(y->out);
    return TAB_OK;
}

/* ---- the dataset ------------------------------------------------------------------------------ */

static tab_status resolve(scoring *x, tab_error *err)
{
    request *r = x->r;
    Tabella__ResolveRequest q = TABELLA__RESOLVE_REQUEST__INIT;
    const Tabella__ResolveReply *y;
    q.n_refs = x->n_refs;
    q.refs = x->refs;
    q.owner = STR(x->job_id);
    q.peek = r->dry_run;
    TAB_TRY(call(r, "data-connector", "Resolve", &q.base, &tabella__resolve_reply__descriptor, &y, err));
    if (y->n_tables != 1)
        return tab_fail(err, TAB_INTERNAL, "", "a dataset that was resolved as several");
    const Tabella__Resolved *t = y->tables[0];
    if (t->rows == 0 || t->cols == 0)
        return tab_fail(err, TAB_VALIDATION, "data[0]", "this dataset has no rows to score");
    tabella__table_source__init(&x->source);
    x->source.id = x->pinned->table_id;
    x->source.snapshot = t->snapshot;
    x->source.dataset = t->dataset;
    x->of.rows = t->rows;
    if (t->rows > UINT32_MAX || __builtin_mul_overflow(t->rows, t->cols, &x->cells))
        return tab_fail(err, TAB_VALIDATION, "data[0]", "this dataset has too many rows");
    return TAB_OK;
}

/* The columns of a snapshot, by its first row. */
static tab_status columns_of(scoring *x, const char *snapshot, const tab_table **ret, tab_error *err)
{
    Tabella__ReadRequest q = TABELLA__READ_REQUEST__INIT;
    tab_answer answer;
    q.snapshot = STR(snapshot);
    q.rows = 1;
    tab_ask ask = { .service = "data-connector",
                    .method = "Read",
                    .in = &q.base,
                    .reply = &tabella__read_reply__descriptor };
    TAB_TRY(call_with(x->r, &ask, &answer, err));
    if (answer.n_tables != 1)
        return tab_fail(err, TAB_INTERNAL, "", "a snapshot that was read as no table");
    *ret = answer.tables[0];
    return TAB_OK;
}

static size_t count_name(const tab_table *t, tab_str name)
{
    size_t n = 0;
    for (size_t k = 0; k < t->cols; k++)
        n += tab_str_eq(t->col[k].name, name);
    return n;
}

/* Columns of `in` that `against` has not, up to four of them by name; "" where there are none. */
static const char *lacking(request *r, const tab_table *in, const tab_table *against, tab_str but)
{
    const char *text = "";
    size_t n = 0;
    for (size_t k = 0; text != NULL && k < in->cols; k++) {
        tab_str name = in->col[k].name;
        if (count_name(against, name) > 0 || (but.n > 0 && tab_str_eq(name, but)))
            continue;
        if (n++ < 4)
            text = tab_arena_printf(r->arena, "%s%s\"%.*s\"", text, n > 1 ? ", " : "",
                                    (int)(name.n > 32 ? 32 : name.n), name.p);
    }
    return text != NULL && n > 4 ? tab_arena_printf(r->arena, "%s and %zu more", text, n - 4) : text;
}

/* As a serve call matches them, but that the column that is predicted may be left out: inference would refuse
 * the first piece, when the job is on its way. Where pinned names do not tell columns apart it does. */
static tab_status check_columns(scoring *x, tab_error *err)
{
    const tab_table *rows, *pinned;
    tab_str target = { (const char *)x->of.target.data, x->of.target.len };
    TAB_TRY(columns_of(x, x->source.snapshot, &rows, err));
    TAB_TRY(columns_of(x, x->pinned->snapshot, &pinned, err));
    for (size_t k = 0; k < pinned->cols; k++) {
        tab_str name = pinned->col[k].name;
        if (name.n == 0 || count_name(pinned, name) != 1)
            return TAB_OK;
        if (count_name(rows, name) > 1)
            return tab_fail(err, TAB_VALIDATION, "data[0]",
                            "columns differ from the pinned snapshot: \"%.*s\" occurs more than once",
                            (int)(name.n > 32 ? 32 : name.n), name.p);
    }
    const char *missing = lacking(x->r, pinned, rows, target), *extra = lacking(x->r, rows, pinned, target);
    if (missing == NULL || extra == NULL)
        return tab_no_memory(err);
    if (missing[0] == 0 && extra[0] == 0)
        return TAB_OK;
    return tab_fail(err, TAB_VALIDATION, "data[0]",
                    "columns differ from the pinned snapshot: %s%s%s%s%s; rename them or leave them out in "
                    "the dataset, or refresh the endpoint onto the new ones",
                    missing[0] != 0 ? "missing " : "", missing, missing[0] != 0 && extra[0] != 0 ? "; " : "",
                    extra[0] != 0 ? "unexpected " : "", extra);
}

/* ---- the job ---------------------------------------------------------------------------------- */

static void answer(scoring *x, const Tabella__Job *j)
{
    tab_out *o = &x->r->out;
    tab_out_open(o, '{');
    text_member(o, "mode", "serve");
    text_member(o, "job_id", x->job_id);
    text_member(o, "endpoint", x->e->name);
    text_member(o, "id", x->e->id);
    text_member(o, "base", x->e->base_model);
    text_member(o, "status", strcmp(j->status, "queued") != 0 ? "running" : "queued");
    warnings_member(x->r, NULL);
    if (x->out.n > 0)
        text_member(o, "out", x->out.p);
    result_member(x->r, x->job_id);
    tab_out_close(o, '}');
    x->r->status = 202;
}

/* An earlier attempt under the same key may have made the job, and its answer was lost. */
static tab_status known_job(scoring *x, bool *ret, tab_error *err)
{
    Tabella__GetJobRequest q = TABELLA__GET_JOB_REQUEST__INIT;
    const Tabella__Job *j;
    *ret = false;
    if (!x->r->claimed || x->r->attempt < 2)
        return TAB_OK;
    q.job_id = STR(x->job_id);
    tab_status s = call(x->r, "jobs", "Get", &q.base, &tabella__job__descriptor, &j, err);
    *ret = s == TAB_OK;
    if (s == TAB_OK)
        answer(x, j);
    return s == TAB_NOT_FOUND ? TAB_OK : s;
}

static tab_status submit(scoring *x, tab_error *err)
{
    request *r = x->r;
    Tabella__SubmitRequest q = TABELLA__SUBMIT_REQUEST__INIT;
    const Tabella__Job *j;
    q.job_id = STR(x->job_id);
    q.kind = STR("serve");
    q.label = x->e->name;
    q.about = x->pinned->name;
    q.processing = STR("realtime");
    q.serve = &x->of;
    q.key_id = r->who.key;
    q.surface = request_surface(r);
    q.batch_concurrency = r->who.batch_concurrency;
    q.cells = x->cells;
    q.usage = cost_lines(&x->cost);
    q.n_usage = x->cost.n;
    q.out = STR(x->out.p);
    q.out_mode = STR(x->out_mode);
    TAB_TRY(call(r, "jobs", "Submit", &q.base, &tabella__job__descriptor, &j, err));
    answer(x, j);
    return TAB_OK;
}

/* Reserved under the id of the event that bills the job. */
static tab_status start(scoring *x, tab_error *err)
{
    request *r = x->r;
    TAB_TRY(allowance_reserve(r, &x->cost, x->event, "", JOB_LEASE_S, err));
    x->reserved = true;
    TAB_TRY(cells_debit(r, x->cells, false, err));
    return submit(x, err);
}

static tab_status prepare(scoring *x, tab_error *err)
{
    TAB_TRY(find_endpoint(x, err));
    TAB_TRY(check_out(x, err));
    TAB_TRY(resolve(x, err));
    TAB_TRY(check_columns(x, err));
    serve_cost(x->r, x->e, x->cells, &x->cost);
    return TAB_OK;
}

/* What was read for a job that is not made goes, and what was reserved: unless it may have been made. */
static tab_status undo(scoring *x, tab_status s)
{
    bool unsure = s == TAB_UNAVAILABLE || s == TAB_CANCELLED;
    if (s == TAB_OK || unsure)
        return s;
    if (x->reserved)
        allowance_give_back(x->r->api, x->r->who.org, x->event, 0);
    return dry_run_drop(x->r, x->n_refs, x->job_id, s);
}

tab_status serve_data(request *r, const tab_body *b, tab_error *err)
{
    scoring *x = tab_arena_new_of(r->arena, scoring, 1);
    bool known = false;
    if (x == NULL)
        return tab_no_memory(err);
    x->r = r;
    r->deadline = tab_in_ms(READ_MS);
    TAB_TRY(read_shape(x, b, err));
    if (!r->dry_run)
        TAB_TRY(idempotency_begin(r, err));
    if (r->replayed)
        return TAB_OK;
    request_body_drop(r);
    x->job_id = tab_arena_printf(r->arena, "job_%s", r->seed);
    x->event = tab_arena_printf(r->arena, "job/%s", x->job_id);
    if (x->job_id == NULL || x->event == NULL)
        return tab_no_memory(err);
    tab_status s = prepare(x, err);
    if (r->dry_run)
        return dry_run_drop(r, x->n_refs, x->job_id, s == TAB_OK ? dry_run_answer(r, &x->cost, err) : s);
    if (s == TAB_OK)
        s = known_job(x, &known, err);
    return undo(x, s != TAB_OK || known ? s : start(x, err));
}
