/* Growing one tree of gradient boosting over the binned rows of a context (boost.c says what for).
 *
 * Gradients are fixed-point. With S = sum |g| over the tree's rows, a row carries the integers g 2^30 / S and
 * h 2^30 / sum h, packed as (g << 32) + h: one addition of 64 bits adds both, no sum of any rows
 * overflows, and sums are exact, so that neither the order of rows nor a subtraction of histograms rounds.
 * What is lost is less than a thousandth of the mean gradient a row at a million rows (coarser ones serve
 * too: Shi et al., NeurIPS 2022), and a histogram is half as wide as one of doubles. Decision 0090. */
#ifndef TAB_BOOST_GROW_H
#define TAB_BOOST_GROW_H

#include "services/inference/engine/learn/boost/boost.h"

typedef struct {
    double eta, lambda, min_hess, columns, rows; /* the last two: shares sampled a tree */
    size_t leaves, depth, patience;
    uint64_t salt;
    bool shared; /* one tree a round for all classes, of which there are more than two (boost_shared.c) */
    bool slopes; /* leaves have slopes where the target is a number (boost_slopes.h) */
} tab_boost_recipe;

typedef struct {
    uint32_t at, count;        /* its rows: order[at .. at + count) */
    uint32_t other_at, others; /* rows behind them that follow the tree without adding to its sums */
    uint32_t depth, node;
    int32_t slot; /* of its histograms */
    int64_t sum;  /* packed */
    /* the best split found */
    double gain;     /* in fixed-point units */
    int32_t feature; /* -1: none */
    uint32_t cut;
    bool missing_left, by_set;
    uint64_t set[4];
} tab_grow_leaf;

/* One fit's room. The caller fills the first group once, the second for each tree. */
typedef struct {
    const tab_engine *e; /* loops over columns of large leaves; NULL: none */
    const tab_encoder *enc;
    const tab_boost_recipe *r;
    uint8_t **bin;       /* (features)(rows) bins of the fit's rows, missing = the feature's last */
    uint32_t *bins;      /* (features) bins with the missing one */
    uint32_t *offset;    /* (features) where a feature's bins start in a histogram; by tree */
    size_t pool_stride;  /* most bins of a histogram */
    int64_t *pool;       /* (leaves + 1, pool_stride) */
    tab_grow_leaf *leaf; /* (leaves + 1) */
    double *importance;  /* (features) */

    uint32_t *column, columns; /* features of this tree */
    size_t sampled;            /* rows of this tree */
    size_t others;             /* rows that are led through the tree without adding to its sums */
    uint32_t *order, *other;   /* (rows) positions among the fit's rows */
    int64_t *gh;               /* (rows) packed, in the order of `order` */
    uint32_t *spare;           /* (rows) scratch, as is gh_spare */
    int64_t *gh_spare;
    double g_unit, h_unit; /* value of 1 */

    /* the forest so far */
    tab_tree_node *node;
    float *cover;
    size_t nodes, node_room;
    uint64_t (*set)[4];
    size_t sets, set_room;
    bool failed; /* memory */
} tab_grower;

/* One fit of at most `most` rounds, in the task's arena (boost.c). curve (most + 1): out, the held rows' loss
 * after each round, infinity where no round was made; NULL: not wanted. NULL: cancelled or out of memory. */
tab_boost *tab_boost_fit(const tab_problem *p, const tab_fit_task *t, const tab_boost_recipe *r, size_t most,
                         double *curve);

/* Bins a histogram takes for a feature: whole groups of four. */
static inline uint32_t tab_grow_width(uint32_t bins)
{
    return (bins + 3) & ~3u;
}

/* Lends the next tree its rows: pick (sampled) with their first and second derivatives g and h, made
 * fixed-point here, h at least 1e-6; and rest (others). ones: every h is 1, and is kept exact. */
void tab_grow_begin(tab_grower *w, const float *g, float *h, bool ones, const uint32_t *pick,
                    const uint32_t *rest);

/* Grows a tree over the sampled rows, best leaf first, and gives its root's node. Its leaves with their rows
 * stay in leaf[0..*leaves). */
uint32_t tab_grow(tab_grower *w, size_t *leaves);

/* Copies of the last tree, n nodes at root, side by side behind it. False: memory. */
bool tab_grow_copies(tab_grower *w, uint32_t root, size_t n, size_t copies) TAB_CHECKED;

/* hist (pool_stride): the sums of a leaf's rows by bin of the tree's columns. */
void tab_grow_fill(const tab_grower *w, const tab_grow_leaf *l, int64_t *hist);
#endif
