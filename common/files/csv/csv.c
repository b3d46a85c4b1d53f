/* See csv.h. Bytes become UTF-8 first, then the dialect is chosen on the first records, which also say which
 * columns are texts; then one pass fills the columns, and a second one those whose numbers turned out to be
 * none (decision 0367). Texts of a column are added several at once, so that the places of its
 * dictionary are fetched together. */
#include "common/files/csv/csv.h"

#include <stdlib.h>

#include "common/base/hash.h"
#include "common/files/csv/drawn.h"
#include "common/files/csv/top.h"
#include "common/files/csv/total.h"
#include "common/files/text.h"
#include "common/json/json.h"

enum { GUESS_RECORDS = 1000, GAPS = 256 }; /* a file with more gaps is written so, line by line */

typedef struct {
    tab_str name;
    bool text;  /* some field is no number */
    bool wrong; /* and that was not known when the first of them was added */
    tab_builder *b;
    tab_str wait[TAB_BUILDER_AT_ONCE]; /* (n_wait) texts for b, p NULL: missing */
    uint32_t n_wait;
} column;

typedef struct {
    tab_arena *a;
    const tab_reading_asked *asked;
    tab_csv_lexer top; /* at the header, or at the first row without one */
    column **col;      /* (cols) */
    size_t cols, cap, rows, rows_hint, heads;
    bool narrow; /* no further columns are made */
    const char *rows_at;
    tab_str *upper[TAB_TOP_HEADS]; /* (cols of it) the header's rows above the names */
    size_t upper_n[TAB_TOP_HEADS];
    uint32_t *gap; /* (GAPS) */
    tab_csv_notes notes;
    tab_error *err;
} reader;

bool tab_csv_number(tab_str s, double *ret)
{
    size_t n = 0;
    return s.n > 0 && tab_number_read(s.p, s.p + s.n, &n, ret) == TAB_NUMBER_EXACT && n == s.n;
}

static tab_status widen(reader *r, size_t cols)
{
    if (cols > TAB_CSV_FIELDS_MOST)
        return tab_fail(r->err, TAB_VALIDATION, "", "a line has more than %d fields", TAB_CSV_FIELDS_MOST);
    if (cols > r->cap) {
        size_t cap = cols * 2 + 16;
        column **c = tab_arena_new_of(r->a, column *, cap);
        if (c == NULL)
            return tab_no_memory(r->err);
        if (r->cols > 0)
            memcpy(c, r->col, r->cols * sizeof *c);
        r->col = c;
        r->cap = cap;
    }
    for (; r->cols < cols; r->cols++)
        if ((r->col[r->cols] = tab_arena_new_of(r->a, column, 1)) == NULL)
            return tab_no_memory(r->err);
    return TAB_OK;
}

static tab_status names(reader *r, tab_csv_lexer *f)
{
    tab_str s;
    bool last = false;
    while (!last && tab_csv_field(f, &s, &last)) {
        TAB_TRY(widen(r, r->cols + 1));
        r->col[r->cols - 1]->name = tab_arena_copy(r->a, s);
    }
    return TAB_OK;
}

/* A row of the header that stands above the names. */
static tab_status upper(reader *r, tab_csv_lexer *f, size_t head)
{
    tab_str s, *cell = tab_arena_new_of(r->a, tab_str, TAB_TOP_COLS);
    bool last = false;
    size_t k = 0;
    if (cell == NULL)
        return tab_no_memory(r->err);
    for (; !last && tab_csv_field(f, &s, &last); k++)
        if (k < TAB_TOP_COLS)
            cell[k] = tab_arena_copy(r->a, s);
    r->upper[head] = cell;
    r->upper_n[head] = k < TAB_TOP_COLS ? k : TAB_TOP_COLS;
    return TAB_OK;
}

static tab_status header(reader *r, tab_csv_lexer *f)
{
    for (size_t i = 0; i < r->heads && tab_csv_record(f, NULL); i++)
        TAB_TRY(i + 1 < r->heads ? upper(r, f, i) : names(r, f));
    return TAB_OK;
}

/* The next record, unread but for its only filled field. */
static bool pass_by(tab_csv_lexer *f, tab_arena *a, tab_str *ret_line)
{
    tab_str s, line = TAB_S("");
    size_t filled = 0;
    bool is = tab_csv_record(f, NULL);
    for (bool last = !is; !last && tab_csv_field(f, &s, &last);)
        if (s.n > 0 && filled++ == 0 && ret_line != NULL)
            line = tab_arena_copy(a, s);
    if (filled == 1 && ret_line != NULL)
        *ret_line = line;
    return is;
}

static tab_status note_gap(reader *r, size_t row)
{
    if (r->gap == NULL && (r->gap = tab_arena_new_of(r->a, uint32_t, GAPS)) == NULL)
        return tab_no_memory(r->err);
    if (r->notes.seen.gaps < GAPS && row < UINT32_MAX)
        r->gap[r->notes.seen.gaps++] = (uint32_t)row;
    return TAB_OK;
}

static tab_status whole(const tab_csv_lexer *f, tab_error *err)
{
    if (f->too_long)
        return tab_fail(err, TAB_VALIDATION, "",
                        "line %zu: a quoted field is longer than %d MiB; check for a missing closing quote",
                        f->quote_line, TAB_CSV_FIELD_MOST >> 20);
    if (f->unclosed)
        return tab_fail(err, TAB_VALIDATION, "", "line %zu: an opening quote is never closed", f->quote_line);
    return TAB_OK;
}

/* ---- what the first records say ------------------------------------------------------------------ */

/* A field of the records below the header: the first of each, and how many have one more than it names. */
typedef struct {
    uint64_t *first; /* (GUESS_RECORDS) hashes */
    size_t named, records, wider, last_filled;
} one_short;

static int by_hash(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

/* R writes a table's row names under no name: each record has one field more than the header, filled, and the
 * first of each stands in no other record. */
static bool row_names_unnamed(one_short *o)
{
    if (o->named < 2 || o->records < 2 || o->wider < o->records || 2 * o->last_filled < o->records)
        return false;
    qsort(o->first, o->records, sizeof *o->first, by_hash);
    for (size_t i = 1; i < o->records; i++)
        if (o->first[i] == o->first[i - 1])
            return false;
    return true;
}

/* The names belong one column further on the right; the first has none. */
static void shift_names(reader *r, size_t named)
{
    for (size_t k = named; k > 0; k--)
        r->col[k]->name = r->col[k - 1]->name;
    r->col[0]->name = TAB_S("");
}

/* Which columns are texts, about how many rows there are, and how wide the first record is. A column that
 * looks like one of numbers may still turn out to be none. */
static tab_status look_at_records(reader *r, tab_csv_lexer f, one_short *o, size_t *ret_width)
{
    const char *begin = f.p;
    tab_str s = TAB_S("");
    double x;
    *ret_width = r->cols;
    for (; o->records < GUESS_RECORDS && !f.too_long && tab_csv_record(&f, NULL); o->records++) {
        bool last = false, first = r->cols == 0;
        size_t k = 0;
        for (; !last && tab_csv_field(&f, &s, &last); k++) {
            if (k >= r->cols && !r->narrow && (first || s.n > 0))
                TAB_TRY(widen(r, k + 1));
            if (s.n > 0 && k < r->cols)
                r->col[k]->text |= !tab_csv_number(s, &x);
            if (k == 0)
                o->first[o->records] = tab_fnv1a(TAB_FNV1A, s.p, s.n);
        }
        o->wider += k == o->named + 1;
        o->last_filled += s.n > 0;
        if (first)
            *ret_width = r->cols;
    }
    size_t bytes = (size_t)(f.p - begin);
    double per_byte = bytes > 0 ? (double)o->records / (double)bytes : 0;
    r->rows_hint = bytes > 0 ? (size_t)((double)(f.end - begin) * per_byte * 1.05) + 1 : 0;
    return TAB_OK;
}

static tab_status guess(reader *r, tab_csv_lexer f, size_t *ret_width)
{
    one_short o = { .first = tab_arena_new_of(r->a, uint64_t, GUESS_RECORDS), .named = r->cols };
    if (o.first == NULL)
        return tab_no_memory(r->err);
    TAB_TRY(look_at_records(r, f, &o, ret_width));
    if (r->notes.header && !r->narrow && r->heads == 1 && row_names_unnamed(&o)) {
        shift_names(r, o.named);
        *ret_width = r->cols;
        r->notes.row_names = true;
    }
    return TAB_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* A builder for columns [from, to), which are met in row r->rows. */
static tab_status begin_columns(reader *r, size_t from, size_t to)
{
    for (size_t k = from; k < to; k++) {
        column *c = r->col[k];
        c->b = tab_builder_new(r->a, c->name.p != NULL ? c->name : TAB_S(""));
        if (c->b == NULL)
            return tab_no_memory(r->err);
        tab_builder_reserve(c->b, r->rows_hint);
        tab_builder_pad(c->b, r->rows);
    }
    return TAB_OK;
}

static void add_waiting(column *c)
{
    tab_builder_texts(c->b, c->wait, c->n_wait);
    c->n_wait = 0;
}

/* A field that is not the file's own bytes is gone with the next one, and cannot wait. */
static void add_field(column *c, tab_str s, bool stays)
{
    double x = 0;
    if (c->text) {
        c->wait[c->n_wait++] = s.n > 0 ? s : (tab_str){ NULL, 0 };
        if (c->n_wait == TAB_BUILDER_AT_ONCE || !stays)
            add_waiting(c);
    } else if (s.n == 0) {
        tab_builder_null(c->b);
    } else if (tab_csv_number(s, &x)) {
        tab_builder_number(c->b, x);
    } else {
        c->wrong = c->text = true;
    }
}

/* The next record to the columns that were guessed right, or to the others. */
static tab_status add_record(reader *r, tab_csv_lexer *f, bool wrong, size_t *ret_width)
{
    tab_str s;
    bool last = false;
    size_t k = 0, filled = 0;
    for (; !last && tab_csv_field(f, &s, &last); k++) {
        size_t cols = r->cols;
        filled = s.n > 0 || k < cols ? k + 1 : filled;
        if (k >= cols && s.n > 0 && !r->narrow) {
            TAB_TRY(widen(r, k + 1));
            TAB_TRY(begin_columns(r, cols, r->cols));
            for (size_t i = cols; i < k; i++)
                tab_builder_null(r->col[i]->b); /* fields of this record that were passed */
        }
        if (k < r->cols && r->col[k]->wrong == wrong)
            add_field(r->col[k], s, s.p != f->scratch);
    }
    *ret_width = r->narrow ? filled : k;
    for (; k < r->cols; k++)
        if (r->col[k]->wrong == wrong)
            add_field(r->col[k], TAB_S(""), true);
    return TAB_OK;
}

static tab_status read_rows(reader *r)
{
    tab_csv_lexer f = r->top;
    size_t width = 0, n;
    TAB_TRY(header(r, &f));
    r->rows_at = f.p;
    TAB_TRY(guess(r, f, &width));
    TAB_TRY(begin_columns(r, 0, r->cols));
    for (size_t empty = 0; !f.too_long && tab_csv_record(&f, &r->notes.empty); empty = r->notes.empty) {
        if (r->notes.empty > empty && r->rows > 0)
            TAB_TRY(note_gap(r, r->rows));
        TAB_TRY(add_record(r, &f, false, &n));
        r->notes.padded += n < width;
        r->notes.widened += n > width;
        r->rows++;
    }
    r->notes.comments = f.comments;
    return whole(&f, r->err);
}

/* Columns that looked like numbers and are texts, from the first row on. */
static tab_status read_again(reader *r)
{
    tab_csv_lexer f = r->top;
    size_t n = 0, rows = r->rows;
    r->rows_hint = rows;
    r->rows = 0;
    for (size_t k = 0; k < r->cols; k++)
        if (r->col[k]->wrong) {
            tab_builder_drop(r->col[k]->b);
            TAB_TRY(begin_columns(r, k, k + 1));
            n++;
        }
    r->rows = rows;
    if (n == 0)
        return TAB_OK;
    for (size_t i = 0; i < r->heads; i++)
        pass_by(&f, NULL, NULL);
    while (tab_csv_record(&f, NULL))
        TAB_TRY(add_record(r, &f, true, &n));
    return TAB_OK;
}

static tab_status finish(reader *r, tab_column *ret)
{
    bool ok = true;
    for (size_t k = 0; k < r->cols; k++) {
        add_waiting(r->col[k]);
        ok = tab_builder_finish(r->col[k]->b, &ret[k]) && ok;
    }
    return ok ? TAB_OK : tab_no_memory(r->err);
}

static bool holds_nothing(const tab_column *c, size_t rows)
{
    bool nothing = true;
    for (size_t i = 0; i < rows && nothing; i++)
        nothing = c->layout == TAB_NUMBERS ? c->num[i] != c->num[i] : c->code[i] == TAB_NULL;
    return nothing;
}

/* Of the first records, whose number is bounded by bytes as well: a field may be long. */
static bool top_of(tab_csv_lexer f, const tab_reading_asked *asked, tab_top *ret)
{
    enum { BYTES = 1 << 18 };
    tab_top_record *record = malloc(TAB_TOP_RECORDS * sizeof *record);
    const char *most = f.end - f.p > BYTES ? f.p + BYTES : f.end;
    size_t n = 0;
    if (record == NULL)
        return false;
    for (size_t blank = 0; n < TAB_TOP_RECORDS && f.p < most && tab_csv_record(&f, &blank); blank = 0) {
        tab_str s;
        bool last = false;
        record[n] = (tab_top_record){ .below_gap = blank > 0 };
        for (size_t k = 0; !last && tab_csv_field(&f, &s, &last); k++)
            tab_top_cell(&record[n], k, s);
        n++;
    }
    *ret = tab_top_find(record, n, asked->skip_lines >= 0 ? 0 : -1, asked->header_rows);
    free(record);
    return true;
}

/* For layout.h. */
static tab_status seen(reader *r)
{
    tab_layout_seen *s = &r->notes.seen;
    size_t uppers = r->heads > 1 ? r->heads - 1 : 0;
    s->header = r->notes.header;
    s->texts = true;
    s->gap = r->gap;
    tab_str *cell = uppers > 0 ? tab_arena_new_of(r->a, tab_str, uppers * r->cols) : NULL;
    if (cell == NULL)
        return uppers > 0 ? tab_no_memory(r->err) : TAB_OK;
    for (size_t i = 0; i < uppers; i++)
        for (size_t k = 0; k < r->cols && k < r->upper_n[i]; k++)
            cell[i * r->cols + k] = r->upper[i][k];
    s->upper = cell;
    s->uppers = uppers;
    s->cols = r->cols;
    return TAB_OK;
}

/* Its sender's number of lines off the text. */
static tab_status skip_lines(reader *r, tab_str *text)
{
    int64_t line = 0;
    const char *p = text->p, *end = text->p + text->n;
    for (; line < r->asked->skip_lines && p < end; line++) {
        while (p < end && *p != '\n' && *p != '\r')
            p++;
        p += p + 1 < end && p[0] == '\r' && p[1] == '\n' ? 2 : p < end;
    }
    if (line < r->asked->skip_lines || (line > 0 && p == end))
        return tab_fail(r->err, TAB_VALIDATION, "options.reading.skip_lines",
                        "the file has %lld lines, so nothing is left after skipping that many",
                        (long long)line);
    *text = (tab_str){ p, (size_t)(end - p) };
    r->notes.skipped = (size_t)line;
    return TAB_OK;
}

/* Of a drawn table (drawn.h): its text is cut anew, and no sign of it quotes. */
static tab_status drawn(reader *r, tab_str *text, bool padded, tab_drawn *ret)
{
    TAB_TRY(tab_drawn_text(r->a, text, padded, ret, r->err));
    if (!ret->is)
        return TAB_OK;
    r->top.d = (tab_csv_dialect){ TAB_DRAWN_DELIMITER, TAB_READING_UNQUOTED, 0, false, 0, false };
    r->notes.dialect = r->top.d;
    r->notes.dialect.delimiter = ret->sign;
    r->notes.scores = (tab_csv_scores){ 1, 0 };
    r->notes.drawn = true;
    r->notes.ruled = ret->rules;
    r->notes.below = ret->below;
    return TAB_OK;
}

/* The dialect of a text whose delimiter nobody told: found, unless the table is drawn. Blanks cut one
 * where no delimiter cuts well. */
static tab_status find_dialect(reader *r, tab_str *text)
{
    const double CUTS_WELL = 0.5;
    tab_drawn how;
    TAB_TRY(drawn(r, text, false, &how));
    if (how.is)
        return TAB_OK;
    r->top.d = tab_csv_dialect_of(*text, 0, r->asked->quote, r->top.scratch, &r->notes.scores);
    r->notes.dialect = r->top.d;
    bool blanks = r->top.d.delimiter == ' ' || r->notes.scores.best < CUTS_WELL;
    return blanks ? drawn(r, text, true, &how) : TAB_OK;
}

/* The lexer at the text's first record; *text: cut anew where it is a drawn table's. */
static tab_status begin(reader *r, tab_str *text)
{
    tab_csv_lexer *f = &r->top;
    tab_str below = *text;
    char declared = tab_csv_declared(&below);
    size_t above = below.p != text->p;
    if (r->asked->skip_lines >= 0) {
        TAB_TRY(skip_lines(r, text));
        above = r->notes.skipped;
    } else {
        *text = below;
    }
    if (r->asked->delimiter != 0)
        declared = r->asked->delimiter;
    if (declared == 0) {
        TAB_TRY(find_dialect(r, text));
    } else {
        f->d = tab_csv_dialect_of(*text, declared, r->asked->quote, f->scratch, &r->notes.scores);
        r->notes.dialect = f->d;
    }
    f->p = text->p;
    f->end = text->p + text->n;
    f->line = 1 + above;
    r->notes.told = declared != 0;
    return TAB_OK;
}

static const char *past_line(const char *p, const char *end)
{
    while (p < end && *p != '\n' && *p != '\r')
        p++;
    return p + 1 < end && p[0] == '\r' && p[1] == '\n' ? p + 2 : p + (p < end);
}

/* How many fields the record has; 0 where one of them is no name: empty, or a value. */
static size_t names_there(tab_csv_lexer f)
{
    size_t n = 0;
    tab_str s;
    for (bool last = false; !last && tab_csv_field(&f, &s, &last); n++)
        if (s.n == 0 || tab_csv_value(s))
            return 0;
    return n;
}

/* Instruments write the columns' names behind the sign of their notes, in the last line of these: it is a
 * record then, and the header where the records below it say so. */
static tab_status take_commented_names(reader *r)
{
    tab_csv_lexer f = r->top, below = f;
    const char *last = NULL;
    size_t lines = 0, n = 0;
    tab_top top;
    if (f.d.comment == 0 || r->asked->skip_lines >= 0 || r->asked->header_rows >= 0)
        return TAB_OK;
    for (const char *p = f.p; p < f.end && *p == f.d.comment; p = past_line(p, f.end), lines++)
        last = p;
    if (last == NULL || !tab_csv_record(&below, NULL) || below.p != past_line(last, f.end))
        return TAB_OK;
    for (f.p = last; f.p < f.end && (*f.p == f.d.comment || *f.p == ' ');)
        f.p++;
    size_t names = names_there(f);
    for (bool end = false; !end && tab_csv_field(&below, &(tab_str){ 0 }, &end);)
        n++;
    if (names < 2 || names != n)
        return TAB_OK;
    if (!top_of(f, r->asked, &top))
        return tab_no_memory(r->err);
    if (top.skip > 0 || top.heads != 1)
        return TAB_OK;
    f.comments = lines - 1;
    f.line += lines - 1;
    r->top = f;
    return TAB_OK;
}

static tab_status read_text(reader *r, tab_str text, tab_table *t)
{
    tab_csv_lexer *f = &r->top;
    tab_top top;
    TAB_TRY(begin(r, &text));
    TAB_TRY(take_commented_names(r));
    if (!top_of(*f, r->asked, &top))
        return tab_no_memory(r->err);
    for (size_t i = 0; i < top.skip && pass_by(f, r->a, &r->notes.seen.title); i++)
        r->notes.skipped++;
    r->heads = top.heads;
    r->notes.header = top.heads > 0;
    TAB_TRY(read_rows(r));
    if (r->cols == 0)
        return tab_fail(r->err, TAB_VALIDATION, "", "the file has neither a header nor rows");
    tab_column *col = tab_arena_new_of(r->a, tab_column, r->cols);
    if (col == NULL)
        return tab_no_memory(r->err);
    TAB_TRY(read_again(r));
    TAB_TRY(finish(r, col));
    while (r->notes.header && r->cols > 1 && r->col[r->cols - 1]->name.n == 0 &&
           holds_nothing(&col[r->cols - 1], r->rows))
        r->cols--; /* each line ends with a delimiter */
    *t = (tab_table){ .id = t->id, .rows = r->rows, .cols = r->cols, .col = col };
    r->notes.total = tab_total_row_cut(t, col);
    for (const char *p = text.p; p < r->rows_at; p++)
        r->notes.above += *p == '\n' || (*p == '\r' && (p + 1 == r->rows_at || p[1] != '\n'));
    return seen(r);
}

/* Text has hardly a sign that a terminal or a printer would obey: bytes of something else have many. The
 * separators of records and fields (28 to 31) are signs of a table. */
static size_t control_signs(tab_str s)
{
    size_t found = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        found += c < 28 && (c < 7 || c > 13) && c != 0x1A && c != 0x1B;
    }
    return found;
}

/* A zero byte is a character that nobody can read, U+FFFD; where there are many, or many other signs that are
 * no text, it is none. some: it is one, of which this is a piece. */
static tab_status without_zeros(tab_arena *a, tab_str *text, bool some, size_t *ret_zeros, tab_error *err)
{
    enum { LOOKED = 1 << 16 };
    size_t zeros = 0, n = 0;
    tab_str head = { text->p, text->n < LOOKED ? text->n : LOOKED };
    for (const char *p = text->p, *end = p + text->n;
         p < end && (p = memchr(p, 0, (size_t)(end - p))) != NULL; p++)
        zeros++;
    *ret_zeros = zeros;
    if (!some && zeros > text->n / 100)
        return tab_fail(err, TAB_VALIDATION, "", "the file contains NUL bytes, so it is not a text file");
    if (!some && control_signs(head) > head.n / 100 + 1)
        return tab_fail(err, TAB_VALIDATION, "", "the file is neither text nor a supported format");
    if (zeros == 0)
        return TAB_OK;
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

/* The text as UTF-8, in the character set that was asked for where one was. */
static tab_status decoded(reader *r, tab_str bytes, tab_str *ret)
{
    const char *asked = r->asked->encoding;
    *ret = tab_text_utf8_as(r->a, bytes, asked, &r->notes.encoding);
    if (ret->p == NULL && bytes.n > 0)
        return asked == NULL ? tab_no_memory(r->err)
                             : tab_fail(r->err, TAB_VALIDATION, "options.reading.encoding",
                                        "the encoding %s is not available on this system", asked);
    return without_zeros(r->a, ret, r->narrow, &r->notes.zeros, r->err);
}

tab_status tab_csv_read_as(tab_arena *a, tab_str bytes, tab_str id, const tab_reading_asked *asked,
                           const tab_table **ret, tab_csv_notes *notes, tab_error *err)
{
    reader r = { .a = a, .asked = asked, .err = err };
    tab_str text;
    TAB_TRY(decoded(&r, bytes, &text));
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    r.top.scratch = malloc(tab_csv_scratch(text.n));
    tab_status s = tab_no_memory(err);
    if (t != NULL && r.top.scratch != NULL) {
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

/* Of r->narrow: as many columns as have names. */
static tab_status read_below(reader *r, tab_str text, const tab_csv_dialect *d, const tab_csv_cols *cols,
                             tab_table *t)
{
    tab_csv_lexer *f = &r->top;
    f->d = *d;
    f->p = text.p;
    f->end = text.p + text.n;
    f->line = 1;
    TAB_TRY(widen(r, cols->n));
    for (size_t k = 0; k < cols->n; k++) {
        r->col[k]->name = cols->name[k];
        r->col[k]->text = cols->text != NULL && cols->text[k];
    }
    tab_column *col = tab_arena_new_of(r->a, tab_column, cols->n);
    if (col == NULL)
        return tab_no_memory(r->err);
    TAB_TRY(read_rows(r));
    TAB_TRY(read_again(r));
    TAB_TRY(finish(r, col));
    *t = (tab_table){ .id = t->id, .rows = r->rows, .cols = cols->n, .col = col };
    return TAB_OK;
}

tab_status tab_csv_rows_read(tab_arena *a, tab_str bytes, const tab_csv_dialect *d, const char *encoding,
                             const tab_csv_cols *cols, tab_str id, const tab_table **ret,
                             tab_csv_notes *notes, tab_error *err)
{
    const tab_reading_asked asked = { .encoding = encoding, .header_rows = 0, .skip_lines = 0 };
    reader r = { .a = a, .asked = &asked, .narrow = true, .err = err };
    tab_str text;
    TAB_TRY(decoded(&r, bytes, &text));
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    r.top.scratch = malloc(tab_csv_scratch(text.n));
    tab_status s = tab_no_memory(err);
    if (t != NULL && r.top.scratch != NULL) {
        t->id = id;
        s = read_below(&r, text, d, cols, t);
    }
    free(r.top.scratch);
    *notes = r.notes;
    *ret = t;
    return s;
}

tab_status tab_csv_read(tab_arena *a, tab_str bytes, tab_str id, const tab_table **ret, tab_csv_notes *notes,
                        tab_error *err)
{
    static const tab_reading_asked found = TAB_READING_FOUND;
    return tab_csv_read_as(a, bytes, id, &found, ret, notes, err);
}
