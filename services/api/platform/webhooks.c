/* /platform/v1/webhooks: receivers of the organization's notifications, and what was sent to them. */
#include <stdio.h>

#include "proto/keys.pb-c.h"
#include "proto/metering.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

enum {
    TYPES_MOST = 16,
    URL_MOST = 512,
    NAME_MOST = 128,
    TOKEN_MOST = 512,
    CUSTOMER_MOST = 255,
    METER_MOST = 100
};

static void webhook_json(tab_out *o, const Tabella__Webhook *w)
{
    tab_out_open(o, '{');
    text_member(o, "id", w->id);
    text_member(o, "name", w->name);
    text_member(o, "url", w->url);
    texts_member(o, "types", w->n_types, w->types);
    text_member(o, "status", w->disabled_at == 0 ? "active" : "disabled");
    time_member(o, "disabled_at", w->disabled_at);
    text_member(o, "disabled_why", w->why[0] != 0 ? w->why : NULL);
    uint_member(o, "waiting", w->waiting);
    bool_member(o, "has_token", w->has_token);
    text_member(o, "usage_format", w->usage_format);
    text_member(o, "customer", w->customer[0] != 0 ? w->customer : NULL);
    text_member(o, "meter", w->meter[0] != 0 ? w->meter : NULL);
    time_member(o, "created_at", w->created_at);
    if (w->secret[0] != 0)
        text_member(o, "secret", w->secret);
    tab_out_close(o, '}');
}

static void delivery_json(tab_out *o, const Tabella__Delivery *d)
{
    tab_out_open(o, '{');
    text_member(o, "id", d->id);
    text_member(o, "message_id", d->message_id);
    text_member(o, "type", d->type);
    text_member(o, "subject", d->subject);
    text_member(o, "status", d->state);
    uint_member(o, "tries", d->tries);
    time_member(o, "created_at", d->created_at);
    time_member(o, "next_try_at", d->due_at);
    time_member(o, "ended_at", d->ended_at);
    tab_out_key(o, "response_status");
    if (d->status > 0)
        tab_out_uint(o, d->status);
    else
        tab_out_null(o);
    text_member(o, "error", d->error[0] != 0 ? d->error : NULL);
    tab_out_close(o, '}');
}

static char *param_text(request *r, int i)
{
    return STR(tab_arena_copy(r->arena, r->param[i]).p);
}

static tab_status set(request *r, Tabella__SetWebhookRequest *q, tab_error *err)
{
    const Tabella__Webhook *w = NULL;
    q->actor = r->who.key;
    TAB_TRY(call(r, "keys", "SetWebhook", &q->base, &tabella__webhook__descriptor, &w, err));
    webhook_json(&r->out, w);
    return TAB_OK;
}

/* Metering learns at once from keys who sends usage on; where it does not answer, with the next call that it
 * is asked about. */
static void usage_learnt(request *r)
{
    Tabella__UsageRequest q = TABELLA__USAGE_REQUEST__INIT;
    const Tabella__UsageReply *y;
    tab_error later;
    q.limit = 1;
    (void)!call(r, "metering", "Usage", &q.base, &tabella__usage_reply__descriptor, &y, &later);
}

/* A text, or null for none. *ret_set: it is said. */
static tab_status text_or_null(request *r, const tab_json *body, const char *key, size_t most,
                               protobuf_c_boolean *ret_set, char **ret, tab_error *err)
{
    const tab_json *m = tab_json_get(body, key);
    tab_str text = TAB_S("");
    *ret_set = m != NULL;
    if (m != NULL && m->kind != TAB_JSON_NULL)
        TAB_TRY(body_text(body, key, true, most, &text, err));
    if (text.n > 0 && memchr(text.p, 0, text.n) != NULL)
        return tab_fail(err, TAB_VALIDATION, key, "`%s` must not contain a NUL character", key);
    *ret = STR(tab_arena_copy(r->arena, text).p);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

/* What a receiver of usage asks for. */
static tab_status read_receiver(request *r, const tab_json *body, Tabella__SetWebhookRequest *q,
                                tab_error *err)
{
    protobuf_c_boolean formed;
    TAB_TRY(text_or_null(r, body, "token", TOKEN_MOST, &q->set_token, &q->token, err));
    TAB_TRY(text_or_null(r, body, "customer", CUSTOMER_MOST, &q->set_customer, &q->customer, err));
    TAB_TRY(text_or_null(r, body, "meter", METER_MOST, &q->set_meter, &q->meter, err));
    return text_or_null(r, body, "usage_format", NAME_MOST, &formed, &q->usage_format, err);
}

static tab_status read_webhook(request *r, const tab_json *body, bool makes, Tabella__SetWebhookRequest *q,
                               tab_error *err)
{
    tab_str name, url;
    const tab_json *types = tab_json_get(body, "types");
    TAB_TRY(body_text(body, "name", makes, NAME_MOST, &name, err));
    TAB_TRY(body_text(body, "url", makes, URL_MOST, &url, err));
    TAB_TRY(body_texts(r, types, "types", TYPES_MOST, &q->types, &q->n_types, err));
    q->set_types = types != NULL;
    q->name = STR(tab_arena_copy(r->arena, name).p);
    q->url = STR(tab_arena_copy(r->arena, url).p);
    return q->name == NULL || q->url == NULL ? tab_no_memory(err) : read_receiver(r, body, q, err);
}

tab_status get_webhooks(request *r, tab_error *err)
{
    Tabella__ListWebhooksRequest q = TABELLA__LIST_WEBHOOKS_REQUEST__INIT;
    const Tabella__ListWebhooksReply *y = NULL;
    TAB_TRY(call(r, "keys", "ListWebhooks", &q.base, &tabella__list_webhooks_reply__descriptor, &y, err));
    tab_out_open(&r->out, '{');
    open_member(&r->out, "webhooks", '[');
    for (size_t i = 0; i < y->n_webhooks; i++)
        webhook_json(&r->out, y->webhooks[i]);
    tab_out_close(&r->out, ']');
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

tab_status post_webhooks(request *r, tab_error *err)
{
    Tabella__SetWebhookRequest q = TABELLA__SET_WEBHOOK_REQUEST__INIT;
    tab_body b;
    TAB_TRY(body_read(r, &b, err));
    TAB_TRY(read_webhook(r, b.root, true, &q, err));
    TAB_TRY(set(r, &q, err));
    usage_learnt(r);
    r->status = 201;
    return TAB_OK;
}

tab_status patch_webhook(request *r, tab_error *err)
{
    Tabella__SetWebhookRequest q = TABELLA__SET_WEBHOOK_REQUEST__INIT;
    tab_body b;
    TAB_TRY(body_read(r, &b, err));
    TAB_TRY(read_webhook(r, b.root, false, &q, err));
    const tab_json *enabled = tab_json_get(b.root, "enabled");
    if (enabled != NULL && enabled->kind != TAB_JSON_BOOL)
        return tab_fail(err, TAB_VALIDATION, "enabled", "`enabled` must be true or false");
    q.set_enabled = enabled != NULL;
    q.enabled = enabled != NULL && enabled->yes;
    if (q.name[0] == 0 && q.url[0] == 0 && !q.set_types && !q.set_enabled && !q.set_token &&
        q.usage_format[0] == 0 && !q.set_customer && !q.set_meter)
        return tab_fail(err, TAB_VALIDATION, "body",
                        "nothing to change: give name, url, types, enabled, token, usage_format, customer or "
                        "meter");
    q.id = param_text(r, 0);
    TAB_TRY(set(r, &q, err));
    usage_learnt(r);
    return TAB_OK;
}

tab_status post_webhook_rotate(request *r, tab_error *err)
{
    Tabella__SetWebhookRequest q = TABELLA__SET_WEBHOOK_REQUEST__INIT;
    q.id = param_text(r, 0);
    q.rotate = true;
    return set(r, &q, err);
}

tab_status post_webhook_test(request *r, tab_error *err)
{
    Tabella__SetWebhookRequest q = TABELLA__SET_WEBHOOK_REQUEST__INIT;
    q.id = param_text(r, 0);
    q.test = true;
    return set(r, &q, err);
}

tab_status delete_webhook(request *r, tab_error *err)
{
    Tabella__DeleteWebhookRequest q = TABELLA__DELETE_WEBHOOK_REQUEST__INIT;
    const Tabella__DeleteWebhookReply *y = NULL;
    q.id = param_text(r, 0);
    q.actor = r->who.key;
    TAB_TRY(call(r, "keys", "DeleteWebhook", &q.base, &tabella__delete_webhook_reply__descriptor, &y, err));
    tab_out_open(&r->out, '{');
    bool_member(&r->out, "deleted", true);
    text_member(&r->out, "id", y->id);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

/* ---- deliveries ------------------------------------------------------------------------------ */

static void delivery_entry(request *r, const void *reply, size_t i)
{
    delivery_json(&r->out, ((const Tabella__ListDeliveriesReply *)reply)->deliveries[i]);
}

tab_status get_deliveries(request *r, tab_error *err)
{
    Tabella__ListDeliveriesRequest q = TABELLA__LIST_DELIVERIES_REQUEST__INIT;
    const Tabella__ListDeliveriesReply *y = NULL;
    tab_str after, next = TAB_S("");
    int64_t before = 0;
    q.webhook = param_text(r, 0);
    const char *list = tab_arena_printf(r->arena, "deliveries:%s", q.webhook);
    if (list == NULL)
        return tab_no_memory(err);
    TAB_TRY(query_page(r, list, 20, &q.limit, &after, err));
    for (size_t i = 0; i < after.n; i++)
        before = 10 * before + (after.p[i] - '0'); /* our own digits: the signature held */
    q.before = before;
    TAB_TRY(call(r, "keys", "ListDeliveries", &q.base, &tabella__list_deliveries_reply__descriptor, &y, err));
    if (y->n_position > 0 && y->n_position == q.limit) {
        const char *text = tab_arena_printf(r->arena, "%lld", (long long)y->position[y->n_position - 1]);
        next = tab_str_of(text != NULL ? text : "");
    }
    list_answer(r, &(list_page){ .list = list,
                                 .name = "deliveries",
                                 .reply = y,
                                 .n = y->n_deliveries,
                                 .entry = delivery_entry,
                                 .next = next,
                                 .total = y->total });
    return TAB_OK;
}

tab_status post_delivery_replay(request *r, tab_error *err)
{
    Tabella__ReplayDeliveryRequest q = TABELLA__REPLAY_DELIVERY_REQUEST__INIT;
    const Tabella__Delivery *d = NULL;
    q.webhook = param_text(r, 0);
    q.id = param_text(r, 1);
    q.actor = r->who.key;
    TAB_TRY(call(r, "keys", "ReplayDelivery", &q.base, &tabella__delivery__descriptor, &d, err));
    delivery_json(&r->out, d);
    return TAB_OK;
}
