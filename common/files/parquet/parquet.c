/* See parquet.h.
 *
 *   "PAR1"  pages ...  FileMetaData (Thrift)  u32 its length  "PAR1"
 *   FileMetaData: schema; groups of rows, each of a chunk a column: its codec, where its pages begin
 *   chunk: [page of the dictionary]  pages of values     page: PageHeader (Thrift), body
 *   body: levels (which cells are there), then what is there, or its codes in the dictionary
 *
 * A chunk is read from its first page until it has all its rows. Pages may be shared by chunks of a file that
 * nobody wrote honestly; each time they are read they count against what may be unpacked. */
#include "common/files/parquet/parquet.h"

#include <endian.h>
#include <stdlib.h>

#include "common/files/parquet/parquet_nested.h"
#include "common/json/json.h"

enum { MAGIC = 4, TAIL = 8, PAGE_COST = 64 };
enum { CELLS_COST = 64, CELLS_ROOM = 1 << 20 }; /* what cells of a dictionary's bytes need at most */
enum { DATA_PAGE = 0, INDEX_PAGE = 1, DICTIONARY_PAGE = 2, DATA_PAGE_V2 = 3 }; /* PageType */

typedef struct {
    tab_arena *a;
    tab_str pages; /* what stands before the footer */
    tab_thrift footer;
    parquet_schema s;
    size_t cols_most, rows;
    uint64_t cells_most, entries, unpacked_left; /* entries: of leaves inside lists */
    size_t group, only;                          /* groups passed; the one that is read, or ALL, NONE */
    uint64_t base;                               /* where in the file `pages` begins */
    tab_parquet_group *plan;                     /* (groups) filled, or NULL */
    tab_error *err;
} reader;

#define ALL SIZE_MAX
#define NONE (SIZE_MAX - 1)

/* ColumnChunk and its ColumnMetaData. */
typedef struct {
    int64_t physical, codec, values, packed, data, dictionary;
    bool elsewhere, encrypted, there;
} chunk;

typedef struct {
    int64_t kind, unpacked, packed, values, encoding, level_encoding, repeat_encoding;
    int64_t level_bytes, repeat_bytes;
    bool is_packed;
} page;

/* Of a chunk: its values, or the cells made of them once, where cells do not wait for each other. */
typedef struct {
    bool there;
    tab_arena *a; /* of the column: a file has as many dictionaries as chunks */
    char *unpacked;
    parquet_values values;
    tab_column column; /* (values.n) */
    uint32_t *known;   /* (levels of column) as tab_builder_copy keeps them; malloc */
} dictionary;

static tab_status damaged(reader *r, const char *what)
{
    return tab_fail(r->err, TAB_VALIDATION, "", "its Parquet data cannot be read: %s", what);
}

static tab_status charge(reader *r, uint64_t bytes)
{
    if (bytes > r->unpacked_left)
        return tab_fail(r->err, TAB_VALIDATION, "", "its pages decompress to more than the limit");
    r->unpacked_left -= bytes;
    return TAB_OK;
}

/* ---- cells --------------------------------------------------------------------------------------- */

static tab_status add_text(reader *r, tab_builder *b, tab_str s)
{
    if (!tab_utf8_valid(s))
        return tab_fail(r->err, TAB_VALIDATION, "",
                        "it holds bytes that are not UTF-8, which a cell cannot hold; drop the column");
    tab_builder_text(b, s);
    return TAB_OK;
}

static tab_status add_value(reader *r, arrow_column *c, const arrow_array *x, const tab_str *text, size_t i)
{
    return text != NULL ? add_text(r, c->b, text[i]) : arrow_cell_add(c, x, i, r->err);
}

static tab_status add_plain(reader *r, parquet_column *c, const parquet_values *v, const uint8_t *known,
                            size_t n)
{
    const arrow_array x = { .rows = v->n, .values = v->values };
    for (size_t i = 0, k = 0; i < n; i++)
        TAB_TRY(known == NULL || known[i] != 0 ? add_value(r, &c->column, &x, v->text, k++)
                                               : arrow_null_add(&c->column, r->err));
    return TAB_OK;
}

static tab_status add_codes(reader *r, parquet_column *c, dictionary *d, const uint32_t *code,
                            const uint8_t *known, size_t n)
{
    const arrow_array x = { .rows = d->values.n, .values = d->values.values };
    for (size_t i = 0; i < n; i++) {
        if (known != NULL && known[i] == 0) {
            TAB_TRY(arrow_null_add(&c->column, r->err));
            continue;
        }
        if (*code >= d->values.n)
            return damaged(r, "a dictionary code is out of range");
        if (d->known != NULL)
            tab_builder_copy(c->column.b, &d->column, *code, d->known);
        else
            TAB_TRY(arrow_cell_add(&c->column, &x, *code, r->err));
        code++;
    }
    return TAB_OK;
}

/* Timestamps wait in their column until all are known; any other value becomes a cell once. */
static tab_status make_cells(reader *r, const parquet_column *c, dictionary *d, size_t bytes)
{
    arrow_column one = { .type = c->type.cell };
    if (c->type.cell.kind == ARROW_TIMESTAMP)
        return TAB_OK;
    d->a = tab_arena_new(CELLS_COST * bytes + CELLS_ROOM);
    one.b = d->a != NULL ? tab_builder_new(d->a, TAB_S("")) : NULL;
    if (one.b == NULL)
        return tab_no_memory(r->err);
    const arrow_array x = { .rows = d->values.n, .values = d->values.values };
    for (size_t i = 0; i < d->values.n; i++)
        TAB_TRY(add_value(r, &one, &x, d->values.text, i));
    TAB_TRY(arrow_cells_end(&one, &d->column, r->err));
    d->known = calloc(d->column.levels + 1, sizeof *d->known);
    return d->known != NULL ? TAB_OK : tab_no_memory(r->err);
}

/* ---- pages --------------------------------------------------------------------------------------- */

/* The three headers of pages differ in the ids of the same numbers. */
static void read_page_of(tab_thrift *t, int type, page *ret)
{
    tab_thrift_field f = { 0 };
    int64_t nothing = 0,
            *const plain[] = { [1] = &ret->values,
                               [2] = &ret->encoding,
                               [3] = &ret->level_encoding,
                               [4] = &ret->repeat_encoding },
            *const v2[] = { [1] = &ret->values,   [2] = &nothing,          [3] = &nothing,
                            [4] = &ret->encoding, [5] = &ret->level_bytes, [6] = &ret->repeat_bytes };
    bool second = ret->kind == DATA_PAGE_V2;
    if (!tab_thrift_is_struct(t, type))
        return;
    while (tab_thrift_next(t, &f)) {
        int most = second ? 6 : ret->kind == DATA_PAGE ? 4 : 2;
        if (f.id >= 1 && f.id <= most)
            *(second ? v2[f.id] : plain[f.id]) = tab_thrift_int(t, f.type);
        else if (second && f.id == 7)
            ret->is_packed = tab_thrift_bool(t, f.type);
        else
            tab_thrift_skip(t, f.type, false, 0);
    }
}

static bool read_page(tab_thrift *t, page *ret)
{
    tab_thrift_field f = { 0 };
    *ret = (page){ .kind = -1,
                   .values = -1,
                   .encoding = -1,
                   .level_encoding = PARQUET_RLE,
                   .repeat_encoding = PARQUET_RLE,
                   .is_packed = true };
    while (tab_thrift_next(t, &f)) {
        int64_t of = f.id == 5 ? DATA_PAGE : f.id == 7 ? DICTIONARY_PAGE : f.id == 8 ? DATA_PAGE_V2 : -1;
        if (f.id == 1)
            ret->kind = tab_thrift_int(t, f.type);
        else if (f.id == 2)
            ret->unpacked = tab_thrift_int(t, f.type);
        else if (f.id == 3)
            ret->packed = tab_thrift_int(t, f.type);
        else if (of >= 0 && of == ret->kind)
            read_page_of(t, f.type, ret);
        else
            tab_thrift_skip(t, f.type, false, 0);
    }
    return !t->bad && ret->unpacked >= 0 && ret->unpacked <= INT32_MAX && ret->packed >= 0 &&
           (uint64_t)ret->packed <= t->n - t->at;
}

/* *ret_made is the caller's to free; NULL where the body is as it stands. */
static tab_status unpack(reader *r, int64_t codec, tab_str *body, uint64_t size, char **ret_made)
{
    *ret_made = NULL;
    if (codec == 0)
        return TAB_OK;
    char *out = *ret_made = malloc((size_t)size + 1);
    if (out == NULL)
        return tab_no_memory(r->err);
    if (size > 0 && !parquet_unpack((int)codec, *body, out, (size_t)size))
        return damaged(r, "a packed page");
    *body = (tab_str){ out, (size_t)size };
    return TAB_OK;
}

static tab_status read_dictionary(reader *r, const parquet_column *c, const page *p, int64_t codec,
                                  tab_str body, dictionary *d)
{
    if (d->there)
        return damaged(r, "a column has two dictionaries at once");
    if (p->values < 0 || (uint64_t)p->values > r->cells_most || c->type.physical == PARQUET_BOOLEAN ||
        (p->encoding != PARQUET_PLAIN && p->encoding != PARQUET_PLAIN_DICTIONARY))
        return damaged(r, "a dictionary's head");
    d->there = true;
    TAB_TRY(unpack(r, codec, &body, (uint64_t)p->unpacked, &d->unpacked));
    TAB_TRY(parquet_decode(&c->type, PARQUET_PLAIN, body, (size_t)p->values, &r->unpacked_left, &d->values,
                           r->err));
    return make_cells(r, c, d, body.n);
}

/* Bits of a level that is at most so high. */
static int level_width(int most)
{
    int width = 0;
    while (most >> width != 0)
        width++;
    return width;
}

/* n levels, at most `most` each; *ret is the caller's to free. */
static tab_status read_levels(reader *r, int most, int64_t encoding, tab_str in, size_t n, uint32_t **ret)
{
    int width = level_width(most);
    uint32_t *level = *ret = malloc((n + 1) * sizeof *level);
    if (level == NULL)
        return tab_no_memory(r->err);
    if (!(encoding == PARQUET_BIT_PACKED ? parquet_bits(in, width, level, n)
                                         : parquet_runs(in, width, level, n)))
        return damaged(r, "levels of a page");
    for (size_t i = 0; i < n; i++)
        if (level[i] > (uint32_t)most)
            return damaged(r, "a level is none");
    return TAB_OK;
}

/* Which of n cells are there, from their levels; *ret is NULL where all are, else the caller's to free. */
static tab_status read_known(reader *r, const parquet_column *c, const uint32_t *level, size_t n,
                             size_t *ret_known, uint8_t **ret)
{
    uint8_t *known = *ret = malloc(n + 1);
    *ret_known = 0;
    if (known == NULL)
        return tab_no_memory(r->err);
    for (size_t i = 0; i < n; i++) {
        known[i] = level[i] == (uint32_t)c->levels;
        *ret_known += known[i];
    }
    if (*ret_known == n) {
        free(known);
        *ret = NULL;
    }
    return TAB_OK;
}

/* Levels, at most so high, that begin a page of the first kind: their length, then as many bytes. */
static tab_status cut_levels(reader *r, int most, int64_t encoding, int64_t values, tab_str *body,
                             tab_str *ret)
{
    uint32_t n;
    size_t skip = 0;
    if (encoding == PARQUET_BIT_PACKED) {
        n = (uint32_t)(((uint64_t)values * (uint64_t)level_width(most) + 7) / 8);
    } else {
        if (encoding != PARQUET_RLE || body->n < sizeof n)
            return damaged(r, "levels of a page");
        memcpy(&n, body->p, sizeof n);
        n = le32toh(n);
        skip = sizeof n;
    }
    if (n > body->n - skip)
        return damaged(r, "levels of a page");
    *ret = (tab_str){ body->p + skip, n };
    *body = (tab_str){ body->p + skip + n, body->n - skip - n };
    return TAB_OK;
}

static tab_status add_values(reader *r, parquet_column *c, const page *p, tab_str body, dictionary *d,
                             const uint8_t *known, size_t n_known)
{
    size_t n = (size_t)p->values;
    parquet_values v;
    if (n_known == 0)
        return add_plain(r, c, &(parquet_values){ 0 }, known, n);
    if (p->encoding != PARQUET_PLAIN_DICTIONARY && p->encoding != PARQUET_RLE_DICTIONARY) {
        tab_status s =
            parquet_decode(&c->type, (int)p->encoding, body, n_known, &r->unpacked_left, &v, r->err);
        if (s == TAB_OK)
            s = add_plain(r, c, &v, known, n);
        parquet_values_free(&v);
        return s;
    }
    if (!d->there)
        return damaged(r, "a page of codes has no dictionary");
    if (body.n == 0)
        return damaged(r, "a page is shorter than its values");
    uint32_t *code = malloc(n_known * sizeof *code);
    tab_status s = code != NULL ? TAB_OK : tab_no_memory(r->err);
    if (s == TAB_OK && !parquet_runs((tab_str){ body.p + 1, body.n - 1 }, (uint8_t)body.p[0], code, n_known))
        s = damaged(r, "codes of a page");
    if (s == TAB_OK)
        s = add_codes(r, c, d, code, known, n);
    free(code);
    return s;
}

/* The bytes of a page's levels; *body is what follows them. Those of the second kind stand outside of what is
 * packed, and are of *size bytes unpacked together with it. */
static tab_status part_levels(reader *r, const parquet_column *c, const page *p, tab_str *body,
                              tab_str *ret_repeat, tab_str *ret_level)
{
    if (p->kind == DATA_PAGE) {
        if (c->repeats > 0)
            TAB_TRY(cut_levels(r, c->repeats, p->repeat_encoding, p->values, body, ret_repeat));
        return c->levels > 0 ? cut_levels(r, c->levels, p->level_encoding, p->values, body, ret_level)
                             : TAB_OK;
    }
    size_t repeat = (size_t)p->repeat_bytes, level = (size_t)p->level_bytes;
    *ret_repeat = (tab_str){ body->p, repeat };
    *ret_level = (tab_str){ body->p + repeat, level };
    *body = (tab_str){ body->p + repeat + level, body->n - repeat - level };
    return TAB_OK;
}

/* What a page holds beside its values; all but the strings is the caller's to free. */
typedef struct {
    char *unpacked;
    uint32_t *repeat, *level;
    uint8_t *known;
    size_t n_known;
} page_parts;

static tab_status read_parts(reader *r, parquet_column *c, const page *p, int64_t codec, tab_str *body,
                             page_parts *x)
{
    tab_str repeat = TAB_S(""), level = TAB_S("");
    uint64_t size = (uint64_t)p->unpacked, apart = 0;
    size_t n = (size_t)p->values;
    bool first = p->kind == DATA_PAGE;
    if (!first) {
        apart = (uint64_t)p->level_bytes + (uint64_t)p->repeat_bytes;
        if ((uint64_t)p->level_bytes > body->n || (uint64_t)p->repeat_bytes > body->n || apart > body->n ||
            apart > size)
            return damaged(r, "levels of a page");
        TAB_TRY(part_levels(r, c, p, body, &repeat, &level));
    }
    TAB_TRY(unpack(r, p->is_packed ? codec : 0, body, size - apart, &x->unpacked));
    if (first)
        TAB_TRY(part_levels(r, c, p, body, &repeat, &level));
    if (c->repeats > 0)
        TAB_TRY(read_levels(r, c->repeats, first ? p->repeat_encoding : PARQUET_RLE, repeat, n, &x->repeat));
    if (c->levels > 0) {
        TAB_TRY(read_levels(r, c->levels, first ? p->level_encoding : PARQUET_RLE, level, n, &x->level));
        TAB_TRY(read_known(r, c, x->level, n, &x->n_known, &x->known));
    }
    return c->repeats > 0 ? parquet_entries_add(c, x->level, x->repeat, n, r->err) : TAB_OK;
}

/* p->values is at most the entries that are left. */
static tab_status read_values(reader *r, parquet_column *c, const page *p, int64_t codec, tab_str body,
                              dictionary *d)
{
    page_parts x = { .n_known = (size_t)p->values };
    tab_status s = read_parts(r, c, p, codec, &body, &x);
    if (s == TAB_OK)
        s = add_values(r, c, p, body, d, x.known, x.n_known);
    free(x.unpacked);
    free(x.repeat);
    free(x.level);
    free(x.known);
    return s;
}

static int64_t first_page(const chunk *x)
{
    return x->dictionary >= MAGIC && x->dictionary < x->data ? x->dictionary : x->data;
}

static tab_status read_pages(reader *r, parquet_column *c, const chunk *x, size_t entries, dictionary *d)
{
    int64_t first = first_page(x);
    if (first < MAGIC || (uint64_t)first < r->base || (uint64_t)first - r->base > r->pages.n)
        return damaged(r, "its pages extend beyond the end of the file");
    size_t at = (size_t)((uint64_t)first - r->base);
    while (entries > 0) {
        page p;
        tab_thrift t = { (const uint8_t *)r->pages.p + at, r->pages.n - at, 0, false };
        if (!read_page(&t, &p))
            return damaged(r, "a page's head, or it is cut off");
        tab_str body = { r->pages.p + at + t.at, (size_t)p.packed };
        TAB_TRY(charge(r, PAGE_COST + t.at + (uint64_t)(p.unpacked > p.packed ? p.unpacked : p.packed)));
        at += t.at + (size_t)p.packed;
        if (p.kind == DICTIONARY_PAGE)
            TAB_TRY(read_dictionary(r, c, &p, x->codec, body, d));
        if (p.kind != DATA_PAGE && p.kind != DATA_PAGE_V2)
            continue;
        if (p.values < 0 || (uint64_t)p.values > entries)
            return damaged(r, "columns have different numbers of rows");
        TAB_TRY(read_values(r, c, &p, x->codec, body, d));
        entries -= (size_t)p.values;
    }
    return TAB_OK;
}

/* ---- groups of rows ------------------------------------------------------------------------------ */

static void read_column(tab_thrift *t, int type, chunk *ret)
{
    tab_thrift_field f = { 0 };
    int64_t *const number[] = { [1] = &ret->physical, [4] = &ret->codec, [5] = &ret->values,
                                [7] = &ret->packed,   [9] = &ret->data,  [11] = &ret->dictionary };
    if (!tab_thrift_is_struct(t, type))
        return;
    ret->there = true;
    while (tab_thrift_next(t, &f))
        if ((size_t)f.id < sizeof number / sizeof *number && number[f.id] != NULL)
            *number[f.id] = tab_thrift_int(t, f.type);
        else
            tab_thrift_skip(t, f.type, false, 0);
}

static void read_chunk(tab_thrift *t, chunk *ret)
{
    tab_thrift_field f = { 0 };
    *ret = (chunk){ .physical = -1, .codec = -1, .values = -1, .packed = -1, .data = -1, .dictionary = -1 };
    while (tab_thrift_next(t, &f)) {
        ret->elsewhere |= f.id == 1;
        ret->encrypted |= f.id == 8 || f.id == 9;
        if (f.id == 3)
            read_column(t, f.type, ret);
        else
            tab_thrift_skip(t, f.type, false, 0);
    }
}

/* A step's failure, with the column that it was at. */
static tab_status of_column(reader *r, const parquet_column *c, tab_status s)
{
    if (s != TAB_VALIDATION)
        return s;
    tab_error why = *r->err;
    return tab_fail(r->err, s, "", "column `%.*s`: %s", (int)(c->name.n < 64 ? c->name.n : 64), c->name.p,
                    why.message);
}

static tab_status too_many_cells(reader *r)
{
    return tab_fail(r->err, TAB_VALIDATION, "", "it has more than %llu cells",
                    (unsigned long long)r->cells_most);
}

static tab_status encrypted(reader *r)
{
    return tab_fail(r->err, TAB_VALIDATION, "", "it is encrypted; write the file without encryption");
}

static tab_status add_chunk(reader *r, parquet_column *c, const chunk *x, size_t rows)
{
    dictionary d = { 0 };
    if (x->encrypted)
        return encrypted(r);
    if (x->elsewhere)
        return tab_fail(r->err, TAB_VALIDATION, "",
                        "its data is stored in another file; write it as a single file");
    if (!x->there || x->physical != (int64_t)c->type.physical ||
        (c->repeats > 0 ? x->values < (int64_t)rows : x->values != (int64_t)rows))
        return damaged(r, "columns have unlike numbers of rows, or a chunk is of none");
    if (c->repeats > 0 && (uint64_t)x->values > r->cells_most - r->entries)
        return too_many_cells(r);
    r->entries += c->repeats > 0 ? (uint64_t)x->values : 0;
    if (!parquet_codec_known(x->codec))
        return tab_fail(r->err, TAB_VALIDATION, "",
                        "it uses an unsupported codec; write it with snappy or zstd");
    tab_status s = read_pages(r, c, x, (size_t)x->values, &d);
    parquet_values_free(&d.values);
    free(d.unpacked);
    free(d.known);
    tab_arena_free(d.a);
    return of_column(r, c, s);
}

/* Where the chunks' pages lie, from the first to the last. */
static tab_status plan_chunks(reader *r, tab_thrift *chunks, size_t rows)
{
    uint64_t from = UINT64_MAX, to = 0;
    for (size_t i = 0; i < r->s.leaves && rows > 0; i++) {
        chunk x;
        read_chunk(chunks, &x);
        int64_t first = first_page(&x);
        if (x.encrypted)
            return encrypted(r);
        if (chunks->bad || first < MAGIC || (uint64_t)first > r->pages.n || x.packed < 0 ||
            (uint64_t)x.packed > r->pages.n - (uint64_t)first)
            return damaged(r, "its pages extend beyond the end of the file");
        from = (uint64_t)first < from ? (uint64_t)first : from;
        to = (uint64_t)(first + x.packed) > to ? (uint64_t)(first + x.packed) : to;
    }
    r->plan[r->group] = (tab_parquet_group){ rows > 0 ? from : MAGIC, rows > 0 ? to - from : 0, rows };
    return TAB_OK;
}

/* The chunks stand before the number of rows, and are passed by to learn it. */
static tab_status read_group(reader *r)
{
    tab_thrift *t = &r->footer, chunks = { 0 };
    tab_thrift_field f = { 0 };
    int chunks_type = 0, element;
    int64_t rows = -1;
    while (tab_thrift_next(t, &f)) {
        if (f.id == 1) {
            chunks = *t;
            chunks_type = f.type;
        }
        if (f.id == 3)
            rows = tab_thrift_int(t, f.type);
        else
            tab_thrift_skip(t, f.type, false, 0);
    }
    if (t->bad || rows < 0 || tab_thrift_list(&chunks, chunks_type, &element) != r->s.leaves ||
        element != THRIFT_STRUCT)
        return damaged(r, "a group of rows");
    if (r->plan != NULL)
        return plan_chunks(r, &chunks, (size_t)rows);
    if (r->only != ALL && r->only != r->group)
        return TAB_OK;
    if ((uint64_t)rows > r->cells_most / r->s.leaves - r->rows)
        return too_many_cells(r);
    r->rows += (size_t)rows;
    for (size_t i = 0; i < r->s.leaves && rows > 0; i++) {
        chunk x;
        read_chunk(&chunks, &x);
        TAB_TRY(add_chunk(r, &r->s.leaf[i], &x, (size_t)rows));
    }
    return TAB_OK;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static tab_status read_groups(reader *r, int type)
{
    int element;
    size_t n = tab_thrift_list(&r->footer, type, &element);
    if (r->s.cols == 0)
        return damaged(r, "it does not start with its schema");
    if (r->footer.bad || (n > 0 && element != THRIFT_STRUCT))
        return damaged(r, "its groups of rows");
    if (r->only == NONE && n > 0 && n <= r->footer.n &&
        (r->plan = tab_arena_new_of(r->a, tab_parquet_group, n)) == NULL)
        return tab_no_memory(r->err);
    for (; r->group < n; r->group++)
        TAB_TRY(read_group(r));
    return TAB_OK;
}

/* Whether it is encrypted is told behind the groups, so that the footer is read twice. */
static tab_status read_footer(reader *r)
{
    tab_thrift begin = r->footer, *t = &r->footer;
    tab_thrift_field f = { 0 };
    bool groups = false;
    while (tab_thrift_next(t, &f)) {
        if (f.id == 8)
            return encrypted(r);
        tab_thrift_skip(t, f.type, false, 0);
    }
    if (t->bad)
        return damaged(r, "its footer");
    *t = begin;
    f = (tab_thrift_field){ 0 };
    while (tab_thrift_next(t, &f)) {
        if (f.id == 2 && r->s.cols == 0) {
            TAB_TRY(parquet_schema_read(r->a, t, f.type, r->cols_most, &r->s, r->err));
        } else if (f.id == 4 && !groups) {
            groups = true;
            TAB_TRY(read_groups(r, f.type));
        } else {
            tab_thrift_skip(t, f.type, false, 0);
        }
    }
    return !t->bad && r->s.cols > 0 ? TAB_OK : damaged(r, "its footer");
}

static tab_status finish(reader *r, tab_str id, const tab_table **ret)
{
    tab_table *t = tab_arena_new_of(r->a, tab_table, 1);
    tab_column *col = tab_arena_new_of(r->a, tab_column, r->s.cols);
    tab_column *leaf = tab_arena_new_of(r->a, tab_column, r->s.leaves);
    if (t == NULL || col == NULL || leaf == NULL)
        return tab_no_memory(r->err);
    *t = (tab_table){ .id = id, .rows = r->rows, .cols = r->s.cols, .col = col };
    for (size_t i = 0; i < r->s.leaves; i++) {
        parquet_column *c = &r->s.leaf[i];
        TAB_TRY(of_column(r, c, arrow_cells_end(&c->column, &leaf[i], r->err)));
    }
    for (size_t i = 0; i < r->s.cols; i++) {
        const parquet_field *f = r->s.column[i];
        if (f->shape == PARQUET_VALUE)
            col[i] = leaf[f->leaf];
        else
            TAB_TRY(of_column(
                r, &r->s.leaf[f->leaf],
                parquet_nested_cells(r->a, f, r->s.leaf, leaf, r->rows, &r->unpacked_left, &col[i], r->err)));
    }
    *ret = t;
    return TAB_OK;
}

static bool is_magic(const char *p, const char *magic)
{
    return memcmp(p, magic, MAGIC) == 0;
}

bool tab_parquet_is(tab_str s)
{
    return s.n >= MAGIC && (is_magic(s.p, "PAR1") || is_magic(s.p, "PARE"));
}

static tab_status read_all(reader *r, tab_str id, const tab_table **ret)
{
    tab_status s = read_footer(r);
    if (s == TAB_OK)
        s = finish(r, id, ret);
    for (size_t i = 0; i < r->s.leaves; i++) {
        free(r->s.leaf[i].column.stamp);
        free(r->s.leaf[i].level);
        free(r->s.leaf[i].repeat);
    }
    return s;
}

static tab_status footer_of(reader *r, const char *tail, uint64_t size, size_t *ret)
{
    uint32_t n;
    if (is_magic(tail + (TAIL - MAGIC), "PARE"))
        return encrypted(r);
    if (!is_magic(tail + (TAIL - MAGIC), "PAR1"))
        return damaged(r, "it is truncated");
    memcpy(&n, tail, sizeof n);
    n = le32toh(n);
    if (size < MAGIC + TAIL || n > size - MAGIC - TAIL)
        return damaged(r, "it is truncated");
    *ret = n;
    return TAB_OK;
}

tab_status tab_parquet_read(tab_arena *a, tab_str bytes, tab_str id, size_t cols, uint64_t cells,
                            uint64_t unpacked, const tab_table **ret, tab_error *err)
{
    reader r = {
        a, .cols_most = cols, .cells_most = cells, .unpacked_left = unpacked, .only = ALL, .err = err
    };
    const char *end = bytes.p + bytes.n;
    size_t n;
    if (bytes.n < MAGIC + TAIL)
        return damaged(&r, "it is truncated");
    TAB_TRY(footer_of(&r, end - TAIL, bytes.n, &n));
    r.pages = (tab_str){ bytes.p, bytes.n - TAIL - n };
    r.footer = (tab_thrift){ (const uint8_t *)end - TAIL - n, n, 0, false };
    return read_all(&r, id, ret);
}

tab_status tab_parquet_footer(const char tail[TAB_PARQUET_TAIL], uint64_t size, size_t *ret, tab_error *err)
{
    return footer_of(&(reader){ .err = err }, tail, size, ret);
}

tab_status tab_parquet_groups(tab_arena *a, tab_str footer, uint64_t size, tab_str id, size_t cols,
                              const tab_table **ret, tab_parquet_group **ret_group, size_t *ret_n,
                              tab_error *err)
{
    reader r = { .a = a, .cols_most = cols, .cells_most = UINT64_MAX, .only = NONE, .err = err };
    if (footer.n > size - TAIL)
        return damaged(&r, "it is truncated");
    r.pages = (tab_str){ NULL, (size_t)(size - TAIL - footer.n) };
    r.footer = (tab_thrift){ (const uint8_t *)footer.p, footer.n, 0, false };
    TAB_TRY(read_all(&r, id, ret));
    *ret_group = r.plan;
    *ret_n = r.plan == NULL ? 0 : r.group;
    return TAB_OK;
}

tab_status tab_parquet_group_read(tab_arena *a, tab_str footer, size_t i, const tab_parquet_group *g,
                                  tab_str pages, tab_str id, size_t cols, uint64_t cells, uint64_t unpacked,
                                  const tab_table **ret, tab_error *err)
{
    reader r = { a, pages, .cols_most = cols, .cells_most = cells, .unpacked_left = unpacked, .err = err };
    r.only = i;
    r.base = g->at;
    r.footer = (tab_thrift){ (const uint8_t *)footer.p, footer.n, 0, false };
    return read_all(&r, id, ret);
}
