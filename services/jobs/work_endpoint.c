/* create, refresh and upgrade of an endpoint. Each step may be repeated by another worker under the job's id:
 *
 *   outcomes    data-connector Label, of a refresh that takes them: a snapshot with them
 *   pins        data-connector Acquire: the snapshots of the old state and of the new one
 *   pass        inference Evaluate: bundle and held-out report
 *   stage       what is left to do is written into the job's row; from here the job ends `done`, cancel is
 *               too late
 *   mint        reports Mint, by the id that the job has had from its submission
 *   end         one transaction: endpoint moved, job done, bundle in force, usage event
 *   pins again  a chore: the endpoint's snapshots alone */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "proto/data.pb-c.h"
#include "proto/inference.pb-c.h"
#include "proto/metering.pb-c.h"
#include "services/jobs/columns.h"
#include "services/jobs/work.h"

enum { PASS_MS = 2 * 3600000, CALL_MS = 30000, SYNC_MS = 900000, RESERVE_MS = 2000 };
enum { RESERVED_S = 26 * 3600 }; /* longer than any job of an endpoint */

#define NEW(a, Type, init)                         \
    __extension__({                                \
        Type *m_ = tab_arena_new_of((a), Type, 1); \
        if (m_ != NULL)                            \
            init(m_);                              \
        m_;                                        \
    })

/* ---- data ------------------------------------------------------------------------------------ */

/* Pins these and, while it still serves from them, the endpoint's present ones. */
static tab_status pin(work *w, tab_arena *a, const Tabella__Endpoint *now, Tabella__PinnedDataset *const *d,
                      size_t n, const Tabella__AcquireReply **ret, tab_error *err)
{
    Tabella__AcquireRequest q = TABELLA__ACQUIRE_REQUEST__INIT;
    bool live = strcmp(now->status, "live") == 0;
    q.snapshots = tab_arena_new_of(a, char *, n + now->n_datasets + 1);
    if (q.snapshots == NULL)
        return tab_no_memory(err);
    q.endpoint_id = now->id;
    q.endpoint = now->name;
    for (size_t i = 0; i < n; i++)
        q.snapshots[q.n_snapshots++] = d[i]->snapshot;
    for (size_t i = 0; live && i < now->n_datasets; i++) {
        bool there = false;
        for (size_t k = 0; k < n; k++)
            there |= strcmp(d[k]->snapshot, now->datasets[i]->snapshot) == 0;
        if (!there)
            q.snapshots[q.n_snapshots++] = now->datasets[i]->snapshot;
    }
    const void *msg = NULL;
    tab_status s = work_call(w, "data-connector", "Acquire", CALL_MS, &q.base,
                             &tabella__acquire_reply__descriptor, a, &msg, err);
    if (s == TAB_OK)
        *ret = msg;
    return s;
}

static const Tabella__Resolved *resolved(const Tabella__AcquireReply *y, const char *snapshot)
{
    for (size_t i = 0; y != NULL && i < y->n_tables; i++)
        if (strcmp(y->tables[i]->snapshot, snapshot) == 0)
            return y->tables[i];
    return NULL;
}

/* The newest snapshot of a dataset: synced first where a connection feeds it. */
static tab_status newest(work *w, tab_arena *a, size_t i, Tabella__PinnedDataset *d, tab_error *err)
{
    Tabella__DataRequest get = TABELLA__DATA_REQUEST__INIT;
    const void *msg = NULL;
    get.id = d->dataset;
    tab_status s = work_call(w, "data-connector", "Get", CALL_MS, &get.base,
                             &tabella__data_object__descriptor, a, &msg, err);
    if (s != TAB_OK)
        return s;
    const Tabella__DataObject *o = msg;
    d->snapshot = o->snapshot;
    if (strcmp(o->source, "upload") == 0 || strcmp(o->source, "generate") == 0)
        return TAB_OK;
    Tabella__SyncRequest sync = TABELLA__SYNC_REQUEST__INIT;
    char id[TAB_ID + 32];
    snprintf(id, sizeof id, "%s:%zu", w->c->job_id, i); /* a step that is repeated syncs no second time */
    sync.id = d->dataset;
    sync.sync_id = id;
    sync.actor = (char *)w->c->key_id;
    s = work_call(w, "data-connector", "Sync", SYNC_MS, &sync.base, &tabella__sync_reply__descriptor, a, &msg,
                  err);
    if (s == TAB_VALIDATION &&
        strcmp(err->param, "id") == 0) /* its connection was deleted: its last snapshot */
        return TAB_OK;
    if (s == TAB_OK) {
        d->snapshot = ((const Tabella__SyncReply *)msg)->snapshot;
        return TAB_OK;
    }
    tab_error why = *err;
    w->unread = s != TAB_CANCELLED;
    return s == TAB_CANCELLED
               ? s
               : tab_fail(err, s, "", "%.60s cannot be read; the endpoint keeps its current data: %s",
                          o->name, why.message);
}

/* Columns that callers send must be in the new snapshot too, unless the refresh was told that they need
 * not. */
static tab_status accept_columns(work *w, tab_arena *a, const Tabella__Endpoint *e,
                                 const Tabella__PinnedDataset *d, const Tabella__RowDiff *diff,
                                 tab_error *err)
{
    const Tabella__RefreshRequest *q =
        tab_proto_read(a, &tabella__refresh_request__descriptor, w->c->request);
    const Tabella__SchemaChange *x = schema_change(a, d, diff);
    if (q == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "the job's request cannot be read");
    if (x == NULL)
        return tab_no_memory(err);
    tab_status s = columns_accepted(x, e, q->accept_schema, err);
    w->unread = s != TAB_OK; /* what was read is not taken */
    return s;
}

static tab_status add_diff(work *w, tab_arena *a, const Tabella__Endpoint *e, size_t i, const char *to,
                           Tabella__Diff *sum, refresh_cells *cells, const Tabella__Resolved *r,
                           tab_error *err)
{
    Tabella__DiffRequest q = TABELLA__DIFF_REQUEST__INIT;
    const void *msg = NULL;
    q.from = e->datasets[i]->snapshot;
    q.to = (char *)to;
    tab_status s = work_call(w, "data-connector", "Diff", SYNC_MS, &q.base, &tabella__diff_reply__descriptor,
                             a, &msg, err);
    const Tabella__DiffReply *y = msg;
    if (s != TAB_OK || y->diff == NULL)
        return s;
    TAB_TRY(accept_columns(w, a, e, e->datasets[i], y->diff, err));
    sum->rows_added += y->diff->rows_added;
    sum->rows_changed += y->diff->rows_changed;
    sum->rows_removed += y->diff->rows_removed;
    sum->rows_unchanged += y->diff->rows_unchanged;
    refresh_cells_add(cells, y->diff, r == NULL ? 0 : r->cols);
    return TAB_OK;
}

/* ---- pass and report ------------------------------------------------------------------------- */

static tab_status evaluate(work *w, tab_arena *a, const Tabella__Endpoint *e, uint64_t seed,
                           const Tabella__EvaluateReply **ret, tab_error *err)
{
    Tabella__EvaluateRequest q = TABELLA__EVALUATE_REQUEST__INIT;
    Tabella__RunOptions options = TABELLA__RUN_OPTIONS__INIT;
    if (e->options != NULL)
        options = *e->options;
    options.base_model = e->base_model;
    q.options = &options;
    q.seed = seed;
    q.call_id = w->call_id;
    q.alone = w->c->suspect;
    TAB_TRY(endpoint_sources(a, e, &q.sources, &q.n_sources, err));
    Tabella__ServeState keep = TABELLA__SERVE_STATE__INIT;
    keep.endpoint_id = e->id;
    keep.config_revision = e->config_revision;
    keep.data_revision = e->data_revision;
    q.keep = &keep;
    Tabella__PieceOwner owner = TABELLA__PIECE_OWNER__INIT;
    TAB_TRY(work_pieces(w, &owner, err));
    q.pieces = &owner;
    const void *msg = NULL;
    work_phase(w, "evaluating", 0.05, 0.95);
    tab_status s = work_call(w, "inference", "Evaluate", PASS_MS, &q.base,
                             &tabella__evaluate_reply__descriptor, a, &msg, err);
    if (s == TAB_OK)
        *ret = msg;
    if (s == TAB_OK && (*ret)->bundle == NULL)
        s = tab_fail(err, TAB_INTERNAL, "", "a pass without a bundle");
    return s;
}

static Tabella__Report *report_of(const work *w, tab_arena *a, const Tabella__Endpoint *e,
                                  const Tabella__EvaluateReply *y, const Tabella__AcquireReply *pins)
{
    Tabella__Report *r = NEW(a, Tabella__Report, tabella__report__init);
    Tabella__ReportData *d = NEW(a, Tabella__ReportData, tabella__report_data__init);
    if (r == NULL || d == NULL)
        return NULL;
    r->id = (char *)w->c->report_id;
    r->endpoint = e->name;
    r->endpoint_id = e->id;
    r->kind = (char *)w->c->kind;
    r->base_model = e->base_model;
    r->data = d;
    r->held_out = y->held_out;
    size_t which = y->bundle->prediction == NULL ? 0 : y->bundle->prediction->table;
    if (which >= e->n_datasets)
        which = 0;
    d->snapshots = tab_arena_new_of(a, char *, e->n_datasets + 1);
    for (size_t i = 0; d->snapshots != NULL && i < e->n_datasets; i++)
        d->snapshots[d->n_snapshots++] = e->datasets[i]->snapshot;
    if (e->n_datasets > 0) {
        const Tabella__Resolved *t = resolved(pins, e->datasets[which]->snapshot);
        d->snapshot = e->datasets[which]->snapshot;
        d->version_us = t == NULL ? 0 : t->snapshot_at;
        d->rows = t == NULL ? 0 : t->rows;
    }
    if (y->held_out != NULL) {
        r->task = y->held_out->task;
        r->classes = y->held_out->classes;
        r->n_classes = y->held_out->n_classes;
        if (y->held_out->target != NULL) {
            tab_str t = tab_arena_copy(a, (tab_str){ (const char *)y->held_out->target->address.data,
                                                     y->held_out->target->address.len });
            r->target = t.p == NULL ? r->target : (char *)t.p;
        }
        r->estimate_note = (char *)"The held-out figure is an estimate made when this state was created, "
                                   "on rows of the same snapshot that were not used for fitting; "
                                   "serving uses the whole snapshot.";
    }
    if (y->bundle->cross_table_map != NULL) {
        r->column_alignment = y->bundle->cross_table_map->column_alignment;
        r->n_column_alignment = y->bundle->cross_table_map->n_column_alignment;
    }
    return r;
}

/* ---- staging and the end --------------------------------------------------------------------- */

static tab_status stage(work *w, tab_arena *a, const Tabella__Staged *g, const Tabella__EvaluateReply *y,
                        tab_error *err)
{
    tab_str bytes = tab_proto_write(a, &g->base);
    if (bytes.p == NULL)
        return tab_no_memory(err);
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    const jobs_claimed *c = w->c;
    tab_status s = work_begin(w, 120000, &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(
            tx, &rows, err,
            "UPDATE jobs.job "
            "SET staged = $4 "
            "WHERE org = $1 AND job_id = $2 AND attempt = $3 AND status = 'running' "
            "RETURNING 1",
            TAB_P(tab_p_text(c->org), tab_p_text(c->job_id), tab_p_int(c->attempt), tab_p_bytes(bytes)));
    if (s == TAB_OK && tab_rows_count(rows) == 0) {
        atomic_store(&w->lost, true);
        return tab_fail(err, TAB_CANCELLED, "", "the lease of this attempt is gone");
    }
    if (s == TAB_OK)
        s = work_output(w, tx, y->bundle, y->in_pieces, NULL, err);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

/* What the log adds of outcomes that a refresh took. */
static const char *with_outcomes(tab_arena *a, const Tabella__JobResult *r)
{
    const Tabella__OutcomesUsed *o = r->outcomes;
    const char *said = o == NULL
                           ? ""
                           : tab_arena_printf(a, "; of outcomes %llu new rows, %llu labels",
                                              (unsigned long long)o->added, (unsigned long long)o->labelled);
    return said == NULL ? "" : said;
}

/* Everything that the report's content hash covers is in `g`; the same again mints the same report. */
static tab_status end(work *w, tab_arena *a, Tabella__Staged *g, tab_error *err)
{
    const jobs_claimed *c = w->c;
    Tabella__MintRequest q = TABELLA__MINT_REQUEST__INIT;
    q.report = g->report;
    const void *msg = NULL;
    work_phase(w, "reporting", 0.97, 0.99);
    tab_status s =
        work_call(w, "reports", "Mint", CALL_MS, &q.base, &tabella__report__descriptor, a, &msg, err);
    if (s != TAB_OK)
        return s;
    const Tabella__Report *minted = msg;

    TAB_AUTO(tab_tx) *tx = NULL;
    Tabella__Endpoint *now = NULL;
    state_forget(w->self, c->org, g->endpoint);
    if ((s = work_begin(w, 60000, &tx, err)) != TAB_OK)
        return s;
    s = endpoint_get(tx, a, c->org, c->endpoint_id, true, &now, err);
    if (s == TAB_NOT_FOUND)
        return tab_fail(err, TAB_NOT_FOUND, "", "the endpoint was deleted");
    if (s != TAB_OK)
        return s;
    Tabella__Endpoint next = *g->endpoint;
    next.name = now->name; /* renamed and its fragments edited while the job ran: kept */
    next.system_prompts = now->system_prompts;
    next.n_system_prompts = now->n_system_prompts;
    next.config_revision = now->config_revision;
    next.adapt = now->adapt;
    next.report = minted->name;
    next.report_id = minted->id;
    next.status = (char *)"live";
    g->result->report = minted->name;
    g->result->endpoint = now->name;
    jobs_end done = { .status = "done", .result = g->result };
    char event[32];
    snprintf(event, sizeof event, "%s.done", c->kind);
    if ((s = jobs_finish(tx, c, &done, err)) == TAB_OK &&
        (s = endpoint_put(tx, a, c->org, &next, c->job_id, err)) == TAB_OK &&
        (s = jobs_bill(tx, c, g->done, err)) == TAB_OK &&
        (s = endpoint_log(tx, c->org, c->endpoint_id, event, c->job_id, c->key_id, err, "report %s%s",
                          minted->name, with_outcomes(a, g->result))) == TAB_OK &&
        (s = tab_tx_query(tx, NULL, err, "INSERT INTO jobs.chore (org, kind, owner) VALUES ($1, 'pins', $2)",
                          TAB_P(tab_p_text(c->org), tab_p_text(c->endpoint_id)))) == TAB_OK)
        s = tab_tx_commit(&tx, err);
    if (s == TAB_OK) {
        next.state_version = now->state_version + 1;
        state_show(w->self, c->org, &next);
        jobs_wake(w->self);
    }
    return s;
}

/* ---- the three kinds ------------------------------------------------------------------------- */

static void bill(Tabella__WorkDone *d, tab_arena *a, const char *op, uint64_t cells)
{
    if (d->usage == NULL)
        d->usage = tab_arena_new_of(a, Tabella__UsageLine *, 4);
    Tabella__UsageLine *l = NEW(a, Tabella__UsageLine, tabella__usage_line__init);
    if (d->usage == NULL || l == NULL || cells == 0)
        return;
    l->op = (char *)op;
    l->cells = cells;
    d->usage[d->n_usage++] = l;
}

typedef struct {
    Tabella__WorkDone *d;
    tab_arena *a;
} bill_of;

static void bill_line(void *to, const char *op, uint64_t cells)
{
    bill_of *b = to;
    bill(b->d, b->a, op, cells);
}

/* What a job does to its endpoint. */
typedef struct {
    bool refresh, upgrade; /* neither: create */
    const Tabella__Endpoint *now;
    Tabella__Endpoint *next; /* a copy, with datasets of its own */
    const Tabella__AcquireReply *pins;
    refresh_cells cells;
    uint64_t made;                   /* cells of the rows that options.horizon makes */
    Tabella__OutcomesUsed *outcomes; /* by a refresh that takes them */
} change;

static tab_status read_endpoint(work *w, tab_arena *a, change *x, tab_error *err)
{
    const jobs_claimed *c = w->c;
    TAB_AUTO(tab_tx) *tx = NULL;
    Tabella__Endpoint *e = NULL;
    TAB_TRY(tab_tx_begin(w->self->pg, c->org, tab_in_ms(10000), &tx, err));
    TAB_TRY(endpoint_get(tx, a, c->org, c->endpoint_id, false, &e, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    Tabella__Endpoint *next = tab_arena_new_of(a, Tabella__Endpoint, 1);
    Tabella__PinnedDataset *d = tab_arena_new_of(a, Tabella__PinnedDataset, e->n_datasets + 1);
    Tabella__PinnedDataset **list = tab_arena_new_of(a, Tabella__PinnedDataset *, e->n_datasets + 1);
    if (next == NULL || d == NULL || list == NULL)
        return tab_no_memory(err);
    *next = *e;
    next->datasets = list;
    for (size_t i = 0; i < e->n_datasets; i++) {
        d[i] = *e->datasets[i];
        list[i] = &d[i];
    }
    x->refresh = strcmp(c->work, "refresh") == 0;
    x->upgrade = strcmp(c->work, "upgrade") == 0;
    x->now = e;
    x->next = next;
    return TAB_OK;
}

/* The snapshots of the new state, pinned; of a refresh the newest, and what differs from the old ones. */
static tab_status pin_data(work *w, tab_arena *a, change *x, tab_error *err)
{
    const Tabella__Endpoint *e = x->now;
    Tabella__Endpoint *next = x->next;
    Tabella__PinnedDataset *const *d = next->datasets;
    work_phase(w, x->refresh ? "syncing" : "pinning", 0.01, 0.05);
    next->read_us = x->upgrade ? next->read_us : tab_now_us();
    if (x->refresh)
        next->stale_job = next->stale_reason = (char *)"";
    for (size_t i = 0; x->refresh && i < e->n_datasets; i++) {
        TAB_TRY(newest(w, a, i, d[i], err));
    }
    if (x->refresh)
        TAB_TRY(work_outcomes(w, a, e, d, &x->outcomes, err));
    TAB_TRY(pin(w, a, e, d, next->n_datasets, &x->pins, err));
    if (x->refresh) {
        next->diff = NEW(a, Tabella__Diff, tabella__diff__init);
        if (next->diff == NULL)
            return tab_no_memory(err);
        for (size_t i = 0; i < e->n_datasets; i++)
            TAB_TRY(add_diff(w, a, e, i, d[i]->snapshot, next->diff, &x->cells,
                             resolved(x->pins, d[i]->snapshot), err));
    }
    next->pinned_cells = 0;
    for (size_t i = 0; i < e->n_datasets; i++) {
        const Tabella__Resolved *r = resolved(x->pins, d[i]->snapshot);
        d[i]->pinned = true;
        next->pinned_cells += r == NULL ? 0 : r->rows * r->cols;
    }
    next->snapshot = e->n_datasets > 0 ? d[0]->snapshot : next->snapshot;
    return TAB_OK;
}

/* Steps ahead are billed as rows of the data (decision 0394): as new ones of a refresh, which gives them
 * anew. */
static tab_status count_horizon(work *w, tab_arena *a, change *x, tab_error *err)
{
    const Tabella__Endpoint *e = x->next;
    Tabella__HorizonRequest q = TABELLA__HORIZON_REQUEST__INIT;
    const void *msg = NULL;
    if (e->options == NULL || e->options->horizon == 0)
        return TAB_OK;
    Tabella__RunOptions options = *e->options;
    options.base_model = e->base_model;
    q.options = &options;
    TAB_TRY(endpoint_sources(a, e, &q.sources, &q.n_sources, err));
    TAB_TRY(work_call(w, "inference", "Horizon", PASS_MS, &q.base, &tabella__horizon_reply__descriptor, a,
                      &msg, err));
    x->made = ((const Tabella__HorizonReply *)msg)->cells;
    x->cells.fresh += x->refresh ? x->made : 0;
    return TAB_OK;
}

/* A refresh reserves what it will bill, now that it is known, in place of what it was let in for: at least
 * what stays, at the cached rate (decision 0355). While metering is away the work goes on (0238). */
static tab_status reserve(work *w, tab_arena *a, const change *x, tab_error *err)
{
    Tabella__WorkDone lines = TABELLA__WORK_DONE__INIT;
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    const void *msg = NULL;
    refresh_bill(&x->cells, bill_line, &(bill_of){ &lines, a });
    q.id = tab_arena_printf(a, "job/%s", w->c->job_id);
    if (q.id == NULL)
        return tab_no_memory(err);
    if (!x->refresh || lines.n_usage == 0)
        return TAB_OK;
    q.usage = lines.usage;
    q.n_usage = lines.n_usage;
    q.lease_s = RESERVED_S;
    tab_error away;
    tab_status s = work_call(w, "metering", "Reserve", RESERVE_MS, &q.base,
                             &tabella__reserve_reply__descriptor, a, &msg, &away);
    if (s == TAB_UNAVAILABLE || (s == TAB_CANCELLED && !atomic_load(&w->gone)))
        return TAB_OK;
    if (s != TAB_OK) {
        *err = away;
        return s;
    }
    const Tabella__ReserveReply *y = msg;
    return y->allowed ? TAB_OK : tab_fail(err, TAB_VALIDATION, "", "%s", y->message);
}

/* The base of the new state, and the seed of its held-out split: 0, a split by what the rows hold, but one
 * split for two bases that are to be compared. */
static tab_status choose_base(const work *w, tab_arena *a, change *x, uint64_t *ret_seed, tab_error *err)
{
    *ret_seed = 0;
    if (!x->upgrade)
        return TAB_OK;
    const Tabella__UpgradeRequest *q =
        tab_proto_read(a, &tabella__upgrade_request__descriptor, w->c->request);
    if (q == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "the job's request cannot be read");
    x->next->base_model = q->base_model;
    if (x->now->held_out != NULL)
        *ret_seed = x->now->held_out->seed;
    return TAB_OK;
}

/* What an upgrade says of the state before it, in the job's result and in the report. */
static tab_status compare(tab_arena *a, const change *x, Tabella__Staged *g, tab_error *err)
{
    const Tabella__Endpoint *e = x->now;
    const Tabella__HeldOut *before = e->held_out, *after = x->next->held_out;
    Tabella__JobResult *r = g->result;
    r->previous_base = e->base_model;
    r->previous_held_out = e->held_out;
    if (after == NULL || before == NULL)
        return TAB_OK;
    Tabella__ReportPrevious *p = NEW(a, Tabella__ReportPrevious, tabella__report_previous__init);
    if (p == NULL)
        return tab_no_memory(err);
    r->has_delta = true;
    r->delta = after->score - before->score;
    p->report_id = e->report_id;
    p->base_model = e->base_model;
    p->score = before->score;
    p->delta = r->delta;
    g->report->previous = p;
    return TAB_OK;
}

/* The job's result and its bill. */
static tab_status conclude(const work *w, tab_arena *a, const change *x, Tabella__Staged *g, tab_error *err)
{
    const Tabella__Endpoint *next = x->next;
    Tabella__JobResult *r = g->result;
    r->endpoint_id = next->id;
    r->report_id = (char *)w->c->report_id;
    r->held_out = next->held_out;
    r->data_snapshot = next->data_snapshot;
    r->data_version_us = next->data_version_us;
    r->base_model = next->base_model;
    r->feed = next->feed;
    g->done->base_model = next->base_model;
    g->done->tables = (uint32_t)next->n_datasets;
    if (x->refresh) {
        r->snapshot = next->snapshot;
        r->previous_snapshot = x->now->snapshot;
        r->diff = next->diff;
        r->outcomes = x->outcomes;
        refresh_bill(&x->cells, bill_line, &(bill_of){ g->done, a });
    } else if (x->upgrade) {
        TAB_TRY(compare(a, x, g, err));
        bill(g->done, a, "cached", next->pinned_cells + x->made);
    } else {
        bill(g->done, a, "create", next->pinned_cells + x->made);
    }
    return TAB_OK;
}

static tab_status prepare(work *w, tab_arena *a, Tabella__Staged *g, const Tabella__EvaluateReply **ret,
                          tab_error *err)
{
    change x = { 0 };
    uint64_t seed;
    const Tabella__EvaluateReply *y = NULL;
    TAB_TRY(read_endpoint(w, a, &x, err));
    TAB_TRY(pin_data(w, a, &x, err));
    TAB_TRY(choose_base(w, a, &x, &seed, err));
    TAB_TRY(count_horizon(w, a, &x, err));
    TAB_TRY(reserve(w, a, &x, err));
    Tabella__Endpoint *next = x.next;
    next->data_revision = x.now->data_revision + (x.refresh ? 1 : 0);
    TAB_TRY(evaluate(w, a, next, seed, &y, err));
    next->base_model = y->base_model;
    next->held_out = y->held_out;
    g->endpoint = next;
    g->report = report_of(w, a, next, y, x.pins);
    g->result = NEW(a, Tabella__JobResult, tabella__job_result__init);
    g->done = NEW(a, Tabella__WorkDone, tabella__work_done__init);
    if (g->report == NULL || g->result == NULL || g->done == NULL)
        return tab_no_memory(err);
    next->data_snapshot = g->report->data->snapshot;
    next->data_version_us = g->report->data->version_us;
    TAB_TRY(conclude(w, a, &x, g, err));
    *ret = y;
    return TAB_OK;
}

tab_status work_endpoint(work *w, tab_arena *a, tab_error *err)
{
    Tabella__Staged *g = NULL, fresh = TABELLA__STAGED__INIT;
    tab_status s = TAB_OK;
    if (w->c->staged.n > 0) {
        g = tab_proto_read(a, &tabella__staged__descriptor, w->c->staged);
        if (g == NULL || g->endpoint == NULL || g->report == NULL || g->result == NULL || g->done == NULL)
            return tab_fail(err, TAB_INTERNAL, "", "the job's staged state cannot be read");
    } else {
        const Tabella__EvaluateReply *y = NULL;
        g = &fresh;
        s = prepare(w, a, g, &y, err);
        if (s == TAB_OK)
            s = stage(w, a, g, y, err);
    }
    if (s == TAB_OK)
        s = end(w, a, g, err);
    if (s == TAB_OK)
        return TAB_OK;
    if (s == TAB_CANCELLED) /* the lease may be gone: then nothing is left to settle */
        return atomic_load(&w->lost) ? TAB_OK : s;
    return s;
}
