/* A uniform sample of rows that come in order: those whose numbers have the least hashes under a seed (Cohen
 * & Kaplan 2007, bottom-k). Which rows it is of depends on the seed and on how many there are, not on pieces
 * or threads. Columns are kept apart, so that any thread may take one.
 *
 *   choose a piece's rows, of several pieces ──> take each column ──> ... ──> end ──> tables, by rank
 *
 * Candidates are at most three times the sample: they are thinned when they are more. */
#ifndef TAB_SAMPLE_H
#define TAB_SAMPLE_H

#include "common/table/table.h"

typedef struct tab_sample tab_sample;

enum { TAB_SAMPLE_PIECES = 256 };

/* NULL: out of memory. texts: a column that holds a text holds no number (CSV). */
tab_sample *tab_sample_new(size_t most, size_t columns, bool texts, uint64_t seed);
void tab_sample_free(tab_sample *s); /* NULL is fine */

/* Which rows of the next n (TAB_SAMPLE_PIECES at most) pieces are candidates. False: out of memory. */
bool tab_sample_choose(tab_sample *s, const tab_table *const *piece, size_t n) TAB_CHECKED;
/* The candidates' cells of one column of those pieces. Each column once. False: out of memory. */
bool tab_sample_take(tab_sample *s, size_t column, const tab_table *const *piece, size_t n) TAB_CHECKED;

/* Behind the last piece, before tables are made. False: out of memory. */
bool tab_sample_end(tab_sample *s) TAB_CHECKED;

uint64_t tab_sample_rows(const tab_sample *s); /* that came */

/* The rows of rank [from, to) among the hashes, as many as there are, in the order in which they came.
 * *ret_row: the number of each. They live in `a`. False: out of memory. */
bool tab_sample_table(const tab_sample *s, tab_arena *a, const tab_table *top, size_t from, size_t to,
                      const tab_table **ret, uint64_t **ret_row) TAB_CHECKED;

#endif
