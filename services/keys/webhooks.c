/* Webhooks of an organization: their RPC methods. keys_notify makes the deliveries, sender.c sends them. */
#include <sodium.h>
#include <stdio.h>

#include "common/base/proto.h"
#include "services/keys/keys.h"
#include "services/keys/webhook.h"

enum {
    WEBHOOKS_MOST = 16,
    TYPES_MOST = 32,
    PAGE = 100,
    NAME_MOST = 128,
    CUSTOMER_MOST = 255,
    METER_MOST = 100
};

static const char *const kinds[] = { "job.ended",   "connection.failing", "usage.alert",   "quality.alert",
                                     "key.created", "key.revoked",        "key.expiring",  "key.expired",
                                     "key.network", "data.changed",       "audit.entries", "usage.events",
                                     "webhook.test" };

/* Kinds of notices, as they are stored. */
static tab_status read_types(tab_arena *a, char *const *type, size_t n, const char **ret, tab_error *err)
{
    const char *list = "";
    for (size_t i = 0; i < n && list != NULL; i++) {
        size_t k = 0;
        while (k < sizeof kinds / sizeof *kinds && strcmp(kinds[k], type[i]) != 0)
            k++;
        if (k == sizeof kinds / sizeof *kinds || n > TYPES_MOST)
            return tab_fail(
                err, TAB_VALIDATION, "types",
                "`types` can hold job.ended, connection.failing, usage.alert, quality.alert, key.created, "
                "key.revoked, key.expiring, key.expired, key.network, data.changed, usage.events and "
                "audit.entries.");
        list = tab_arena_printf(a, "%s%s%s", list, i > 0 ? " " : "", type[i]);
    }
    *ret = list;
    return list == NULL ? tab_no_memory(err) : TAB_OK;
}

static tab_status read_webhook(const tab_rows *r, size_t i, tab_arena *a, Tabella__Webhook *w, tab_error *err)
{
    const char *types = tab_rows_text(r, i, 3);
    w->id = tab_proto_text(a, tab_rows_text(r, i, 0));
    w->name = tab_proto_text(a, tab_rows_text(r, i, 1));
    w->url = tab_proto_text(a, tab_rows_text(r, i, 2));
    w->types = tab_arena_new_of(a, char *, TYPES_MOST);
    for (size_t n; w->types != NULL && *types != 0 && w->n_types < TYPES_MOST;
         types += n + (types[n] == ' ')) {
        n = strcspn(types, " ");
        w->types[w->n_types++] = (char *)tab_arena_copy(a, (tab_str){ types, n }).p;
    }
    w->created_at = tab_rows_time(r, i, 4);
    w->disabled_at = tab_rows_time(r, i, 5);
    w->why = tab_proto_text(a, tab_rows_text(r, i, 6));
    w->waiting = (uint32_t)tab_rows_int(r, i, 7);
    w->has_token = tab_rows_bool(r, i, 8);
    w->usage_format = tab_proto_text(a, tab_rows_text(r, i, 9));
    w->customer = tab_proto_text(a, tab_rows_text(r, i, 10));
    w->meter = tab_proto_text(a, tab_rows_text(r, i, 11));
    return tab_arena_full(a) || w->types == NULL ? tab_no_memory(err) : TAB_OK;
}

#define WEBHOOKS                                                                                             \
    "SELECT w.id, w.name, w.url, w.types, w.created, w.disabled, w.why, "                                    \
    "(SELECT count(*) FROM (SELECT FROM keys.webhook_delivery d WHERE d.org = w.org AND d.webhook = w.id "   \
    "AND d.open LIMIT 10000) x), w.token IS NOT NULL, coalesce(nullif(w.usage_format, ''), 'cloudevents'), " \
    "w.customer, w.meter FROM keys.webhook w "                                                               \
    "WHERE w.org = $1 AND ($2::text IS NULL OR w.id = $2) ORDER BY w.created DESC, w.id LIMIT 100"

tab_status keys_list_webhooks(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    Tabella__ListWebhooksReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err, WEBHOOKS, TAB_P(tab_p_text(call->org), tab_p_null())));
    size_t n = tab_rows_count(r);
    out->webhooks = tab_arena_new_of(call->arena, Tabella__Webhook *, n + 1);
    for (size_t i = 0; i < n && out->webhooks != NULL; i++) {
        Tabella__Webhook *w = out->webhooks[i] = tab_arena_new_of(call->arena, Tabella__Webhook, 1);
        if (w == NULL)
            return tab_no_memory(err);
        tabella__webhook__init(w);
        TAB_TRY(read_webhook(r, i, call->arena, w, err));
        out->n_webhooks++;
    }
    return out->webhooks == NULL ? tab_no_memory(err) : tab_tx_commit(&tx, err);
}

static tab_status show(tab_tx *tx, tab_call *call, const char *id, const char *secret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    Tabella__Webhook *w = call->out;
    TAB_TRY(tab_tx_query(tx, &r, err, WEBHOOKS, TAB_P(tab_p_text(call->org), tab_p_text(id))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such webhook.");
    if (secret[0] != 0)
        w->secret = tab_proto_text(call->arena, secret);
    return read_webhook(r, 0, call->arena, w, err);
}

/* A new secret, sealed for its row. */
static tab_status new_secret(keys *self, tab_call *call, const char *id, char secret[WEBHOOK_SECRET],
                             tab_str *ret, tab_error *err)
{
    if (self->kek == NULL)
        return tab_fail(err, TAB_CAPABILITY, "",
                        "Webhooks are not available on this installation; the operator has to set TAB_KEK.");
    webhook_secret_new(secret);
    return tab_seal(self->kek, call->arena, tab_str_of(secret), webhook_context(call->arena, call->org, id),
                    ret, err);
}

static tab_status insert(keys *self, tab_tx *tx, tab_call *call, const char *id, const char *types,
                         char secret[WEBHOOK_SECRET], tab_error *err)
{
    const Tabella__SetWebhookRequest *q = call->in;
    tab_str sealed;
    TAB_TRY(new_secret(self, call, id, secret, &sealed, err));
    TAB_TRY(tab_tx_room(tx, call->org, "SELECT count(*) FROM keys.webhook WHERE org = $1", WEBHOOKS_MOST,
                        "webhooks", err));
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO keys.webhook (org, id, name, url, types, secret, sealed_by) "
                        "VALUES ($1, $2, $3, $4, $5, $6, $7)",
                        TAB_P(tab_p_text(call->org), tab_p_text(id), tab_p_text(q->name), tab_p_text(q->url),
                              tab_p_text(types), tab_p_bytes(sealed),
                              tab_p_text(tab_keyring_newest(self->kek))));
}

/* While a secret is rotated both sign, for a day. Both must be under one key: the old one is sealed anew. */
static tab_status rotate(keys *self, tab_tx *tx, tab_call *call, const char *id, char secret[WEBHOOK_SECRET],
                         tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    tab_str sealed, old, plain, context = webhook_context(call->arena, call->org, id);
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT secret FROM keys.webhook WHERE org = $1 AND id = $2 FOR UPDATE",
                         TAB_P(tab_p_text(call->org), tab_p_text(id))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such webhook.");
    TAB_TRY(new_secret(self, call, id, secret, &sealed, err));
    TAB_TRY(tab_unseal(self->kek, call->arena, tab_rows_bytes(r, 0, 0, call->arena), context, &plain, err));
    TAB_TRY(tab_seal(self->kek, call->arena, plain, context, &old, err));
    return tab_tx_query(
        tx, NULL, err,
        "UPDATE keys.webhook SET secret = $3, old_secret = $4, old_until = now() + interval '1 day', "
        "sealed_by = $5 WHERE org = $1 AND id = $2",
        TAB_P(tab_p_text(call->org), tab_p_text(id), tab_p_bytes(sealed), tab_p_bytes(old),
              tab_p_text(tab_keyring_newest(self->kek))));
}

/* ---- receivers of usage ---------------------------------------------------------------------- */

/* What stands in a header, or in a form: visible characters of ASCII. */
static bool visible(const char *text)
{
    for (; *text > ' ' && *text <= '~'; text++)
        ;
    return *text == '\0';
}

static tab_status check_receiver(const Tabella__SetWebhookRequest *q, tab_error *err)
{
    const char *form = q->usage_format;
    if (strlen(q->token) > WEBHOOK_TOKEN || !visible(q->token))
        return tab_fail(err, TAB_VALIDATION, "token",
                        "`token` must have at most %d visible characters of ASCII", WEBHOOK_TOKEN);
    if (form[0] != '\0' && strcmp(form, "cloudevents") != 0 && strcmp(form, "stripe") != 0)
        return tab_fail(err, TAB_VALIDATION, "usage_format", "`usage_format` is cloudevents or stripe");
    if (strlen(q->customer) > CUSTOMER_MOST || !visible(q->customer))
        return tab_fail(err, TAB_VALIDATION, "customer",
                        "`customer` must have at most %d visible characters of ASCII", CUSTOMER_MOST);
    if (strlen(q->meter) > METER_MOST || !visible(q->meter))
        return tab_fail(err, TAB_VALIDATION, "meter",
                        "`meter` must have at most %d visible characters of ASCII", METER_MOST);
    return TAB_OK;
}

/* A token is for the address that it was given for: whoever may change that address must not be sent the
 * token of somebody else. */
static tab_status check_address(tab_tx *tx, tab_call *call, const Tabella__SetWebhookRequest *q,
                                tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    if (q->url[0] == '\0' || q->set_token)
        return TAB_OK;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT FROM keys.webhook WHERE org = $1 AND id = $2 AND token IS NOT NULL "
                         "AND url <> $3 FOR UPDATE",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->id), tab_p_text(q->url))));
    return tab_rows_count(r) == 0
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, "token",
                          "the token belongs to the address that it was given for; give `token` with the new "
                          "`url`, or null for none");
}

/* Its own columns, as they were checked; then whether they belong together. */
static tab_status set_receiver(keys *self, tab_tx *tx, tab_call *call, const char *id, tab_error *err)
{
    const Tabella__SetWebhookRequest *q = call->in;
    TAB_AUTO(tab_rows) *r = NULL;
    tab_str sealed = { NULL, 0 };
    if (q->token[0] != '\0')
        TAB_TRY(tab_seal(self->kek, call->arena, tab_str_of(q->token),
                         webhook_token_context(call->arena, call->org, id), &sealed, err));
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "UPDATE keys.webhook SET token = CASE WHEN $3::bool THEN $4::bytea ELSE token END, "
        "usage_format = coalesce(nullif($5, ''), usage_format), customer = coalesce($6, customer), "
        "meter = coalesce($7, meter) WHERE org = $1 AND id = $2 RETURNING usage_format = 'stripe' "
        "AND (token IS NULL OR customer = '' OR types <> 'usage.events')",
        TAB_P(tab_p_text(call->org), tab_p_text(id), tab_p_bool(q->set_token),
              sealed.p == NULL ? tab_p_null() : tab_p_bytes(sealed), tab_p_text(q->usage_format),
              q->set_customer ? tab_p_text(q->customer) : tab_p_null(),
              q->set_meter ? tab_p_text(q->meter) : tab_p_null())));
    if (tab_rows_count(r) > 0 && tab_rows_bool(r, 0, 0))
        return tab_fail(err, TAB_VALIDATION, "usage_format",
                        "with `usage_format` stripe, `token` and `customer` are needed, and `types` is "
                        "usage.events alone");
    return TAB_OK;
}

static bool changes_receiver(const Tabella__SetWebhookRequest *q)
{
    return q->set_token || q->usage_format[0] != '\0' || q->set_customer || q->set_meter || q->set_types;
}

/* ---- changes --------------------------------------------------------------------------------- */

static tab_status update(tab_tx *tx, tab_call *call, const char *types, tab_error *err)
{
    const Tabella__SetWebhookRequest *q = call->in;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "UPDATE keys.webhook SET rests = '-infinity', fails = 0, "
                         "name = coalesce(nullif($3, ''), name), "
                         "url = coalesce(nullif($4, ''), url), types = coalesce($5, types), "
                         "disabled = CASE WHEN NOT $6::bool THEN disabled WHEN $7::bool THEN NULL "
                         "ELSE coalesce(disabled, now()) END, why = CASE WHEN $6::bool THEN '' ELSE why END "
                         "WHERE org = $1 AND id = $2 RETURNING disabled IS NULL",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->id), tab_p_text(q->name),
                               tab_p_text(q->url), q->set_types ? tab_p_text(types) : tab_p_null(),
                               tab_p_bool(q->set_enabled), tab_p_bool(q->enabled))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such webhook.");
    if (!q->set_enabled && q->url[0] == 0)
        return TAB_OK;
    /* what waits goes out at once, or not until it is enabled */
    return tab_tx_query(tx, NULL, err,
                        "UPDATE keys.webhook_delivery SET due = CASE WHEN $3::bool THEN now() "
                        "ELSE 'infinity'::timestamptz END WHERE org = $1 AND webhook = $2 AND open",
                        TAB_P(tab_p_text(call->org), tab_p_text(q->id), tab_p_bool(tab_rows_bool(r, 0, 0))));
}

static tab_status test(tab_tx *tx, tab_call *call, const char *webhook, tab_error *err)
{
    char id[TAB_ID];
    tab_id_new(id, "evt_");
    keys_notice n = { .event_id = id,
                      .kind = "webhook.test",
                      .subject = webhook,
                      .text = "A test of a webhook.",
                      .at = tab_now_us(),
                      .webhook = webhook };
    return keys_notify(tx, call->arena, call->org, &n, err);
}

static const char *action_of(const Tabella__SetWebhookRequest *q)
{
    return q->id[0] == 0 ? "webhook.create"
           : q->rotate   ? "webhook.rotate"
           : q->test     ? "webhook.test"
                         : "webhook.update";
}

tab_status keys_set_webhook(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__SetWebhookRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    const char *types;
    char id[TAB_ID], secret[WEBHOOK_SECRET] = "";
    webhook_target target;
    bool makes = q->id[0] == 0;
    if (tab_utf8_count(tab_str_of(q->name)) > NAME_MOST || (makes && q->name[0] == 0))
        return tab_fail(err, TAB_VALIDATION, "name", "A name must have 1 to %d characters.", NAME_MOST);
    TAB_TRY(read_types(call->arena, q->types, q->n_types, &types, err));
    TAB_TRY(check_receiver(q, err));
    if (makes || q->url[0] != 0)
        TAB_TRY(webhook_resolve(call->arena, q->url, self->allow, &target, err));
    snprintf(id, sizeof id, "%s", q->id);
    if (makes)
        tab_id_new(id, "whk_");
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    tab_status s = makes ? TAB_OK : check_address(tx, call, q, err);
    if (s == TAB_OK)
        s = makes ? insert(self, tx, call, id, types, secret, err) : update(tx, call, types, err);
    if (s == TAB_OK && changes_receiver(q))
        s = set_receiver(self, tx, call, id, err);
    if (s == TAB_OK && !makes && q->rotate)
        s = rotate(self, tx, call, id, secret, err);
    if (s == TAB_OK && q->test)
        s = test(tx, call, id, err);
    if (s == TAB_OK)
        s = keys_audit(tx, call, call->org, q->actor, action_of(q), id, q->url, err);
    if (s == TAB_OK)
        s = show(tx, call, id, secret, err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    sodium_memzero(secret, sizeof secret);
    return s;
}

tab_status keys_delete_webhook(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__DeleteWebhookRequest *q = call->in;
    Tabella__DeleteWebhookReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err, "DELETE FROM keys.webhook WHERE org = $1 AND id = $2 RETURNING url",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->id))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such webhook.");
    TAB_TRY(keys_audit(tx, call, call->org, q->actor, "webhook.delete", q->id, tab_rows_text(r, 0, 0), err));
    out->id = tab_proto_text(call->arena, q->id);
    return tab_tx_commit(&tx, err);
}

/* ---- deliveries ------------------------------------------------------------------------------ */

#define DELIVERY "id, notice, kind, subject, open, tries, created, due, ended, status, error, position "

static void read_delivery(const tab_rows *r, size_t i, tab_arena *a, Tabella__Delivery *d)
{
    bool open = tab_rows_bool(r, i, 4);
    tabella__delivery__init(d);
    d->id = tab_proto_text(a, tab_rows_text(r, i, 0));
    d->message_id = tab_proto_text(a, tab_rows_text(r, i, 1));
    d->type = tab_proto_text(a, tab_rows_text(r, i, 2));
    d->subject = tab_proto_text(a, tab_rows_text(r, i, 3));
    d->tries = (uint32_t)tab_rows_int(r, i, 5);
    d->created_at = tab_rows_time(r, i, 6);
    d->due_at = open && strcmp(tab_rows_text(r, i, 7), "infinity") != 0 ? tab_rows_time(r, i, 7) : 0;
    d->ended_at = tab_rows_time(r, i, 8);
    d->status = (uint32_t)tab_rows_int(r, i, 9);
    d->error = tab_proto_text(a, tab_rows_text(r, i, 10));
    d->state = tab_proto_text(a, open ? "waiting" : d->error[0] == 0 ? "delivered" : "failed");
}

tab_status keys_list_deliveries(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__ListDeliveriesRequest *q = call->in;
    Tabella__ListDeliveriesReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL, *count = NULL;
    uint32_t limit = q->limit == 0 || q->limit > PAGE ? PAGE : q->limit;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &count, err,
                         "SELECT (SELECT count(*) FROM (SELECT FROM keys.webhook_delivery "
                         "WHERE org = $1 AND webhook = $2 LIMIT 100000) x) FROM keys.webhook "
                         "WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->webhook))));
    if (tab_rows_count(count) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such webhook.");
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT " DELIVERY "FROM keys.webhook_delivery WHERE org = $1 AND webhook = $2 "
        "AND ($3::bigint = 0 OR position < $3) ORDER BY position DESC LIMIT $4",
        TAB_P(tab_p_text(call->org), tab_p_text(q->webhook), tab_p_int(q->before), tab_p_int(limit))));
    size_t n = tab_rows_count(r);
    Tabella__Delivery *d = tab_arena_new_of(call->arena, Tabella__Delivery, n + 1);
    out->deliveries = tab_arena_new_of(call->arena, Tabella__Delivery *, n + 1);
    out->position = tab_arena_new_of(call->arena, int64_t, n + 1);
    if (d == NULL || out->deliveries == NULL || out->position == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        out->deliveries[i] = &d[i];
        out->position[i] = tab_rows_int(r, i, 11);
        read_delivery(r, i, call->arena, &d[i]);
    }
    out->n_deliveries = out->n_position = n;
    out->total = (uint64_t)tab_rows_int(count, 0, 0);
    return tab_tx_commit(&tx, err);
}

tab_status keys_replay_delivery(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__ReplayDeliveryRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "UPDATE keys.webhook_delivery d SET open = true, ended = NULL, error = '', tries = 0, "
        "since = now(), due = CASE WHEN w.disabled IS NULL THEN now() "
        "ELSE 'infinity'::timestamptz END FROM keys.webhook w "
        "WHERE d.org = $1 AND d.webhook = $2 AND d.id = $3 AND w.org = d.org AND w.id = d.webhook "
        "RETURNING d.id, d.notice, d.kind, d.subject, d.open, d.tries, d.created, d.due, d.ended, "
        "d.status, d.error, d.position",
        TAB_P(tab_p_text(call->org), tab_p_text(q->webhook), tab_p_text(q->id))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such delivery.");
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE keys.webhook SET rests = '-infinity' WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->webhook))));
    TAB_TRY(keys_audit(tx, call, call->org, q->actor, "webhook.replay", q->id, "", err));
    read_delivery(r, 0, call->arena, call->out);
    return tab_tx_commit(&tx, err);
}

/* ---- rotation of the key that seals ---------------------------------------------------------- */

static tab_status sealed_anew(const tab_keyring *kek, tab_arena *a, const tab_rows *r, size_t i, size_t col,
                              tab_str context, tab_param *ret, tab_error *err)
{
    tab_str plain, sealed;
    *ret = tab_p_null();
    if (tab_rows_null(r, i, col))
        return TAB_OK;
    TAB_TRY(tab_unseal(kek, a, tab_rows_bytes(r, i, col, a), context, &plain, err));
    TAB_TRY(tab_seal(kek, a, plain, context, &sealed, err));
    *ret = tab_p_bytes(sealed);
    return TAB_OK;
}

tab_status keys_reseal_webhooks(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)
{
    const keys *self = arg;
    TAB_AUTO(tab_arena) *a = tab_arena_new(4 << 20);
    TAB_AUTO(tab_rows) *r = NULL;
    *ret_n = 0;
    if (a == NULL)
        return tab_no_memory(err);
    if (self->kek == NULL)
        return TAB_OK;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT org, id, secret, old_secret, token FROM keys.webhook WHERE sealed_by <> $1 "
                         "ORDER BY org, id LIMIT $2 FOR UPDATE SKIP LOCKED",
                         TAB_P(tab_p_text(tab_keyring_newest(self->kek)), tab_p_int(most))));
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        tab_param secret, old, token;
        const char *org = tab_rows_text(r, i, 0), *id = tab_rows_text(r, i, 1);
        tab_str context = webhook_context(a, org, id), of_token = webhook_token_context(a, org, id);
        TAB_TRY(sealed_anew(self->kek, a, r, i, 2, context, &secret, err));
        TAB_TRY(sealed_anew(self->kek, a, r, i, 3, context, &old, err));
        TAB_TRY(sealed_anew(self->kek, a, r, i, 4, of_token, &token, err));
        TAB_TRY(
            tab_tx_query(tx, NULL, err,
                         "UPDATE keys.webhook SET secret = $3, old_secret = $4, token = $6, sealed_by = $5 "
                         "WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(id), secret, old,
                               tab_p_text(tab_keyring_newest(self->kek)), token)));
    }
    *ret_n = tab_rows_count(r);
    return TAB_OK;
}
