/* Tables as arrays in memory (the Arrow C data interface), with the types and in the batches that an Arrow
 * file of the same rows has. Buffers are handed over as they were built: whoever releases a batch frees
 * it. */
#ifndef TAB_FILES_TABLE_ARRAYS_H
#define TAB_FILES_TABLE_ARRAYS_H

#include "common/files/arrow/arrow_stream.h"
#include "common/files/written/table_file.h"

/* Takes a batch over, or releases it. */
typedef tab_status tab_file_take(void *to, struct ArrowArray *batch, tab_error *err);

/* As tab_file_new; batches go to `take` where a file's bytes are sent. */
tab_file *tab_file_arrays(const tab_file_column *column, size_t cols, tab_file_take *take, void *to);

/* The columns' names and types; the caller releases it. INTERNAL: memory. */
tab_status tab_file_schema(const tab_file *f, struct ArrowSchema *ret, tab_error *err) TAB_CHECKED;

#endif
