/* See array_rows.h. */
#include "services/data-connector/providers/array_rows.h"

#include <ctype.h>
#include <stdio.h>
#include <time.h>

#include "common/base/integer.h"
#include "services/data-connector/data.h"
#include "services/data-connector/source/cells.h"

enum { DEPTH = 32, DIGITS_MOST = 127 };

tab_status array_rows_new(tab_arena *a, size_t room, array_cell cell, array_rows *ret, tab_error *err)
{
    if (room == 0 || room > DATA_MOST_COLS)
        return tab_fail(err, TAB_VALIDATION, "source", "The source's table has no columns or more than %d.",
                        DATA_MOST_COLS);
    *ret = (array_rows){ .a = a, .room = room, .cell = cell };
    ret->b = tab_arena_new_of(a, tab_builder *, room);
    ret->type = tab_arena_new_of(a, int, room);
    return ret->b == NULL || ret->type == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status array_rows_column(array_rows *r, tab_str name, int type, tab_error *err)
{
    if (r->cols == r->room)
        return tab_fail(err, TAB_VALIDATION, "source", "The source's table has more than %zu columns.",
                        r->room);
    if (!cell_is_text(name.p, name.n) || name.n > 1024)
        return tab_fail(err, TAB_VALIDATION, "source", "The name of a column cannot be read.");
    r->b[r->cols] = tab_builder_new(r->a, tab_arena_copy(r->a, name));
    r->type[r->cols] = type;
    return r->b[r->cols++] == NULL ? tab_no_memory(err) : TAB_OK;
}

bool array_rows_full(const array_rows *r)
{
    return r->rows >= DATA_MOST_CELLS / (r->cols > 0 ? r->cols : 1);
}

/* A cell: null, a text, or what stands for a text. */
static bool cell(array_rows *r, json_scan *s, size_t k)
{
    const char *from = s->p;
    tab_str text;
    switch (*from) {
    case 'n':
        tab_builder_null(r->b[k]);
        return json_literal(s, "null", 4);
    case '"':
        s->p++;
        if (!json_text(s, &text))
            return false;
        if (s->nul)
            return json_bad(s, "a zero character");
        break;
    default: /* a number, true, false; an array or object as its text */
        if (!json_skip(s))
            return false;
        text = (tab_str){ from, (size_t)(s->p - from) };
    }
    r->cell(r->b[k], r->type[k], text);
    return true;
}

static bool row(array_rows *r, json_scan *s)
{
    bool first = true, done = false;
    size_t k = 0;
    if (*s->p != '[' || array_rows_full(r))
        return json_bad(s, "too many rows, or one that is no array");
    s->p++;
    if (!json_enter(s))
        return false;
    while (json_next_item(s, &first, &done)) {
        if (done)
            break;
        if (k == r->cols || !cell(r, s, k++))
            return json_bad(s, "a row of another width");
    }
    r->rows++;
    return done && k == r->cols;
}

tab_status array_rows_read(array_rows *r, tab_str text, tab_error *err)
{
    json_scan s;
    bool first = true, done = false, good = false;
    TAB_TRY(json_scan_init(&s, r->a, text, DEPTH, NULL));
    json_space(&s);
    if (*s.p == '[') {
        s.p++;
        good = json_enter(&s);
        while (good && (good = json_next_item(&s, &first, &done)) && !done)
            good = row(r, &s);
    }
    if (good && s.p != s.end) { /* of a whole answer: white space */
        json_space(&s);
        good = s.p == s.end;
    }
    json_scan_free(&s);
    if (array_rows_full(r) && !good)
        return tab_fail(err, TAB_VALIDATION, "source", "A table has at most %d cells.", DATA_MOST_CELLS);
    if (tab_arena_full(r->a))
        return tab_no_memory(err);
    return good ? TAB_OK
                : tab_fail(err, TAB_VALIDATION, "source", "The source's rows are not what it says they are.");
}

tab_status array_rows_finish(array_rows *r, tab_str id, const tab_table **ret, tab_error *err)
{
    tab_table *t = tab_arena_new_of(r->a, tab_table, 1);
    tab_column *col = tab_arena_new_of(r->a, tab_column, r->cols);
    bool good = t != NULL && col != NULL;
    for (size_t k = 0; k < r->cols && good; k++)
        good = tab_builder_finish(r->b[k], &col[k]);
    if (!good)
        return tab_no_memory(err);
    *t = (tab_table){ .id = tab_arena_copy(r->a, id), .rows = r->rows, .cols = r->cols, .col = col };
    *ret = t;
    return TAB_OK;
}

/* ---- spellings -------------------------------------------------------------------------------------- */

void array_number(tab_builder *b, tab_str text)
{
    char digits[DIGITS_MOST + 1];
    size_t used = 0;
    double x;
    if (text.n == 0 || text.n > DIGITS_MOST) {
        cell_text(b, text.p, text.n);
        return;
    }
    memcpy(digits, text.p, text.n);
    digits[text.n] = '\0';
    if (tab_number_read(digits, digits + text.n, &used, &x) != TAB_NUMBER_NONE && used == text.n)
        cell_number(b, digits, text.n);
    else if (strcasestr(digits, "nan") != NULL || strcasestr(digits, "inf") != NULL)
        tab_builder_null(b);
    else
        cell_text(b, text.p, text.n);
}

size_t array_instant_text(char out[64], int64_t seconds, uint32_t nanos, bool zone)
{
    struct tm t;
    time_t at = seconds;
    if (gmtime_r(&at, &t) == NULL || t.tm_year < 1 - 1900 || t.tm_year > 9999 - 1900)
        return 0;
    size_t n = (size_t)snprintf(out, 64, "%04d-%02d-%02dT%02d:%02d:%02d", t.tm_year + 1900, t.tm_mon + 1,
                                t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
    if (nanos > 0) {
        n += (size_t)snprintf(out + n, 64 - n, ".%09u", nanos % 1000000000);
        while (out[n - 1] == '0')
            n--;
    }
    if (zone)
        out[n++] = 'Z';
    return n;
}

void array_instant(tab_builder *b, int64_t seconds, uint32_t nanos, bool zone)
{
    char out[64];
    size_t n = array_instant_text(out, seconds, nanos, zone);
    if (n > 0)
        tab_builder_text(b, (tab_str){ out, n });
    else
        tab_builder_null(b);
}

void array_day(tab_builder *b, int64_t days)
{
    char out[64];
    struct tm t;
    time_t at = days > 3000000 || days < -1000000 ? INT64_MAX : days * 86400;
    if (gmtime_r(&at, &t) == NULL || t.tm_year < 1 - 1900 || t.tm_year > 9999 - 1900) {
        tab_builder_null(b);
        return;
    }
    int n = snprintf(out, sizeof out, "%04d-%02d-%02d", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
    tab_builder_text(b, (tab_str){ out, (size_t)n });
}

void array_bytes(tab_builder *b, tab_str text, bool hex)
{
    size_t n = hex ? text.n / 2 : text.n / 4 * 3;
    for (size_t i = text.n; !hex && n > 0 && i > 0 && text.p[i - 1] == '='; i--)
        n--;
    cell_size(b, "bytes", n);
}

bool array_seconds(tab_str text, int64_t *ret_seconds, uint32_t *ret_nanos)
{
    const char *space = memchr(text.p, ' ', text.n);
    if (space != NULL)
        text.n = (size_t)(space - text.p);
    const char *dot = memchr(text.p, '.', text.n);
    size_t whole = dot == NULL ? text.n : (size_t)(dot - text.p),
           places = dot == NULL ? 0 : text.n - whole - 1;
    uint32_t nanos = 0;
    if (places > 9 ||
        !tab_integer_read((tab_str){ text.p, whole }, -((int64_t)1 << 60), (int64_t)1 << 60, ret_seconds))
        return false;
    for (size_t i = 0; i < 9; i++) {
        char c = i < places ? dot[1 + i] : '0';
        if (!isdigit((unsigned char)c))
            return false;
        nanos = nanos * 10 + (uint32_t)(c - '0');
    }
    if (text.p[0] == '-' && nanos > 0) { /* -0.25 s is a quarter before the second */
        --*ret_seconds;
        nanos = 1000000000 - nanos;
    }
    *ret_nanos = nanos;
    return true;
}
