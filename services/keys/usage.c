/* Usage for an organization's own books: what metering counted, as CloudEvents (1.0, JSON batch), to webhooks
 * of the type `usage.events` (decision 0668). The id of an event is the ledger's: its event and the number of
 * the line, so that a receiver counts each once, whatever comes twice. */
#include <stdio.h>

#include "common/base/proto.h"
#include "common/json/json.h"
#include "proto/events.pb-c.h"
#include "services/keys/keys.h"

static void member(tab_out *o, const char *key, const char *value)
{
    tab_out_key(o, key);
    tab_out_cstr(o, value);
}

static void write_event(tab_out *o, const char *org, const Tabella__CountedUsage *u)
{
    char at[TAB_TIME_TEXT];
    tab_time_text(u->at_us, at);
    tab_out_open(o, '{');
    member(o, "specversion", "1.0");
    member(o, "type", "tabella.cells");
    member(o, "source", "tabella");
    member(o, "id", u->id);
    member(o, "time", at);
    member(o, "subject", org);
    member(o, "datacontenttype", "application/json");
    tab_out_key(o, "data");
    tab_out_open(o, '{');
    member(o, "op", u->op);
    tab_out_key(o, "cells");
    tab_out_uint(o, u->cells);
    tab_out_key(o, "equivalents_milli");
    tab_out_uint(o, u->milli);
    member(o, "surface", u->surface);
    member(o, "key_id", u->key_id);
    member(o, "endpoint_id", u->endpoint_id);
    member(o, "endpoint", u->endpoint);
    member(o, "base", u->base_model);
    tab_out_close(o, '}');
    tab_out_close(o, '}');
}

tab_status keys_on_usage(tab_tx *tx, const tab_event *event, tab_error *err)
{
    const Tabella__UsageCounted *m =
        tab_proto_read(event->arena, &tabella__usage_counted__descriptor, event->payload);
    if (m == NULL || m->n_usage == 0)
        return TAB_OK; /* never readable */
    tab_out all = { 0 };
    for (size_t i = 0; i < m->n_usage; i++) {
        tab_out one = { 0 };
        write_event(&one, event->org, m->usage[i]);
        if (i > 0)
            tab_out_bytes(&all, ",", 1);
        tab_out_bytes(&all, one.p, one.n);
        all.failed = all.failed || one.failed;
        tab_out_free(&one);
    }
    tab_status s =
        all.failed
            ? tab_no_memory(err)
            : tab_tx_query(
                  tx, NULL, err,
                  "WITH w AS (SELECT id, usage_format FROM keys.webhook WHERE org = $1 AND disabled IS NULL "
                  "AND strpos(' ' || types || ' ', ' usage.events ') > 0), "
                  "b AS (INSERT INTO keys.usage_batch (org, id, events) SELECT $1, $2, $3 "
                  "WHERE EXISTS (SELECT FROM w) ON CONFLICT DO NOTHING RETURNING id) "
                  "INSERT INTO keys.webhook_delivery (org, id, webhook, notice, kind, subject) "
                  "SELECT $1, 'dlv_' || replace(gen_random_uuid()::text, '-', ''), w.id, b.id, "
                  "'usage.events', CASE w.usage_format WHEN 'stripe' THEN 'usage ' || b.id ELSE 'usage' "
                  "END FROM b, w", /* a sum of Stripe's that is not taken keeps no other waiting */
                  TAB_P(tab_p_text(event->org), tab_p_text(event->event_id), tab_p_str(tab_out_text(&all))));
    tab_out_free(&all);
    return s;
}
