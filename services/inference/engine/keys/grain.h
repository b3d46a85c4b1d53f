/* What one row of a table is: a thing, an observation of things, a line of a document, or a pair of things
 * that belong together (decision 0417). */
#ifndef TAB_GRAIN_H
#define TAB_GRAIN_H

#include "services/inference/engine/keys/keys.h"

/* The kind of a table's rows; the columns that name the thing: the key of an entity, what an observation
 * is of, the document of a line, the sides of a bridge. */
typedef struct tab_grain {
    enum { TAB_GRAIN_ENTITY, TAB_GRAIN_OBSERVATION, TAB_GRAIN_LINE, TAB_GRAIN_BRIDGE } kind;
    uint32_t n, *of; /* columns, ascending */
    uint32_t when;   /* of observations: the column of moments; else TAB_NULL */
    double confidence;
    const char *reason;
} tab_grain;

extern const char *const tab_grain_names[];

/* One for each table: *ret (v->n). k: the references between them. Lives in a. TAB_INTERNAL: out of
 * memory. */
tab_status tab_grains_find(const tab_views *v, const tab_keys *k, tab_arena *a, tab_grain **ret,
                           tab_error *err) TAB_CHECKED;

/* The columns in which observations of tables s and t name the same things: three values in common and
 * half of those of the one. *ret: how many; false: there are none. */
bool tab_grains_same_things(const tab_views *v, const tab_grain *g, size_t s, size_t t, uint32_t *ret_a,
                            uint32_t *ret_b, size_t *ret);
/* How many values two columns have in common. */
size_t tab_shared_values(const tab_view *a, const tab_view *b, size_t terms);
/* Whether rows of both observe the same things and hardly ever at one moment: none is the other's row. */
bool tab_grains_other_moments(const tab_views *v, const tab_grain *g, size_t s, size_t t);

/* The same in another arena; NULL: it is full. */
tab_grain *tab_grains_copy(tab_arena *a, const tab_grain *g, size_t n);

#endif
