/* Several files as one table: the parts of a table that is kept in pieces, or a folder of monthly files. */
#ifndef TAB_FILES_UNION_H
#define TAB_FILES_UNION_H

#include "common/table/table.h"

/* Their rows one behind the other, columns by name in order of first sight; a column that a file lacks, or
 * that comes twice in one, is null there or joined by its place. Errors: VALIDATION (more than so many
 * columns or cells), INTERNAL (memory). */
tab_status tab_tables_union(tab_arena *a, const tab_table *const *t, size_t n, tab_str id, size_t cols,
                            uint64_t cells, const tab_table **ret, tab_error *err) TAB_CHECKED;

typedef struct {
    size_t files, first; /* of how many tables one was made, and which was the first */
} tab_stacked;

/* Of *n tables those that have the same names of columns, in any order, become one each, at the place of the
 * first, with a column `file` (or source_file) that says which table a row is of. It is called what their ids
 * begin with, sales of sales-2024-01 and sales-2024-02, else by the folder. ret: (*n). Errors: as above. */
tab_status tab_tables_stack(tab_arena *a, const tab_table **t, size_t *n, tab_str folder, size_t cols,
                            uint64_t cells, tab_stacked *ret, tab_error *err) TAB_CHECKED;

#endif
