/* The consumer's side of common/rpc/outbox.h: the method Events of a service that reads some. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/point.h"
#include "common/rpc/outbox.h"
#include "proto/events.pb-c.h"

enum { GROUP_MOST = 100, ACT_MS = 15000 };

typedef struct {
    tab_pg *pg;
    char note[200]; /* the statement that notes ids in the inbox and gives those that are new */
    tab_event_fn *fn;
    tab_events_fn *all; /* one of the two */
    void *self;
    tab_metric *done, *again;
} consumer;

static tab_status act(consumer *c, tab_tx *tx, const tab_event *e, size_t n, tab_error *err)
{
    if (c->all != NULL)
        return n == 0 ? TAB_OK : c->all(c->self, tx, e, n, err);
    tab_status s = TAB_OK;
    for (size_t i = 0; s == TAB_OK && i < n; i++)
        s = c->fn(c->self, tx, &e[i], err);
    return s;
}

/* The events of the group that the inbox did not know; it notes them. */
static tab_status note_group(consumer *c, tab_tx *tx, tab_arena *a, Tabella__Event *const *e, size_t n,
                             tab_rows **ret, tab_error *err)
{
    char *id[GROUP_MOST], *org[GROUP_MOST];
    for (size_t i = 0; i < n; i++) {
        id[i] = e[i]->event_id;
        org[i] = e[i]->org_id;
    }
    const char *ids = tab_pg_array(a, id, n), *orgs = tab_pg_array(a, org, n);
    return ids == NULL || orgs == NULL
               ? tab_no_memory(err)
               : tab_tx_query(tx, ret, err, c->note, TAB_P(tab_p_text(ids), tab_p_text(orgs)));
}

static size_t of_one_org(Tabella__Event *const *e, size_t n)
{
    size_t k = 1;
    while (k < n && strcmp(e[k]->org_id, e[0]->org_id) == 0)
        k++;
    return k;
}

/* 0 < n <= GROUP_MOST events in one transaction. It sees no other organizations than theirs where they are of
 * one, and all where they are of several (decision 0354). */
static tab_status take_group(consumer *c, Tabella__Event *const *e, size_t n, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)256 << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    bool taken[GROUP_MOST] = { false };
    tab_event event[GROUP_MOST];
    size_t fresh = 0;
    if (a == NULL)
        return tab_no_memory(err);
    const char *org = of_one_org(e, n) == n ? e[0]->org_id : TAB_ORG_ALL;
    tab_status s = tab_tx_begin(c->pg, org, tab_in_ms(ACT_MS), &tx, err);
    if (s == TAB_OK)
        s = note_group(c, tx, a, e, n, &rows, err);
    if (s != TAB_OK)
        return s;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < tab_rows_count(rows) &&
               (taken[k] || strcmp(tab_rows_text(rows, k, 0), e[i]->event_id) != 0))
            k++;
        if (k == tab_rows_count(rows)) {
            TAB_POINT("inbox.known");
            continue;
        }
        taken[k] = true;
        event[fresh++] = (tab_event){ .event_id = e[i]->event_id,
                                      .subject = e[i]->subject,
                                      .org = e[i]->org_id,
                                      .delivered = e[i]->delivered,
                                      .arena = a,
                                      .payload = { (char *)e[i]->payload.data, e[i]->payload.len } };
    }
    s = act(c, tx, event, fresh, err);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

/* Takes a group of events in one transaction. Where that fails, each event gets a transaction of its own, so
 * that one that cannot be taken yet does not hold up the others. */
static tab_status take_each(consumer *c, const atomic_bool *cancel, Tabella__Event *const *e, size_t n,
                            protobuf_c_boolean *taken, tab_error *err)
{
    tab_error why = { 0 };
    tab_status s = take_group(c, e, n, &why);
    if (s == TAB_OK) {
        tab_metric_add(c->done, (double)n);
        memset(taken, 1, n * sizeof *taken);
        return TAB_OK;
    }
    if (s == TAB_UNAVAILABLE) /* so will the others: the relay tries all again in a second */
        return tab_fail(err, s, NULL, "%s", why.message);
    if (n == 1) {
        tab_metric_add(c->again, 1);
        tab_log_fields(TAB_ERROR, "an event comes again later", "event_id", e[0]->event_id, "subject",
                       e[0]->subject, "why", why.message, NULL);
        return TAB_OK;
    }
    TAB_POINT("inbox.one-by-one");
    s = TAB_OK;
    for (size_t i = 0; i < n && s == TAB_OK && !atomic_load(cancel); i++)
        s = take_each(c, cancel, &e[i], 1, &taken[i], err);
    return s;
}

/* Events committed before an error are sent again, too; the inbox knows them. */
static tab_status events(void *self, tab_call *call, tab_error *err)
{
    consumer *c = self;
    const Tabella__EventBatch *in = call->in;
    Tabella__EventsTaken *out = call->out;
    out->n_taken = in->n_event;
    out->taken = tab_arena_alloc(call->arena, in->n_event + 1, sizeof *out->taken);
    if (out->taken == NULL)
        return tab_no_memory(err);
    tab_status s = TAB_OK;
    for (size_t i = 0, n; i < in->n_event && s == TAB_OK && !atomic_load(call->cancel); i += n) {
        n = in->n_event - i < GROUP_MOST ? in->n_event - i : GROUP_MOST;
        if (c->all == NULL)
            n = of_one_org(in->event + i, n);
        s = take_each(c, call->cancel, in->event + i, n, out->taken + i, err);
    }
    return s;
}

bool tab_events_take(tab_pg *pg, tab_rpc *rpc, const char *schema, tab_event_fn *fn, tab_events_fn *all,
                     void *self)
{
    static const tab_rpc_method method = { "Events", &tabella__event_batch__descriptor,
                                           &tabella__events_taken__descriptor, events };
    consumer *c = calloc(1, sizeof *c);
    if (c == NULL)
        return false;
    c->pg = pg;
    c->fn = fn;
    c->all = all;
    c->self = self;
    snprintf(c->note, sizeof c->note,
             "INSERT INTO %s.inbox (event_id, org) "
             "SELECT id, min(org) FROM unnest($1::text[], $2::text[]) e(id, org) GROUP BY id ORDER BY id "
             "ON CONFLICT DO NOTHING RETURNING event_id",
             schema);
    c->done = tab_counter("tabella_events_consumed_total", "Events taken, repetitions too", NULL);
    c->again = tab_counter("tabella_events_failed_total", "Events that come again later", NULL);
    tab_rpc_also(rpc, &method, c);
    return true;
}
