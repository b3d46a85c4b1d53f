/* A serve call between its admission (serve.c) and its answer (serve_together.c). */
#ifndef TAB_API_SERVE_H
#define TAB_API_SERVE_H

#include "services/api/api.h"

/* An endpoint as serving needs it. */
typedef struct {
    const Tabella__Endpoint *e;
    tab_str held_out; /* JSON */
} serve_row;

/* In the request's arena. */
typedef struct serve_call {
    struct serve_call *next;
    request *r;
    tab_body body;
    const serve_row *row;
    char worker[40]; /* of inference, which answered last for the endpoint; "" */
    tab_status s;
    tab_error err;
    Tabella__WorkDone work; /* what it is billed */
    Tabella__UsageLine line[2], *usage[2];
} serve_call;

void serve_keep_worker(const request *r, const char *worker);
void serve_leave(const char *id); /* a call of the endpoint that was let in has ended */

/* Asks, writes the answer, bills and leaves: with calls of the endpoint that came at the same moment.
 * PARKED: another thread ends the request. */
tab_status serve_together(serve_call *c, tab_error *err) TAB_CHECKED;
tab_status serve_too_many(request *r, tab_error *err);

#endif
