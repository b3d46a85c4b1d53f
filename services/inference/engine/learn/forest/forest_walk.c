/* See forest_walk.h. A walk is a chain of loads, and which way a row goes is a coin's throw: so eight walk
 * side by side, without a branch that is guessed until all have come to a leaf. */
#include "services/inference/engine/learn/forest/forest_walk.h"

/* MISSING_LEFT: bin + 1, as a byte, is what is held against the cut, so that the missing one is 0. */
#define MISSING_LEFT 0x100u
#define CODE 0x200u
enum { FEATURE_AT = 10 };

void tab_forest_divide(tab_forest_node *node, uint32_t at, uint32_t left, const tab_forest_split *s,
                       size_t bins)
{
    uint32_t how = (uint32_t)s->feature << FEATURE_AT;
    if (s->code) {
        tab_forest_node *set = node + left + 2;
        memset(set, 0, (tab_forest_room(s, bins) - 2) * sizeof *set);
        for (size_t b = 0; b <= bins; b++) {
            uint8_t bin = b == 0 ? TAB_BIN_MISSING : (uint8_t)(b - 1);
            set[b / 64].set |= (uint64_t)tab_forest_goes_left(s, bin) << b % 64;
        }
        how |= CODE;
    } else {
        how |= s->missing_left ? MISSING_LEFT | (s->cut + 1u) : s->cut;
    }
    node[at] = (tab_forest_node){ .left = left, .how = how };
}

/* One step down; a leaf stays where it is. Nothing is guessed: which way a row goes is a coin's throw. */
static inline uint32_t step(const tab_forest_node *tree, uint32_t at, uint8_t *const *bins, uint32_t row,
                            bool codes)
{
    tab_forest_node n = tree[at];
    uint8_t bin = bins[n.how >> FEATURE_AT & (TAB_FOREST_FEATURES - 1)][row];
    uint32_t left = (uint8_t)(bin + (n.how / MISSING_LEFT & 1)) <= (uint8_t)n.how;
    if (codes) { /* a number reads node 0, and nothing of it */
        uint32_t code = n.how / CODE & 1, place = (uint8_t)(bin + 1);
        uint64_t set = tree[(n.left + 2 + place / 64) & -code].set;
        left ^= (left ^ (uint32_t)(set >> place % 64)) & code;
    }
    uint32_t stay = -(n.how >> 31), to = n.left + 1 - left;
    return to ^ ((to ^ at) & stay);
}

/* Rows or trees that walk side by side: a walk alone waits for each of its loads. */
enum { LANES = 8 };

/* at (LANES): roots, out: the leaves. */
static inline void walk_all(const tab_forest_node *tree, uint32_t *at, uint8_t *const *bins,
                            const uint32_t *row, bool codes)
{
    uint32_t moved = 1;
    while (moved != 0) {
        moved = 0;
#pragma GCC unroll 8
        for (size_t l = 0; l < LANES; l++) {
            uint32_t to = step(tree, at[l], bins, row[l], codes);
            moved |= to ^ at[l];
            at[l] = to;
        }
    }
}

static void walk(const tab_forest_walks *w, uint32_t *at, uint8_t *const *bins, const uint32_t *row)
{
    if (w->codes)
        walk_all(w->node, at, bins, row, true);
    else
        walk_all(w->node, at, bins, row, false);
}

void tab_forest_add(const tab_forest_walks *w, uint8_t *const *bin, const uint32_t *row, size_t n, float *sum,
                    size_t stride)
{
    size_t together = n / LANES * LANES;
    /* a tree at a time, which then stays in the cache, over all rows */
    for (size_t t = 0; t < w->trees; t++)
        for (size_t i = 0; i < together; i += LANES) {
            uint32_t at[LANES];
            for (size_t l = 0; l < LANES; l++)
                at[l] = w->root[t];
            walk(w, at, bin, row + i);
            for (size_t l = 0; l < LANES; l++)
                for (size_t k = 0; k < w->k; k++)
                    sum[(i + l) * stride + k] += w->value[w->node[at[l]].left + k];
        }
    /* few rows: a row at a time through several trees */
    for (size_t i = together; i < n; i++)
        for (size_t t = 0; t < w->trees; t += LANES) {
            uint32_t at[LANES], own[LANES];
            size_t lanes = w->trees - t < LANES ? w->trees - t : LANES;
            for (size_t l = 0; l < LANES; l++)
                at[l] = w->root[l < lanes ? t + l : t], own[l] = row[i];
            walk(w, at, bin, own);
            for (size_t l = 0; l < lanes; l++)
                for (size_t k = 0; k < w->k; k++)
                    sum[i * stride + k] += w->value[w->node[at[l]].left + k];
        }
}
