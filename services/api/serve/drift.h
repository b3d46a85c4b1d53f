/* How the rows that an endpoint serves differ from those that it pins (decision 0322). */
#ifndef TAB_API_DRIFT_H
#define TAB_API_DRIFT_H

#include "proto/jobs.pb-c.h"
#include "services/api/api.h"

typedef struct {
    uint64_t served;
    double stability; /* population stability index */
    double p;         /* of such a difference by chance */
    double threshold; /* that p must be below */
    bool drifted;
} drift_test;

/* columns: how many are tested together. */
drift_test drift_tested(const Tabella__DriftColumn *c, size_t columns);
/* The member `drift`, null where nothing was served. number: answers are numbers. */
void drift_member(tab_out *o, const Tabella__Drift *d, bool number);
#endif
