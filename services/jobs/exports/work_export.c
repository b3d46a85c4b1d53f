/* An organization's export (decision 0814): size and SHA-256 of the rows of each snapshot that its archive
 * has, as common/files/stored.h writes them.
 *
 *   the next member without a digest -> its snapshot, range by range -> one transaction: its digest -> ...
 *   none is left -> one transaction: the job ends, the archive may be fetched for JOBS_OUTPUT_HOURS
 *
 * What is held is a range. An attempt that dies leaves the digests that it has found to the next one, which
 * goes on with the snapshot it died over. */
#include <sodium.h>
#include <stdio.h>

#include "common/base/point.h"
#include "common/base/proto.h"
#include "common/files/stored.h"
#include "services/jobs/work.h"

enum { READ_MS = 120000 }; /* of a range */

typedef struct {
    work *w;
    int64_t place, left, all; /* the member at hand; without a digest; of the archive */
    char dataset[TAB_ID], snapshot[TAB_ID];
    crypto_hash_sha256_state digest;
    uint64_t bytes;
} exporting;

static tab_status taken_over(tab_error *err)
{
    return tab_fail(err, TAB_CANCELLED, "", "the lease of this attempt is gone");
}

/* x->left is 0 where none is left. */
static tab_status next_member(exporting *x, tab_error *err)
{
    const jobs_claimed *c = x->w->c;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(work_begin(x->w, 10000, &tx, err));
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT n.place, n.dataset, n.snapshot, t.missing, t.total FROM (SELECT count(*) "
                         "FILTER (WHERE sha256 IS NULL) AS missing, count(*) AS total FROM "
                         "jobs.export_member WHERE org = $1 AND job_id = $2) t LEFT JOIN LATERAL (SELECT "
                         "place, dataset, snapshot FROM jobs.export_member WHERE org = $1 AND job_id = $2 "
                         "AND sha256 IS NULL ORDER BY place LIMIT 1) n ON true",
                         TAB_P(tab_p_text(c->org), tab_p_text(c->job_id))));
    x->left = tab_rows_int(rows, 0, 3);
    x->all = tab_rows_int(rows, 0, 4);
    if (x->all == 0)
        return tab_fail(err, TAB_INTERNAL, "", "the export waited too long; ask for a new one");
    if (x->left > 0) {
        x->place = tab_rows_int(rows, 0, 0);
        snprintf(x->dataset, sizeof x->dataset, "%s", tab_rows_text(rows, 0, 1));
        snprintf(x->snapshot, sizeof x->snapshot, "%s", tab_rows_text(rows, 0, 2));
    }
    return tab_tx_commit(&tx, err);
}

/* ---- a snapshot ------------------------------------------------------------------------------- */

static void add(exporting *x, tab_str bytes)
{
    crypto_hash_sha256_update(&x->digest, (const unsigned char *)bytes.p, bytes.n);
    x->bytes += bytes.n;
}

/* Its rows from `at` on. *ret_rows: how many there are in all; *ret_n: in this range. */
static tab_status add_range(exporting *x, uint64_t at, uint64_t *cols, uint64_t *ret_rows, uint64_t *ret_n,
                            tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    Tabella__ReadRequest q = TABELLA__READ_REQUEST__INIT;
    const Tabella__ReadReply *y = NULL;
    const tab_table *t = NULL;
    char head[TAB_STORED_HEAD];
    tab_str bytes;
    if (a == NULL)
        return tab_no_memory(err);
    q.snapshot = x->snapshot;
    q.first_row = at;
    q.rows = tab_stored_step(*cols, at);
    tab_status s = work_read(x->w, &q, READ_MS, a, &y, &t, err);
    if (s == TAB_NOT_FOUND)
        return tab_fail(err, TAB_NOT_FOUND, "",
                        "snapshot %s of dataset %s was deleted while it was exported; ask for a new export",
                        x->snapshot, x->dataset);
    TAB_TRY(s);
    if (at == 0) {
        tab_stored_head(y->file, head);
        add(x, (tab_str){ head, sizeof head });
    }
    TAB_TRY(tab_stored_rows(a, t, &bytes, err));
    add(x, bytes);
    *cols = y->cols;
    *ret_rows = y->rows;
    *ret_n = t->rows;
    return TAB_OK;
}

static tab_status read_snapshot(exporting *x, tab_error *err)
{
    uint64_t cols = 0, rows = 0, at = 0, n = 0;
    char end[TAB_STORED_END];
    crypto_hash_sha256_init(&x->digest);
    x->bytes = 0;
    do {
        TAB_TRY(add_range(x, at, &cols, &rows, &n, err));
        at += n;
    } while (at < rows && n > 0);
    if (at != rows)
        return tab_fail(err, TAB_INTERNAL, "", "snapshot %s has fewer rows than it says", x->snapshot);
    tab_stored_end(rows, end);
    add(x, (tab_str){ end, sizeof end });
    return TAB_OK;
}

/* An attempt that has lost the job keeps nothing. One that came on has not spent its tries. */
static tab_status keep_digest(exporting *x, tab_error *err)
{
    const jobs_claimed *c = x->w->c;
    unsigned char digest[crypto_hash_sha256_BYTES];
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    crypto_hash_sha256_final(&x->digest, digest);
    TAB_TRY(work_begin(x->w, 10000, &tx, err));
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "UPDATE jobs.job SET tries = least(tries, 1) WHERE org = $1 AND job_id = $2 "
                         "AND attempt = $3 AND status = 'running' RETURNING 1",
                         TAB_P(tab_p_text(c->org), tab_p_text(c->job_id), tab_p_int(c->attempt))));
    if (tab_rows_count(rows) == 0)
        return taken_over(err);
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE jobs.export_member SET bytes = $4, sha256 = $5 "
                         "WHERE org = $1 AND job_id = $2 AND place = $3",
                         TAB_P(tab_p_text(c->org), tab_p_text(c->job_id), tab_p_int(x->place),
                               tab_p_int((int64_t)x->bytes),
                               tab_p_bytes((tab_str){ (const char *)digest, sizeof digest }))));
    TAB_TRY(tab_tx_commit(&tx, err));
    TAB_POINT("jobs.export.kept");
    return TAB_OK;
}

/* ---- the end ---------------------------------------------------------------------------------- */

static tab_status finish(exporting *x, tab_error *err)
{
    const jobs_claimed *c = x->w->c;
    Tabella__JobResult result = TABELLA__JOB_RESULT__INIT;
    jobs_end end = { .status = "done", .result = &result };
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    char json[TAB_ID + 128];
    TAB_TRY(work_begin(x->w, 60000, &tx, err));
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "WITH m AS (UPDATE jobs.export_member SET expires_at = now() + make_interval(hours "
                         "=> $3::int) WHERE org = $1 AND job_id = $2 RETURNING bytes) "
                         "SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM m",
                         TAB_P(tab_p_text(c->org), tab_p_text(c->job_id), tab_p_int(JOBS_OUTPUT_HOURS))));
    int n = snprintf(json, sizeof json,
                     "{\"archive\":\"/platform/v1/exports/%s\",\"members\":%lld,\"bytes\":%lld}", c->job_id,
                     (long long)tab_rows_int(rows, 0, 0), (long long)tab_rows_int(rows, 0, 1));
    result.json = (ProtobufCBinaryData){ (size_t)n, (uint8_t *)json };
    tab_status s = jobs_finish(tx, c, &end, err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    return work_ended(x->w, s);
}

tab_status work_export(work *w, tab_error *err)
{
    exporting x = { .w = w };
    TAB_TRY(next_member(&x, err));
    while (x.left > 0) {
        double done = 0.02 + 0.95 * (double)(x.all - x.left) / (double)x.all;
        work_phase(w, "reading", done, done + 0.95 / (double)x.all);
        TAB_TRY(read_snapshot(&x, err));
        TAB_TRY(keep_digest(&x, err));
        TAB_TRY(next_member(&x, err));
    }
    work_phase(w, "storing", 0.98, 0.99);
    return finish(&x, err);
}
