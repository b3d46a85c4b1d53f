/* Reading jobs, and the bundles that finished ones keep. */
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "common/base/proto.h"
#include "services/jobs/store.h"

/* Columns in the order that job_of reads; the result only where it is wanted. */
#define COLUMNS(result)                                                                         \
    "job_id, kind, status, progress, phase, label, endpoint_id, report_id, error, created_at, " \
    "updated_at, processing, output_at_api, due_at, seq, " result ", about"

static tab_status job_of(const tab_rows *r, size_t i, tab_arena *a, Tabella__Job **ret, tab_error *err)
{
    Tabella__Job *j = tab_arena_new_of(a, Tabella__Job, 1);
    if (j == NULL)
        return tab_no_memory(err);
    tabella__job__init(j);
    j->job_id = tab_proto_text(a, tab_rows_text(r, i, 0));
    j->kind = tab_proto_text(a, tab_rows_text(r, i, 1));
    j->status = tab_proto_text(a, tab_rows_text(r, i, 2));
    j->progress = (uint32_t)tab_rows_int(r, i, 3);
    j->phase = tab_proto_text(a, tab_rows_text(r, i, 4));
    j->label = tab_proto_text(a, tab_rows_text(r, i, 5));
    j->endpoint_id = tab_proto_text(a, tab_rows_text(r, i, 6));
    /* The id of a report is chosen at submission; it is shown once the report exists. */
    j->report_id = tab_proto_text(a, strcmp(j->status, "done") == 0 ? tab_rows_text(r, i, 7) : "");
    j->error = tab_proto_text(a, tab_rows_text(r, i, 8));
    j->created_us = tab_rows_time(r, i, 9);
    j->updated_us = tab_rows_time(r, i, 10);
    j->processing = tab_proto_text(a, tab_rows_text(r, i, 11));
    j->output_at_api = tab_rows_bool(r, i, 12);
    if (strcmp(j->status, "queued") == 0) {
        Tabella__Eta *e = j->eta = tab_arena_new_of(a, Tabella__Eta, 1);
        if (e != NULL) {
            tabella__eta__init(e);
            bool window = !tab_rows_null(r, i, 13);
            e->basis = tab_proto_text(a, window ? "completion_window" : "queue");
            e->due_us =
                window ? tab_rows_time(r, i, 13) : 0; /* a queue's is filled in by who knows its speed */
        }
    }
    j->about = tab_proto_text(a, tab_rows_text(r, i, 16));
    if (!tab_rows_null(r, i, 15)) {
        j->result = tab_proto_read(a, &tabella__job_result__descriptor, tab_rows_bytes(r, i, 15, a));
        if (j->result == NULL)
            return tab_fail(err, TAB_INTERNAL, "", "a stored result cannot be read");
    }
    *ret = j;
    return TAB_OK;
}

tab_status jobs_get(tab_tx *tx, tab_arena *a, const char *org, const char *job_id, Tabella__Job **ret,
                    tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL, *logs = NULL;
    tab_status s = tab_tx_query(tx, &rows, err,
                                "SELECT " COLUMNS("result") " FROM jobs.job WHERE org = $1 AND job_id = $2",
                                TAB_P(tab_p_text(org), tab_p_text(job_id)));
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "no such job");
    s = tab_tx_query(tx, &logs, err,
                     "SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') || ' ' || "
                     "line "
                     "FROM (SELECT n, at, line "
                     "FROM jobs.log "
                     "WHERE org = $1 AND job_id = $2 "
                     "ORDER BY n DESC "
                     "LIMIT $3) t "
                     "ORDER BY n",
                     TAB_P(tab_p_text(org), tab_p_text(job_id), tab_p_int(JOBS_LOGS_SHOWN)));
    Tabella__Job *j = NULL;
    if (s == TAB_OK)
        s = job_of(rows, 0, a, &j, err);
    if (s != TAB_OK)
        return s;
    j->logs = tab_arena_new_of(a, char *, tab_rows_count(logs) + 1);
    for (size_t i = 0; j->logs != NULL && i < tab_rows_count(logs); i++)
        j->logs[j->n_logs++] = tab_proto_text(a, tab_rows_text(logs, i, 0));
    *ret = j;
    return TAB_OK;
}

tab_status jobs_page_of(ProtobufCBinaryData after, uint32_t limit, jobs_page *ret, tab_error *err)
{
    char text[24] = "";
    long long before = INT64_MAX;
    if (after.len >= sizeof text)
        return tab_fail(err, TAB_VALIDATION, "cursor", "no cursor of this list");
    if (after.len > 0) {
        memcpy(text, after.data, after.len);
        if (sscanf(text, "%lld", &before) != 1)
            return tab_fail(err, TAB_VALIDATION, "cursor", "no cursor of this list");
    }
    *ret = (jobs_page){ .before = before, .limit = limit == 0 ? 20 : limit > 100 ? 100 : limit };
    return TAB_OK;
}

size_t jobs_page_rows(jobs_page *p, const tab_rows *rows)
{
    size_t n = tab_rows_count(rows);
    p->more = n > (size_t)p->limit;
    return p->more ? (size_t)p->limit : n;
}

ProtobufCBinaryData jobs_page_next(tab_arena *a, int64_t last)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)last);
    return tab_proto_bytes(a, (tab_str){ text, (size_t)n });
}

tab_status jobs_list(tab_tx *tx, tab_arena *a, const char *org, const Tabella__ListJobsRequest *q,
                     Tabella__ListJobsReply *y, tab_error *err)
{
    jobs_page p;
    tab_status s = jobs_page_of(q->after, q->limit, &p, err);
    if (s != TAB_OK)
        return s;
    TAB_AUTO(tab_rows) *rows = NULL, *count = NULL;
    s = tab_tx_query(
        tx, &rows, err,
        "SELECT " COLUMNS("NULL::bytea") " FROM jobs.job WHERE org = $1 AND seq < $2 AND ($3 = '' OR status "
                                         "= $3) ORDER BY seq DESC LIMIT $4",
        TAB_P(tab_p_text(org), tab_p_int(p.before), tab_p_text(q->status), tab_p_int(p.limit + 1)));
    if (s == TAB_OK)
        s = tab_tx_query(tx, &count, err,
                         "SELECT count(*) FROM jobs.job WHERE org = $1 AND ($2 = '' OR status = $2)",
                         TAB_P(tab_p_text(org), tab_p_text(q->status)));
    if (s != TAB_OK)
        return s;
    size_t n = jobs_page_rows(&p, rows);
    Tabella__Job **list = tab_arena_new_of(a, Tabella__Job *, n + 1);
    if (list == NULL)
        return tab_no_memory(err);
    y->jobs = list;
    y->total = (uint64_t)tab_rows_int(count, 0, 0);
    for (size_t i = 0; i < n && s == TAB_OK; i++)
        if ((s = job_of(rows, i, a, &list[i], err)) == TAB_OK)
            y->n_jobs = i + 1;
    if (s == TAB_OK && p.more)
        y->next = jobs_page_next(a, tab_rows_int(rows, n - 1, 14));
    return s;
}

/* ---- bundles: zstd level 1 (262 MB/s, half the size), in parts of 1 MiB that a row holds well ---- */

enum { PART = 1 << 20 };
static const size_t OUTPUT_SCRATCH = (size_t)3 << 30;

/* What a sealed bundle is bound to: its place. */
static tab_str output_context(tab_arena *a, const char *org, const char *job_id)
{
    const char *text = tab_arena_printf(a, "jobs.output/%s/%s", org, job_id);
    return text == NULL ? (tab_str){ NULL, 0 } : tab_str_of(text);
}

tab_status jobs_output_put(tab_tx *tx, const char *org, const char *job_id, const Tabella__Bundle *b,
                           const tab_run_keys *run, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(OUTPUT_SCRATCH);
    size_t n = tabella__bundle__get_packed_size(b), room = ZSTD_compressBound(n);
    uint8_t *raw = malloc(n + 1), *packed = malloc(room + 1);
    tab_status s = TAB_OK;
    size_t m = 0;
    if (a == NULL || raw == NULL || packed == NULL) {
        s = tab_no_memory(err);
    } else {
        tabella__bundle__pack(b, raw);
        m = ZSTD_compress(packed, room, raw, n, 1);
        if (ZSTD_isError(m))
            s = tab_fail(err, TAB_INTERNAL, "", "a bundle cannot be compressed");
    }
    free(raw);
    tab_str whole = { (const char *)packed, m };
    if (s == TAB_OK && run != NULL)
        s = tab_run_seal(run, a, whole, output_context(a, org, job_id), &whole, err);
    if (s == TAB_OK) /* an attempt that lost its end may have left some */
        s = tab_tx_query(tx, NULL, err, "DELETE FROM jobs.output WHERE org = $1 AND job_id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(job_id)));
    for (size_t at = 0, part = 0; s == TAB_OK && at < whole.n; at += PART, part++) {
        tab_str bytes = { whole.p + at, whole.n - at < PART ? whole.n - at : PART };
        s = tab_tx_query(
            tx, NULL, err,
            "INSERT INTO jobs.output (org, job_id, part, data, expires_at) "
            "VALUES ($1, $2, $3, $4, CASE WHEN $5::int > 0 THEN now() + $5::int * interval '1 hour' END)",
            TAB_P(tab_p_text(org), tab_p_text(job_id), tab_p_int((int64_t)part), tab_p_bytes(bytes),
                  tab_p_int(run == NULL ? 0 : JOBS_OUTPUT_HOURS)));
    }
    free(packed);
    return s;
}

tab_status jobs_output_get(tab_tx *tx, const char *org, const char *job_id, const tab_run_keys *keys,
                           tab_arena *a, tab_str *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query_bytes(tx, &rows, err,
                                      "SELECT data "
                                      "FROM jobs.output "
                                      "WHERE org = $1 AND job_id = $2 AND (expires_at IS NULL "
                                      "OR expires_at > now()) "
                                      "ORDER BY part",
                                      TAB_P(tab_p_text(org), tab_p_text(job_id)));
    if (s != TAB_OK)
        return s;
    size_t n = 0;
    for (size_t i = 0; i < tab_rows_count(rows); i++)
        n += tab_rows_bytes(rows, i, 0, a).n;
    if (n == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "this job's outputs are not kept (any more)");
    uint8_t *packed = malloc(n);
    if (packed == NULL)
        return tab_no_memory(err);
    size_t at = 0;
    for (size_t i = 0; i < tab_rows_count(rows); i++) {
        tab_str part = tab_rows_bytes(rows, i, 0, a);
        memcpy(packed + at, part.p, part.n);
        at += part.n;
    }
    tab_str frame = { NULL, 0 };
    s = tab_run_open(keys, a, (tab_str){ (char *)packed, n }, output_context(a, org, job_id), &frame, err);
    if (s != TAB_OK) {
        free(packed);
        return s;
    }
    unsigned long long size = ZSTD_getFrameContentSize(frame.p, frame.n);
    char *out = size >= ZSTD_CONTENTSIZE_ERROR ? NULL : tab_arena_alloc(a, size + 1, 1);
    if (out == NULL || ZSTD_decompress(out, size, frame.p, frame.n) != size)
        s = tab_fail(err, TAB_INTERNAL, "", "a stored bundle cannot be read");
    else
        *ret = (tab_str){ out, size };
    free(packed);
    return s;
}
