/* An organization's export: the members of its archive, as the api found them, beside the job that finds out
 * the rest (work_export.c). An archive is nowhere but in these rows and the snapshots that they name; the api
 * makes it while it is fetched (decision 0814). */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/base/proto.h"
#include "services/jobs/jobs.h"

enum { MEMBERS_MOST = 20000, WAITS_HOURS = 72 }; /* of an export that never comes to its end */

static tab_status audit(tab_tx *tx, const tab_call *call, const char *job_id, const char *actor,
                        const char *what, size_t members, tab_error *err)
{
    char id[TAB_ID], detail[48];
    Tabella__AuditEvent a = TABELLA__AUDIT_EVENT__INIT;
    tab_id_new(id, "evt_");
    snprintf(detail, sizeof detail, "members %zu", members);
    a.event_id = id;
    a.org_id = (char *)(uintptr_t)call->org;
    a.at_us = tab_now_us();
    a.actor = (char *)(uintptr_t)actor;
    a.action = (char *)(uintptr_t)what;
    a.subject = (char *)(uintptr_t)job_id;
    a.detail = detail;
    a.request_id = (char *)(uintptr_t)call->request_id;
    a.address = (char *)(uintptr_t)call->address;
    return tab_outbox_put(tx, "jobs", id, "tabella.event.audit", call->org, &a.base, err);
}

/* One at a time. The index decides; this says it in words. */
static tab_status alone(tab_tx *tx, const char *org, const char *job_id, tab_error *err)
{
    TAB_AUTO(tab_rows) *open = NULL;
    char param[TAB_ID + 24];
    TAB_TRY(tab_tx_query(tx, &open, err,
                         "SELECT job_id FROM jobs.job WHERE org = $1 AND kind = 'export' AND job_id <> $2 "
                         "AND status IN ('queued', 'running') LIMIT 1",
                         TAB_P(tab_p_text(org), tab_p_text(job_id))));
    if (tab_rows_count(open) == 0)
        return TAB_OK;
    snprintf(param, sizeof param, "running_job_id:%s", tab_rows_text(open, 0, 0));
    return tab_fail(err, TAB_CONFLICT, param,
                    "another export of this organization is being made; wait for it or cancel it");
}

static tab_status put_content(tab_tx *tx, const tab_call *call, const char *job_id, size_t place,
                              const Tabella__ExportMember *m, tab_error *err)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(digest, m->content.data, m->content.len);
    return tab_tx_query(
        tx, NULL, err,
        "INSERT INTO jobs.export_member (org, job_id, place, name, content, bytes, sha256, expires_at) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(hours => $8::int)) ON CONFLICT DO NOTHING",
        TAB_P(tab_p_text(call->org), tab_p_text(job_id), tab_p_int((int64_t)place), tab_p_text(m->name),
              tab_p_bytes((tab_str){ (const char *)m->content.data, m->content.len }),
              tab_p_int((int64_t)m->content.len),
              tab_p_bytes((tab_str){ (const char *)digest, sizeof digest }), tab_p_int(WAITS_HOURS)));
}

/* Snapshots follow the members that have a content; one statement for all of them. */
static tab_status put_snapshots(tab_tx *tx, const tab_call *call, const Tabella__SubmitRequest *q,
                                size_t first, tab_error *err)
{
    size_t n = q->n_members - first;
    char **text = tab_arena_new_of(call->arena, char *, 3 * n + 1);
    if (text == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const Tabella__ExportMember *m = q->members[first + i];
        text[i] = m->name;
        text[n + i] = m->dataset;
        text[2 * n + i] = m->snapshot;
    }
    const char *names = tab_pg_array(call->arena, text, n);
    const char *datasets = tab_pg_array(call->arena, text + n, n);
    const char *snapshots = tab_pg_array(call->arena, text + 2 * n, n);
    if (names == NULL || datasets == NULL || snapshots == NULL)
        return tab_no_memory(err);
    return tab_tx_query(
        tx, NULL, err,
        "INSERT INTO jobs.export_member (org, job_id, place, name, dataset, snapshot, expires_at) "
        "SELECT $1, $2, $3::int + i - 1, n, d, s, now() + make_interval(hours => $7::int) "
        "FROM unnest($4::text[], $5::text[], $6::text[]) WITH ORDINALITY AS m(n, d, s, i) "
        "ON CONFLICT DO NOTHING",
        TAB_P(tab_p_text(call->org), tab_p_text(q->job_id), tab_p_int((int64_t)first), tab_p_text(names),
              tab_p_text(datasets), tab_p_text(snapshots), tab_p_int(WAITS_HOURS)));
}

tab_status jobs_export_begin(tab_tx *tx, const tab_call *call, const Tabella__SubmitRequest *q,
                             tab_error *err)
{
    TAB_AUTO(tab_rows) *there = NULL;
    size_t i = 0;
    if (q->n_members == 0 || q->n_members > MEMBERS_MOST)
        return tab_fail(err, TAB_VALIDATION, "members",
                        "an archive of more than %d snapshots is made by the client: run `tabella export`",
                        MEMBERS_MOST);
    TAB_TRY(tab_tx_query(tx, &there, err, "SELECT 1 FROM jobs.job WHERE org = $1 AND job_id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->job_id))));
    if (tab_rows_count(there) > 0) /* asked again: it is as it was */
        return TAB_OK;
    TAB_TRY(alone(tx, call->org, q->job_id, err));
    for (; i < q->n_members && q->members[i]->snapshot[0] == 0; i++)
        TAB_TRY(put_content(tx, call, q->job_id, i, q->members[i], err));
    if (i < q->n_members)
        TAB_TRY(put_snapshots(tx, call, q, i, err));
    return audit(tx, call, q->job_id, q->key_id, "export.create", q->n_members, err);
}

/* ---- one that is done ------------------------------------------------------------------------- */

static tab_status is_done(tab_tx *tx, const char *org, const char *job_id, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    char param[TAB_ID + 24];
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT status FROM jobs.job WHERE org = $1 AND job_id = $2 AND kind = 'export'",
                         TAB_P(tab_p_text(org), tab_p_text(job_id))));
    if (tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "no such export");
    const char *status = tab_rows_text(rows, 0, 0);
    if (strcmp(status, "done") == 0)
        return TAB_OK;
    if (strcmp(status, "queued") != 0 && strcmp(status, "running") != 0)
        return tab_fail(err, TAB_CONFLICT, "id", "the export is %s; ask for a new one", status);
    snprintf(param, sizeof param, "running_job_id:%s", job_id);
    return tab_fail(err, TAB_CONFLICT, param, "the export is not done yet; wait for its job to finish");
}

static tab_status read_members(const tab_rows *rows, tab_arena *a, Tabella__ExportReply *y, tab_error *err)
{
    y->n_members = tab_rows_count(rows);
    y->members = tab_arena_new_of(a, Tabella__ExportMember *, y->n_members + 1);
    Tabella__ExportMember *m = tab_arena_new_of(a, Tabella__ExportMember, y->n_members + 1);
    if (y->members == NULL || m == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < y->n_members; i++, m++) {
        tabella__export_member__init(m);
        m->name = tab_proto_text(a, tab_rows_text(rows, i, 0));
        m->content = tab_proto_bytes(a, tab_rows_bytes(rows, i, 1, a));
        m->dataset = tab_proto_text(a, tab_rows_text(rows, i, 2));
        m->snapshot = tab_proto_text(a, tab_rows_text(rows, i, 3));
        m->bytes = (uint64_t)tab_rows_int(rows, i, 4);
        m->sha256 = tab_proto_bytes(a, tab_rows_bytes(rows, i, 5, a));
        y->members[i] = m;
    }
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status jobs_export(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__ExportRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, 20000), &tx, err));
    TAB_TRY(is_done(tx, call->org, q->job_id, err));
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT name, coalesce(content, ''), dataset, snapshot, bytes, sha256 "
                         "FROM jobs.export_member WHERE org = $1 AND job_id = $2 AND expires_at > now() "
                         "ORDER BY place",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->job_id))));
    if (tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id",
                        "the archive was kept for %d hours and has gone; ask for a new export",
                        (int)JOBS_OUTPUT_HOURS);
    TAB_TRY(read_members(rows, call->arena, call->out, err));
    TAB_TRY(audit(tx, call, q->job_id, q->actor, "export.download", tab_rows_count(rows), err));
    TAB_TRY(tab_tx_commit(&tx, err));
    tab_relay_nudge(self->relay);
    return TAB_OK;
}
