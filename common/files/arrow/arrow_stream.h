/* A table by the Arrow C stream interface ("The Arrow C stream interface", version 1): arrays of another
 * library in this process, read where they lie. Cells are as arrow.h has them. */
#ifndef TAB_FILES_ARROW_STREAM_H
#define TAB_FILES_ARROW_STREAM_H

#include "common/table/table.h"

/* As the interface defines them, under its own guards: another header may have them, too. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* Reads all of the stream, a table of one column a field, and releases it, whatever comes of it. The
 * interface has no sizes of buffers: what made the stream is trusted with them. Errors: VALIDATION (a type
 * that is no cell's, what the stream itself says, more than `cols` columns or `cells` cells), INTERNAL
 * (memory). */
tab_status tab_arrow_stream_read(tab_arena *a, struct ArrowArrayStream *stream, tab_str id, size_t cols,
                                 uint64_t cells, const tab_table **ret, tab_error *err) TAB_CHECKED;

#endif
