/* POST /v2/serve/:id.
 *
 *   serve_handler.c --> serve_cache.c   the endpoint's row   <--+
 *                   --> serve_limits.c  may it begin         <--+
 *                   --> serve_batch.c  asked, answered and billed with calls of the same moment */
#include <stdio.h>
#include <stdlib.h>

#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/counts.h"
#include "services/api/handlers.h"
#include "services/api/platform/endpoints.h"
#include "services/api/runs/body.h"
#include "services/api/serve/bills.h"
#include "services/api/serve/cells.h"
#include "services/api/serve/serve_batch.h"
#include "services/api/service_calls.h"

static tab_status read_verbose(serve_call *c, tab_error *err)
{
    const tab_json *m = tab_json_get(c->body.root, "verbose");
    if (m != NULL && m->kind != TAB_JSON_BOOL)
        return tab_fail(err, TAB_VALIDATION, "verbose", "`verbose` must be true or false");
    c->verbose = m != NULL && m->yes;
    return TAB_OK;
}

enum { JOBS_MS = 900 }; /* for jobs to answer, where there is a row to go on with */

/* On the loop's thread, where the endpoint is known, cells and hold are there, and the call is one to go with
 * others. Any status but PARKED: not so, and nothing has happened. */
tab_status serve_at_once(request *r, tab_error *err)
{
    serve_call *c = tab_arena_new_of(r->arena, serve_call, 1);
    if (c == NULL || body_has_parts(r)) /* files may unfold to much */
        return TAB_UNAVAILABLE;
    TAB_TRY(body_read(r, &c->body, err));
    TAB_TRY(read_verbose(c, err));
    c->r = r;
    c->row = serve_cache_get(r, c->worker);
    if (c->row == NULL || endpoint_bound(r, c->row->e, err) != TAB_OK || r->dry_run ||
        tab_json_get(c->body.root, "options") != NULL || !serve_may_join(c))
        return TAB_UNAVAILABLE;
    const char *id = c->row->e->id;
    serve_cost(r, c->row->e, c->body.cells, &c->cost);
    if (!serve_begin(id, r->who.endpoint_concurrency))
        return TAB_UNAVAILABLE;
    int64_t began = tab_mono_us();
    if (bill_may(r->api, r->who.org, c->body.cells, err) != TAB_OK) {
        serve_end(id);
        return TAB_UNAVAILABLE; /* its turn will say why */
    }
    if (cells_take(r, c->body.cells)) {
        if (reservation_take(r, &c->cost, &c->drawn)) {
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
                        "a serve call takes either rows in `tables` or `options.horizon`, not both");
    if (c->body.n_tables == 0 && c->horizon == 0)
        c->horizon = o == NULL ? 0 : o->horizon;
    if (c->body.n_tables == 0 && c->horizon == 0)
        return tab_fail(err, TAB_VALIDATION, "tables",
                        "a serve call needs at least one table in `tables`, or `options.horizon`");
    return c->horizon == 0 ? TAB_OK : serve_count(c, ret, err);
}

static bool silent(tab_status s)
{
    return s == TAB_UNAVAILABLE || s == TAB_CANCELLED;
}

/* The endpoint's row: a kept one, or jobs' answer, or the last one while jobs does not answer. */
static tab_status find_row(serve_call *c, tab_error *err)
{
    request *r = c->r;
    const Tabella__Endpoint *e;
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    tab_answer answer;
    int64_t asked = tab_mono_ms();
    if ((c->row = serve_cache_get(r, c->worker)) != NULL)
        return TAB_OK;
    if ((serve_cache_jobs_away() || bill_away()) && (c->row = serve_cache_last(r, c->worker)) != NULL)
        return TAB_OK;
    char since[SERVE_SINCE];
    serve_cache_since(r, since);
    q.id_or_name = STR(tab_arena_copy(r->arena, r->param[0]).p);
    tab_ask ask = { .service = "jobs",
                    .method = "GetEndpoint",
                    .in = &q.base,
                    .deadline = serve_cache_has_last(r) ? tab_within_ms(r->deadline, JOBS_MS) : r->deadline,
                    .reply = &tabella__endpoint__descriptor };
    tab_status s = call_with(r, &ask, &answer, err);
    if (silent(s) && (c->row = serve_cache_last(r, c->worker)) != NULL) {
        serve_cache_jobs_silent(r);
        return TAB_OK;
    }
    if (s == TAB_CANCELLED)
        return tab_fail(err, TAB_UNAVAILABLE, "", "a service is not responding; try again");
    TAB_TRY(s);
    e = answer.msg;
    TAB_TRY(endpoint_live(e, err));
    c->row = serve_cache_put(r, e, asked, since);
    return c->row == NULL ? tab_no_memory(err) : TAB_OK;
}

/* Its key is claimed, if it has one. */
static tab_status serve(serve_call *c, tab_error *err)
{
    request *r = c->r;
    uint64_t cells = 0;
    TAB_TRY(read_verbose(c, err));
    TAB_TRY(body_serve(r, tab_json_get(c->body.root, "options"), &c->horizon, &c->receipts, err));
    request_body_drop(r);
    TAB_TRY(find_row(c, err));
    if (c->receipts && c->row->e->receipt_key.len != TAB_RECEIPT_KEY) /* from jobs of the version before */
        return tab_fail(err, TAB_UNAVAILABLE, "",
                        "receipts are not available yet because an upgrade is in progress; try again later");
    TAB_TRY(read_question(c, &cells, err));
    const char *id = c->row->e->id;
    serve_cost(r, c->row->e, cells, &c->cost);
    if (r->dry_run)
        return dry_run_answer(r, &c->cost, err);
    TAB_TRY(bill_may(r->api, r->who.org, cells, err));
    if (!serve_begin(id, r->who.endpoint_concurrency))
        return serve_too_many(r, err);
    int64_t began = tab_mono_us();
    tab_status s = reservation_draw(r, &c->cost, &c->drawn, err);
    count_meter(began);
    if (s == TAB_OK)
        s = cells_debit(r, cells, true, err);
    if (s == TAB_OK)
        return serve_in_batch(c, err); /* which ends it */
    reservation_return(r->api, r->who.org, &c->drawn);
    serve_end(id);
    return s;
}

tab_status post_serve(request *r, tab_error *err)
{
    serve_call *c = tab_arena_new_of(r->arena, serve_call, 1);
    if (c == NULL)
        return tab_no_memory(err);
    c->r = r;
    TAB_TRY(body_read(r, &c->body, err));
    if (r->who.bounds.n > 0) { /* before an answer that was given to another key's call is given again */
        TAB_TRY(find_row(c, err));
        TAB_TRY(endpoint_bound(r, c->row->e, err));
    }
    if (!r->dry_run)
        TAB_TRY(serve_once_begin(r, &c->once, err));
    if (r->replayed)
        return TAB_OK;
    tab_status s = serve(c, err);
    if (s != PARKED && s != TAB_OK) /* a batch that ended it has said so */
        serve_once_failed(r, &c->once);
    return s;
}
