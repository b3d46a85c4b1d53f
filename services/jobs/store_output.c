/* Bundles that finished jobs keep: zstd level 1 (262 MB/s, half the size), in rows of about a mebibyte, which
 * a row holds well. A small one is one text in jobs.output; a large one lies in pieces, so that a page of it
 * reads the piece it stands in (decision 0409).
 *
 *   jobs.output   (job, part)            a small bundle
 *   jobs.piece    (job, '', part)        a large one's head: its first pages
 *                 (job, array, first)    a slice of one of its paged arrays, by its first element */
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "common/base/proto.h"
#include "common/bundle/bundle_pieces.h"
#include "common/security/frame.h"
#include "services/jobs/store.h"

enum { PART = 1 << 20 };
static const size_t SCRATCH = (size_t)3 << 30;

#define UNTIL(hours) "CASE WHEN " hours "::int > 0 THEN now() + " hours "::int * interval '1 hour' END"

/* What a sealed text is bound to: its place. */
static tab_str place_of(tab_arena *a, const char *org, const char *job_id, const char *array, size_t first)
{
    const char *text = array[0] == 0
                           ? tab_arena_printf(a, "jobs.output/%s/%s", org, job_id)
                           : tab_arena_printf(a, "jobs.piece/%s/%s/%s/%zu", org, job_id, array, first);
    return text == NULL ? (tab_str){ NULL, 0 } : tab_str_of(text);
}

/* A serialized bundle as it is stored. */
static tab_status pack_bytes(tab_arena *a, tab_str raw, const tab_run_keys *run, tab_str place, tab_str *ret,
                             tab_error *err)
{
    size_t room = ZSTD_compressBound(raw.n);
    char *packed = tab_arena_alloc(a, room + 1, 1);
    size_t m = packed == NULL ? 0 : tab_frame_pack(packed, room, raw);
    if (m == 0)
        return tab_no_memory(err);
    *ret = (tab_str){ packed, m };
    return run == NULL ? TAB_OK : tab_run_seal(run, a, *ret, place, ret, err);
}

static tab_status pack(tab_arena *a, const Tabella__Bundle *b, const tab_run_keys *run, tab_str place,
                       tab_str *ret, tab_error *err)
{
    size_t n = tabella__bundle__get_packed_size(b);
    uint8_t *raw = malloc(n + 1);
    if (raw == NULL)
        return tab_no_memory(err);
    tabella__bundle__pack(b, raw);
    tab_status s = pack_bytes(a, (tab_str){ (const char *)raw, n }, run, place, ret, err);
    free(raw);
    return s;
}

/* The text in parts of a row each: of the bundle, or of its head. */
static tab_status put_parts(tab_tx *tx, const char *org, const char *job_id, bool head, tab_str text,
                            int64_t hours, tab_error *err)
{
    const char *sql = head ? "INSERT INTO jobs.piece (org, job_id, array_name, first, data, expires_at) "
                             "VALUES ($1, $2, '', $3, $4, " UNTIL("$5") ")"
                           : "INSERT INTO jobs.output (org, job_id, part, data, expires_at) "
                             "VALUES ($1, $2, $3, $4, " UNTIL("$5") ")";
    for (size_t at = 0, part = 0; at < text.n; at += PART, part++) {
        tab_str bytes = { text.p + at, text.n - at < PART ? text.n - at : PART };
        TAB_TRY(tab_tx_query(tx, NULL, err, sql,
                             TAB_P(tab_p_text(org), tab_p_text(job_id), tab_p_int((int64_t)part),
                                   tab_p_bytes(bytes), tab_p_int(hours))));
    }
    return TAB_OK;
}

tab_status jobs_output_piece(tab_tx *tx, const char *org, const char *job_id, tab_paged array, size_t first,
                             tab_str bundle, const tab_run_keys *run, int64_t hours, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    const char *name = tab_paged_name(array);
    tab_str text;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(pack_bytes(a, bundle, run, place_of(a, org, job_id, name, first), &text, err));
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO jobs.piece (org, job_id, array_name, first, data, expires_at) "
                        "VALUES ($1, $2, $3, $4, $5, " UNTIL(
                            "$6") ") "
                                  "ON CONFLICT (org, job_id, array_name, first) "
                                  "DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at",
                        TAB_P(tab_p_text(org), tab_p_text(job_id), tab_p_text(name),
                              tab_p_int((int64_t)first), tab_p_bytes(text), tab_p_int(hours)));
}

/* The pieces of the arrays that are longer than a page; *ret_any: there are some. */
static tab_status put_pieces(tab_tx *tx, const char *org, const char *job_id, const Tabella__Bundle *b,
                             const tab_run_keys *run, bool *ret_any, tab_error *err)
{
    *ret_any = false;
    for (tab_bundle_piece p = { 0 }; tab_bundle_next(b, &p); *ret_any = true) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
        const Tabella__Bundle *slice = a == NULL ? NULL : tab_bundle_slice(a, b, p.array, p.from, p.to);
        tab_str bytes = slice == NULL ? (tab_str){ NULL, 0 } : tab_proto_write(a, &slice->base);
        if (bytes.p == NULL)
            return tab_no_memory(err);
        TAB_TRY(jobs_output_piece(tx, org, job_id, p.array, p.from, bytes, run, 0, err));
    }
    return TAB_OK;
}

tab_status jobs_output_clear(tab_tx *tx, const char *org, const char *job_id, tab_error *err)
{
    TAB_TRY(tab_tx_query(tx, NULL, err, "DELETE FROM jobs.output WHERE org = $1 AND job_id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(job_id))));
    return tab_tx_query(tx, NULL, err, "DELETE FROM jobs.piece WHERE org = $1 AND job_id = $2",
                        TAB_P(tab_p_text(org), tab_p_text(job_id)));
}

static tab_status put_first(tab_tx *tx, const char *org, const char *job_id, const Tabella__Bundle *b,
                            bool head, const tab_run_keys *run, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    int64_t hours = run == NULL ? 0 : JOBS_OUTPUT_HOURS;
    tab_str text;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(pack(a, b, run, place_of(a, org, job_id, "", 0), &text, err));
    return put_parts(tx, org, job_id, head, text, hours, err);
}

tab_status jobs_output_head(tab_tx *tx, const char *org, const char *job_id, const Tabella__Bundle *head,
                            const tab_run_keys *run, tab_error *err)
{
    int64_t hours = run == NULL ? 0 : JOBS_OUTPUT_HOURS;
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE jobs.piece SET expires_at = " UNTIL("$3") " WHERE org = $1 AND job_id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(job_id), tab_p_int(hours))));
    return put_first(tx, org, job_id, head, true, run, err);
}

tab_status jobs_output_kept(tab_tx *tx, const char *org, const char *job_id, tab_error *err)
{
#define KEEP(table) "UPDATE " table " SET expires_at = " UNTIL("$3") " WHERE org = $1 AND job_id = $2"
    static const char *const tables[] = { KEEP("jobs.output"), KEEP("jobs.piece") };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        TAB_TRY(tab_tx_query(tx, NULL, err, tables[i],
                             TAB_P(tab_p_text(org), tab_p_text(job_id), tab_p_int(JOBS_OUTPUT_HOURS))));
    return TAB_OK;
}

tab_status jobs_output_put(tab_tx *tx, const char *org, const char *job_id, const Tabella__Bundle *b,
                           const tab_run_keys *run, tab_error *err)
{
    bool pieces = false;
    /* an attempt that lost its end may have left some */
    TAB_TRY(jobs_output_clear(tx, org, job_id, err));
    TAB_TRY(put_pieces(tx, org, job_id, b, run, &pieces, err));
    if (!pieces)
        return put_first(tx, org, job_id, b, false, run, err);
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    const Tabella__Bundle *head = a == NULL ? NULL : tab_bundle_head(a, b);
    return head == NULL ? tab_no_memory(err) : jobs_output_head(tx, org, job_id, head, run, err);
}

tab_status jobs_output_expire(tab_tx *tx, const char *org, const char *endpoint_id, const char *but,
                              int64_t hours, tab_error *err)
{
#define EXPIRE(table)                                                                                  \
    "UPDATE " table " o SET expires_at = now() + $4::int * interval '1 hour' FROM jobs.endpoint e "    \
    "WHERE e.org = $1 AND e.endpoint_id = $2 AND o.org = $1 AND o.job_id = e.output_job AND o.job_id " \
    "<> $3"
    static const char *const tables[] = { EXPIRE("jobs.output"), EXPIRE("jobs.piece") };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        TAB_TRY(
            tab_tx_query(tx, NULL, err, tables[i],
                         TAB_P(tab_p_text(org), tab_p_text(endpoint_id), tab_p_text(but), tab_p_int(hours))));
    return TAB_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A stored text's plain bytes, in the arena. */
static tab_status unpack(tab_arena *a, tab_str stored, const tab_run_keys *keys, tab_str place, tab_str *ret,
                         tab_error *err)
{
    tab_str frame = { NULL, 0 };
    TAB_TRY(tab_run_open(keys, a, stored, place, &frame, err));
    unsigned long long size = ZSTD_getFrameContentSize(frame.p, frame.n);
    char *out = size >= ZSTD_CONTENTSIZE_ERROR ? NULL : tab_arena_alloc(a, size + 1, 1);
    if (out == NULL || ZSTD_decompress(out, size, frame.p, frame.n) != size)
        return tab_fail(err, TAB_INTERNAL, "", "a stored bundle cannot be read");
    *ret = (tab_str){ out, size };
    return TAB_OK;
}

/* A bundle that lies whole, or the head of one in pieces. */
static tab_status get_first(tab_tx *tx, tab_arena *a, const char *org, const char *job_id,
                            const tab_run_keys *keys, tab_str *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(
        tab_tx_query_bytes(tx, &rows, err,
                           "SELECT data FROM (SELECT part::bigint AS n, data FROM jobs.output "
                           "WHERE org = $1 AND job_id = $2 AND (expires_at IS NULL OR expires_at > now()) "
                           "UNION ALL SELECT first, data FROM jobs.piece "
                           "WHERE org = $1 AND job_id = $2 AND array_name = '' "
                           "AND (expires_at IS NULL OR expires_at > now())) t ORDER BY n",
                           TAB_P(tab_p_text(org), tab_p_text(job_id))));
    size_t n = 0, parts = tab_rows_count(rows);
    for (size_t i = 0; i < parts; i++)
        n += tab_rows_bytes(rows, i, 0, a).n;
    if (n == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "the outputs of this job are not stored or have expired");
    char *stored = tab_arena_alloc(a, n, 1);
    if (stored == NULL)
        return tab_no_memory(err);
    for (size_t i = 0, at = 0; i < parts; i++) {
        tab_str part = tab_rows_bytes(rows, i, 0, a);
        memcpy(stored + at, part.p, part.n);
        at += part.n;
    }
    return unpack(a, (tab_str){ stored, n }, keys, place_of(a, org, job_id, "", 0), ret, err);
}

/* The slice that element `from` stands in; p NULL: the array is in no pieces. */
static tab_status get_piece(tab_tx *tx, tab_arena *a, const char *org, const char *job_id,
                            const tab_run_keys *keys, const jobs_wanted *w, tab_str *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query_bytes(
        tx, &rows, err,
        "SELECT data, first::text AS said FROM jobs.piece WHERE org = $1 AND job_id = $2 AND array_name = $3 "
        "AND first <= $4 AND (expires_at IS NULL OR expires_at > now()) ORDER BY first DESC LIMIT 1",
        TAB_P(tab_p_text(org), tab_p_text(job_id), tab_p_text(w->array), tab_p_int((int64_t)w->from))));
    if (tab_rows_count(rows) == 0)
        return TAB_OK;
    size_t first = strtoul(tab_rows_text(rows, 0, 1), NULL, 10);
    return unpack(a, tab_rows_bytes(rows, 0, 0, a), keys, place_of(a, org, job_id, w->array, first), ret,
                  err);
}

tab_status jobs_output_get(tab_tx *tx, const char *org, const char *job_id, const tab_run_keys *keys,
                           const jobs_wanted *w, tab_arena *a, tab_str *ret, tab_error *err)
{
    *ret = (tab_str){ NULL, 0 };
    if (w->array[0] != 0)
        TAB_TRY(get_piece(tx, a, org, job_id, keys, w, ret, err));
    return ret->p != NULL ? TAB_OK : get_first(tx, a, org, job_id, keys, ret, err);
}
