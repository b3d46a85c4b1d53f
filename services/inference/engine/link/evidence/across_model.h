/* How likely a pair of rows of two tables is one entity: boosted trees over what the rules and the pair
 * itself say (decisions 0346, 0375, 0412), and the linkage of all tables with it. */
#ifndef TAB_LINK_ACROSS_MODEL_H
#define TAB_LINK_ACROSS_MODEL_H

#include "services/inference/engine/align/trees.h"
#include "services/inference/engine/link/evidence/across.h"
#include "services/inference/engine/link/groups/clusters.h"

enum {
    TAB_ACROSS_TREES = 300,
    TAB_ACROSS_ROWS_MOST = 40000 /* of both tables: beyond, its cost is too much and the rules decide */
};

/* What two tables show as wholes, and whether the model's answers stand for them (decision 0375). Of tables
 * that share nobody each row's nearest look-alike lies in the one or the other by chance alone, but where a
 * row has a twin of its own: the share whose nearest lies in the other table beyond that is the excess. */
typedef struct {
    double twins;  /* share of the rows that have a twin in their own table, mean of both */
    double excess; /* share of the rows that are nearest to the other table, beyond chance */
    double whole;  /* share of the smaller table's rows that the rules reckon to have a partner */
    double rules;  /* share of all rows to which the rules give a partner */
    double model;  /* and to which the model does */
} tab_across_view;

bool tab_across_stands(const tab_across_view *g);

typedef struct {
    char mark[8]; /* TAB_ACROSS_MARK */
    float start;  /* log-odds before the first tree */
    tab_tree tree[TAB_ACROSS_TREES];
} tab_across_model;

#define TAB_ACROSS_MARK "tabpair"

/* The model that is linked in (tools/train/pairs writes it). */
const tab_across_model *tab_across_model_shipped(void);

/* Links every pair of tables as tab_link_pairs does, first by the rules and then by the model (NULL: by
 * the rules alone), and finds the twins of each, (n). voice: of each table, what its columns say
 * (voices.h), or NULL; keys: those that another one refers to, or NULL. All of it lives in arena a. */
tab_status tab_link_tables(const tab_engine *e, tab_views *v, tab_link_table *tables,
                           const tab_key_plan *plan, const tab_across_model *m, double threshold,
                           const tab_voice *const *voice, const bool *const *keys, tab_arena *a,
                           tab_linkage **ret, size_t *ret_n, tab_twins *twins, tab_error *err) TAB_CHECKED;
#endif
