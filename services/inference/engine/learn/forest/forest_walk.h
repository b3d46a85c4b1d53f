/* The forest's trees as they answer (decision 0377): nodes of eight bytes, and walks side by side. */
#ifndef TAB_FOREST_WALK_H
#define TAB_FOREST_WALK_H

#include <assert.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/learner.h"

/* A split as it is tried. */
typedef struct {
    int32_t feature; /* -1: none */
    uint32_t salt;   /* categories: the half of the levels */
    uint8_t cut;     /* numbers: bins <= cut go left */
    bool code, missing_left;
} tab_forest_split;

/* Behind the two children of a category's node stand one to four that hold by bit which bins go left, the
 * missing one first. */
typedef union {
    struct {
        uint32_t left; /* its children: left, left + 1; a leaf: where its values stand */
        uint32_t how;  /* from the low end: 8 bits cut, missing left, category, 21 bits feature, leaf */
    };
    uint64_t set;
} tab_forest_node;
static_assert(sizeof(tab_forest_node) == 8, "eight nodes a cache line");

#define TAB_FOREST_LEAF 0x80000000u
enum { TAB_FOREST_FEATURES = 1 << 21 }; /* most features that a node tells apart */

/* Which child a bin goes to. */
static inline bool tab_forest_goes_left(const tab_forest_split *s, uint8_t bin)
{
    if (s->code)
        return bin == TAB_BIN_MISSING ? s->missing_left : tab_mix2(bin, s->salt) >> 63;
    return (bin <= s->cut) | (bin == TAB_BIN_MISSING && s->missing_left);
}

/* Nodes that stand behind one that is split, its children first; bins: of its feature, without the missing
 * one. */
static inline size_t tab_forest_room(const tab_forest_split *s, size_t bins)
{
    return 2 + (s->code ? bins / 64 + 1 : 0);
}

/* Makes node `at` of the array an inner one, with what stands behind it from `left` on. */
void tab_forest_divide(tab_forest_node *node, uint32_t at, uint32_t left, const tab_forest_split *s,
                       size_t bins);

/* The walks of some trees. */
typedef struct {
    const tab_forest_node *node;
    const uint32_t *root; /* (trees) */
    const float *value;   /* k a leaf */
    size_t trees, k;
    bool codes; /* some node asks for a category */
} tab_forest_walks;

/* sum (n, stride) from its first of k on += the leaves' values of rows row[0..n), added tree by tree; bin
 * (features)(rows). */
void tab_forest_add(const tab_forest_walks *w, uint8_t *const *bin, const uint32_t *row, size_t n, float *sum,
                    size_t stride);
#endif
