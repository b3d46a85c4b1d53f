/* Entities from pairwise links of all tables and from twins within them, consistent: what is joined is
 * joined by the weight of all its pairs, and what follows from others is said (decision 0137). */
#ifndef TAB_CLUSTERS_H
#define TAB_CLUSTERS_H

#include "services/inference/engine/link/groups/duplicates.h"
#include "services/inference/engine/link/pairs/link.h"
#include "services/inference/engine/unify/unify.h"

/* A reported match. */
typedef struct {
    uint32_t ta, tb, a, b;
    uint32_t link; /* of its two tables */
    float p;
} tab_match;

/* Twins of one table. */
typedef struct {
    tab_twin *twin;
    size_t n;
    const tab_twin_pairs *pairs; /* what is known of pairs that are not said, or NULL */
} tab_twins;

typedef struct {
    tab_match *match; /* (matches) by table pair, then rows */
    size_t matches;
    tab_entities entities;
    uint64_t linked; /* rows in an entity with another table's row */
} tab_clusters;

/* twins: (v->n), or NULL: none. The links are of every pair of tables. */
tab_status tab_clusters_build(const tab_views *v, const tab_linkage *links, size_t n_links,
                              const tab_twins *twins, double threshold, tab_arena *out, tab_clusters *ret,
                              tab_error *err) TAB_CHECKED;
#endif
