/* Rows that an endpoint serves beside those that it pins: how many cells of each column fall into which bin,
 * and how sure the answers are. Counts alone, a bounded number of them, are sent to jobs, which keeps them
 * (decision 0322). */
#ifndef TAB_DRIFT_H
#define TAB_DRIFT_H

#include "services/inference/inference.h"
#include "services/inference/serve/request.h"
#include "services/inference/states/serve_state.h"

typedef struct drift drift;

/* The counts of a state, made with the first call for it; NULL: out of memory, and nothing is counted. */
drift *drift_of(inference *self, const char *org, const Tabella__ServeState *k, serve_state *st);
/* Counts the rows of one answered call. a: scratch. */
void drift_count(drift *d, tab_arena *a, const serve_state *st, const serve_request *r,
                 const Tabella__Prediction *p);
void drift_free(drift *d); /* the state's hold on it ends; NULL is fine */
/* Sends what was counted since the last time. */
void drift_send(inference *self, const atomic_bool *gone);
#endif
