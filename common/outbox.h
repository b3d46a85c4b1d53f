/* Events between services, none lost and none counted twice.
 *
 *   producer's transaction          relay (one at a time)            consumer's transaction
 *   change + row in X.outbox  -->   JetStream, Nats-Msg-Id    -->    row in Y.inbox + effect, then ack
 *
 * A row stays in the outbox for three days after its publication; when the relay finds that the stream is
 * not the one it published to (its store was wiped), it publishes all of them again, after what is new and
 * from the newest down (decision 0156). The inbox forgets after 30 days, longer than anything can be
 * delivered again; what must hold for ever (billing) has a unique event id in its own table beside. Tables
 * are made by the migration runner (common/pg.h). */
#ifndef TAB_OUTBOX_H
#define TAB_OUTBOX_H

#include "common/pg.h"
#include "common/rpc.h"

/* Writes an event in the caller's transaction. schema is the producer's own; subject "tabella.event...."
 * The same event id twice in one outbox: the second is ignored (a retried step writes its event again). */
tab_status tab_outbox_put(tab_tx *tx, const char *schema, const char *event_id, const char *subject,
                          const char *org, const ProtobufCMessage *event, tab_error *err) TAB_CHECKED;

/* The relay's thread; any number of processes may run it, one at a time works (advisory lock). */
typedef struct tab_relay tab_relay;
tab_relay *tab_relay_open(tab_pg *pg, tab_rpc *rpc, const char *schema);
void tab_relay_free(tab_relay *r);
TAB_DEFINE_AUTO(tab_relay)
void tab_relay_nudge(tab_relay *r); /* after a commit: publish now instead of within a second */

typedef struct {
    const char *event_id, *subject, *org;
    int64_t delivered; /* 1 at first */
    tab_arena *arena;  /* for this event */
    tab_str payload;
} tab_event;

/* Runs fn once for each event of the subject (several: end it in ">"), in a transaction bound to the
 * event's organization, with the event's id in schema.inbox. A failure rolls back and comes again later,
 * after 1 s at first, for ever: fn gives TAB_OK for what it can never use. */
typedef tab_status tab_event_fn(void *self, tab_tx *tx, const tab_event *event, tab_error *err);
/* In its place, for who takes several at once: all events of a transaction, one organization's, no id
 * twice; n > 0. */
typedef tab_status tab_events_fn(void *self, tab_tx *tx, const tab_event *event, size_t n, tab_error *err);
typedef struct tab_consumer tab_consumer;
tab_consumer *tab_consumer_open(tab_pg *pg, tab_rpc *rpc, const char *schema, const char *subject,
                                tab_event_fn *fn, tab_events_fn *all, void *self);
void tab_consumer_free(tab_consumer *c);
TAB_DEFINE_AUTO(tab_consumer)

#endif
