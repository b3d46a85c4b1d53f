/* See arrow_stream.h. A batch is a struct array: its children are the columns, at offsets of their own. */
#include "common/files/arrow/arrow_stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/files/arrow/arrow_cells.h"

typedef struct {
    arrow_type type, index; /* index: of a dictionary's codes */
    bool coded;
    arrow_column column;
} field;

typedef struct {
    tab_arena *a;
    field *f; /* (cols) */
    size_t cols, rows;
    uint64_t cells_most;
    tab_error *err;
} reader;

static tab_status not_read(reader *r, const struct ArrowSchema *s)
{
    return tab_fail(
        r->err, TAB_VALIDATION, "",
        "column %.64s has the type %.32s, which a cell cannot hold; drop the column or cast it to a string",
        s->name != NULL ? s->name : "", s->format);
}

/* The unit of a time by its letter: s, m, u, n; -1: none. */
static int unit_of(char c)
{
    const char *at = c != 0 ? strchr("smun", c) : NULL;
    return at != NULL ? (int)(at - "smun") : -1;
}

/* Formats of one or two letters. */
static const struct {
    const char *format;
    arrow_type type;
} PLAIN[] = {
    { "n", { .kind = ARROW_NULL } },
    { "b", { .kind = ARROW_BOOL } },
    { "c", { .kind = ARROW_INT, .bits = 8, .is_signed = true } },
    { "C", { .kind = ARROW_INT, .bits = 8 } },
    { "s", { .kind = ARROW_INT, .bits = 16, .is_signed = true } },
    { "S", { .kind = ARROW_INT, .bits = 16 } },
    { "i", { .kind = ARROW_INT, .bits = 32, .is_signed = true } },
    { "I", { .kind = ARROW_INT, .bits = 32 } },
    { "l", { .kind = ARROW_INT, .bits = 64, .is_signed = true } },
    { "L", { .kind = ARROW_INT, .bits = 64 } },
    { "e", { .kind = ARROW_FLOAT, .bits = 16 } },
    { "f", { .kind = ARROW_FLOAT, .bits = 32 } },
    { "g", { .kind = ARROW_FLOAT, .bits = 64 } },
    { "u", { .kind = ARROW_UTF8 } },
    { "U", { .kind = ARROW_LARGE_UTF8 } },
    { "vu", { .kind = ARROW_UTF8_VIEW } },
    { "tdD", { .kind = ARROW_DATE, .bits = 32 } },
    { "tdm", { .kind = ARROW_DATE, .bits = 64 } },
};

static bool type_of(const char *f, arrow_type *ret)
{
    int precision, scale, bits = 128;
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++)
        if (strcmp(f, PLAIN[i].format) == 0) {
            *ret = PLAIN[i].type;
            return true;
        }
    if (sscanf(f, "d:%d,%d,%d", &precision, &scale, &bits) >= 2) {
        *ret = (arrow_type){ .kind = ARROW_DECIMAL, .bits = bits, .scale = scale };
        return (bits == 32 || bits == 64 || bits == 128) && scale >= 0 && scale <= 38;
    }
    if (f[0] != 't' || f[1] == 0)
        return false;
    *ret = (arrow_type){ .bits = 64, .unit = unit_of(f[2]) };
    if (f[1] == 't') {
        ret->kind = ARROW_TIME;
        ret->bits = ret->unit < 2 ? 32 : 64;
    } else if (f[1] == 's') {
        ret->kind = ARROW_TIMESTAMP;
        ret->zone = f[2] != 0 && f[3] == ':' && f[4] != 0;
    } else {
        ret->kind = ARROW_DURATION;
    }
    return ret->unit >= 0 && strchr("tsD", f[1]) != NULL;
}

static tab_status read_schema(reader *r, const struct ArrowSchema *s, size_t cols_most)
{
    if (strcmp(s->format, "+s") != 0)
        return tab_fail(r->err, TAB_VALIDATION, "", "the stream does not hold the record batches of a table");
    if (s->n_children < 1)
        return tab_fail(r->err, TAB_VALIDATION, "",
                        "a table must have at least one column, and this has none");
    if ((uint64_t)s->n_children > cols_most)
        return tab_fail(r->err, TAB_VALIDATION, "", "a table can have at most %zu columns", cols_most);
    r->f = tab_arena_new_of(r->a, field, (size_t)s->n_children);
    if (r->f == NULL)
        return tab_no_memory(r->err);
    for (; r->cols < (size_t)s->n_children; r->cols++) {
        const struct ArrowSchema *c = s->children[r->cols];
        field *f = &r->f[r->cols];
        f->coded = c->dictionary != NULL;
        if (!type_of(f->coded ? c->dictionary->format : c->format, &f->type) ||
            (f->coded && (!type_of(c->format, &f->index) || f->index.kind != ARROW_INT)))
            return not_read(r, c);
        f->column.type = f->type;
        f->column.b = tab_builder_new(r->a, tab_arena_copy(r->a, tab_str_of(c->name != NULL ? c->name : "")));
        if (f->column.b == NULL)
            return tab_no_memory(r->err);
    }
    return TAB_OK;
}

/* ---- arrays --------------------------------------------------------------------------------------- */

/* The rows up to `end` of an array, by its buffers' own places; *ret_more is malloc'ed. */
static tab_status view(reader *r, const arrow_type *t, const struct ArrowArray *x, size_t end,
                       arrow_array *ret, tab_str **ret_more)
{
    const char *values = x->n_buffers > 1 ? x->buffers[1] : NULL;
    bool texts = t->kind == ARROW_UTF8 || t->kind == ARROW_LARGE_UTF8;
    *ret_more = NULL;
    *ret = (arrow_array){ .rows = end };
    if (t->kind == ARROW_NULL || end == 0)
        return TAB_OK;
    if (x->n_buffers < (texts || t->kind == ARROW_UTF8_VIEW ? 3 : 2) || values == NULL)
        return tab_fail(r->err, TAB_VALIDATION, "", "an array in the stream lacks a buffer");
    ret->valid = x->buffers[0];
    ret->values = (tab_str){ values, SIZE_MAX };
    if (texts) {
        uint64_t last = 0;
        size_t width = t->kind == ARROW_UTF8 ? 4 : 8;
        memcpy(&last, values + end * width, width);
        ret->text = (tab_str){ x->buffers[2] != NULL ? x->buffers[2] : "", (size_t)last };
    }
    if (t->kind != ARROW_UTF8_VIEW)
        return TAB_OK;
    ret->n_more = (size_t)x->n_buffers - 3;
    *ret_more = calloc(ret->n_more + 1, sizeof **ret_more);
    if (*ret_more == NULL)
        return tab_no_memory(r->err);
    const char *sizes = x->buffers[x->n_buffers - 1];
    for (size_t i = 0; i < ret->n_more; i++) {
        int64_t n;
        memcpy(&n, sizes + 8 * i, 8);
        (*ret_more)[i] = (tab_str){ x->buffers[2 + i], (size_t)n };
    }
    ret->more = *ret_more;
    return TAB_OK;
}

static tab_status add_plain(reader *r, arrow_column *c, const struct ArrowArray *x, size_t from, size_t rows)
{
    arrow_array array;
    tab_str *more;
    tab_status s = view(r, &c->type, x, from + rows, &array, &more);
    for (size_t i = from; s == TAB_OK && i < from + rows; i++)
        s = c->type.kind != ARROW_NULL && arrow_known(&array, i) ? arrow_cell_add(c, &array, i, r->err)
                                                                 : arrow_null_add(c, r->err);
    free(more);
    return s;
}

static tab_status add_coded(reader *r, field *f, const struct ArrowArray *x, size_t from, size_t rows)
{
    const struct ArrowArray *d = x->dictionary;
    arrow_column values = { .type = f->type, .b = tab_builder_new(r->a, TAB_S("")) };
    arrow_array array;
    tab_column levels;
    tab_str *more;
    if (values.b == NULL)
        return tab_no_memory(r->err);
    if (d == NULL || d->length < 0 || d->offset < 0)
        return tab_fail(r->err, TAB_VALIDATION, "", "a dictionary-encoded array has no dictionary");
    tab_status s = add_plain(r, &values, d, (size_t)d->offset, (size_t)d->length);
    if (s != TAB_OK) {
        free(values.stamp);
        return s;
    }
    TAB_TRY(arrow_cells_end(&values, &levels, r->err));
    TAB_TRY(view(r, &f->index, x, from + rows, &array, &more));
    uint32_t *known = calloc(levels.levels + 1, sizeof *known);
    s = known == NULL ? tab_no_memory(r->err) : TAB_OK;
    for (size_t i = from; s == TAB_OK && i < from + rows; i++) {
        uint64_t code = 0;
        if (!arrow_known(&array, i)) {
            tab_builder_null(f->column.b);
            continue;
        }
        memcpy(&code, array.values.p + i * ((size_t)f->index.bits / 8), (size_t)f->index.bits / 8);
        if (code >= (uint64_t)d->length)
            s = tab_fail(r->err, TAB_VALIDATION, "", "a dictionary code is out of range");
        else
            tab_builder_copy(f->column.b, &levels, (size_t)code, known);
    }
    free(known);
    return s;
}

static tab_status add_batch(reader *r, const struct ArrowArray *x)
{
    if (x->length < 0 || x->offset < 0 || (uint64_t)x->n_children != r->cols)
        return tab_fail(r->err, TAB_VALIDATION, "", "a batch does not match the stream's schema");
    r->rows += (size_t)x->length;
    if (r->rows > r->cells_most / r->cols)
        return tab_fail(r->err, TAB_VALIDATION, "", "it has more than %llu cells",
                        (unsigned long long)r->cells_most);
    for (size_t c = 0; c < r->cols; c++) {
        const struct ArrowArray *y = x->children[c];
        if (y->offset < 0 || y->length < x->offset + x->length)
            return tab_fail(r->err, TAB_VALIDATION, "", "a batch does not match the stream's schema");
        size_t from = (size_t)(y->offset + x->offset), rows = (size_t)x->length;
        TAB_TRY(r->f[c].coded ? add_coded(r, &r->f[c], y, from, rows)
                              : add_plain(r, &r->f[c].column, y, from, rows));
    }
    return TAB_OK;
}

/* ---- the stream ----------------------------------------------------------------------------------- */

static tab_status said(reader *r, struct ArrowArrayStream *stream)
{
    const char *why = stream->get_last_error(stream);
    return tab_fail(r->err, TAB_VALIDATION, "", "%.200s", why != NULL ? why : "the stream ended in an error");
}

static tab_status read_all(reader *r, struct ArrowArrayStream *stream, size_t cols_most)
{
    struct ArrowSchema schema = { 0 };
    if (stream->get_schema(stream, &schema) != 0)
        return said(r, stream);
    tab_status s = read_schema(r, &schema, cols_most);
    schema.release(&schema);
    while (s == TAB_OK) {
        struct ArrowArray batch = { 0 };
        if (stream->get_next(stream, &batch) != 0)
            return said(r, stream);
        if (batch.release == NULL)
            return TAB_OK;
        s = add_batch(r, &batch);
        batch.release(&batch);
    }
    return s;
}

tab_status tab_arrow_stream_read(tab_arena *a, struct ArrowArrayStream *stream, tab_str id, size_t cols,
                                 uint64_t cells, const tab_table **ret, tab_error *err)
{
    reader r = { .a = a, .cells_most = cells, .err = err };
    tab_status s = read_all(&r, stream, cols);
    stream->release(stream);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, r.cols + 1);
    if (s == TAB_OK && (t == NULL || col == NULL))
        s = tab_no_memory(err);
    for (size_t c = 0; c < r.cols && r.f[c].column.b != NULL; c++) {
        if (s == TAB_OK)
            s = arrow_cells_end(&r.f[c].column, &col[c], err);
        else
            tab_builder_drop(r.f[c].column.b);
        free(r.f[c].column.stamp);
    }
    if (s != TAB_OK)
        return s;
    *t = (tab_table){ .id = id, .rows = r.rows, .cols = r.cols, .col = col };
    *ret = t;
    return TAB_OK;
}
