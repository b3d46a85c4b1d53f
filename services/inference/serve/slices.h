/* Parts of an endpoint's rows, by columns that are known when a row is served: at most TAB_RECEIPT_SLICES
 * columns of the target's table, a category by its commonest values, a number by its fifths. Receipts carry
 * their names, so that live quality can be told by them (decision 0818). */
#ifndef TAB_SLICES_H
#define TAB_SLICES_H

#include "services/inference/serve/request.h"
#include "services/inference/states/serve_state.h"

/* To which the rows of the answer belong, as y's slice and slice_of. False: out of memory. */
bool slices_of(tab_arena *a, serve_state *st, const serve_request *r, const Tabella__Prediction *p,
               Tabella__ServePart *y) TAB_CHECKED;

#endif
