/* A template of HTML, filled with a JSON document: the page of a bundle. The template is the one of the
 * console and of the Python client (gateway/console/page.html), and they read it as this does, so that one
 * bundle gives one page, byte for byte (decision 0358).
 *
 *   {{E}}                        a value, escaped
 *   {{let x = E}}                a name for it, from here on
 *   {{if E}} .. {{else}} .. {{end}}
 *   {{for x, i in E}} .. {{end}} of a list's items and their numbers
 *
 * An expression has members (a.b, a['b'], a[0]), arithmetic, comparisons, `and`, `or`, `not` and the
 * functions of page_values.c. What is not there is null, and so is what is made of null. */
#ifndef TAB_PAGE_H
#define TAB_PAGE_H

#include "common/json/json.h"

/* values: an object, whose members are the first names. False: the arena is full, or the template does not
 * read. */
bool tab_page_fill(tab_out *o, tab_arena *a, tab_str template, const tab_json *values) TAB_CHECKED;

#endif
