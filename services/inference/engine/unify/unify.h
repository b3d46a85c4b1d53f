/* One record an entity: rows that are one entity merged, every source's value kept beside it. */
#ifndef TAB_UNIFY_H
#define TAB_UNIFY_H

#include "services/inference/engine/align/view.h"

/* Attributes: columns that are one across tables, then each remaining column, in table and column order. */
typedef struct {
    tab_str name;
    uint32_t *col; /* (tables) column index or TAB_NULL */
    size_t sources;
} tab_shared_attribute;

typedef struct {
    uint32_t table, row;
} tab_member;

/* Entities. row[i * tables + t] is the first row of table t, or TAB_NULL; member[at[i] .. at[i + 1] - 1]
 * are all rows, by table, then row. */
typedef struct {
    size_t n;
    uint32_t *row;
    double *confidence;
    size_t *at; /* (n + 1) */
    tab_member *member;
} tab_entities;

tab_status tab_unify(const tab_engine *e, const tab_views *v, const tab_shared_attribute *attr, size_t attrs,
                     const tab_entities *entities, double threshold, Tabella__UnifiedRows **ret,
                     tab_error *err) TAB_CHECKED;
#endif
