/* Entities from pairwise links of all tables: transitive, and one row a table where the data are so. */
#ifndef TAB_CLUSTERS_H
#define TAB_CLUSTERS_H

#include "services/inference/engine/link/link.h"
#include "services/inference/engine/unify/unify.h"

/* A reported match. */
typedef struct {
    uint32_t ta, tb, a, b;
    uint32_t link, candidate; /* where it comes from; candidate TAB_NULL: follows from others */
    float p;
} tab_match;

typedef struct {
    tab_match *match; /* (matches) by table pair, then rows */
    size_t matches;
    tab_entities entities;
    uint64_t linked; /* rows in an entity with another table's row */
} tab_clusters;

tab_status tab_clusters_build(const tab_views *v, const tab_linkage *links, size_t n_links,
                              double threshold, tab_arena *out, tab_clusters *ret,
                              tab_error *err) TAB_CHECKED;
#endif
