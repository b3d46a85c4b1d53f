/* How a column's values are spread, small enough for a picture in a table's row: a histogram of numbers, or
 * the most frequent values. Deterministic: equal cells give equal bytes. */
#ifndef TAB_SPREAD_H
#define TAB_SPREAD_H

#include "common/json/json.h"
#include "proto/table.pb-c.h"

enum { TAB_SPREAD_BINS = 16, TAB_SPREAD_VALUES = 5, TAB_SPREAD_TEXT = 60 };

/* n numbers, NaN for a missing one. More than twelve different ones are a histogram, fewer are values. NULL:
 * the arena is full. */
Tabella__Spread *tab_spread_numbers(tab_arena *a, const double *x, size_t n);

/* n codes below `levels`, TAB_NULL for a missing one. Values of which hardly any repeats are none. NULL: the
 * arena is full. */
Tabella__Spread *tab_spread_codes(tab_arena *a, const uint32_t *code, size_t n, const tab_str *level,
                                  size_t levels);

/* A column as it lies in a table. NULL: the arena is full. */
Tabella__Spread *tab_spread_column(tab_arena *a, const tab_column *c, size_t rows);

/* As one object. */
void tab_spread_json(tab_out *o, const Tabella__Spread *s);

#endif
