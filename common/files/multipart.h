/* A body of multipart/form-data (RFC 7578, RFC 2046): its parts, in place. */
#ifndef TAB_FILES_MULTIPART_H
#define TAB_FILES_MULTIPART_H

#include "common/base/base.h"

typedef struct {
    tab_str name, file_name; /* as they stand between their quotes; file_name may be empty */
    tab_str bytes;           /* more of the body stands behind the last */
} tab_part;

/* Views of the body. ret holds `most` parts. Errors: VALIDATION on "body" (no boundary, not closed, a part
 * without a name, or twice with one name, too many). */
tab_status tab_multipart_read(const char *content_type, tab_str body, tab_part *ret, size_t most,
                              size_t *ret_n, tab_error *err) TAB_CHECKED;

/* Of such a body's Content-Type: what stands between two parts, from the line's end before it to the
 * boundary. VALIDATION on "body". */
enum { TAB_MULTIPART_MARK = 4 + 70, TAB_MULTIPART_HEAD = 4096 };
tab_status tab_multipart_mark(const char *content_type, char ret[TAB_MULTIPART_MARK], size_t *ret_n,
                              tab_error *err) TAB_CHECKED;
/* A part's names, from the lines of its head without the empty one: views of them. */
tab_status tab_multipart_names(tab_str head, tab_part *ret, tab_error *err) TAB_CHECKED;
tab_status tab_multipart_bad(tab_error *err, const char *what);

#endif
