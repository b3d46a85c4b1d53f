/* Labels of groups among a table's rows: a text alone in the first column, and below it what belongs to it.
 *
 *   plant   n   kg            group   plant   n   kg
 *   North                     North   Rose    3    1
 *   Rose    3    1     ->     North   Tulip   4    2
 *   Tulip   4    2            South   Fern    9    3
 *   South
 *   Fern    9    3
 *
 * A label is no row, and what it says is an attribute of each row below it (decision 0701). */
#ifndef TAB_FILES_GROUP_H
#define TAB_FILES_GROUP_H

#include "common/table/table.h"

/* Marks the labels among the rows [from, to) of which drop says nothing yet; *ret_of (rows of t) is each
 * row's label, a row as well. Their number; 0, and nothing is marked, where not all of it fits: the first row
 * is a label, two at least, no two the same nor one the first cell of another row, none right behind another
 * one, twice as many rows as labels, each of which has its first cell and others, in three columns and more;
 * one cell of the rows in twenty is missing at most: in a list with gaps a row may hold nothing but its name.
 * 0 as well where the arena is full. */
size_t tab_group_labels(tab_arena *a, const tab_table *t, size_t from, size_t to, uint8_t *drop,
                        uint32_t **ret_of);

/* The column of what the labels say, over the rows [from, to) that drop leaves. False: the arena is full. */
bool tab_group_column(tab_arena *a, const tab_table *t, size_t from, size_t to, const uint8_t *drop,
                      const uint32_t *of, tab_column *ret) TAB_CHECKED;

#endif
