/* Which tables lie in what was read as one: reports hold several, one above the other or side by side, with
 * titles over them and notes below, and headers of two or three rows.
 *
 *   title                          -> gives the table its name
 *   Region  Jul  Aug      Name  Age   a column without any cell parts what stands side by side, where names
 *   North     1    2      Ann    31   repeat, each part has a title, one ends before the other, or each
 *   South     2    3      Bob    44   begins with names of its own
 *                                  -> a gap
 *   Staff                          -> title of the next
 *   City   Rooms                   -> texts above columns of values, or other names under a title: a header
 *   Bonn      12
 *   Ulm        9
 *   Source: ...                    -> notes, which are no rows
 *
 * A gap alone parts nothing: a table may stand in groups, whose totals are dropped and whose labels become a
 * column. A header that comes again is dropped, unless a title of its own stands right above it. Line classes
 * follow Christodoulakis et al. 2020 (Pytheas); there is no learnt part (decisions 0425, 0701). */
#ifndef TAB_FILES_LAYOUT_H
#define TAB_FILES_LAYOUT_H

#include "common/table/table.h"

/* What a reader knows that the table does not say. All zero: nothing. */
typedef struct {
    const uint32_t *gap; /* (gaps) rows above which lines without any character stood, ascending */
    size_t gaps;
    const tab_str *upper; /* (uppers, cols) cells of the header's rows above the names */
    size_t uppers, cols;
    tab_str title; /* a line above the header; "" */
    bool texts;    /* numbers in a column of texts are texts (CSV) */
    bool header;
} tab_layout_seen;

enum { TAB_LAYOUT_PARTS = 32, TAB_LAYOUT_ROWS = 100000 }; /* more rows are an export, and no report */

typedef struct {
    const tab_table *table; /* id as the whole one's */
    tab_str title;          /* "" where it has none */
    size_t notes, repeated; /* rows below it that are notes; headers that came again: both left out */
    size_t totals;          /* rows of totals of groups, left out as well */
    size_t labels;          /* labels of groups: a column holds them, and no row */
    size_t heads;           /* rows of its header */
    bool total;             /* a row of totals was left out */
} tab_layout_part;

/* ret: (TAB_LAYOUT_PARTS). One part at least; where nothing is to be done it is t itself. Errors: INTERNAL
 * (memory). */
tab_status tab_layout_parts(tab_arena *a, const tab_table *t, const tab_layout_seen *seen,
                            tab_layout_part *ret, size_t *ret_n, tab_error *err) TAB_CHECKED;

#endif
