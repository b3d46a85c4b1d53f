/* See stored.h. */
#include "common/files/stored.h"

#include <string.h>
#include <zstd.h>

#include "common/table/table_wire.h"

static const char magic[] = "tabella table 1\n";
enum { MAGIC = sizeof magic - 1, FILE_FLAG = 1, LEVEL = 3, SCRATCH = 1 << 30 };
enum { RANGE_CELLS = 4 << 20, RANGE_MOST = 65536, RANGE_LEAST = 1024 };

static void put(char *to, uint64_t x)
{
    memcpy(to, &x, sizeof x);
}

static uint64_t get(const char *from)
{
    uint64_t x;
    memcpy(&x, from, sizeof x);
    return x;
}

/* ---- writing --------------------------------------------------------------------------------- */

uint64_t tab_stored_step(uint64_t cols, uint64_t first)
{
    uint64_t step = cols > 0 ? RANGE_CELLS / cols : RANGE_MOST;
    if (first == 0) /* the columns are not known yet */
        return RANGE_LEAST;
    return step > RANGE_MOST ? RANGE_MOST : step < RANGE_LEAST ? RANGE_LEAST : step;
}

void tab_stored_head(bool file, char ret[TAB_STORED_HEAD])
{
    memcpy(ret, magic, MAGIC);
    put(ret + MAGIC, file ? FILE_FLAG : 0);
}

void tab_stored_end(uint64_t rows, char ret[TAB_STORED_END])
{
    put(ret, 0);
    put(ret + 8, rows);
}

tab_status tab_stored_rows(tab_arena *a, const tab_table *t, tab_str *ret, tab_error *err)
{
    tab_wire *w;
    TAB_TRY(tab_wire_new(a, &t, 1, &w, err));
    size_t n = tab_wire_bytes(w), room = ZSTD_compressBound(n);
    char *plain = tab_arena_alloc(a, n + 1, 1), *packed = tab_arena_alloc(a, room + 8, 1);
    if (plain == NULL || packed == NULL)
        return tab_no_memory(err);
    tab_wire_copy(w, 0, n, plain);
    size_t m = ZSTD_compress(packed + 8, room, plain, n, LEVEL);
    if (ZSTD_isError(m))
        return tab_no_memory(err);
    put(packed, m);
    *ret = (tab_str){ packed, m + 8 };
    return TAB_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool tab_stored_is(tab_str bytes)
{
    return bytes.n >= MAGIC && memcmp(bytes.p, magic, MAGIC) == 0;
}

typedef struct {
    tab_arena *a;
    const tab_file_limits *most;
    tab_builder **b; /* (cols) */
    size_t cols;
    uint64_t rows, plain;
} reading;

static tab_status damaged(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "", "it is a stored table that is truncated or damaged");
}

static tab_status begin(reading *r, const tab_table *t, tab_error *err)
{
    if (t->cols == 0 || t->cols > r->most->cols)
        return tab_fail(err, TAB_VALIDATION, "", "it has %zu columns; a table has at most %zu", t->cols,
                        r->most->cols);
    r->cols = t->cols;
    r->b = tab_arena_new_of(r->a, tab_builder *, r->cols);
    for (size_t c = 0; r->b != NULL && c < r->cols; c++) {
        tab_str name = tab_arena_copy(r->a, t->col[c].name);
        r->b[c] = name.p == NULL ? NULL : tab_builder_new(r->a, name);
        if (r->b[c] == NULL)
            return tab_no_memory(err);
    }
    return r->b == NULL ? tab_no_memory(err) : TAB_OK;
}

static tab_status add_column(tab_arena *a, tab_builder *b, const tab_column *c, size_t rows, tab_error *err)
{
    uint32_t *known = tab_arena_new_of(a, uint32_t, c->levels + 1);
    if (known == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < rows; i++)
        tab_builder_copy(b, c, i, known);
    return TAB_OK;
}

/* One frame. */
static tab_status add(reading *r, tab_str packed, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    unsigned long long n = ZSTD_getFrameContentSize(packed.p, packed.n);
    const tab_table *const *t;
    size_t tables;
    if (n == ZSTD_CONTENTSIZE_UNKNOWN || n == ZSTD_CONTENTSIZE_ERROR || n > r->most->bytes - r->plain)
        return n > r->most->bytes && n < ZSTD_CONTENTSIZE_ERROR
                   ? tab_fail(err, TAB_VALIDATION, "", "it is larger than the limit of %llu MiB",
                              (unsigned long long)(r->most->bytes >> 20))
                   : damaged(err);
    char *plain = a == NULL ? NULL : tab_arena_alloc(a, n + 1, 1);
    if (plain == NULL)
        return tab_no_memory(err);
    if (ZSTD_decompress(plain, n, packed.p, packed.n) != n)
        return damaged(err);
    r->plain += n;
    tab_status s = tab_wire_read(a, (tab_str){ plain, n }, &t, &tables, err);
    if (s == TAB_VALIDATION || (s == TAB_OK && tables != 1))
        return damaged(err);
    TAB_TRY(s);
    if (r->b == NULL)
        TAB_TRY(begin(r, t[0], err));
    if (t[0]->cols != r->cols)
        return damaged(err);
    r->rows += t[0]->rows;
    if (r->rows * r->cols > r->most->cells)
        return tab_fail(err, TAB_VALIDATION, "", "it has more than %llu cells",
                        (unsigned long long)r->most->cells);
    for (size_t c = 0; c < r->cols; c++)
        TAB_TRY(add_column(a, r->b[c], &t[0]->col[c], t[0]->rows, err));
    return TAB_OK;
}

static tab_status frames(reading *r, tab_str bytes, tab_error *err)
{
    for (size_t at = TAB_STORED_HEAD; bytes.n >= 8 && at <= bytes.n - 8;) {
        uint64_t n = get(bytes.p + at);
        at += 8;
        if (n == 0) {
            bool whole = bytes.n - at == 8 && get(bytes.p + at) == r->rows && r->b != NULL;
            return whole ? TAB_OK : damaged(err);
        }
        if (n > bytes.n - at)
            return damaged(err);
        TAB_TRY(add(r, (tab_str){ bytes.p + at, n }, err));
        at += n;
    }
    return damaged(err);
}

tab_status tab_stored_read(tab_arena *a, tab_str bytes, tab_str id, const tab_file_limits *most,
                           const tab_table **ret, tab_error *err)
{
    reading r = { .a = a, .most = most };
    tab_status s = frames(&r, bytes, err);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *c = tab_arena_new_of(a, tab_column, r.cols + 1);
    for (size_t i = 0; i < r.cols && r.b != NULL; i++)
        if (r.b[i] != NULL && s != TAB_OK)
            tab_builder_drop(r.b[i]);
        else if (s == TAB_OK && (c == NULL || !tab_builder_finish(r.b[i], &c[i])))
            s = tab_no_memory(err);
    TAB_TRY(s);
    if (t == NULL || c == NULL)
        return tab_no_memory(err);
    *t = (tab_table){
        .id = id, .rows = r.rows, .cols = r.cols, .col = c, .file = (get(bytes.p + MAGIC) & FILE_FLAG) != 0
    };
    *ret = t;
    return TAB_OK;
}
