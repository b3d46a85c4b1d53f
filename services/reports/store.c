/* See store.h. The hash is over the stored bytes, which are never written again: what a reader gets is
 * what was minted, or an error. */
#include "services/reports/store.h"

#include <assert.h>
#include <stdio.h>

#include "common/base/proto.h"
#include "common/pg/tally.h"
#include "common/security/crypto.h"
#include "common/security/ids.h"

static tab_str text(const char *s)
{
    return tab_str_of(s == NULL ? "" : s);
}

/* "base-3" -> "b3"; a text of another form stays as it is. */
static void base_short(const char *base, char *buf, size_t size)
{
    snprintf(buf, size, strncmp(base, "base-", 5) == 0 ? "b%s" : "%s",
             strncmp(base, "base-", 5) == 0 ? base + 5 : base);
}

/* "SUBJECT.b3.KIND.2026-01-31" */
static void report_name(const char *subject, const char *base, const char *kind, int64_t at_us, char *buf,
                        size_t size)
{
    char b[40], day[TAB_TIME_TEXT];
    base_short(base, b, sizeof b);
    tab_time_text_s(at_us, day);
    snprintf(buf, size, "%s.%s.%s.%.10s", subject, b, kind, day);
}

/* The same within the caller's transaction, without reading it back. */
static tab_status mint_in(tab_tx *tx, tab_arena *a, const char *org, const Tabella__Report *given,
                          tab_error *err)
{
    if (!tab_id_valid(text(given->id), "r_"))
        return tab_fail(err, TAB_VALIDATION, "id",
                        "a report id must be r_ followed by 32 hexadecimal digits");
    Tabella__Report r = *given; /* a copy of the message with what minting fills in */
    TAB_AUTO(tab_rows) *now = NULL;
    tab_status s = tab_tx_query(tx, &now, err, "SELECT now()", TAB_P_NONE);
    if (s != TAB_OK)
        return s;
    if (r.created_us == 0)
        r.created_us = tab_rows_time(now, 0, 0);
    char name[512];
    if (text(r.name).n == 0) {
        report_name(r.endpoint, r.base_model, r.kind, r.created_us, name, sizeof name);
        r.name = name;
    }
    r.pinned = false; /* the star and the hash are no part of the content */
    r.content_hash = (ProtobufCBinaryData){ 0, NULL };

    tab_str content = tab_proto_write(a, &r.base);
    if (content.p == NULL)
        return tab_no_memory(err);
    uint8_t hash[TAB_SHA256];
    assert(r.name[0] != 0 && r.created_us != 0 && !r.pinned && r.content_hash.len == 0);
    tab_sha256(content, hash);
    /* the same id again changes nothing: the first content stays */
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO reports.report (org, report_id, kind, endpoint_id, created_at, "
                        "content, content_hash) "
                        "VALUES ($1, $2, $3, $4, $5, $6, $7) "
                        "ON CONFLICT DO NOTHING",
                        TAB_P(tab_p_text(org), tab_p_text(r.id), tab_p_text(r.kind),
                              tab_p_str(text(r.endpoint_id)), tab_p_time(r.created_us), tab_p_bytes(content),
                              tab_p_bytes((tab_str){ (const char *)hash, sizeof hash })));
}

/* One row of (content, content_hash, starred) as a message. */
static tab_status report_of(const tab_rows *rows, size_t row, tab_arena *a, Tabella__Report **ret,
                            tab_error *err)
{
    tab_str content = tab_rows_bytes(rows, row, 0, a), hash = tab_rows_bytes(rows, row, 1, a);
    uint8_t want[TAB_SHA256];
    tab_sha256(content, want);
    if (hash.n != sizeof want || memcmp(hash.p, want, sizeof want) != 0)
        return tab_fail(err, TAB_INTERNAL, "", "a stored report does not match its hash");
    Tabella__Report *r = tab_proto_read(a, &tabella__report__descriptor, content);
    if (r == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "a stored report cannot be read");
    r->pinned = tab_rows_bool(rows, row, 2); /* beside the content, and not hashed, as mint_in left it */
    r->content_hash = tab_proto_bytes(a, hash);
    *ret = r;
    return TAB_OK;
}

static tab_status read_one(tab_tx *tx, tab_arena *a, const char *org, const char *id, Tabella__Report **ret,
                           tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(tx, &rows, err,
                                "SELECT content, content_hash, starred "
                                "FROM reports.report "
                                "WHERE org = $1 AND report_id = $2",
                                TAB_P(tab_p_text(org), tab_p_text(id)));
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "no such report");
    return report_of(rows, 0, a, ret, err);
}

/* Reads the report after a write, and returns it only once the write is committed. */
static tab_status read_and_commit(tab_tx **tx, const reports_at *at, const char *id, Tabella__Report **ret,
                                  tab_error *err)
{
    Tabella__Report *r = NULL;
    tab_status s = read_one(*tx, at->arena, at->org, id, &r, err);
    if (s == TAB_OK)
        s = tab_tx_commit(tx, err);
    if (s == TAB_OK)
        *ret = r;
    return s;
}

tab_status reports_mint(const reports_at *at, const Tabella__Report *r, Tabella__Report **ret, tab_error *err)
{
    static const char *const kinds[] = { "create", "refresh", "upgrade", "run" };
    bool known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        known |= tab_str_eq(text(r->kind), tab_str_of(kinds[i]));
    if (!known)
        return tab_fail(err, TAB_VALIDATION, "kind", "no such kind of report");
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s = tab_tx_begin(at->pg, at->org, at->deadline, &tx, err);
    if (s == TAB_OK)
        s = mint_in(tx, at->arena, at->org, r, err);
    return s != TAB_OK ? s : read_and_commit(&tx, at, r->id, ret, err);
}

tab_status reports_get(const reports_at *at, const char *id, Tabella__Report **ret, tab_error *err)
{
    if (!tab_id_valid(tab_str_of(id), "r_"))
        return tab_fail(err, TAB_NOT_FOUND, "id", "no such report");
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s = tab_tx_begin(at->pg, at->org, at->deadline, &tx, err);
    return s != TAB_OK ? s : read_and_commit(&tx, at, id, ret, err);
}

tab_status reports_star(const reports_at *at, const char *id, bool starred, Tabella__Report **ret,
                        tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s = tab_tx_begin(at->pg, at->org, at->deadline, &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, NULL, err,
                         "UPDATE reports.report SET starred = $3 WHERE org = $1 AND report_id = $2",
                         TAB_P(tab_p_text(at->org), tab_p_text(id), tab_p_bool(starred)));
    return s != TAB_OK ? s : read_and_commit(&tx, at, id, ret, err);
}

/* ---- list ------------------------------------------------------------------------------------ */

/* What a list shows of a report; a run has no score. */
static tab_status summary_of(const tab_rows *rows, size_t row, tab_arena *a, Tabella__ReportSummary **ret,
                             tab_error *err)
{
    Tabella__Report *r = NULL;
    tab_status s = report_of(rows, row, a, &r, err);
    Tabella__ReportSummary *y = tab_arena_new_of(a, Tabella__ReportSummary, 1);
    if (s != TAB_OK)
        return s;
    if (y == NULL)
        return tab_no_memory(err);
    tabella__report_summary__init(y);
    y->id = r->id;
    y->name = r->name;
    y->kind = r->kind;
    y->base_model = r->base_model;
    y->pinned = r->pinned;
    y->created_us = r->created_us;
    if (r->held_out != NULL) {
        y->metric = r->held_out->metric;
        y->has_score = true;
        y->score = r->held_out->score;
    } else if (strcmp(r->kind, "run") != 0) {
        y->metric = (char *)"none";
    }
    if (r->previous != NULL) {
        y->has_delta = true;
        y->delta = r->previous->delta;
    }
    *ret = y;
    return TAB_OK;
}

tab_status reports_list(const reports_at *at, const Tabella__ListReportsRequest *q,
                        Tabella__ListReportsReply **ret, tab_error *err)
{
    /* A cursor is "1:US:SEQ" among the starred, "0:US:SEQ" among the others: the last row shown, when it was
     * created and its number, which tells those of one moment apart. */
    int star = 2;
    long long us = 0, seq = INT64_MAX;
    char after[64] = "";
    if (q->after.len >= sizeof after)
        return tab_fail(err, TAB_VALIDATION, "cursor", "this cursor does not belong to this list");
    if (q->after.len > 0) {
        memcpy(after, q->after.data, q->after.len);
        if (sscanf(after, "%1d:%lld:%lld", &star, &us, &seq) != 3)
            return tab_fail(err, TAB_VALIDATION, "cursor", "this cursor does not belong to this list");
    }
    /* one row more is read than shown: it tells whether there is a next page */
    int64_t limit = q->limit == 0 ? 20 : q->limit > 100 ? 100 : q->limit;
    assert(limit > 0 && limit <= 100);

    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_begin(at->pg, at->org, at->deadline, &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, &rows, err,
                         "SELECT content, content_hash, starred, created_at, seq "
                         "FROM reports.report "
                         "WHERE org = $1 AND (starred::int, created_at, seq) < ($2::int, $5, $3::bigint) "
                         "ORDER BY starred::int DESC, created_at DESC, seq DESC "
                         "LIMIT $4",
                         TAB_P(tab_p_text(at->org), tab_p_int(star), tab_p_int(seq), tab_p_int(limit + 1),
                               tab_p_time(us)));
    uint64_t total = 0;
    if (s == TAB_OK)
        s = tab_tally_total(tx, "reports", at->org, "report", &total, err);
    if (s != TAB_OK)
        return s;

    size_t n = tab_rows_count(rows);
    if (n > (size_t)limit)
        n = (size_t)limit;
    Tabella__ListReportsReply *y = tab_arena_new_of(at->arena, Tabella__ListReportsReply, 1);
    Tabella__ReportSummary **list = tab_arena_new_of(at->arena, Tabella__ReportSummary *, n + 1);
    if (y == NULL || list == NULL)
        return tab_no_memory(err);
    tabella__list_reports_reply__init(y);
    y->reports = list;
    y->total = total;
    for (y->n_reports = 0; y->n_reports < n && s == TAB_OK; y->n_reports++)
        s = summary_of(rows, y->n_reports, at->arena, &list[y->n_reports], err);
    if (n > 0 && tab_rows_count(rows) > n) {
        char next[64];
        int m = snprintf(next, sizeof next, "%d:%lld:%lld", tab_rows_bool(rows, n - 1, 2),
                         (long long)tab_rows_time(rows, n - 1, 3), (long long)tab_rows_int(rows, n - 1, 4));
        y->next = tab_proto_bytes(at->arena, (tab_str){ next, (size_t)m });
    }
    if (s == TAB_OK)
        *ret = y;
    return s;
}

/* A run record is a report without a score, made of the event alone. */
tab_status reports_record_run(tab_tx *tx, tab_arena *a, const Tabella__WorkDone *e, tab_error *err)
{
    const Tabella__InlineRun *run = e->run;
    char name[256];
    report_name(run->run_id, e->base_model, "run", e->at_us, name, sizeof name);
    Tabella__Report r = TABELLA__REPORT__INIT;
    Tabella__ReportData data = TABELLA__REPORT_DATA__INIT;
    data.rows = run->rows;
    r.id = run->report_id;
    r.name = name;
    r.kind = (char *)"run";
    r.base_model = e->base_model;
    r.created_us = e->at_us;
    r.target = run->target;
    r.task = run->task;
    r.data = &data;
    if (run->n_classes > 0)
        r.classes = tab_arena_new_of(a, ProtobufCBinaryData, run->n_classes);
    for (size_t i = 0; r.classes != NULL && i < run->n_classes; i++)
        r.classes[r.n_classes++] =
            (ProtobufCBinaryData){ strlen(run->classes[i]), (uint8_t *)run->classes[i] };
    return mint_in(tx, a, e->org_id, &r, err);
}
