/* Query parameters and signed cursors. */
#ifndef TAB_API_PARAMS_H
#define TAB_API_PARAMS_H

#include "services/api/api.h"

tab_status query_param(const request *r, const char *name, tab_str *ret,
                       tab_error *err) TAB_CHECKED; /* p NULL: absent */
/* limit (1..100, otherwise when absent) and the position that the cursor of `list` holds (n 0:
 * none). */
tab_status query_page(request *r, const char *list, uint32_t otherwise, uint32_t *ret_limit,
                      tab_str *ret_after, tab_error *err) TAB_CHECKED;
void cursor_write(const request *r, tab_out *o, const char *list, tab_str position); /* as one JSON string */
void next_cursor_member(request *r, const char *list, tab_str position); /* null when it is empty */

#endif
