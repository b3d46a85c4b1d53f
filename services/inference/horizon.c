/* How many rows options.horizon makes of a request's tables, asked before the request is let in: they are
 * billed as if they had been sent (decision 0394). The engine counts them as its pass makes them. */
#include "services/inference/engine/bundle.h"
#include "services/inference/inference.h"

typedef struct {
    pass p;
    tab_call *call;
    tab_run_options options;
    tab_status s;
    tab_error *err;
} work;

static void compute(void *arg)
{
    work *w = arg;
    tab_call *call = w->call;
    const Tabella__HorizonRequest *q = call->in;
    Tabella__HorizonReply *y = call->out;
    const tab_table *const *tables = NULL;
    uint64_t cells;
    size_t table, rows, n = q->n_sources == 0 ? call->n_tables : q->n_sources;
    w->s = sources_load(w->p.self, call, q->sources, q->n_sources, &tables, &cells, w->err);
    if (w->s != TAB_OK)
        return;
    tab_engine e = pass_engine(&w->p, call->arena, 0);
    w->s = tab_horizon_rows(&e, tables, n, &w->options, &table, &rows, w->err);
    if (w->s != TAB_OK)
        return;
    y->rows = rows;
    y->cells = (uint64_t)rows * tables[table]->cols;
}

tab_status inference_horizon(void *arg, tab_call *call, tab_error *err)
{
    inference *self = arg;
    const Tabella__HorizonRequest *q = call->in;
    const char *asked = q->options == NULL ? NULL : q->options->base_model, *base = NULL;
    work w = { .call = call, .err = err };
    TAB_TRY(base_resolve(self, call->org, asked, &base, err));
    TAB_TRY(options_of(call->arena, q->options, base, &w.options, err));
    if (w.options.horizon == 0)
        return TAB_OK;
    TAB_TRY(pass_begin(&w.p, self, call, "", true, err));
    pass_compute(&w.p, compute, &w);
    pass_end(&w.p);
    return pass_status(&w.p, w.s, err);
}
