/* See csv.h. Bytes become UTF-8 first, then the delimiter is chosen on the first records, then one pass
 * checks widths and kinds and a second one fills the columns. */
#include "common/csv.h"

#include <stdlib.h>

#include "common/json.h"

/* ---- encoding -------------------------------------------------------------------------------- */

static size_t put_utf8(uint32_t u, char *q)
{
    if (u < 0x80) {
        q[0] = (char)u;
        return 1;
    }
    if (u < 0x800) {
        q[0] = (char)(0xC0 | u >> 6);
        q[1] = (char)(0x80 | (u & 63));
        return 2;
    }
    size_t n = 0;
    if (u >= 0x10000)
        q[n++] = (char)(0xF0 | u >> 18), q[n++] = (char)(0x80 | (u >> 12 & 63));
    else
        q[n++] = (char)(0xE0 | u >> 12);
    q[n++] = (char)(0x80 | (u >> 6 & 63));
    q[n++] = (char)(0x80 | (u & 63));
    return n;
}

/* UTF-16 with unpaired surrogates replaced by U+FFFD. */
static tab_str from_utf16(tab_arena *a, tab_str s, bool big)
{
    char *q = tab_arena_alloc(a, s.n / 2 * 3 + 1, 1);
    size_t n = 0;
    const unsigned char *p = (const unsigned char *)s.p;
    for (size_t i = 0; q != NULL && i + 1 < s.n; i += 2) {
        uint32_t u = big ? (uint32_t)p[i] << 8 | p[i + 1] : (uint32_t)p[i + 1] << 8 | p[i];
        if (u >= 0xD800 && u < 0xE000) {
            uint32_t low = 0;
            if (u < 0xDC00 && i + 3 < s.n)
                low = big ? (uint32_t)p[i + 2] << 8 | p[i + 3] : (uint32_t)p[i + 3] << 8 | p[i + 2];
            if (low >= 0xDC00 && low < 0xE000) {
                u = 0x10000 + ((u - 0xD800) << 10) + (low - 0xDC00);
                i += 2;
            } else {
                u = 0xFFFD;
            }
        }
        n += put_utf8(u, q + n);
    }
    return (tab_str){ q, q == NULL ? 0 : n };
}

static tab_str from_windows_1252(tab_arena *a, tab_str s)
{
    static const uint16_t HIGH[32] = { 0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                       0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                       0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                       0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178 };
    char *q = tab_arena_alloc(a, s.n * 3 + 1, 1);
    size_t n = 0;
    for (size_t i = 0; q != NULL && i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        n += put_utf8(c >= 0x80 && c < 0xA0 ? HIGH[c - 0x80] : c, q + n);
    }
    return (tab_str){ q, q == NULL ? 0 : n };
}

static tab_str as_utf8(tab_arena *a, tab_str s, const char **ret_encoding)
{
    if (s.n >= 2 && (memcmp(s.p, "\xFF\xFE", 2) == 0 || memcmp(s.p, "\xFE\xFF", 2) == 0)) {
        bool big = (unsigned char)s.p[0] == 0xFE;
        *ret_encoding = big ? "utf-16be" : "utf-16le";
        return from_utf16(a, (tab_str){ s.p + 2, s.n - 2 }, big);
    }
    if (s.n >= 3 && memcmp(s.p, "\xEF\xBB\xBF", 3) == 0)
        s = (tab_str){ s.p + 3, s.n - 3 };
    *ret_encoding = "utf-8";
    if (tab_utf8_valid(s))
        return s;
    *ret_encoding = "windows-1252";
    return from_windows_1252(a, s);
}

/* ---- fields ---------------------------------------------------------------------------------- */

typedef struct {
    const char *p, *end;
    char delimiter;
    char *scratch; /* (bytes of the text) a quoted field with doubled quotes, without them */
    size_t line, quote_line;
    bool unclosed;
} fields;

/* The next field; *ret_last when it ends its record. False at the end of the text. A field that
 * opens with a quote runs to its closing one, across lines; what stands behind that up to the
 * delimiter is kept as it is. */
static bool next_field(fields *f, tab_str *ret, bool *ret_last)
{
    const char *from = f->p;
    bool quoted = from < f->end && *from == '"';
    size_t n = 0;
    if (quoted) {
        bool doubled = false;
        const char *open = ++f->p;
        f->quote_line = f->line;
        for (; f->p < f->end; f->p++) {
            f->line += *f->p == '\n';
            if (*f->p != '"')
                continue;
            if (f->p + 1 < f->end && f->p[1] == '"') {
                doubled = true;
                f->p++;
                continue;
            }
            break;
        }
        if (f->p == f->end)
            f->unclosed = true;
        const char *close = f->p;
        f->p += f->p < f->end;
        bool more = f->p < f->end && *f->p != f->delimiter && *f->p != '\n' && *f->p != '\r';
        if (!doubled && !more) {
            *ret = (tab_str){ open, (size_t)(close - open) };
        } else {
            for (const char *q = open; q < close; q++) {
                f->scratch[n++] = *q;
                q += *q == '"';
            }
            for (; f->p < f->end && *f->p != f->delimiter && *f->p != '\n' && *f->p != '\r'; f->p++)
                f->scratch[n++] = *f->p;
            *ret = (tab_str){ f->scratch, n };
        }
    } else {
        while (f->p < f->end && *f->p != f->delimiter && *f->p != '\n' && *f->p != '\r')
            f->p++;
        *ret = (tab_str){ from, (size_t)(f->p - from) };
    }
    *ret_last = true;
    if (f->p == f->end)
        return true;
    if (*f->p == f->delimiter) {
        f->p++;
        *ret_last = false;
        return true;
    }
    f->line++;
    if (*f->p == '\r' && f->p + 1 < f->end && f->p[1] == '\n')
        f->p++;
    f->p++;
    return true;
}

/* A line without any character is no record; one of empty fields is, and keeps its number. */
static bool blank_line(const fields *f)
{
    return f->p < f->end && (*f->p == '\n' || *f->p == '\r');
}

/* ---- the dialect ----------------------------------------------------------------------------- */

enum { SNIFF_RECORDS = 64, SNIFF_BYTES = 1 << 18 };

/* How evenly a delimiter cuts: the share of records as wide as most are; nothing where that is one field, nor
 * where the header is one field and a tenth of the records are not as wide (chosen by hand): then it stands
 * in texts. */
static double evenness(tab_str text, bool cut, char delimiter, char *scratch, size_t *ret_width)
{
    size_t width[SNIFF_RECORDS], n = 0, best = 0, best_width = 1;
    tab_str field;
    fields f = { text.p, text.p + text.n, delimiter, scratch, 1, 1, false };
    while (f.p < f.end && n < SNIFF_RECORDS) {
        bool last = false;
        size_t fields_here = 0, bytes = 0;
        while (!last && next_field(&f, &field, &last)) {
            fields_here++;
            bytes += field.n;
        }
        if (bytes > 0)
            width[n++] = fields_here;
    }
    if (cut && n > 1 && f.p == f.end) /* the last record may be half of one */
        n--;
    for (size_t i = 0; i < n; i++) {
        size_t same = 0;
        for (size_t k = 0; k < n; k++)
            same += width[k] == width[i];
        if (same > best || (same == best && width[i] > best_width))
            best = same, best_width = width[i];
    }
    *ret_width = best_width;
    if (n > 0 && width[0] == 1 && best * 10 < n * 9)
        return 0;
    return best_width < 2 || n == 0 || (f.unclosed && !cut) ? 0 : (double)best / (double)n;
}

static char sniff_delimiter(tab_str text, char *scratch)
{
    static const char candidates[] = ",;\t|";
    char best = ',';
    double best_score = 0;
    bool cut = text.n > SNIFF_BYTES;
    if (cut)
        text.n = SNIFF_BYTES;
    for (size_t i = 0; candidates[i] != 0; i++) {
        size_t width;
        double score = evenness(text, cut, candidates[i], scratch, &width);
        score +=
            score > 0 ? 0.01 * (double)(width < 20 ? width : 20) : 0; /* evenly cut both ways: the finer */
        if (score > best_score)
            best_score = score, best = candidates[i];
    }
    return best;
}

/* ---- two passes ------------------------------------------------------------------------------ */

typedef struct {
    tab_str name;
    bool text, present; /* some field is no number; some field is there */
} column;

typedef struct {
    tab_arena *a;
    tab_str text;
    char *scratch, delimiter;
    column *col;
    size_t cols, cap, rows;
    tab_csv_notes notes;
    tab_error *err;
} reader;

static bool number(tab_str s, double *ret)
{
    size_t n = 0;
    return s.n > 0 && tab_number_read(s.p, s.p + s.n, &n, ret) == TAB_NUMBER_EXACT && n == s.n;
}

static bool widen(reader *r, size_t cols)
{
    if (cols > r->cap) {
        size_t cap = cols * 2 + 16;
        column *c = tab_arena_new_of(r->a, column, cap);
        if (c == NULL)
            return false;
        if (r->cols > 0)
            memcpy(c, r->col, r->cols * sizeof *c);
        r->col = c;
        r->cap = cap;
    }
    for (; r->cols < cols; r->cols++)
        r->col[r->cols] = (column){ .name = TAB_S("") };
    return true;
}

/* Header, widths, and which columns are numbers. */
static tab_status look(reader *r)
{
    fields f = { r->text.p, r->text.p + r->text.n, r->delimiter, r->scratch, 1, 1, false };
    size_t header = 0;
    tab_str s;
    double x;
    while (f.p < f.end) {
        bool last = false, blank = blank_line(&f);
        size_t k = 0, bytes = 0;
        for (; !last && next_field(&f, &s, &last); k++) {
            bytes += s.n;
            if (k >= r->cols && (header == 0 || s.n > 0) && !widen(r, k + 1))
                return tab_no_memory(r->err);
            if (header == 0) {
                r->col[k].name = tab_arena_copy(r->a, s);
            } else if (s.n > 0 && k < r->cols) {
                r->col[k].present = true;
                r->col[k].text |= !number(s, &x);
            }
        }
        if (f.unclosed)
            return tab_fail(r->err, TAB_VALIDATION, "", "line %zu: a quote is opened and never closed",
                            f.quote_line);
        if (header == 0) {
            if (bytes == 0)
                r->cols = 0; /* empty lines above the header */
            else
                header = r->cols;
            continue;
        }
        if (blank) {
            r->notes.empty++;
            continue;
        }
        r->rows++;
        r->notes.padded += k < header;
        r->notes.widened += k > header;
    }
    return header > 0 ? TAB_OK : tab_fail(r->err, TAB_VALIDATION, "", "the file holds no header");
}

static tab_status build(reader *r, tab_column *ret)
{
    tab_builder **b = tab_arena_new_of(r->a, tab_builder *, r->cols);
    for (size_t k = 0; b != NULL && k < r->cols; k++) {
        b[k] = tab_builder_new(r->a, r->col[k].name);
        tab_builder_reserve(b[k], r->rows);
    }
    fields f = { r->text.p, r->text.p + r->text.n, r->delimiter, r->scratch, 1, 1, false };
    bool header = true;
    tab_str s;
    double x = 0;
    while (b != NULL && f.p < f.end) {
        bool last = false, blank = blank_line(&f);
        size_t k = 0, bytes = 0;
        for (; !last && next_field(&f, &s, &last); k++) {
            bytes += s.n;
            if (header || blank || k >= r->cols)
                continue;
            if (s.n == 0)
                tab_builder_null(b[k]);
            else if (r->col[k].text)
                tab_builder_text(b[k], s);
            else if (number(s, &x))
                tab_builder_number(b[k], x);
        }
        if (header)
            header = bytes == 0;
        else if (!blank)
            for (; k < r->cols; k++)
                tab_builder_null(b[k]);
    }
    bool ok = b != NULL;
    for (size_t k = 0; k < r->cols && b != NULL; k++)
        ok = tab_builder_finish(b[k], &ret[k]) && ok;
    return ok ? TAB_OK : tab_no_memory(r->err);
}

tab_status tab_csv_read(tab_arena *a, tab_str bytes, tab_str id, const tab_table **ret, tab_csv_notes *notes,
                        tab_error *err)
{
    reader r = { .a = a, .err = err };
    r.text = as_utf8(a, bytes, &r.notes.encoding);
    if (bytes.n > 0 && r.text.n > 0 && memchr(r.text.p, 0, r.text.n) != NULL)
        return tab_fail(err, TAB_VALIDATION, "", "the file holds zero bytes: it is no text");
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    r.scratch = malloc(r.text.n + 1);
    if (t == NULL || r.scratch == NULL || (bytes.n > 0 && r.text.p == NULL)) {
        free(r.scratch);
        return tab_no_memory(err);
    }
    r.delimiter = r.notes.delimiter = sniff_delimiter(r.text, r.scratch);
    tab_status s = look(&r);
    tab_column *col = s == TAB_OK ? tab_arena_new_of(a, tab_column, r.cols) : NULL;
    if (s == TAB_OK)
        s = col != NULL ? build(&r, col) : tab_no_memory(err);
    free(r.scratch);
    if (s != TAB_OK)
        return s;
    *t = (tab_table){ tab_arena_copy(a, id), r.rows, r.cols, col };
    *ret = t;
    if (notes != NULL)
        *notes = r.notes;
    return TAB_OK;
}
