/* /platform/v1 of persons: providers, people, sessions. */
#include <stdio.h>

#include "proto/keys.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

enum { NAME_MOST = 128, TEXT_MOST = 256, SECRET_MOST = 1024, DOMAINS_MOST = 32, ROLES_MOST = 64 };

static char *param_text(request *r)
{
    return STR(tab_arena_copy(r->arena, r->param[0]).p);
}

/* ---- providers ------------------------------------------------------------------------------- */

static void provider_json(request *r, const Tabella__Provider *p)
{
    tab_out *o = &r->out;
    tab_out_open(o, '{');
    text_member(o, "id", p->id);
    text_member(o, "name", p->name);
    text_member(o, "issuer", p->issuer);
    text_member(o, "client_id", p->client_id);
    bool_member(o, "has_secret", p->has_secret);
    text_member(o, "scopes", p->scopes);
    text_member(o, "role", p->role[0] != 0 ? p->role : NULL);
    text_member(o, "groups_claim", p->claim);
    text_member(o, "subject_claim", p->subject_claim);
    open_member(o, "roles", '{');
    for (size_t i = 0; i < p->n_roles; i++) {
        tab_out_key_str(o, tab_str_of(p->roles[i]->group));
        tab_out_cstr(o, p->roles[i]->role);
    }
    tab_out_close(o, '}');
    texts_member(o, "domains", p->n_domains, p->domains);
    text_member(o, "logout_url",
                tab_arena_printf(r->arena, "%s/platform/v1/signin/logout/%s/%s", r->api->cfg.base_url,
                                 r->who.org, p->id));
    time_member(o, "created_at", p->created_at);
    tab_out_close(o, '}');
}

static tab_status read_roles(request *r, const tab_json *m, Tabella__SetProviderRequest *q, tab_error *err)
{
    if (m == NULL)
        return TAB_OK;
    q->set_roles = true;
    if (m->kind != TAB_JSON_OBJECT || m->count > ROLES_MOST)
        return tab_fail(err, TAB_VALIDATION, "roles",
                        "`roles` must be an object of at most %d groups, each with a role", ROLES_MOST);
    q->roles = tab_arena_new_of(r->arena, Tabella__GroupRole *, m->count + 1);
    for (const tab_json *x = m->first; x != NULL && q->roles != NULL; x = x->next) {
        Tabella__GroupRole *g = tab_arena_new_of(r->arena, Tabella__GroupRole, 1);
        if (g == NULL)
            return tab_no_memory(err);
        if (x->kind != TAB_JSON_STRING || x->key.n == 0 || x->key.n > TEXT_MOST ||
            memchr(x->key.p, 0, x->key.n) != NULL || tab_person_role_named(x->text) == TAB_PERSON_NONE)
            return tab_fail(err, TAB_VALIDATION, "roles",
                            "`roles` must give each group viewer, billing, builder or admin");
        tabella__group_role__init(g);
        g->group = STR(tab_arena_copy(r->arena, x->key).p);
        g->role = STR(tab_arena_copy(r->arena, x->text).p);
        q->roles[q->n_roles++] = g;
    }
    return tab_arena_full(r->arena) ? tab_no_memory(err) : TAB_OK;
}

/* A text, or null for none. *ret_said: it stands there. */
static tab_status text_or_null(request *r, const tab_json *body, const char *name, size_t most,
                               bool *ret_said, char **ret, tab_error *err)
{
    const tab_json *m = tab_json_get(body, name);
    tab_str text = TAB_S("");
    *ret_said = m != NULL;
    if (m != NULL && m->kind != TAB_JSON_NULL)
        TAB_TRY(body_text(body, name, false, most, &text, err));
    *ret = STR(tab_arena_copy(r->arena, text).p);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

static tab_status set_provider(request *r, bool makes, tab_error *err)
{
    Tabella__SetProviderRequest q = TABELLA__SET_PROVIDER_REQUEST__INIT;
    const Tabella__Provider *p = NULL;
    tab_body b;
    tab_str text;
    bool role, secret;
    const struct {
        const char *name;
        bool needed;
        size_t most;
        char **to;
    } texts[] = {
        { "name", makes, NAME_MOST, &q.name },           { "issuer", makes, TEXT_MOST, &q.issuer },
        { "client_id", makes, TEXT_MOST, &q.client_id }, { "scopes", false, TEXT_MOST, &q.scopes },
        { "groups_claim", false, 64, &q.claim },         { "subject_claim", false, 8, &q.subject_claim },
    };
    TAB_TRY(body_read(r, &b, err));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        TAB_TRY(body_text(b.root, texts[i].name, texts[i].needed, texts[i].most, &text, err));
        *texts[i].to = STR(tab_arena_copy(r->arena, text).p);
    }
    TAB_TRY(text_or_null(r, b.root, "role", 16, &role, &q.role, err));
    TAB_TRY(text_or_null(r, b.root, "client_secret", SECRET_MOST, &secret, &q.secret, err));
    TAB_TRY(read_roles(r, tab_json_get(b.root, "roles"), &q, err));
    const tab_json *domains = tab_json_get(b.root, "domains");
    TAB_TRY(body_texts(r, domains, "domains", DOMAINS_MOST, &q.domains, &q.n_domains, err));
    q.set_role = role;
    q.set_secret = secret;
    q.set_domains = domains != NULL;
    if (!makes)
        q.id = param_text(r);
    q.actor = r->who.key;
    if (tab_arena_full(r->arena))
        return tab_no_memory(err);
    TAB_TRY(call(r, "keys", "SetProvider", &q.base, &tabella__provider__descriptor, &p, err));
    provider_json(r, p);
    return TAB_OK;
}

tab_status get_providers(request *r, tab_error *err)
{
    Tabella__ListProvidersRequest q = TABELLA__LIST_PROVIDERS_REQUEST__INIT;
    const Tabella__ListProvidersReply *y = NULL;
    TAB_TRY(call(r, "keys", "ListProviders", &q.base, &tabella__list_providers_reply__descriptor, &y, err));
    tab_out_open(&r->out, '{');
    open_member(&r->out, "providers", '[');
    for (size_t i = 0; i < y->n_providers; i++)
        provider_json(r, y->providers[i]);
    tab_out_close(&r->out, ']');
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

tab_status post_providers(request *r, tab_error *err)
{
    r->status = 201;
    return set_provider(r, true, err);
}

tab_status patch_provider(request *r, tab_error *err)
{
    return set_provider(r, false, err);
}

tab_status delete_provider(request *r, tab_error *err)
{
    Tabella__DeleteProviderRequest q = TABELLA__DELETE_PROVIDER_REQUEST__INIT;
    const Tabella__DeleteProviderReply *y = NULL;
    q.id = param_text(r);
    q.actor = r->who.key;
    TAB_TRY(call(r, "keys", "DeleteProvider", &q.base, &tabella__delete_provider_reply__descriptor, &y, err));
    deleted_json(&r->out, y->id, tab_now_us());
    return TAB_OK;
}

/* ---- people ---------------------------------------------------------------------------------- */

static void person_json(tab_out *o, const Tabella__Person *p)
{
    tab_out_open(o, '{');
    text_member(o, "id", p->id);
    text_member(o, "name", p->name);
    text_member(o, "email", p->email[0] != 0 ? p->email : NULL);
    text_member(o, "role", p->role);
    bool_member(o, "role_by_hand", p->pinned);
    bool_member(o, "active", p->active);
    text_member(o, "provider", p->provider);
    text_member(o, "subject", p->subject[0] != 0 ? p->subject : NULL);
    text_member(o, "user_name", p->user_name[0] != 0 ? p->user_name : NULL);
    time_member(o, "created_at", p->created_at);
    time_member(o, "signed_in_at", p->signed_in_at);
    time_member(o, "last_used", p->last_used);
    tab_out_close(o, '}');
}

tab_status get_people(request *r, tab_error *err)
{
    Tabella__ListPeopleRequest q = TABELLA__LIST_PEOPLE_REQUEST__INIT;
    const Tabella__ListPeopleReply *y = NULL;
    TAB_TRY(call(r, "keys", "ListPeople", &q.base, &tabella__list_people_reply__descriptor, &y, err));
    tab_out_open(&r->out, '{');
    open_member(&r->out, "people", '[');
    for (size_t i = 0; i < y->n_people; i++)
        person_json(&r->out, y->people[i]);
    tab_out_close(&r->out, ']');
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

tab_status patch_person(request *r, tab_error *err)
{
    Tabella__SetPersonRequest q = TABELLA__SET_PERSON_REQUEST__INIT;
    const Tabella__Person *p = NULL;
    tab_body b;
    bool said;
    TAB_TRY(body_read(r, &b, err));
    TAB_TRY(text_or_null(r, b.root, "role", 16, &said, &q.role, err));
    const tab_json *active = tab_json_get(b.root, "active");
    if (active != NULL && active->kind != TAB_JSON_BOOL)
        return tab_fail(err, TAB_VALIDATION, "active", "`active` must be true or false");
    if (!said && active == NULL)
        return tab_fail(err, TAB_VALIDATION, "body", "nothing to change: give role or active");
    q.unpin = said && q.role[0] == 0;
    q.set_active = active != NULL;
    q.active = active != NULL && active->yes;
    q.id = param_text(r);
    q.actor = r->who.key;
    TAB_TRY(call(r, "keys", "SetPerson", &q.base, &tabella__person__descriptor, &p, err));
    person_json(&r->out, p);
    return TAB_OK;
}

/* ---- sessions -------------------------------------------------------------------------------- */

tab_status get_sessions(request *r, tab_error *err)
{
    Tabella__ListSessionsRequest q = TABELLA__LIST_SESSIONS_REQUEST__INIT;
    const Tabella__ListSessionsReply *y = NULL;
    tab_out *o = &r->out;
    TAB_TRY(call(r, "keys", "ListSessions", &q.base, &tabella__list_sessions_reply__descriptor, &y, err));
    tab_out_open(o, '{');
    open_member(o, "sessions", '[');
    for (size_t i = 0; i < y->n_sessions; i++) {
        const Tabella__OpenSession *s = y->sessions[i];
        tab_out_open(o, '{');
        text_member(o, "id", s->id);
        text_member(o, "of", s->key_id);
        text_member(o, "name", s->name);
        text_member(o, "address", s->address[0] != 0 ? s->address : NULL);
        time_member(o, "created_at", s->created_at);
        time_member(o, "used_at", s->used_at);
        time_member(o, "expires_at", s->expires_at);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    return TAB_OK;
}

tab_status delete_sessions(request *r, tab_error *err)
{
    Tabella__EndSessionRequest q = TABELLA__END_SESSION_REQUEST__INIT;
    const Tabella__EndSessionReply *y = NULL;
    q.id = param_text(r);
    TAB_TRY(call(r, "keys", "EndSession", &q.base, &tabella__end_session_reply__descriptor, &y, err));
    if (!y->known)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such session.");
    deleted_json(&r->out, q.id, tab_now_us());
    return TAB_OK;
}
