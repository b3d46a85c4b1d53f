/* Duplicates as the bundle shows them: groups of rows of one table, each with what its rows agree on. */
#ifndef TAB_LINK_DUPLICATE_GROUPS_H
#define TAB_LINK_DUPLICATE_GROUPS_H

#include "services/inference/engine/link/groups/clusters.h"

/* The groups that the twins of each table (v->n) make, one entry a table that has any; all lives in
 * e->arena. Pairs of a group that are no twins of their own follow from those that are. */
tab_status tab_duplicates_write(const tab_engine *e, const tab_views *v, const tab_twins *twins,
                                Tabella__DuplicateGroups ***ret, size_t *ret_n, tab_error *err) TAB_CHECKED;

#endif
