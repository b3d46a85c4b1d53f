/* Thousandths of cells, as the ledger counts them, in whole cells, as people read them. */
#ifndef TAB_WHOLE_CELLS_H
#define TAB_WHOLE_CELLS_H

#include <stddef.h>
#include <stdint.h>

/* The sum of n parts, rounded half up. No part is below 0. */
uint64_t whole_total(const int64_t *milli, size_t n);

/* ret (n): the parts in whole cells whose sum is whole_total: the floors, and what is over by largest
 * remainder (Hamilton's method). */
void whole_cells(const int64_t *milli, size_t n, uint64_t *ret);
#endif
