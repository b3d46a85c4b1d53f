/* Rows of one table that are one entity: duplicates (decision 0318). */
#ifndef TAB_LINK_DUPLICATES_H
#define TAB_LINK_DUPLICATES_H

#include "services/inference/engine/link/evidence/twin_pairs.h"

/* Rows a < b of one table, and the probability that they are one entity. */
typedef struct {
    uint32_t a, b;
    float p;
    bool sure; /* enough to join entities across tables: no column contradicts, or 0.97 and more */
} tab_twin;
int tab_twins_likeliest_first(const void *a, const void *b); /* for qsort, of tab_twin; ties by row */

/* Pairs of rows of table `table` that may be one entity, and their p: a model's that was learnt on other
 * tables and calibrated on tables left out (decision 0318). voice: (cols) what its columns say
 * (voices.h), or NULL. Lives in a. Cost: linear in the rows. */
tab_status tab_twins_judge(const tab_engine *e, const tab_views *v, const tab_link_table *tables,
                           size_t table, const tab_voice *voice, tab_arena *a, tab_twin_pairs *ret,
                           tab_error *err) TAB_CHECKED;

/* Rows that other tables refer to by a key, keys (cols), are two where their keys differ: somebody keeps them
 * apart, however alike they are. The odds that they are one fall a thousandfold. keys: or NULL. */
void tab_twins_hear_keys(tab_twin_pairs *s, const bool *keys);

/* Of those the pairs with p >= least that lie within groups of rows which are one entity as a whole, the
 * likeliest first; *ret lives in arena a. */
tab_status tab_twin_groups(const tab_twin_pairs *s, float least, tab_arena *a, tab_twin **ret, size_t *ret_n,
                           tab_error *err) TAB_CHECKED;

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
