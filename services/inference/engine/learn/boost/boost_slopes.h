/* Slopes in the leaves of shallow trees, for regression (decision 0379). */
#ifndef TAB_BOOST_SLOPES_H
#define TAB_BOOST_SLOPES_H

#include "services/inference/engine/learn/boost/boost_grow.h"

/* One fit's rows, as boost.c has them. */
typedef struct {
    const tab_problem *p;
    const tab_grower *grow;         /* with the tree that was grown last */
    const uint32_t *row;            /* (rows) where they stand in the data */
    const float *margin, *y;        /* (rows), (context rows) */
    const tab_slope_number *number; /* (features) */
    double eta;
} tab_slope_fit;

/* number (features): how slopes read each one; of categories nothing is set. */
void tab_slope_numbers(const tab_encoder *enc, tab_slope_number *number);

/* The slopes of a leaf of the tree at `root`, on the numbers next above it; all 0 where they are not worth
 * it. ret->number are features. */
void tab_slopes_fit(const tab_slope_fit *t, uint32_t root, const tab_grow_leaf *l, tab_leaf_slopes *ret);

/* What the leaf at node n adds to row `row` of d; number: that s->number counts in. */
static inline float tab_slopes_add(const tab_tree_node *n, const tab_leaf_slopes *s,
                                   const tab_slope_number *number, const tab_data *d, uint32_t row)
{
    float v = n->value;
    for (size_t j = 0; j < TAB_SLOPES; j++)
        if (s->slope[j] != 0) {
            const tab_slope_number *f = &number[s->number[j]];
            v += s->slope[j] * tab_slope_within(s, j, tab_slope_reading(f, d->x[f->feature][row]));
        }
    return v;
}
#endif
