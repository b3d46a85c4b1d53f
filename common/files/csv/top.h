/* Where a table begins among the first records of a file or a sheet: how many stand above it (titles,
 * notes), and whether the next one is its header. Titles are leading records that fill half of the usual
 * number of fields or less, from the left. The first record is data where it holds values in columns of
 * values, holds no name there, and is no row of years or of positions. */
#ifndef TAB_FILES_TOP_H
#define TAB_FILES_TOP_H

#include "common/base/base.h"

enum { TAB_TOP_RECORDS = 64, TAB_TOP_COLS = 512 };

typedef struct {
    size_t width, filled;
    bool after_gap;              /* a filled field has an empty one on its left */
    uint8_t kind[TAB_TOP_COLS];  /* 0 empty, 1 a value (tab_csv_value), 2 other text */
    double number[TAB_TOP_COLS]; /* of a value that is a plain whole number, else -1 */
} tab_top_record;

/* Field k of a record that was zeroed; fields come from left to right. */
void tab_top_cell(tab_top_record *r, size_t k, tab_str s);

typedef struct {
    size_t skip; /* records above the table */
    bool header;
} tab_top;
tab_top tab_top_find(const tab_top_record *r, size_t n);

#endif
