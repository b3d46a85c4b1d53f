/* A report's figures by regime: of rows among the others and, where time orders the rows, of later ones at
 * several distances. The baseline is the best of what is known without a model, on the same rows. */
#ifndef TAB_EVALUATE_REGIMES_H
#define TAB_EVALUATE_REGIMES_H

#include "services/inference/engine/profile/profile.h"

/* Held-out rows that were answered, and what they are compared with. */
typedef struct {
    const Tabella__Prediction *m;
    const double *truth;    /* (rows) numbers; NULL: classes */
    const uint32_t *class;  /* (rows) the class of each, `classes` where the fitted rows have none such */
    const double *share;    /* (classes) among the fitted rows */
    size_t classes, fitted; /* fitted: rows */
    double mean;            /* of the fitted rows */
    const double *distance; /* (rows) steps after the last fitted row; NULL: the rows lie among the others */
    const double *guess;    /* (rows, guesses) as baselines.h has them; NULL: none */
    size_t guesses;
    const char *regime; /* as proto/bundle.proto has them */
} tab_regime_rows;

/* Adds to h->regimes: a line, or one for each of a few ranges of distances. False: the arena is full. */
bool tab_regimes_add(tab_arena *a, const tab_regime_rows *v, Tabella__HeldOut *h) TAB_CHECKED;
#endif
