/* POST /v2/serve/:id. The path that must be short: most calls are one row, and thousands come a second.
 *
 *   gateway ──> http loop ──> serve_at_once ──(parked with others)──> serve_batch.c ──> answer
 *                    └──────> a worker: serve, for all that cannot be decided at once
 *
 *   serve_cache.c   the endpoint's row, kept under the version that the gateway read with the key
 *   serve_limits.c  calls of this endpoint at once          cells.c         cells a minute
 *   reservations.c  allowance and cap, reserved ahead       concurrency.c   calls of the organization at once
 *   serve_batch.c   one message to inference and one bill for the calls of a moment
 *   bills.c         what is billed, written while inference computes
 *   serve_once.c    Idempotency-Key
 *   serve_data.c    with `data`: a job
 *
 * A call in a quiet installation makes no query of its own before it is answered: the gateway's one round
 * trip to Redis has authenticated it and brought the endpoint's version; the row, a few cells of the minute's
 * limit and a reservation are in this process; the bill's row is written by a thread of its own, for all
 * calls that came meanwhile, while inference computes. What is left is one message to the worker that holds
 * the state.
 *
 * A call goes through the same states whichever way it takes:
 *
 *   asked ──> allowed (the key's endpoint, limits, reservation) ──> begun (bill) ──> computed ──> billed
 *     └─ refused: nothing is billed, what was drawn goes back           └─ failed: not billed
 *
 * What holds:
 *
 *   - No answer leaves before it is certain that its bill will be settled: its row is committed, or it lies
 *     synced in the journal (bills.c). Where neither can be had the answer is withheld, 503.
 *   - What is answered with 5xx is not billed, as far as this process lives to say so; a bill whose process
 *     died in the middle is settled as it began.
 *   - Cells and reservations that a refused or failed call has drawn are given back, unless it may be billed.
 *   - With an Idempotency-Key the same body gets the same bytes for ten minutes, computed once, and is billed
 *     once for seven days, whichever api it comes to (serve_once.c).
 *   - A deleted or changed endpoint is not served from a kept row for longer than two seconds; while jobs is
 *     away nobody can change one (serve_cache.h).
 *
 * While PostgreSQL, jobs, metering or NATS' stream is away, warm calls go on: what they need is kept, what
 * they owe lies in the journal, and what may be owed is bounded (bills_owed.c, decision 0404). */
#include <stdio.h>
#include <stdlib.h>

#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/counts.h"
#include "services/api/handlers.h"
#include "services/api/platform/endpoints.h"
#include "services/api/runs/body.h"
#include "services/api/runs/download.h"
#include "services/api/runs/serve_data.h"
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

/* The answers as a table, where Accept says so. Under one Idempotency-Key that is another answer. */
static void read_accept(serve_call *c)
{
    request *r = c->r;
    c->as_table = r->accept != NULL && download_named(tab_str_of(r->accept), &c->format);
    if (c->as_table)
        r->body_sha256[0] ^= (uint8_t)(1 + c->format);
}

/* A body that is one file has no place for its table's id: it is the endpoint's only one. */
static tab_status name_table(serve_call *c, tab_error *err)
{
    request *r = c->r;
    const Tabella__Endpoint *e = c->row->e;
    if (!body_is_file(r) || c->named)
        return TAB_OK;
    if (e->n_datasets != 1)
        return tab_fail(err, TAB_VALIDATION, "body",
                        "this endpoint has %zu tables; send each as a part `tables[ID]` of "
                        "multipart/form-data",
                        e->n_datasets);
    tab_table *t = tab_arena_new_of(r->arena, tab_table, 1);
    const tab_table **list = tab_arena_new_of(r->arena, const tab_table *, 1);
    if (t == NULL || list == NULL)
        return tab_no_memory(err);
    const ProtobufCBinaryData id = e->datasets[0]->table_id;
    *t = *c->body.tables[0];
    t->id = (tab_str){ (const char *)id.data, id.len };
    list[0] = t;
    c->body.tables = list;
    c->named = true;
    return TAB_OK;
}

/* On the loop's thread, where the endpoint is known, cells and hold are there, and the call is one to go with
 * others. Any status but PARKED: not so, and nothing has happened. */
/* The gateway counts what becomes of it by its endpoint; NULL, where memory is out, is by none. */
static void told_of(serve_call *c)
{
    c->r->endpoint = tab_arena_copy(c->r->arena, tab_str_of(c->row->e->id)).p;
}

tab_status serve_at_once(request *r, tab_error *err)
{
    serve_call *c = tab_arena_new_of(r->arena, serve_call, 1);
    if (c == NULL || body_has_parts(r) || body_is_file(r) || /* files may unfold to much */
        (r->accept != NULL && download_named(tab_str_of(r->accept), &c->format)))
        return TAB_UNAVAILABLE;
    TAB_TRY(body_read(r, &c->body, err));
    TAB_TRY(read_verbose(c, err));
    c->r = r;
    c->row = serve_cache_get(r, c->worker);
    if (c->row == NULL || endpoint_bound(r, c->row->e, err) != TAB_OK || r->dry_run ||
        tab_json_get(c->body.root, "options") != NULL || serve_has_data(&c->body) || !serve_may_join(c))
        return TAB_UNAVAILABLE;
    const char *id = c->row->e->id;
    told_of(c);
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
    if (c->receipts && c->as_table)
        return tab_fail(err, TAB_VALIDATION, "options.receipts",
                        "receipts come with answers in JSON; accept application/json");
    request_body_drop(r);
    TAB_TRY(find_row(c, err));
    told_of(c);
    TAB_TRY(name_table(c, err));
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
    if (serve_has_data(&c->body))
        return serve_data(r, &c->body, err);
    read_accept(c);
    if (r->who.bounds.n > 0) { /* before an answer that was given to another key's call is given again */
        TAB_TRY(find_row(c, err));
        TAB_TRY(endpoint_bound(r, c->row->e, err));
    }
    if (!r->dry_run)
        TAB_TRY(serve_once_begin(r, &c->once, err));
    if (r->replayed) {
        r->media = c->as_table ? tab_file_kinds[c->format].media : NULL;
        return TAB_OK;
    }
    tab_status s = serve(c, err);
    if (s != PARKED && s != TAB_OK) /* a batch that ended it has said so */
        serve_once_failed(r, &c->once);
    return s;
}
