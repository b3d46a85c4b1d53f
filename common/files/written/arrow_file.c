/* See table_file.h: an Arrow IPC stream.
 *
 *   message: ffffffff, i32 n, metadata (n bytes, a FlatBuffer), body
 *   schema; then a message for each batch of rows; ffffffff 00000000
 *
 * FlatBuffers are written forwards: an offset leads to what comes later, so its place is noted and filled in
 * when its target is written (`refer`). Message.fbs and Schema.fbs of Arrow give the numbers of fields. */
#include "common/files/written/table_file_parts.h"

enum { MESSAGE_SCHEMA = 1, MESSAGE_ROWS = 3, VERSION_5 = 4 };
enum { TYPE_INT = 2, TYPE_FLOAT = 3, TYPE_UTF8 = 5, TYPE_BOOL = 6, TYPE_DATE = 8, TYPE_TIMESTAMP = 10 };
enum { DOUBLE = 2, DAYS = 0, MICROSECONDS = 2 };

/* A field of a table: a number of `size` bytes, or an offset (size 4) to be filled in at `at`. */
typedef struct {
    size_t slot, size;
    uint64_t value;
    size_t at;
} fb_field;

/* Writes a table of at most 8 fields; gives its place. */
static size_t table(tab_out *o, fb_field *f, size_t n)
{
    uint16_t vtable[2 + 8] = { 0 };
    size_t slots = 0, end = 4, at[8];
    for (size_t size = 8; size > 0; size /= 2) /* the largest first, each at a multiple of its size */
        for (size_t i = 0; i < n; i++) {
            slots = f[i].slot + 1 > slots ? f[i].slot + 1 : slots;
            if (f[i].size != size)
                continue;
            end = (end + size - 1) / size * size;
            vtable[2 + f[i].slot] = (uint16_t)(at[i] = end);
            end += size;
        }
    vtable[0] = (uint16_t)(4 + 2 * slots);
    vtable[1] = (uint16_t)end;
    tab_file_pad(o, 8);
    size_t before = o->n;
    tab_out_bytes(o, vtable, vtable[0]);
    tab_file_pad(o, 8);
    size_t place = o->n;
    tab_file_put(o, place - before, 4);
    for (size_t i = 4; i < end; i++)
        tab_out_bytes(o, "", 1);
    for (size_t i = 0; i < n; i++) {
        f[i].at = place + at[i];
        if (!o->failed)
            memcpy(o->p + f[i].at, &f[i].value, f[i].size);
    }
    return place;
}

/* The offset at `at` leads to `to`. */
static void refer(tab_out *o, size_t at, size_t to)
{
    uint32_t offset = (uint32_t)(to - at);
    if (!o->failed)
        memcpy(o->p + at, &offset, sizeof offset);
}

static void text(tab_out *o, size_t at, tab_str s)
{
    tab_file_pad(o, 4);
    refer(o, at, o->n);
    tab_file_put(o, s.n, 4);
    tab_out_bytes(o, s.p, s.n);
    tab_out_bytes(o, "", 1);
}

/* The head of a vector whose elements are to be aligned to 8. */
static void vector(tab_out *o, size_t at, size_t n)
{
    tab_file_pad(o, 8);
    tab_file_put(o, 0, 4);
    refer(o, at, o->n);
    tab_file_put(o, n, 4);
}

static void type(tab_out *o, size_t at, tab_file_type kind)
{
    fb_field integer[] = { { 0, 4, 64, 0 }, { 1, 1, 1, 0 } }, real[] = { { 0, 2, DOUBLE, 0 } },
             day[] = { { 0, 2, DAYS, 0 } }, moment[] = { { 0, 2, MICROSECONDS, 0 }, { 1, 4, 0, 0 } };
    switch (kind) {
    case TAB_FILE_INT:
        refer(o, at, table(o, integer, 2));
        break;
    case TAB_FILE_REAL:
        refer(o, at, table(o, real, 1));
        break;
    case TAB_FILE_DATE:
        refer(o, at, table(o, day, 1));
        break;
    case TAB_FILE_TIME:
        refer(o, at, table(o, moment, 1));
        break;
    case TAB_FILE_UTC:
        refer(o, at, table(o, moment, 2));
        text(o, moment[1].at, TAB_S("UTC"));
        break;
    default:
        refer(o, at, table(o, NULL, 0));
        break;
    }
}

static void field(tab_out *o, size_t at, const tab_file_cells *c)
{
    static const uint8_t number[] = {
        [TAB_FILE_TEXT] = TYPE_UTF8,     [TAB_FILE_BOOL] = TYPE_BOOL, [TAB_FILE_INT] = TYPE_INT,
        [TAB_FILE_REAL] = TYPE_FLOAT,    [TAB_FILE_DATE] = TYPE_DATE, [TAB_FILE_TIME] = TYPE_TIMESTAMP,
        [TAB_FILE_UTC] = TYPE_TIMESTAMP,
    };
    enum { NAME, NULLABLE, KIND, TYPE, CHILDREN };
    fb_field f[] = {
        { 0, 4, 0, 0 }, { 1, 1, 1, 0 }, { 2, 1, number[c->type], 0 }, { 3, 4, 0, 0 }, { 5, 4, 0, 0 }
    };
    refer(o, at, table(o, f, 5));
    text(o, f[NAME].at, c->name);
    type(o, f[TYPE].at, c->type);
    vector(o, f[CHILDREN].at, 0);
}

/* The head of a message of `kind`; gives where its header is referred to. `o` is a FlatBuffer of its own. */
static size_t message(tab_out *o, int kind, uint64_t body)
{
    enum { VERSION, KIND, HEADER, BODY };
    fb_field f[] = { { 0, 2, VERSION_5, 0 }, { 1, 1, (uint64_t)kind, 0 }, { 2, 4, 0, 0 }, { 3, 8, body, 0 } };
    tab_file_put(o, 0, 4);
    refer(o, 0, table(o, f, 4));
    return f[HEADER].at;
}

static void send_message(tab_file *f, tab_out *meta)
{
    tab_file_pad(meta, 8);
    tab_file_put(&f->out, UINT32_MAX, 4);
    tab_file_put(&f->out, meta->n, 4);
    tab_out_bytes(&f->out, meta->p, meta->n);
    f->out.failed |= meta->failed;
    tab_out_free(meta);
}

tab_status arrow_file_begin(tab_file *f, tab_error *err)
{
    tab_out meta = { 0 };
    fb_field schema[] = { { 1, 4, 0, 0 } };
    size_t header = message(&meta, MESSAGE_SCHEMA, 0);
    refer(&meta, header, table(&meta, schema, 1));
    vector(&meta, schema[0].at, f->cols);
    size_t first = meta.n;
    for (size_t k = 0; k < f->cols; k++)
        tab_file_put(&meta, 0, 4);
    for (size_t k = 0; k < f->cols; k++)
        field(&meta, first + 4 * k, &f->c[k]);
    send_message(f, &meta);
    return tab_file_flush(f, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A byte a row as a bit a row. */
static void bits(tab_out *o, const char *byte, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint8_t x = 0;
        for (size_t k = 0; k < 8 && i + k < n; k++)
            x |= (uint8_t)((byte[i + k] != 0) << k);
        tab_out_bytes(o, &x, 1);
    }
}

static void place(tab_out *buffers, size_t from, size_t to)
{
    tab_file_put(buffers, from, 8);
    tab_file_put(buffers, to - from, 8);
}

/* A column's buffers at the end of the body, where each begins at a multiple of 8; their places. */
static void column(tab_out *body, tab_out *buffers, const tab_file_cells *c, size_t rows)
{
    size_t from = body->n;
    if (c->nulls > 0)
        bits(body, c->valid.p, rows);
    place(buffers, from, body->n);
    tab_file_pad(body, 8);
    from = body->n;
    if (c->type == TAB_FILE_TEXT) {
        uint32_t end = 0, n;
        tab_file_put(body, 0, 4);
        for (size_t i = 0; i < rows; i++) {
            memcpy(&n, c->length.p + 4 * i, sizeof n);
            tab_file_put(body, end += n, 4);
        }
        place(buffers, from, body->n);
        tab_file_pad(body, 8);
        from = body->n;
    }
    if (c->type == TAB_FILE_BOOL) {
        bits(body, c->values.p, rows);
    } else if (c->type == TAB_FILE_DATE) {
        for (size_t i = 0; i < rows; i++)
            tab_out_bytes(body, c->values.p + 8 * i, 4); /* the lower half of 64 bits */
    } else {
        tab_out_bytes(body, c->values.p, c->values.n);
    }
    place(buffers, from, body->n);
    tab_file_pad(body, 8);
}

tab_status arrow_file_batch(tab_file *f, tab_error *err)
{
    tab_out meta = { 0 }, body = { 0 }, buffers = { 0 };
    fb_field rows[] = { { 0, 8, f->rows, 0 }, { 1, 4, 0, 0 }, { 2, 4, 0, 0 } };
    for (size_t k = 0; k < f->cols; k++) {
        if (f->c[k].values.n > INT32_MAX)
            return tab_fail(err, TAB_INTERNAL, "", "cells too long for a batch of an Arrow stream");
        column(&body, &buffers, &f->c[k], f->rows);
    }
    size_t header = message(&meta, MESSAGE_ROWS, body.n);
    refer(&meta, header, table(&meta, rows, 3));
    vector(&meta, rows[1].at, f->cols);
    for (size_t k = 0; k < f->cols; k++) {
        tab_file_put(&meta, f->rows, 8);
        tab_file_put(&meta, f->c[k].nulls, 8);
    }
    vector(&meta, rows[2].at, buffers.n / 16);
    tab_out_bytes(&meta, buffers.p, buffers.n);
    send_message(f, &meta);
    tab_out_bytes(&f->out, body.p, body.n);
    f->out.failed |= body.failed || buffers.failed;
    tab_out_free(&body);
    tab_out_free(&buffers);
    return tab_file_flush(f, err);
}

tab_status arrow_file_end(tab_file *f, tab_error *err)
{
    tab_file_put(&f->out, UINT32_MAX, 8); /* ffffffff 00000000 */
    return tab_file_flush(f, err);
}
