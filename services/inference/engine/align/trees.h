/* Boosted trees small enough to be shipped as a table of numbers (tools/train/trees.h fits them). */
#ifndef TAB_ALIGN_TREES_H
#define TAB_ALIGN_TREES_H

#include <stddef.h>
#include <stdint.h>

enum {
    TAB_TREE_DEPTH = 4,
    TAB_TREE_SPLITS = (1 << TAB_TREE_DEPTH) - 1,
    TAB_TREE_LEAVES = 1 << TAB_TREE_DEPTH
};

/* A complete tree: node i has the children 2 i + 1 (feature at or below the cut) and 2 i + 2. */
typedef struct {
    uint8_t feature[TAB_TREE_LEAVES]; /* the last is unused */
    float cut[TAB_TREE_SPLITS];
    float leaf[TAB_TREE_LEAVES];
} tab_tree;

/* z and the leaves that n trees lead to, in log-odds. */
static inline double tab_trees_add(double z, const tab_tree *t, size_t n, const float *x)
{
    for (size_t k = 0; k < n; k++) {
        uint32_t q = 0;
        while (q < TAB_TREE_SPLITS)
            q = 2 * q + 1 + (x[t[k].feature[q]] > t[k].cut[q]);
        z += (double)t[k].leaf[q - TAB_TREE_SPLITS];
    }
    return z;
}
#endif
