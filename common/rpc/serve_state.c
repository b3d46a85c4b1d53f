/* See serve_state.h. */
#include "common/rpc/serve_state.h"

tab_status tab_serve_state_of(tab_arena *a, const Tabella__Endpoint *e, Tabella__ServeState *ret,
                              tab_error *err)
{
    tabella__serve_state__init(ret);
    ret->endpoint_id = e->id;
    ret->base_model = e->base_model;
    ret->config_revision = e->config_revision;
    ret->data_revision = e->data_revision;
    /* The endpoint's options stay as they were given; its base is the one it was last moved to. */
    ret->options = tab_arena_new_of(a, Tabella__RunOptions, 1);
    if (ret->options == NULL)
        return tab_no_memory(err);
    tabella__run_options__init(ret->options);
    if (e->options != NULL)
        *ret->options = *e->options;
    ret->options->base_model = e->base_model;
    ret->n_sources = e->n_datasets;
    ret->sources = tab_arena_new_of(a, Tabella__TableSource *, e->n_datasets + 1);
    Tabella__TableSource *t = tab_arena_new_of(a, Tabella__TableSource, e->n_datasets + 1);
    if (ret->sources == NULL || t == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < e->n_datasets; i++) {
        tabella__table_source__init(&t[i]);
        t[i].id = e->datasets[i]->table_id;
        t[i].snapshot = e->datasets[i]->snapshot;
        t[i].dataset = e->datasets[i]->dataset;
        ret->sources[i] = &t[i];
    }
    return TAB_OK;
}
