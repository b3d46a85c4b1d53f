/* What references say of tables as wholes: which may share entities, and which rows hang under which. */
#ifndef TAB_KEYS_PLAN_H
#define TAB_KEYS_PLAN_H

#include "services/inference/engine/keys/grain.h"

typedef struct {
    tab_keys keys;
    bool *again;      /* (keys.n) the child holds the parent's entities over again, with their attributes */
    tab_grain *grain; /* (tables) what their rows are */
    size_t tables;
    /* (tables, tables) a row of one is no entity of the other: references join the tables, at once or through
     * others, and none between the two holds the parent's entities over again */
    bool *apart;
    /* (tables, tables) index of the reference by which the two hold the same values as keys, and each row of
     * one is a row of the other; TAB_NULL: none. Of two tables alone: in a schema tables with one key are
     * parts of it (decision 0796) */
    uint32_t *keyed;
    /* (tables, tables) columns in common, but no rows: observations of the same things at other moments
     * (grain.h), or of what the other's rows are not (decision 0598) */
    bool *moments;
    uint32_t *under; /* (tables) index of the reference by which a table's rows hang under a parent's, or
                         TAB_NULL */
} tab_key_plan;

/* Finds the references between all tables (keys.h). Those of at least `threshold`, and of one half, count for
 * tables as wholes. Of several parents the one with the most rows is chosen,
 * as an item belongs to its order rather than to its product; never in a circle. Lives in a.
 * Errors: CANCELLED, INTERNAL (out of memory). */
tab_status tab_key_plan_new(const tab_engine *e, const tab_views *v, double threshold, tab_arena *a,
                            tab_key_plan *ret, tab_error *err) TAB_CHECKED;

/* Whether column i of table ta and column j of table tb mean different keys, so that they are no attribute
 * in common: they belong to different keys, or one belongs to a key of counted numbers and the other does
 * not. */
bool tab_keys_differ(const tab_keys *k, size_t ta, size_t i, size_t tb, size_t j);

#endif
