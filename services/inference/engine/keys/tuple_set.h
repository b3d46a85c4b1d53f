/* A set of tuples of values, by a fingerprint of the ids of their normal forms: open addressing, with the
 * first row of each. Of two columns the fingerprint is the tuple itself; of more it is a hash of 64 bits. */
#ifndef TAB_KEY_TUPLE_SET_H
#define TAB_KEY_TUPLE_SET_H

#include <stdlib.h>

#include "common/base/hash.h"
#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/align/view.h"

typedef struct {
    uint64_t *tuple; /* (slots) */
    uint32_t *row;   /* (slots) the first row that holds the tuple; TAB_NULL: free */
    size_t slots;    /* a power of 2 */
    uint32_t n;
} tab_tuple_set;

static inline void tab_tuple_set_free(tab_tuple_set *s)
{
    free(s->tuple);
    free(s->row);
    *s = (tab_tuple_set){ 0 };
}

/* Room for so many tuples. False: out of memory. */
static inline bool tab_tuple_set_new(tab_tuple_set *s, size_t most)
{
    *s = (tab_tuple_set){ .slots = 16 };
    while (s->slots < 2 * most)
        s->slots *= 2;
    s->tuple = malloc(s->slots * sizeof *s->tuple);
    s->row = malloc(s->slots * sizeof *s->row);
    if (s->tuple == NULL || s->row == NULL) {
        tab_tuple_set_free(s);
        return false;
    }
    memset(s->row, 0xff, s->slots * sizeof *s->row);
    return true;
}

/* The row of a tuple, or TAB_NULL. */
static inline uint32_t tab_tuple_set_row(const tab_tuple_set *s, uint64_t tuple)
{
    size_t at = tab_place(tuple) & (s->slots - 1);
    while (s->row[at] != TAB_NULL && s->tuple[at] != tuple)
        at = (at + 1) & (s->slots - 1);
    return s->row[at];
}

/* Adds a tuple that row `row` holds. False: it is there already. */
static inline bool tab_tuple_set_add(tab_tuple_set *s, uint64_t tuple, uint32_t row)
{
    size_t at = tab_place(tuple) & (s->slots - 1);
    while (s->row[at] != TAB_NULL && s->tuple[at] != tuple)
        at = (at + 1) & (s->slots - 1);
    if (s->row[at] != TAB_NULL)
        return false;
    s->tuple[at] = tuple;
    s->row[at] = row;
    s->n++;
    return true;
}

/* What a row holds in n columns of a table, of which column `other` is read in row `there` instead; n: none.
 * False: a value is missing. */
static inline bool tab_tuple_of(const tab_table_view *t, const uint32_t *col, uint32_t n, size_t row,
                                uint32_t other, size_t there, uint64_t *ret)
{
    uint64_t h = 0;
    for (uint32_t i = 0; i < n; i++) {
        const tab_view *w = &t->col[col[i]];
        uint32_t code = w->code[i == other ? there : row];
        if (code == TAB_NULL)
            return false;
        h = i < 2 ? h << 32 | w->value[code].key : tab_hash_mix(h, w->value[code].key);
    }
    *ret = h;
    return true;
}

#endif
