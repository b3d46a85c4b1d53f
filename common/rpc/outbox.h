/* Events between services, none lost and none counted twice.
 *
 *   producer's transaction         relay                               consumer's transaction
 *   change + row in X.outbox  -->  row in X.outbox_due a service  -->  row in Y.inbox + effect
 *                                  row of outbox_due deleted      <--  answer after commit
 *
 * PostgreSQL alone keeps events; NATS carries them as calls (common/rpc/rpc.h) and keeps nothing (decision
 * 0243). What was not answered is sent again, and the inbox knows what it has. A row stays in the outbox
 * for three days: a retried step that writes its event again within these is ignored. The inbox forgets
 * after 30 days, longer than anything can be sent again; what must hold for ever (billing) has a unique
 * event id in its own table beside. Tables are made by the migration runner (common/pg/pg.h). */
#ifndef TAB_OUTBOX_H
#define TAB_OUTBOX_H

#include "common/pg/pg.h"
#include "common/rpc/rpc.h"

/* Writes an event in the caller's transaction. schema is the producer's own; subject "tabella.event...."
 * The same event id twice in one outbox: the second is ignored (a retried step writes its event again). */
tab_status tab_outbox_put(tab_tx *tx, const char *schema, const char *event_id, const char *subject,
                          const char *org, const ProtobufCMessage *event, tab_error *err) TAB_CHECKED;

/* The same for n > 0 events of one subject by one statement. */
typedef struct {
    const char *event_id, *org;
    const ProtobufCMessage *event;
} tab_outbox_event;
tab_status tab_outbox_put_all(tab_tx *tx, tab_arena *a, const char *schema, const char *subject,
                              const tab_outbox_event *e, size_t n, tab_error *err) TAB_CHECKED;

/* The newest event of org that `service` has not taken yet, as its number; 0: none. up_to: no newer one
 * (0: any). So a reader who does not find what an answer has named waits for what was on its way when it
 * asked. */
tab_status tab_outbox_waiting(tab_pg *pg, const char *schema, const char *org, const char *service,
                              int64_t up_to, tab_deadline d, int64_t *ret, tab_error *err) TAB_CHECKED;

/* Who reads what of a schema's outbox: a row for each pair, ended by TAB_EVENT_ROUTES_END. An event of a
 * subject without a row stays until a relay that knows it comes. */
typedef struct {
    const char *subject, *service;
} tab_event_route;
#define TAB_EVENT_ROUTES_END \
    {                        \
        NULL, NULL           \
    }
enum { TAB_EVENT_ROUTES_MOST = 16, TAB_LANES_MOST = 6 };

/* Starts the threads that deliver: one sorts new rows by service, and each service has one, so that a
 * service that is away holds up no other. Any number of processes may run a relay; for one service one of
 * them works at a time (advisory lock). Takes up to one connection for each thread. routes is borrowed as
 * long as the process lives. */
typedef struct tab_relay tab_relay;
tab_relay *tab_relay_open(tab_pg *pg, tab_rpc *rpc, const char *schema, const tab_event_route *routes);
void tab_relay_free(tab_relay *r); /* calls under way are given up */
TAB_DEFINE_AUTO(tab_relay)
void tab_relay_nudge(tab_relay *r); /* after a commit: deliver now instead of within a second */

typedef struct {
    const char *event_id, *subject, *org;
    int64_t delivered; /* 1 at first */
    tab_arena *arena;  /* for this event */
    tab_str payload;
} tab_event;

/* fn runs once for each event, in a transaction bound to the event's organization that also writes the
 * event's id into schema.inbox. A failure rolls back, and the event comes again: after 1 s at first, and
 * without end. For an event that it can never use, fn returns TAB_OK. */
typedef tab_status tab_event_fn(void *self, tab_tx *tx, const tab_event *event, tab_error *err);
/* Instead of fn, for a consumer that takes several at once: all events of a transaction, no id twice; n > 0.
 * They may be of several organizations. Then the transaction sees all of them, so what it writes for an event
 * goes under that event's organization by the consumer's own care. */
typedef tab_status tab_events_fn(void *self, tab_tx *tx, const tab_event *event, size_t n, tab_error *err);

/* Before tab_rpc_serve: the service takes the events that relays route to it, on its worker threads. One of
 * fn and all; the other is NULL. False: out of memory. */
bool tab_events_take(tab_pg *pg, tab_rpc *rpc, const char *schema, tab_event_fn *fn, tab_events_fn *all,
                     void *self) TAB_CHECKED;

#endif
