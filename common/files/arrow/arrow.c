/* See arrow.h.
 *
 *   message: ffffffff, i32 n, metadata (n bytes, a FlatBuffer), body
 *   schema; then dictionaries and batches of rows, each in the order of the schema's fields:
 *     batch: a node (rows, nulls) a field; buffers (place in the body) by field: validity, values, texts
 *
 * A file is such a stream between "ARROW1", two bytes, and an index, which is not needed. */
#include "common/files/arrow/arrow.h"

#include <endian.h>
#include <lz4frame.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "common/files/arrow/arrow_cells.h"
#include "common/files/arrow/flatbuffer.h"
#include "common/json/json.h"

enum { SCHEMA = 1, DICTIONARY = 2, ROWS = 3 }; /* Message.fbs, union MessageHeader */
enum { DEPTH = 8, NAME_MOST = 1024, NOT_CODED = -1 };

/* A field of the schema, its children behind it. */
typedef struct {
    arrow_type type;
    int depth;
    int64_t dictionary;  /* its id, or NOT_CODED */
    arrow_type index;    /* of the codes */
    arrow_column column; /* no struct has one */
    uint32_t *known;     /* (levels of the dictionary) as tab_builder_copy keeps them; malloc */
    unsigned version;    /* of the dictionary that they are of */
} field;

typedef struct {
    int64_t id;
    arrow_type type;
    tab_column column; /* (rows) its values */
    size_t rows;
    unsigned version; /* 0: none came yet; each that comes replaces the one before */
} dictionary;

typedef struct {
    tab_arena *a;
    tab_str in;
    size_t at;
    field *f; /* (fields) */
    size_t fields, fields_most;
    dictionary *d; /* (dictionaries) */
    size_t dictionaries;
    size_t cols, cols_most, rows;
    uint64_t cells_most, unpacked_left;
    tab_error *err;
} reader;

/* A batch: its nodes and buffers, taken one behind the other. */
typedef struct {
    tab_fb *meta;
    tab_str body;
    size_t node, nodes, buffer, buffers, more, n_more; /* place of the next, and how many are left */
    int codec;                                         /* 0: LZ4, 1: zstd; -1: not packed */
    uint64_t rows;
    char **made; /* (n_made) buffers that were unpacked, freed with the batch */
    size_t n_made, cap_made;
} batch;

static tab_status damaged(reader *r, const char *what)
{
    return tab_fail(r->err, TAB_VALIDATION, "", "its Arrow data cannot be read: %s", what);
}

/* ---- the schema ---------------------------------------------------------------------------------- */

static tab_status not_read(reader *r, tab_str name, const char *what)
{
    return tab_fail(
        r->err, TAB_VALIDATION, "",
        "column `%.*s` has the Arrow type %s, which a cell cannot hold; drop the column or cast it to a "
        "string",
        (int)(name.n < 64 ? name.n : 64), name.p, what);
}

static tab_status read_type(reader *r, tab_fb *b, int kind, size_t t, tab_str name, arrow_type *ret)
{
    static const char *const others[] = { [4] = "binary",
                                          [11] = "interval",
                                          [12] = "list",
                                          [14] = "union",
                                          [15] = "fixed_size_binary",
                                          [16] = "fixed_size_list",
                                          [17] = "map",
                                          [19] = "large_binary",
                                          [21] = "large_list",
                                          [22] = "run_end_encoded",
                                          [23] = "binary_view",
                                          [25] = "list_view",
                                          [26] = "large_list_view" };
    static const int floats[] = { 16, 32, 64 };
    *ret = (arrow_type){ .kind = (arrow_kind)kind };
    if (kind == ARROW_NULL || kind == ARROW_UTF8 || kind == ARROW_LARGE_UTF8 || kind == ARROW_UTF8_VIEW ||
        kind == ARROW_BOOL || kind == ARROW_STRUCT)
        return TAB_OK;
    if (t == 0)
        return damaged(r, "a field has no type");
    int64_t first =
        tab_fb_int(b, t, 0, 2, kind == ARROW_DATE || kind == ARROW_TIME || kind == ARROW_DURATION);
    bool ok = true;
    switch (kind) {
    case ARROW_INT:
        ret->bits = (int)tab_fb_int(b, t, 0, 4, 0);
        ret->is_signed = tab_fb_int(b, t, 1, 1, 0) != 0;
        ok = ret->bits == 8 || ret->bits == 16 || ret->bits == 32 || ret->bits == 64;
        break;
    case ARROW_FLOAT:
        ok = first >= 0 && first <= 2;
        ret->bits = ok ? floats[first] : 0;
        break;
    case ARROW_DECIMAL:
        ret->scale = (int)tab_fb_int(b, t, 1, 4, 0);
        ret->bits = (int)tab_fb_int(b, t, 2, 4, 128);
        if (ret->bits == 256)
            return not_read(r, name, "decimal256");
        ok = (ret->bits == 32 || ret->bits == 64 || ret->bits == 128) && ret->scale >= 0 && ret->scale <= 38;
        break;
    case ARROW_DATE:
        ret->bits = first == 0 ? 32 : 64;
        break;
    case ARROW_TIME:
        ret->bits = (int)tab_fb_int(b, t, 1, 4, 32);
        ret->unit = (int)first;
        ok = ret->bits == 32 || ret->bits == 64;
        break;
    case ARROW_TIMESTAMP:
        ret->zone = tab_fb_text(b, t, 1).n > 0;
        /* fall through */
    case ARROW_DURATION:
        ret->bits = 64;
        ret->unit = (int)first;
        break;
    default:
        return not_read(r, name,
                        (size_t)kind < sizeof others / sizeof *others && others[kind] != NULL
                            ? others[kind]
                            : "of a newer version");
    }
    ok = ok && ret->unit >= 0 && ret->unit <= 3;
    return ok ? TAB_OK : damaged(r, "a field's type is none");
}

static dictionary *dictionary_of(reader *r, int64_t id)
{
    for (size_t i = 0; i < r->dictionaries; i++)
        if (r->d[i].id == id)
            return &r->d[i];
    return NULL;
}

/* The values of a coded field are of its type, in a dictionary that fields may share. */
static tab_status read_coding(reader *r, tab_fb *b, size_t coding, tab_str name, field *f)
{
    size_t index = tab_fb_ref(b, coding, 1);
    f->dictionary = tab_fb_int(b, coding, 0, 8, 0);
    f->index = (arrow_type){ .kind = ARROW_INT, .bits = 32, .is_signed = true };
    if (index != 0)
        TAB_TRY(read_type(r, b, ARROW_INT, index, name, &f->index));
    if (f->dictionary < 0)
        return damaged(r, "a dictionary's id is negative");
    if (f->type.kind == ARROW_STRUCT)
        return not_read(r, name, "dictionary of structs");
    dictionary *d = dictionary_of(r, f->dictionary);
    if (d != NULL)
        return d->type.kind == f->type.kind ? TAB_OK : damaged(r, "two types share a dictionary");
    d = &r->d[r->dictionaries++];
    *d = (dictionary){ .id = f->dictionary, .type = f->type };
    return TAB_OK;
}

static tab_status read_field(reader *r, tab_fb *b, size_t at, tab_str parent, int depth)
{
    if (r->fields == r->fields_most || depth > DEPTH)
        return tab_fail(r->err, TAB_VALIDATION, "", "it has more than %zu columns", r->cols_most);
    field *f = &r->f[r->fields++];
    tab_str name = tab_fb_text(b, at, 0);
    size_t coding = tab_fb_ref(b, at, 4), n, child = tab_fb_vector(b, at, 5, 4, &n);
    if (b->bad || name.n > NAME_MOST || !tab_utf8_valid(name))
        return damaged(r, "a column's name");
    if (depth > 0) {
        char *path = tab_arena_printf(r->a, "%.*s.%.*s", TAB_STR(parent), TAB_STR(name));
        name = path != NULL ? tab_str_of(path) : name;
    } else {
        name = tab_arena_copy(r->a, name);
    }
    *f = (field){ .depth = depth, .dictionary = NOT_CODED };
    TAB_TRY(read_type(r, b, (int)tab_fb_int(b, at, 2, 1, 0), tab_fb_ref(b, at, 3), name, &f->type));
    if (coding != 0)
        TAB_TRY(read_coding(r, b, coding, name, f));
    if (f->type.kind == ARROW_STRUCT) {
        for (size_t i = 0; i < n; i++)
            TAB_TRY(read_field(r, b, tab_fb_follow(b, child + 4 * i), name, depth + 1));
        return TAB_OK;
    }
    if (r->cols++ == r->cols_most)
        return tab_fail(r->err, TAB_VALIDATION, "", "it has more than %zu columns", r->cols_most);
    f->column = (arrow_column){ .type = f->type, .b = tab_builder_new(r->a, name) };
    return f->column.b != NULL ? TAB_OK : tab_no_memory(r->err);
}

static tab_status read_schema(reader *r, tab_fb *b, size_t header)
{
    size_t n, fields = tab_fb_vector(b, header, 1, 4, &n);
    if (r->f != NULL)
        return damaged(r, "it has two schemas");
    if (tab_fb_int(b, header, 0, 2, 0) != 0)
        return damaged(r, "it is big-endian");
    r->fields_most = 2 * r->cols_most + DEPTH; /* structs too */
    r->f = tab_arena_new_of(r->a, field, r->fields_most);
    r->d = tab_arena_new_of(r->a, dictionary, r->fields_most);
    if (r->f == NULL || r->d == NULL)
        return tab_no_memory(r->err);
    for (size_t i = 0; i < n; i++)
        TAB_TRY(read_field(r, b, tab_fb_follow(b, fields + 4 * i), TAB_S(""), 0));
    if (b->bad)
        return damaged(r, "its schema");
    return r->cols > 0 ? TAB_OK : tab_fail(r->err, TAB_VALIDATION, "", "it has no columns");
}

/* ---- buffers ------------------------------------------------------------------------------------- */

static bool lz4(const char *p, size_t n, char *out, size_t out_n)
{
    LZ4F_dctx *ctx;
    size_t used = n, made = out_n, done = 0, left = n;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION)))
        return false;
    size_t hint = 1;
    while (hint != 0 && left > 0) {
        used = left;
        made = out_n - done;
        hint = LZ4F_decompress(ctx, out + done, &made, p, &used, NULL);
        if (LZ4F_isError(hint) || (used == 0 && made == 0))
            break;
        p += used;
        left -= used;
        done += made;
    }
    LZ4F_freeDecompressionContext(ctx);
    return hint == 0 && done == out_n;
}

/* A packed buffer begins with its size; -1: it is not packed after all. */
static tab_status unpack(reader *r, batch *x, tab_str *buffer)
{
    int64_t size;
    if (buffer->n == 0)
        return TAB_OK;
    if (buffer->n < sizeof size)
        return damaged(r, "a packed buffer has no size");
    memcpy(&size, buffer->p, sizeof size);
    *buffer = (tab_str){ buffer->p + sizeof size, buffer->n - sizeof size };
    if (size == -1)
        return TAB_OK;
    if (size < 0 || (uint64_t)size > r->unpacked_left)
        return tab_fail(r->err, TAB_VALIDATION, "", "its buffers decompress to more than the limit");
    r->unpacked_left -= (uint64_t)size;
    if (x->n_made == x->cap_made) {
        size_t cap = x->cap_made < 64 ? 64 : 2 * x->cap_made;
        char **p = realloc(x->made, cap * sizeof *p);
        if (p == NULL)
            return tab_no_memory(r->err);
        x->made = p;
        x->cap_made = cap;
    }
    char *out = malloc((size_t)size + 1);
    if (out == NULL)
        return tab_no_memory(r->err);
    x->made[x->n_made++] = out;
    bool ok = x->codec == 0 ? lz4(buffer->p, buffer->n, out, (size_t)size)
                            : ZSTD_decompress(out, (size_t)size, buffer->p, buffer->n) == (size_t)size;
    *buffer = (tab_str){ out, (size_t)size };
    return ok ? TAB_OK : damaged(r, "a packed buffer");
}

static tab_status next_buffer(reader *r, batch *x, tab_str *ret)
{
    if (x->buffers-- == 0) {
        x->buffers = 0;
        return damaged(r, "a batch has too few buffers");
    }
    uint64_t at = tab_fb_at(x->meta, x->buffer, 8), n = tab_fb_at(x->meta, x->buffer + 8, 8);
    x->buffer += 16;
    if (x->meta->bad || at > x->body.n || n > x->body.n - at)
        return damaged(r, "a buffer lies beyond its batch");
    *ret = (tab_str){ x->body.p + at, (size_t)n };
    return x->codec >= 0 ? unpack(r, x, ret) : TAB_OK;
}

/* The node and the validity of the next array, whose rows are the batch's. */
static tab_status next_array(reader *r, batch *x, arrow_kind kind, const uint8_t *alive, arrow_array *ret)
{
    tab_str valid = TAB_S("");
    if (x->nodes-- == 0) {
        x->nodes = 0;
        return damaged(r, "a batch has too few columns");
    }
    uint64_t rows = tab_fb_at(x->meta, x->node, 8), nulls = tab_fb_at(x->meta, x->node + 8, 8);
    x->node += 16;
    if (x->meta->bad || rows != x->rows)
        return damaged(r, "columns of a batch have different numbers of rows");
    *ret = (arrow_array){ .rows = (size_t)rows, .alive = alive };
    if (kind != ARROW_NULL)
        TAB_TRY(next_buffer(r, x, &valid));
    if (valid.n > 0 && nulls != 0) {
        if (valid.n < (rows + 7) / 8)
            return damaged(r, "a validity is shorter than its rows");
        ret->valid = (const uint8_t *)valid.p;
    }
    return TAB_OK;
}

/* The buffers behind the validity; *ret_more is the caller's to free. */
static tab_status next_values(reader *r, batch *x, arrow_kind kind, arrow_array *ret, tab_str **ret_more)
{
    *ret_more = NULL;
    if (kind == ARROW_NULL)
        return TAB_OK;
    TAB_TRY(next_buffer(r, x, &ret->values));
    if (kind == ARROW_UTF8 || kind == ARROW_LARGE_UTF8)
        return next_buffer(r, x, &ret->text);
    if (kind != ARROW_UTF8_VIEW)
        return TAB_OK;
    if (x->n_more-- == 0) {
        x->n_more = 0;
        return damaged(r, "a batch of texts tells no number of buffers");
    }
    uint64_t n = tab_fb_at(x->meta, x->more, 8);
    x->more += 8;
    if (x->meta->bad || n > x->buffers)
        return damaged(r, "a batch has too few buffers");
    tab_str *more = calloc((size_t)n + 1, sizeof *more);
    if (more == NULL)
        return tab_no_memory(r->err);
    *ret_more = more;
    ret->more = more;
    ret->n_more = (size_t)n;
    for (size_t i = 0; i < n; i++)
        TAB_TRY(next_buffer(r, x, &more[i]));
    return TAB_OK;
}

/* ---- batches ------------------------------------------------------------------------------------- */

static tab_status open_batch(reader *r, tab_fb *b, size_t header, tab_str body, batch *ret)
{
    size_t packed = tab_fb_ref(b, header, 3);
    int64_t rows = tab_fb_int(b, header, 0, 8, 0);
    *ret = (batch){ .meta = b, .body = body, .codec = -1, .rows = (uint64_t)rows };
    ret->node = tab_fb_vector(b, header, 1, 16, &ret->nodes);
    ret->buffer = tab_fb_vector(b, header, 2, 16, &ret->buffers);
    ret->more = tab_fb_vector(b, header, 4, 8, &ret->n_more);
    if (packed != 0)
        ret->codec = (int)tab_fb_int(b, packed, 0, 1, 0);
    if (b->bad || rows < 0 || rows > INT32_MAX || ret->codec > 1)
        return damaged(r, "a batch's head");
    return TAB_OK;
}

static void close_batch(batch *x)
{
    for (size_t i = 0; i < x->n_made; i++)
        free(x->made[i]);
    free(x->made);
}

static tab_status add_coded(reader *r, field *f, const arrow_array *x)
{
    const dictionary *d = dictionary_of(r, f->dictionary);
    size_t bytes = (size_t)f->index.bits / 8;
    if (d->version == 0)
        return damaged(r, "a dictionary comes too late");
    if (x->values.n < x->rows * bytes)
        return damaged(r, "a buffer is shorter than its rows");
    if (f->version != d->version) {
        free(f->known);
        f->known = calloc(d->column.levels + 1, sizeof *f->known);
        f->version = d->version;
    }
    if (f->known == NULL)
        return tab_no_memory(r->err);
    for (size_t i = 0; i < x->rows; i++) {
        uint64_t code = 0;
        if (!arrow_known(x, i)) {
            tab_builder_null(f->column.b);
            continue;
        }
        memcpy(&code, x->values.p + i * bytes, bytes);
        if (code >= d->rows)
            return damaged(r, "a dictionary code is out of range");
        tab_builder_copy(f->column.b, &d->column, (size_t)code, f->known);
    }
    return TAB_OK;
}

/* Field i and what is inside it; *next is the field behind. */
static tab_status add_field(reader *r, batch *x, size_t i, const uint8_t *alive, size_t *next)
{
    field *f = &r->f[i];
    arrow_array array;
    arrow_kind kind = f->dictionary == NOT_CODED ? f->type.kind : ARROW_INT;
    *next = i + 1;
    TAB_TRY(next_array(r, x, kind, alive, &array));
    if (f->type.kind == ARROW_STRUCT && f->dictionary == NOT_CODED) {
        uint8_t *both = array.valid != NULL ? malloc(array.rows + 1) : NULL;
        tab_status s = array.valid != NULL && both == NULL ? tab_no_memory(r->err) : TAB_OK;
        for (size_t k = 0; both != NULL && k < array.rows; k++)
            both[k] = arrow_known(&array, k);
        while (s == TAB_OK && *next < r->fields && r->f[*next].depth > f->depth)
            s = add_field(r, x, *next, both != NULL ? both : alive, next);
        free(both);
        return s;
    }
    tab_str *more;
    tab_status s = next_values(r, x, kind, &array, &more);
    if (s == TAB_OK)
        s = f->dictionary != NOT_CODED ? add_coded(r, f, &array)
                                       : arrow_cells_add(&f->column, &array, r->err);
    free(more);
    return s;
}

static tab_status add_rows(reader *r, batch *x)
{
    r->rows += x->rows;
    if (r->rows > r->cells_most / r->cols)
        return tab_fail(r->err, TAB_VALIDATION, "", "it has more than %llu cells",
                        (unsigned long long)r->cells_most);
    for (size_t i = 0; i < r->fields;)
        TAB_TRY(add_field(r, x, i, NULL, &i));
    return TAB_OK;
}

static tab_status read_values(reader *r, dictionary *d, batch *x)
{
    arrow_column c = { .type = d->type, .b = tab_builder_new(r->a, TAB_S("")) };
    arrow_array array;
    tab_str *more = NULL;
    tab_status s = c.b != NULL ? next_array(r, x, d->type.kind, NULL, &array) : tab_no_memory(r->err);
    if (s == TAB_OK)
        s = next_values(r, x, d->type.kind, &array, &more);
    if (s == TAB_OK)
        s = arrow_cells_add(&c, &array, r->err);
    free(more);
    if (s != TAB_OK) {
        free(c.stamp);
        return s;
    }
    d->rows = array.rows;
    d->version++;
    return arrow_cells_end(&c, &d->column, r->err);
}

static tab_status read_dictionary(reader *r, tab_fb *b, size_t header, tab_str body)
{
    dictionary *d = dictionary_of(r, tab_fb_int(b, header, 0, 8, 0));
    size_t data = tab_fb_ref(b, header, 1);
    batch x;
    if (d == NULL || data == 0)
        return damaged(r, "a dictionary of no column");
    if (tab_fb_int(b, header, 2, 1, 0) != 0)
        return damaged(r, "a dictionary comes in pieces; write it without dictionary deltas");
    tab_status s = open_batch(r, b, data, body, &x);
    if (s == TAB_OK && x.rows > r->cells_most)
        s = damaged(r, "a dictionary is longer than a table");
    if (s == TAB_OK)
        s = read_values(r, d, &x);
    close_batch(&x);
    return s;
}

static tab_status read_rows(reader *r, tab_fb *b, size_t header, tab_str body)
{
    batch x;
    tab_status s = open_batch(r, b, header, body, &x);
    if (s == TAB_OK)
        s = add_rows(r, &x);
    close_batch(&x);
    return s;
}

/* ---- the stream ---------------------------------------------------------------------------------- */

static uint32_t word(const reader *r, size_t at)
{
    uint32_t x;
    memcpy(&x, r->in.p + at, sizeof x);
    return le32toh(x);
}

/* One message; *end where there is no further one. Before format 0.15 no ffffffff stood before its length. */
static tab_status read_message(reader *r, bool *end)
{
    size_t left = r->in.n - r->at, head = left >= 8 && word(r, r->at) == UINT32_MAX ? 8 : 4;
    *end = left == 0;
    if (left == 0)
        return TAB_OK;
    uint32_t n = left >= head ? word(r, r->at + head - 4) : UINT32_MAX;
    *end = n == 0;
    if (n == 0)
        return TAB_OK;
    if (left < head || n > left - head)
        return damaged(r, "it is truncated");
    tab_fb b = { (const uint8_t *)r->in.p + r->at + head, n, false };
    size_t message = tab_fb_root(&b), header = tab_fb_ref(&b, message, 2);
    int64_t kind = tab_fb_int(&b, message, 1, 1, 0), body_n = tab_fb_int(&b, message, 3, 8, 0);
    r->at += head + n;
    if (b.bad || header == 0 || body_n < 0)
        return damaged(r, "a message's head");
    if ((uint64_t)body_n > r->in.n - r->at)
        return damaged(r, "it is truncated");
    tab_str body = { r->in.p + r->at, (size_t)body_n };
    r->at += (size_t)body_n;
    if (kind == SCHEMA)
        return read_schema(r, &b, header);
    if (r->f == NULL)
        return damaged(r, "it does not start with its schema");
    return kind == DICTIONARY ? read_dictionary(r, &b, header, body)
           : kind == ROWS     ? read_rows(r, &b, header, body)
                              : damaged(r, "a message of an unknown type");
}

static tab_status finish(reader *r, tab_str id, const tab_table **ret)
{
    tab_table *t = tab_arena_new_of(r->a, tab_table, 1);
    tab_column *col = tab_arena_new_of(r->a, tab_column, r->cols);
    if (t == NULL || col == NULL)
        return tab_no_memory(r->err);
    *t = (tab_table){ .id = id, .rows = r->rows, .cols = 0, .col = col };
    for (size_t i = 0; i < r->fields; i++)
        if (r->f[i].column.b != NULL)
            TAB_TRY(arrow_cells_end(&r->f[i].column, &col[t->cols++], r->err));
    *ret = t;
    return TAB_OK;
}

bool tab_arrow_is(tab_str s)
{
    static const char file[] = "ARROW1", stream[] = "\xff\xff\xff\xff";
    return (s.n >= 8 && memcmp(s.p, file, sizeof file - 1) == 0) ||
           (s.n >= 8 && memcmp(s.p, stream, sizeof stream - 1) == 0);
}

tab_status tab_arrow_read(tab_arena *a, tab_str bytes, tab_str id, size_t cols, uint64_t cells,
                          uint64_t unpacked, const tab_table **ret, tab_error *err)
{
    reader r = { .a = a,
                 .in = bytes,
                 .at = bytes.n > 8 && bytes.p[0] == 'A' ? 8 : 0,
                 .cols_most = cols,
                 .cells_most = cells,
                 .unpacked_left = unpacked,
                 .err = err };
    bool end = false;
    tab_status s = TAB_OK;
    while (s == TAB_OK && !end)
        s = read_message(&r, &end);
    if (s == TAB_OK && r.f == NULL)
        s = damaged(&r, "it has no schema");
    if (s == TAB_OK)
        s = finish(&r, id, ret);
    for (size_t i = 0; i < r.fields; i++) {
        free(r.f[i].column.stamp);
        free(r.f[i].known);
    }
    return s;
}
