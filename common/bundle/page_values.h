/* The values and functions of a page's template. Digits are made by sums and products of doubles and by
 * rounding half up, which are the same in C, Python and JavaScript. */
#ifndef TAB_PAGE_VALUES_H
#define TAB_PAGE_VALUES_H

#include "common/json/json.h"

typedef enum { PAGE_NULL, PAGE_BOOL, PAGE_NUMBER, PAGE_TEXT, PAGE_LIST, PAGE_OBJECT } page_kind;

typedef struct {
    page_kind kind;
    double num; /* BOOL: 0 or 1 */
    tab_str text;
    const tab_json *json; /* LIST: its first item; OBJECT: itself */
    size_t count;         /* LIST */
} page_value;

enum { PAGE_ARGUMENTS = 6 };

page_value page_of_json(const tab_json *j);
page_value page_member(page_value of, page_value key);
bool page_truth(page_value x);
bool page_equal(page_value a, page_value b);
bool page_is_number(page_value x);             /* and finite */
page_value page_number(double x);              /* null where it is not finite */
tab_str page_text(tab_arena *a, page_value x); /* as it is printed, not yet escaped */

/* A function by its name. False: there is none. */
bool page_call(tab_arena *a, tab_str name, const page_value *x, size_t n, page_value *ret);

#endif
