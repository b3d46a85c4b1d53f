/* Progress of a request while others compute for it, for a client that asked to hear of it: inference tells
 * it on tabella.progress.NAME, and http_events.c sends what is new as server-sent events, in pieces of the
 * answer (decision 0690).
 *
 *   handler: progress_begin --> the loop looks four times a second --> an event, where there is something new
 *   NATS' thread: progress_heard writes the newest                     the answer is the last event */
#ifndef TAB_API_PROGRESS_H
#define TAB_API_PROGRESS_H

#include "services/api/api.h"

struct __natsConnection;
struct __natsSubscription;
struct __natsMsg;

/* In the request's arena; whoever sets r->progress fills in `write`, the rest is progress.c's. */
typedef struct progress {
    /* The text of one event's data, a line. */
    void (*write)(tab_out *o, const request *r, int percent, const char *phase);
    struct progress *next;
    char name[80];
    int percent; /* 0 to 100 */
    char phase[40];
    /* the loop's alone */
    bool begun; /* the head of the answer has left */
    int told;   /* -1: nothing yet */
    int64_t told_ms;
} progress;

/* What is told under this name from now on is r's; nothing where r has no progress, or has begun already. */
void progress_begin(request *r, const char *name);
/* The newest. False: there is none that was not told. */
bool progress_new(const request *r, int *ret_percent, char ret_phase[40]);
/* Before r's arena goes. */
void progress_end(request *r);

/* For tab_rpc_listen. Keeps no more of a message than a number and 39 bytes. */
void progress_heard(struct __natsConnection *nc, struct __natsSubscription *sub, struct __natsMsg *m,
                    void *arg);

#endif
