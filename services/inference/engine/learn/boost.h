/* The boosted trees' fitted form, which reasons (predict/reasons.c) and the local scale of regression
 * (predict/interval.c) read too. */
#ifndef TAB_BOOST_H
#define TAB_BOOST_H

#include "services/inference/engine/learn/learner.h"

typedef struct {
    int32_t feature; /* -1: a leaf */
    uint32_t left, right, set;
    float value; /* leaf: added to the margin; inner: what a leaf here would add */
    float cover; /* sum of second derivatives that reached it */
    uint8_t cut;
    bool by_set, missing_left; /* by_set: a bin in set[] goes left; else bins <= cut */
} tab_tree_node;

typedef struct {
    size_t margins, outputs, rounds, features; /* margins: 1, or a class each beyond two classes */
    bool classification;
    float *base; /* (margins) */
    tab_tree_node *node;
    uint64_t (*set)[4]; /* 256 bits by bin */
    uint32_t *root;     /* (rounds, margins) */
    float *importance;  /* (features) share of gain */
} tab_boost;

/* out (n, margins) */
void tab_boost_margins(const tab_boost *m, const tab_data *q, const uint32_t *row, size_t n, float *out);
#endif
