/* POST /platform/v1/data/upload: a file's tables become datasets (docs/decisions/0311).
 *
 * multipart/form-data: `file`; `name` of the dataset where the file holds one table; `options` {"sheet"}.
 * The file is read here (common/files), and its tables go to the data-connector as inline tables of an
 * endpoint do. Few are read at once in one process, since what is unpacked may be some times the body that
 * was counted on its arrival. Under one Idempotency-Key the parts count, not the boundary between them. */
#include <stdio.h>

#include "common/files/files.h"
#include "common/files/multipart.h"
#include "proto/data.pb-c.h"
#include "services/api/api.h"

enum { PARTS = 8, AT_ONCE = 2, UNPACKED = 256 << 20, COLUMNS = 2000, TABLES = 64 };

typedef struct {
    tab_part file;
    tab_str name, sheet;
} upload;

/* Which parts there are, and what is in them but the file. */
static tab_status read_options(request *r, tab_str text, upload *ret, tab_error *err)
{
    const tab_json *o;
    tab_error why;
    if (tab_json_read(r->arena, tab_arena_copy(r->arena, text), 4, &o, &why) != TAB_OK ||
        o->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "options", "`options` is a JSON object");
    for (const tab_json *m = o->first; m != NULL; m = m->next)
        if (!tab_str_eq(m->key, TAB_S("sheet")))
            return tab_fail(err, TAB_VALIDATION, "options", "`options` has no member but `sheet`");
    return body_text(o, "sheet", false, 256, &ret->sheet, err);
}

static tab_status read_parts(request *r, upload *ret, tab_error *err)
{
    tab_part part[PARTS];
    size_t n = 0;
    *ret = (upload){ .name = TAB_S("") };
    if (r->body_n > (size_t)r->api->cfg.body_most)
        return tab_fail(err, TAB_VALIDATION, "body", "the body is larger than the limit of %lld bytes",
                        (long long)r->api->cfg.body_most);
    if (r->body == NULL)
        return tab_no_memory(err);
    if (r->content_encoding != NULL && *r->content_encoding != 0)
        return tab_fail(err, TAB_VALIDATION, "body",
                        "Content-Encoding is not supported; the file may be .gz");
    TAB_TRY(tab_multipart_read(r->content_type, (tab_str){ r->body, r->body_n }, part, PARTS, &n, err));
    for (size_t i = 0; i < n; i++) {
        if (tab_str_eq(part[i].name, TAB_S("file"))) {
            ret->file = part[i];
        } else if (tab_str_eq(part[i].name, TAB_S("name"))) {
            ret->name = part[i].bytes;
            if (ret->name.n == 0 || ret->name.n > 128 || !tab_utf8_valid(ret->name) ||
                memchr(ret->name.p, 0, ret->name.n) != NULL)
                return tab_fail(err, TAB_VALIDATION, "name", "`name` is a text of 1 to 128 bytes");
        } else if (tab_str_eq(part[i].name, TAB_S("options"))) {
            TAB_TRY(read_options(r, part[i].bytes, ret, err));
        } else {
            return tab_fail(err, TAB_VALIDATION, "body", "the parts are `file`, `name` and `options`");
        }
    }
    if (ret->file.name.n == 0)
        return tab_fail(err, TAB_VALIDATION, "file", "`file` is required");
    tab_str all[] = { ret->file.file_name, ret->file.bytes, ret->name, ret->sheet };
    uint8_t digest[4][32];
    for (size_t i = 0; i < 4; i++)
        tab_sha256(all[i], digest[i]);
    tab_sha256((tab_str){ (const char *)digest, sizeof digest }, r->body_sha256);
    return TAB_OK;
}

/* A file without a name has its dataset's. */
static tab_status read_tables(request *r, const upload *u, tab_file *ret, tab_error *err)
{
    static atomic_int at_work;
    const tab_file_limits most = { UNPACKED, (uint64_t)r->api->cfg.run_cells, COLUMNS, TABLES };
    tab_str name = u->file.file_name.n > 0 ? u->file.file_name : u->name.n > 0 ? u->name : TAB_S("file");
    tab_status s = tab_fail(err, TAB_UNAVAILABLE, "", "too many files are being read; retry with backoff");
    r->body[u->file.bytes.p + u->file.bytes.n - r->body] = 0; /* of the boundary, which is done with */
    if (atomic_fetch_add(&at_work, 1) < AT_ONCE)
        s = tab_file_read(r->arena, name, u->file.bytes, &most, ret, err);
    atomic_fetch_sub(&at_work, 1);
    if (s == TAB_VALIDATION)
        snprintf(err->param, sizeof err->param, "file");
    return s;
}

static tab_status choose(const upload *u, tab_file *f, tab_error *err)
{
    if (u->sheet.n > 0) {
        size_t i = 0;
        while (i < f->n && !tab_str_eq(f->sheet[i], u->sheet))
            i++;
        if (i == f->n)
            return tab_fail(err, TAB_VALIDATION, "options.sheet",
                            "the file has no visible sheet of this name");
        f->table += i;
        f->n = 1;
    }
    if (u->name.n > 0 && f->n > 1)
        return tab_fail(
            err, TAB_VALIDATION, "name",
            "the file holds %zu tables, which keep their names; leave `name` out, or choose a sheet", f->n);
    return TAB_OK;
}

static void take_back(request *r, char *id)
{
    Tabella__DataRequest q = TABELLA__DATA_REQUEST__INIT;
    const Tabella__DeleteDataReply *y;
    tab_error none;
    q.id = id;
    q.actor = r->who.key;
    (void)!call(r, "data-connector", "Delete", &q.base, &tabella__delete_data_reply__descriptor, &y, &none);
}

/* All of them, or none. */
static tab_status store(request *r, const upload *u, const tab_file *f, const Tabella__DataObject **ret,
                        tab_error *err)
{
    const char *job = tab_arena_printf(r->arena, "upload_%s", r->seed);
    tab_status s = job != NULL ? TAB_OK : tab_no_memory(err);
    size_t n = 0;
    for (; n < f->n && s == TAB_OK; n++) {
        tab_table named = *f->table[n];
        const tab_table *t = &named;
        named.id = u->name.n > 0 ? u->name : named.id;
        s = table_ingest(r, job, n, &t, false, &ret[n], err);
    }
    for (size_t i = 0; s != TAB_OK && i + 1 < n; i++)
        take_back(r, ret[i]->id);
    return s;
}

/* A line each. */
static void notes_member(tab_out *o, tab_str lines)
{
    if (lines.n == 0)
        return;
    open_member(o, "notes", '[');
    while (lines.n > 0) {
        const char *end = memchr(lines.p, '\n', lines.n);
        size_t n = end != NULL ? (size_t)(end - lines.p) : lines.n, used = n + (end != NULL);
        tab_out_str(o, (tab_str){ lines.p, n });
        lines = (tab_str){ lines.p + used, lines.n - used };
    }
    tab_out_close(o, ']');
}

tab_status post_data_upload(request *r, tab_error *err)
{
    upload u;
    tab_file f = { 0 };
    const Tabella__DataObject *stored[TABLES];
    TAB_TRY(read_parts(r, &u, err));
    tab_status s = idempotency_begin(r, err);
    if (s != TAB_OK || r->replayed)
        return s;
    TAB_TRY(read_tables(r, &u, &f, err));
    TAB_TRY(choose(&u, &f, err));
    TAB_TRY(store(r, &u, &f, stored, err));
    tab_out_open(&r->out, '{');
    tab_out_key(&r->out, "dataset");
    data_json(&r->out, stored[0]);
    if (f.n > 1) {
        open_member(&r->out, "datasets", '[');
        for (size_t i = 0; i < f.n; i++)
            data_json(&r->out, stored[i]);
        tab_out_close(&r->out, ']');
    }
    notes_member(&r->out, f.notes);
    tab_out_close(&r->out, '}');
    r->status = 201;
    return TAB_OK;
}
