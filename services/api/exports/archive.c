/* GET /platform/v1/exports/:id: the archive of an export that is done, a tar. It is made while it leaves, of
 * what the job has noted and of the snapshots themselves, so nothing is stored twice and what is held is a
 * range (decision 0814). A tar says a member's length before it: the job has found it out, with the digest
 * that the rows are held against here. What goes wrong under way leaves the archive without its manifest,
 * which is its last member, so whoever reads it sees that it is not whole. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "proto/jobs.pb-c.h"
#include "services/api/data/stored.h"
#include "services/api/exports/exports.h"
#include "services/api/handlers.h"
#include "services/api/http/stream.h"
#include "services/api/render/members.h"
#include "services/api/service_calls.h"

enum { BLOCK = 512, HEX = 2 * crypto_hash_sha256_BYTES + 1 };
static const char FORM[] = "tabella export 1"; /* as tools/python/tabella/organization/_archive.py */

/* ---- tar (POSIX.1-1988, ustar) ---------------------------------------------------------------- */

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[6],
        version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a block");

/* Octal digits; what they do not hold (8 GiB) in binary, as GNU tar, libarchive and Python read it. */
static void put_size(char to[12], uint64_t size)
{
    if (size < (uint64_t)1 << 33) {
        snprintf(to, 12, "%011llo", (unsigned long long)size);
        return;
    }
    to[0] = (char)0x80;
    for (int i = 0; i < 8; i++)
        to[11 - i] = (char)(size >> 8 * i & 0xff);
}

static void head_of(const char *name, uint64_t size, struct header *ret)
{
    unsigned sum = 0;
    memset(ret, 0, sizeof *ret);
    snprintf(ret->name, sizeof ret->name, "%s", name);
    memcpy(ret->mode, "0000600", 8);
    memcpy(ret->uid, "0000000", 8);
    memcpy(ret->gid, "0000000", 8);
    put_size(ret->size, size);
    memcpy(ret->mtime, "00000000000", 12);
    memset(ret->sum, ' ', sizeof ret->sum);
    ret->type = '0';
    memcpy(ret->magic, "ustar", 6);
    memcpy(ret->version, "00", 2);
    for (size_t i = 0; i < sizeof *ret; i++)
        sum += ((const unsigned char *)ret)[i];
    snprintf(ret->sum, sizeof ret->sum, "%06o", sum);
}

/* ---- a member --------------------------------------------------------------------------------- */

typedef struct {
    request *r;
    const Tabella__ExportMember *m;
    crypto_hash_sha256_state digest;
    uint64_t sent;
} sending;

static tab_status changed(const sending *x, tab_error *err)
{
    return tab_fail(err, TAB_INTERNAL, "", "the rows of snapshot %s are not those that were exported",
                    x->m->snapshot);
}

static tab_status pass_on(void *arg, tab_str bytes, tab_error *err)
{
    sending *x = arg;
    if (bytes.n > x->m->bytes - x->sent)
        return changed(x, err);
    crypto_hash_sha256_update(&x->digest, (const unsigned char *)bytes.p, bytes.n);
    x->sent += bytes.n;
    return stream_send(x->r, bytes, err);
}

static tab_status send_head(request *r, const char *name, uint64_t size, tab_error *err)
{
    struct header h;
    head_of(name, size, &h);
    return stream_send(r, (tab_str){ (const char *)&h, sizeof h }, err);
}

static tab_status send_rest(request *r, uint64_t size, tab_error *err)
{
    static const char zero[BLOCK];
    size_t n = (size_t)((BLOCK - size % BLOCK) % BLOCK);
    return n == 0 ? TAB_OK : stream_send(r, (tab_str){ zero, n }, err);
}

static tab_status send_member(request *r, const Tabella__ExportMember *m, tab_error *err)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    sending x = { .r = r, .m = m };
    crypto_hash_sha256_init(&x.digest);
    TAB_TRY(send_head(r, m->name, m->bytes, err));
    if (m->snapshot[0] == 0)
        TAB_TRY(pass_on(&x, (tab_str){ (const char *)m->content.data, m->content.len }, err));
    else
        TAB_TRY(stored_rows(r, m->snapshot, pass_on, &x, err));
    crypto_hash_sha256_final(&x.digest, digest);
    if (x.sent != m->bytes || m->sha256.len != sizeof digest ||
        sodium_memcmp(digest, m->sha256.data, sizeof digest) != 0)
        return changed(&x, err);
    return send_rest(r, m->bytes, err);
}

/* ---- the archive ------------------------------------------------------------------------------ */

static tab_status send_manifest(request *r, const Tabella__ExportReply *y, tab_error *err)
{
    static const char end[2 * BLOCK];
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    text_member(&o, "form", FORM);
    text_member(&o, "organization", r->who.org);
    open_member(&o, "members", '{');
    for (size_t i = 0; i < y->n_members; i++) {
        const Tabella__ExportMember *m = y->members[i];
        char hex[HEX];
        sodium_bin2hex(hex, sizeof hex, m->sha256.data, m->sha256.len);
        open_member(&o, m->name, '{');
        uint_member(&o, "bytes", m->bytes);
        text_member(&o, "sha256", hex);
        tab_out_close(&o, '}');
    }
    tab_out_close(&o, '}');
    tab_out_close(&o, '}');
    tab_status s = o.failed ? tab_no_memory(err) : send_head(r, "manifest.json", o.n, err);
    if (s == TAB_OK)
        s = stream_send(r, tab_out_text(&o), err);
    if (s == TAB_OK)
        s = send_rest(r, o.n, err);
    tab_out_free(&o);
    TAB_TRY(s);
    return stream_send(r, (tab_str){ end, sizeof end }, err);
}

static tab_status send_all(request *r, const Tabella__ExportReply *y, tab_error *err)
{
    for (size_t i = 0; i < y->n_members; i++)
        TAB_TRY(send_member(r, y->members[i], err));
    TAB_TRY(send_manifest(r, y, err));
    return r->stream != NULL ? stream_finish(r->stream, err) : TAB_OK;
}

/* What was deleted since stays deleted: the archive is not whole any more, which is said before it begins. */
static tab_status all_there(request *r, const Tabella__ExportReply *y, tab_error *err)
{
    for (size_t i = 0; i < y->n_members; i++) {
        const Tabella__ExportMember *m = y->members[i];
        const Tabella__ReadReply *of;
        if (m->sha256.len > crypto_hash_sha256_BYTES)
            return tab_fail(err, TAB_INTERNAL, "", "a digest is damaged");
        tab_status s = m->snapshot[0] == 0 ? TAB_OK : stored_look(r, m->snapshot, &of, err);
        if (s == TAB_NOT_FOUND)
            return tab_fail(err, TAB_CONFLICT, "id",
                            "snapshot %s of dataset %s has been deleted since; ask for a new export",
                            m->snapshot, m->dataset);
        TAB_TRY(s);
    }
    return TAB_OK;
}

tab_status get_export(request *r, tab_error *err)
{
    Tabella__ExportRequest q = TABELLA__EXPORT_REQUEST__INIT;
    const Tabella__ExportReply *y;
    char name[160];
    TAB_TRY(export_allowed(r, err));
    q.job_id = STR(tab_arena_copy(r->arena, r->param[0]).p);
    q.actor = r->who.key;
    if (q.job_id == NULL)
        return tab_no_memory(err);
    TAB_TRY(call(r, "jobs", "Export", &q.base, &tabella__export_reply__descriptor, &y, err));
    TAB_TRY(all_there(r, y, err));
    snprintf(name, sizeof name, "%s.tar", q.job_id);
    r->media = "application/x-tar";
    tab_status s = r->stream != NULL ? stream_begin(r->stream, name, err) : TAB_OK;
    if (s == TAB_OK && strcmp(r->method, "HEAD") != 0)
        s = send_all(r, y, err);
    if (s != TAB_OK)
        r->media = NULL;
    return s;
}
