/* POST /platform/v1/data/upload: a file's tables become datasets (decision 0365).
 *
 * multipart/form-data: `file`; `name` of the dataset where the file holds one table; `options` {"sheet",
 * "reading"}.
 * The file goes on to the data-connector piece by piece as it comes (stream.h), and is read there by a
 * process of its own: at once, or, where it is large, by a job. What was sent on is dropped with whatever
 * ends the request before that. Under one Idempotency-Key the parts count, not the boundary between them. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/multipart_stream.h"
#include "common/files/reading.h"
#include "proto/data.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/api.h"
#include "services/api/data/datasets.h"
#include "services/api/data/upload.h"
#include "services/api/handlers.h"
#include "services/api/http/stream.h"
#include "services/api/idempotency.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

enum { PARTS = 8, TEXT_MOST = 64 * 1024, CALL_MS = 50000, ROOM = 1 << 20 };

/* ---- the file, on its way -------------------------------------------------------------------- */

tab_status upload_tell(request *r, const char *method, const ProtobufCMessage *in,
                       const ProtobufCMessageDescriptor *reply, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)16 << 20);
    tab_answer answer;
    tab_ask ask = { .service = "data-connector",
                    .method = method,
                    .org = r->who.org,
                    .request_id = r->request_id,
                    .actor = r->who.key,
                    .address = r->address,
                    .deadline = tab_in_ms(CALL_MS),
                    .in = in,
                    .reply = reply,
                    .arena = a };
    return a != NULL ? tab_rpc_call(r->api->rpc, &ask, &answer, err) : tab_no_memory(err);
}

/* The next piece; owner: all is sent, and belongs to this job. */
static tab_status send_piece(request *r, struct upload *u, const char *owner, tab_error *err)
{
    Tabella__UploadPartRequest q = TABELLA__UPLOAD_PART_REQUEST__INIT;
    if (atomic_load(&r->gone))
        return tab_fail(err, TAB_CANCELLED, "", "the request body ended early");
    q.upload = u->id;
    q.number = u->pieces;
    q.bytes = (ProtobufCBinaryData){ u->piece_n, (uint8_t *)u->piece };
    q.owner = STR(owner);
    TAB_TRY(upload_tell(r, "UploadPart", &q.base, &tabella__upload_part_reply__descriptor, err));
    u->pieces += u->piece_n > 0;
    u->piece_n = 0;
    return TAB_OK;
}

/* What was sent on is not wanted any more. Where this does not arrive, the data-connector drops it by
 * itself. */
static void take_back(request *r, struct upload *u)
{
    Tabella__UploadRequest q = TABELLA__UPLOAD_REQUEST__INIT;
    tab_error none;
    q.upload = u->id;
    if (u->pieces > 0)
        (void)!upload_tell(r, "UploadDrop", &q.base, &tabella__empty__descriptor, &none);
    u->pieces = 0;
}

static tab_status take_file(request *r, struct upload *u, tab_parts *p, tab_error *err)
{
    crypto_hash_sha256_state sum;
    crypto_hash_sha256_init(&sum);
    for (;;) {
        tab_str s;
        TAB_TRY(tab_parts_take(p, &s, err));
        if (s.n == 0)
            break;
        if ((u->bytes += s.n) > (uint64_t)r->api->cfg.upload_most)
            return tab_fail(err, TAB_VALIDATION, "file", "the file is larger than the limit of %lld MiB",
                            (long long)(r->api->cfg.upload_most >> 20));
        crypto_hash_sha256_update(&sum, (const unsigned char *)s.p, s.n);
        while (s.n > 0) {
            size_t n = UPLOAD_PIECE - u->piece_n < s.n ? UPLOAD_PIECE - u->piece_n : s.n;
            memcpy(u->piece + u->piece_n, s.p, n);
            u->piece_n += n;
            s = (tab_str){ s.p + n, s.n - n };
            if (u->piece_n == UPLOAD_PIECE)
                TAB_TRY(send_piece(r, u, "", err));
        }
    }
    if (u->piece_n > 0)
        TAB_TRY(send_piece(r, u, "", err));
    crypto_hash_sha256_final(&sum, u->digest);
    u->has_file = true;
    return TAB_OK;
}

/* ---- the other parts ------------------------------------------------------------------------- */

tab_status upload_options(request *r, const tab_json *o, struct upload *ret, tab_error *err)
{
    char *reading = NULL;
    for (const tab_json *m = o->first; m != NULL; m = m->next)
        if (tab_str_eq(m->key, TAB_S("reading")))
            TAB_TRY(read_reading(r, m, &reading, err));
        else if (!tab_str_eq(m->key, TAB_S("sheet")))
            return tab_fail(err, TAB_VALIDATION, "options",
                            "`options` has no field \"%.*s\"; its fields are `sheet` and `reading`",
                            (int)(m->key.n < 40 ? m->key.n : 40), m->key.p);
    if (reading != NULL)
        ret->reading = tab_str_of(reading);
    TAB_TRY(body_text(o, "sheet", false, 256, &ret->sheet, err));
    return memchr(ret->sheet.p, 0, ret->sheet.n) == NULL
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, "options.sheet", "the name of a sheet cannot contain NUL");
}

static tab_status read_options(request *r, tab_str text, struct upload *ret, tab_error *err)
{
    const tab_json *o;
    tab_error why;
    if (tab_json_read(r->arena, text, 4, &o, &why) != TAB_OK || o->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "options", "`options` must be a JSON object");
    return upload_options(r, o, ret, err);
}

tab_status upload_name(tab_str text, const char *param, tab_str *ret, tab_error *err)
{
    *ret = text;
    return text.n > 0 && text.n <= 128 && tab_utf8_valid(text) && memchr(text.p, 0, text.n) == NULL
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, param, "`%s` must be a string of 1 to 128 bytes", param);
}

/* A part that is short, as a text of the arena. */
static tab_status take_text(request *r, tab_parts *p, tab_str *ret, tab_error *err)
{
    char *text = tab_arena_alloc(r->arena, TEXT_MOST + 1, 1);
    *ret = (tab_str){ text, 0 };
    if (text == NULL)
        return tab_no_memory(err);
    for (;;) {
        tab_str s;
        TAB_TRY(tab_parts_take(p, &s, err));
        if (s.n == 0)
            return TAB_OK;
        if (s.n > TEXT_MOST - ret->n)
            return tab_fail(err, TAB_VALIDATION, "body", "a part other than `file` is larger than %d KiB",
                            TEXT_MOST / 1024);
        memcpy(text + ret->n, s.p, s.n);
        ret->n += s.n;
    }
}

static tab_status take_part(request *r, struct upload *u, tab_parts *p, const tab_part *part, tab_error *err)
{
    tab_str text;
    if (tab_str_eq(part->name, TAB_S("file"))) {
        u->file_name = part->file_name;
        if (u->file_name.n > 1024 || !tab_utf8_valid(u->file_name) ||
            memchr(part->file_name.p, 0, part->file_name.n) != NULL)
            return tab_fail(err, TAB_VALIDATION, "file",
                            "the name of the file can be at most 1024 bytes long");
        return take_file(r, u, p, err);
    }
    if (tab_str_eq(part->name, TAB_S("name"))) {
        TAB_TRY(take_text(r, p, &text, err));
        return upload_name(text, "name", &u->name, err);
    }
    if (tab_str_eq(part->name, TAB_S("options"))) {
        TAB_TRY(take_text(r, p, &text, err));
        return read_options(r, text, u, err);
    }
    return tab_fail(err, TAB_VALIDATION, "body",
                    "the parts of the body can only be `file`, `name` and `options`");
}

/* ---- the body -------------------------------------------------------------------------------- */

tab_status upload_pull(request *r, char *to, size_t most, size_t *ret_n, tab_error *err)
{
    struct upload *u = r->upload;
    if (r->stream != NULL) {
        TAB_TRY(stream_pull(r->stream, to, most, ret_n, err));
    } else {
        *ret_n = r->body_n - u->at < most ? r->body_n - u->at : most;
        memcpy(to, r->body + u->at, *ret_n);
        u->at += *ret_n;
    }
    u->come += *ret_n;
    return TAB_OK;
}

static tab_status pull(void *arg, char *to, size_t most, size_t *ret_n, tab_error *err)
{
    request *r = arg;
    TAB_TRY(upload_pull(r, to, most, ret_n, err));
    return r->upload->come <= (uint64_t)r->api->cfg.upload_most + ROOM
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, "file", "the file is larger than the limit of %lld MiB",
                          (long long)(r->api->cfg.upload_most >> 20));
}

static tab_status read_parts(request *r, struct upload *u, tab_error *err)
{
    tab_parts *p;
    tab_part part;
    bool more;
    if (r->content_encoding != NULL && *r->content_encoding != 0)
        return tab_fail(err, TAB_VALIDATION, "body",
                        "Content-Encoding is not supported; send the file itself as .gz instead");
    TAB_TRY(tab_parts_open(r->arena, r->content_type, pull, r, PARTS, &p, err));
    for (;;) {
        TAB_TRY(tab_parts_next(p, &part, &more, err));
        if (!more)
            break;
        TAB_TRY(take_part(r, u, p, &part, err));
    }
    if (!u->has_file)
        return tab_fail(err, TAB_VALIDATION, "file", "`file` is required");
    tab_str all[] = {
        u->file_name, { (const char *)u->digest, sizeof u->digest }, u->name, u->sheet, u->reading
    };
    uint8_t digest[5][TAB_SHA256];
    size_t n = u->reading.n > 0 ? 5 : 4;
    for (size_t i = 0; i < n; i++)
        if (i == 1)
            memcpy(digest[i], u->digest, sizeof u->digest);
        else
            tab_sha256(all[i], digest[i]);
    tab_sha256((tab_str){ (const char *)digest, n * sizeof *digest }, r->body_sha256);
    return TAB_OK;
}

/* The whole body into the data-connector. */
static tab_status take_body(request *r, tab_error *err)
{
    struct upload *u = tab_arena_new_of(r->arena, struct upload, 1);
    if (u == NULL || (r->stream == NULL && r->body == NULL) || (u->piece = malloc(UPLOAD_PIECE)) == NULL)
        return tab_no_memory(err);
    r->upload = u;
    tab_id_new(u->id, "up_");
    tab_status s =
        r->stream != NULL || r->body_n <= (size_t)r->api->cfg.body_most
            ? read_parts(r, u, err)
            : tab_fail(err, TAB_VALIDATION, "body", "the body is larger than the limit of %lld bytes",
                       (long long)r->api->cfg.body_most);
    free(u->piece);
    u->piece = NULL;
    u->piece_n = 0;
    r->deadline = tab_in_ms(CALL_MS); /* that of the answer: how long the body takes is its sender's */
    if (s != TAB_OK)
        take_back(r, u);
    return s;
}

/* ---- what it holds --------------------------------------------------------------------------- */

/* A file without a name has its dataset's. */
static tab_status load_request(request *r, struct upload *u, const char *ingest_id, Tabella__LoadRequest *ret,
                               tab_error *err)
{
    tab_str name = u->file_name.n > 0 ? u->file_name : u->name.n > 0 ? u->name : TAB_S("file");
    tabella__load_request__init(ret);
    ret->upload = u->id;
    ret->ingest_id = STR(ingest_id);
    ret->file_name = STR(tab_arena_copy(r->arena, name).p);
    ret->name = STR(tab_arena_copy(r->arena, u->name).p);
    ret->sheet = STR(tab_arena_copy(r->arena, u->sheet).p);
    ret->reading = STR(tab_arena_copy(r->arena, u->reading).p);
    return tab_arena_full(r->arena) ? tab_no_memory(err) : TAB_OK;
}

static tab_status load_now(request *r, struct upload *u, const char *ingest_id, tab_error *err)
{
    Tabella__LoadRequest q;
    const Tabella__LoadReply *y;
    TAB_TRY(load_request(r, u, ingest_id, &q, err));
    TAB_TRY(call(r, "data-connector", "Load", &q.base, &tabella__load_reply__descriptor, &y, err));
    upload_members(r, y);
    r->status = 201;
    return TAB_OK;
}

static tab_status load_as_job(request *r, struct upload *u, const char *ingest_id, tab_error *err)
{
    Tabella__SubmitRequest q = TABELLA__SUBMIT_REQUEST__INIT;
    Tabella__LoadRequest load;
    const Tabella__Job *j;
    char *job_id = tab_arena_printf(r->arena, "job_%s", r->seed);
    TAB_TRY(load_request(r, u, u->resumes ? ingest_id : job_id, &load, err));
    TAB_TRY(send_piece(r, u, job_id, err));
    tab_str bytes = tab_proto_write(r->arena, &load.base);
    if (bytes.p == NULL)
        return tab_no_memory(err);
    q.job_id = job_id;
    q.kind = STR("sync");
    q.label = load.file_name;
    q.processing = STR("realtime");
    q.load = (ProtobufCBinaryData){ bytes.n, (uint8_t *)(uintptr_t)bytes.p };
    q.key_id = r->who.key;
    q.surface = request_surface(r);
    tab_status s = call(r, "jobs", "Submit", &q.base, &tabella__job__descriptor, &j, err);
    if (s == TAB_UNAVAILABLE || s == TAB_CANCELLED || s == TAB_INTERNAL)
        u->pieces = 0; /* it may have been submitted: the file is that job's */
    TAB_TRY(s);
    tab_out_open(&r->out, '{');
    text_member(&r->out, "job_id", j->job_id);
    text_member(&r->out, "kind", j->kind);
    text_member(&r->out, "status", strcmp(j->status, "queued") == 0 ? "queued" : "running");
    result_member(r, j->job_id);
    tab_out_close(&r->out, '}');
    r->status = 202;
    return TAB_OK;
}

tab_status upload_load(request *r, struct upload *u, const char *ingest_id, tab_error *err)
{
    return u->bytes > (uint64_t)r->api->cfg.upload_inline ? load_as_job(r, u, ingest_id, err)
                                                          : load_now(r, u, ingest_id, err);
}

/* Called anew for a request that waited for the first with its key: its body is not read again. */
tab_status post_data_upload(request *r, tab_error *err)
{
    if (r->upload == NULL)
        TAB_TRY(take_body(r, err));
    struct upload *u = r->upload;
    if (u->bytes == 0)
        return tab_fail(err, TAB_VALIDATION, "file", "the file is empty");
    tab_status s = idempotency_begin(r, err);
    if (s == PARKED)
        return s;
    if (s == TAB_OK && !r->replayed)
        s = upload_load(r, u, tab_arena_printf(r->arena, "upload_%s", r->seed), err);
    if (s != TAB_OK || r->replayed)
        take_back(r, u);
    return s;
}
