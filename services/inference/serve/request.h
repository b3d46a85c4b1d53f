/* A serve call's tables held against the pinned ones. */
#ifndef TAB_SERVE_REQUEST_H
#define TAB_SERVE_REQUEST_H

#include "services/inference/states/serve_state.h"

typedef struct {
    size_t n;
    const tab_table **table; /* (n) the request's rows under the pinned table's columns, in their order */
    size_t *pinned;          /* (n) which pinned table */
    size_t **from;           /* (n)(cols) where the column stands in the request */
} serve_request;

enum {
    SERVE_ROWS = 10000,
    SERVE_ALONE_ROWS = 48 /* a call of so many rows fills the models' tiles by itself */
};

/* VALIDATION names the divergence: an unknown or repeated table id, columns that are missing or unexpected, a
 * value that cannot be the column's type (tables[i].rows[j][k], in the request's own order). */
tab_status serve_request_read(tab_arena *a, const serve_state *st, const tab_table *const *tables, size_t n,
                              serve_request *ret, tab_error *err) TAB_CHECKED;

/* Turns the engine's param "tables[0].rows[j][k]", which counts pinned columns, into the request's own. */
void serve_request_param(const serve_request *r, size_t i, tab_error *err);

/* Missing cells of the request filled: the target's by the prediction, the others' by models of the pinned
 * rows. */
tab_status serve_impute(const tab_engine *e, serve_state *st, const serve_request *r,
                        const Tabella__Prediction *prediction, Tabella__Imputation **ret,
                        tab_error *err) TAB_CHECKED;

/* tab_score_together of the calls' rows by the state's fitted model, and of others that come at once; the
 * same bytes. False: out of memory. */
bool serve_score(inference *self, const tab_engine *e, serve_state *st, tab_scoring *const *part,
                 size_t n) TAB_CHECKED;

/* An endpoint of several tables: the cross-table map and unified rows of what the request's rows take part
 * in, and the tables that were not sent appended to b->tables (room for all of the state's). */
tab_status serve_cross(const tab_engine *e, const serve_state *st, const serve_request *r, Tabella__Bundle *b,
                       tab_error *err) TAB_CHECKED;

/* Keeps the loan until the call's arena ends. */
bool loan_until_packed(inference *self, tab_call *call, tab_loan *loan) TAB_CHECKED;

#endif
