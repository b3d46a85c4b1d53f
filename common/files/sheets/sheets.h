/* Workbooks: the visible sheets of an xlsx (ECMA-376) or ods (OpenDocument 1.2) archive, each a table
 * (grid.h), streamed. Cells are values, as last calculated; dates and times become ISO 8601 text by their
 * number format or type; an error such as #N/A is text; an empty text is null. */
#ifndef TAB_FILES_SHEETS_H
#define TAB_FILES_SHEETS_H

#include "common/files/csv/grid.h"
#include "common/files/unpack.h"

typedef struct {
    uint64_t bytes, cells; /* most bytes of one part, unpacked; most cells of one sheet */
    size_t cols, sheets;
    const tab_reading_asked *asked;
} tab_sheet_limits;

typedef struct {
    tab_str name;
    const tab_table *table; /* its id is the sheet's name */
    tab_grid_notes notes;
} tab_sheet;

/* Sheets without any cell are left out. Errors: VALIDATION (damaged, encrypted, too large, hostile),
 * INTERNAL. */
tab_status tab_xlsx_read(tab_arena *a, const tab_zip *z, tab_sheet_limits most, tab_sheet **ret,
                         size_t *ret_n, tab_error *err) TAB_CHECKED;
tab_status tab_ods_read(tab_arena *a, const tab_zip *z, tab_sheet_limits most, tab_sheet **ret, size_t *ret_n,
                        tab_error *err) TAB_CHECKED;

#endif
