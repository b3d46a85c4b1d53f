/* A set of pairs of values, by the ids of their normal forms: open addressing, with the first row of each. */
#ifndef TAB_KEY_PAIR_SET_H
#define TAB_KEY_PAIR_SET_H

#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/align/view.h"

typedef struct {
    uint64_t *pair; /* (slots) */
    uint32_t *row;  /* (slots) the first row that holds the pair; TAB_NULL: free */
    size_t slots;   /* a power of 2 */
    uint32_t n;
} tab_pair_set;

static inline void tab_pair_set_free(tab_pair_set *s)
{
    free(s->pair);
    free(s->row);
    *s = (tab_pair_set){ 0 };
}

/* Room for so many pairs. False: out of memory. */
static inline bool tab_pair_set_new(tab_pair_set *s, size_t most)
{
    *s = (tab_pair_set){ .slots = 16 };
    while (s->slots < 2 * most)
        s->slots *= 2;
    s->pair = malloc(s->slots * sizeof *s->pair);
    s->row = malloc(s->slots * sizeof *s->row);
    if (s->pair == NULL || s->row == NULL) {
        tab_pair_set_free(s);
        return false;
    }
    memset(s->row, 0xff, s->slots * sizeof *s->row);
    return true;
}

/* The row of a pair, or TAB_NULL. */
static inline uint32_t tab_pair_set_row(const tab_pair_set *s, uint64_t pair)
{
    size_t at = tab_place(pair) & (s->slots - 1);
    while (s->row[at] != TAB_NULL && s->pair[at] != pair)
        at = (at + 1) & (s->slots - 1);
    return s->row[at];
}

/* Adds a pair that row `row` holds. False: it is there already. */
static inline bool tab_pair_set_add(tab_pair_set *s, uint64_t pair, uint32_t row)
{
    size_t at = tab_place(pair) & (s->slots - 1);
    while (s->row[at] != TAB_NULL && s->pair[at] != pair)
        at = (at + 1) & (s->slots - 1);
    if (s->row[at] != TAB_NULL)
        return false;
    s->pair[at] = pair;
    s->row[at] = row;
    s->n++;
    return true;
}

/* What row ra holds in column x and row rb in column y; false: one of them is missing. */
static inline bool tab_pair_of(const tab_view *x, size_t ra, const tab_view *y, size_t rb, uint64_t *ret)
{
    if (x->code[ra] == TAB_NULL || y->code[rb] == TAB_NULL)
        return false;
    *ret = (uint64_t)x->value[x->code[ra]].key << 32 | y->value[y->code[rb]].key;
    return true;
}

#endif
