/* A sector's tables as datasets: the engine makes each, data-connector takes it in under the call's
 * ingest id, one after another so that no two lie in memory at once. All or nothing: what was taken in
 * before a failure is deleted again. */
#include "services/inference/engine/generate/generate.h"

#include <stdio.h>

#include "proto/data.pb-c.h"
#include "services/inference/inference.h"

enum { TABLE_CELLS = 50000000 }; /* data-connector takes no larger table */

typedef struct {
    pass p;
    tab_call *call;
    const tab_generator *g;
    size_t tables;
    tab_status s;
    tab_error *err;
} work;

/* What there will be: names, sizes, columns. */
static tab_status describe(const tab_generator *g, const Tabella__GenerateRequest *q, tab_arena *a,
                           Tabella__GenerateReply *y, tab_error *err)
{
    size_t n = q->linked ? tab_generate_tables(g) : 1;
    uint64_t most = q->most_cells > 0 ? q->most_cells : UINT64_MAX;
    y->tables = tab_arena_new_of(a, Tabella__GeneratedTable *, n);
    if (y->tables == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const tab_generated_table *t = tab_generate_table(g, i);
        Tabella__GeneratedTable *m = tab_arena_new_of(a, Tabella__GeneratedTable, 1);
        char **column = tab_arena_new_of(a, char *, t->cols);
        if (m == NULL || column == NULL)
            return tab_no_memory(err);
        tabella__generated_table__init(m);
        m->name = i == 0 && q->name[0] != 0 ? q->name : tab_arena_printf(a, "%.*s", TAB_STR(t->name));
        m->rows = t->rows;
        m->columns = column;
        for (size_t k = 0; k < t->cols; k++)
            column[m->n_columns++] = tab_arena_printf(a, "%.*s", TAB_STR(t->col[k].name));
        y->tables[y->n_tables++] = m;
        y->cells += t->rows * t->cols; /* at most 10^11 rows of 64 columns */
        if (t->rows * t->cols > TABLE_CELLS || y->cells > most)
            return tab_fail(err, TAB_VALIDATION, "rows",
                            "this many rows exceed the %llu cells that one request can generate",
                            (unsigned long long)(most < TABLE_CELLS ? most : TABLE_CELLS));
    }
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

static tab_status ask(work *w, const char *method, const ProtobufCMessage *in, const tab_table *const *table,
                      const ProtobufCMessageDescriptor *reply, const void **ret, tab_error *err)
{
    tab_ask x = { .service = "data-connector",
                  .method = method,
                  .in = in,
                  .tables = table,
                  .n_tables = table == NULL ? 0 : 1,
                  .reply = reply,
                  .arena = w->call->arena };
    tab_answer answer = { 0 };
    tab_ask_inherit(&x, w->call);
    tab_status s = tab_rpc_call(w->p.self->rpc, &x, &answer, err);
    if (s == TAB_OK)
        *ret = answer.msg;
    return s;
}

static tab_status make_one(work *w, size_t i)
{
    const Tabella__GenerateRequest *q = w->call->in;
    Tabella__GenerateReply *y = w->call->out;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    const tab_table *t = NULL;
    const void *msg = NULL;
    if (a == NULL)
        return tab_no_memory(w->err);
    TAB_TRY(tab_generate_build(a, w->g, i, 0, y->tables[i]->rows, &w->p.cancel, &t, w->err));
    Tabella__IngestRequest in = TABELLA__INGEST_REQUEST__INIT;
    in.ingest_id = tab_arena_printf(w->call->arena, "%s/%zu", q->ingest_id, i);
    in.name = y->tables[i]->name;
    in.source = (char *)"generate";
    if (tab_arena_full(w->call->arena))
        return tab_no_memory(w->err);
    TAB_TRY(ask(w, "Ingest", &in.base, &t, &tabella__ingest_reply__descriptor, &msg, w->err));
    const Tabella__DataObject *d = ((const Tabella__IngestReply *)msg)->dataset;
    if (d == NULL)
        return tab_fail(w->err, TAB_INTERNAL, "", "an ingest without a dataset");
    y->tables[i]->dataset = d->id;
    return TAB_OK;
}

static void take_back(work *w)
{
    Tabella__GenerateReply *y = w->call->out;
    const void *msg = NULL;
    tab_error none;
    for (size_t i = 0; i < y->n_tables; i++) {
        Tabella__DataRequest q = TABELLA__DATA_REQUEST__INIT;
        q.id = y->tables[i]->dataset;
        if (q.id[0] != 0)
            (void)!ask(w, "Delete", &q.base, NULL, &tabella__delete_data_reply__descriptor, &msg, &none);
    }
}

static void compute(void *arg)
{
    work *w = arg;
    Tabella__GenerateReply *y = w->call->out;
    w->s = TAB_OK;
    for (size_t i = 0; i < y->n_tables && w->s == TAB_OK; i++)
        w->s = make_one(w, i);
    if (w->s != TAB_OK)
        take_back(w);
}

tab_status inference_generate(void *arg, tab_call *call, tab_error *err)
{
    inference *self = arg;
    const Tabella__GenerateRequest *q = call->in;
    work w = { .call = call, .err = err };
    tab_generator *g = NULL;
    TAB_TRY(tab_generate_open(call->arena, tab_str_of(q->sector), q->rows, q->seed, &g, err));
    TAB_TRY(describe(g, q, call->arena, call->out, err));
    if (q->ingest_id[0] == 0)
        return TAB_OK;
    w.g = g;
    TAB_TRY(pass_begin(&w.p, self, call, q->call_id, true, err));
    pass_compute(&w.p, compute, &w);
    pass_end(&w.p);
    return pass_status(&w.p, w.s, err);
}
