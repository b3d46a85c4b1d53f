/* Between the files that fit boosted trees: boost.c has the rounds, boost_shared.c those of many classes on
 * many rows. */
#ifndef TAB_BOOST_FIT_H
#define TAB_BOOST_FIT_H

#include "services/inference/engine/learn/boost/boost_grow.h"
#include "services/inference/engine/learn/lanes.h"

/* The fit's rows are its context rows, then the held ones: all grow the margins, the first n the trees. */
typedef struct {
    const tab_problem *p;
    const tab_fit_task *t;
    const tab_boost_recipe *r;
    tab_grower grow;
    size_t n, rows, margins; /* context rows; with the held ones; trees a round */
    uint32_t *row;           /* (rows) where they stand in the data */
    uint64_t *hash;          /* (n) of the row's content */
    uint32_t *label;         /* (n) */
    float *y;                /* (n) */
    float *margin;           /* (margins, rows); shared trees: (rows, tab_boost_stride) */
    uint32_t *pick, *rest;   /* (rows) the round's sample; all others */
    float *slope, *bend;     /* (n) g and h of the sample */
    float *prob;             /* (margins, n) softmax; shared trees: (n, tab_boost_stride) */
    float *direction;        /* (tab_boost_stride) shared trees: the round's */
    uint32_t *root;
    uint8_t *depth;           /* of the trees at root */
    tab_slope_number *number; /* (features) where leaves have slopes; else NULL */
    tab_leaf_slopes *slopes;  /* (slope_room) of the grower's nodes */
    size_t slope_room;
} tab_boost_work;

/* Floats of a row where all classes share a tree: whole vectors. */
static inline size_t tab_boost_stride(size_t classes)
{
    return (classes + TAB_LANES - 1) / TAB_LANES * TAB_LANES;
}

/* Shared trees: the margins at the start, base (margins); the held rows' summed log-loss; and a round, whose
 * rows and columns are drawn. False: memory. */
void tab_boost_shared_start(tab_boost_work *w, const float *base);
double tab_boost_shared_loss(const tab_boost_work *w);
bool tab_boost_shared_round(tab_boost_work *w, size_t round, bool *grew) TAB_CHECKED;
#endif
