/* The network's decoder. A query gives every context row a weight, a softmax over the rows in each head.
 * The weights of a class's rows add up to its probability; for a numeric target they are a distribution
 * over the context's targets (decision 0120). */
#ifndef TAB_PFN_VOTE_H
#define TAB_PFN_VOTE_H

#include "common/base/arena.h"
#include "services/inference/engine/learn/pfn/weights.h"

enum { TAB_PFN_VOTES = 4 }; /* heads */

typedef struct {
    size_t n, d;               /* context rows; width of a row */
    float *key[TAB_PFN_VOTES]; /* (n, d / 4), packed */
    uint8_t *slot;             /* (n); NULL where the target is numeric: */
    float *value;              /* (n) standardised by mean and sd, zeros to a multiple of 16 */
    uint32_t *order;           /* (n) by rising value */
    double mean, sd;
    bool present[TAB_PFN_SLOTS];
} tab_pfn_voters;

/* Room for n voters of width d. slot (n) or NULL: values follow with tab_pfn_voters_values. False: the
 * arena is full. */
bool tab_pfn_voters_new(tab_pfn_voters *v, tab_arena *a, size_t n, size_t d, const uint8_t *slot) TAB_CHECKED;
/* Standardises and orders target (n). False: the arena is full. */
bool tab_pfn_voters_values(tab_pfn_voters *v, tab_arena *a, const float *target) TAB_CHECKED;

/* q (n, d), scaled. logp (n, TAB_PFN_SLOTS), -INFINITY where no row holds the slot */
void tab_pfn_vote_classes(const tab_pfn_voters *v, size_t n, const float *q, float *logp);
void tab_pfn_vote_mean(const tab_pfn_voters *v, size_t n, const float *q, float *mean); /* (n) */
/* quantile (n, TAB_PFN_LEVELS) at 1/20, 2/20 ... 19/20, linear between the middles of the rows' weights,
 * so that they do not cross and stay within the targets. weight (voters) is scratch. */
void tab_pfn_vote_quantiles(const tab_pfn_voters *v, size_t n, const float *q, float *weight,
                            float *quantile);
#endif
