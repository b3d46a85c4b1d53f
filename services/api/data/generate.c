/* POST /v2/data/generate: a sector's tables, from nothing, as datasets (decision 0330).
 *
 * inference says first how many cells there will be; so many are reserved and billed, at the synthetic rate.
 * A small request is answered when the tables are there; a large one, or a batch, becomes a job that does the
 * same under its own id. The tables come from the request's seed and no one's data. */
#include <math.h>

#include "common/bundle/generated_json.h"
#include "proto/events.pb-c.h"
#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/handlers.h"
#include "services/api/idempotency.h"
#include "services/api/render/members.h"
#include "services/api/runs/allowance.h"
#include "services/api/runs/body.h"
#include "services/api/serve/cells.h"
#include "services/api/service_calls.h"

enum { JOB_LEASE_S = 26 * 3600 }; /* of a job's reservation: longer than a batch may take */

typedef struct {
    Tabella__GenerateRequest q;
    bool batch;
    cost cost;
} generation;

static tab_status whole(const tab_json *of, const char *key, const char *param, double least, double most,
                        bool required, uint64_t *ret, tab_error *err)
{
    const tab_json *m = tab_json_get(of, key);
    if (m == NULL && !required)
        return TAB_OK;
    if (m == NULL || m->kind != TAB_JSON_NUMBER || m->num != floor(m->num) || m->num < least || m->num > most)
        return tab_fail(err, TAB_VALIDATION, param, "`%s` must be a whole number from %.0f to %.0f%s", param,
                        least, most, m == NULL ? "; it is required" : "");
    *ret = (uint64_t)m->num;
    return TAB_OK;
}

static tab_status read_options(const tab_json *o, generation *g, tab_error *err)
{
    tab_str way;
    if (o == NULL)
        return TAB_OK;
    if (o->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "options", "`options` must be an object");
    for (const tab_json *m = o->first; m != NULL; m = m->next)
        if (!tab_str_eq(m->key, TAB_S("processing")) && !tab_str_eq(m->key, TAB_S("tables")) &&
            !tab_str_eq(m->key, TAB_S("seed")))
            return tab_fail(err, TAB_VALIDATION, "options",
                            "`options` can only have `processing`, `tables` and `seed`");
    TAB_TRY(body_text(o, "processing", false, 16, &way, err));
    if (way.n > 0 && !tab_str_eq(way, TAB_S("batch")) && !tab_str_eq(way, TAB_S("realtime")))
        return tab_fail(err, TAB_VALIDATION, "options.processing",
                        "`options.processing` must be \"realtime\" or \"batch\"");
    g->batch = tab_str_eq(way, TAB_S("batch"));
    const tab_json *tables = tab_json_get(o, "tables");
    if (tables != NULL && tables->kind != TAB_JSON_BOOL)
        return tab_fail(err, TAB_VALIDATION, "options.tables", "`options.tables` must be true or false");
    g->q.linked = tables != NULL && tables->yes;
    return whole(o, "seed", "options.seed", 0, 9007199254740991, false, &g->q.seed, err);
}

static tab_status read_request(request *r, generation *g, tab_error *err)
{
    tab_body b;
    tab_str sector, name;
    tabella__generate_request__init(&g->q);
    for (const char *p = r->seed; *p != 0; p++) /* the same request again: the same tables */
        g->q.seed = (g->q.seed * 31 + (unsigned char)*p) & 0xffffffff;
    TAB_TRY(body_read(r, &b, err));
    TAB_TRY(body_text(b.root, "sector", true, 64, &sector, err));
    TAB_TRY(body_text(b.root, "name", false, 128, &name, err));
    TAB_TRY(whole(b.root, "rows", "rows", 1, (double)r->api->cfg.run_cells, true, &g->q.rows, err));
    TAB_TRY(read_options(tab_json_get(b.root, "options"), g, err));
    g->q.sector = STR(tab_arena_copy(r->arena, sector).p);
    g->q.name = STR(tab_arena_copy(r->arena, name).p);
    g->q.processing = STR(g->batch ? "batch" : "realtime");
    g->q.most_cells = (uint64_t)r->api->cfg.run_cells;
    return tab_arena_full(r->arena) ? tab_no_memory(err) : TAB_OK;
}

static tab_status as_job(request *r, generation *g, uint64_t cells, tab_error *err)
{
    Tabella__SubmitRequest q = TABELLA__SUBMIT_REQUEST__INIT;
    const Tabella__Job *j;
    tab_str bytes = tab_proto_write(r->arena, &g->q.base);
    q.job_id = tab_arena_printf(r->arena, "job_%s", r->seed);
    if (bytes.p == NULL || q.job_id == NULL)
        return tab_no_memory(err);
    q.kind = STR(g->batch ? "batch" : "generate");
    q.label = g->q.name[0] != 0 ? g->q.name : g->q.sector;
    q.processing = g->q.processing;
    q.request = (ProtobufCBinaryData){ bytes.n, (uint8_t *)(uintptr_t)bytes.p };
    q.key_id = r->who.key;
    q.surface = request_surface(r);
    q.batch_concurrency = r->who.batch_concurrency;
    q.cells = cells;
    const char *id = tab_arena_printf(r->arena, "job/%s", q.job_id);
    if (id == NULL)
        return tab_no_memory(err);
    TAB_TRY(allowance_reserve(r, &g->cost, id, "", JOB_LEASE_S, err));
    TAB_TRY(call(r, "jobs", "Submit", &q.base, &tabella__job__descriptor, &j, err));
    tab_out_open(&r->out, '{');
    text_member(&r->out, "job_id", j->job_id);
    text_member(&r->out, "kind", j->kind);
    text_member(&r->out, "status", strcmp(j->status, "queued") == 0 ? "queued" : "running");
    text_member(&r->out, "sector", g->q.sector);
    uint_member(&r->out, "rows", g->q.rows);
    open_member(&r->out, "processing", '{');
    text_member(&r->out, "mode", g->q.processing);
    tab_out_close(&r->out, '}');
    tab_out_close(&r->out, '}');
    r->status = 202;
    return TAB_OK;
}

/* The bill and the answer under the key, in one transaction. */
static tab_status commit(request *r, generation *g, const char *event, const Tabella__GenerateReply *y,
                         tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    Tabella__WorkDone e = TABELLA__WORK_DONE__INIT;
    e.event_id = STR(event);
    e.org_id = r->who.org;
    e.at_us = tab_now_us();
    e.kind = STR("generate");
    e.surface = request_surface(r);
    e.key_id = r->who.key;
    e.tables = (uint32_t)y->n_tables;
    e.request_id = r->request_id;
    e.usage = cost_lines(&g->cost);
    e.n_usage = g->cost.n;
    TAB_TRY(tab_tx_begin(r->api->pg, r->who.org, tab_within_ms(r->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(idempotency_complete(r, tx, err));
    TAB_TRY(tab_outbox_put(tx, "api", e.event_id, "tabella.event.work.done", r->who.org, &e.base, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    tab_relay_nudge(r->api->relay);
    return TAB_OK;
}

/* Made, billed and answered within the call. */
static tab_status at_once(request *r, generation *g, const char *event, tab_error *err)
{
    const Tabella__GenerateReply *y = NULL;
    TAB_TRY(allowance_reserve(r, &g->cost, event, "", 0, err));
    tab_status s = cells_debit(r, g->cost.line[0].cells, false, err);
    if (s == TAB_OK)
        s = call(r, "inference", "Generate", &g->q.base, &tabella__generate_reply__descriptor, &y, err);
    if (s == TAB_OK && y->n_tables == 0)
        s = tab_fail(err, TAB_INTERNAL, "", "a generation without a table");
    if (s != TAB_OK && s != TAB_UNAVAILABLE && s != TAB_CANCELLED) /* it will not be billed */
        allowance_give_back(r->api, r->who.org, event, 0);
    if (s != TAB_OK)
        return s;
    tab_out_open(&r->out, '{');
    tab_generated_members(&r->out, &g->q, y);
    tab_out_close(&r->out, '}');
    return r->out.failed ? tab_no_memory(err) : commit(r, g, event, y, err);
}

tab_status post_data_generate(request *r, tab_error *err)
{
    generation g = { .batch = false };
    const Tabella__GenerateReply *y = NULL;
    TAB_TRY(read_request(r, &g, err));
    tab_status s = r->dry_run ? TAB_OK : idempotency_begin(r, err);
    if (s != TAB_OK || r->replayed)
        return s;
    TAB_TRY(call(r, "inference", "Generate", &g.q.base, &tabella__generate_reply__descriptor, &y, err));
    uint64_t cells = y->cells;
    cost_add(&g.cost, "generate", cells);
    if (r->dry_run)
        return dry_run_answer(r, &g.cost, err);
    if (g.batch || cells > (uint64_t)r->api->cfg.inline_cells) {
        TAB_TRY(cells_debit(r, cells, false, err));
        return as_job(r, &g, cells, err);
    }
    const char *event = tab_arena_printf(r->arena, "generate/%s", r->seed);
    g.q.ingest_id = tab_arena_printf(r->arena, "generate_%s", r->seed);
    if (event == NULL || g.q.ingest_id == NULL)
        return tab_no_memory(err);
    return at_once(r, &g, event, err);
}
