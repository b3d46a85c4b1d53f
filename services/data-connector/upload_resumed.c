/* Uploads in parts (decision 0671): begun with what the file is to become, then bytes, each piece behind
 * those that are here. A piece says how many bytes it thinks are here and is refused where that is not so:
 * of two senders, or of one that sends again what it has no answer for, one piece counts.
 *
 *   begin --> pieces, hours between them if need be --> Load, as of any upload --> gone
 *                └── expires after upload_resume_s without one (sweep.c) */
#include "common/base/proto.h"
#include "services/data-connector/data.h"

enum { OPEN_MOST = 100, TEXT_MOST = 64 * 1024 };

static tab_status fill(const data_service *self, const tab_call *call, const tab_rows *r,
                       Tabella__UploadState *out, tab_error *err)
{
    out->upload = tab_proto_text(call->arena, tab_rows_text(r, 0, 0));
    out->file_name = tab_proto_text(call->arena, tab_rows_text(r, 0, 1));
    out->name = tab_proto_text(call->arena, tab_rows_text(r, 0, 2));
    out->sheet = tab_proto_text(call->arena, tab_rows_text(r, 0, 3));
    out->reading = tab_proto_text(call->arena, tab_rows_text(r, 0, 4));
    out->size = (uint64_t)tab_rows_int(r, 0, 5);
    out->most = (uint64_t)tab_rows_int(r, 0, 6);
    out->bytes = (uint64_t)tab_rows_int(r, 0, 7);
    out->pieces = (uint64_t)tab_rows_int(r, 0, 8);
    out->created_us = tab_rows_time(r, 0, 9);
    out->expires_us = tab_rows_time(r, 0, 10) + self->upload_resume_s * 1000000;
    out->owner = tab_proto_text(call->arena, tab_rows_text(r, 0, 11));
    return tab_arena_full(call->arena) ? tab_no_memory(err) : TAB_OK;
}

#define STATE "id, file_name, name, sheet, reading, size, most, bytes, pieces, created, touched, owner"

static tab_status find(tab_tx *tx, const char *org, const char *id, tab_rows **ret, tab_error *err)
{
    TAB_TRY(tab_tx_query(tx, ret, err,
                         "SELECT " STATE " FROM data_connector.upload WHERE org = $1 AND id = $2 AND resumes",
                         TAB_P(tab_p_text(org), tab_p_text(id))));
    return tab_rows_count(*ret) > 0
               ? TAB_OK
               : tab_fail(err, TAB_NOT_FOUND, "", "there is no such upload; it was completed, or it expired");
}

tab_status data_upload_state(void *arg, tab_call *call, tab_error *err)
{
    const data_service *self = arg;
    const Tabella__UploadRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(find(tx, call->org, q->upload, &r, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    return fill(self, call, r, call->out, err);
}

/* The same id again: the same upload. */
tab_status data_upload_begin(void *arg, tab_call *call, tab_error *err)
{
    const data_service *self = arg;
    const Tabella__UploadState *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *open = NULL, *r = NULL;
    if (q->upload[0] == '\0' || q->most == 0 || q->most > INT64_MAX || q->size > q->most ||
        strlen(q->reading) > TEXT_MOST)
        return tab_fail(err, TAB_VALIDATION, "size_bytes", "an upload of which too little is said");
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(tab_tx_query(tx, &open, err,
                         "SELECT count(*) FROM data_connector.upload "
                         "WHERE org = $1 AND resumes AND owner = '' AND id <> $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->upload))));
    if (tab_rows_int(open, 0, 0) >= OPEN_MOST)
        return tab_fail(
            err, TAB_RATE_LIMIT, "",
            "the organization has %d uploads in parts open, the most it may; complete or delete some",
            OPEN_MOST);
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "INSERT INTO data_connector.upload "
                         "(org, id, resumes, file_name, name, sheet, reading, size, most) "
                         "VALUES ($1, $2, true, $3, $4, $5, $6, $7, $8) ON CONFLICT (org, id) DO NOTHING",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->upload), tab_p_text(q->file_name),
                               tab_p_text(q->name), tab_p_text(q->sheet), tab_p_text(q->reading),
                               tab_p_int((int64_t)q->size), tab_p_int((int64_t)q->most))));
    TAB_TRY(find(tx, call->org, q->upload, &r, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    return fill(self, call, r, call->out, err);
}

tab_status data_upload_append(data_service *self, tab_tx *tx, const tab_call *call, int64_t *ret_bytes,
                              tab_error *err)
{
    const Tabella__UploadPartRequest *q = call->in;
    TAB_AUTO(tab_rows) *r = NULL, *now = NULL;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "UPDATE data_connector.upload SET bytes = bytes + $4::bigint, pieces = pieces + 1, "
        "touched = clock_timestamp() WHERE org = $1 AND id = $2 AND resumes AND owner = '' AND bytes = $3 "
        "AND bytes + $4::bigint <= CASE WHEN size > 0 THEN size ELSE most END RETURNING bytes, pieces - 1",
        TAB_P(tab_p_text(call->org), tab_p_text(q->upload), tab_p_int((int64_t)q->offset),
              tab_p_int((int64_t)q->bytes.len))));
    if (tab_rows_count(r) == 0) {
        TAB_TRY(find(tx, call->org, q->upload, &now, err));
        const int64_t size = tab_rows_int(now, 0, 5), most = tab_rows_int(now, 0, 6);
        if (tab_rows_int(now, 0, 7) == (int64_t)q->offset && *tab_rows_text(now, 0, 11) == 0)
            return tab_fail(err, TAB_VALIDATION, "body", "the file is larger than the %s of %lld bytes",
                            size > 0 ? "announced size" : "limit", (long long)(size > 0 ? size : most));
        return tab_fail(err, TAB_CONFLICT, "offset",
                        "the upload has %lld bytes, and these belong behind byte %lld; continue where it is",
                        (long long)tab_rows_int(now, 0, 7), (long long)q->offset);
    }
    *ret_bytes = tab_rows_int(r, 0, 0);
    return store_upload_piece_add(tx, &self->keys, call->org, q->upload, tab_rows_int(r, 0, 1),
                                  (tab_str){ (const char *)q->bytes.data, q->bytes.len }, err);
}
