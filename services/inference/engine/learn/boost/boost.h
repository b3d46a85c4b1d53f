/* The boosted trees' fitted form, which reasons (predict/explain/reasons.c) and the local scale of regression
 * (predict/interval/interval.c) read too. */
#ifndef TAB_BOOST_H
#define TAB_BOOST_H

#include "services/inference/engine/learn/learner.h"

#define TAB_SPLIT_SET 0x80000000u /* the rest of `split` is a set: a bin in it goes left */
#define TAB_SPLIT_MISSING_LEFT \
    0x100u                 /* else a bin goes left, plus one with this flag, up to split & 255: the missing \
                                       * one, the last of a byte, then comes first */
#define TAB_LEAF INT32_MIN /* its low bits name a feature that every row has */

/* Sixteen bytes: what a walk from root to leaf reads, and nothing else. */
typedef struct {
    int32_t feature; /* below 0, TAB_LEAF: a leaf */
    uint32_t left;   /* children: left and left + 1; a leaf: itself */
    uint32_t split;  /* a leaf: 255, so that a step stays where it is */
    float value;     /* leaf: added to the margin; inner: what a leaf here would add */
} tab_tree_node;

/* A number as the slopes of leaves read it (boost_slopes.c): z = x, limited to low .. high, less the mean. */
typedef struct {
    uint32_t feature;
    float low, high, mean;
} tab_slope_number;

/* What a leaf adds beside its value: the sum of slope z. mid: z's mean over the leaf's rows. */
enum { TAB_SLOPES = 3 };
typedef struct {
    uint32_t
        number[TAB_SLOPES]; /* places among the numbers that are read; of those not used the slope is 0 */
    float slope[TAB_SLOPES], mid[TAB_SLOPES];
    float low[TAB_SLOPES], high[TAB_SLOPES]; /* z of the leaf's rows: beyond it a line does not go on */
} tab_leaf_slopes;

typedef struct {
    size_t margins, outputs, features; /* margins: 1, or a class each beyond two classes */
    size_t rounds, grown;              /* answered with; held */
    bool classification, shared; /* shared: a round's trees have one shape, and lie one behind the other */
    float *base;                 /* (margins) */
    size_t nodes, sets;
    tab_tree_node *node;      /* (nodes) round after round */
    float *cover;             /* (nodes) sum of second derivatives that reached it */
    uint64_t (*set)[4];       /* (sets) 256 bits by bin */
    tab_leaf_slopes *slopes;  /* (nodes) of leaves, or NULL: leaves are constant */
    tab_slope_number *number; /* (numbers) that slopes read */
    size_t numbers;
    uint32_t *root;    /* (rounds, margins) */
    uint8_t *depth;    /* (rounds, margins) steps to the farthest leaf */
    float *importance; /* (features) share of gain */
} tab_boost;

static inline bool tab_goes_left(const tab_tree_node *n, const uint64_t (*set)[4], uint8_t bin)
{
    if (n->split & TAB_SPLIT_SET)
        return set[n->split ^ TAB_SPLIT_SET][bin / 64] >> (bin % 64) & 1;
    return (uint8_t)(bin + (n->split >> 8 & 1)) <= (uint8_t)n->split;
}

/* A missing number stands at its mean. */
static inline float tab_slope_reading(const tab_slope_number *f, float x)
{
    return x != x ? 0 : (x < f->low ? f->low : x > f->high ? f->high : x) - f->mean;
}

/* z within the leaf's reach. */
static inline float tab_slope_within(const tab_leaf_slopes *s, size_t j, float z)
{
    z = s->low[j] > z ? s->low[j] : z; /* a maximum and a minimum, without branches */
    return s->high[j] < z ? s->high[j] : z;
}

/* What a leaf adds in the mean of its rows. */
static inline double tab_leaf_mean(const tab_boost *m, uint32_t at)
{
    double v = (double)m->node[at].value;
    for (size_t j = 0; m->slopes != NULL && j < TAB_SLOPES; j++)
        v += (double)(m->slopes[at].slope[j] * m->slopes[at].mid[j]);
    return v;
}

/* out[i * stride] += the leaf's value of row i: rows walk side by side. bin (n, features), row-major,
 * TAB_BIN_MISSING as it is; depth: steps to the tree's farthest leaf. */
void tab_tree_add(const tab_tree_node *node, const uint64_t (*set)[4], uint32_t root, size_t depth,
                  const uint8_t *bin, size_t features, size_t n, float *out, size_t stride);

/* The same bits for many rows of a tree of at most TAB_TREE_LEAVES leaves: node by node over all rows. bin
 * (features, room), room at least n and a multiple of TAB_TREE_STEP; at (room): scratch. */
enum { TAB_TREE_STEP = 32, TAB_TREE_LEAVES = 128 };
void tab_tree_add_many(const tab_tree_node *node, const uint64_t (*set)[4], uint32_t root, const uint8_t *bin,
                       size_t room, uint8_t *at, size_t n, float *out, size_t stride);

/* The starting margins and the leaves of all rounds that are kept, for rows row[0..n) of q. out (n, margins);
 * a row's bits do not depend on the rows beside it. */
void tab_boost_margins(const tab_boost *m, const tab_data *q, const uint32_t *row, size_t n, float *out);
#endif
