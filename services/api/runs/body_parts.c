/* A request whose tables are files: multipart/form-data with a part `request`, the JSON, and for each table a
 * part `tables[ID]`, an Arrow stream or a file of any format that common/files reads. Billing and limits are
 * those of tables in the JSON, which may hold some as well. */
#include <stdio.h>
#include <strings.h>

#include "common/files/arrow/arrow.h"
#include "common/files/files.h"
#include "common/files/multipart.h"
#include "common/files/parquet/parquet.h"
#include "services/api/api.h"
#include "services/api/runs/body.h"

enum { PARTS = 65, AT_ONCE = 2, ID_MOST = 128, ROOM = 16 << 20, UNPACKED = 256 << 20 };

bool body_has_parts(const request *r)
{
    static const char type[] = "multipart/form-data";
    return r->content_type != NULL && strncasecmp(r->content_type, type, sizeof type - 1) == 0;
}

bool body_is_file(const request *r)
{
    static const char *const media[] = { "text/csv", "application/vnd.apache.arrow.stream",
                                         "application/vnd.apache.parquet" };
    const char *t = r->content_type;
    size_t n = t == NULL ? 0 : strcspn(t, "; \t");
    bool takes = r->route == TAB_POST_OUTCOMES || r->route == TAB_POST_SERVE;
    for (int i = 0; takes && i < 3; i++)
        if (n == strlen(media[i]) && strncasecmp(t, media[i], n) == 0)
            return true;
    return false;
}

/* "tables[orders]" -> orders. */
static bool id_of(tab_str name, tab_str *ret)
{
    static const char head[] = "tables[";
    const size_t n = sizeof head - 1;
    if (name.n < n + 1 || memcmp(name.p, head, n) != 0 || name.p[name.n - 1] != ']')
        return false;
    *ret = (tab_str){ name.p + n, name.n - n - 1 };
    return true;
}

static tab_status check_id(const tab_body *b, tab_str id, const char *param, tab_error *err)
{
    if (id.n == 0 || id.n > ID_MOST || !tab_utf8_valid(id) || memchr(id.p, 0, id.n) != NULL ||
        memchr(id.p, '.', id.n) != NULL)
        return tab_fail(err, TAB_VALIDATION, param,
                        "the id of a table must be 1 to 128 bytes of UTF-8 without a dot or NUL");
    for (size_t i = 0; i < b->n_tables; i++)
        if (tab_str_eq(b->tables[i]->id, id))
            return tab_fail(err, TAB_VALIDATION, param, "two tables have the same id");
    return TAB_OK;
}

/* Few packed files are unpacked at once in one process; what an Arrow stream unpacks to is bounded by its
 * size, as the body was that was counted on its arrival (body_quota.c). */
static tab_status read_file(request *r, tab_str name, tab_str bytes, const tab_body_limits *limits,
                            tab_file *ret, tab_error *err)
{
    static atomic_int at_work;
    bool packed = bytes.n > 2 && (memcmp(bytes.p, "PK", 2) == 0 || memcmp(bytes.p, "\x1f\x8b", 2) == 0 ||
                                  tab_parquet_is(bytes));
    tab_file_limits most = { tab_arrow_is(bytes) ? 4 * (uint64_t)bytes.n + ROOM : UNPACKED,
                             limits->cells,
                             limits->columns,
                             limits->tables,
                             true,
                             true };
    tab_status s = tab_fail(err, TAB_UNAVAILABLE, "", "too many files are being read; retry with backoff");
    if (!packed)
        return tab_file_read(r->arena, name, bytes, &most, ret, err);
    if (atomic_fetch_add(&at_work, 1) < AT_ONCE)
        s = tab_file_read(r->arena, name, bytes, &most, ret, err);
    atomic_fetch_sub(&at_work, 1);
    return s;
}

/* Adds the table of one file, whose bytes end where a NUL may be written. */
static tab_status add_table(request *r, const tab_part *part, tab_str id, const tab_body_limits *limits,
                            const char *param, const tab_table **list, tab_body *b, tab_error *err)
{
    tab_file f;
    tab_status s = read_file(r, part->file_name.n > 0 ? part->file_name : id, part->bytes, limits, &f, err);
    if (s == TAB_VALIDATION && err->param[0] == 0)
        snprintf(err->param, sizeof err->param, "%s", param);
    TAB_TRY(s);
    if (f.n != 1)
        return tab_fail(err, TAB_VALIDATION, param, "the file holds %zu tables; send each as a separate part",
                        f.n);
    tab_table *t = tab_arena_new_of(r->arena, tab_table, 1);
    if (t == NULL)
        return tab_no_memory(err);
    *t = *f.table[0];
    t->id = tab_arena_copy(r->arena, id);
    list[b->n_tables++] = t;
    b->rows += t->rows;
    b->cells += (uint64_t)t->rows * t->cols;
    if (b->cells > limits->cells)
        return tab_fail(err, TAB_VALIDATION, "tables", "the tables have more than the limit of %llu cells",
                        (unsigned long long)limits->cells);
    if (limits->rows != 0 && b->rows > limits->rows)
        return tab_fail(err, TAB_VALIDATION, "tables", "the tables have more than the limit of %zu rows",
                        limits->rows);
    return t->id.p != NULL ? TAB_OK : tab_no_memory(err);
}

static tab_status add_part(request *r, const tab_part *part, tab_str id, const tab_body_limits *limits,
                           const tab_table **list, tab_body *b, tab_error *err)
{
    char param[sizeof err->param];
    snprintf(param, sizeof param, "tables[%.*s]", (int)(id.n < 100 ? id.n : 100), id.p);
    TAB_TRY(check_id(b, id, param, err));
    if (b->n_tables == limits->tables)
        return tab_fail(err, TAB_VALIDATION, "tables", "a request can have at most %zu tables",
                        limits->tables);
    r->body[part->bytes.p + part->bytes.n - r->body] = 0; /* of the boundary, which is done with */
    return add_table(r, part, id, limits, param, list, b, err);
}

tab_status body_file_read(request *r, const tab_body_limits *limits, tab_body *ret, tab_error *err)
{
    tab_part file = { .bytes = { r->body, r->body_n } };
    const tab_table **list = tab_arena_new_of(r->arena, const tab_table *, 1);
    if (list == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_body_read(r->arena, TAB_S("{}"), limits, ret, err));
    ret->tables = list;
    ret->has_tables = true;
    return add_table(r, &file, TAB_S("rows"), limits, "body", list, ret, err);
}

/* Under one Idempotency-Key the parts count, not the boundary between them. */
static void digest_of(request *r, const tab_part *part, size_t n)
{
    uint8_t digest[PARTS][2][32];
    for (size_t i = 0; i < n; i++) {
        tab_sha256(part[i].name, digest[i][0]);
        tab_sha256(part[i].bytes, digest[i][1]);
    }
    tab_sha256((tab_str){ (const char *)digest, n * sizeof *digest }, r->body_sha256);
}

tab_status body_parts_read(request *r, const tab_body_limits *limits, tab_body *ret, tab_error *err)
{
    tab_part part[PARTS];
    size_t n = 0, json = PARTS;
    tab_str id;
    TAB_TRY(tab_multipart_read(r->content_type, (tab_str){ r->body, r->body_n }, part, PARTS, &n, err));
    for (size_t i = 0; i < n; i++) {
        if (tab_str_eq(part[i].name, TAB_S("request")))
            json = i;
        else if (!id_of(part[i].name, &id))
            return tab_fail(err, TAB_VALIDATION, "body",
                            "the parts of the body must be `request` and, for each table, `tables[ID]`");
    }
    if (json == PARTS)
        return tab_fail(err, TAB_VALIDATION, "request", "the part `request` is required; it may be {}");
    if (r->idempotency_key != NULL)
        digest_of(r, part, n);
    r->body[part[json].bytes.p + part[json].bytes.n - r->body] = 0;
    TAB_TRY(tab_body_read(r->arena, part[json].bytes, limits, ret, err));
    const tab_table **list = tab_arena_new_of(r->arena, const tab_table *, limits->tables);
    if (list == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < ret->n_tables; i++)
        list[i] = ret->tables[i];
    ret->tables = list;
    for (size_t i = 0; i < n; i++) {
        if (i == json || !id_of(part[i].name, &id))
            continue;
        ret->has_tables = true;
        TAB_TRY(add_part(r, &part[i], id, limits, list, ret, err));
    }
    return TAB_OK;
}
