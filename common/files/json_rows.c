/* See json_rows.h. Cells go straight into columns; a column that a row does not name is padded when it is
 * named again, and at the end. */
#include "common/files/json_rows.h"

#include <stdlib.h>
#include <sys/random.h>

#include "common/base/hash.h"
#include "common/files/unpack.h"
#include "common/json/json_scan.h"

enum { PATH_BYTES = 1024, DEPTH = 32 };

typedef struct {
    json_scan s;
    tab_arena *a;
    tab_str *name;
    tab_builder **b;
    uint32_t *slot;                      /* (slots) of a name: column + 1 */
    size_t cols, cols_most, slots, next; /* next: where the coming name is likely */
    uint64_t cells_most, seed;
    size_t rows;
    char path[PATH_BYTES];
    size_t path_n;
    tab_error *err;
} rows_reader;

static bool fail(rows_reader *r, const char *what)
{
    tab_fail(r->err, TAB_VALIDATION, "", "row %zu: %s", r->rows + 1, what);
    return false;
}

/* The builder of the column that the path names, padded to the row; NULL after an error. */
static tab_builder *column(rows_reader *r)
{
    tab_str path = { r->path, r->path_n };
    size_t k = r->next;
    if (k >= r->cols || !tab_str_eq(r->name[k], path)) {
        size_t at = tab_hash_slot(tab_fnv1a(r->seed, path.p, path.n), r->slots);
        while (r->slot[at] != 0 && !tab_str_eq(r->name[r->slot[at] - 1], path))
            at = (at + 1) % r->slots;
        k = r->slot[at] != 0 ? r->slot[at] - 1 : r->cols;
        if (k == r->cols) {
            if (k == r->cols_most) {
                tab_fail(r->err, TAB_VALIDATION, "", "row %zu: more than %zu columns", r->rows + 1,
                         r->cols_most);
                return NULL;
            }
            r->slot[at] = (uint32_t)k + 1;
            r->name[k] = tab_arena_copy(r->a, path);
            r->b[k] = tab_builder_new(r->a, r->name[k]);
            r->cols++;
        }
    }
    r->next = k + 1;
    if (r->b[k] == NULL || r->name[k].p == NULL) {
        tab_no_memory(r->err);
        return NULL;
    }
    if (tab_builder_rows(r->b[k]) > r->rows) {
        fail(r, "two fields have the same name");
        return NULL;
    }
    if ((r->rows + 1) > r->cells_most / r->cols) {
        tab_fail(r->err, TAB_VALIDATION, "", "the table has more than %llu cells",
                 (unsigned long long)r->cells_most);
        return NULL;
    }
    tab_builder_pad(r->b[k], r->rows);
    return r->b[k];
}

static bool cell(rows_reader *r)
{
    json_scan *s = &r->s;
    tab_builder *b = column(r);
    const char *from = s->p;
    tab_str text;
    size_t n = 0;
    double x;
    if (b == NULL)
        return false;
    switch (*from) {
    case '"':
        s->p++;
        if (!json_text(s, &text))
            return false;
        if (s->nul)
            return fail(r, "a string contains a NUL character");
        tab_builder_text(b, text);
        return true;
    case '[':
        if (!json_skip(s))
            return false;
        tab_builder_text(b, (tab_str){ from, (size_t)(s->p - from) });
        return true;
    case 'n':
        tab_builder_null(b);
        return json_literal(s, "null", 4);
    case 't':
    case 'f':
        tab_builder_bool(b, *from == 't');
        return *from == 't' ? json_literal(s, "true", 4) : json_literal(s, "false", 5);
    default:
        break;
    }
    tab_number_kind kind = tab_number_read(s->p, s->end, &n, &x);
    if (kind == TAB_NUMBER_NONE)
        return json_bad(s, "an unexpected character");
    if (n > 1000)
        return fail(r, "a number can have at most 1000 digits");
    if (kind == TAB_NUMBER_EXACT)
        tab_builder_number(b, x);
    else if (kind == TAB_NUMBER_DIGITS)
        tab_builder_number_text(b, (tab_str){ s->p, n });
    else
        tab_builder_text(b, (tab_str){ s->p, n }); /* beyond a double's range */
    s->p += n;
    return true;
}

static bool value(rows_reader *r)
{
    json_scan *s = &r->s;
    bool first = true, done;
    size_t before = r->path_n;
    tab_str key;
    if (*s->p != '{')
        return cell(r);
    s->p++;
    if (!json_enter(s))
        return false;
    while (json_next_key(s, &first, &key, &done)) {
        if (done)
            return true;
        size_t dot = before > 0;
        if (before + dot + key.n > PATH_BYTES)
            return fail(r, "a name is longer than 1024 bytes");
        if (dot)
            r->path[before] = '.';
        memcpy(r->path + before + dot, key.p, key.n);
        r->path_n = before + dot + key.n;
        bool ok = value(r);
        r->path_n = before;
        if (!ok)
            return false;
    }
    return false;
}

static bool row(rows_reader *r)
{
    r->path_n = r->next = 0;
    if (*r->s.p == 'n' && r->cols > 0) { /* a row without any value needs no column of its own */
        r->rows++;
        return json_literal(&r->s, "null", 4);
    }
    if (*r->s.p != '{') {
        memcpy(r->path, "value", 5);
        r->path_n = 5;
    }
    if (!value(r))
        return false;
    r->rows++;
    return true;
}

static bool elements(rows_reader *r)
{
    bool first = true, done;
    r->s.p++;
    if (!json_enter(&r->s))
        return false;
    while (json_next_item(&r->s, &first, &done))
        if (done)
            return true;
        else if (!row(r))
            return false;
    return false;
}

/* Of a checked object at p: the one member that is an array of objects; NULL where there is none, or
 * several. */
static const char *records(rows_reader *r, const char *p)
{
    json_scan *s = &r->s;
    const char *found = NULL;
    size_t n = 0;
    bool first = true, done = false;
    tab_str key;
    s->p = p + 1;
    if (!json_enter(s))
        return NULL;
    while (json_next_key(s, &first, &key, &done) && !done) {
        const char *at = s->p;
        if (*at == '[') {
            const char *q = at + 1 + strspn(at + 1, " \t\r\n");
            n += *q == '{';
            found = *q == '{' ? at : found;
        }
        if (!json_skip(s))
            return NULL;
    }
    return n == 1 ? found : NULL;
}

static bool read_all(rows_reader *r)
{
    json_scan *s = &r->s;
    const char *start = s->p;
    if (*start == '[') {
        if (!elements(r))
            return false;
        return json_end(s);
    }
    if (!json_skip(s))
        return false;
    json_space(s);
    if (s->p == s->end && *start == '{') {
        const char *at = records(r, start);
        s->p = at != NULL ? at : start;
        return at != NULL ? elements(r) : row(r);
    }
    for (s->p = start; s->p != s->end; json_space(s))
        if (!row(r))
            return false;
    return true;
}

/* Lists one behind the other in a list, whose elements are rows; parent[i]: which list row i stood in. */
static bool lists(rows_reader *r, const uint32_t *of, uint32_t **parent)
{
    bool first = true, done;
    size_t cap = 0;
    r->s.p++;
    if (!json_enter(&r->s))
        return false;
    for (size_t k = 0; json_next_item(&r->s, &first, &done); k++) {
        size_t before = r->rows;
        if (done)
            return json_end(&r->s);
        if (*r->s.p != '[')
            return json_bad(&r->s, "an unexpected character");
        if (!elements(r))
            return false;
        if (r->rows > cap) {
            cap = 2 * r->rows + 64;
            uint32_t *p = tab_arena_new_of(r->a, uint32_t, cap);
            if (p == NULL) {
                tab_no_memory(r->err);
                return false;
            }
            if (before > 0)
                memcpy(p, *parent, before * sizeof *p);
            *parent = p;
        }
        for (size_t i = before; i < r->rows; i++)
            (*parent)[i] = of[k];
    }
    return false;
}

static tab_status finish(rows_reader *r, tab_str id, const tab_table **ret)
{
    if (r->cols == 0)
        return tab_fail(r->err, TAB_VALIDATION, "", "there are no rows with members in it");
    tab_table *t = tab_arena_new_of(r->a, tab_table, 1);
    tab_column *col = tab_arena_new_of(r->a, tab_column, r->cols);
    bool ok = t != NULL && col != NULL;
    for (size_t k = 0; k < r->cols; k++) {
        tab_builder_pad(r->b[k], r->rows);
        ok = ok && tab_builder_finish(r->b[k], &col[k]);
    }
    if (!ok)
        return tab_no_memory(r->err);
    *t = (tab_table){ .id = tab_arena_copy(r->a, id), .rows = r->rows, .cols = r->cols, .col = col };
    *ret = t;
    return TAB_OK;
}

/* The scanner speaks of a request's body. */
static void of_the_file(tab_error *err)
{
    err->param[0] = 0;
    if (strncmp(err->message, "the body", 8) == 0)
        memcpy(err->message, "the file", 8);
}

static tab_status begin(rows_reader *r, tab_str text)
{
    r->slots = 2 * r->cols_most + 1;
    r->name = tab_arena_new_of(r->a, tab_str, r->cols_most);
    r->b = tab_arena_new_of(r->a, tab_builder *, r->cols_most);
    r->slot = tab_arena_new_of(r->a, uint32_t, r->slots);
    if (getrandom(&r->seed, sizeof r->seed, 0) != (ssize_t)sizeof r->seed || r->slot == NULL ||
        r->b == NULL || r->name == NULL)
        return tab_no_memory(r->err);
    return json_scan_init(&r->s, r->a, text, DEPTH, r->err);
}

tab_status tab_json_rows_read(tab_arena *a, tab_str text, tab_str id, size_t cols, uint64_t cells,
                              const tab_table **ret, tab_error *err)
{
    rows_reader r = { .a = a, .err = err, .cols_most = cols, .cells_most = cells };
    tab_status s = begin(&r, text);
    if (s == TAB_OK)
        s = read_all(&r) ? finish(&r, id, ret) : err->status;
    json_scan_free(&r.s);
    if (s != TAB_OK)
        of_the_file(err);
    return s;
}

/* "[list,list]" of the cells that are there, and the row of each. */
static bool join(const tab_column *c, size_t rows, tab_grown *text, uint32_t *of, tab_error *err)
{
    size_t n = 0;
    bool ok = tab_grown_add(text, "[", 1, err) == TAB_OK;
    for (size_t i = 0; i < rows && ok; i++) {
        tab_cell x = tab_cell_at(c, i);
        if (x.kind == TAB_CELL_NULL)
            continue;
        ok = (n == 0 || tab_grown_add(text, ",", 1, err) == TAB_OK) &&
             tab_grown_add(text, x.text.p, x.text.n, err) == TAB_OK;
        of[n++] = (uint32_t)i;
    }
    return ok && tab_grown_add(text, "]", 2, err) == TAB_OK; /* with its end */
}

tab_status tab_json_lists_read(tab_arena *a, const tab_column *c, size_t rows, tab_str id, size_t cols,
                               uint64_t cells, const tab_table **ret, const uint32_t **ret_parent,
                               tab_error *err)
{
    rows_reader r = { .a = a, .err = err, .cols_most = cols, .cells_most = cells };
    tab_grown text = { 0 };
    uint32_t *parent = NULL, *of = tab_arena_new_of(a, uint32_t, rows);
    tab_status s = of != NULL && join(c, rows, &text, of, err) ? TAB_OK : tab_no_memory(err);
    if (s == TAB_OK)
        s = begin(&r, (tab_str){ text.p, text.n - 1 });
    if (s == TAB_OK)
        s = lists(&r, of, &parent) ? finish(&r, id, ret) : err->status;
    json_scan_free(&r.s);
    free(text.p);
    *ret_parent = parent;
    return s;
}
