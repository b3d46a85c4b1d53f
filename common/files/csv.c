/* See csv.h. Bytes become UTF-8 first, then the dialect is chosen on the first records, then one pass
 * checks widths and kinds and a second one fills the columns. */
#include "common/files/csv.h"

#include <stdlib.h>

#include "common/files/text.h"
#include "common/files/top.h"
#include "common/files/total.h"
#include "common/json.h"

enum { FIELDS_MOST = 1 << 16 }; /* of a record: what has more is a file of commas, not of columns */

typedef struct {
    tab_str name;
    bool text, present; /* some field is no number; some field is there */
} column;

typedef struct {
    tab_arena *a;
    tab_csv_lexer top; /* at the header, or at the first row without one */
    column *col;
    size_t cols, cap, rows;
    bool header;
    tab_csv_notes notes;
    tab_error *err;
} reader;

static bool number(tab_str s, double *ret)
{
    size_t n = 0;
    return s.n > 0 && tab_number_read(s.p, s.p + s.n, &n, ret) == TAB_NUMBER_EXACT && n == s.n;
}

static tab_status widen(reader *r, size_t cols)
{
    if (cols > FIELDS_MOST)
        return tab_fail(r->err, TAB_VALIDATION, "", "a line has more than %d fields", FIELDS_MOST);
    if (cols > r->cap) {
        size_t cap = cols * 2 + 16;
        column *c = tab_arena_new_of(r->a, column, cap);
        if (c == NULL)
            return tab_no_memory(r->err);
        if (r->cols > 0)
            memcpy(c, r->col, r->cols * sizeof *c);
        r->col = c;
        r->cap = cap;
    }
    for (; r->cols < cols; r->cols++)
        r->col[r->cols] = (column){ .name = TAB_S("") };
    return TAB_OK;
}

static tab_status names(reader *r, tab_csv_lexer *f)
{
    tab_str s;
    bool last = false;
    while (!last && tab_csv_field(f, &s, &last)) {
        TAB_TRY(widen(r, r->cols + 1));
        r->col[r->cols - 1].name = tab_arena_copy(r->a, s);
    }
    return TAB_OK;
}

static tab_status whole(const tab_csv_lexer *f, tab_error *err)
{
    if (f->too_long)
        return tab_fail(err, TAB_VALIDATION, "",
                        "line %zu: a quoted field is longer than %d MiB; is its quote never closed?",
                        f->quote_line, TAB_CSV_FIELD_MOST >> 20);
    if (f->unclosed)
        return tab_fail(err, TAB_VALIDATION, "", "line %zu: a quote is opened and never closed",
                        f->quote_line);
    return TAB_OK;
}

/* Names, widths, and which columns are numbers. */
static tab_status look(reader *r)
{
    tab_csv_lexer f = r->top;
    tab_str s;
    double x;
    size_t width = 0;
    if (r->header && tab_csv_record(&f, NULL)) {
        TAB_TRY(names(r, &f));
        width = r->cols;
    }
    while (!f.too_long && tab_csv_record(&f, &r->notes.empty)) {
        bool last = false, first = r->cols == 0;
        size_t k = 0;
        for (; !last && tab_csv_field(&f, &s, &last); k++) {
            if (k >= r->cols && (first || s.n > 0))
                TAB_TRY(widen(r, k + 1));
            if (s.n > 0) {
                r->col[k].present = true;
                r->col[k].text |= !number(s, &x);
            }
        }
        if (first)
            width = r->cols;
        r->rows++;
        r->notes.padded += k < width;
        r->notes.widened += k > width;
    }
    r->notes.comments = f.comments;
    return whole(&f, r->err);
}

static tab_status build(reader *r, tab_column *ret)
{
    tab_builder **b = tab_arena_new_of(r->a, tab_builder *, r->cols);
    for (size_t k = 0; b != NULL && k < r->cols; k++) {
        b[k] = tab_builder_new(r->a, r->col[k].name);
        tab_builder_reserve(b[k], r->rows);
    }
    tab_csv_lexer f = r->top;
    bool header = r->header;
    tab_str s;
    double x = 0;
    while (b != NULL && tab_csv_record(&f, NULL)) {
        bool last = false;
        size_t k = 0;
        for (; !last && tab_csv_field(&f, &s, &last); k++) {
            if (header || k >= r->cols)
                continue;
            if (s.n == 0)
                tab_builder_null(b[k]);
            else if (r->col[k].text)
                tab_builder_text(b[k], s);
            else if (number(s, &x))
                tab_builder_number(b[k], x);
        }
        for (; !header && k < r->cols; k++)
            tab_builder_null(b[k]);
        header = false;
    }
    bool ok = b != NULL;
    for (size_t k = 0; k < r->cols && b != NULL; k++)
        ok = tab_builder_finish(b[k], &ret[k]) && ok;
    return ok ? TAB_OK : tab_no_memory(r->err);
}

/* Of the first records, whose number is bounded by bytes as well: a field may be long. */
static bool top_of(tab_csv_lexer f, tab_top *ret)
{
    enum { BYTES = 1 << 18 };
    tab_top_record *record = malloc(TAB_TOP_RECORDS * sizeof *record);
    const char *most = f.end - f.p > BYTES ? f.p + BYTES : f.end;
    size_t n = 0;
    if (record == NULL)
        return false;
    while (n < TAB_TOP_RECORDS && f.p < most && tab_csv_record(&f, NULL)) {
        tab_str s;
        bool last = false;
        record[n] = (tab_top_record){ 0 };
        for (size_t k = 0; !last && tab_csv_field(&f, &s, &last); k++)
            tab_top_cell(&record[n], k, s);
        n++;
    }
    *ret = tab_top_find(record, n);
    free(record);
    return true;
}

static tab_status read_text(reader *r, tab_str text, tab_table *t)
{
    tab_csv_lexer *f = &r->top;
    char declared = tab_csv_declared(&text);
    f->d = r->notes.dialect = tab_csv_dialect_of(text, declared, f->scratch);
    f->p = text.p;
    f->end = text.p + text.n;
    f->line = 1 + (declared != 0);
    tab_top top;
    if (!top_of(*f, &top))
        return tab_no_memory(r->err);
    for (tab_str s; r->notes.skipped < top.skip && tab_csv_record(f, NULL); r->notes.skipped++)
        for (bool last = false; !last && tab_csv_field(f, &s, &last);)
            ;
    r->header = r->notes.header = top.header;
    TAB_TRY(look(r));
    if (r->cols == 0)
        return tab_fail(r->err, TAB_VALIDATION, "", "the file holds no header and no rows");
    tab_column *col = tab_arena_new_of(r->a, tab_column, r->cols);
    if (col == NULL)
        return tab_no_memory(r->err);
    TAB_TRY(build(r, col));
    *t = (tab_table){ t->id, r->rows, r->cols, col };
    r->notes.total = tab_total_row_cut(t, col);
    return TAB_OK;
}

/* A zero byte is a character that nobody can read, U+FFFD; where there are many it is no text. */
static tab_status without_zeros(tab_arena *a, tab_str *text, size_t *ret_zeros, tab_error *err)
{
    size_t zeros = 0, n = 0;
    for (const char *p = text->p, *end = p + text->n;
         p < end && (p = memchr(p, 0, (size_t)(end - p))) != NULL; p++)
        zeros++;
    *ret_zeros = zeros;
    if (zeros == 0)
        return TAB_OK;
    if (zeros > text->n / 100)
        return tab_fail(err, TAB_VALIDATION, "", "the file holds zero bytes: it is no text");
    char *copy = tab_arena_alloc(a, text->n + 2 * zeros + 1, 1);
    if (copy == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < text->n; i++)
        if (text->p[i] != 0) {
            copy[n++] = text->p[i];
        } else {
            memcpy(copy + n, "\xEF\xBF\xBD", 3);
            n += 3;
        }
    *text = (tab_str){ copy, n };
    return TAB_OK;
}

tab_status tab_csv_read(tab_arena *a, tab_str bytes, tab_str id, const tab_table **ret, tab_csv_notes *notes,
                        tab_error *err)
{
    reader r = { .a = a, .err = err };
    tab_str text = tab_text_utf8(a, bytes, &r.notes.encoding);
    TAB_TRY(without_zeros(a, &text, &r.notes.zeros, err));
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    r.top.scratch = malloc(tab_csv_scratch(text.n));
    tab_status s = tab_no_memory(err);
    if (t != NULL && r.top.scratch != NULL && (bytes.n == 0 || text.p != NULL)) {
        t->id = tab_arena_copy(a, id);
        s = read_text(&r, text, t);
    }
    free(r.top.scratch);
    if (s != TAB_OK)
        return s;
    *ret = t;
    if (notes != NULL)
        *notes = r.notes;
    return TAB_OK;
}
