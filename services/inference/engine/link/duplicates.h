/* Rows of one table that are one entity: duplicates (decision 0135). */
#ifndef TAB_LINK_DUPLICATES_H
#define TAB_LINK_DUPLICATES_H

#include "services/inference/engine/align/view.h"

/* Rows a < b of one table, and the probability that they are one entity. */
typedef struct {
    uint32_t a, b;
    float p;
} tab_twin;

/* Pairs with p >= least that join the table's rows into groups, whose rows are all twins of one another,
 * the likeliest first; *ret lives in arena a. Two rows are twins where no column contradicts: each holds
 * equal values, one value misspelt, or none in one of the rows, and what they share is rare enough that
 * chance does not explain it. A column that numbers the rows is not heard. Cost: linear in the rows. */
tab_status tab_link_twins(const tab_engine *e, const tab_views *v, size_t table, float least, tab_arena *a,
                          tab_twin **ret, size_t *ret_n, tab_error *err) TAB_CHECKED;

/* Probability that rows i and j of one table are one entity, by Bayes' rule from what they agree on; 0
 * where a column contradicts, where they agree on less than two columns, or where most of what is known of
 * either is not known of the other. What tells of a table is made once and lives in arena a; NULL: memory
 * is out. */
typedef struct tab_twin_teller tab_twin_teller;
const tab_twin_teller *tab_twin_teller_new(const tab_views *v, size_t table, tab_arena *a);
float tab_twin_judge(const tab_twin_teller *s, uint32_t i, uint32_t j);

/* Groups of rows: up[] leads to a group's root (union-find), next[] is a ring through its rows. */
static inline uint32_t tab_root(uint32_t *up, uint32_t i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

/* Two rings become one. */
static inline void tab_splice(uint32_t *next, uint32_t x, uint32_t y)
{
    uint32_t t = next[x];
    next[x] = next[y];
    next[y] = t;
}
#endif
