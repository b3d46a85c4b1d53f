/* A request body: `tables` straight into columns, the rest into a tree. */
#include "common/json/json_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    json_scan s;
    const tab_body_limits *limits;
    tab_body *out;
    size_t i; /* the table being read */
} body;

/* The table being read. `rows` may come before `columns`: then its first row gives the width. */
typedef struct {
    bool has_id, has_columns, has_rows, width_known;
    tab_str id;
    tab_str *names;
    size_t width, rows;
    tab_builder **col; /* (width) */
} reading;

#define SHAPE(b, ...) (tab_fail((b)->s.err, TAB_VALIDATION, __VA_ARGS__), false)

static const char *path(char buf[static 128], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *path(char buf[static 128], const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, 128, fmt, ap);
    va_end(ap);
    return buf;
}

static bool no_memory(body *b)
{
    b->s.syntax = true; /* no second look at the document */
    tab_fail(b->s.err, TAB_INTERNAL, "", "the request needs more memory than one request may use");
    return false;
}

/* ---- id and columns -------------------------------------------------------------------------- */

static bool read_id(body *b, reading *t)
{
    char at[128];
    path(at, "tables[%zu].id", b->i);
    tab_str id;
    if (*b->s.p != '"')
        return SHAPE(b, at, "the id of a table must be a string");
    b->s.p++;
    if (!json_text(&b->s, &id))
        return false;
    if (id.n == 0 || tab_utf8_count(id) > 128)
        return SHAPE(b, at, "the id of a table must have 1 to 128 characters");
    if (b->s.nul || memchr(id.p, '.', id.n) != NULL)
        return SHAPE(b, at, "the id of a table cannot contain a dot or a NUL character");
    for (size_t k = 0; k < b->i; k++)
        if (tab_str_eq(b->out->tables[k]->id, id))
            return SHAPE(b, at, "two tables have this id");
    t->id = tab_arena_copy(b->s.a, id);
    t->has_id = true;
    return t->id.p != NULL || no_memory(b);
}

static bool over_columns(body *b)
{
    char at[128];
    return SHAPE(b, path(at, "tables[%zu].columns", b->i), "a table can have at most %zu columns",
                 b->limits->columns);
}

static bool read_columns(body *b, reading *t)
{
    char at[128];
    json_scan *s = &b->s;
    if (*s->p != '[')
        return SHAPE(b, path(at, "tables[%zu].columns", b->i), "`columns` must be an array of strings");
    s->p++;
    if (!json_enter(s))
        return false;
    t->names = tab_arena_new_of(s->a, tab_str, b->limits->columns);
    if (t->names == NULL)
        return no_memory(b);
    size_t n = 0;
    bool first = true, done;
    for (;; n++) {
        tab_str name;
        if (!json_next_item(s, &first, &done))
            return false;
        if (done)
            break;
        if (n == b->limits->columns)
            return over_columns(b);
        if (*s->p != '"')
            return SHAPE(b, path(at, "tables[%zu].columns[%zu]", b->i, n),
                         "the name of a column must be a string");
        s->p++;
        if (!json_text(s, &name))
            return false;
        if (s->nul)
            return SHAPE(b, path(at, "tables[%zu].columns[%zu]", b->i, n),
                         "a name cannot contain a NUL character");
        t->names[n] = tab_arena_copy(s->a, name);
        if (t->names[n].p == NULL)
            return no_memory(b);
    }
    if (n == 0)
        return SHAPE(b, path(at, "tables[%zu].columns", b->i), "a table must have at least one column");
    if (t->width_known && t->width != n)
        return SHAPE(b, path(at, "tables[%zu].rows", b->i),
                     "the rows have %zu values, the table has %zu columns", t->width, n);
    t->has_columns = true;
    t->width = n;
    t->width_known = true;
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool bad_cell(body *b, const reading *t, size_t k, const char *what)
{
    char at[128];
    return SHAPE(b, path(at, "tables[%zu].rows[%zu][%zu]", b->i, t->rows, k), "%s", what);
}

static bool read_cell(body *b, const reading *t, size_t k)
{
    json_scan *s = &b->s;
    tab_builder *c = t->col[k];
    tab_str text;
    double x;
    size_t n = 0;
    switch (*s->p) {
    case '"':
        s->p++;
        if (!json_text(s, &text))
            return false;
        if (s->nul)
            return bad_cell(b, t, k, "a cell cannot contain a NUL character");
        tab_builder_text(c, text);
        return true;
    case 'n':
        tab_builder_null(c);
        return json_literal(s, "null", 4);
    case 't':
        tab_builder_bool(c, true);
        return json_literal(s, "true", 4);
    case 'f':
        tab_builder_bool(c, false);
        return json_literal(s, "false", 5);
    case '[':
    case '{':
        return bad_cell(b, t, k, "a cell must be a number, a string, a boolean or null");
    default:
        switch (tab_number_read(s->p, s->end, &n, &x)) {
        case TAB_NUMBER_EXACT:
            tab_builder_number(c, x);
            break;
        case TAB_NUMBER_DIGITS:
            if (n > 1000)
                return bad_cell(b, t, k, "a number can have at most 1000 digits");
            tab_builder_number_text(c, (tab_str){ s->p, n });
            break;
        case TAB_NUMBER_RANGE:
            return bad_cell(b, t, k, "the number is outside the range of a double");
        case TAB_NUMBER_NONE:
            return json_bad(s, "an unexpected character");
        }
        s->p += n;
        return true;
    }
}

static bool add_column(body *b, reading *t)
{
    if (t->width == b->limits->columns)
        return over_columns(b);
    tab_builder *c = tab_builder_new(b->s.a, TAB_S(""));
    if (c == NULL)
        return no_memory(b);
    t->col[t->width++] = c;
    return true;
}

static bool ragged(body *b, const reading *t, size_t values, bool more)
{
    char at[128];
    return SHAPE(b, path(at, "tables[%zu].rows", b->i), "row %zu has %s%zu values, the table has %zu columns",
                 t->rows, more ? "more than " : "", values, t->width);
}

/* One row, its bracket passed. Cells are by far the most of a body: this loop is the reader. */
static bool read_row(body *b, reading *t)
{
    json_scan *s = &b->s;
    size_t k = 0;
    json_space(s);
    if (*s->p != ']')
        for (;;) {
            if (k == t->width) {
                if (t->width_known)
                    return ragged(b, t, t->width, true);
                if (!add_column(b, t))
                    return false;
            }
            if (!read_cell(b, t, k++))
                return false;
            json_space(s);
            if (*s->p == ']')
                break;
            if (*s->p != ',')
                return json_bad(s, "a missing comma or bracket");
            s->p++;
            json_space(s);
            if (*s->p == ']')
                return json_bad(s, "an extra comma");
        }
    s->p++;
    t->width_known = true;
    return k == t->width || ragged(b, t, k, false);
}

static bool over_cells(body *b)
{
    return SHAPE(b, "tables", "the tables have more than the limit of %llu cells",
                 (unsigned long long)b->limits->cells);
}

/* How many rows are left in the text if all are like the first one. */
static void guess_rows(const json_scan *s, reading *t, const char *row)
{
    size_t bytes = (size_t)(s->p - row) + 1, rows = (size_t)(s->end - s->p) / bytes;
    rows += rows / 8 + 2;
    if (rows > 64)
        for (size_t k = 0; k < t->width; k++)
            tab_builder_reserve(t->col[k], rows);
}

static bool read_rows(body *b, reading *t)
{
    char at[128];
    json_scan *s = &b->s;
    if (*s->p != '[')
        return SHAPE(b, path(at, "tables[%zu].rows", b->i), "`rows` must be an array of arrays");
    s->p++;
    t->has_rows = true;
    t->col = tab_arena_new_of(s->a, tab_builder *, b->limits->columns);
    if (t->col == NULL || !json_enter(s) || !json_enter(s))
        return t->col == NULL ? no_memory(b) : false;
    s->depth--;
    for (size_t width = t->width_known ? t->width : 0, k = 0; k < width; k++) {
        t->col[k] = tab_builder_new(s->a, TAB_S(""));
        if (t->col[k] == NULL)
            return no_memory(b);
    }
    bool first = true, done;
    for (;; t->rows++) {
        if (!json_next_item(s, &first, &done))
            return false;
        if (done)
            return true;
        if (*s->p != '[')
            return SHAPE(b, path(at, "tables[%zu].rows[%zu]", b->i, t->rows),
                         "a row must be an array of cells");
        const char *row = s->p++;
        if (!read_row(b, t))
            return false;
        b->out->cells += t->width;
        b->out->rows++;
        if (b->out->cells > b->limits->cells)
            return over_cells(b);
        if (b->limits->rows != 0 && b->out->rows > b->limits->rows)
            return SHAPE(b, "tables", "the tables have more than the limit of %zu rows", b->limits->rows);
        if (t->rows == 0)
            guess_rows(s, t, row);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool finish(body *b, reading *t, tab_table *ret)
{
    char at[128];
    if (!t->has_id)
        return SHAPE(b, path(at, "tables[%zu].id", b->i), "a table must have an id");
    if (!t->has_columns)
        return SHAPE(b, path(at, "tables[%zu].columns", b->i), "a table must have columns");
    if (!t->has_rows)
        return SHAPE(b, path(at, "tables[%zu].rows", b->i), "a table must have rows");
    tab_column *col = tab_arena_new_of(b->s.a, tab_column, t->width);
    if (col == NULL)
        return no_memory(b);
    for (size_t k = 0; k < t->width; k++) {
        if (t->col[k] == NULL) /* no rows, and `columns` came after them */
            t->col[k] = tab_builder_new(b->s.a, TAB_S(""));
        if (!tab_builder_finish(t->col[k], &col[k]))
            return no_memory(b);
        col[k].name = t->names[k];
    }
    *ret = (tab_table){ .id = t->id, .rows = t->rows, .cols = t->width, .col = col };
    return true;
}

static bool read_table(body *b, tab_table *ret)
{
    char at[128];
    json_scan *s = &b->s;
    reading t = { 0 };
    if (*s->p != '{')
        return SHAPE(b, path(at, "tables[%zu]", b->i), "a table must be an object with id, columns and rows");
    s->p++;
    if (!json_enter(s))
        return false;
    bool first = true, done;
    tab_str key;
    while (json_next_key(s, &first, &key, &done)) {
        bool ok;
        if (done)
            return finish(b, &t, ret);
        if (tab_str_eq(key, TAB_S("id")))
            ok = read_id(b, &t);
        else if (tab_str_eq(key, TAB_S("columns")))
            ok = read_columns(b, &t);
        else if (tab_str_eq(key, TAB_S("rows")))
            ok = read_rows(b, &t);
        else
            ok = json_skip(s);
        if (!ok)
            return false;
    }
    return false;
}

static bool read_tables(body *b)
{
    json_scan *s = &b->s;
    b->out->has_tables = true;
    if (*s->p != '[')
        return SHAPE(b, "tables", "`tables` must be an array of tables");
    s->p++;
    if (!json_enter(s))
        return false;
    tab_table *table = tab_arena_new_of(s->a, tab_table, b->limits->tables);
    const tab_table **list = tab_arena_new_of(s->a, const tab_table *, b->limits->tables);
    if (table == NULL || list == NULL)
        return no_memory(b);
    b->out->tables = list;
    bool first = true, done;
    for (b->i = 0;; b->i++) {
        if (!json_next_item(s, &first, &done))
            return false;
        if (done)
            return true;
        if (b->i == b->limits->tables)
            return SHAPE(b, "tables", "a request has at most %zu tables", b->limits->tables);
        if (!read_table(b, &table[b->i]))
            return false;
        list[b->i] = &table[b->i];
        b->out->n_tables = b->i + 1;
    }
}

static bool read_body(body *b, tab_json *root)
{
    json_scan *s = &b->s;
    if (*s->p != '{')
        return SHAPE(b, "body", "the body must be a JSON object");
    s->p++;
    root->kind = TAB_JSON_OBJECT;
    if (!json_enter(s))
        return false;
    bool first = true, done;
    tab_json *last = NULL;
    tab_str key;
    while (json_next_key(s, &first, &key, &done)) {
        if (done)
            return json_end(s);
        if (tab_str_eq(key, TAB_S("tables"))) {
            if (!read_tables(b))
                return false;
            continue;
        }
        tab_json *m = tab_arena_new_of(s->a, tab_json, 1);
        if (m == NULL)
            return no_memory(b);
        m->key = key.p == s->scratch ? tab_arena_copy(s->a, key) : key;
        *(last == NULL ? &root->first : &last->next) = m;
        last = m;
        root->count++;
        if (!json_tree(s, m))
            return false;
    }
    return false;
}

tab_status tab_body_read(tab_arena *a, tab_str text, const tab_body_limits *limits, tab_body *ret,
                         tab_error *err)
{
    tab_error own;
    body b = { .limits = limits, .out = ret };
    err = err != NULL ? err : &own;
    *ret = (tab_body){ 0 };
    tab_status st = json_scan_init(&b.s, a, text, limits->depth, err);
    if (st != TAB_OK)
        return st;
    tab_json *root = tab_arena_new_of(a, tab_json, 1);
    bool ok = root == NULL ? no_memory(&b) : read_body(&b, root);
    bool syntax = b.s.syntax;
    json_scan_free(&b.s);
    ret->root = root;
    if (ok)
        return TAB_OK;
    /* Errors of syntax come before errors of shape: a document with both is told of its syntax. */
    tab_error shape = *err;
    if (!syntax && json_scan_init(&b.s, a, text, limits->depth, err) == TAB_OK) {
        if (json_skip(&b.s) && json_end(&b.s))
            *err = shape;
        json_scan_free(&b.s);
    }
    return err->status;
}
