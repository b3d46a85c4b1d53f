/* A serve call between its admission (serve_handler.c) and its answer (serve_batch.c). */
#ifndef TAB_API_SERVE_BATCH_H
#define TAB_API_SERVE_BATCH_H

#include "common/files/written/table_file.h"
#include "common/security/receipt.h"
#include "proto/events.pb-c.h"
#include "services/api/serve/serve_cache.h"
#include "services/api/serve/serve_limits.h"
#include "services/api/serve/serve_once.h"

/* In the request's arena. */
typedef struct serve_call {
    struct serve_call *next;
    request *r;
    tab_body body;
    bool verbose;  /* with the tables of its report */
    bool receipts; /* a receipt a row */
    bool as_table; /* the answers alone, as a file of this format */
    bool named;    /* its table has the endpoint's name for it */
    tab_file_format format;
    uint32_t horizon; /* so many steps ahead in place of rows; 0: rows */
    const serve_row *row;
    struct serve_group *group; /* that it is the first of */
    char worker[40];           /* of inference, which answered last for the endpoint; "" */
    tab_status s;
    tab_error err;
    Tabella__WorkDone work; /* what it is billed */
    cost cost;              /* the same, before it started */
    drawn drawn;            /* where that is reserved */
    serve_once once;
} serve_call;

/* The cells of the rows that c->horizon makes, from the worker that has the endpoint's state. */
tab_status serve_count(serve_call *c, uint64_t *ret_cells, tab_error *err) TAB_CHECKED;

/* Asks, writes the answer, bills and ends the call (serve_end): with calls of the endpoint that came at the
 * same moment. PARKED: another thread ends the request. */
tab_status serve_in_batch(serve_call *c, tab_error *err) TAB_CHECKED;

/* The same on the loop's thread, which waits for nobody: a worker goes on with the call or with its batch. */
void serve_join(serve_call *c);
bool serve_may_join(const serve_call *c)
    TAB_CHECKED; /* c has a body and a row: it is one to go with others */

#endif
