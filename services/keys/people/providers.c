/* Providers of an organization. What the issuer says of itself is read when a provider is set, and again by a
 * sign-in an hour later: a stranger who begins sign-ins makes no traffic. */
#include <curl/curl.h>
#include <stdio.h>

#include "common/base/proto.h"
#include "common/json/json.h"
#include "services/keys/people/fetch.h"
#include "services/keys/people/people.h"

enum { PROVIDERS_MOST = 16, TEXT_MOST = 256, SECRET_MOST = 1024, ROLES_MOST = 64, DOMAINS_MOST = 32 };

static tab_status invalid(tab_error *err, const char *param, const char *must)
{
    return tab_fail(err, TAB_VALIDATION, param, "`%s` must be %s.", param, must);
}

static tab_str context_of(tab_arena *a, const char *org, const char *id)
{
    const char *text = tab_arena_printf(a, "keys.provider %s %s", org, id);
    return text == NULL ? TAB_S("") : tab_str_of(text);
}

/* ---- reading --------------------------------------------------------------------------------- */

static tab_status read_roles(tab_arena *a, const char *text, Tabella__Provider *p, tab_error *err)
{
    const tab_json *root;
    TAB_TRY(tab_json_read_own(a, tab_str_of(text), 2, &root, err));
    p->roles = tab_arena_new_of(a, Tabella__GroupRole *, root->count + 1);
    for (const tab_json *m = root->first; m != NULL && p->roles != NULL; m = m->next) {
        Tabella__GroupRole *g = tab_arena_new_of(a, Tabella__GroupRole, 1);
        if (g == NULL)
            return tab_no_memory(err);
        tabella__group_role__init(g);
        g->group = (char *)(uintptr_t)(tab_arena_copy(a, m->key).p);
        g->role = (char *)(uintptr_t)(tab_arena_copy(a, m->text).p);
        p->roles[p->n_roles++] = g;
    }
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

static tab_status read_domains(tab_arena *a, const char *list, Tabella__Provider *p, tab_error *err)
{
    p->domains = tab_arena_new_of(a, char *, DOMAINS_MOST + 1);
    if (p->domains == NULL)
        return tab_no_memory(err);
    for (size_t n; *list != 0 && p->n_domains < DOMAINS_MOST; list += n + (list[n] == ' ')) {
        n = strcspn(list, " ");
        p->domains[p->n_domains++] = (char *)(uintptr_t)(tab_arena_copy(a, (tab_str){ list, n }).p);
    }
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

#define PROVIDER \
    "id, name, issuer, client_id, secret IS NOT NULL, role, claim, roles, domains, scopes, created, subject "

static tab_status read_provider(const tab_rows *r, size_t i, tab_arena *a, Tabella__Provider *p,
                                tab_error *err)
{
    tabella__provider__init(p);
    p->id = tab_proto_text(a, tab_rows_text(r, i, 0));
    p->name = tab_proto_text(a, tab_rows_text(r, i, 1));
    p->issuer = tab_proto_text(a, tab_rows_text(r, i, 2));
    p->client_id = tab_proto_text(a, tab_rows_text(r, i, 3));
    p->has_secret = tab_rows_bool(r, i, 4);
    p->role = tab_proto_text(a, tab_rows_text(r, i, 5));
    p->claim = tab_proto_text(a, tab_rows_text(r, i, 6));
    p->scopes = tab_proto_text(a, tab_rows_text(r, i, 9));
    p->created_at = tab_rows_time(r, i, 10);
    p->subject_claim = tab_proto_text(a, tab_rows_text(r, i, 11));
    const char *roles = tab_arena_copy(a, tab_rows_str(r, i, 7)).p;
    if (roles == NULL)
        return tab_no_memory(err);
    TAB_TRY(read_roles(a, roles, p, err));
    return read_domains(a, tab_rows_text(r, i, 8), p, err);
}

tab_status keys_list_providers(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__ListProvidersRequest *q = call->in;
    Tabella__ListProvidersReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    bool stranger = q->org[0] != 0;
    const char *org = stranger ? q->org : call->org;
    if (stranger && (!tab_id_valid(tab_str_of(org), "org_") || self->console[0] == 0))
        return TAB_OK;
    TAB_TRY(tab_tx_begin(self->pg, org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT " PROVIDER "FROM keys.provider WHERE org = $1 ORDER BY created, id LIMIT $2",
                         TAB_P(tab_p_text(org), tab_p_int(PROVIDERS_MOST))));
    size_t n = tab_rows_count(r);
    Tabella__Provider *p = tab_arena_new_of(call->arena, Tabella__Provider, n + 1);
    out->providers = tab_arena_new_of(call->arena, Tabella__Provider *, n + 1);
    if (p == NULL || out->providers == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        TAB_TRY(read_provider(r, i, call->arena, &p[i], err));
        if (stranger) { /* what it needs to choose one, and no more */
            Tabella__Provider all = p[i];
            tabella__provider__init(&p[i]);
            p[i].id = all.id;
            p[i].name = all.name;
        }
        out->providers[out->n_providers++] = &p[i];
    }
    return tab_tx_commit(&tx, err);
}

tab_status provider_read(keys *self, tab_call *call, const char *org, const char *id, provider *ret,
                         tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    tab_arena *a = call->arena;
    TAB_TRY(tab_tx_begin(self->pg, org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT p.issuer, p.client_id, p.claim, p.roles, p.domains, p.scopes, p.authorize, "
        "p.token, p.jwks, p.secret, p.role, p.post, p.looked < now() - interval '1 hour', p.subject "
        "FROM keys.provider p JOIN keys.org o ON o.org = p.org "
        "WHERE p.org = $1 AND p.id = $2 AND o.suspended IS NULL",
        TAB_P(tab_p_text(org), tab_p_text(id))));
    if (tab_rows_count(r) != 1)
        return tab_fail(err, TAB_NOT_FOUND, "provider", "There is no such provider.");
    const char **text[] = { &ret->issuer, &ret->client,    &ret->claim, &ret->roles, &ret->domains,
                            &ret->scopes, &ret->authorize, &ret->token, &ret->jwks };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        *text[i] = tab_arena_copy(a, tab_rows_str(r, 0, i)).p;
    ret->org = tab_arena_copy(a, tab_str_of(org)).p;
    ret->id = tab_arena_copy(a, tab_str_of(id)).p;
    ret->subject = tab_arena_copy(a, tab_rows_str(r, 0, 13)).p;
    ret->secret = TAB_S("");
    ret->role = tab_person_role_named(tab_rows_str(r, 0, 10));
    ret->post = tab_rows_bool(r, 0, 11);
    ret->old = tab_rows_bool(r, 0, 12);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    if (!tab_rows_null(r, 0, 9)) {
        if (self->kek == NULL)
            return tab_fail(err, TAB_CAPABILITY, "", "The provider's secret cannot be opened; see TAB_KEK.");
        TAB_TRY(
            tab_unseal(self->kek, a, tab_rows_bytes(r, 0, 9, a), context_of(a, org, id), &ret->secret, err));
    }
    return tab_tx_commit(&tx, err);
}

tab_status provider_look(keys *self, tab_call *call, const char *issuer, oidc_issuer *ret, tab_error *err)
{
    tab_str text;
    size_t n = strlen(issuer);
    const char *url = tab_arena_printf(call->arena, "%s%s.well-known/openid-configuration", issuer,
                                       n > 0 && issuer[n - 1] == '/' ? "" : "/");
    if (url == NULL)
        return tab_no_memory(err);
    TAB_TRY(fetch_begin(&self->fetching, err));
    tab_status s =
        fetch(call->arena, &(fetch_call){ .url = url, .allow = self->allow, .deadline = call->deadline },
              &text, err);
    fetch_end(&self->fetching);
    if (s == TAB_AUTH_MISSING || s == TAB_UNAVAILABLE)
        return tab_fail(err, s == TAB_AUTH_MISSING ? TAB_VALIDATION : s, "issuer",
                        "The issuer's description (.well-known/openid-configuration) cannot be read.");
    TAB_TRY(s);
    return oidc_read_issuer(call->arena, text, issuer, ret, err);
}

/* ---- changes --------------------------------------------------------------------------------- */

static bool words_good(const char *s, size_t most)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++)
        if (s[i] < ' ' || s[i] > '~')
            return false;
    return n <= most;
}

static tab_status fields_good(const Tabella__SetProviderRequest *q, tab_error *err)
{
    bool makes = q->id[0] == 0;
    size_t name = tab_utf8_count(tab_str_of(q->name));
    if (name > 128 || (makes && name == 0))
        return invalid(err, "name", "1 to 128 characters");
    if ((makes && q->issuer[0] == 0) || !words_good(q->issuer, TEXT_MOST) ||
        strpbrk(q->issuer, "?# ") != NULL)
        return invalid(err, "issuer", "an address as https://HOST or https://HOST/PATH");
    if ((makes && q->client_id[0] == 0) || !words_good(q->client_id, TEXT_MOST))
        return invalid(err, "client_id", "1 to 256 characters of ASCII");
    if (!words_good(q->secret, SECRET_MOST))
        return invalid(err, "client_secret", "at most 1024 characters of ASCII");
    if (q->role[0] != 0 && tab_person_role_named(tab_str_of(q->role)) == TAB_PERSON_NONE)
        return invalid(err, "role", "viewer, billing, builder or admin");
    if (!words_good(q->claim, 64) || strchr(q->claim, ' ') != NULL)
        return invalid(err, "groups_claim", "the name of a claim");
    if (q->subject_claim[0] != 0 &&
        (!makes || (strcmp(q->subject_claim, "sub") != 0 && strcmp(q->subject_claim, "oid") != 0)))
        return invalid(err, "subject_claim", "sub or oid, and is chosen when a provider is made");
    if (!words_good(q->scopes, TEXT_MOST) || (q->scopes[0] != 0 && strncmp(q->scopes, "openid", 6) != 0))
        return invalid(err, "scopes", "a list that begins with openid, a space between");
    if (q->n_domains > DOMAINS_MOST)
        return invalid(err, "domains", "at most 32 domains");
    for (size_t i = 0; i < q->n_domains; i++)
        if (!words_good(q->domains[i], 128) || strchr(q->domains[i], '.') == NULL ||
            strpbrk(q->domains[i], " @/") != NULL)
            return invalid(err, "domains", "names of domains, as example.org");
    if (q->n_roles > ROLES_MOST)
        return invalid(err, "roles", "at most 64 groups");
    for (size_t i = 0; i < q->n_roles; i++)
        if (q->roles[i]->group[0] == 0 ||
            tab_person_role_named(tab_str_of(q->roles[i]->role)) == TAB_PERSON_NONE)
            return invalid(err, "roles", "a role for each group: viewer, billing, builder or admin");
    return TAB_OK;
}

/* As they are stored. */
static tab_status lists_of(tab_arena *a, const Tabella__SetProviderRequest *q, const char **ret_roles,
                           const char **ret_domains, tab_error *err)
{
    tab_out o = { 0 };
    const char *domains = "";
    tab_out_open(&o, '{');
    for (size_t i = 0; i < q->n_roles; i++) {
        tab_out_key_str(&o, tab_str_of(q->roles[i]->group));
        tab_out_cstr(&o, q->roles[i]->role);
    }
    tab_out_close(&o, '}');
    *ret_roles = o.failed ? NULL : tab_arena_copy(a, tab_out_text(&o)).p;
    tab_out_free(&o);
    for (size_t i = 0; i < q->n_domains && domains != NULL; i++)
        domains = tab_arena_printf(a, "%s%s%s", domains, i > 0 ? " " : "", q->domains[i]);
    *ret_domains = domains;
    return *ret_roles == NULL || domains == NULL ? tab_no_memory(err) : TAB_OK;
}

static tab_status sealed(keys *self, tab_call *call, const char *id, tab_param *ret, tab_error *err)
{
    const Tabella__SetProviderRequest *q = call->in;
    tab_str bytes;
    *ret = tab_p_null();
    if (q->secret[0] == 0)
        return TAB_OK;
    if (self->kek == NULL)
        return tab_fail(err, TAB_CAPABILITY, "",
                        "Secrets of providers need TAB_KEK, which the operator has to set.");
    TAB_TRY(tab_seal(self->kek, call->arena, tab_str_of(q->secret), context_of(call->arena, call->org, id),
                     &bytes, err));
    *ret = tab_p_bytes(bytes);
    return TAB_OK;
}

static tab_status put(keys *self, tab_tx *tx, tab_call *call, const char *id, const oidc_issuer *found,
                      tab_error *err)
{
    const Tabella__SetProviderRequest *q = call->in;
    TAB_AUTO(tab_rows) *r = NULL;
    const char *roles, *domains;
    tab_param secret, by = tab_p_text(self->kek == NULL ? "" : tab_keyring_newest(self->kek));
    TAB_TRY(lists_of(call->arena, q, &roles, &domains, err));
    TAB_TRY(sealed(self, call, id, &secret, err));
    if (q->id[0] == 0) {
        TAB_TRY(tab_tx_room(tx, call->org, "SELECT count(*) FROM keys.provider WHERE org = $1",
                            PROVIDERS_MOST, "providers", err));
        return tab_tx_query(
            tx, NULL, err,
            "INSERT INTO keys.provider (org, id, name, issuer, client_id, secret, sealed_by, role, claim, "
            "roles, domains, scopes, authorize, token, jwks, post, subject) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, coalesce(nullif($9, ''), 'groups'), $10::jsonb, $11, "
            "coalesce(nullif($12, ''), 'openid email profile'), $13, $14, $15, $16::bool, "
            "coalesce(nullif($17, ''), 'sub'))",
            TAB_P(tab_p_text(call->org), tab_p_text(id), tab_p_text(q->name), tab_p_text(q->issuer),
                  tab_p_text(q->client_id), secret, by, tab_p_text(q->role), tab_p_text(q->claim),
                  tab_p_text(roles), tab_p_text(domains), tab_p_text(q->scopes), tab_p_str(found->authorize),
                  tab_p_str(found->token), tab_p_str(found->jwks), tab_p_bool(found->post),
                  tab_p_text(q->subject_claim)));
    }
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "UPDATE keys.provider SET name = coalesce(nullif($3, ''), name), "
        "client_id = coalesce(nullif($4, ''), client_id), "
        "secret = CASE WHEN $5::bool THEN $6::bytea ELSE secret END, "
        "sealed_by = CASE WHEN $5::bool THEN $7 ELSE sealed_by END, "
        "role = CASE WHEN $8::bool THEN $9 ELSE role END, claim = coalesce(nullif($10, ''), claim), "
        "roles = CASE WHEN $11::bool THEN $12::jsonb ELSE roles END, "
        "domains = CASE WHEN $13::bool THEN $14 ELSE domains END, "
        "scopes = coalesce(nullif($15, ''), scopes) WHERE org = $1 AND id = $2 RETURNING id",
        TAB_P(tab_p_text(call->org), tab_p_text(id), tab_p_text(q->name), tab_p_text(q->client_id),
              tab_p_bool(q->set_secret), secret, by, tab_p_bool(q->set_role), tab_p_text(q->role),
              tab_p_text(q->claim), tab_p_bool(q->set_roles), tab_p_text(roles), tab_p_bool(q->set_domains),
              tab_p_text(domains), tab_p_text(q->scopes))));
    return tab_rows_count(r) == 1 ? TAB_OK : tab_fail(err, TAB_NOT_FOUND, "id", "There is no such provider.");
}

tab_status keys_set_provider(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__SetProviderRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    bool makes = q->id[0] == 0;
    char id[TAB_ID];
    oidc_issuer found = { 0 };
    TAB_TRY(fields_good(q, err));
    if (makes && self->console[0] == 0)
        return tab_fail(
            err, TAB_CAPABILITY, "",
            "Sign-in by identity providers is not available on this installation; the operator has to "
            "set TAB_CONSOLE_URL.");
    if (!makes && q->issuer[0] != 0) /* its persons would be others' */
        return tab_fail(err, TAB_VALIDATION, "issuer",
                        "The issuer of a provider does not change; make another one.");
    if (makes)
        TAB_TRY(provider_look(self, call, q->issuer, &found, err));
    snprintf(id, sizeof id, "%s", q->id);
    if (makes)
        tab_id_new(id, "idp_");
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(put(self, tx, call, id, &found, err));
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT " PROVIDER "FROM keys.provider WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(id))));
    TAB_TRY(read_provider(r, 0, call->arena, call->out, err));
    const Tabella__Provider *p = call->out;
    if (p->role[0] != 0 && p->n_domains == 0)
        return tab_fail(
            err, TAB_VALIDATION, "domains",
            "With a role for everybody, `domains` must name those of your mail addresses: else whoever "
            "has an account at the issuer would be let in. Or give `roles` by group alone.");
    TAB_TRY(keys_audit(tx, call, call->org, q->actor, makes ? "provider.create" : "provider.update", id,
                       p->issuer, err));
    keys_tombstone *t = NULL;
    size_t n = 0;
    bool changed = false;
    if (q->set_roles || q->set_role) { /* of whom its directory has they hold now */
        provider now;
        TAB_TRY(directory_provider(tx, call, id, &now, err));
        TAB_TRY(directory_settle(tx, call, &now, NULL, 0, &t, &n, &changed, err));
    }
    TAB_TRY(tab_tx_commit(&tx, err));
    return directory_tell(self, call, t, n, changed, err);
}

tab_status provider_there(tab_tx *tx, const char *org, const char *id, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT FROM keys.provider WHERE org = $1 AND id = $2 FOR SHARE",
                         TAB_P(tab_p_text(org), tab_p_text(id))));
    return tab_rows_count(r) == 1
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, "directory", "There is no such identity provider.");
}

tab_status keys_delete_provider(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__DeleteProviderRequest *q = call->in;
    Tabella__DeleteProviderReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL, *people = NULL, *writers = NULL;
    keys_tombstone *t = NULL;
    size_t n = 0;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err, "DELETE FROM keys.provider WHERE org = $1 AND id = $2 RETURNING issuer",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->id))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such provider.");
    /* Nobody can say of its persons who they are any more: they are out, with what is theirs. */
    TAB_TRY(
        tab_tx_query(tx, &people, err,
                     "SELECT p.id FROM keys.person p JOIN keys.api_key k ON k.org = p.org AND k.id = p.id "
                     "WHERE p.org = $1 AND p.provider = $2 AND k.deleted IS NULL LIMIT $3",
                     TAB_P(tab_p_text(call->org), tab_p_text(q->id), tab_p_int(PEOPLE_MOST))));
    for (size_t i = 0; i < tab_rows_count(people); i++)
        TAB_TRY(person_out(tx, call, tab_rows_text(people, i, 0), &t, &n, err));
    TAB_TRY(tab_tx_query(
        tx, &writers, err,
        "SELECT id FROM keys.api_key WHERE org = $1 AND directory = $2 AND deleted IS NULL LIMIT $3",
        TAB_P(tab_p_text(call->org), tab_p_text(q->id), tab_p_int(KEYS_MOST))));
    for (size_t i = 0; i < tab_rows_count(writers); i++)
        TAB_TRY(person_end_key(tx, call, call->org, tab_rows_text(writers, i, 0), &t, &n, err));
    TAB_TRY(keys_audit(tx, call, call->org, q->actor, "provider.delete", q->id, tab_rows_text(r, 0, 0), err));
    TAB_TRY(tab_tx_commit(&tx, err));
    out->id = tab_proto_text(call->arena, q->id);
    return keys_revoke(self, t, n, call->deadline, err);
}

tab_status keys_reseal_providers(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)
{
    const keys *self = arg;
    TAB_AUTO(tab_arena) *a = tab_arena_new(4 << 20);
    TAB_AUTO(tab_rows) *r = NULL;
    *ret_n = 0;
    if (a == NULL)
        return tab_no_memory(err);
    if (self->kek == NULL)
        return TAB_OK;
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "SELECT org, id, secret FROM keys.provider WHERE sealed_by <> $1 AND secret IS NOT NULL "
                     "ORDER BY org, id LIMIT $2 FOR UPDATE SKIP LOCKED",
                     TAB_P(tab_p_text(tab_keyring_newest(self->kek)), tab_p_int(most))));
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        tab_str plain, bytes, context = context_of(a, tab_rows_text(r, i, 0), tab_rows_text(r, i, 1));
        TAB_TRY(tab_unseal(self->kek, a, tab_rows_bytes(r, i, 2, a), context, &plain, err));
        TAB_TRY(tab_seal(self->kek, a, plain, context, &bytes, err));
        TAB_TRY(tab_tx_query(
            tx, NULL, err, "UPDATE keys.provider SET secret = $3, sealed_by = $4 WHERE org = $1 AND id = $2",
            TAB_P(tab_p_text(tab_rows_text(r, i, 0)), tab_p_text(tab_rows_text(r, i, 1)), tab_p_bytes(bytes),
                  tab_p_text(tab_keyring_newest(self->kek)))));
    }
    *ret_n = tab_rows_count(r);
    return TAB_OK;
}
