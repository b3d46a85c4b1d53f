/* POST /v2/serve/:id.
 *
 *   serve_handler.c --> serve_cache.c   the endpoint's row   <--+
 *                   --> serve_limits.c  may it begin         <--+
 *                   --> serve_together.c  asked, answered and billed with calls of the same moment */
#include <stdio.h>
#include <stdlib.h>

#include "services/api/counts.h"
#include "services/api/serve/serve_together.h"

/* On the loop's thread, where the endpoint is known, cells and hold are there, and the call is one to go with
 * others. Any status but PARKED: not so, and nothing has happened. */
tab_status serve_at_once(request *r, tab_error *err)
{
    serve_call *c = tab_arena_new_of(r->arena, serve_call, 1);
    if (c == NULL || body_has_parts(r)) /* files may unfold to much */
        return TAB_UNAVAILABLE;
    TAB_TRY(body_read(r, &c->body, err));
    c->r = r;
    c->row = serve_cache_get(r, c->worker);
    if (c->row == NULL || r->dry_run || tab_json_get(c->body.root, "options") != NULL || !serve_may_join(c))
        return TAB_UNAVAILABLE;
    const char *id = c->row->e->id;
    serve_cost(r, c->row->e, c->body.cells, &c->cost);
    if (!serve_begin(id, r->who.endpoint_concurrency))
        return TAB_UNAVAILABLE;
    int64_t began = tab_mono_us();
    if (cells_take(r, c->body.cells)) {
        if (hold_take(r, &c->cost, &c->drawn)) {
            count_meter(began);
            request_body_drop(r);
            serve_join(c);
            return PARKED;
        }
        cells_untake(r, c->body.cells);
    }
    serve_end(id);
    return TAB_UNAVAILABLE;
}

/* Rows, or the next steps of every pinned series in their place: as many as the call says, or else the
 * endpoint's configuration. *ret: the cells that are answered. */
static tab_status read_question(serve_call *c, uint64_t *ret, tab_error *err)
{
    const Tabella__RunOptions *o = c->row->e->options;
    *ret = c->body.cells;
    if (c->horizon > 0 && c->body.n_tables > 0)
        return tab_fail(err, TAB_VALIDATION, "options.horizon",
                        "a serve call has rows in `tables`, or a horizon in their place");
    if (c->body.n_tables == 0 && c->horizon == 0)
        c->horizon = o == NULL ? 0 : o->horizon;
    if (c->body.n_tables == 0 && c->horizon == 0)
        return tab_fail(err, TAB_VALIDATION, "tables",
                        "a serve call needs at least one table in `tables`, or `options.horizon`");
    return c->horizon == 0 ? TAB_OK : serve_count(c, ret, err);
}

tab_status post_serve(request *r, tab_error *err)
{
    uint64_t cells = 0;
    serve_call *c = tab_arena_new_of(r->arena, serve_call, 1);
    if (c == NULL)
        return tab_no_memory(err);
    tab_status s = body_read(r, &c->body, err);
    if (s != TAB_OK)
        return s;
    TAB_TRY(body_horizon(r, tab_json_get(c->body.root, "options"), &c->horizon, err));
    request_body_drop(r);
    c->r = r;
    c->row = serve_cache_get(r, c->worker);
    if (c->row == NULL) {
        const Tabella__Endpoint *e;
        int64_t asked = tab_mono_ms();
        if ((s = endpoint_of(r, &e, err)) != TAB_OK)
            return s;
        if ((s = endpoint_live(e, err)) != TAB_OK)
            return s;
        if ((c->row = serve_cache_put(r, e, asked)) == NULL)
            return tab_no_memory(err);
    }
    TAB_TRY(read_question(c, &cells, err));
    const char *id = c->row->e->id;
    serve_cost(r, c->row->e, cells, &c->cost);
    if (r->dry_run)
        return dry_run_answer(r, &c->cost, err);
    if (!serve_begin(id, r->who.endpoint_concurrency))
        return serve_too_many(r, err);
    int64_t began = tab_mono_us();
    s = hold_draw(r, &c->cost, &c->drawn, err);
    count_meter(began);
    if (s == TAB_OK)
        s = cells_debit(r, cells, true, err);
    if (s == TAB_OK)
        return serve_together(c, err); /* which ends it */
    hold_return(r->api, r->who.org, &c->drawn);
    serve_end(id);
    return s;
}
