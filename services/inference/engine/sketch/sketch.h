/* What is known of a column of which no more than a piece is held: how many cells are there, how many values
 * differ, which are frequent, where a share of the numbers lies.
 *
 *   counts      exact
 *   distinct    exact while all values fit beside each other; beyond, HyperLogLog by Ertl's estimator (2017,
 *               arXiv 1702.01284): 2^14 registers, 0.8 % standard error
 *   frequent    counters; when they are full, the median count is taken off all, those at 0 go (Misra & Gries
 *               1982, as Anderson et al. 2017 do it). A count is exact for a value that stayed since it was
 *               first seen, else too low
 *   quantiles   KLL (Karnin, Lang & Liberty 2016): the rank is off by 0.5 % of the cells, in 99 of 100
 *
 * Cells are taken piece by piece, in their order: the same pieces give the same sketch. */
#ifndef TAB_SKETCH_H
#define TAB_SKETCH_H

#include "common/json/spread.h"
#include "common/table/table.h"

typedef struct tab_sketch tab_sketch;

/* Of one of so many columns: more of them are sketched in less room each. NULL: out of memory. */
tab_sketch *tab_sketch_new(size_t columns);
void tab_sketch_free(tab_sketch *s); /* NULL is fine */

/* The next rows of the column. False: out of memory. */
bool tab_sketch_add(tab_sketch *s, const tab_column *c, size_t rows) TAB_CHECKED;

/* As bytes for the same build on the same machine, behind those of `o`; and back, off the front of `rest`.
 * NULL: out of memory, or no such bytes. */
void tab_sketch_write(const tab_sketch *s, tab_out *o);
tab_sketch *tab_sketch_read(tab_str *rest);

uint64_t tab_sketch_present(const tab_sketch *s);
uint64_t tab_sketch_numbers(const tab_sketch *s); /* of them */
uint64_t tab_sketch_distinct(const tab_sketch *s, bool *ret_exact);
/* Cells of this text (or number, where it is one); *ret_exact: not less than there are. */
uint64_t tab_sketch_count(const tab_sketch *s, tab_str text, bool *ret_exact);
/* The number below which a share q of the numbers lies; NaN: there are none. */
double tab_sketch_quantile(const tab_sketch *s, double q);

/* As spread.h tells it of whole columns: a histogram of numbers, or the most frequent values. NULL: the arena
 * is full. */
Tabella__Spread *tab_sketch_spread(tab_arena *a, const tab_sketch *s, bool numbers);

#endif
