/* API keys: what they are and may do, /v2/keys and their change on the platform. Endpoints that a key is
 * bound to are given by id or name and kept by id, which no later endpoint of the same name has. */
#include <stdio.h>

#include "proto/jobs.pb-c.h"
#include "proto/keys.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

enum { SCOPES_MOST = 5, DAY_S = 86400, OVERLAP_MOST_S = 30 * DAY_S, SOON_S = 7 * DAY_S };

/* ---- as it is shown -------------------------------------------------------------------------- */

static const char *status_of(const Tabella__ApiKey *k)
{
    int64_t left = k->expires_at - tab_now_us();
    return k->expires_at == 0 || left > SOON_S * INT64_C(1000000) ? "active"
           : left > 0                                             ? "expiring"
                                                                  : "expired";
}

static void key_json(tab_out *o, const Tabella__ApiKey *k)
{
    tab_out_open(o, '{');
    text_member(o, "id", k->id);
    text_member(o, "name", k->name);
    text_member(o, "key_preview", k->key_preview);
    texts_member(o, "scopes", k->n_scopes, k->scopes);
    uint_member(o, "rate_limit", k->rate_limit);
    uint_member(o, "requests", k->requests);
    time_member(o, "created_at", k->created_at);
    time_member(o, "last_used", k->last_used);
    text_member(o, "last_address", k->last_address[0] != 0 ? k->last_address : NULL);
    text_member(o, "last_agent", k->last_agent[0] != 0 ? k->last_agent : NULL);
    text_member(o, "status", status_of(k));
    time_member(o, "expires_at", k->expires_at);
    text_member(o, "owner", k->owner[0] != 0 ? k->owner : NULL);
    text_member(o, "directory", k->directory[0] != 0 ? k->directory : NULL);
    texts_member(o, "networks", k->n_networks, k->networks);
    texts_member(o, "endpoints", k->n_endpoints, k->endpoints);
    open_member(o, "old_secrets", '[');
    for (size_t i = 0; i < k->n_old_secrets; i++) {
        tab_out_open(o, '{');
        text_member(o, "key_preview", k->old_secrets[i]->key_preview);
        time_member(o, "ends_at", k->old_secrets[i]->ends_at);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    if (k->secret[0] != 0)
        text_member(o, "key", k->secret);
    tab_out_close(o, '}');
}

/* Whose keys the caller sees and changes: a person that is no admin its own; "": all. */
static char *own_of(request *r)
{
    return r->role == TAB_PERSON_NONE || r->role == TAB_PERSON_ADMIN ? STR("") : r->who.key;
}

tab_status get_keys(request *r, tab_error *err)
{
    Tabella__ListKeysRequest q = TABELLA__LIST_KEYS_REQUEST__INIT;
    const Tabella__ListKeysReply *y;
    q.own_of = own_of(r);
    TAB_TRY(call(r, "keys", "ListKeys", &q.base, &tabella__list_keys_reply__descriptor, &y, err));
    tab_out_open(&r->out, '{');
    open_member(&r->out, "keys", '[');
    for (size_t i = 0; i < y->n_keys; i++)
        key_json(&r->out, y->keys[i]);
    tab_out_close(&r->out, ']');
    text_member(&r->out, "request_id", r->request_id);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

/* ---- what a body says ------------------------------------------------------------------------ */

static tab_status read_scopes(const tab_json *scopes, char *list[SCOPES_MOST], size_t *ret_n, tab_error *err)
{
    unsigned seen = 0;
    if (scopes == NULL || scopes->kind != TAB_JSON_ARRAY || scopes->count == 0 || scopes->count > SCOPES_MOST)
        return tab_fail(err, TAB_VALIDATION, "scopes",
                        "`scopes` must be an array of one or more of read, run, serve, manage, delete");
    *ret_n = 0;
    for (const tab_json *m = scopes->first; m != NULL; m = m->next) {
        unsigned bit = m->kind == TAB_JSON_STRING ? tab_scope_named(m->text) : 0;
        if (bit == 0 || (seen & bit) != 0)
            return tab_fail(err, TAB_VALIDATION, "scopes",
                            "`scopes` can hold read, run, serve, manage and delete, each at most once");
        seen |= bit;
        list[(*ret_n)++] = STR(tab_scope_name(bit));
    }
    return TAB_OK;
}

/* A time, or null for none. *ret_said: it stands there. */
static tab_status read_expires(const tab_json *body, bool *ret_said, int64_t *ret, tab_error *err)
{
    const tab_json *m = tab_json_get(body, "expires_at");
    *ret = 0;
    *ret_said = m != NULL;
    if (m == NULL || m->kind == TAB_JSON_NULL)
        return TAB_OK;
    if (m->kind != TAB_JSON_STRING || !tab_time_parse(m->text, ret) || *ret <= 0)
        return tab_fail(err, TAB_VALIDATION, "expires_at",
                        "`expires_at` must be a time like 2026-11-21T09:24:05Z, or null for never");
    return TAB_OK;
}

tab_status body_texts(request *r, const tab_json *m, const char *name, size_t most, char ***ret,
                      size_t *ret_n, tab_error *err)
{
    char **list = tab_arena_new_of(r->arena, char *, most + 1);
    bool good = m == NULL || (m->kind == TAB_JSON_ARRAY && m->count <= most);
    *ret_n = 0;
    for (const tab_json *x = good && m != NULL ? m->first : NULL; x != NULL && good && list != NULL;
         x = x->next) {
        good = x->kind == TAB_JSON_STRING && x->text.n > 0 && x->text.n <= 128 &&
               memchr(x->text.p, 0, x->text.n) == NULL;
        list[(*ret_n)++] = good ? STR(tab_arena_copy(r->arena, x->text).p) : NULL;
    }
    if (list == NULL || tab_arena_full(r->arena))
        return tab_no_memory(err);
    if (!good)
        return tab_fail(err, TAB_VALIDATION, name, "`%s` must be an array of at most %zu strings", name,
                        most);
    *ret = list;
    return TAB_OK;
}

/* Names become ids. */
static tab_status read_endpoints(request *r, const tab_json *m, char ***ret, size_t *ret_n, tab_error *err)
{
    TAB_TRY(body_texts(r, m, "endpoints", TAB_BOUNDS_ENDPOINTS, ret, ret_n, err));
    for (size_t i = 0; i < *ret_n; i++) {
        Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
        const Tabella__Endpoint *e = NULL;
        q.id_or_name = (*ret)[i];
        tab_status s = call(r, "jobs", "GetEndpoint", &q.base, &tabella__endpoint__descriptor, &e, err);
        if (s == TAB_NOT_FOUND)
            return tab_fail(err, TAB_VALIDATION, "endpoints", "there is no endpoint `%.128s`", q.id_or_name);
        TAB_TRY(s);
        (*ret)[i] = e->id;
    }
    return TAB_OK;
}

static char *param_text(request *r, int i)
{
    return STR(tab_arena_copy(r->arena, r->param[i]).p);
}

/* ---- changes --------------------------------------------------------------------------------- */

tab_status post_keys(request *r, tab_error *err)
{
    Tabella__CreateKeyRequest q = TABELLA__CREATE_KEY_REQUEST__INIT;
    const Tabella__ApiKey *k;
    tab_body b;
    tab_str name, directory;
    char *scopes[SCOPES_MOST];
    bool said;
    TAB_TRY(body_read(r, &b, err));
    TAB_TRY(body_text(b.root, "name", true, 128, &name, err));
    TAB_TRY(body_text(b.root, "directory", false, 64, &directory, err));
    const tab_json *wanted = tab_json_get(b.root, "scopes");
    if (directory.n > 0 && own_of(r)[0] != 0)
        return tab_fail(err, TAB_AUTH_SCOPE, "", "only an admin makes keys of a directory");
    if (directory.n == 0 || wanted != NULL)
        TAB_TRY(read_scopes(wanted, scopes, &q.n_scopes, err));
    TAB_TRY(read_expires(b.root, &said, &q.expires_at, err));
    TAB_TRY(body_texts(r, tab_json_get(b.root, "networks"), "networks", TAB_BOUNDS_NETWORKS, &q.networks,
                       &q.n_networks, err));
    TAB_TRY(read_endpoints(r, tab_json_get(b.root, "endpoints"), &q.endpoints, &q.n_endpoints, err));
    const tab_json *personal = tab_json_get(b.root, "personal");
    if (personal != NULL &&
        (personal->kind != TAB_JSON_BOOL || (personal->yes && r->role == TAB_PERSON_NONE)))
        return tab_fail(err, TAB_VALIDATION, "personal",
                        "`personal` must be true or false; only a person can have a key of its own");
    q.personal = own_of(r)[0] != 0 || (personal != NULL && personal->yes);
    q.scopes = scopes;
    q.directory = directory.n > 0 ? STR(tab_arena_copy(r->arena, directory).p) : STR("");
    q.name = STR(tab_arena_copy(r->arena, name).p);
    q.actor = r->who.key;
    TAB_TRY(call(r, "keys", "CreateKey", &q.base, &tabella__api_key__descriptor, &k, err));
    r->status = 201;
    key_json(&r->out, k);
    return TAB_OK;
}

tab_status patch_key(request *r, tab_error *err)
{
    Tabella__SetKeyRequest q = TABELLA__SET_KEY_REQUEST__INIT;
    const Tabella__ApiKey *k;
    tab_body b;
    tab_str name;
    bool said;
    TAB_TRY(body_read(r, &b, err));
    TAB_TRY(body_text(b.root, "name", false, 128, &name, err));
    TAB_TRY(read_expires(b.root, &said, &q.expires_at, err));
    const tab_json *networks = tab_json_get(b.root, "networks"),
                   *endpoints = tab_json_get(b.root, "endpoints");
    q.set_expires = said;
    q.set_networks = networks != NULL;
    q.set_endpoints = endpoints != NULL;
    if (name.n == 0 && !said && networks == NULL && endpoints == NULL)
        return tab_fail(err, TAB_VALIDATION, "body",
                        "nothing to change: give name, expires_at, networks or endpoints");
    TAB_TRY(body_texts(r, networks, "networks", TAB_BOUNDS_NETWORKS, &q.networks, &q.n_networks, err));
    TAB_TRY(read_endpoints(r, endpoints, &q.endpoints, &q.n_endpoints, err));
    q.id = param_text(r, 0);
    q.own_of = own_of(r);
    q.name = STR(tab_arena_copy(r->arena, name).p);
    q.actor = r->who.key;
    TAB_TRY(call(r, "keys", "SetKey", &q.base, &tabella__api_key__descriptor, &k, err));
    key_json(&r->out, k);
    return TAB_OK;
}

tab_status post_key_rotate(request *r, tab_error *err)
{
    Tabella__RotateKeyRequest q = TABELLA__ROTATE_KEY_REQUEST__INIT;
    const Tabella__ApiKey *k;
    tab_body b;
    TAB_TRY(body_read(r, &b, err));
    const tab_json *overlap = tab_json_get(b.root, "overlap_s");
    if (overlap != NULL &&
        (overlap->kind != TAB_JSON_NUMBER || !(overlap->num >= 0 && overlap->num <= OVERLAP_MOST_S) ||
         overlap->num != (double)(uint32_t)overlap->num))
        return tab_fail(err, TAB_VALIDATION, "overlap_s", "`overlap_s` must be a whole number from 0 to %d",
                        OVERLAP_MOST_S);
    q.id = param_text(r, 0);
    q.own_of = own_of(r);
    q.actor = r->who.key;
    q.overlap_s = overlap != NULL ? (uint32_t)overlap->num : 0;
    TAB_TRY(call(r, "keys", "RotateKey", &q.base, &tabella__api_key__descriptor, &k, err));
    key_json(&r->out, k);
    return TAB_OK;
}

tab_status delete_key(request *r, tab_error *err)
{
    Tabella__DeleteKeyRequest q = TABELLA__DELETE_KEY_REQUEST__INIT;
    const Tabella__DeleteKeyReply *y;
    q.id = param_text(r, 0);
    q.own_of = own_of(r);
    q.actor = r->who.key;
    TAB_TRY(call(r, "keys", "DeleteKey", &q.base, &tabella__delete_key_reply__descriptor, &y, err));
    tab_out_open(&r->out, '{');
    bool_member(&r->out, "deleted", true);
    text_member(&r->out, "id", y->id);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}
