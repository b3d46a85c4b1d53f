/* How likely an inclusion is a reference: boosted trees in two stages (decision 0280).
 *
 *   features of each inclusion ─> stage 1 ─> p ─┐
 *   what p says of rivals and neighbours <───────┘ ─> stage 2 ─> p ─> choice */
#ifndef TAB_KEYS_SCORE_H
#define TAB_KEYS_SCORE_H

#include "services/inference/engine/align/trees.h"
#include "services/inference/engine/keys/inclusions.h"

enum {
    TAB_KEY_TREES = 250,
    TAB_KEY_FEW = 6 /* whole numbers of no more values than this are said to be references when it is sure */
};

typedef struct {
    float start; /* log-odds before the first tree */
    tab_tree tree[TAB_KEY_TREES];
} tab_key_stage;

typedef struct {
    char mark[8]; /* TAB_KEY_MARK */
    tab_key_stage stage[2];
} tab_key_model;

#define TAB_KEY_MARK "tabkeys"

/* The model that is linked in (tools/train/keys writes it). */
const tab_key_model *tab_key_model_shipped(void);

/* One stage's probabilities p of n inclusions. */
void tab_key_stage_run(const tab_key_stage *s, const tab_inclusion *x, size_t n, float *p);

/* The probability that two unique columns with the same values name the same rows, where so many other sets
 * (tab_inclusion.others) might be there as well: one pair of tables in a hundred is each other's partner, and
 * one in so many that are not holds the very same set (decision 0795). */
float tab_key_same_rows(double others);

/* The last steps: whole numbers of few values that are not sure stay under one half, and one parent a
 * child is chosen (choose.h). False: out of memory. */
bool tab_keys_settle(const tab_key_columns *k, size_t columns, const tab_inclusion *x, size_t n, float *p);

/* All of it. False: out of memory. */
bool tab_keys_score(const tab_key_model *m, const tab_key_columns *k, size_t columns, tab_inclusion *x,
                    size_t n, float *p);

#endif
