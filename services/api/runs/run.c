/* POST /v2/run.
 *
 *   shape -> key claimed -> references -> base -> cells, with those of steps ahead (horizon.c)
 *                                                   |
 *            +--------------------------------------+
 *            |
 *            +--> inline: a place among the organization's calls, then Run (parked meanwhile), then one
 *            |            transaction (key answered, output kept, event in the outbox), then the first byte;
 *            |            without a place, or later than inline_s after its arrival, it becomes the job, and
 *            |            so it does where its worker died, perhaps of it: it runs alone (decision 0240)
 *            +--> large, batch or with options.out: rows spooled, job submitted, 202 */
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/point.h"
#include "proto/data.pb-c.h"
#include "proto/events.pb-c.h"
#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/data/datasets.h"
#include "services/api/handlers.h"
#include "services/api/http/progress.h"
#include "services/api/idempotency.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/allowance.h"
#include "services/api/runs/body.h"
#include "services/api/runs/outputs.h"
#include "services/api/serve/cells.h"
#include "services/api/serve/concurrency.h"
#include "services/api/service_calls.h"

enum {
    TRIES = 3,
    NATS_MS = 3000, /* so long NATS is waited for */
    KEPT_S = 26 * 3600,
    BATCH_KEPT_S = 50 * 3600,
    JOB_LEASE_S = 26 * 3600
}; /* JOB_LEASE_S: of a job's reservation: longer than a batch may take */

/* In the request's arena. */
typedef struct {
    request *r;
    tab_body body;
    Tabella__RunOptions *options;
    bool batch;
    tab_str out;
    const char *out_mode; /* "": none was said */
    char **refs;
    size_t n_refs;
    Tabella__TableSource **source; /* inline tables first, then references */
    size_t n;
    uint64_t cells, cached, rows;
    cost cost;
    const char *run_id, *job_id, *report_id, *feed;
    const char *reserved; /* id of the reservation, NULL: there is none */
    /* while it computes */
    concurrent place;
    tab_deadline until;
    int tries; /* of workers that had not begun it when they were gone */
    tab_status s;
    tab_error err;
    const Tabella__RunReply *reply;
} run;

static Tabella__TableSource *add_source(request *r, run *x, tab_str id, const char *snapshot,
                                        const char *dataset, const char *reading)
{
    Tabella__TableSource *s = tab_arena_new_of(r->arena, Tabella__TableSource, 1);
    if (s == NULL)
        return NULL;
    tabella__table_source__init(s);
    s->id = tab_proto_bytes(r->arena, id);
    s->snapshot = tab_proto_text(r->arena, snapshot);
    s->dataset = tab_proto_text(r->arena, dataset);
    s->reading = tab_proto_text(r->arena, reading);
    return x->source[x->n++] = s;
}

static tab_status read_shape(request *r, run *x, tab_error *err)
{
    tab_status s = body_read(r, &x->body, err);
    if (s != TAB_OK || (s = body_options(r, &x->body, &x->options, &x->batch, &x->out, err)) != TAB_OK ||
        (s = body_refs(r, &x->body, &x->n_refs, &x->refs, err)) != TAB_OK ||
        (s = body_out_mode(&x->body, &x->out_mode, err)) != TAB_OK)
        return s;
    if (x->body.n_tables + x->n_refs == 0)
        return tab_fail(err, TAB_VALIDATION, "tables",
                        "a run needs at least one table in `tables`, or `data`");
    if (tab_json_get(tab_json_get(x->body.root, "options"), "adapt") != NULL)
        return tab_fail(err, TAB_VALIDATION, "options.adapt",
                        "`options.adapt` applies to endpoints only: a run receives no outcomes");
    return TAB_OK;
}

/* options.out is looked up before any work: a run that could not be written is refused at once. */
static tab_status check_out(request *r, run *x, tab_error *err)
{
    Tabella__WriteRequest q = TABELLA__WRITE_REQUEST__INIT;
    const Tabella__WriteReply *y;
    if (x->out.n == 0)
        return TAB_OK;
    q.out = STR(tab_arena_copy(r->arena, x->out).p);
    q.check = true;
    q.once = STR(x->job_id);
    q.mode = STR(x->out_mode);
    if (q.out == NULL)
        return tab_no_memory(err);
    TAB_TRY(call(r, "data-connector", "Write", &q.base, &tabella__write_reply__descriptor, &y, err));
    if (strcmp(y->kind, "json") != 0 && strcmp(x->options->target_mode, "none") == 0)
        return tab_fail(
            err, TAB_VALIDATION, "options.out",
            "a .csv file or a table holds predictions, but `target` asks for none; write to a .json file "
            "for the whole bundle");
    x->out = tab_str_of(y->out);
    return TAB_OK;
}

/* Bills at the cached rate: pinned data, and data used within the last ten minutes. */
static tab_status resolve(request *r, run *x, tab_error *err)
{
    const int64_t briefly = 600 * INT64_C(1000000);
    Tabella__ResolveRequest q = TABELLA__RESOLVE_REQUEST__INIT;
    const Tabella__ResolveReply *y;
    if (x->n_refs == 0)
        return TAB_OK;
    q.n_refs = x->n_refs;
    q.refs = x->refs;
    q.owner = STR(x->job_id);
    q.peek = r->dry_run;
    tab_status s =
        call(r, "data-connector", "Resolve", &q.base, &tabella__resolve_reply__descriptor, &y, err);
    if (s != TAB_OK)
        return s;
    for (size_t i = 0; i < y->n_tables; i++) {
        const Tabella__Resolved *t = y->tables[i];
        tab_str id = tab_str_of(t->name);
        for (size_t k = 0; k < x->body.n_tables; k++)
            if (tab_str_eq(x->body.tables[k]->id, id))
                id = tab_str_of(t->dataset[0] != 0 ? t->dataset : t->snapshot);
        if (add_source(r, x, id, t->snapshot, t->dataset, t->reading) == NULL)
            return tab_no_memory(err);
        uint64_t cells = t->rows * t->cols;
        bool cached =
            t->dataset[0] != 0 && (t->pinned || (t->last_used != 0 && tab_now_us() - t->last_used < briefly));
        x->cells += cells;
        x->rows += t->rows;
        x->cached += cached ? cells : 0;
    }
    return TAB_OK;
}

static void price(run *x)
{
    if (x->cells > x->cached || x->cached == 0)
        cost_add(&x->cost, x->batch ? "batch" : "run", x->cells - x->cached);
    if (x->cached > 0)
        cost_add(&x->cost, "cached", x->cached);
}

/* The id of the event that bills the run: its own, or its job's, which ends it either way. Of a second
 * attempt always the job's: the first one may have made the job, which then bills under this id
 * (jobs_bill), and both are one. */
static const char *event_of(request *r, const run *x, bool job)
{
    return job || r->attempt > 1 ? tab_arena_printf(r->arena, "job/%s", x->job_id) : x->run_id;
}

static tab_status reserve(request *r, run *x, bool job, tab_error *err)
{
    const char *id = event_of(r, x, job);
    if (id == NULL)
        return tab_no_memory(err);
    if (x->reserved != NULL && strcmp(x->reserved, id) == 0)
        return TAB_OK;
    tab_status s = allowance_reserve(r, &x->cost, id, x->reserved == NULL ? "" : x->reserved,
                                     job ? JOB_LEASE_S : 0, err);
    if (s == TAB_OK)
        x->reserved = id;
    return s;
}

/* The run ended without a bill. Where that is not sure, the reservation stays until its lease ends. */
static tab_status unreserve(request *r, run *x, tab_status s)
{
    if (s != TAB_OK && s != PARKED && s != TAB_UNAVAILABLE && s != TAB_CANCELLED && x->reserved != NULL) {
        allowance_give_back(r->api, r->who.org, x->reserved, 0);
        x->reserved = NULL;
    }
    return s;
}

static void head(request *r, const run *x, const char *base, const char *status, const Tabella__Bundle *b)
{
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    text_member(o, "mode", "run");
    text_member(o, "run_id", x->run_id);
    text_member(o, "job_id", x->job_id);
    text_member(o, "base", base);
    text_member(o, "feed", x->feed);
    text_member(o, "status", status);
    warnings_member(r, b);
}

/* ---- as a job -------------------------------------------------------------------------------- */

/* The rows are kept as temporary snapshots under the job, which drops them when it ends, unless its result
 * refers to them: then they go by themselves, a day after a batch's window. */
static tab_status spool(request *r, run *x, tab_error *err)
{
    int64_t until = tab_now_us() + (x->batch ? BATCH_KEPT_S : KEPT_S) * INT64_C(1000000);
    for (size_t i = 0; i < x->body.n_tables; i++) {
        const Tabella__DataObject *d;
        TAB_TRY(table_ingest(r, x->job_id, i, &x->body.tables[i], until, &d, err));
        x->source[i]->snapshot = d->snapshot;
        x->source[i]->dataset = d->id;
    }
    return TAB_OK;
}

static void job_answer(request *r, const run *x, const Tabella__Job *j)
{
    head(r, x, x->options->base_model, strcmp(j->status, "queued") != 0 ? "running" : "queued", NULL);
    text_member(&r->out, "processing", x->batch ? "batch" : "realtime");
    if (x->out.n > 0)
        text_member(&r->out, "out", x->out.p);
    result_member(r, x->job_id);
    tab_out_close(&r->out, '}');
    r->status = 202;
}

/* The names of its tables, for lists that people read. */
static char *about(request *r, const run *x)
{
    enum { NAMED = 4, LONGEST = 60 };
    char *text = STR("");
    for (size_t i = 0; text != NULL && i < x->n && i < NAMED; i++) {
        ProtobufCBinaryData id = x->source[i]->id;
        size_t n = id.len < LONGEST ? id.len : LONGEST;
        while (n > 0 && n < id.len && (id.data[n] & 0xc0) == 0x80)
            n--; /* cut between two characters */
        text = tab_arena_printf(r->arena, "%s%s%.*s", text, i > 0 ? ", " : "", (int)n, (const char *)id.data);
    }
    if (text != NULL && x->n > NAMED)
        text = tab_arena_printf(r->arena, "%s and %zu more", text, x->n - NAMED);
    return text == NULL ? STR("") : tab_proto_text(r->arena, text);
}

/* suspect: a worker died while it had the run, so that the job runs alone. */
static tab_status as_job(request *r, run *x, bool suspect, tab_error *err)
{
    Tabella__SubmitRequest q = TABELLA__SUBMIT_REQUEST__INIT;
    const Tabella__Job *j;
    tab_status s = reserve(r, x, true, err);
    if (s == TAB_OK)
        s = spool(r, x, err);
    if (s != TAB_OK)
        return s;
    q.job_id = STR(x->job_id);
    q.kind = STR(x->batch ? "batch" : "run");
    q.run_id = STR(x->run_id);
    q.report_id = STR(x->report_id);
    q.label = STR(x->report_id);
    q.about = about(r, x);
    q.processing = STR(x->batch ? "batch" : "realtime");
    q.n_sources = x->n;
    q.sources = x->source;
    q.options = x->options;
    q.key_id = r->who.key;
    q.surface = request_surface(r);
    q.batch_concurrency = r->who.batch_concurrency;
    q.cells = x->cells;
    q.usage = cost_lines(&x->cost);
    q.n_usage = x->cost.n;
    q.suspect = suspect;
    if (x->out.n > 0)
        q.out = STR(x->out.p);
    q.out_mode = STR(x->out_mode);
    s = call(r, "jobs", "Submit", &q.base, &tabella__job__descriptor, &j, err);
    if (s == TAB_OK)
        job_answer(r, x, j);
    return s;
}

/* An earlier attempt under the same key may have made the job, and its answer was lost: that job is the
 * answer, however quick the run would be now. */
static tab_status known_job(request *r, run *x, bool *ret_known, tab_error *err)
{
    const Tabella__Job *j;
    *ret_known = false;
    if (!r->claimed || r->attempt < 2)
        return TAB_OK;
    Tabella__GetJobRequest q = TABELLA__GET_JOB_REQUEST__INIT;
    q.job_id = STR(x->job_id);
    tab_status s = call(r, "jobs", "Get", &q.base, &tabella__job__descriptor, &j, err);
    *ret_known = s == TAB_OK;
    if (s == TAB_OK)
        job_answer(r, x, j);
    return s == TAB_NOT_FOUND ? TAB_OK : s;
}

/* ---- inline ---------------------------------------------------------------------------------- */

static tab_status event_put(request *r, run *x, const Tabella__Bundle *b, const char *base, tab_tx *tx,
                            tab_error *err)
{
    Tabella__WorkDone e = TABELLA__WORK_DONE__INIT;
    Tabella__InlineRun n = TABELLA__INLINE_RUN__INIT;
    const char *id = event_of(r, x, false);
    if (id == NULL)
        return tab_no_memory(err);
    e.usage = cost_lines(&x->cost);
    e.n_usage = x->cost.n;
    e.event_id = STR(id);
    e.org_id = r->who.org;
    e.at_us = tab_now_us();
    e.kind = STR("run");
    e.surface = request_surface(r);
    e.key_id = r->who.key;
    e.base_model = STR(base);
    e.tables = (uint32_t)x->n;
    e.request_id = r->request_id;
    e.run = &n;
    n.run_id = STR(x->run_id);
    n.job_id = STR(x->job_id);
    n.report_id = STR(x->report_id);
    n.feed = STR(x->feed);
    n.rows = x->rows;
    n.about = about(r, x);
    if (b->prediction != NULL) {
        const Tabella__ColumnRef *t = b->prediction->target;
        n.target = t != NULL
                       ? tab_proto_text(r->arena, tab_arena_printf(r->arena, "%.*s", (int)t->address.len,
                                                                   (const char *)t->address.data))
                       : STR("");
        n.task = b->prediction->task_type;
    }
    return tab_outbox_put(tx, "api", id, "tabella.event.work.done", r->who.org, &e.base, err);
}

static tab_status commit(request *r, run *x, const Tabella__Bundle *b, const char *base, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    output o = { .bundle = b, .run_id = x->run_id, .report_id = x->report_id, .base = base, .feed = x->feed };
    Tabella__JobResult sources = TABELLA__JOB_RESULT__INIT;
    if (b->imputation != NULL && b->imputation->n_row > 0) {
        o.tables = x->body.tables;
        o.n_tables = x->body.n_tables;
        sources.sources = x->source;
        sources.n_sources = x->n;
        o.sources = &sources;
    }
    tab_status s =
        tab_tx_begin(r->api->pg, r->who.org, tab_within_ms(r->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK)
        s = idempotency_complete(r, tx, err);
    if (s == TAB_OK)
        s = output_put(r, tx, x->job_id, &o, err);
    if (s == TAB_OK)
        s = event_put(r, x, b, base, tx, err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    if (s == TAB_OK)
        tab_relay_nudge(r->api->relay);
    return s == TAB_CANCELLED
               ? tab_fail(err, TAB_UNAVAILABLE, "", "the database is not responding; try again")
               : s;
}

static tab_status write_answer(request *r, run *x, tab_error *err)
{
    const Tabella__RunReply *y = x->reply;
    const char *base = y->base_model[0] != 0 ? y->base_model : x->options->base_model;
    char list[96];
    snprintf(list, sizeof list, "output:%s", x->job_id);
    head(r, x, base, "complete", y->bundle);
    tab_status s = bundle_members(r, y->bundle, list, TAB_S(""), err);
    if (s != TAB_OK)
        return s;
    tab_out_close(&r->out, '}');
    if (r->out.failed)
        return tab_no_memory(err);
    TAB_POINT("run.answered");
    return commit(r, x, y->bundle, base, err);
}

static tab_status inline_run(request *r, run *x, tab_error *err);

/* The pass has ended: on a worker's thread again. */
static tab_status ended(void *arg, tab_error *err)
{
    run *x = arg;
    request *r = x->r;
    bool lost = tab_rpc_lost(x->s, &x->err), stopped = tab_rpc_stopped(x->s, &x->err);
    bool untaken = tab_rpc_untaken(x->s, &x->err);
    bool late = (lost || stopped || untaken || x->s == TAB_CANCELLED) && !atomic_load(&r->gone);
    tab_status s = x->s;
    if (untaken && x->tries++ < TRIES && tab_left_ms(x->until, 1) > 0 && !atomic_load(&r->gone))
        return unreserve(r, x, inline_run(r, x, err));
    if (s == TAB_OK)
        s = write_answer(r, x, err);
    else
        *err = x->err;
    concurrency_release(r->api, &x->place, x->place.n);
    if (s == TAB_CANCELLED && !late) { /* nobody waits for it, and nothing was written */
        allowance_give_back(r->api, r->who.org, x->reserved, 0);
        x->reserved = NULL;
    }
    return unreserve(r, x, late ? as_job(r, x, lost, err) : s);
}

static void answered(void *arg, tab_status s, const tab_answer *answer, const tab_error *err)
{
    run *x = arg;
    x->s = s;
    if (s == TAB_OK)
        x->reply = answer->msg;
    else
        x->err = *err;
    request_again(x->r, ended, x);
}

/* PARKED, or the status where it ended at once. */
static tab_status inline_run(request *r, run *x, tab_error *err)
{
    Tabella__RunRequest *q = tab_arena_new_of(r->arena, Tabella__RunRequest, 1);
    if (q == NULL)
        return tab_no_memory(err);
    tabella__run_request__init(q);
    q->n_sources = x->n;
    q->sources = x->source;
    q->options = x->options;
    q->told_as = r->progress != NULL ? STR(x->run_id) : STR("");
    tab_ask ask = { .service = "inference",
                    .method = "Run",
                    .in = &q->base,
                    .tables = x->body.tables,
                    .n_tables = x->body.n_tables,
                    .deadline = x->until,
                    .gone = &r->gone,
                    .tell_begun = true,
                    .reply = &tabella__run_reply__descriptor };
    progress_begin(r, x->run_id);
    (void)tab_rpc_await(r->api->rpc, &r->gone, tab_within_ms(x->until, NATS_MS));
    if (call_start(r, &ask, answered, x, err))
        return PARKED;
    concurrency_release(r->api, &x->place, x->place.n);
    return err->status == TAB_CANCELLED ? as_job(r, x, false, err) : err->status;
}

tab_status post_run(request *r, tab_error *err)
{
    run *x = tab_arena_new_of(r->arena, run, 1);
    if (x == NULL)
        return tab_no_memory(err);
    x->r = r;
    tab_status s = read_shape(r, x, err);
    if (s == TAB_OK && !r->dry_run)
        s = idempotency_begin(r, err);
    if (s != TAB_OK || r->replayed)
        return s;
    request_body_drop(r);
    /* From the key's seed, so that a second attempt after a crash is the same run. */
    x->run_id = tab_arena_printf(r->arena, "run_%s", r->seed);
    x->job_id = tab_arena_printf(r->arena, "job_%s", r->seed);
    x->report_id = request_id_hex(r, "r_").p;
    x->source = tab_arena_new_of(r->arena, Tabella__TableSource *, 65);
    if (x->run_id == NULL || x->job_id == NULL || x->report_id == NULL || x->source == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < x->body.n_tables; i++)
        if (add_source(r, x, x->body.tables[i]->id, "", "", "") == NULL)
            return tab_no_memory(err);
    x->cells = x->body.cells;
    x->rows = x->body.rows;
    s = check_out(r, x, err);
    if (s == TAB_OK)
        s = resolve(r, x, err);
    if (s == TAB_OK)
        s = base_check(r, &x->options->base_model, err);
    x->feed = x->n > 1 ? "multi_table" : "single_table";
    bool known = false;
    if (s == TAB_OK)
        s = known_job(r, x, &known, err);
    if (s != TAB_OK && r->dry_run)
        return dry_run_drop(r, x->n_refs, x->job_id, s);
    if (s != TAB_OK || known)
        return s;
    if (x->cells > (uint64_t)r->api->cfg.run_cells)
        return tab_fail(err, TAB_VALIDATION, x->n_refs > 0 ? "data" : "tables",
                        "a run can have at most %lld cells", (long long)r->api->cfg.run_cells);
    uint64_t made = 0;
    s = horizon_cells(r, &x->body, x->options, x->source, x->n, x->cells, &made, err);
    if (s != TAB_OK)
        return r->dry_run ? dry_run_drop(r, x->n_refs, x->job_id, s) : s;
    x->cells += made;
    bool job = x->batch || x->out.n > 0 || x->cells > (uint64_t)r->api->cfg.inline_cells;
    if (job || r->dry_run) /* inline the pass tells at once */
        s = target_check(r, &x->body, x->options, x->source, x->n, err);
    price(x);
    if (s == TAB_OK && r->dry_run)
        s = dry_run_answer(r, &x->cost, err);
    if (r->dry_run)
        return dry_run_drop(r, x->n_refs, x->job_id, s);
    if (s == TAB_OK)
        s = reserve(r, x, job, err);
    if (s == TAB_OK)
        s = cells_debit(r, x->cells, false, err);
    if (s != TAB_OK)
        return unreserve(r, x, s);
    x->until = r->began + 1000 * r->api->cfg.inline_s;
    if (!job && tab_left_ms(x->until, 1) > 0 && concurrency_take(r, &x->place, 1, x->until))
        return unreserve(r, x, inline_run(r, x, err));
    r->retry_after = 0;
    if (!job)
        s = target_check(r, &x->body, x->options, x->source, x->n, err);
    return unreserve(r, x, s == TAB_OK ? as_job(r, x, false, err) : s);
}
