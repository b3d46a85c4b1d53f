/* See statistics.h. The library calls back: columns, labels and values in an order of the format's. So values
 * are kept as they are, and labels are put in their places at the end. */
#include "common/files/statistics.h"

#include <math.h>
#include <readstat.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/iso.h"
#include "common/files/text.h"
#include "common/json/json.h"

enum { DAY_S = 86400, NAME = 64, TEXT = 48 };

typedef enum { SAS7BDAT, XPORT, SAV, POR, DTA, KINDS } file_kind;

/* What a number stands for: days, or parts of a day, since the format's epoch; or periods of Stata's. */
typedef enum { PLAIN, DATE, MOMENT, TIME, WEEKS, MONTHS, QUARTERS, HALVES } meaning;

typedef struct {
    tab_builder *b;
    tab_str labels; /* the name of its set; n 0: none */
    meaning is;
    double per_day; /* units of its dates */
    int64_t epoch;  /* days before 1970-01-01 */
    size_t values;  /* that have come, nulls among them */
} variable;

typedef struct {
    tab_str set, key; /* key.p NULL: a number's */
    double number;
    tab_str text;
} label;

typedef struct {
    tab_arena *a;
    tab_str bytes;
    size_t at, most_cols;
    uint64_t most_cells, cells;
    file_kind kind;
    variable *v; /* (most_cols) */
    size_t cols, rows;
    label *l;
    size_t labels, cap;
    tab_statistics_notes *notes;
    tab_error *err;
    tab_status status; /* why it was given up; OK: the library did */
} reader;

/* ---- what it is ------------------------------------------------------------------------------ */

static bool begins(tab_str s, const void *magic, size_t n)
{
    return s.n >= n && memcmp(s.p, magic, n) == 0;
}

static file_kind kind_of(tab_str s)
{
    static const unsigned char sas[] = { 0, 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                                         0, 0xC2, 0xEA, 0x81, 0x60, 0xB3, 0x14, 0x11, 0xCF, 0xBD, 0x92,
                                         8, 0,    9,    0xC7, 0x31, 0x8C, 0x18, 0x1F, 0x10, 0x11 };
    if (begins(s, sas, sizeof sas))
        return SAS7BDAT;
    if (begins(s, "HEADER RECORD*******LIB", 23))
        return XPORT;
    if (begins(s, "$FL2", 4) || begins(s, "$FL3", 4))
        return SAV;
    if (begins(s, "<stata_dta>", 11) || (s.n > 4 && s.p[0] >= 104 && s.p[0] <= 115 &&
                                         (s.p[1] == 1 || s.p[1] == 2) && s.p[2] == 1 && s.p[3] == 0))
        return DTA;
    /* five lines of 40 letters in which it calls itself by name, the code table, then its mark */
    return s.n > 500 && memmem(s.p, 480, "SPSS", 4) != NULL && memmem(s.p + 400, 100, "SPSSPORT", 8) != NULL
               ? POR
               : KINDS;
}

bool tab_statistics_is(tab_str bytes)
{
    return kind_of(bytes) != KINDS;
}

/* ---- formats of dates ------------------------------------------------------------------------ */

/* The letters that a format begins with, E8601DA among them, in upper case: "DATE" of "date9.2". */
static void letters(const char *format, char ret[NAME])
{
    static const char *const odd[] = { "E8601", "B8601", "IS8601" };
    size_t n = 0, skip = 0;
    while (*format == '$' || *format == '%')
        format++;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (strncasecmp(format, odd[i], strlen(odd[i])) == 0)
            skip = strlen(odd[i]);
    for (; format[n] != 0 && n + 1 < NAME; n++) {
        char c = format[n] >= 'a' && format[n] <= 'z' ? (char)(format[n] - 32) : format[n];
        if ((c < 'A' || c > 'Z') && n >= skip)
            break;
        ret[n] = c;
    }
    ret[n] = 0;
}

static bool one_of(const char *name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

static void means_sas(const char *format, variable *v)
{
    static const char *const dates[] = { "DATE",     "DDMMYY",   "DDMMYYB", "DDMMYYC",  "DDMMYYD",
                                         "DDMMYYN",  "DDMMYYP",  "DDMMYYS", "MMDDYY",   "MMDDYYB",
                                         "MMDDYYC",  "MMDDYYD",  "MMDDYYN", "MMDDYYP",  "MMDDYYS",
                                         "YYMMDD",   "YYMMDDB",  "YYMMDDC", "YYMMDDD",  "YYMMDDN",
                                         "YYMMDDP",  "YYMMDDS",  "MONYY",   "MMYY",     "YYMM",
                                         "YYMON",    "YYQ",      "JULIAN",  "WEEKDATE", "WEEKDATX",
                                         "WORDDATE", "WORDDATX", "E8601DA", "B8601DA",  "IS8601DA",
                                         "NLDATE",   "EURDFDD",  "EURDFDE", "EURDFDMY", NULL },
                             *const moments[] = { "DATETIME", "DATEAMPM", "MDYAMPM", "DTDATE", "E8601DT",
                                                  "B8601DT",  "IS8601DT", "NLDATM",  NULL },
                             *const times[] = { "TIME",    "TIMEAMPM", "HHMM",     "MMSS", "TOD",
                                                "E8601TM", "B8601TM",  "IS8601TM", NULL };
    char name[NAME];
    letters(format, name);
    v->epoch = 3653;
    v->is = one_of(name, dates) ? DATE : one_of(name, moments) ? MOMENT : one_of(name, times) ? TIME : PLAIN;
    v->per_day = v->is == DATE ? 1 : DAY_S;
}

static void means_spss(const char *format, variable *v)
{
    static const char *const dates[] = { "DATE", "ADATE", "EDATE", "JDATE", "SDATE",
                                         "QYR",  "MOYR",  "WKYR",  NULL },
                             *const moments[] = { "DATETIME", "YMDHMS", NULL },
                             *const times[] = { "TIME", "DTIME", "MTIME", NULL };
    char name[NAME];
    letters(format, name);
    v->epoch = 141428;
    v->per_day = DAY_S;
    v->is = one_of(name, dates) ? DATE : one_of(name, moments) ? MOMENT : one_of(name, times) ? TIME : PLAIN;
}

static void means_stata(const char *format, variable *v)
{
    v->epoch = 3653;
    v->per_day = 1;
    v->is = PLAIN;
    if (*format++ != '%')
        return;
    format += *format == '-';
    if (*format == 'd') {
        v->is = DATE;
    } else if (*format == 't') {
        static const char code[] = "dcCwmqh";
        static const meaning is[] = { DATE, MOMENT, MOMENT, WEEKS, MONTHS, QUARTERS, HALVES };
        const char *at = format[1] != 0 ? strchr(code, format[1]) : NULL;
        v->is = at != NULL ? is[at - code] : PLAIN;
        v->per_day = v->is == MOMENT ? 1000.0 * DAY_S : 1;
        if (v->is == MOMENT && format[2] != 0 && strspn(format + 2, "HhMmSs:._ ") == strlen(format + 2))
            v->is = TIME; /* it shows the clock alone */
    }
}

static char *put_clock(char *p, int64_t us)
{
    int64_t s = us / 1000000, fraction = us % 1000000;
    p = tab_iso_digits(p, s / 3600, s / 3600 < 100 ? 2 : 6);
    *p++ = ':';
    p = tab_iso_digits(p, s / 60 % 60, 2);
    *p++ = ':';
    p = tab_iso_digits(p, s % 60, 2);
    if (fraction == 0)
        return p;
    *p++ = '.';
    return fraction % 1000 == 0 ? tab_iso_digits(p, fraction / 1000, 3) : tab_iso_digits(p, fraction, 6);
}

/* A date or a time as text; a number where it is none that has one. */
static void add_dated(variable *v, double x)
{
    char text[TEXT], *p = text;
    double days = floor(x / v->per_day);
    if (v->is == TIME) {
        double seconds = x / v->per_day * DAY_S;
        if (!(seconds >= 0 && seconds < 1e9)) {
            tab_builder_number(v->b, x);
            return;
        }
        p = put_clock(p, llrint(seconds * 1e6));
        tab_builder_text(v->b, (tab_str){ text, (size_t)(p - text) });
        return;
    }
    if (v->is >= WEEKS && fabs(x) < 1e6) { /* Stata's weeks begin with each year, and the last is longer */
        int per = v->is == WEEKS ? 52 : v->is == MONTHS ? 12 : v->is == QUARTERS ? 4 : 2;
        int64_t n = (int64_t)floor(x), year = 1960 + (n >= 0 ? n : n - per + 1) / per;
        int64_t of = n - (year - 1960) * per;
        days = (double)(v->is == WEEKS ? tab_iso_days(year, 1, 1) + 7 * of
                                       : tab_iso_days(year, (int)(of * (12 / per)) + 1, 1)) +
               (double)v->epoch;
    }
    if (fabs(days) > 1e7 || !tab_iso_in_calendar((int64_t)days - v->epoch)) {
        tab_builder_number(v->b, x);
        return;
    }
    int64_t us = v->is == MOMENT ? llrint((x - days * v->per_day) / v->per_day * (DAY_S * 1e6)) : 0;
    int64_t day = (int64_t)days - v->epoch;
    if (us >= DAY_S * INT64_C(1000000)) { /* rounded up to midnight */
        us = 0;
        day++;
    }
    p = tab_iso_date(p, day);
    if (v->is == MOMENT) {
        *p++ = 'T';
        p = put_clock(p, us);
    }
    tab_builder_text(v->b, (tab_str){ text, (size_t)(p - text) });
}

/* ---- the library's calls --------------------------------------------------------------------- */

static ssize_t on_read(void *to, size_t n, void *arg)
{
    reader *r = arg;
    size_t here = r->bytes.n - r->at;
    n = n < here ? n : here;
    if (n > 0)
        memcpy(to, r->bytes.p + r->at, n);
    r->at += n;
    return (ssize_t)n;
}

static readstat_off_t on_seek(readstat_off_t offset, readstat_io_flags_t whence, void *arg)
{
    reader *r = arg;
    int64_t from = whence == READSTAT_SEEK_SET   ? 0
                   : whence == READSTAT_SEEK_CUR ? (int64_t)r->at
                                                 : (int64_t)r->bytes.n;
    int64_t at;
    if (__builtin_add_overflow(from, (int64_t)offset, &at) || at < 0 || (uint64_t)at > r->bytes.n)
        return -1;
    r->at = (size_t)at;
    return at;
}

static int on_open(const char *path, void *arg)
{
    (void)path;
    ((reader *)arg)->at = 0;
    return 0;
}

static int on_close(void *arg)
{
    (void)arg;
    return 0;
}

static int give_up(reader *r, tab_status s)
{
    r->status = s;
    return READSTAT_HANDLER_ABORT;
}

/* UTF-8, whatever the file says that it is. */
static tab_str utf8(reader *r, const char *text)
{
    const char *encoding;
    tab_str s = tab_str_of(text);
    return tab_utf8_valid(s) ? s : tab_text_utf8(r->a, s, &encoding);
}

/* The name of a set of labels. One that fills its field in a file of Stata's is given without a terminator,
 * so the sanitizer is not asked about the bytes behind it: at most the longest name's, of a process of its
 * own. */
__attribute__((no_sanitize("address"))) static tab_str set_name(tab_arena *a, const char *p)
{
    enum { LONGEST = 129 };
    char name[LONGEST];
    size_t n = 0;
    for (; n < LONGEST && p[n] != 0; n++)
        name[n] = p[n];
    return tab_arena_copy(a, (tab_str){ name, n });
}

static int on_variable(int index, readstat_variable_t *x, const char *labels, void *arg)
{
    static void (*const means[KINDS])(const char *, variable *) = { means_sas, means_sas, means_spss,
                                                                    means_spss, means_stata };
    reader *r = arg;
    if (index < 0 || (size_t)index != r->cols)
        return give_up(r, tab_fail(r->err, TAB_VALIDATION, "", "its columns cannot be read"));
    if (r->cols == r->most_cols)
        return give_up(r, tab_fail(r->err, TAB_VALIDATION, "", "it has more than %zu columns", r->most_cols));
    variable *v = &r->v[r->cols++];
    tab_str name = tab_arena_copy(r->a, utf8(r, readstat_variable_get_name(x)));
    *v = (variable){ .b = name.p != NULL ? tab_builder_new(r->a, name) : NULL };
    if (readstat_variable_get_type_class(x) == READSTAT_TYPE_CLASS_NUMERIC)
        means[r->kind](readstat_variable_get_format(x) != NULL ? readstat_variable_get_format(x) : "", v);
    if (labels != NULL && *labels != 0)
        v->labels = set_name(r->a, labels);
    return v->b != NULL ? READSTAT_HANDLER_OK : give_up(r, tab_no_memory(r->err));
}

static double number_of(readstat_value_t x)
{
    switch (readstat_value_type(x)) {
    case READSTAT_TYPE_INT8:
        return (signed char)readstat_int8_value(x);
    case READSTAT_TYPE_INT16:
        return readstat_int16_value(x);
    case READSTAT_TYPE_INT32:
        return readstat_int32_value(x);
    case READSTAT_TYPE_FLOAT:
        return tab_shortest_single(readstat_float_value(x));
    default:
        return readstat_double_value(x);
    }
}

static int on_label(const char *set, readstat_value_t x, const char *text, void *arg)
{
    reader *r = arg;
    bool is_text = readstat_value_type_class(x) == READSTAT_TYPE_CLASS_STRING;
    if (readstat_value_is_tagged_missing(x) || set == NULL || text == NULL || *text == 0 ||
        (is_text && readstat_string_value(x) == NULL))
        return READSTAT_HANDLER_OK; /* what is missing has no name */
    if (r->labels == r->cap) {
        size_t cap = r->cap < 64 ? 64 : 2 * r->cap;
        label *more = cap < SIZE_MAX / 2 / sizeof *more ? tab_arena_new_of(r->a, label, cap) : NULL;
        if (more == NULL)
            return give_up(r, tab_no_memory(r->err));
        if (r->labels > 0)
            memcpy(more, r->l, r->labels * sizeof *more);
        r->l = more;
        r->cap = cap;
    }
    label l = { .set = tab_arena_copy(r->a, tab_str_of(set)), .text = tab_arena_copy(r->a, utf8(r, text)) };
    if (is_text)
        l.key = tab_arena_copy(r->a, utf8(r, readstat_string_value(x)));
    else
        l.number = number_of(x);
    if (l.set.p == NULL || l.text.p == NULL || (is_text && l.key.p == NULL))
        return give_up(r, tab_no_memory(r->err));
    if (is_text || !isnan(l.number))
        r->l[r->labels++] = l;
    return READSTAT_HANDLER_OK;
}

static int on_value(int row, readstat_variable_t *x, readstat_value_t value, void *arg)
{
    reader *r = arg;
    int index = readstat_variable_get_index(x);
    variable *v = index >= 0 && (size_t)index < r->cols ? &r->v[index] : NULL;
    if (v == NULL || row < 0 || v->values != (size_t)row)
        return give_up(r, tab_fail(r->err, TAB_VALIDATION, "", "its rows cannot be read"));
    if (++r->cells > r->most_cells)
        return give_up(r, tab_fail(r->err, TAB_VALIDATION, "", "it has more than %llu cells",
                                   (unsigned long long)r->most_cells));
    v->values++;
    r->rows = v->values > r->rows ? v->values : r->rows;
    bool is_text = readstat_value_type_class(value) == READSTAT_TYPE_CLASS_STRING;
    const char *text = is_text ? readstat_string_value(value) : NULL;
    if (readstat_value_is_missing(value, x)) {
        r->notes->missing += !readstat_value_is_system_missing(value);
        tab_builder_null(v->b);
    } else if (is_text) {
        tab_str s = text != NULL ? utf8(r, text) : TAB_S("");
        while (s.n > 0 && s.p[s.n - 1] == ' ') /* columns of fixed width */
            s.n--;
        if (s.n > 0)
            tab_builder_text(v->b, s);
        else
            tab_builder_null(v->b);
    } else {
        double n = number_of(value);
        if (!isfinite(n))
            tab_builder_null(v->b);
        else if (v->is != PLAIN)
            add_dated(v, n);
        else
            tab_builder_number(v->b, n);
    }
    return tab_arena_full(r->a) ? give_up(r, tab_no_memory(r->err)) : READSTAT_HANDLER_OK;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static int order_text(tab_str a, tab_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

static int by_set(const void *pa, const void *pb)
{
    const label *a = pa, *b = pb;
    int c = order_text(a->set, b->set);
    c = c != 0 ? c : (a->number > b->number) - (a->number < b->number);
    return c != 0 ? c : order_text(a->key, b->key);
}

/* The set's labels, of r->l in its order; n 0: it has none. */
static const label *set_of(const reader *r, tab_str set, size_t *ret_n)
{
    size_t lo = 0, hi = r->labels;
    *ret_n = 0;
    if (hi == 0)
        return NULL;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (order_text(r->l[mid].set, set) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    size_t end = lo;
    while (end < r->labels && tab_str_eq(r->l[end].set, set))
        end++;
    *ret_n = end - lo;
    return r->l + lo;
}

/* The label of a cell, or NULL. */
static const label *label_of(const label *l, size_t n, tab_cell x)
{
    const label want = { .set = l->set,
                         .number = x.kind == TAB_CELL_NUMBER ? x.num : 0,
                         .key = x.kind == TAB_CELL_TEXT ? x.text : (tab_str){ NULL, 0 } };
    return bsearch(&want, l, n, sizeof *l, by_set);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whether more distinct numbers of the column have no label than have one. */
static bool mostly_numbers(reader *r, const tab_column *c, const label *l, size_t n, bool *ret)
{
    double *without = tab_arena_new_of(r->a, double, n + 1);
    uint8_t *seen = tab_arena_alloc(r->a, n, 1);
    size_t have = 0, found = 0;
    if (without == NULL || seen == NULL)
        return false;
    for (size_t i = 0; i < r->rows && have <= n; i++) {
        tab_cell x = tab_cell_at(c, i);
        if (x.kind != TAB_CELL_NUMBER)
            continue;
        const label *at = label_of(l, n, x);
        if (at != NULL) {
            found += seen[at - l] == 0;
            seen[at - l] = 1;
        } else if (bsearch(&x.num, without, have, sizeof *without, by_value) == NULL) {
            without[have++] = x.num;
            qsort(without, have, sizeof *without, by_value);
        }
    }
    *ret = have > found;
    return true;
}

static bool put_labels(reader *r, const variable *v, tab_column *c)
{
    size_t n = 0;
    const label *l = set_of(r, v->labels, &n);
    bool numbers = false;
    if (n == 0)
        return true;
    if (c->layout == TAB_NUMBERS && !mostly_numbers(r, c, l, n, &numbers))
        return false;
    r->notes->labelled += !numbers;
    r->notes->partly += numbers;
    if (numbers)
        return true;
    tab_builder *b = tab_builder_new(r->a, c->name);
    for (size_t i = 0; b != NULL && i < r->rows; i++) {
        tab_cell x = tab_cell_at(c, i);
        const label *at = x.kind == TAB_CELL_NULL ? NULL : label_of(l, n, x);
        if (at != NULL)
            tab_builder_text(b, at->text);
        else
            tab_builder_cell(b, x);
    }
    return b != NULL && tab_builder_finish(b, c);
}

static tab_status finish(reader *r, tab_str id, const tab_table **ret)
{
    tab_table *t = tab_arena_new_of(r->a, tab_table, 1);
    tab_column *c = tab_arena_new_of(r->a, tab_column, r->cols);
    if (t == NULL || c == NULL)
        return tab_no_memory(r->err);
    if (r->cols == 0)
        return tab_fail(r->err, TAB_VALIDATION, "", "it holds no columns");
    if (r->labels > 0)
        qsort(r->l, r->labels, sizeof *r->l, by_set);
    for (size_t i = 0; i < r->cols; i++) {
        tab_builder_pad(r->v[i].b, r->rows);
        if (!tab_builder_finish(r->v[i].b, &c[i]) ||
            (r->v[i].labels.n > 0 && r->v[i].is == PLAIN && !put_labels(r, &r->v[i], &c[i])))
            return tab_no_memory(r->err);
    }
    *t = (tab_table){ .id = id, .rows = r->rows, .cols = r->cols, .col = c };
    *ret = t;
    return TAB_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* encoding: what the library is to make of texts; NULL: it leaves them as they are. */
static tab_status parse(reader *r, const char *encoding, readstat_error_t *ret)
{
    static readstat_error_t (*const parsers[KINDS])(readstat_parser_t *, const char *,
                                                    void *) = { readstat_parse_sas7bdat, readstat_parse_xport,
                                                                readstat_parse_sav, readstat_parse_por,
                                                                readstat_parse_dta };
    readstat_parser_t *p = readstat_parser_init();
    if (p == NULL)
        return tab_no_memory(r->err);
    readstat_set_handler_character_encoding(p, encoding);
    readstat_set_variable_handler(p, on_variable);
    readstat_set_value_handler(p, on_value);
    readstat_set_value_label_handler(p, on_label);
    readstat_set_open_handler(p, on_open);
    readstat_set_close_handler(p, on_close);
    readstat_set_seek_handler(p, on_seek);
    readstat_set_read_handler(p, on_read);
    readstat_set_io_ctx(p, r);
    *r->notes = (tab_statistics_notes){ 0 };
    r->at = r->cols = r->rows = r->labels = 0;
    r->cells = 0;
    r->status = TAB_OK;
    *ret = parsers[r->kind](p, "", r);
    readstat_parser_free(p);
    return r->status;
}

static tab_status refused(readstat_error_t e, tab_error *err)
{
    switch (e) {
    case READSTAT_ERROR_MALLOC:
        return tab_no_memory(err);
    case READSTAT_ERROR_UNSUPPORTED_CHARSET:
        return tab_fail(err, TAB_VALIDATION, "", "its text is in an unsupported encoding");
    case READSTAT_ERROR_UNSUPPORTED_COMPRESSION:
    case READSTAT_ERROR_UNSUPPORTED_FILE_FORMAT_VERSION:
        return tab_fail(err, TAB_VALIDATION, "",
                        "its version or compression is not supported; save it in another version or format");
    default:
        return tab_fail(err, TAB_VALIDATION, "", "it is damaged or truncated (%s)",
                        readstat_error_message(e));
    }
}

tab_status tab_statistics_read(tab_arena *a, tab_str bytes, tab_str id, size_t cols, uint64_t cells,
                               const tab_table **ret, tab_statistics_notes *notes, tab_error *err)
{
    reader r = { .a = a,
                 .bytes = bytes,
                 .most_cols = cols,
                 .most_cells = cells,
                 .kind = kind_of(bytes),
                 .v = tab_arena_new_of(a, variable, cols),
                 .notes = notes,
                 .err = err };
    readstat_error_t e = READSTAT_OK;
    if (r.v == NULL)
        return tab_no_memory(err);
    if (r.kind == KINDS)
        return tab_fail(err, TAB_VALIDATION, "", "it is not a SAS, SPSS or Stata file");
    TAB_TRY(parse(&r, "UTF-8", &e));
    if (e == READSTAT_ERROR_CONVERT_BAD_STRING || e == READSTAT_ERROR_UNSUPPORTED_CHARSET)
        TAB_TRY(parse(&r, NULL, &e)); /* what it says of its texts is wrong, or unknown here */
    return e == READSTAT_OK ? finish(&r, id, ret) : refused(e, err);
}
