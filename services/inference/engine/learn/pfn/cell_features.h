/* A cell's 48 numbers, from its column's statistics in the context. */
#ifndef TAB_PFN_CELL_FEATURES_H
#define TAB_PFN_CELL_FEATURES_H

#include "services/inference/engine/learn/pfn/net.h"

typedef struct {
    float *sorted; /* (have) the observed values, ascending */
    size_t have;
    double mean, sd;
    float distinct; /* log(1 + distinct values) / log(1 + n) */
    float ln;       /* log(1 + n) */
    bool cat;
} tab_pfn_stats;

/* x (n), NaN where missing. False: the arena is full. */
bool tab_pfn_stats_of(tab_arena *a, const float *x, size_t n, bool cat, tab_pfn_stats *ret);

/* out (n, TAB_PFN_FEATURES) */
void tab_pfn_cells(const tab_pfn *w, const tab_pfn_stats *s, const float *x, size_t n, float *out);
/* Features (n, TAB_PFN_TARGET) of a context's numeric targets, z (n) standardised and clipped: the value, its
 * mid-rank - 1/2, sin and cos of 2^k pi rank (k = 0..5), 1, 0. False: the arena is full. */
bool tab_pfn_targets(tab_arena *a, const float *z, size_t n, float *out) TAB_CHECKED;
#endif
