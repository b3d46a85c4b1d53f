/* Uploads in parts that are gone on with after a broken connection (decision 0671).
 *
 *   POST   /platform/v1/uploads              what the file is to become; how large it is and may be
 *   PUT    /platform/v1/uploads/:id?offset=N  bytes behind the first N, as many as come
 *   GET    /platform/v1/uploads/:id          `offset`: where to go on
 *   POST   /platform/v1/uploads/:id/complete  its datasets, or the job that makes them, as of any upload
 *   DELETE /platform/v1/uploads/:id
 *
 * A body is taken as it comes (stream.h), a piece of a mebibyte at a time: what has come when it breaks off
 * is kept, and nothing lies here whole. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/integer.h"
#include "proto/data.pb-c.h"
#include "proto/keys.pb-c.h"
#include "services/api/data/upload.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/idempotency.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

enum { CALL_MS = 50000 };

static void state_json(request *r, const Tabella__UploadState *s)
{
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    text_member(o, "id", s->upload);
    text_member(o, "file_name", s->file_name);
    text_member(o, "name", s->name[0] != 0 ? s->name : NULL);
    uint_member(o, "offset", s->bytes);
    tab_out_key(o, "size_bytes");
    if (s->size > 0)
        tab_out_uint(o, s->size);
    else
        tab_out_null(o);
    uint_member(o, "most_bytes", s->most);
    time_member(o, "created_at", s->created_us);
    time_member(o, "expires_at", s->expires_us);
    tab_out_close(o, '}');
}

static tab_status state(request *r, const Tabella__UploadState **ret, tab_error *err)
{
    Tabella__UploadRequest q = TABELLA__UPLOAD_REQUEST__INIT;
    q.upload = STR(tab_arena_copy(r->arena, r->param[0]).p);
    return call(r, "data-connector", "UploadState", &q.base, &tabella__upload_state__descriptor, ret, err);
}

/* What the organization's plan lets a file have. */
static tab_status largest(request *r, uint64_t *ret, tab_error *err)
{
    Tabella__GetOrgRequest q = TABELLA__GET_ORG_REQUEST__INIT;
    const Tabella__Org *org;
    q.org = r->who.org;
    TAB_TRY(call(r, "keys", "GetOrg", &q.base, &tabella__org__descriptor, &org, err));
    *ret = org->upload_mib > 0 ? org->upload_mib << 20 : (uint64_t)r->api->cfg.upload_most;
    return TAB_OK;
}

static tab_status read_begin(request *r, const tab_json *root, struct upload *u, uint64_t *ret_size,
                             tab_error *err)
{
    TAB_TRY(body_text(root, "file_name", true, 1024, &u->file_name, err));
    if (memchr(u->file_name.p, 0, u->file_name.n) != NULL)
        return tab_fail(err, TAB_VALIDATION, "file_name", "`file_name` cannot contain NUL");
    const tab_json *name = tab_json_get(root, "name"), *size = tab_json_get(root, "size_bytes"),
                   *options = tab_json_get(root, "options");
    if (name != NULL)
        TAB_TRY(upload_name(name->kind == TAB_JSON_STRING ? name->text : TAB_S(""), "name", &u->name, err));
    if (options != NULL && options->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "options", "`options` must be a JSON object");
    if (options != NULL)
        TAB_TRY(upload_options(r, options, u, err));
    if (size != NULL && (size->kind != TAB_JSON_NUMBER || !(size->num >= 1 && size->num <= 1e15) ||
                         size->num != (double)(uint64_t)size->num))
        return tab_fail(err, TAB_VALIDATION, "size_bytes", "`size_bytes` must be a whole number of bytes");
    *ret_size = size != NULL ? (uint64_t)size->num : 0;
    return TAB_OK;
}

tab_status post_uploads(request *r, tab_error *err)
{
    tab_body b;
    struct upload u = { .name = TAB_S(""), .sheet = TAB_S(""), .reading = TAB_S("") };
    Tabella__UploadState q = TABELLA__UPLOAD_STATE__INIT;
    const Tabella__UploadState *y;
    TAB_TRY(body_read(r, &b, err));
    TAB_TRY(read_begin(r, b.root, &u, &q.size, err));
    tab_status s = idempotency_begin(r, err);
    if (s != TAB_OK || r->replayed)
        return s;
    TAB_TRY(largest(r, &q.most, err));
    if (q.size > q.most)
        return tab_fail(
            err, TAB_VALIDATION, "size_bytes",
            "the file is larger than the limit of %llu MiB; a larger plan, or `upload_mib` of the "
            "organization, raises it",
            (unsigned long long)(q.most >> 20));
    q.upload = tab_arena_printf(r->arena, "up_%s", r->seed);
    q.file_name = STR(tab_arena_copy(r->arena, u.file_name).p);
    q.name = STR(tab_arena_copy(r->arena, u.name).p);
    q.sheet = STR(tab_arena_copy(r->arena, u.sheet).p);
    q.reading = STR(tab_arena_copy(r->arena, u.reading).p);
    if (tab_arena_full(r->arena))
        return tab_no_memory(err);
    TAB_TRY(call(r, "data-connector", "UploadBegin", &q.base, &tabella__upload_state__descriptor, &y, err));
    state_json(r, y);
    r->status = 201;
    r->location = tab_arena_printf(r->arena, "/platform/v1/uploads/%s", y->upload);
    return TAB_OK;
}

tab_status get_upload(request *r, tab_error *err)
{
    const Tabella__UploadState *y;
    TAB_TRY(state(r, &y, err));
    state_json(r, y);
    return TAB_OK;
}

tab_status delete_upload(request *r, tab_error *err)
{
    const Tabella__UploadState *y;
    Tabella__UploadRequest q = TABELLA__UPLOAD_REQUEST__INIT;
    const Tabella__Empty *none;
    TAB_TRY(state(r, &y, err));
    if (y->owner[0] != 0)
        return tab_fail(err, TAB_CONFLICT, "", "the upload is complete; a job reads it");
    q.upload = y->upload;
    TAB_TRY(call(r, "data-connector", "UploadDrop", &q.base, &tabella__empty__descriptor, &none, err));
    deleted_json(&r->out, y->upload, tab_now_us());
    return TAB_OK;
}

/* ---- bytes ------------------------------------------------------------------------------------- */

/* The piece, behind what is there. */
static tab_status append(request *r, struct upload *u, tab_error *err)
{
    Tabella__UploadPartRequest q = TABELLA__UPLOAD_PART_REQUEST__INIT;
    q.upload = u->id;
    q.resumes = true;
    q.offset = u->bytes;
    q.bytes = (ProtobufCBinaryData){ u->piece_n, (uint8_t *)u->piece };
    if (u->piece_n == 0)
        return TAB_OK;
    TAB_TRY(upload_tell(r, "UploadPart", &q.base, &tabella__upload_part_reply__descriptor, err));
    u->bytes += u->piece_n;
    u->piece_n = 0;
    return TAB_OK;
}

/* Until the body ends; of one that breaks off, what has come. */
static tab_status take(request *r, struct upload *u, tab_error *err)
{
    for (;;) {
        size_t n = 0;
        tab_status s = upload_pull(r, u->piece + u->piece_n, UPLOAD_PIECE - u->piece_n, &n, err);
        if (s != TAB_OK) {
            tab_error kept;
            (void)!append(r, u, &kept);
            return s;
        }
        u->piece_n += n;
        if (n == 0 || u->piece_n == UPLOAD_PIECE)
            TAB_TRY(append(r, u, err));
        if (n == 0)
            return TAB_OK;
    }
}

static tab_status offset_of(const request *r, uint64_t *ret, tab_error *err)
{
    tab_str text;
    int64_t n = 0;
    TAB_TRY(query_param(r, "offset", &text, err));
    if (text.p == NULL || !tab_integer_read(text, 0, INT64_MAX, &n))
        return tab_fail(err, TAB_VALIDATION, "offset",
                        "`offset` must be the number of bytes of the upload that are there already");
    *ret = (uint64_t)n;
    return TAB_OK;
}

tab_status put_upload(request *r, tab_error *err)
{
    const Tabella__UploadState *y;
    struct upload *u = tab_arena_new_of(r->arena, struct upload, 1);
    uint64_t offset = 0;
    if (u == NULL || (r->stream == NULL && r->body_n > 0 && r->body == NULL))
        return tab_no_memory(err);
    if (r->content_encoding != NULL && *r->content_encoding != 0)
        return tab_fail(err, TAB_VALIDATION, "body",
                        "Content-Encoding is not supported; send the file itself as .gz instead");
    TAB_TRY(offset_of(r, &offset, err));
    TAB_TRY(state(r, &y, err));
    if (y->owner[0] != 0)
        return tab_fail(err, TAB_CONFLICT, "", "the upload is complete; a job reads it");
    if (y->bytes != offset)
        return tab_fail(err, TAB_CONFLICT, "offset",
                        "the upload has %llu bytes, and `offset` says %llu; continue where it is",
                        (unsigned long long)y->bytes, (unsigned long long)offset);
    r->upload = u;
    snprintf(u->id, sizeof u->id, "%s", y->upload);
    u->bytes = offset;
    if ((u->piece = malloc(UPLOAD_PIECE)) == NULL)
        return tab_no_memory(err);
    tab_status s = take(r, u, err);
    free(u->piece);
    u->piece = NULL;
    r->deadline = tab_in_ms(CALL_MS); /* that of the answer: how long the body takes is its sender's */
    TAB_TRY(s);
    return get_upload(r, err);
}

tab_status post_upload_complete(request *r, tab_error *err)
{
    const Tabella__UploadState *y;
    struct upload *u = tab_arena_new_of(r->arena, struct upload, 1);
    if (u == NULL)
        return tab_no_memory(err);
    tab_status s = idempotency_begin(r, err);
    if (s != TAB_OK || r->replayed)
        return s;
    TAB_TRY(state(r, &y, err));
    if (y->owner[0] != 0)
        return tab_fail(err, TAB_CONFLICT, "", "the upload is complete; a job reads it");
    if (y->bytes == 0)
        return tab_fail(err, TAB_VALIDATION, "file", "the file is empty");
    if (y->size > 0 && y->bytes != y->size)
        return tab_fail(err, TAB_CONFLICT, "offset",
                        "%llu of the %llu bytes announced are there; send the rest",
                        (unsigned long long)y->bytes, (unsigned long long)y->size);
    *u = (struct upload){ .file_name = tab_str_of(y->file_name),
                          .name = tab_str_of(y->name),
                          .sheet = tab_str_of(y->sheet),
                          .reading = tab_str_of(y->reading),
                          .resumes = true,
                          .bytes = y->bytes,
                          .pieces = y->pieces };
    snprintf(u->id, sizeof u->id, "%s", y->upload);
    return upload_load(r, u, tab_arena_printf(r->arena, "upload_%s", y->upload), err);
}
