#include "services/inference/tests/odd_tables.h"

#include <math.h>
#include <stdio.h>

#include "common/json/json.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/tests/odd.h"

/* ---- bytes ----------------------------------------------------------------------------------- */

size_t odd_next(source *s, size_t below)
{
    return s->p == s->end ? 0 : *s->p++ % below;
}

/* ---- cells ----------------------------------------------------------------------------------- */

#define LIST(name, ...) static const char *const name[] = { __VA_ARGS__ }

LIST(marks, "?", "N/A", "NA", "-", "null", ".", "NaN", "", " ", "\xc2\xa0", "--", "#N/A", "\t");
LIST(words, "unknown", "none", "missing", "tbd", "not known");
LIST(number_texts, "1,5", "1.000,00", "$3", "5 %", "1e400", "-1e308", "0x10", "\xd9\xa1\xd9\xa2", "1/2", "+1",
     "1e5", "00123", "\xe2\x88\x9e", "Infinity", "-inf", "12 kg", "<5", ">=10", "1-3", "(7)", "1 000",
     "9007199254740993", "1e-400", "123456789012345678901234567890", "-0", "1.", ".5", "3,14159", "1'000",
     "7 EUR", "0.1.2", "1e", "--5");
LIST(date_texts, "2020-02-30", "0000-00-00", "9999-12-31", "1582-10-10", "31/12/1999", "12/31/1999",
     "-4713-01-01", "2019-W53-7", "24:00", "99:99", "20201301", "292277026596-12-04",
     "2020-01-01T00:00:00+14:00", "13.13.2013", "1 Jan 70", "2020-01", "23:59:60", "P1Y", "1:2:3:4",
     "1900-02-29", "2024-02-29", "00/00/00", "Feb 30", "2020-1-1", "2021-06-01 10:00", "10:30",
     "1969-12-31T23:59:59Z");
LIST(categories, "red", "green", "blue", "Red", "RED", "red ", " red");
LIST(bools, "true", "false", "yes", "no", "Y", "N", "1", "0", "t", "ja", "nein", "on", "off");
LIST(unicode, "\xc3\xa9", "e\xcc\x81", "\xe2\x80\x8b", "\xef\xbb\xbf",
     "\xf0\x9f\x8f\xb3\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x8c\x88", "\xef\xb7\xba", "\xef\xbc\xa1\xef\xbc\x91",
     "\xc3\x9f", "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "\xf4\x8f\xbf\xbf", "\xcc\x81",
     "\xe2\x80\xae"
     "abc",
     "\xef\xbf\xbd", "\xe6\x9d\xb1\xe4\xba\xac", "\xc4\xb0", "\xe3\x80\x80", "\xe1\xba\x9e", "\xef\xac\x83");
LIST(persons, "anna@example.org", "+49 30 123456", "(212) 555-0100", "Anna Schmidt", "Smith, John",
     "192.0.2.1", "DE89370400440532013000", "550e8400-e29b-41d4-a716-446655440000",
     "https://example.org/a?b=c", "4111111111111111", "Berlin", "10115", "US", "EUR", "Acme GmbH",
     "1 Main St", "O'Neil", "@", "a@b", "978-3-16-148410-0", "::1");

static const double extremes[] = { 0,
                                   -0.0,
                                   1,
                                   1e308,
                                   -1e308,
                                   1.7976931348623157e308,
                                   -1.7976931348623157e308,
                                   5e-324,
                                   -5e-324,
                                   2.2250738585072014e-308,
                                   1e-320,
                                   1e15,
                                   9007199254740992,
                                   -999,
                                   -99,
                                   0.1,
                                   1e-9,
                                   3e38,
                                   -3.5e38,
                                   1e19,
                                   4294967296,
                                   -2147483649,
                                   86400,
                                   1.5e9,
                                   20200230,
                                   18001399,
                                   2359,
                                   1e-45 };

static void put(tab_builder *b, const char *text)
{
    tab_builder_text(b, tab_str_of(text));
}

static void put_long(tab_builder *b, size_t h)
{
    static const char *const parts[] = { "a ",  "0123456789", "lorem ipsum dolor ", "\xc3\xa9\xe2\x80\x8b",
                                         ",;|", "Aa1-" };
    char text[4001];
    const char *part = parts[h % 6];
    size_t n = 0, most = 40 + h / 6 % 3960;
    for (size_t k = 0; n + strlen(part) <= most; n += strlen(part), k++)
        memcpy(text + n, part, strlen(part));
    tab_builder_text(b, (tab_str){ text, n });
}

static bool put_raw(tab_builder *b, source *s)
{
    char text[40];
    size_t n = odd_next(s, sizeof text), got = 0;
    while (got < n && s->p < s->end)
        text[got++] = (char)*s->p++;
    tab_str t = { text, got };
    tab_builder_text(b, tab_utf8_valid(t) ? t : TAB_S("x"));
    return true;
}

/* The kinds of columns that hold numbers; false: it is none of them. */
static bool number_of(size_t kind, size_t h, size_t row, double *ret)
{
    double u = tab_unit(tab_mix2(h, 77));
    switch (kind) {
    case 8:
        *ret = extremes[h % (sizeof extremes / sizeof *extremes)];
        return true;
    case 12:
        *ret = (double)row;
        return true;
    case 13:
        *ret = 7;
        return true;
    case 15:
        *ret = floor(u * 5);
        return true;
    case 16:
        *ret = (2 * u - 1) * 1.7e308;
        return true;
    case 17:
        *ret = u * 1e-307;
        return true;
    case 18:
        *ret = 1e300 + u * 1e290;
        return true;
    case 19:
        *ret = round(u * 10000) / 100;
        return true;
    case 20:
        *ret = h % 3 == 0 ? 0 : 1;
        return true;
    case 21:
        *ret = 1.5e9 + floor(u * 1e8);
        return true;
    case 22:
        *ret = h % 2 == 0 ? u * 180 - 90 : u * 1e12;
        return true;
    case 28:
        *ret = ldexp(1 + u, (int)(h % 2040) - 1020);
        return true;
    default:
        return false;
    }
}

#define OF(list)                           \
    {                                      \
        list, sizeof list / sizeof *(list) \
    }

/* One cell of a column of the kind; h is its own number, row its place. */
static void put_kind(tab_builder *b, size_t kind, size_t h, size_t row, source *s)
{
    static const struct {
        const char *const *text;
        size_t n;
    } lists[] = {
        [0] = OF(marks),      [1] = OF(words), [2] = OF(number_texts), [3] = OF(date_texts),
        [4] = OF(categories), [5] = OF(bools), [6] = OF(unicode),      [7] = OF(persons),
    };
    double x;
    char text[64];
    if (number_of(kind, h, row, &x)) {
        tab_builder_number(b, x);
        return;
    }
    size_t list = kind == 27 ? 3 : kind; /* dates are twice as likely */
    if (list < sizeof lists / sizeof *lists) {
        put(b, lists[list].text[h % lists[list].n]);
        return;
    }
    switch (kind) {
    case 9:
        put_long(b, h);
        break;
    case 10:
        put_raw(b, s);
        break;
    case 11:
        tab_builder_bool(b, h % 2 == 0);
        break;
    case 14:
        put(b, "same");
        break;
    case 23:
        tab_builder_null(b);
        break;
    case 24:
        snprintf(text, sizeof text, "v%zu", row);
        put(b, text);
        break;
    case 25:
        snprintf(text, sizeof text, "%04zu-%02zu-%02zu", 1700 + h % 500, h % 13, h % 32);
        put(b, text);
        break;
    case 26:
        tab_builder_number_text(b, TAB_S("12345678901234567890.5"));
        break;
    default:
        tab_builder_text(b, (tab_str){ "a\0b", 3 });
        break;
    }
}

/* Kinds 0 to 29 alone; above, a mixture of all, or of one with marks. */
static void put_cell(tab_builder *b, size_t kind, size_t h, size_t row, source *s)
{
    if (kind < KINDS)
        put_kind(b, kind, h, row, s);
    else if (kind == KINDS)
        put_kind(b, h % KINDS, h / KINDS, row, s);
    else
        put_kind(b, h % 4 == 0 ? 0 : (kind - KINDS) % KINDS, h / 4, row, s);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static plan plan_of(source *s, size_t t)
{
    static const uint8_t rows[] = { 12, 0, 1, 2, 3, 5, 8, 9, 10, 17, 30, 64, 7, 20, 4, 100 };
    static const char *const ids[] = { "t", "u", "w" };
    plan p = { .rows = rows[odd_next(s, sizeof rows)], .cols = 1 + odd_next(s, 6), .id = tab_str_of(ids[t]) };
    for (size_t c = 0; c < p.cols; c++) {
        size_t how = odd_next(s, 256);
        p.col[c] =
            (shape){ .kind = odd_next(s, 2 * KINDS + 1), .seed = odd_next(s, 256), .own = how % 4 == 0 };
        p.col[c].nulls = (size_t[]){ 0, 0, 10, 128, 250 }[how / 4 % 5];
        p.col[c].name = how / 20 % 5;
        p.col[c].from = how / 100 == 2 && c > 0 ? c - 1 : c; /* the same cells as the column before */
    }
    return p;
}

bool odd_add_table(tab_arena *a, const plan *p, size_t rows, size_t salt, source *s, tab_table *ret)
{
    tab_column *col = tab_arena_new_of(a, tab_column, p->cols);
    if (col == NULL)
        return false;
    for (size_t c = 0; c < p->cols; c++) {
        const shape *x = &p->col[p->col[c].from];
        char name[24];
        snprintf(name, sizeof name, p->col[c].name == 1 ? "twice" : "c%zu", c);
        if (p->col[c].name == 0)
            name[0] = 0;
        tab_builder *b = tab_builder_new(a, tab_arena_copy(a, tab_str_of(name)));
        if (b == NULL)
            return false;
        for (size_t r = 0; r < rows; r++) {
            size_t h =
                x->own ? odd_next(s, 256) : tab_mix2(x->seed + 256 * (x->seed % 3 == 0 ? salt : 0), r) >> 8;
            if (tab_mix2(h + salt, r) % 256 < x->nulls)
                tab_builder_null(b);
            else
                put_cell(b, x->kind, h, r, s);
        }
        if (!tab_builder_finish(b, &col[c]))
            return false;
    }
    *ret = (tab_table){ .id = p->id, .rows = rows, .cols = p->cols, .col = col };
    return true;
}

bool odd_make(tab_arena *a, source *s, odd *o)
{
    static const char *const bases[] = { "base-1", "base-1", "base-1", "base-2",
                                         "base-2", "base-3", "",       "base-1" };
    static const char *const tasks[] = { "auto", "classification", "regression", "anomaly" };
    static const char *const modes[] = { "column", "auto", "none", "column" };
    static const double thresholds[] = { 0.5, 0, 1, 0.9 };
    *o = (odd){ .path = odd_next(s, 2) };
    size_t how = odd_next(s, 256);
    o->base = bases[how % 8];
    o->task = tasks[how / 8 % 4];
    o->mode = modes[how / 32 % 4];
    o->explain = how / 128 == 1;
    how = odd_next(s, 256);
    o->n = (size_t[]){ 1, 1, 2, 3 }[how % 4];
    o->threshold = thresholds[how / 4 % 4];
    size_t column = how / 16 % 6, of = how / 96 % 3;
    for (size_t t = 0; t < o->n; t++) {
        o->plan[t] = plan_of(s, t);
        if (t > 0 && odd_next(s, 2) == 0) { /* the columns of the first table */
            tab_str id = o->plan[t].id;
            size_t rows = o->plan[t].rows;
            o->plan[t] = o->plan[0];
            o->plan[t].rows = rows;
            o->plan[t].id = id;
        }
        if (!odd_add_table(a, &o->plan[t], o->plan[t].rows, t, s, &o->table[t]))
            return false;
        o->tables[t] = &o->table[t];
    }
    const plan *p = &o->plan[of % o->n];
    column %= p->cols;
    if (p->col[column].name == 0 && how % 2 == 0)
        snprintf(o->target, sizeof o->target, "%s.", p->id.p);
    else
        snprintf(o->target, sizeof o->target, "%s.c%zu", p->id.p, column);
    return true;
}

/* ---- to read a finding ----------------------------------------------------------------------- */

void odd_print(const uint8_t *bytes, size_t n)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    source s = { bytes, bytes + n };
    odd o;
    if (a == NULL || !odd_make(a, &s, &o))
        return;
    fprintf(stderr, "%s, base \"%s\", task %s, target %s %s, threshold %g%s\n",
            o.path == 0 ? "evaluate" : "serve", o.base, o.task, o.mode, o.target, o.threshold,
            o.explain ? ", explain" : "");
    for (size_t t = 0; t < o.n; t++) {
        fprintf(stderr, "table %.*s, %zu rows:", TAB_STR(o.table[t].id), o.table[t].rows);
        for (size_t c = 0; c < o.table[t].cols; c++)
            fprintf(stderr, " \"%.*s\"", TAB_STR(o.table[t].col[c].name));
        fputc('\n', stderr);
        for (size_t r = 0; r < o.table[t].rows; r++)
            for (size_t c = 0; c < o.table[t].cols; c++) {
                tab_cell x = tab_cell_at(&o.table[t].col[c], r);
                const char *end = c + 1 == o.table[t].cols ? "\n" : ", ";
                if (x.kind == TAB_CELL_NULL)
                    fprintf(stderr, "null%s", end);
                else if (x.kind == TAB_CELL_NUMBER && x.text.n == 0)
                    fprintf(stderr, "%.17g%s", x.num, end);
                else
                    fprintf(stderr, "\"%.*s\"%s", (int)(x.text.n < 60 ? x.text.n : 60), x.text.p, end);
            }
    }
}
