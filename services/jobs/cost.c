/* What a refresh bills: a row that was added or changed at the rate of `refresh`, one that stayed at the
 * cached one. The job counts it for its bill, and `RefreshCost` for who asks before. */
#include <assert.h>
#include <stdio.h>

#include "common/base/proto.h"
#include "proto/inference.pb-c.h"
#include "services/jobs/jobs.h"

enum { READ_MS = 60000, DIFF_MS = 60000, LINES = 2 };

void refresh_cells_add(refresh_cells *c, const Tabella__RowDiff *d, uint64_t cols)
{
    c->fresh += (d->rows_added + d->rows_changed) * cols;
    c->kept += d->rows_unchanged * cols;
}

bool refresh_reads_source(const char *source)
{
    return strcmp(source, "upload") != 0 && strcmp(source, "generate") != 0;
}

void refresh_bill(const refresh_cells *c, void (*add)(void *to, const char *op, uint64_t cells), void *to)
{
    if (c->fresh > 0)
        add(to, "refresh", c->fresh);
    if (c->kept > 0)
        add(to, "cached", c->kept);
}

Tabella__SchemaChange *schema_change(tab_arena *a, const Tabella__PinnedDataset *d,
                                     const Tabella__RowDiff *diff)
{
    Tabella__SchemaChange *x = tab_arena_new_of(a, Tabella__SchemaChange, 1);
    if (x == NULL)
        return NULL;
    tabella__schema_change__init(x);
    x->dataset = d->dataset;
    x->name = d->table_id.len > 0
                  ? (char *)tab_arena_copy(a, (tab_str){ (const char *)d->table_id.data, d->table_id.len }).p
                  : d->name;
    x->removed = diff->columns_removed;
    x->n_removed = diff->n_columns_removed;
    x->added = diff->columns_added;
    x->n_added = diff->n_columns_added;
    x->retyped = diff->types_changed;
    x->n_retyped = diff->n_types_changed;
    return x;
}

static tab_status ask_of(jobs *self, tab_call *call, const char *service, const char *method,
                         const ProtobufCMessage *in, const ProtobufCMessageDescriptor *reply, int64_t ms,
                         const void **ret, tab_error *err)
{
    tab_ask ask = { .service = service,
                    .method = method,
                    .org = call->org,
                    .request_id = call->request_id,
                    .actor = call->actor,
                    .deadline = tab_within_ms(call->deadline, ms),
                    .in = in,
                    .reply = reply,
                    .arena = call->arena,
                    .gone = call->cancel };
    tab_answer answer = { 0 };
    tab_status s = tab_rpc_call(self->rpc, &ask, &answer, err);
    if (s == TAB_OK)
        *ret = answer.msg;
    return s;
}

static tab_status ask_data(jobs *self, tab_call *call, const char *method, const ProtobufCMessage *in,
                           const ProtobufCMessageDescriptor *reply, int64_t ms, const void **ret,
                           tab_error *err)
{
    return ask_of(self, call, "data-connector", method, in, reply, ms, ret, err);
}

/* The rows that a refresh would move to: of a connection read now, into a snapshot that owner drops. */
static tab_status newest(jobs *self, tab_call *call, const Tabella__PinnedDataset *d, char *owner,
                         const Tabella__Resolved **ret, tab_error *err)
{
    Tabella__DataRequest get = TABELLA__DATA_REQUEST__INIT;
    Tabella__ResolveRequest q = TABELLA__RESOLVE_REQUEST__INIT;
    const void *msg = NULL;
    char *ref = d->dataset;
    get.id = d->dataset;
    TAB_TRY(ask_data(self, call, "Get", &get.base, &tabella__data_object__descriptor, READ_MS, &msg, err));
    const Tabella__DataObject *o = msg;
    bool fed = refresh_reads_source(o->source);
    q.n_refs = 1;
    q.refs = fed ? (char *[]){ o->source } : &ref;
    q.owner = owner;
    q.peek = true;
    tab_status s =
        ask_data(self, call, "Resolve", &q.base, &tabella__resolve_reply__descriptor, READ_MS, &msg, err);
    if (fed && s == TAB_NOT_FOUND) { /* its connection was deleted: its last snapshot is used */
        q.refs = &ref;
        s = ask_data(self, call, "Resolve", &q.base, &tabella__resolve_reply__descriptor, READ_MS, &msg, err);
    }
    if (s != TAB_OK)
        return s;
    const Tabella__ResolveReply *y = msg;
    if (y->n_tables != 1)
        return tab_fail(err, TAB_INTERNAL, "", "a reference that stands for nothing");
    *ret = y->tables[0];
    return TAB_OK;
}

/* source: becomes the table as the refresh would pin it. */
static tab_status add_dataset(jobs *self, tab_call *call, const Tabella__Endpoint *e, size_t i,
                              Tabella__TableSource *source, refresh_cells *c, Tabella__RefreshCost *cost,
                              tab_error *err)
{
    Tabella__DiffRequest q = TABELLA__DIFF_REQUEST__INIT;
    const Tabella__RefreshRequest *asked = call->in;
    const Tabella__PinnedDataset *d = e->datasets[i];
    const Tabella__Resolved *r = NULL;
    const void *msg = NULL;
    TAB_TRY(newest(self, call, d, asked->job_id, &r, err));
    source->id = d->table_id;
    source->dataset = d->dataset;
    source->snapshot = r->snapshot;
    if (asked->use_outcomes)
        TAB_TRY(outcomes_dry(self, call, e, i, asked->job_id, &source->snapshot, err));
    q.from = d->snapshot;
    q.to = source->snapshot;
    TAB_TRY(ask_data(self, call, "Diff", &q.base, &tabella__diff_reply__descriptor, DIFF_MS, &msg, err));
    const Tabella__DiffReply *y = msg;
    if (y->diff != NULL)
        refresh_cells_add(c, y->diff, r->cols);
    Tabella__SchemaChange *x = y->diff == NULL ? NULL : schema_change(call->arena, d, y->diff);
    if (x != NULL && x->n_removed + x->n_added + x->n_retyped > 0)
        cost->schema[cost->n_schema++] = x;
    return TAB_OK;
}

/* Steps ahead of the newest rows, which the refresh would bill (decision 0394). */
static tab_status add_horizon(jobs *self, tab_call *call, const Tabella__Endpoint *e,
                              Tabella__TableSource **source, refresh_cells *c, tab_error *err)
{
    Tabella__HorizonRequest q = TABELLA__HORIZON_REQUEST__INIT;
    const void *msg = NULL;
    if (e->options == NULL || e->options->horizon == 0)
        return TAB_OK;
    Tabella__RunOptions options = *e->options;
    options.base_model = e->base_model;
    q.options = &options;
    q.sources = source;
    q.n_sources = e->n_datasets;
    TAB_TRY(ask_of(self, call, "inference", "Horizon", &q.base, &tabella__horizon_reply__descriptor, READ_MS,
                   &msg, err));
    c->fresh += ((const Tabella__HorizonReply *)msg)->cells;
    return TAB_OK;
}

static void line(void *to, const char *op, uint64_t cells)
{
    Tabella__RefreshCost *y = to;
    assert(y->n_usage < LINES && cells > 0);
    y->usage[y->n_usage]->op = (char *)(uintptr_t)op;
    y->usage[y->n_usage++]->cells = cells;
}

tab_status jobs_refresh_cost(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__RefreshRequest *q = call->in;
    Tabella__RefreshCost *y = call->out;
    Tabella__Endpoint *e = NULL;
    refresh_cells cells = { 0 };
    Tabella__UsageLine *l = tab_arena_new_of(call->arena, Tabella__UsageLine, LINES);
    y->usage = tab_arena_new_of(call->arena, Tabella__UsageLine *, LINES);
    if (l == NULL || y->usage == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < LINES; i++) {
        tabella__usage_line__init(&l[i]);
        y->usage[i] = &l[i];
    }
    {
        TAB_AUTO(tab_tx) *tx = NULL;
        TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
        TAB_TRY(endpoint_get(tx, call->arena, call->org, q->id_or_name, false, &e, err));
        TAB_TRY(tab_tx_commit(&tx, err));
    }
    y->schema = tab_arena_new_of(call->arena, Tabella__SchemaChange *, e->n_datasets + 1);
    Tabella__TableSource *source = tab_arena_new_of(call->arena, Tabella__TableSource, e->n_datasets + 1);
    Tabella__TableSource **list = tab_arena_new_of(call->arena, Tabella__TableSource *, e->n_datasets + 1);
    if (y->schema == NULL || source == NULL || list == NULL)
        return tab_no_memory(err);
    tab_status s = TAB_OK;
    for (size_t i = 0; s == TAB_OK && i < e->n_datasets; i++) {
        tabella__table_source__init(&source[i]);
        list[i] = &source[i];
        s = add_dataset(self, call, e, i, list[i], &cells, y, err);
    }
    if (s == TAB_OK)
        s = add_horizon(self, call, e, list, &cells, err);
    Tabella__DropRequest drop = TABELLA__DROP_REQUEST__INIT;
    const void *none = NULL;
    tab_error unheard; /* what is left falls away with its lease */
    drop.owner = q->job_id;
    (void)!ask_data(self, call, "Drop", &drop.base, &tabella__empty__descriptor, READ_MS, &none, &unheard);
    if (s == TAB_OK)
        refresh_bill(&cells, line, y);
    return s;
}
