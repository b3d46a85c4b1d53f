/* The RPC methods of proto/inference.proto. */
#include "services/inference/inference.h"

#include "common/proto.h"

static tab_status run(void *arg, tab_call *call, tab_error *err)
{
    inference *self = arg;
    const Tabella__RunRequest *q = call->in;
    Tabella__RunReply *y = call->out;
    const tab_table *const *tables = NULL;
    const char *base = NULL;
    tab_run_options options;
    pass p;
    tab_status s;
    if ((s = base_resolve(self, q->options == NULL ? NULL : q->options->base_model, &base, err)) != TAB_OK ||
        (s = options_of(q->options, base, &options, err)) != TAB_OK ||
        (s = pass_begin(&p, self, call, q->call_id, true, err)) != TAB_OK)
        return s;
    s = sources_load(self, call, q->sources, q->n_sources, &tables, &y->cells, err);
    if (s == TAB_OK) {
        tab_engine e = pass_engine(&p, call->arena, 0);
        s = tab_engine_run(&e, tables, q->n_sources == 0 ? call->n_tables : q->n_sources, &options, &y->bundle, err);
    }
    pass_end(&p);
    y->base_model = tab_proto_text(call->arena, base);
    return s;
}

static tab_status models(void *arg, tab_call *call, tab_error *err)
{
    const Tabella__ModelsRequest *q = call->in;
    return base_models(arg, call->arena, q->with_retired, call->out, err);
}

static tab_status set_base(void *arg, tab_call *call, tab_error *err)
{
    const Tabella__SetBaseRequest *q = call->in;
    tab_status s = base_set(arg, call, q->base_model, q->retired, err);
    return s == TAB_OK ? base_models(arg, call->arena, true, call->out, err) : s;
}

#define METHOD(name, in, out, fn)                                                                  \
    { name, &tabella__##in##__descriptor, &tabella__##out##__descriptor, fn }

const tab_rpc_method inference_methods[] = {
    METHOD("Run", run_request, run_reply, run),
    METHOD("Serve", serve_request, serve_reply, serve),
    METHOD("Models", models_request, models_reply, models),
    METHOD("SetBase", set_base_request, models_reply, set_base),
    TAB_RPC_METHODS_END,
};
