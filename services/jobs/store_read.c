/* Reading jobs. What finished ones keep is in store_output.c. */
#include <stdio.h>

#include "common/base/proto.h"
#include "common/pg/tally.h"
#include "services/jobs/store.h"

/* Columns in the order that job_of reads; the result only where it is wanted. */
#define COLUMNS(result)                                                                           \
    "job_id, kind, status, progress, phase, label, coalesce(nullif(serves, ''), endpoint_id) AS " \
    "endpoint_id, report_id, error, created_at, "                                                 \
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
        return tab_fail(err, TAB_VALIDATION, "cursor", "this cursor does not belong to this list");
    if (after.len > 0) {
        memcpy(text, after.data, after.len);
        if (sscanf(text, "%lld", &before) != 1)
            return tab_fail(err, TAB_VALIDATION, "cursor", "this cursor does not belong to this list");
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
    TAB_AUTO(tab_rows) *rows = NULL;
    /* one statement each, so that each has the index that it needs */
    const char *sql = q->status[0] == 0
                          ? "SELECT " COLUMNS("NULL::bytea") " FROM jobs.job WHERE org = $1 AND seq < $2 "
                                                             "AND $3 = '' ORDER BY seq DESC LIMIT $4"
                          : "SELECT " COLUMNS("NULL::bytea") " FROM jobs.job WHERE org = $1 AND seq < $2 "
                                                             "AND status = $3 ORDER BY seq DESC LIMIT $4";
    char tally[32];
    snprintf(tally, sizeof tally, "job%s%.20s", q->status[0] == 0 ? "" : "/", q->status);
    s = tab_tx_query(
        tx, &rows, err, sql,
        TAB_P(tab_p_text(org), tab_p_int(p.before), tab_p_text(q->status), tab_p_int(p.limit + 1)));
    if (s == TAB_OK)
        s = tab_tally_total(tx, "jobs", org, tally, &y->total, err);
    if (s != TAB_OK)
        return s;
    size_t n = jobs_page_rows(&p, rows);
    Tabella__Job **list = tab_arena_new_of(a, Tabella__Job *, n + 1);
    if (list == NULL)
        return tab_no_memory(err);
    y->jobs = list;
    for (size_t i = 0; i < n && s == TAB_OK; i++)
        if ((s = job_of(rows, i, a, &list[i], err)) == TAB_OK)
            y->n_jobs = i + 1;
    if (s == TAB_OK && p.more)
        y->next = jobs_page_next(a, tab_rows_int(rows, n - 1, 14));
    return s;
}
