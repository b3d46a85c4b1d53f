/* See files.h. */
#include "common/files/files.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "common/files/arrow/arrow.h"
#include "common/files/csv/csv.h"
#include "common/files/csv/top.h"
#include "common/files/json_rows.h"
#include "common/files/lists.h"
#include "common/files/parquet/parquet.h"
#include "common/files/sheets/sheets.h"
#include "common/files/statistics.h"
#include "common/files/stored.h"
#include "common/files/text.h"
#include "common/json/json.h"

enum { NOTES = 4096 };

/* Of a reading whose format says what its columns are called, and knows no delimiter. */
#define OF_ITS_OWN .header_rows = -1, .confidence = -1

typedef struct {
    tab_arena *a;
    const tab_file_limits *most;
    const tab_reading_asked *asked;
    const tab_table **table;  /* (most->tables) */
    tab_str *sheet, *reading; /* (most->tables) */
    size_t n;
    char *notes; /* (NOTES) */
    size_t notes_n;
    tab_error *err;
} reader;

static void note(reader *r, tab_str id, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void note(reader *r, tab_str id, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    int n = snprintf(r->notes + r->notes_n, NOTES - r->notes_n, "%s%.*s: %s", r->notes_n > 0 ? "\n" : "",
                     (int)(id.n < 128 ? id.n : 128), id.p, text);
    if (n > 0 && (size_t)n < NOTES - r->notes_n)
        r->notes_n += (size_t)n;
    else
        r->notes[r->notes_n] = 0;
}

/* ---- names ------------------------------------------------------------------------------------- */

static bool ends_in(tab_str s, const char *ending)
{
    size_t n = strlen(ending);
    return s.n > n && strncasecmp(s.p + s.n - n, ending, n) == 0;
}

static bool one_of(tab_str name, const char *const *endings)
{
    for (; *endings != NULL; endings++)
        if (ends_in(name, *endings))
            return true;
    return false;
}

/* "data/orders.csv" -> "orders"; dots inside become _, since an id holds none; at most 128 bytes. */
static tab_str stem(tab_arena *a, tab_str name, tab_str sheet)
{
    size_t from = name.n;
    while (from > 0 && name.p[from - 1] != '/' && name.p[from - 1] != '\\')
        from--;
    size_t end = name.n;
    for (size_t i = name.n; i > from + 1; i--)
        if (name.p[i - 1] == '.') {
            end = i - 1;
            break;
        }
    char text[128 + 4];
    int n = snprintf(text, sizeof text, "%.*s%s%.*s", (int)(end - from < 96 ? end - from : 96), name.p + from,
                     sheet.n > 0 ? "_" : "", (int)(sheet.n < 96 ? sheet.n : 96), sheet.p);
    size_t len = n < 128 ? (size_t)n : 128;
    while (len > 0 && !tab_utf8_valid((tab_str){ text, len }))
        len--;
    for (size_t i = 0; i < len; i++)
        text[i] = text[i] == '.' ? '_' : text[i];
    return len > 0 ? tab_arena_copy(a, (tab_str){ text, len }) : TAB_S("table");
}

/* ---- one format each --------------------------------------------------------------------------- */

/* What was asked for must be something that the format leaves open. */
static tab_status can_ask(reader *r, bool text, bool lines, bool parts, const char *format)
{
    const tab_reading_asked *q = r->asked;
    const char *key = q->delimiter != 0 && !(text && lines) ? "delimiter"
                      : q->quote != 0 && !(text && lines)   ? "quote"
                      : q->encoding != NULL && !text        ? "encoding"
                      : q->header_rows >= 0 && !lines       ? "header_rows"
                      : q->skip_lines >= 0 && !lines        ? "skip_lines"
                      : q->one_table && !parts              ? "one_table"
                                                            : NULL;
    char param[64];
    if (key == NULL)
        return TAB_OK;
    snprintf(param, sizeof param, "options.reading.%s", key);
    return tab_fail(r->err, TAB_VALIDATION, param, "it is %s, whose %s is not open", format, key);
}

static tab_status add(reader *r, const tab_table *t, tab_str sheet, const tab_file_reading *how)
{
    if (r->n == r->most->tables)
        return tab_fail(r->err, TAB_VALIDATION, "", "it holds more than %zu tables", r->most->tables);
    if (t->cols > r->most->cols)
        return tab_fail(r->err, TAB_VALIDATION, "", "it has %zu columns; a table has at most %zu", t->cols,
                        r->most->cols);
    uint64_t cells = 0;
    r->sheet[r->n] = sheet;
    r->reading[r->n] = tab_reading_json(r->a, how);
    if (r->reading[r->n].p == NULL)
        return tab_no_memory(r->err);
    r->table[r->n++] = t;
    for (size_t i = 0; i < r->n; i++)
        cells += (uint64_t)r->table[i]->rows * r->table[i]->cols;
    return cells <= r->most->cells ? TAB_OK
                                   : tab_fail(r->err, TAB_VALIDATION, "", "it has more than %llu cells",
                                              (unsigned long long)r->most->cells);
}

/* What a part is called among several: its title, else its number; behind the sheet's name, if any. */
static tab_str part_name(reader *r, tab_str sheet, tab_str title, size_t k)
{
    enum { TITLE = 48 };
    char text[128];
    while (title.n > 0 && strchr(" :\t", title.p[title.n - 1]) != NULL)
        title.n--;
    size_t n = title.n < TITLE ? title.n : TITLE;
    while (n > 0 && !tab_utf8_valid((tab_str){ title.p, n }))
        n--;
    int len = snprintf(text, sizeof text, "%.*s%s", (int)(sheet.n < 64 ? sheet.n : 64), sheet.p,
                       sheet.n > 0 ? "_" : "");
    size_t room = sizeof text - (size_t)len;
    len += n > 0 ? snprintf(text + len, room, "%.*s", (int)n, title.p)
                 : snprintf(text + len, room, "%zu", k + 1);
    return tab_arena_copy(r->a, (tab_str){ text, (size_t)len });
}

/* The tables that lie in one that was read from a file or a sheet of it. */
static tab_status add_parts(reader *r, tab_str name, const tab_table *t, const tab_layout_seen *seen,
                            tab_str sheet, bool named, tab_file_reading how)
{
    tab_layout_part part[TAB_LAYOUT_PARTS] = { { .table = t, .heads = seen->header } };
    size_t n = 1;
    if (!r->asked->one_table)
        TAB_TRY(tab_layout_parts(r->a, t, seen, part, &n, r->err));
    if (n > 1)
        note(r, t->id, "the file contains %zu tables", n);
    for (size_t i = 0; i < n; i++) {
        tab_table *own = tab_arena_new_of(r->a, tab_table, 1);
        tab_str suffix = n > 1 ? part_name(r, named ? sheet : TAB_S(""), part[i].title, i) : sheet;
        if (own == NULL)
            return tab_no_memory(r->err);
        *own = *part[i].table;
        own->id = n > 1 ? stem(r->a, name, suffix) : t->id;
        if (part[i].heads > 1)
            note(r, own->id, "the header has %zu rows; column names combine them", part[i].heads);
        if (part[i].notes > 0)
            note(r, own->id, "%zu lines of notes below the table were skipped", part[i].notes);
        if (part[i].repeated > 0)
            note(r, own->id, "%zu repeated header lines were skipped", part[i].repeated);
        if (part[i].totals > 0)
            note(r, own->id, "%zu totals of groups were skipped", part[i].totals);
        if (part[i].labels > 0)
            note(r, own->id, "%zu labels of groups were read as a column", part[i].labels);
        if (part[i].total)
            note(r, own->id, "the last record is a total of the others and was skipped");
        tab_file_reading each = how; /* what stands above the first is not said again */
        how.skips = 0;
        each.header_rows = (int)part[i].heads;
        tab_reading_skipped(&each, part[i].notes, "notes below the table");
        tab_reading_skipped(&each, part[i].repeated, "the header again");
        tab_reading_skipped(&each, part[i].totals, "totals of groups");
        tab_reading_skipped(&each, part[i].labels, "labels of groups, which are a column");
        tab_reading_skipped(&each, part[i].total, "totals of the others");
        TAB_TRY(add(r, own, suffix, &each));
    }
    return TAB_OK;
}

/* That the delimiter is the file's (decision 0469): m is the distance of its consistency to the next's. */
static double confidence_of(const tab_csv_notes *n)
{
    double m = n->scores.best - n->scores.next;
    return n->told ? 1 : 1 / (1 + exp(-(2.38 + 2.54 * m)));
}

static tab_file_reading csv_reading(const reader *r, const tab_csv_notes *n)
{
    tab_file_reading how = { .format = "csv",
                             .encoding = n->encoding,
                             .delimiter = n->dialect.delimiter,
                             .quote = n->dialect.quote,
                             .header_rows = n->header,
                             .confidence = confidence_of(n) };
    tab_reading_skipped(&how, n->skipped, r->asked->skip_lines >= 0 ? "as asked" : "above the header");
    tab_reading_skipped(&how, n->comments, "comments");
    tab_reading_skipped(&how, n->empty, "without any character");
    tab_reading_skipped(&how, n->ruled, "rules between lines");
    tab_reading_skipped(&how, n->below, "below the table");
    tab_reading_skipped(&how, n->total, "totals of the others");
    return how;
}

static tab_status read_csv(reader *r, tab_str name, tab_str bytes)
{
    const tab_table *t;
    tab_csv_notes n;
    tab_str id = stem(r->a, name, TAB_S(""));
    TAB_TRY(can_ask(r, true, true, true, "a text"));
    TAB_TRY(tab_csv_read_as(r->a, bytes, id, r->asked, &t, &n, r->err));
    if (n.skipped > 0)
        note(r, id, "%zu lines above the header were skipped", n.skipped);
    if (n.drawn)
        note(r, id, "the table is drawn with %s, and was cut there",
             n.dialect.delimiter == '|' ? "bars" : "columns of blanks");
    if (n.comments > 0)
        note(r, id, "%zu lines beginning with # were skipped as comments", n.comments);
    if (strcmp(n.encoding, "utf-8") != 0)
        note(r, id, "the encoding was read as %s", n.encoding);
    if (n.zeros > 0)
        note(r, id, "%zu NUL bytes were replaced", n.zeros);
    if (!n.header)
        note(r, id, "the first record contains values, so the columns have no names");
    if (n.row_names)
        note(r, id, "each record has one field more than the header, so the first column has no name");
    if (n.padded > 0)
        note(r, id, "%zu short records were padded with null", n.padded);
    if (n.widened > 0)
        note(r, id, "%zu records with too many fields were kept in columns without names", n.widened);
    if (n.total)
        note(r, id, "the last record is a total of the others and was skipped");
    return add_parts(r, name, t, &n.seen, TAB_S(""), false, csv_reading(r, &n));
}

/* The table, and those of the lists of objects in it, and of the lists in these. */
static tab_status add_with_lists(reader *r, tab_str name, const tab_table *t, tab_str sheet,
                                 const tab_file_reading *how, size_t deep)
{
    enum { DEEP_MOST = 8, LISTS_MOST = 32 };
    tab_lists_table list[LISTS_MOST];
    tab_str of = t->id;
    size_t n = 0, room = r->most->tables - r->n;
    bool stay = r->most->lists_stay || r->asked->one_table || deep == DEEP_MOST || room == 0;
    size_t most = stay ? 0 : room - 1 < LISTS_MOST ? room - 1 : LISTS_MOST;
    TAB_TRY(tab_lists_part(r->a, t, r->most->cols, r->most->cells, most, &t, list, &n, r->err));
    if (t != NULL)
        TAB_TRY(add(r, t, sheet, how));
    for (size_t i = 0; i < n; i++) {
        tab_table *own = tab_arena_new_of(r->a, tab_table, 1);
        char path[128];
        snprintf(path, sizeof path, "%.*s%s%.*s", (int)(sheet.n < 60 ? sheet.n : 60), sheet.p,
                 sheet.n > 0 ? "." : "", (int)(list[i].path.n < 60 ? list[i].path.n : 60), list[i].path.p);
        tab_str called = tab_arena_copy(r->a, tab_str_of(path));
        if (own == NULL)
            return tab_no_memory(r->err);
        *own = *list[i].table;
        own->id = stem(r->a, name, called);
        note(r, own->id, "the lists of %.*s are a table%s", (int)(of.n < 60 ? of.n : 60), of.p,
             t != NULL && t->rows > 1 ? ", which refers to its rows" : "");
        TAB_TRY(add_with_lists(r, name, own, called, how, deep + 1));
    }
    return TAB_OK;
}

static tab_status read_json(reader *r, tab_str name, tab_str bytes)
{
    const char *encoding;
    const tab_table *t;
    TAB_TRY(can_ask(r, true, false, true, "JSON"));
    tab_str text = tab_text_utf8_as(r->a, bytes, r->asked->encoding, &encoding);
    if (bytes.n > 0 && text.p == NULL)
        return tab_no_memory(r->err);
    TAB_TRY(tab_json_rows_read(r->a, text, stem(r->a, name, TAB_S("")), r->most->cols, r->most->cells, &t,
                               r->err));
    if (strcmp(encoding, "utf-8") != 0)
        note(r, t->id, "the encoding was read as %s", encoding);
    tab_file_reading how = { .format = "json", .encoding = encoding, OF_ITS_OWN };
    return add_with_lists(r, name, t, TAB_S(""), &how, 0);
}

static tab_status read_arrow(reader *r, tab_str name, tab_str bytes)
{
    const tab_table *t;
    TAB_TRY(can_ask(r, false, false, false, "Arrow"));
    TAB_TRY(tab_arrow_read(r->a, bytes, stem(r->a, name, TAB_S("")), r->most->cols, r->most->cells,
                           r->most->bytes, &t, r->err));
    return add(r, t, TAB_S(""), &(tab_file_reading){ .format = "arrow", OF_ITS_OWN });
}

static tab_status read_stored(reader *r, tab_str name, tab_str bytes)
{
    const tab_table *t;
    TAB_TRY(can_ask(r, false, false, false, "a stored table"));
    TAB_TRY(tab_stored_read(r->a, bytes, stem(r->a, name, TAB_S("")), r->most, &t, r->err));
    return add(r, t, TAB_S(""), &(tab_file_reading){ .format = "stored", OF_ITS_OWN });
}

static tab_status read_parquet(reader *r, tab_str name, tab_str bytes)
{
    const tab_table *t;
    TAB_TRY(can_ask(r, false, false, true, "Parquet"));
    TAB_TRY(tab_parquet_read(r->a, bytes, stem(r->a, name, TAB_S("")), r->most->cols, r->most->cells,
                             r->most->bytes, &t, r->err));
    return add_with_lists(r, name, t, TAB_S(""), &(tab_file_reading){ .format = "parquet", OF_ITS_OWN }, 0);
}

static tab_status read_statistics(reader *r, tab_str name, tab_str bytes)
{
    const tab_table *t;
    tab_statistics_notes n = { 0 };
    tab_str id = stem(r->a, name, TAB_S(""));
    if (r->most->shared)
        return tab_fail(r->err, TAB_VALIDATION, "",
                        "SAS, SPSS and Stata files cannot be sent with a request; upload the file first");
    TAB_TRY(can_ask(r, false, false, false, "a file of SAS, SPSS or Stata"));
    TAB_TRY(tab_statistics_read(r->a, bytes, id, r->most->cols, r->most->cells, &t, &n, r->err));
    if (n.labelled > 0)
        note(r, id, "values of %zu columns were replaced by their labels", n.labelled);
    if (n.partly > 0)
        note(r, id, "%zu columns keep their numbers because few of their values have labels", n.partly);
    if (n.missing > 0)
        note(r, id, "%llu values that the file declares missing were read as null",
             (unsigned long long)n.missing);
    return add(r, t, TAB_S(""), &(tab_file_reading){ .format = "statistics", OF_ITS_OWN });
}

typedef tab_status (*book_fn)(tab_arena *a, const tab_zip *z, tab_sheet_limits most, tab_sheet **ret,
                              size_t *ret_n, tab_error *err);

static size_t words(tab_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] != ' ' && (i == 0 || s.p[i - 1] == ' ');
    return n;
}

/* Sentences, one below the other, a few texts of several words with gaps between them, or a cell alone: what
 * people write to each other beside their tables. */
static bool holds_notes(const tab_table *t)
{
    enum { LINES = 100, WORDS = 4, FEW = 10 };
    if (t->cols != 1 || t->rows > LINES)
        return false;
    size_t lines = t->col[0].name.n > 0, sentences = words(t->col[0].name) >= WORDS;
    size_t phrases = words(t->col[0].name) > 1;
    for (size_t i = 0; i < t->rows; i++) {
        tab_cell x = tab_cell_at(&t->col[0], i);
        lines += x.kind != TAB_CELL_NULL;
        sentences += x.kind == TAB_CELL_TEXT && words(x.text) >= WORDS;
        phrases += x.kind == TAB_CELL_TEXT && words(x.text) > 1;
    }
    bool gaps = lines < t->rows + (t->col[0].name.n > 0);
    return (t->rows == 0 && tab_top_kind_of(t->col[0].name) == TAB_TOP_TEXT) || 2 * sentences > lines ||
           (gaps && lines <= FEW && phrases == lines);
}

static tab_status read_book(reader *r, tab_str name, const tab_zip *z, book_fn fn, const char *format)
{
    tab_sheet *sheet;
    size_t n = 0;
    tab_sheet_limits most = { r->most->bytes, r->most->cells, r->most->cols, r->most->tables, r->asked };
    TAB_TRY(can_ask(r, false, true, true, "a workbook"));
    TAB_TRY(fn(r->a, z, most, &sheet, &n, r->err));
    if (n == 0)
        return tab_fail(r->err, TAB_VALIDATION, "", "no visible sheet contains a value");
    size_t tables = 0, kept = 0;
    for (size_t i = 0; i < n; i++)
        tables += !holds_notes(sheet[i].table);
    kept = tables > 0 ? tables : n; /* of notes alone, all are read */
    for (size_t i = 0; i < n; i++) {
        tab_table *t = tab_arena_new_of(r->a, tab_table, 1);
        if (t == NULL)
            return tab_no_memory(r->err);
        *t = *sheet[i].table;
        t->id = stem(r->a, name, kept > 1 ? sheet[i].name : TAB_S(""));
        if (kept < n && holds_notes(t)) {
            note(r, stem(r->a, name, sheet[i].name), "the sheet contains notes but no table and was skipped");
            continue;
        }
        if (sheet[i].notes.skipped > 0)
            note(r, t->id, "%zu rows above the header were skipped", sheet[i].notes.skipped);
        if (!sheet[i].notes.header)
            note(r, t->id, "the first row contains values, so the columns have no names");
        if (sheet[i].notes.merged > 0)
            note(r, t->id, "%zu merged cells were repeated in each of their rows", sheet[i].notes.merged);
        if (sheet[i].notes.hidden > 0)
            note(r, t->id, "%zu hidden rows were read as well", sheet[i].notes.hidden);
        if (sheet[i].notes.total)
            note(r, t->id, "the last row is a total of the others and was skipped");
        tab_file_reading how = { .format = format, .header_rows = sheet[i].notes.header, .confidence = -1 };
        tab_reading_skipped(&how, sheet[i].notes.skipped,
                            r->asked->skip_lines >= 0 ? "as asked" : "above the header");
        tab_reading_skipped(&how, sheet[i].notes.total, "totals of the others");
        TAB_TRY(add_parts(r, name, t, &sheet[i].notes.seen, sheet[i].name, kept > 1, how));
    }
    return TAB_OK;
}

/* ---- what it is -------------------------------------------------------------------------------- */

static bool begins(tab_str s, const char *magic, size_t n)
{
    return s.n >= n && memcmp(s.p, magic, n) == 0;
}

/* A text's first sign that is neither a mark of its encoding nor blank. */
static tab_str first_sign(tab_str s)
{
    size_t i = begins(s, "\xEF\xBB\xBF", 3) ? 3 : 0;
    while (i < s.n && s.p[i] != 0 && strchr(" \t\r\n", s.p[i]) != NULL)
        i++;
    return (tab_str){ s.p + i, s.n - i };
}

/* Markup, which begins like no header of a table. */
static tab_status markup(tab_str s, tab_error *err)
{
    static const struct {
        const char *begin, *what;
    } kinds[] = {
        { "<!doctype html", "it is a web page, perhaps a sign-in page; send the file itself" },
        { "<html", "it is a web page, perhaps a sign-in page; send the file itself" },
        { "<!doctype", "it is a markup document; send its table as CSV, JSON or xlsx" },
        { "<?xml", "it is XML; send its table as CSV, JSON or xlsx" },
        { "<svg", "it is an image; send its table as CSV or xlsx" },
        { "{\\rtf", "it is a word processor document; send its table as CSV or xlsx" },
    };
    s = first_sign(s);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (s.n >= strlen(kinds[i].begin) && strncasecmp(s.p, kinds[i].begin, strlen(kinds[i].begin)) == 0)
            return tab_fail(err, TAB_VALIDATION, "", "%s", kinds[i].what);
    return TAB_OK;
}

/* What is known and not read, with the way out. */
static tab_status refused(tab_str s, tab_error *err)
{
    static const struct {
        const char *magic;
        size_t n;
        const char *what;
    } formats[] = {
        { "\xD0\xCF\x11\xE0", 4, "it is an old or encrypted workbook; save it as .xlsx without a password" },
        { "%PDF", 4, "it is a PDF; send its table as CSV or xlsx" },
        { "\x28\xB5\x2F\xFD", 4, "it is compressed with zstd; decompress it or use gzip" },
        { "BZh", 3, "it is compressed with bzip2; decompress it or use gzip" },
        { "\xFD\x37zXZ", 5, "it is compressed with xz; decompress it or use gzip" },
        { "SQLite format 3", 15, "it is a SQLite database; upload it or export its tables as CSV" },
        { "\0\1\0\0Standard ", 13, "it is an Access database; export its tables as CSV or xlsx" },
        { "7z\xBC\xAF\x27\x1C", 6, "it is a 7-Zip archive; unpack it or use zip or gzip" },
        { "Rar!", 4, "it is a RAR archive; unpack it or use zip or gzip" },
        { "\x04\x22\x4D\x18", 4, "it is compressed with lz4; decompress it or use gzip" },
        { "\x89PNG", 4, "it is an image; send its table as CSV or xlsx" },
        { "\xFF\xD8\xFF", 3, "it is an image; send its table as CSV or xlsx" },
        { "GIF8", 4, "it is an image; send its table as CSV or xlsx" },
        { "II*\0", 4, "it is an image; send its table as CSV or xlsx" },
        { "MM\0*", 4, "it is an image; send its table as CSV or xlsx" },
        { "RIFF", 4, "it is an image, audio or video file, not a table" },
        { "OggS", 4, "it is an audio or video file, not a table" },
        { "ID3", 3, "it is an audio file, not a table" },
        { "\177ELF", 4, "it is a program, not a table" },
        { "MZ\x90\0", 4, "it is a program, not a table" },
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (begins(s, formats[i].magic, formats[i].n))
            return tab_fail(err, TAB_VALIDATION, "", "%s", formats[i].what);
    if (s.n > 12 && memcmp(s.p + 4, "ftyp", 4) == 0)
        return tab_fail(err, TAB_VALIDATION, "", "it is a video or an image, not a table");
    if (s.n > 262 && memcmp(s.p + 257, "ustar", 5) == 0)
        return tab_fail(err, TAB_VALIDATION, "",
                        "it is a tar archive; send its files one by one or as a .zip");
    return markup(s, err);
}

static bool is_json(tab_str name, tab_str s)
{
    static const char *const json[] = { ".json", ".ndjson", ".jsonl", ".geojson", NULL }, *const text[] = {
        ".csv", ".tsv", ".psv", ".tab", ".txt", NULL
    };
    if (one_of(name, json))
        return true;
    s = first_sign(s);
    return !one_of(name, text) && s.n > 0 && (*s.p == '{' || *s.p == '[');
}

static tab_status read_plain(reader *r, tab_str name, tab_str bytes)
{
    TAB_TRY(refused(bytes, r->err));
    if (first_sign(bytes).n == 0)
        return tab_fail(r->err, TAB_VALIDATION, "",
                        bytes.n == 0 ? "it is empty" : "it is empty: it contains only white space");
    if (tab_arrow_is(bytes))
        return read_arrow(r, name, bytes);
    if (tab_stored_is(bytes))
        return read_stored(r, name, bytes);
    if (tab_parquet_is(bytes))
        return read_parquet(r, name, bytes);
    if (tab_statistics_is(bytes))
        return read_statistics(r, name, bytes);
    return is_json(name, bytes) ? read_json(r, name, bytes) : read_csv(r, name, bytes);
}

static tab_status read_any(reader *r, tab_str name, tab_str bytes, bool packed);

static tab_status read_entries(reader *r, const tab_zip *z, bool packed)
{
    size_t before = r->n;
    if (packed)
        return tab_fail(r->err, TAB_VALIDATION, "", "it is an archive inside an archive; unpack it first");
    for (size_t i = 0; i < z->n; i++) {
        tab_str name = z->entry[i].name;
        const char *slash = memrchr(name.p, '/', name.n);
        const char *last = slash != NULL ? slash + 1 : name.p;
        bool folder = name.n == 0 || last == name.p + name.n;
        if (folder || *last == '.' || begins(name, "__MACOSX/", 9))
            continue;
        tab_grown g = { 0 };
        tab_status s = tab_zip_read(z, &z->entry[i], r->most->bytes, tab_grown_add, &g, r->err);
        if (s == TAB_OK)
            s = read_any(r, name, (tab_str){ g.p != NULL ? g.p : "", g.n }, true);
        free(g.p);
        TAB_TRY(s);
    }
    return r->n > before ? TAB_OK : tab_fail(r->err, TAB_VALIDATION, "", "the archive is empty");
}

static tab_status read_zip(reader *r, tab_str name, tab_str bytes, bool packed)
{
    tab_zip z;
    TAB_TRY(tab_zip_open(r->a, bytes, &z, r->err));
    if (tab_zip_find(&z, TAB_S("xl/workbook.xml")) != NULL)
        return read_book(r, name, &z, tab_xlsx_read, "xlsx");
    if (tab_zip_find(&z, TAB_S("content.xml")) != NULL)
        return read_book(r, name, &z, tab_ods_read, "ods");
    if (tab_zip_find(&z, TAB_S("word/document.xml")) != NULL)
        return tab_fail(r->err, TAB_VALIDATION, "",
                        "it is a word processor document; send its table as CSV or xlsx");
    if (tab_zip_find(&z, TAB_S("ppt/presentation.xml")) != NULL)
        return tab_fail(r->err, TAB_VALIDATION, "", "it is a presentation; send its table as CSV or xlsx");
    if (tab_zip_find(&z, TAB_S("xl/workbook.bin")) != NULL)
        return tab_fail(r->err, TAB_VALIDATION, "", "it is an .xlsb; save it as .xlsx");
    return read_entries(r, &z, packed);
}

static tab_status read_gzip(reader *r, tab_str name, tab_str bytes, bool packed)
{
    tab_grown g = { 0 };
    if (packed)
        return tab_fail(r->err, TAB_VALIDATION, "",
                        "it is compressed twice; decompress it once and send it again");
    tab_status s = tab_gzip_read(bytes, r->most->bytes, tab_grown_add, &g, r->err);
    if (ends_in(name, ".gz"))
        name.n -= 3;
    if (s == TAB_OK)
        s = read_any(r, name, (tab_str){ g.p != NULL ? g.p : "", g.n }, true);
    free(g.p);
    return s;
}

static tab_status read_any(reader *r, tab_str name, tab_str bytes, bool packed)
{
    if (bytes.n > r->most->bytes)
        return tab_fail(r->err, TAB_VALIDATION, "", "it is larger than the limit of %llu MiB",
                        (unsigned long long)(r->most->bytes >> 20));
    if (begins(bytes, "\x1f\x8b", 2))
        return read_gzip(r, name, bytes, packed);
    if (begins(bytes, "PK\3\4", 4) || begins(bytes, "PK\5\6", 4))
        return read_zip(r, name, bytes, packed);
    return read_plain(r, name, bytes);
}

/* Two tables of one id: the later gets a number. */
static tab_status apart(reader *r)
{
    for (size_t i = 1; i < r->n; i++)
        for (size_t k = 0, number = 2; k < i; k++) {
            char text[160];
            if (!tab_str_eq(r->table[k]->id, r->table[i]->id))
                continue;
            tab_table *t = tab_arena_new_of(r->a, tab_table, 1);
            if (t == NULL)
                return tab_no_memory(r->err);
            tab_str id = r->table[k]->id;
            int n = snprintf(text, sizeof text, "%.*s_%zu", (int)(id.n < 100 ? id.n : 100), id.p, number++);
            *t = *r->table[i];
            t->id = tab_arena_copy(r->a, (tab_str){ text, (size_t)n });
            r->table[i] = t;
            k = (size_t)-1; /* against all again */
        }
    return TAB_OK;
}

tab_status tab_file_read_as(tab_arena *a, tab_str name, tab_str bytes, const tab_file_limits *most,
                            const tab_reading_asked *asked, tab_file *ret, tab_error *err)
{
    reader r = { .a = a, .most = most, .asked = asked, .err = err };
    r.table = tab_arena_new_of(a, const tab_table *, most->tables);
    r.sheet = tab_arena_new_of(a, tab_str, most->tables);
    r.reading = tab_arena_new_of(a, tab_str, most->tables);
    r.notes = tab_arena_alloc(a, NOTES, 1);
    if (r.table == NULL || r.sheet == NULL || r.reading == NULL || r.notes == NULL)
        return tab_no_memory(err);
    tab_status s = read_any(&r, name, bytes, false);
    if (s == TAB_OK)
        s = apart(&r);
    if (s != TAB_OK) {
        tab_error why = *err;
        bool asked_for = strncmp(why.param, "options.", 8) == 0;
        return tab_fail(err, s, asked_for ? why.param : "", "%.*s: %s", (int)(name.n < 80 ? name.n : 80),
                        name.p, why.message);
    }
    *ret = (tab_file){ r.table, r.sheet, r.reading, r.n, { r.notes, r.notes_n } };
    return TAB_OK;
}

tab_status tab_file_read(tab_arena *a, tab_str name, tab_str bytes, const tab_file_limits *most,
                         tab_file *ret, tab_error *err)
{
    static const tab_reading_asked found = TAB_READING_FOUND;
    return tab_file_read_as(a, name, bytes, most, &found, ret, err);
}
