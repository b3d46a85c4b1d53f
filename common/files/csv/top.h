/* Where a table begins among the first records of a file or a sheet: how many stand above it (titles,
 * notes), and whether the next ones, up to three, are its header. Titles are leading records that fill half
 * of the usual number of fields or less, from the left; a table of its own that is narrower than what
 * follows a gap is none. Pairs of a name and a value or a text, above three columns and more, are titles
 * too. The first record is data where it holds values in columns of values, holds no name there, and is no
 * row of years or of positions; without columns of values, where its texts stand in their columns twice
 * again. A second and third record are of the header where they name two columns of values at least, and
 * every one together with what stands above. */
#ifndef TAB_FILES_TOP_H
#define TAB_FILES_TOP_H

#include "common/base/base.h"

enum { TAB_TOP_RECORDS = 64, TAB_TOP_COLS = 512, TAB_TOP_HEADS = 3 };

typedef enum { TAB_TOP_EMPTY, TAB_TOP_VALUE, TAB_TOP_TEXT, TAB_TOP_MARK } tab_top_kind;

typedef struct {
    size_t width, filled;
    bool after_gap;              /* a filled field has an empty one on its left */
    bool sentence;               /* a field of four words or more, as titles have */
    bool below_gap;              /* a line without any character stands above */
    uint8_t kind[TAB_TOP_COLS];  /* a tab_top_kind: MARK is a text such as n/a or - */
    uint64_t text[TAB_TOP_COLS]; /* a hash of the field */
    double number[TAB_TOP_COLS]; /* of a value that is a plain whole number, else -1 */
} tab_top_record;

/* Field k of a record that was zeroed; fields come from left to right. */
void tab_top_cell(tab_top_record *r, size_t k, tab_str s);

tab_top_kind tab_top_kind_of(tab_str s);

typedef struct {
    size_t skip;  /* records above the table */
    size_t heads; /* records of its header, at most TAB_TOP_HEADS */
} tab_top;
/* skip: so many are known to stand above; heads: so many are the header; -1: found. */
tab_top tab_top_find(const tab_top_record *r, size_t n, int skip, int heads);

#endif
