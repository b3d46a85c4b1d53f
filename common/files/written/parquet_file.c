/* See table_file.h: a Parquet file.
 *
 *   "PAR1"; a row group after the other, each column in one page: definition levels, then what is not null,
 *   plain, under zstd; the metadata of all, in Thrift's compact protocol; its length; "PAR1"
 *
 * parquet.thrift gives the numbers of fields, types and encodings. */
#include <zstd.h>

#include "common/files/parquet/thrift.h"
#include "common/files/written/table_file_parts.h"

enum { BOOLEAN = 0, INT32 = 1, INT64 = 2, REAL64 = 5, BYTE_ARRAY = 6 };
enum { OPTIONAL = 1, PLAIN = 0, RLE = 3, ZSTD = 6, DATA_PAGE = 0 };
enum { AS_UTF8 = 0, AS_DATE = 6, AS_MICROSECONDS = 10 };

/* ---- Thrift's compact protocol, written ------------------------------------------------------ */

static void varint(tab_out *o, uint64_t x)
{
    uint8_t byte[10];
    size_t n = 0;
    do {
        byte[n] = (uint8_t)((x & 127) | (x > 127 ? 128 : 0));
        n++;
    } while ((x >>= 7) > 0);
    tab_out_bytes(o, byte, n);
}

/* The head of field `id` behind field *last of its struct. */
static void field(tab_out *o, int *last, int id, int type)
{
    uint8_t head = (uint8_t)((id - *last) << 4 | type); /* no two of ours are 16 apart */
    tab_out_bytes(o, &head, 1);
    *last = id;
}

static void number(tab_out *o, int *last, int id, int type, int64_t x)
{
    field(o, last, id, type);
    varint(o, (uint64_t)x << 1 ^ (x < 0 ? UINT64_MAX : 0));
}

static void text(tab_out *o, int *last, int id, tab_str s)
{
    field(o, last, id, THRIFT_BINARY);
    varint(o, s.n);
    tab_out_bytes(o, s.p, s.n);
}

static void list_head(tab_out *o, size_t n, int type)
{
    uint8_t head = (uint8_t)((n < 15 ? n : 15) << 4 | (unsigned)type);
    tab_out_bytes(o, &head, 1);
    if (n >= 15)
        varint(o, n);
}

static void list(tab_out *o, int *last, int id, size_t n, int type)
{
    field(o, last, id, THRIFT_LIST);
    list_head(o, n, type);
}

static void stop(tab_out *o)
{
    tab_out_bytes(o, "", 1);
}

/* ---- a page ---------------------------------------------------------------------------------- */

static int physical(tab_file_type type)
{
    static const int of[] = {
        [TAB_FILE_TEXT] = BYTE_ARRAY, [TAB_FILE_BOOL] = BOOLEAN, [TAB_FILE_INT] = INT64,
        [TAB_FILE_REAL] = REAL64,     [TAB_FILE_DATE] = INT32,   [TAB_FILE_TIME] = INT64,
        [TAB_FILE_UTC] = INT64
    };
    return of[type];
}

/* Whether each row has a value: runs of the same, and their length in front. */
static void levels(tab_out *o, const char *valid, size_t rows)
{
    size_t at = o->n;
    tab_file_put(o, 0, 4);
    for (size_t i = 0, n; i < rows; i += n) {
        for (n = 1; i + n < rows && valid[i + n] == valid[i]; n++)
            continue;
        varint(o, n << 1);
        tab_out_bytes(o, valid + i, 1);
    }
    uint32_t bytes = (uint32_t)(o->n - at - 4);
    if (!o->failed)
        memcpy(o->p + at, &bytes, sizeof bytes);
}

static void values(tab_out *o, const tab_file_cells *c, size_t rows)
{
    const char *at = c->values.p;
    uint8_t bits = 0;
    size_t n = 0;
    for (size_t i = 0; i < rows; i++) {
        uint32_t size = c->type == TAB_FILE_BOOL ? 1 : 8;
        if (c->type == TAB_FILE_TEXT)
            memcpy(&size, c->length.p + 4 * i, sizeof size);
        if (c->valid.p[i] != 0 && c->type == TAB_FILE_BOOL) {
            bits |= (uint8_t)((*at != 0) << n % 8);
            if (++n % 8 == 0) {
                tab_out_bytes(o, &bits, 1);
                bits = 0;
            }
        } else if (c->valid.p[i] != 0) {
            if (c->type == TAB_FILE_TEXT)
                tab_file_put(o, size, 4);
            tab_out_bytes(o, at, c->type == TAB_FILE_DATE ? 4 : size);
        }
        at += size;
    }
    tab_out_bytes(o, &bits, n % 8 > 0);
}

static void page_head(tab_out *o, size_t rows, size_t raw, size_t packed)
{
    int at = 0, in = 0;
    number(o, &at, 1, THRIFT_I32, DATA_PAGE);
    number(o, &at, 2, THRIFT_I32, (int64_t)raw);
    number(o, &at, 3, THRIFT_I32, (int64_t)packed);
    field(o, &at, 5, THRIFT_STRUCT);
    number(o, &in, 1, THRIFT_I32, (int64_t)rows);
    number(o, &in, 2, THRIFT_I32, PLAIN);
    number(o, &in, 3, THRIFT_I32, RLE);
    number(o, &in, 4, THRIFT_I32, RLE);
    stop(o);
    stop(o);
}

/* A column of the row group; its metadata into f->groups. *total: bytes before they were packed. */
static tab_status chunk(tab_file *f, const tab_file_cells *c, uint64_t *total, tab_error *err)
{
    tab_out page = { 0 }, head = { 0 }, *o = &f->groups;
    levels(&page, c->valid.p, f->rows);
    values(&page, c, f->rows);
    size_t room = ZSTD_compressBound(page.n);
    uint64_t from = f->sent + f->out.n;
    tab_out_room(&f->out, room + 64);
    if (page.failed || f->out.failed || page.n > INT32_MAX || room > INT32_MAX) {
        tab_out_free(&page);
        return tab_no_memory(err);
    }
    tab_out packed = { 0 };
    tab_out_room(&packed, room);
    size_t n = packed.failed ? 0 : ZSTD_compress(packed.p, room, page.p, page.n, 1);
    bool good = n > 0 && !ZSTD_isError(n);
    page_head(&head, f->rows, page.n, n);
    tab_out_bytes(&f->out, head.p, head.n);
    tab_out_bytes(&f->out, packed.p, good ? n : 0);
    int at = 0, in = 0;
    uint64_t raw = page.n + head.n;
    number(o, &at, 2, THRIFT_I64, (int64_t)from);
    field(o, &at, 3, THRIFT_STRUCT);
    number(o, &in, 1, THRIFT_I32, physical(c->type));
    list(o, &in, 2, 2, THRIFT_I32);
    varint(o, PLAIN << 1);
    varint(o, RLE << 1);
    list(o, &in, 3, 1, THRIFT_BINARY);
    varint(o, c->name.n);
    tab_out_bytes(o, c->name.p, c->name.n);
    number(o, &in, 4, THRIFT_I32, ZSTD);
    number(o, &in, 5, THRIFT_I64, (int64_t)f->rows);
    number(o, &in, 6, THRIFT_I64, (int64_t)raw);
    number(o, &in, 7, THRIFT_I64, (int64_t)(n + head.n));
    number(o, &in, 9, THRIFT_I64, (int64_t)from);
    stop(o);
    stop(o);
    *total += raw;
    good = good && !head.failed;
    tab_out_free(&page);
    tab_out_free(&head);
    tab_out_free(&packed);
    return good ? tab_file_flush(f, err) : tab_no_memory(err);
}

tab_status parquet_file_begin(tab_file *f, tab_error *err)
{
    tab_out_bytes(&f->out, "PAR1", 4);
    return tab_file_flush(f, err);
}

tab_status parquet_file_batch(tab_file *f, tab_error *err)
{
    int at = 0;
    uint64_t total = 0;
    list(&f->groups, &at, 1, f->cols, THRIFT_STRUCT);
    for (size_t k = 0; k < f->cols; k++)
        TAB_TRY(chunk(f, &f->c[k], &total, err));
    number(&f->groups, &at, 2, THRIFT_I64, (int64_t)total);
    number(&f->groups, &at, 3, THRIFT_I64, (int64_t)f->rows);
    stop(&f->groups);
    f->n_groups++;
    return TAB_OK;
}

/* ---- the metadata of all --------------------------------------------------------------------- */

/* The type that a reader is to show: a member of a union. */
static void logical(tab_out *o, int *last, tab_file_type type)
{
    int member = type == TAB_FILE_TEXT ? 1 : type == TAB_FILE_DATE ? 6 : 8, at = 0, in = 0, unit = 0;
    if (type == TAB_FILE_BOOL || type == TAB_FILE_INT || type == TAB_FILE_REAL)
        return;
    field(o, last, 10, THRIFT_STRUCT);
    field(o, &at, member, THRIFT_STRUCT);
    if (member == 8) {
        field(o, &in, 1, type == TAB_FILE_UTC ? THRIFT_TRUE : THRIFT_FALSE);
        field(o, &in, 2, THRIFT_STRUCT);
        field(o, &unit, 2, THRIFT_STRUCT); /* microseconds */
        stop(o);
        stop(o);
    }
    stop(o);
    stop(o);
}

static void element(tab_out *o, const tab_file_cells *c)
{
    int at = 0;
    number(o, &at, 1, THRIFT_I32, physical(c->type));
    number(o, &at, 3, THRIFT_I32, OPTIONAL);
    text(o, &at, 4, c->name);
    if (c->type == TAB_FILE_TEXT)
        number(o, &at, 6, THRIFT_I32, AS_UTF8);
    else if (c->type == TAB_FILE_DATE)
        number(o, &at, 6, THRIFT_I32, AS_DATE);
    else if (c->type == TAB_FILE_UTC)
        number(o, &at, 6, THRIFT_I32, AS_MICROSECONDS);
    logical(o, &at, c->type);
    stop(o);
}

tab_status parquet_file_end(tab_file *f, tab_error *err)
{
    int at = 0, in = 0;
    tab_out *o = &f->out;
    size_t from = o->n;
    number(o, &at, 1, THRIFT_I32, 2);
    list(o, &at, 2, f->cols + 1, THRIFT_STRUCT);
    text(o, &in, 4, TAB_S("schema"));
    number(o, &in, 5, THRIFT_I32, (int64_t)f->cols);
    stop(o);
    for (size_t k = 0; k < f->cols; k++)
        element(o, &f->c[k]);
    number(o, &at, 3, THRIFT_I64, (int64_t)f->all_rows);
    list(o, &at, 4, f->n_groups, THRIFT_STRUCT);
    tab_out_bytes(o, f->groups.p, f->groups.n);
    text(o, &at, 6, TAB_S("tabella"));
    stop(o);
    o->failed |= f->groups.failed;
    tab_file_put(o, o->n - from, 4);
    tab_out_bytes(o, "PAR1", 4);
    return tab_file_flush(f, err);
}
