/* The outputs of inline runs, kept 24 hours for paging: the serialized bundle as inference sent it,
 * compressed with zstd and, where a key is configured, sealed. */
#include <zstd.h>

#include "common/rpc/retention.h"
#include "common/table/table_wire.h"
#include "proto/jobs.pb-c.h"
#include "services/api/api.h"
#include "services/api/runs/outputs.h"

static tab_str output_context(request *r, const char *job_id)
{
    const char *text = tab_arena_printf(r->arena, "api.output/%s/%s", r->who.org, job_id);
    return text == NULL ? (tab_str){ NULL, 0 } : tab_str_of(text);
}

/* Compressed and sealed. */
static tab_status pack(request *r, tab_str plain, tab_str place, tab_str *ret, tab_error *err)
{
    size_t room = ZSTD_compressBound(plain.n);
    char *packed = plain.p != NULL ? tab_arena_alloc(r->arena, room, 1) : NULL;
    size_t n = packed != NULL ? ZSTD_compress(packed, room, plain.p, plain.n, 1) : 0;
    if (packed == NULL || ZSTD_isError(n))
        return tab_no_memory(err);
    return tab_run_seal(&r->api->run_keys, r->arena, (tab_str){ packed, n }, place, ret, err);
}

static tab_status unpack(request *r, tab_str stored, tab_str place, tab_str *ret, tab_error *err)
{
    tab_str packed;
    TAB_TRY(tab_run_open(&r->api->run_keys, r->arena, stored, place, &packed, err));
    unsigned long long n = packed.p != NULL ? ZSTD_getFrameContentSize(packed.p, packed.n) : 0;
    char *plain = n < (1ull << 31) ? tab_arena_alloc(r->arena, n + 1, 1) : NULL;
    if (plain == NULL || ZSTD_decompress(plain, n, packed.p, packed.n) != n)
        return tab_fail(err, TAB_INTERNAL, "", "an output that cannot be read");
    *ret = (tab_str){ plain, n };
    return TAB_OK;
}

/* What filled tables are made of; nothing where no cell was filled. */
static tab_status pack_tables(request *r, const char *job_id, const output *o, tab_str *ret, tab_error *err)
{
    tab_wire *wire;
    *ret = (tab_str){ NULL, 0 };
    if (o->n_tables == 0)
        return TAB_OK;
    TAB_TRY(tab_wire_new(r->arena, o->tables, o->n_tables, &wire, err));
    size_t n = tab_wire_bytes(wire);
    char *plain = tab_arena_alloc(r->arena, n + 1, 1);
    if (plain == NULL)
        return tab_no_memory(err);
    tab_wire_copy(wire, 0, n, plain);
    return pack(r, (tab_str){ plain, n }, output_context(r, tab_arena_printf(r->arena, "%s/tables", job_id)),
                ret, err);
}

tab_status output_put(request *r, tab_tx *tx, const char *job_id, const output *o, tab_error *err)
{
    tab_str sealed, tables, sources = { NULL, 0 };
    TAB_TRY(pack(r, tab_proto_write(r->arena, &o->bundle->base), output_context(r, job_id), &sealed, err));
    TAB_TRY(pack_tables(r, job_id, o, &tables, err));
    if (o->sources != NULL && (sources = tab_proto_write(r->arena, &o->sources->base)).p == NULL)
        return tab_no_memory(err);
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO api.output (org, job_id, run_id, report_id, base, feed, bundle, tables, "
                        "sources) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
                        "ON CONFLICT (org, job_id) DO NOTHING",
                        TAB_P(tab_p_text(r->who.org), tab_p_text(job_id), tab_p_text(o->run_id),
                              tab_p_text(o->report_id), tab_p_text(o->base), tab_p_text(o->feed),
                              tab_p_bytes(sealed), tables.p == NULL ? tab_p_null() : tab_p_bytes(tables),
                              sources.p == NULL ? tab_p_null() : tab_p_bytes(sources)));
}

tab_status output_get(request *r, const char *job_id, output *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s =
        tab_tx_begin(r->api->pg, r->who.org, tab_within_ms(r->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, &rows, err,
                         "SELECT run_id, report_id, base, feed, created_at, bundle "
                         "FROM api.output "
                         "WHERE org = $1 AND job_id = $2 AND expires_at > now()",
                         TAB_P(tab_p_text(r->who.org), tab_p_text(job_id)));
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "", "there is no such job");
    tab_str plain;
    TAB_TRY(unpack(r, tab_rows_bytes(rows, 0, 5, r->arena), output_context(r, job_id), &plain, err));
    *ret = (output){ .run_id = tab_proto_text(r->arena, tab_rows_text(rows, 0, 0)),
                     .report_id = tab_proto_text(r->arena, tab_rows_text(rows, 0, 1)),
                     .base = tab_proto_text(r->arena, tab_rows_text(rows, 0, 2)),
                     .feed = tab_proto_text(r->arena, tab_rows_text(rows, 0, 3)),
                     .created_us = tab_rows_time(rows, 0, 4),
                     .bundle = tab_proto_read(r->arena, &tabella__bundle__descriptor, plain) };
    return ret->bundle != NULL ? TAB_OK : tab_fail(err, TAB_INTERNAL, "", "an output that cannot be read");
}

tab_status output_tables(request *r, const char *job_id, output *o, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_str plain;
    TAB_TRY(tab_tx_begin(r->api->pg, r->who.org, tab_within_ms(r->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT tables, sources FROM api.output "
                         "WHERE org = $1 AND job_id = $2 AND expires_at > now()",
                         TAB_P(tab_p_text(r->who.org), tab_p_text(job_id))));
    if (tab_rows_count(rows) == 0)
        return TAB_OK;
    if (!tab_rows_null(rows, 0, 0)) {
        tab_str place = output_context(r, tab_arena_printf(r->arena, "%s/tables", job_id));
        TAB_TRY(unpack(r, tab_rows_bytes(rows, 0, 0, r->arena), place, &plain, err));
        TAB_TRY(tab_wire_read(r->arena, plain, &o->tables, &o->n_tables, err));
    }
    if (!tab_rows_null(rows, 0, 1))
        o->sources =
            tab_proto_read(r->arena, &tabella__job_result__descriptor, tab_rows_bytes(rows, 0, 1, r->arena));
    return TAB_OK;
}

tab_status output_delete(request *r, const char *job_id, bool *ret_there, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_begin(r->api->pg, r->who.org, tab_within_ms(r->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "WITH gone AS (DELETE FROM api.output t WHERE t.org = $1 AND t.job_id = $2 "
                         "RETURNING t.org, t::text AS r) " TAB_CERTIFIED,
                         TAB_P(tab_p_text(r->who.org), tab_p_text(job_id))));
    *ret_there = tab_rows_count(rows) > 0;
    if (!*ret_there)
        return TAB_OK;
    tab_certificate c = { .of = "run",
                          .object = job_id,
                          .rows = tab_rows_int(rows, 0, 2),
                          .bytes = tab_rows_int(rows, 0, 3),
                          .sha256 = tab_rows_text(rows, 0, 4) };
    tab_call by = { .request_id = r->request_id, .address = r->address, .actor = r->who.key };
    TAB_TRY(tab_certificate_put(tx, "api", &by, r->who.org, "", &c, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    tab_relay_nudge(r->api->relay);
    return TAB_OK;
}
