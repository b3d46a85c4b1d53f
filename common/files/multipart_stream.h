/* A body of multipart/form-data (RFC 7578) as it comes: one part after another, and never more of the body in
 * memory than a buffer. multipart.h reads the same of a body that is all here. */
#ifndef TAB_FILES_MULTIPART_STREAM_H
#define TAB_FILES_MULTIPART_STREAM_H

#include "common/base/arena.h"
#include "common/files/multipart.h"

/* Writes 1 to `most` of the next bytes; *ret_n 0: there are no more. */
typedef tab_status tab_pull(void *arg, char *to, size_t most, size_t *ret_n, tab_error *err);

typedef struct tab_parts tab_parts; /* lives in the arena */

/* Errors of all three: the pull's; VALIDATION on "body" (no boundary, cut off, a part without a name, or two
 * of one name, more than `most`); INTERNAL (memory). */
tab_status tab_parts_open(tab_arena *a, const char *content_type, tab_pull *pull, void *arg, size_t most,
                          tab_parts **ret, tab_error *err) TAB_CHECKED;
/* The next part's names, texts of the arena, without its bytes; *ret_more false: the last one has passed,
 * and all of the body behind it. Call it when the part before has ended. */
tab_status tab_parts_next(tab_parts *p, tab_part *ret, bool *ret_more, tab_error *err) TAB_CHECKED;
/* The part's next bytes, until the next call; n 0: it has ended. */
tab_status tab_parts_take(tab_parts *p, tab_str *ret, tab_error *err) TAB_CHECKED;

#endif
