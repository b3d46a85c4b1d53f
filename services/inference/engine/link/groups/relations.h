/* relations[]: which tables refer to which, and which share entities. */
#ifndef TAB_LINK_RELATIONS_H
#define TAB_LINK_RELATIONS_H

#include "services/inference/engine/link/groups/clusters.h"

typedef struct {
    const tab_engine *e;
    const tab_views *v;
    const tab_key_plan *plan;
    const tab_linkage *link; /* (links) */
    size_t links;
    const tab_clusters *clusters;
    double threshold;
} tab_relations;

/* Whether reference i says no more than that the two tables share entities: the child repeats the parent's
 * attributes, or one row in five at least is matched. */
bool tab_relations_same(const tab_relations *x, size_t i);

/* Fills m->relation: references of at least the threshold, then pairs of tables with matches; of exactly two
 * tables with neither, that there is none. TAB_INTERNAL: out of memory. */
tab_status tab_relations_write(const tab_relations *x, Tabella__CrossTableMap *m, tab_error *err) TAB_CHECKED;

#endif
