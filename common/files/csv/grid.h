/* A sheet's cells, which come by position, as a table: titles above it are skipped and its header is found
 * as top.h says, the first 64 rows being kept until then; a row of totals at the end is left out (total.h).
 * Columns without any cell on the left are none; a row without any value keeps its number. A cell that is
 * merged over several rows counts for each of them. */
#ifndef TAB_FILES_GRID_H
#define TAB_FILES_GRID_H

#include "common/files/csv/layout.h"
#include "common/files/reading.h"

typedef struct tab_grid tab_grid;
typedef struct {
    size_t skipped; /* rows above the header, from the first that holds something */
    bool header, total;
    size_t merged;        /* cells that count for the rows below theirs as well */
    size_t hidden;        /* rows that a filter or a person hides; they are read */
    tab_layout_seen seen; /* for layout.h; its parts are in the arena */
} tab_grid_notes;

/* Everything is made in the arena; at most so many columns, and rows x columns. asked outlives the grid. */
tab_grid *tab_grid_new(tab_arena *a, size_t cols, uint64_t cells, const tab_reading_asked *asked);
/* Cells in order of rows, and of columns inside a row; no null among them; texts are copied. Errors:
 * VALIDATION (order, too many), INTERNAL. */
tab_status tab_grid_cell(tab_grid *g, size_t row, size_t col, tab_cell x, tab_error *err) TAB_CHECKED;
/* The cell there spans so many rows; before or after the cells, in any order. Errors: VALIDATION (more rows
 * than the sheet may have cells, all spans together), INTERNAL. */
tab_status tab_grid_span(tab_grid *g, size_t row, size_t col, size_t rows, tab_error *err) TAB_CHECKED;
/* *ret is NULL where there was no cell. */
tab_status tab_grid_table(tab_grid *g, tab_str id, const tab_table **ret, tab_grid_notes *notes,
                          tab_error *err) TAB_CHECKED;

#endif
