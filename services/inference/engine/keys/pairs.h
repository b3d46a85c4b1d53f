/* References by two columns: the values of a pair of columns identify the rows of a table where neither does
 * alone (the lines of an order by order and line), and a pair of columns of another table holds such pairs
 * (decision 0348). */
#ifndef TAB_KEY_PAIRS_H
#define TAB_KEY_PAIRS_H

#include "services/inference/engine/keys/key_columns.h"

/* Columns are of tab_key_columns.col. child[0] refers to parent[0], child[1] to parent[1]. */
typedef struct {
    uint32_t child[2], parent[2];
    uint32_t pairs, held;  /* distinct pairs of values of the child; those that the parent has */
    uint32_t parent_pairs; /* distinct ones of the parent */
    double chance; /* share that the parent would have, were the child's two values put together anew */
    double told;   /* the evidence, unbounded */
    double p;
    bool once; /* each pair stands once in the child, too */
} tab_key_pair;

/* linked (tables, tables): [child * tables + parent], a single column refers to the parent already; pairs
 * between these are not sought. key (columns): the number of the key that a column belongs to by itself, or
 * TAB_NULL: columns of different keys make no pair. The result is by child table, child columns; each pair
 * of child columns has one parent. It lives in a. Errors: CANCELLED, INTERNAL (out of memory). */
tab_status tab_key_pairs_find(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                              const bool *linked, const uint32_t *key, tab_arena *a, tab_key_pair **ret,
                              size_t *ret_n, tab_error *err) TAB_CHECKED;

/* The row of the parent that each row of the child refers to by two columns, or TAB_NULL: (child rows),
 * malloc'd; NULL: out of memory. Of several parent rows with one pair the first. */
uint32_t *tab_key_pair_rows(const tab_table_view *child, const uint32_t c[2], const tab_table_view *parent,
                            const uint32_t p[2]);

#endif
