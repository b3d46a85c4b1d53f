/* Parts of a JSON text without a tree of it: an API's answer is mostly rows, which become columns as they
 * stand. Texts end in a readable 0; spans are views of them. */
#ifndef DATA_JSON_SPANS_H
#define DATA_JSON_SPANS_H

#include "common/base/arena.h"

/* The value that a JSON pointer (RFC 6901) names; "" is the whole. *ret p NULL: it is not there. VALIDATION:
 * the text is no JSON. */
tab_status json_span(tab_arena *a, tab_str text, const char *pointer, tab_str *ret,
                     tab_error *err) TAB_CHECKED;

/* Where an answer's rows lie that nobody named: the text itself where it is an array; of an object, the
 * only member that is an array of objects, else the only empty array; with `deep`, the first such array
 * below it. *ret p NULL: nowhere; the pointer is the arena's. */
tab_status json_rows_span(tab_arena *a, tab_str text, bool deep, tab_str *ret, const char **ret_pointer,
                          tab_error *err) TAB_CHECKED;

/* The text of a span that is a string, decoded, or of a number; p NULL: neither, or empty. */
tab_status json_span_text(tab_arena *a, tab_str span, tab_str *ret, tab_error *err) TAB_CHECKED;

#endif
