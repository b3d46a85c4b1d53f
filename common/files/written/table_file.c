/* See table_file.h: types of cells, CSV, and cells in columns for the other two. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/iso.h"
#include "common/files/written/table_file_parts.h"

enum { BATCH_ROWS = 65536, BATCH_BYTES = 4 << 20, CSV_BYTES = 256 << 10 };

const tab_file_kind tab_file_kinds[TAB_FILE_FORMATS] = {
    [TAB_FILE_CSV] = { "csv", "text/csv", ".csv" },
    [TAB_FILE_ARROW] = { "arrow", "application/vnd.apache.arrow.stream", ".arrows" },
    [TAB_FILE_PARQUET] = { "parquet", "application/vnd.apache.parquet", ".parquet" },
};

/* ---- types ----------------------------------------------------------------------------------- */

/* Beside the types: a number that a double does not hold, and no whole one of 64 bits. */
#define SEEN(type) (1u << (type))
enum { SEEN_DIGITS = 1u << 16, SEEN_LONG = 1u << 17 };

static bool digits(const char *p, size_t n, int64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        *ret = 10 * *ret + (p[i] - '0');
    }
    return true;
}

static bool date(tab_str s, int64_t *ret_days)
{
    static const int length[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int64_t y, m, d;
    if (s.n < 10 || s.p[4] != '-' || s.p[7] != '-' || !digits(s.p, 4, &y) || !digits(s.p + 5, 2, &m) ||
        !digits(s.p + 8, 2, &d) || y < 1 || m < 1 || m > 12 || d < 1)
        return false;
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    if (d > length[m - 1] + (m == 2 && leap))
        return false;
    *ret_days = tab_iso_days(y, (int)m, (int)d);
    return true;
}

/* Z, +02, +0200, +02:00: seconds east. */
static bool zone(tab_str s, int64_t *ret)
{
    int64_t h, m = 0;
    *ret = 0;
    if (s.n == 1 && (s.p[0] == 'Z' || s.p[0] == 'z'))
        return true;
    if (s.n < 3 || (s.p[0] != '+' && s.p[0] != '-') || !digits(s.p + 1, 2, &h) || h > 18 ||
        (s.n == 5 && !digits(s.p + 3, 2, &m)) || (s.n == 6 && (s.p[3] != ':' || !digits(s.p + 4, 2, &m))) ||
        (s.n != 3 && s.n != 5 && s.n != 6) || m > 59)
        return false;
    *ret = (s.p[0] == '-' ? -1 : 1) * (h * 3600 + m * 60);
    return true;
}

tab_file_type tab_file_time(tab_str s, int64_t *ret)
{
    int64_t days, h, m, sec = 0, us = 0, east;
    if (!date(s, &days))
        return TAB_FILE_TEXT;
    *ret = days;
    if (s.n == 10)
        return TAB_FILE_DATE;
    if (s.n < 16 || (s.p[10] != 'T' && s.p[10] != ' ') || s.p[13] != ':' || !digits(s.p + 11, 2, &h) ||
        !digits(s.p + 14, 2, &m) || h > 23 || m > 59)
        return TAB_FILE_TEXT;
    size_t at = 16;
    if (at + 3 <= s.n && s.p[at] == ':') {
        if (!digits(s.p + at + 1, 2, &sec) || sec > 59)
            return TAB_FILE_TEXT;
        at += 3;
        size_t from = at + 1, n = 0;
        if (at < s.n && s.p[at] == '.') {
            while (from + n < s.n && s.p[from + n] >= '0' && s.p[from + n] <= '9')
                n++;
            if (n == 0 || n > 6 || !digits(s.p + from, n, &us))
                return TAB_FILE_TEXT;
            for (size_t k = n; k < 6; k++)
                us *= 10;
            at = from + n;
        }
    }
    *ret = ((days * 24 + h) * 60 + m) * 60 + sec;
    *ret = *ret * 1000000 + us;
    if (at == s.n)
        return TAB_FILE_TIME;
    if (!zone((tab_str){ s.p + at, s.n - at }, &east))
        return TAB_FILE_TEXT;
    *ret -= east * 1000000;
    return TAB_FILE_UTC;
}

static bool whole(double x)
{
    return x >= -9007199254740992.0 && x <= 9007199254740992.0 && trunc(x) == x && !(x == 0 && signbit(x));
}

/* A number that is kept by its digits, as one of 64 bits. */
static bool whole_digits(tab_str s, int64_t *ret)
{
    char text[24], *end;
    size_t from = s.n > 0 && s.p[0] == '-';
    if (s.n >= sizeof text || s.n == from)
        return false;
    for (size_t i = from; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    long long x = strtoll(text, &end, 10);
    char back[24];
    int n = snprintf(back, sizeof back, "%lld", x);
    *ret = x;
    return n == (int)s.n && memcmp(back, text, s.n) == 0; /* no overflow, no leading zero */
}

static tab_file_seen see_number(tab_str text)
{
    double x;
    size_t n;
    int64_t i;
    if (tab_number_read(text.p, text.p + text.n, &n, &x) == TAB_NUMBER_EXACT)
        return whole(x) ? SEEN(TAB_FILE_INT) : SEEN(TAB_FILE_REAL);
    return whole_digits(text, &i) ? SEEN_LONG : SEEN_DIGITS;
}

tab_file_seen tab_file_look(const tab_column *c, size_t rows)
{
    tab_file_seen all = 0;
    int64_t x;
    for (size_t i = 0; c->layout == TAB_NUMBERS && i < rows; i++)
        if (!isnan(c->num[i]))
            all |= whole(c->num[i]) ? SEEN(TAB_FILE_INT) : SEEN(TAB_FILE_REAL);
    bool *used = c->layout == TAB_CODED ? calloc(c->levels + 1, 1) : NULL; /* a dictionary may hold more */
    for (size_t i = 0; used != NULL && i < rows; i++)
        used[c->code[i] == TAB_NULL ? c->levels : c->code[i]] = true;
    for (size_t i = 0; c->layout == TAB_CODED && i < c->levels; i++)
        if (used == NULL || used[i])
            all |= c->kind[i] == TAB_CELL_BOOL     ? SEEN(TAB_FILE_BOOL)
                   : c->kind[i] == TAB_CELL_NUMBER ? see_number(tab_level(c, i))
                                                   : SEEN(tab_file_time(tab_level(c, i), &x));
    free(used);
    return all;
}

tab_file_type tab_file_type_of(tab_file_seen all)
{
    const unsigned integer = SEEN(TAB_FILE_INT), real = SEEN(TAB_FILE_REAL), day = SEEN(TAB_FILE_DATE);
    if (all == integer || all == SEEN_LONG || all == (integer | SEEN_LONG))
        return TAB_FILE_INT;
    if (all == real || all == (integer | real))
        return TAB_FILE_REAL;
    if (all == (day | SEEN(TAB_FILE_TIME)))
        return TAB_FILE_TIME;
    static const tab_file_type alone[] = { TAB_FILE_BOOL, TAB_FILE_DATE, TAB_FILE_TIME, TAB_FILE_UTC };
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (all == SEEN(alone[i]))
            return alone[i];
    return TAB_FILE_TEXT;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* A text that a spreadsheet would run as a formula is kept text by an apostrophe, as in the console. */
static void csv_text(tab_out *o, tab_str s, bool safe)
{
    static const char formula[] = { '=', '+', '-', '@', '\t', '\r' };
    bool guarded = !safe && s.n > 0 && memchr(formula, s.p[0], sizeof formula) != NULL;
    bool quoted = s.n == 0;
    for (size_t i = 0; i < s.n && !quoted; i++)
        quoted = s.p[i] == ',' || s.p[i] == '"' || s.p[i] == '\r' || s.p[i] == '\n';
    tab_out_bytes(o, "\"", quoted);
    tab_out_bytes(o, "'", guarded);
    for (size_t from = 0; from < s.n;) {
        const char *quote = quoted ? memchr(s.p + from, '"', s.n - from) : NULL;
        size_t n = quote == NULL ? s.n - from : (size_t)(quote - s.p) - from + 1;
        tab_out_bytes(o, s.p + from, n);
        tab_out_bytes(o, "\"", quote != NULL);
        from += n;
    }
    tab_out_bytes(o, "\"", quoted);
}

static void csv_cell(tab_out *o, const tab_column *c, size_t row)
{
    char number[32];
    tab_cell x = tab_cell_at(c, row);
    if (x.kind == TAB_CELL_NULL)
        return;
    if (x.kind == TAB_CELL_NUMBER && x.text.n == 0)
        x.text = (tab_str){ number, tab_number_text(x.num, number) };
    csv_text(o, x.text, x.kind != TAB_CELL_TEXT);
}

static tab_status csv_rows(tab_file *f, const tab_table *t, tab_error *err)
{
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t k = 0; k < t->cols; k++) {
            tab_out_bytes(&f->out, ",", k > 0);
            csv_cell(&f->out, &t->col[k], i);
        }
        tab_out_bytes(&f->out, "\r\n", 2);
        if (f->out.n >= CSV_BYTES)
            TAB_TRY(tab_file_flush(f, err));
    }
    return TAB_OK;
}

static void csv_head(tab_file *f)
{
    for (size_t k = 0; k < f->cols; k++) {
        tab_out_bytes(&f->out, ",", k > 0);
        csv_text(&f->out, f->c[k].name, false);
    }
    tab_out_bytes(&f->out, "\r\n", 2);
}

/* ---- cells in columns ------------------------------------------------------------------------ */

static void add(tab_file_cells *c, bool valid, const void *value, size_t size)
{
    static const char zero[8];
    char one = valid;
    tab_out_bytes(&c->valid, &one, 1);
    tab_out_bytes(&c->values, valid ? value : zero, size);
    c->nulls += !valid;
}

static void add_text(tab_file_cells *c, tab_cell x)
{
    char number[32], one = x.kind != TAB_CELL_NULL;
    if (x.kind == TAB_CELL_NUMBER && x.text.n == 0)
        x.text = (tab_str){ number, tab_number_text(x.num, number) };
    uint32_t n = one ? (uint32_t)x.text.n : 0;
    tab_out_bytes(&c->valid, &one, 1);
    tab_out_bytes(&c->values, x.text.p, n);
    tab_out_bytes(&c->length, &n, sizeof n);
    c->nulls += !one;
}

/* A cell as 64 bits of a whole number, a date or a time. */
static bool as_int(tab_file_type type, tab_cell x, int64_t *ret)
{
    if (type == TAB_FILE_INT) {
        if (x.kind != TAB_CELL_NUMBER)
            return false;
        if (x.text.n > 0 && whole_digits(x.text, ret))
            return true;
        *ret = whole(x.num) ? (int64_t)x.num : 0;
        return whole(x.num);
    }
    tab_file_type is = x.kind == TAB_CELL_TEXT ? tab_file_time(x.text, ret) : TAB_FILE_TEXT;
    if (type == TAB_FILE_TIME && is == TAB_FILE_DATE)
        *ret *= INT64_C(86400000000);
    return is == type || (type == TAB_FILE_TIME && is == TAB_FILE_DATE);
}

static void add_cell(tab_file_cells *c, tab_cell x)
{
    int64_t i = 0;
    char yes;
    switch (c->type) {
    case TAB_FILE_TEXT:
        add_text(c, x);
        break;
    case TAB_FILE_BOOL:
        yes = x.kind == TAB_CELL_BOOL && x.text.n == 4;
        add(c, x.kind == TAB_CELL_BOOL, &yes, 1);
        break;
    case TAB_FILE_REAL:
        add(c, x.kind == TAB_CELL_NUMBER, &x.num, 8);
        break;
    default:
        add(c, as_int(c->type, x, &i), &i, 8);
        break;
    }
}

static tab_status batch(tab_file *f, tab_error *err)
{
    if (f->rows == 0)
        return TAB_OK;
    for (size_t k = 0; k < f->cols; k++)
        if (f->c[k].valid.failed || f->c[k].values.failed || f->c[k].length.failed)
            return tab_no_memory(err);
    TAB_TRY(f->writer->batch(f, err));
    f->all_rows += f->rows;
    f->rows = 0;
    for (size_t k = 0; k < f->cols; k++) {
        f->c[k].valid.n = f->c[k].values.n = f->c[k].length.n = 0;
        f->c[k].nulls = 0;
    }
    return tab_file_flush(f, err);
}

/* Rows [from, to) into the columns; how many bytes those hold then. */
static size_t add_rows(tab_file *f, const tab_table *t, size_t from, size_t to)
{
    size_t bytes = 0;
    for (size_t k = 0; k < f->cols; k++) {
        tab_file_cells *c = &f->c[k];
        for (size_t i = from; i < to; i++)
            add_cell(c, tab_cell_at(&t->col[k], i));
        bytes += c->values.n + c->valid.n + c->length.n;
    }
    f->rows += to - from;
    return bytes;
}

static tab_status column_rows(tab_file *f, const tab_table *t, tab_error *err)
{
    enum { STEP = 1024 };
    for (size_t from = 0; from < t->rows; from += STEP) {
        size_t to = t->rows - from < STEP ? t->rows : from + STEP;
        size_t bytes = add_rows(f, t, from, to);
        if (f->rows + STEP > BATCH_ROWS || bytes >= BATCH_BYTES)
            TAB_TRY(batch(f, err));
    }
    return TAB_OK;
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* Columns of one name cannot be told apart by those who read a file by names. */
static bool own_name(tab_file *f, size_t k, tab_str name)
{
    tab_str as = name.n > 0 ? name : tab_str_of(tab_arena_printf(f->names, "c%zu", k));
    for (size_t i = 0, again = 2; i < k; i++)
        if (tab_str_eq(f->c[i].name, as)) {
            char *text = tab_arena_printf(f->names, "%.*s_%zu", (int)name.n, name.p, again++);
            if (text == NULL)
                return false;
            as = tab_str_of(text);
            i = SIZE_MAX; /* from the first again: that name may be another's */
        }
    f->c[k].name = tab_arena_copy(f->names, as);
    return f->c[k].name.p != NULL;
}

static tab_file *file_of(tab_file opened, const tab_file_column *column)
{
    tab_file *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    *f = opened;
    f->names = tab_arena_new((size_t)64 << 20);
    f->c = calloc(f->cols + 1, sizeof *f->c);
    bool good = f->names != NULL && f->c != NULL;
    for (size_t k = 0; good && k < f->cols; k++) {
        f->c[k].type = column[k].type;
        good = own_name(f, k, column[k].name);
    }
    if (good)
        return f;
    tab_file_free(f);
    return NULL;
}

tab_file *tab_file_new(tab_file_format format, const tab_file_column *column, size_t cols,
                       tab_file_send *send, void *to)
{
    static const tab_file_writer arrow = { arrow_file_begin, arrow_file_batch, arrow_file_end },
                                 parquet = { parquet_file_begin, parquet_file_batch, parquet_file_end };
    const tab_file_writer *writer = format == TAB_FILE_ARROW     ? &arrow
                                    : format == TAB_FILE_PARQUET ? &parquet
                                                                 : NULL;
    return file_of((tab_file){ .writer = writer, .send = send, .to = to, .cols = cols }, column);
}

tab_file *tab_file_arrays(const tab_file_column *column, size_t cols, tab_file_take *take, void *to)
{
    static const tab_file_writer arrays = { arrow_arrays_edge, arrow_arrays_batch, arrow_arrays_edge };
    return file_of((tab_file){ .writer = &arrays, .take = take, .to = to, .cols = cols }, column);
}

void tab_file_free(tab_file *f)
{
    if (f == NULL)
        return;
    for (size_t k = 0; f->c != NULL && k < f->cols; k++) {
        tab_out_free(&f->c[k].valid);
        tab_out_free(&f->c[k].values);
        tab_out_free(&f->c[k].length);
    }
    tab_out_free(&f->out);
    tab_out_free(&f->groups);
    tab_arena_free(f->names);
    free(f->c);
    free(f);
}

static tab_status begin(tab_file *f, tab_error *err)
{
    if (f->begun)
        return TAB_OK;
    f->begun = true;
    if (f->writer == NULL)
        csv_head(f);
    else
        TAB_TRY(f->writer->begin(f, err));
    return TAB_OK;
}

tab_status tab_file_rows(tab_file *f, const tab_table *t, tab_error *err)
{
    assert(t->cols == f->cols);
    TAB_TRY(begin(f, err));
    return f->writer == NULL ? csv_rows(f, t, err) : column_rows(f, t, err);
}

tab_status tab_file_end(tab_file *f, tab_error *err)
{
    TAB_TRY(begin(f, err));
    if (f->writer != NULL) {
        TAB_TRY(batch(f, err));
        TAB_TRY(f->writer->end(f, err));
    }
    return tab_file_flush(f, err);
}
