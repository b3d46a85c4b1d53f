/* How far a held-out score is to be trusted: its interval, and whether the answers are better than the
 * baseline's beyond chance. */
#ifndef TAB_DOUBTS_H
#define TAB_DOUBTS_H

#include "services/inference/engine/evaluate/partition.h"

/* What there is to doubt. Arrays are (held) of the partition. */
typedef struct {
    const double *error;  /* misses or squared errors */
    const double *truth;  /* numbers, whose variance is sampled along; else NULL */
    const double *gained; /* classes: log-loss of the baseline's shares less that of the answers; else NULL */
    const double *chance; /* classes: the score is the AUC of this for the rows of `positive`; else NULL */
    const bool *positive;
    double missing; /* share of the rows that have no target */
    bool labels;    /* of anomalies; `anomalies` of the held rows have one */
    size_t anomalies;
} tab_doubts;

/* The score's 95 % interval (classification and regression), low_confidence and its reason. False: memory. */
bool tab_doubt(const tab_engine *e, const tab_partition *s, const tab_doubts *d, Tabella__HeldOut *h);
#endif
