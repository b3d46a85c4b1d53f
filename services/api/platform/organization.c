/* /platform/v1 of the organization itself: its settings, its notifications, its audit log. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>

#include "common/base/time.h"
#include "proto/keys.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

enum { NAME_MOST = 128, ADDRESS_MOST = 254, ADDRESSES_MOST = 10 };

/* A row's number, which a cursor of ours holds. */
static int64_t number(tab_str digits)
{
    int64_t x = 0;
    for (size_t i = 0; i < digits.n; i++)
        x = 10 * x + (digits.p[i] - '0'); /* our own digits: the signature held */
    return x;
}

/* Where the next page begins: behind the last row of a full one. */
static tab_str next_of(char buf[24], uint32_t limit, const int64_t *position, size_t n)
{
    if (n == 0 || n < limit)
        return TAB_S("");
    snprintf(buf, 24, "%lld", (long long)position[n - 1]);
    return tab_str_of(buf);
}

/* ---- the audit log --------------------------------------------------------------------------- */

static void hash_member(tab_out *o, const char *key, ProtobufCBinaryData hash)
{
    char hex[2 * crypto_hash_sha256_BYTES + 1];
    tab_out_key(o, key);
    if (hash.len != crypto_hash_sha256_BYTES)
        tab_out_null(o);
    else
        tab_out_cstr(o, sodium_bin2hex(hex, sizeof hex, hash.data, hash.len));
}

static void audit_entry(request *r, const void *reply, size_t i)
{
    const Tabella__AuditEntry *a = ((const Tabella__ListAuditReply *)reply)->entries[i];
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    text_member(o, "id", a->id);
    time_member(o, "at", a->at);
    text_member(o, "actor", a->actor);
    text_member(o, "action", a->action);
    text_member(o, "object", a->object);
    text_member(o, "detail", a->detail[0] != 0 ? a->detail : NULL);
    text_member(o, "request_id", a->request_id[0] != 0 ? a->request_id : NULL);
    text_member(o, "address", a->address[0] != 0 ? a->address : NULL);
    uint_member(o, "seq", a->seq);
    hash_member(o, "hash", a->hash);
    tab_out_close(o, '}');
}

static void audit_head(request *r, const void *reply)
{
    const Tabella__ListAuditReply *y = reply;
    tab_out *o = &r->out;
    open_member(o, "head", '{');
    uint_member(o, "seq", y->head_seq);
    hash_member(o, "hash", y->head_hash);
    tab_out_close(o, '}');
}

static tab_status text_filter(request *r, const char *name, char **ret, tab_error *err)
{
    tab_str value;
    TAB_TRY(query_param(r, name, &value, err));
    if (value.n > 128 || (value.n > 0 && memchr(value.p, 0, value.n) != NULL))
        return tab_fail(err, TAB_VALIDATION, name, "`%s` must be a string of at most 128 bytes", name);
    *ret = value.n > 0 ? STR(tab_arena_copy(r->arena, value).p) : STR("");
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

static tab_status time_filter(request *r, const char *name, int64_t *ret, tab_error *err)
{
    tab_str value;
    TAB_TRY(query_param(r, name, &value, err));
    if (value.p != NULL && !tab_time_parse(value, ret))
        return tab_fail(err, TAB_VALIDATION, name, "`%s` must be a time such as 2026-11-21T09:24:05Z", name);
    return TAB_OK;
}

tab_status get_audit(request *r, tab_error *err)
{
    Tabella__ListAuditRequest q = TABELLA__LIST_AUDIT_REQUEST__INIT;
    const Tabella__ListAuditReply *y = NULL;
    tab_str after;
    char next[24];
    TAB_TRY(text_filter(r, "event", &q.action, err));
    TAB_TRY(text_filter(r, "actor", &q.actor, err));
    TAB_TRY(time_filter(r, "since", &q.since, err));
    TAB_TRY(time_filter(r, "until", &q.until, err));
    char *list = tab_arena_printf(r->arena, "audit:%s:%s:%lld:%lld", q.action, q.actor, (long long)q.since,
                                  (long long)q.until);
    if (list == NULL)
        return tab_no_memory(err);
    TAB_TRY(query_page(r, list, 20, &q.limit, &after, err));
    q.before = number(after);
    TAB_TRY(call(r, "keys", "ListAudit", &q.base, &tabella__list_audit_reply__descriptor, &y, err));
    list_answer_with(r,
                     &(list_page){ .list = list,
                                   .name = "audit",
                                   .reply = y,
                                   .n = y->n_entries,
                                   .entry = audit_entry,
                                   .next = next_of(next, q.limit, y->position, y->n_position),
                                   .total = y->total },
                     audit_head);
    return TAB_OK;
}

/* ---- notifications --------------------------------------------------------------------------- */

static void notice_json(tab_out *o, const Tabella__Notice *x)
{
    tab_out_open(o, '{');
    text_member(o, "id", x->id);
    text_member(o, "type", x->kind);
    text_member(o, "subject", x->subject);
    text_member(o, "text", x->text);
    raw_member(o, "data", x->data[0] != 0 ? x->data : "{}");
    time_member(o, "created_at", x->at);
    time_member(o, "read_at", x->read_at);
    tab_out_close(o, '}');
}

static void notice_entry(request *r, const void *reply, size_t i)
{
    notice_json(&r->out, ((const Tabella__ListNoticesReply *)reply)->notices[i]);
}

static void unread_member(request *r, const void *reply)
{
    uint_member(&r->out, "unread", ((const Tabella__ListNoticesReply *)reply)->unread);
}

tab_status get_notifications(request *r, tab_error *err)
{
    Tabella__ListNoticesRequest q = TABELLA__LIST_NOTICES_REQUEST__INIT;
    const Tabella__ListNoticesReply *y = NULL;
    tab_str unread, after;
    char next[24];
    TAB_TRY(query_param(r, "unread", &unread, err));
    q.unread = tab_str_eq(unread, TAB_S("true"));
    if (unread.p != NULL && !q.unread && !tab_str_eq(unread, TAB_S("false")))
        return tab_fail(err, TAB_VALIDATION, "unread", "`unread` must be true or false");
    const char *list = q.unread ? "notifications:unread" : "notifications";
    TAB_TRY(query_page(r, list, 20, &q.limit, &after, err));
    q.before = number(after);
    TAB_TRY(call(r, "keys", "ListNotices", &q.base, &tabella__list_notices_reply__descriptor, &y, err));
    list_answer_with(r,
                     &(list_page){ .list = list,
                                   .name = "notifications",
                                   .reply = y,
                                   .n = y->n_notices,
                                   .entry = notice_entry,
                                   .next = next_of(next, q.limit, y->position, y->n_position),
                                   .total = y->total },
                     unread_member);
    return TAB_OK;
}

tab_status post_notification_read(request *r, tab_error *err)
{
    Tabella__ReadNoticeRequest q = TABELLA__READ_NOTICE_REQUEST__INIT;
    const Tabella__Notice *x = NULL;
    q.id = STR(tab_arena_copy(r->arena, r->param[0]).p);
    TAB_TRY(call(r, "keys", "ReadNotice", &q.base, &tabella__notice__descriptor, &x, err));
    notice_json(&r->out, x);
    return TAB_OK;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* What may be mailed: the member of `alerts`, and its bit. */
static const struct {
    const char *name;
    uint32_t bit;
} ALERTS[] = { { "jobs", 1 }, { "usage", 2 }, { "keys", 4 }, { "connections", 8 }, { "quality", 16 } };
enum { N_ALERTS = sizeof ALERTS / sizeof *ALERTS };

static void addresses_member(tab_out *o, const char *email)
{
    open_member(o, "emails", '[');
    while (*email != 0) {
        size_t n = strcspn(email, ",");
        tab_out_str(o, (tab_str){ email, n });
        email += n + (email[n] == ',');
    }
    tab_out_close(o, ']');
}

/* How long what is kept, in days. */
static const char *const KEEPS[] = { "runs", "logs", "snapshots", "outcomes" };
enum { N_KEEPS = sizeof KEEPS / sizeof *KEEPS, DAYS_MOST = 36500 };

static void keeps_member(tab_out *o, const char *name, Tabella__Keep *const *keep, size_t n)
{
    open_member(o, name, '{');
    for (size_t i = 0; i < N_KEEPS; i++) {
        size_t k = 0;
        while (k < n && strcmp(keep[k]->what, KEEPS[i]) != 0)
            k++;
        tab_out_key(o, KEEPS[i]);
        if (k < n)
            tab_out_uint(o, keep[k]->days);
        else
            tab_out_null(o);
    }
    tab_out_close(o, '}');
}

/* What is not named stays as it is; null: as the plan has it. */
static tab_status read_keeps(request *r, const tab_json *m, Tabella__SetOrgRequest *q, tab_error *err)
{
    bool good = m == NULL || (m->kind == TAB_JSON_OBJECT && m->count <= N_KEEPS);
    Tabella__Keep *k = tab_arena_new_of(r->arena, Tabella__Keep, N_KEEPS);
    q->keep = tab_arena_new_of(r->arena, Tabella__Keep *, N_KEEPS);
    if (k == NULL || q->keep == NULL)
        return tab_no_memory(err);
    for (const tab_json *x = m == NULL || !good ? NULL : m->first; x != NULL && good; x = x->next) {
        size_t i = 0;
        while (i < N_KEEPS && !tab_str_eq(x->key, tab_str_of(KEEPS[i])))
            i++;
        bool days =
            x->kind == TAB_JSON_NUMBER && x->num >= 1 && x->num <= DAYS_MOST && x->num == floor(x->num);
        good = i < N_KEEPS && (days || x->kind == TAB_JSON_NULL);
        if (!good)
            break;
        tabella__keep__init(&k[q->n_keep]);
        k[q->n_keep].what = STR(KEEPS[i]);
        k[q->n_keep].days = days ? (uint32_t)x->num : 0;
        q->keep[q->n_keep] = &k[q->n_keep];
        q->n_keep++;
    }
    return good ? TAB_OK
                : tab_fail(
                      err, TAB_VALIDATION, "retention",
                      "`retention` can have runs, logs, snapshots and outcomes, each a number of days from "
                      "1 to %d or null",
                      DAYS_MOST);
}

static void organization_json(tab_out *o, const Tabella__Org *x)
{
    tab_out_open(o, '{');
    text_member(o, "id", x->org);
    text_member(o, "name", x->name);
    text_member(o, "plan", x->plan);
    addresses_member(o, x->email);
    open_member(o, "alerts", '{');
    for (size_t i = 0; i < N_ALERTS; i++)
        bool_member(o, ALERTS[i].name, (x->alerts & ALERTS[i].bit) != 0);
    tab_out_close(o, '}');
    bool_member(o, "add_usage", x->add_usage_enabled);
    tab_out_key(o, "spend_cap_usd");
    if (x->spend_cap_set)
        tab_out_double(o, x->spend_cap_usd);
    else
        tab_out_null(o);
    time_member(o, "created_at", x->created_at);
    texts_member(o, "networks", x->n_networks, x->networks);
    keeps_member(o, "retention", x->keep, x->n_keep);
    keeps_member(o, "plan_retention", x->plan_keep, x->n_plan_keep);
    tab_out_close(o, '}');
}

static tab_status organization(request *r, const Tabella__Org **ret, tab_error *err)
{
    Tabella__GetOrgRequest q = TABELLA__GET_ORG_REQUEST__INIT;
    q.org = r->who.org;
    return call(r, "keys", "GetOrg", &q.base, &tabella__org__descriptor, ret, err);
}

tab_status get_organization(request *r, tab_error *err)
{
    const Tabella__Org *x = NULL;
    TAB_TRY(organization(r, &x, err));
    organization_json(&r->out, x);
    return TAB_OK;
}

static tab_status no_addresses(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "emails",
                    "`emails` must be an array of at most %d e-mail addresses such as ann@example.org",
                    ADDRESSES_MOST);
}

static tab_status read_emails(request *r, const tab_json *m, Tabella__SetOrgRequest *q, tab_error *err)
{
    char all[ADDRESSES_MOST * (ADDRESS_MOST + 1) + 1];
    size_t n = 0;
    if (m == NULL)
        return TAB_OK;
    bool good = m->kind == TAB_JSON_ARRAY && m->count <= ADDRESSES_MOST;
    for (const tab_json *x = good ? m->first : NULL; x != NULL && good; x = x->next) {
        good = x->kind == TAB_JSON_STRING && x->text.n > 0 && x->text.n <= ADDRESS_MOST &&
               memchr(x->text.p, ',', x->text.n) == NULL && memchr(x->text.p, 0, x->text.n) == NULL;
        if (good && n > 0)
            all[n++] = ',';
        if (good)
            n += (size_t)snprintf(all + n, sizeof all - n, "%.*s", (int)x->text.n, x->text.p);
    }
    if (!good)
        return no_addresses(err);
    q->set_email = TABELLA__SET_ORG_REQUEST__SWITCH__ON;
    q->email = STR(tab_arena_copy(r->arena, (tab_str){ all, n }).p);
    return q->email == NULL ? tab_no_memory(err) : TAB_OK;
}

/* Alerts that are not named stay as they are. */
static tab_status read_alerts(request *r, const tab_json *m, Tabella__SetOrgRequest *q, tab_error *err)
{
    const Tabella__Org *now = NULL;
    if (m == NULL)
        return TAB_OK;
    if (m->kind != TAB_JSON_OBJECT)
        return tab_fail(err, TAB_VALIDATION, "alerts", "`alerts` must be an object");
    TAB_TRY(organization(r, &now, err));
    q->alerts = now->alerts;
    for (const tab_json *x = m->first; x != NULL; x = x->next) {
        size_t i = 0;
        while (i < N_ALERTS && !tab_str_eq(x->key, tab_str_of(ALERTS[i].name)))
            i++;
        if (i == N_ALERTS || x->kind != TAB_JSON_BOOL)
            return tab_fail(
                err, TAB_VALIDATION, "alerts",
                "`alerts` can have jobs, usage, keys, connections and quality, each true or false");
        q->alerts = x->yes ? q->alerts | ALERTS[i].bit : q->alerts & ~ALERTS[i].bit;
    }
    q->set_alerts = TABELLA__SET_ORG_REQUEST__SWITCH__ON;
    return TAB_OK;
}

/* A cap: a number of 0 or more, or null for none. */
static tab_status read_cap(const tab_json *cap, const char *name, Tabella__SetOrgRequest *q, tab_error *err)
{
    bool none = cap != NULL && cap->kind == TAB_JSON_NULL;
    if (cap == NULL)
        return TAB_OK;
    if (!none && (cap->kind != TAB_JSON_NUMBER || !(cap->num >= 0 && cap->num < 1e12)))
        return tab_fail(err, TAB_VALIDATION, name, "`%s` must be an amount of 0 or more, or null", name);
    bool same = q->spend_cap == 0 ||
                (none ? q->spend_cap == TABELLA__SET_ORG_REQUEST__SWITCH__OFF : q->spend_cap_usd == cap->num);
    if (!same)
        return tab_fail(err, TAB_VALIDATION, name, "`spend_cap_usd` is given twice with different values");
    q->spend_cap = none ? TABELLA__SET_ORG_REQUEST__SWITCH__OFF : TABELLA__SET_ORG_REQUEST__SWITCH__ON;
    q->spend_cap_usd = none ? 0 : cap->num;
    return TAB_OK;
}

/* `add_usage` is true or false, or what GET /v2/usage shows under this name, whose figures are told and not
 * set: they may be sent back. */
static tab_status read_add_usage(const tab_json *add, Tabella__SetOrgRequest *q, tab_error *err)
{
    static const tab_str KNOWN[] = { TAB_S("enabled"), TAB_S("spend_cap_usd"), TAB_S("spend_cap_set"),
                                     TAB_S("spend_cap_managed_in"), TAB_S("spend_cap_left_usd") };
    enum { N_KNOWN = sizeof KNOWN / sizeof *KNOWN };
    const tab_json *on = add;
    if (add == NULL)
        return TAB_OK;
    if (add->kind == TAB_JSON_OBJECT) {
        for (const tab_json *m = add->first; m != NULL; m = m->next) {
            size_t i = 0;
            while (i < N_KNOWN && !tab_str_eq(m->key, KNOWN[i]))
                i++;
            if (i == N_KNOWN)
                return unknown_field(m->key, "add_usage", KNOWN, N_KNOWN, err);
        }
        TAB_TRY(read_cap(tab_json_get(add, "spend_cap_usd"), "add_usage.spend_cap_usd", q, err));
        on = tab_json_get(add, "enabled");
    }
    if (on != NULL && on->kind != TAB_JSON_BOOL)
        return tab_fail(err, TAB_VALIDATION, on == add ? "add_usage" : "add_usage.enabled",
                        "`add_usage` must be true, false or an object with `enabled` and `spend_cap_usd`");
    if (on != NULL)
        q->add_usage = on->yes ? TABELLA__SET_ORG_REQUEST__SWITCH__ON : TABELLA__SET_ORG_REQUEST__SWITCH__OFF;
    return TAB_OK;
}

/* What the organization shows and this request does not change may be sent back as it is. */
static tab_status read_shown(request *r, const tab_json *body, tab_error *err)
{
    static const char *const SHOWN[] = { "id", "plan", "created_at" };
    const Tabella__Org *now = NULL;
    for (size_t i = 0; i < sizeof SHOWN / sizeof *SHOWN; i++) {
        char at[TAB_TIME_TEXT];
        const tab_json *m = tab_json_get(body, SHOWN[i]);
        if (m == NULL)
            continue;
        if (now == NULL)
            TAB_TRY(organization(r, &now, err));
        tab_time_text(now->created_at, at);
        const char *is = i == 0 ? now->org : i == 1 ? now->plan : at;
        if (m->kind != TAB_JSON_STRING || !tab_str_eq(m->text, tab_str_of(is)))
            return tab_fail(err, TAB_VALIDATION, SHOWN[i], "`%s` cannot be changed here", SHOWN[i]);
    }
    return TAB_OK;
}

/* The role billing changes what things cost, and nothing else. */
static tab_status billing_alone(const request *r, const tab_json *body, tab_error *err)
{
    for (const tab_json *m = r->role == TAB_PERSON_BILLING ? body->first : NULL; m != NULL; m = m->next)
        if (!tab_str_eq(m->key, TAB_S("add_usage")) && !tab_str_eq(m->key, TAB_S("spend_cap_usd")))
            return tab_fail(err, TAB_AUTH_SCOPE, "",
                            "the role `billing` changes add_usage and spend_cap_usd alone");
    return TAB_OK;
}

tab_status put_organization(request *r, tab_error *err)
{
    Tabella__SetOrgRequest q = TABELLA__SET_ORG_REQUEST__INIT;
    const Tabella__Org *x = NULL;
    tab_body b;
    tab_str name;
    TAB_TRY(body_read(r, &b, err));
    TAB_TRY(billing_alone(r, b.root, err));
    TAB_TRY(body_text(b.root, "name", false, NAME_MOST, &name, err));
    TAB_TRY(read_emails(r, tab_json_get(b.root, "emails"), &q, err));
    TAB_TRY(read_alerts(r, tab_json_get(b.root, "alerts"), &q, err));
    TAB_TRY(read_add_usage(tab_json_get(b.root, "add_usage"), &q, err));
    TAB_TRY(read_cap(tab_json_get(b.root, "spend_cap_usd"), "spend_cap_usd", &q, err));
    TAB_TRY(read_keeps(r, tab_json_get(b.root, "retention"), &q, err));
    TAB_TRY(read_shown(r, b.root, err));
    const tab_json *networks = tab_json_get(b.root, "networks");
    TAB_TRY(body_texts(r, networks, "networks", TAB_BOUNDS_NETWORKS, &q.networks, &q.n_networks, err));
    if (networks != NULL)
        q.set_networks = TABELLA__SET_ORG_REQUEST__SWITCH__ON;
    q.org = r->who.org;
    q.actor = r->who.key;
    q.name = STR(tab_arena_copy(r->arena, name).p);
    tab_status s = call(r, "keys", "SetOrg", &q.base, &tabella__org__descriptor, &x, err);
    if (s == TAB_VALIDATION && strcmp(err->param, "email") == 0)
        return no_addresses(err); /* keys knows them as one text */
    TAB_TRY(s);
    organization_json(&r->out, x);
    return TAB_OK;
}
