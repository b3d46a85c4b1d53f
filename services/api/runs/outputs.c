/* The outputs of inline runs, kept 24 hours for paging: the serialized bundle as inference sent it,
 * compressed with zstd and, where a key is configured, sealed. */
#include <zstd.h>

#include "services/api/api.h"

static tab_str output_context(request *r, const char *job_id)
{
    const char *text = tab_arena_printf(r->arena, "api.output/%s/%s", r->who.org, job_id);
    return text == NULL ? (tab_str){ NULL, 0 } : tab_str_of(text);
}

tab_status output_put(request *r, tab_tx *tx, const char *job_id, const output *o, tab_error *err)
{
    tab_str plain = tab_proto_write(r->arena, &o->bundle->base);
    size_t room = ZSTD_compressBound(plain.n);
    char *packed = plain.p != NULL ? tab_arena_alloc(r->arena, room, 1) : NULL;
    size_t n = packed != NULL ? ZSTD_compress(packed, room, plain.p, plain.n, 1) : 0;
    if (packed == NULL || ZSTD_isError(n))
        return tab_no_memory(err);
    tab_str sealed = { packed, n };
    tab_status s = tab_run_seal(&r->api->run_keys, r->arena, sealed, output_context(r, job_id), &sealed, err);
    if (s != TAB_OK)
        return s;
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO api.output (org, job_id, run_id, report_id, base, feed, bundle) "
                        "VALUES ($1, $2, $3, $4, $5, $6, $7) "
                        "ON CONFLICT (org, job_id) DO NOTHING",
                        TAB_P(tab_p_text(r->who.org), tab_p_text(job_id), tab_p_text(o->run_id),
                              tab_p_text(o->report_id), tab_p_text(o->base), tab_p_text(o->feed),
                              tab_p_bytes(sealed)));
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
    tab_str packed;
    s = tab_run_open(&r->api->run_keys, r->arena, tab_rows_bytes(rows, 0, 5, r->arena),
                     output_context(r, job_id), &packed, err);
    if (s != TAB_OK)
        return s;
    unsigned long long n = packed.p != NULL ? ZSTD_getFrameContentSize(packed.p, packed.n) : 0;
    char *plain = n < (1ull << 31) ? tab_arena_alloc(r->arena, n + 1, 1) : NULL;
    if (plain == NULL || ZSTD_decompress(plain, n, packed.p, packed.n) != n)
        return tab_fail(err, TAB_INTERNAL, "", "an output that cannot be read");
    ret->run_id = tab_proto_text(r->arena, tab_rows_text(rows, 0, 0));
    ret->report_id = tab_proto_text(r->arena, tab_rows_text(rows, 0, 1));
    ret->base = tab_proto_text(r->arena, tab_rows_text(rows, 0, 2));
    ret->feed = tab_proto_text(r->arena, tab_rows_text(rows, 0, 3));
    ret->created_us = tab_rows_time(rows, 0, 4);
    ret->bundle = tab_proto_read(r->arena, &tabella__bundle__descriptor, (tab_str){ plain, n });
    return ret->bundle != NULL ? TAB_OK : tab_fail(err, TAB_INTERNAL, "", "an output that cannot be read");
}
