/* References by two columns and more: the values of a few columns identify the rows of a table where fewer
 * do not (the lines of an order by order and line), and as many columns of another table hold such tuples
 * (decisions 0348, 0416). */
#ifndef TAB_KEY_SETS_H
#define TAB_KEY_SETS_H

#include "services/inference/engine/keys/key_columns.h"

enum { TAB_KEY_WIDEST = 4 /* columns of a key */ };

/* Columns are of tab_key_columns.col. child[i] refers to parent[i]. */
typedef struct {
    uint32_t n, child[TAB_KEY_WIDEST], parent[TAB_KEY_WIDEST];
    uint32_t tuples, held;  /* distinct tuples of values of the child; those that the parent has */
    uint32_t parent_tuples; /* distinct ones of the parent */
    size_t parent_rows;
    double chance; /* share that the parent would have, were one of the child's values put in anew: the
                      greatest over its columns */
    double told;   /* the evidence, bounded */
    double p;
    bool once; /* each tuple stands once in the child, too */
} tab_key_set;

/* linked (tables, tables): [child * tables + parent], a single column refers to the parent already; sets
 * between these are not sought. refers (columns): a column refers by itself. key (columns): the number of
 * the key that a column belongs to by itself, or TAB_NULL: columns of different keys make no set. The
 * result is by child table, child columns; each set of child columns has one parent. It lives in a.
 * Errors: CANCELLED, INTERNAL (out of memory). */
tab_status tab_key_sets_find(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                             const bool *linked, const bool *refers, const uint32_t *key, tab_arena *a,
                             tab_key_set **ret, size_t *ret_n, tab_error *err) TAB_CHECKED;

/* The row of the parent that each row of the child refers to by n columns, or TAB_NULL: (child rows),
 * malloc'd; NULL: out of memory. Of several parent rows with one tuple the first. */
uint32_t *tab_key_set_rows(const tab_table_view *child, const uint32_t *c, const tab_table_view *parent,
                           const uint32_t *p, uint32_t n);

#endif
