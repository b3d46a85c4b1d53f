/* What a caller says of columns and cells in JSON: `options.columns` and `options.missing_values`, as bodies
 * of requests and callers of the library have them. */
#ifndef TAB_JSON_TOLD_H
#define TAB_JSON_TOLD_H

#include "common/json/json.h"

/* An entry of `options.columns`; what it does not say is empty. Texts are the tree's. */
typedef struct {
    tab_str table, column, role, type, use;
} tab_told_column;

/* "auto": marks by evidence; else cells that equal one of these are missing. */
typedef struct {
    bool automatic;
    const tab_str *text;
    const double *number;
    size_t texts, numbers;
} tab_told_marks;

/* The entries of list, at most 2,000; NULL: none. roles: those that there are, NULL behind the last.
 * VALIDATION on "options.columns" and below. */
tab_status tab_told_columns(tab_arena *a, const tab_json *list, const char *const *roles,
                            const tab_told_column **ret, size_t *ret_n, tab_error *err) TAB_CHECKED;

/* "auto" or at most 32 texts and numbers. VALIDATION on "options.missing_values". */
tab_status tab_told_marks_read(tab_arena *a, const tab_json *list, tab_told_marks *ret,
                               tab_error *err) TAB_CHECKED;

/* The member's name of the i-th text of an entry: table, column, role, type, use. */
const char *tab_told_member(size_t i);

#endif
