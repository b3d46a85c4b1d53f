/* How likely a pair of rows of one table is one entity: boosted trees (decision 0318). */
#ifndef TAB_LINK_TWIN_MODEL_H
#define TAB_LINK_TWIN_MODEL_H

#include "services/inference/engine/align/trees.h"
#include "services/inference/engine/link/evidence/twin_pairs.h"

enum { TAB_TWIN_TREES = 300 };

typedef struct {
    char mark[8]; /* TAB_TWIN_MARK */
    float start;  /* log-odds before the first tree */
    tab_tree tree[TAB_TWIN_TREES];
} tab_twin_model;

#define TAB_TWIN_MARK "tabtwin"

/* The model that is linked in (tools/train/pairs writes it). */
const tab_twin_model *tab_twin_model_shipped(void);

/* The probabilities of all pairs, into s->p. */
tab_status tab_twin_model_run(const tab_engine *e, const tab_twin_model *m, tab_twin_pairs *s,
                              tab_error *err) TAB_CHECKED;

#endif
