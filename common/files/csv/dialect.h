/* How a text is cut into records and fields, and how that is found out.
 *
 * The dialect is the candidate of greatest consistency (van den Burg, Nazabal & Sutton 2019, "Wrangling messy
 * CSV files by detecting row and type patterns"): on the first records, pattern score x type score.
 *
 *   pattern  sum over widths L of  p(L)^2 * v(L),  p(L) the share of records that are L fields wide,
 *            v(L) = (L - 1) / L, v(1) = 0.4: even cuts into many fields (two columns: 0.9 even)
 *   type     the share of fields that need no other dialect: quoted ones, empty ones, numbers, dates, texts
 *            that hold no delimiter and no quote of another candidate; a space before a number needs one
 *
 * Whether quotes stand undoubled in quoted fields is asked of the best one, where some field goes on behind
 * its closing quote (decision 0470). Squares are ours: with the paper's plain shares, one text column whose
 * texts hold a | is two columns (decision 0309). */
#ifndef TAB_FILES_DIALECT_H
#define TAB_FILES_DIALECT_H

#include "common/base/arena.h"

typedef struct {
    char delimiter;
    char quote;   /* doubled inside a quoted field */
    char escape;  /* 0, or \: the character behind it is itself */
    bool space;   /* spaces behind a delimiter, and before the next one, are no part of the field */
    char comment; /* 0, or #: a line that begins with it is none */
    bool inner;   /* quotes stand undoubled in quoted fields: one closes before a delimiter or a line's end */
} tab_csv_dialect;

enum { TAB_CSV_FIELD_MOST = 16 << 20 }; /* bytes of one quoted field */

typedef struct {
    const char *p, *end;
    tab_csv_dialect d;
    char *scratch; /* (at least tab_csv_scratch bytes) a quoted field whose bytes are not its text's */
    size_t line, quote_line, comments;
    bool quoted, torn;       /* the field given last is; text stands behind its closing quote */
    bool unclosed, too_long; /* the text cannot be read on */
} tab_csv_lexer;

static inline size_t tab_csv_scratch(size_t text_bytes)
{
    return text_bytes < TAB_CSV_FIELD_MOST ? text_bytes + 1 : (size_t)TAB_CSV_FIELD_MOST + 1;
}

/* To the next record, past comments and lines without any character, which *blank counts (NULL: not); false
 * at the end of the text. */
bool tab_csv_record(tab_csv_lexer *f, size_t *blank);

/* The next field of the record; *ret_last when it ends it. A field that opens with a quote runs to its
 * closing one, across lines; what stands behind that up to the delimiter is kept as it is. False when the
 * text cannot be read on. */
bool tab_csv_field(tab_csv_lexer *f, tab_str *ret, bool *ret_last);

/* Digits with what stands among them in numbers, amounts, dates and times. */
bool tab_csv_value(tab_str s);

/* A first line "sep=;", which spreadsheet programs write and read, names the delimiter and is cut off *text;
 * 0 where there is none. */
char tab_csv_declared(tab_str *text);

/* Consistencies, 0 to 1: of what was chosen, and of the next delimiter's best. */
typedef struct {
    double best, next;
} tab_csv_scores;

/* UTF-8 text; declared as above; quote: the only one, 0: found as well; scratch as above. */
tab_csv_dialect tab_csv_dialect_of(tab_str text, char declared, char quote, char *scratch,
                                   tab_csv_scores *ret_scores);

#endif
