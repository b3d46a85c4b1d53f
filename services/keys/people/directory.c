/* Directories (decision 0625): whom a provider has, as it says by SCIM (RFC 7643, 7644).
 *
 *   user    keys.person with a user_name: there before its first sign-in, which finds it (persons.c)
 *   group   keys.person_group; roles by group are the provider's, as for groups of tokens
 *
 *                  present, and a group has a role
 *        out  ---------------------------------------->  in     out_by_directory: whom the directory may let
 *             <----------------------------------------         in; whom an admin puts out stays out
 *                  not active, deleted, no role
 *
 * A key writes the directory of its provider alone, so that no other organization's and no other provider's
 * people can be seen or named. Whoever is out is out when the call is answered: sessions, keys. */
#include "services/keys/people/directory.h"

#include "common/base/proto.h"
#include "common/json/json.h"

enum { USERS_PAGE = 200, SETTLE_MS = 20000 };

/* ---- whose directory ------------------------------------------------------------------------- */

static tab_status provider_of(const tab_rows *r, tab_call *call, provider *ret, tab_error *err)
{
    *ret = (provider){ .org = call->org,
                       .id = tab_arena_copy(call->arena, tab_rows_str(r, 0, 0)).p,
                       .roles = tab_arena_copy(call->arena, tab_rows_str(r, 0, 2)).p,
                       .role = tab_person_role_named(tab_rows_str(r, 0, 1)) };
    return ret->id == NULL || ret->roles == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status directory_provider(tab_tx *tx, tab_call *call, const char *id, provider *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT id, role, roles FROM keys.provider WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(id))));
    return tab_rows_count(r) == 1 ? provider_of(r, call, ret, err)
                                  : tab_fail(err, TAB_NOT_FOUND, "provider", "There is no such provider.");
}

tab_status directory_begin(keys *self, tab_call *call, bool writes, tab_tx **ret_tx, provider *ret,
                           tab_error *err)
{
    static const char of_key[] = "SELECT p.id, p.role, p.roles FROM keys.api_key k "
                                 "JOIN keys.provider p ON p.org = k.org AND p.id = k.directory "
                                 "WHERE k.org = $1 AND k.id = $2 AND k.deleted IS NULL",
                      locked[] =
                          "SELECT p.id, p.role, p.roles FROM keys.api_key k "
                          "JOIN keys.provider p ON p.org = k.org AND p.id = k.directory "
                          "WHERE k.org = $1 AND k.id = $2 AND k.deleted IS NULL FOR NO KEY UPDATE OF p";
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org,
                         tab_within_ms(call->deadline, writes ? SETTLE_MS : TAB_SMALL_TX_MS), ret_tx, err));
    TAB_TRY(tab_tx_query(*ret_tx, &r, err, writes ? locked : of_key,
                         TAB_P(tab_p_text(call->org), tab_p_text(call->actor))));
    return tab_rows_count(r) == 1 ? provider_of(r, call, ret, err)
                                  : tab_fail(err, TAB_AUTH_SCOPE, "", "This key is of no directory.");
}

/* ---- who is in ------------------------------------------------------------------------------- */

enum { ID, ROLE, LIVES, PINNED, PRESENT, BY_DIRECTORY, GROUPS }; /* columns of people's */
#define PEOPLE                                                                                          \
    "SELECT p.id, k.role, k.deleted IS NULL, p.pinned, p.present AND NOT p.gone, p.out_by_directory, "  \
    "coalesce((SELECT jsonb_agg(g.name) FROM keys.person_member m "                                     \
    "JOIN keys.person_group g ON g.org = m.org AND g.id = m.group_id "                                  \
    "WHERE m.org = p.org AND m.person = p.id), '[]') "                                                  \
    "FROM keys.person p JOIN keys.api_key k ON k.org = p.org AND k.id = p.id WHERE p.org = $1 "         \
    "AND p.provider = $2 AND p.user_name IS NOT NULL AND ($3::text IS NULL OR p.id = ANY($3::text[])) " \
    "ORDER BY p.id LIMIT $4 FOR UPDATE OF p, k"

static tab_status role_of(tab_call *call, const provider *p, const tab_rows *r, size_t i,
                          tab_person_role *ret, tab_error *err)
{
    const tab_json *groups;
    tab_str text = tab_arena_copy(call->arena, tab_rows_str(r, i, GROUPS));
    *ret = tab_person_role_named(tab_rows_str(r, i, ROLE));
    if (tab_rows_bool(r, i, PINNED))
        return TAB_OK;
    if (text.p == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_json_read_own(call->arena, text, 2, &groups, err));
    tab_str *name = tab_arena_new_of(call->arena, tab_str, groups->count + 1);
    size_t n = 0;
    for (const tab_json *m = groups->first; m != NULL && name != NULL; m = m->next)
        name[n++] = m->text;
    return name == NULL ? tab_no_memory(err) : person_role(call->arena, p, name, n, ret, err);
}

static tab_status set_out(tab_tx *tx, tab_call *call, const char *id, bool out, tab_error *err)
{
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE keys.person SET out_by_directory = $3::bool WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(call->org), tab_p_text(id), tab_p_bool(out))));
    return keys_audit(tx, call, call->org, "", "person.update", id, out ? "out" : "active", err);
}

static tab_status settle_one(tab_tx *tx, tab_call *call, const tab_rows *r, size_t i, tab_person_role role,
                             keys_tombstone **t, size_t *n, bool *changed, tab_error *err)
{
    const char *id = tab_rows_text(r, i, ID);
    bool lives = tab_rows_bool(r, i, LIVES), other = role != tab_person_role_named(tab_rows_str(r, i, ROLE)),
         in = tab_rows_bool(r, i, PRESENT) && role != TAB_PERSON_NONE;
    if (!in && lives) {
        TAB_TRY(person_out(tx, call, id, t, n, err));
        return set_out(tx, call, id, true, err);
    }
    if (!in || (!lives && !tab_rows_bool(r, i, BY_DIRECTORY)))
        return TAB_OK;
    if (other) {
        TAB_TRY(person_set_role(tx, call->org, id, role, err));
        TAB_TRY(keys_audit(tx, call, call->org, "", "person.update", id, tab_person_role_name(role), err));
        *changed = true;
    }
    if (lives)
        return TAB_OK;
    TAB_TRY(person_back(tx, call->org, id, err));
    return set_out(tx, call, id, false, err);
}

tab_status directory_settle(tab_tx *tx, tab_call *call, const provider *p, char *const *id, size_t n_ids,
                            keys_tombstone **t, size_t *n, bool *changed, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    const char *ids = id == NULL ? NULL : tab_pg_array(call->arena, id, n_ids);
    if (id != NULL && ids == NULL)
        return tab_no_memory(err);
    TAB_TRY(
        tab_tx_query(tx, &r, err, PEOPLE,
                     TAB_P(tab_p_text(p->org), tab_p_text(p->id), tab_p_text(ids), tab_p_int(PEOPLE_MOST))));
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        tab_person_role role;
        TAB_TRY(role_of(call, p, r, i, &role, err));
        TAB_TRY(settle_one(tx, call, r, i, role, t, n, changed, err));
    }
    return TAB_OK;
}

tab_status directory_tell(keys *self, tab_call *call, const keys_tombstone *t, size_t n, bool changed,
                          tab_error *err)
{
    TAB_TRY(keys_revoke(self, t, n, call->deadline, err));
    return changed ? keys_refill(self, call, call->org, NULL, err) : TAB_OK;
}

/* ---- users, as they are shown ---------------------------------------------------------------- */

#define MATCHES                                                                        \
    "FROM keys.person p JOIN keys.api_key k ON k.org = p.org AND k.id = p.id "         \
    "WHERE p.org = $1 AND p.provider = $2 AND p.user_name IS NOT NULL AND NOT p.gone " \
    "AND ($3 = '' OR p.id = $3) AND ($4 = '' OR lower(p.user_name) = lower($4)) "      \
    "AND ($5 = '' OR p.external = $5) AND ($6 = '' OR lower(p.email) = lower($6)) "
#define ASKED                                                                           \
    tab_p_text(p->org), tab_p_text(p->id), tab_p_text(q->id), tab_p_text(q->user_name), \
        tab_p_text(q->external_id), tab_p_text(q->email)

static tab_status read_user(const tab_rows *r, size_t i, tab_arena *a, Tabella__DirectoryUser *u,
                            tab_error *err)
{
    const tab_json *groups;
    tabella__directory_user__init(u);
    u->id = tab_proto_text(a, tab_rows_text(r, i, 0));
    u->user_name = tab_proto_text(a, tab_rows_text(r, i, 1));
    u->external_id = tab_proto_text(a, tab_rows_text(r, i, 2));
    u->name = tab_proto_text(a, tab_rows_text(r, i, 3));
    u->given = tab_proto_text(a, tab_rows_text(r, i, 4));
    u->family = tab_proto_text(a, tab_rows_text(r, i, 5));
    u->email = tab_proto_text(a, tab_rows_text(r, i, 6));
    u->active = tab_rows_bool(r, i, 7);
    u->created_at = tab_rows_time(r, i, 8);
    u->changed_at = tab_rows_time(r, i, 9);
    tab_str text = tab_arena_copy(a, tab_rows_str(r, i, 10));
    if (text.p == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_json_read_own(a, text, 2, &groups, err));
    u->groups = tab_arena_new_of(a, Tabella__DirectoryGroupName *, groups->count + 1);
    for (const tab_json *m = groups->first; m != NULL && u->groups != NULL; m = m->next) {
        Tabella__DirectoryGroupName *g = directory_name(a, m->key, m->text);
        if (g == NULL)
            return tab_no_memory(err);
        u->groups[u->n_groups++] = g;
    }
    return u->groups == NULL || tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

Tabella__DirectoryGroupName *directory_name(tab_arena *a, tab_str id, tab_str name)
{
    Tabella__DirectoryGroupName *g = tab_arena_new_of(a, Tabella__DirectoryGroupName, 1);
    if (g == NULL)
        return NULL;
    tabella__directory_group_name__init(g);
    g->id = (char *)(uintptr_t)tab_arena_copy(a, id).p;
    g->name = (char *)(uintptr_t)tab_arena_copy(a, name).p;
    return g->id == NULL || g->name == NULL ? NULL : g;
}

static tab_status list(tab_tx *tx, tab_call *call, const provider *p,
                       const Tabella__ListDirectoryUsersRequest *q, Tabella__ListDirectoryUsersReply *ret,
                       tab_error *err)
{
    TAB_AUTO(tab_rows) *total = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    tab_arena *a = call->arena;
    int64_t from = q->start > 0 ? q->start - 1 : 0, most = q->count < USERS_PAGE ? q->count : USERS_PAGE;
    TAB_TRY(tab_tx_query(tx, &total, err, "SELECT count(*) " MATCHES, TAB_P(ASKED)));
    ret->total = (uint64_t)tab_rows_int(total, 0, 0);
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "SELECT p.id, p.user_name, p.external, k.name, p.given, p.family, p.email, p.present, "
                     "p.created, p.changed, coalesce((SELECT jsonb_object_agg(g.id, g.name) "
                     "FROM keys.person_member m JOIN keys.person_group g ON g.org = m.org "
                     "AND g.id = m.group_id WHERE m.org = p.org AND m.person = p.id), '{}') " MATCHES
                     "ORDER BY p.created, p.id LIMIT $7 OFFSET $8",
                     TAB_P(ASKED, tab_p_int(most), tab_p_int(from))));
    size_t n = tab_rows_count(r);
    Tabella__DirectoryUser *u = tab_arena_new_of(a, Tabella__DirectoryUser, n + 1);
    ret->users = tab_arena_new_of(a, Tabella__DirectoryUser *, n + 1);
    if (u == NULL || ret->users == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        TAB_TRY(read_user(r, i, a, &u[i], err));
        ret->users[ret->n_users++] = &u[i];
    }
    return TAB_OK;
}

tab_status keys_list_directory_users(void *arg, tab_call *call, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    provider p;
    TAB_TRY(directory_begin(arg, call, false, &tx, &p, err));
    TAB_TRY(list(tx, call, &p, call->in, call->out, err));
    return tab_tx_commit(&tx, err);
}

static tab_status show(tab_tx *tx, tab_call *call, const provider *p, const char *id, tab_error *err)
{
    Tabella__ListDirectoryUsersRequest q = TABELLA__LIST_DIRECTORY_USERS_REQUEST__INIT;
    Tabella__ListDirectoryUsersReply y = TABELLA__LIST_DIRECTORY_USERS_REPLY__INIT;
    q.id = (char *)(uintptr_t)id;
    q.count = 1;
    TAB_TRY(list(tx, call, p, &q, &y, err));
    if (y.n_users != 1)
        return tab_fail(err, TAB_NOT_FOUND, "", "There is no such user.");
    *(Tabella__DirectoryUser *)call->out = *y.users[0];
    return TAB_OK;
}

/* ---- changes of users ------------------------------------------------------------------------ */

bool directory_text_good(const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
            return false;
    return n <= DIRECTORY_TEXT && tab_utf8_valid((tab_str){ s, n });
}

static tab_status fields_good(const Tabella__SetDirectoryUserRequest *q, tab_error *err)
{
    const struct {
        const char *text, *name;
    } fields[] = { { q->user_name, "userName" },     { q->external_id, "externalId" },
                   { q->name, "displayName" },       { q->given, "name.givenName" },
                   { q->family, "name.familyName" }, { q->email, "emails" } };
    if (q->id[0] == 0 && q->user_name[0] == 0)
        return tab_fail(err, TAB_VALIDATION, "invalidValue", "`userName` is required.");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!directory_text_good(fields[i].text))
            return tab_fail(err, TAB_VALIDATION, "invalidValue", "`%s` must be one line of at most %d bytes.",
                            fields[i].name, DIRECTORY_TEXT);
    return TAB_OK;
}

/* The row that a new user is: one that the directory deleted and names as before; else one that signed in
 * before the directory came. A name that a deleted one has is free again: another may get it. "": none. */
static tab_status known(tab_tx *tx, tab_call *call, const provider *p, const char **ret, tab_error *err)
{
    const Tabella__SetDirectoryUserRequest *q = call->in;
    TAB_AUTO(tab_rows) *named = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    *ret = "";
    TAB_TRY(tab_tx_query(
        tx, &named, err,
        "SELECT id, gone, external = $4 FROM keys.person WHERE org = $1 AND provider = $2 "
        "AND lower(user_name) = lower($3) FOR UPDATE",
        TAB_P(tab_p_text(p->org), tab_p_text(p->id), tab_p_text(q->user_name), tab_p_text(q->external_id))));
    if (tab_rows_count(named) == 1) {
        if (!tab_rows_bool(named, 0, 1))
            return tab_fail(err, TAB_CONFLICT, "uniqueness", "There is a user of this name.");
        *ret = tab_proto_text(call->arena, tab_rows_text(named, 0, 0));
        if (tab_rows_bool(named, 0, 2))
            return TAB_OK;
        TAB_TRY(tab_tx_query(tx, NULL, err,
                             "UPDATE keys.person SET user_name = NULL, out_by_directory = false "
                             "WHERE org = $1 AND id = $2",
                             TAB_P(tab_p_text(p->org), tab_p_text(*ret))));
        *ret = "";
    }
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "SELECT id FROM keys.person p WHERE org = $1 AND provider = $2 AND user_name IS NULL "
                     "AND NOT gone AND ((verified AND lower(email) IN (lower($3), lower($5))) OR (subject = "
                     "$4 AND $4 <> '' AND (email = '' OR lower(email) IN (lower($3), lower($5))))) "
                     "ORDER BY subject = $4 DESC, signed_in DESC, id LIMIT 1 FOR UPDATE",
                     TAB_P(tab_p_text(p->org), tab_p_text(p->id), tab_p_text(q->user_name),
                           tab_p_text(q->external_id), tab_p_text(q->email))));
    if (tab_rows_count(r) == 1)
        *ret = tab_proto_text(call->arena, tab_rows_text(r, 0, 0));
    return TAB_OK;
}

/* A new user: its row, out until it is settled. */
static tab_status make(tab_tx *tx, tab_call *call, const provider *p, const char **ret_id, tab_error *err)
{
    const Tabella__SetDirectoryUserRequest *q = call->in;
    TAB_TRY(known(tx, call, p, ret_id, err));
    if (**ret_id == 0) {
        char id[TAB_ID];
        TAB_TRY(person_make(tx, call, p->org, q->user_name, TAB_PERSON_VIEWER, false, id, err));
        *ret_id = tab_proto_text(call->arena, id);
        return tab_tx_query(
            tx, NULL, err,
            "INSERT INTO keys.person (org, id, provider, user_name, out_by_directory) "
            "VALUES ($1, $2, $3, $4, true)",
            TAB_P(tab_p_text(p->org), tab_p_text(id), tab_p_text(p->id), tab_p_text(q->user_name)));
    }
    TAB_TRY(keys_audit(tx, call, p->org, "", "person.update", *ret_id, "of the directory", err));
    /* a role that was given by hand to a person that left is not given to whoever comes back */
    return tab_tx_query(tx, NULL, err,
                        "UPDATE keys.person SET user_name = $3, gone = false, present = true, "
                        "pinned = pinned AND NOT gone WHERE org = $1 AND id = $2",
                        TAB_P(tab_p_text(p->org), tab_p_text(*ret_id), tab_p_text(q->user_name)));
}

static tab_status put(tab_tx *tx, tab_call *call, const provider *p, const char *id, tab_error *err)
{
    const Tabella__SetDirectoryUserRequest *q = call->in;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "UPDATE keys.person SET user_name = coalesce(nullif($4, ''), user_name), "
        "external = CASE WHEN $5::bool THEN $6 ELSE external END, "
        "given = CASE WHEN $7::bool THEN $8 ELSE given END, "
        "family = CASE WHEN $9::bool THEN $10 ELSE family END, "
        "email = CASE WHEN $11::bool THEN $12 ELSE email END, "
        "present = CASE WHEN $13::bool THEN $14::bool ELSE present END, changed = now() "
        "WHERE org = $1 AND provider = $2 AND id = $3 AND user_name IS NOT NULL AND NOT gone RETURNING id",
        TAB_P(tab_p_text(p->org), tab_p_text(p->id), tab_p_text(id), tab_p_text(q->user_name),
              tab_p_bool(q->set_external_id), tab_p_text(q->external_id), tab_p_bool(q->set_given),
              tab_p_text(q->given), tab_p_bool(q->set_family), tab_p_text(q->family),
              tab_p_bool(q->set_email), tab_p_text(q->email), tab_p_bool(q->set_active),
              tab_p_bool(q->active))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "", "There is no such user.");
    return !q->set_name
               ? TAB_OK
               : tab_tx_query(tx, NULL, err, "UPDATE keys.api_key SET name = $3 WHERE org = $1 AND id = $2",
                              TAB_P(tab_p_text(p->org), tab_p_text(id), tab_p_text(q->name)));
}

static tab_status named_twice(tab_status s, tab_error *err)
{
    return s == TAB_CONFLICT ? tab_fail(err, TAB_CONFLICT, "uniqueness", "There is one of this name.") : s;
}

tab_status keys_set_directory_user(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__SetDirectoryUserRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    provider p;
    keys_tombstone *t = NULL;
    size_t n = 0;
    bool changed = false;
    const char *id = q->id;
    TAB_TRY(fields_good(q, err));
    TAB_TRY(directory_begin(self, call, true, &tx, &p, err));
    if (q->id[0] == 0)
        TAB_TRY(make(tx, call, &p, &id, err));
    TAB_TRY(named_twice(put(tx, call, &p, id, err), err));
    char *ids[] = { (char *)(uintptr_t)id };
    TAB_TRY(directory_settle(tx, call, &p, ids, 1, &t, &n, &changed, err));
    TAB_TRY(show(tx, call, &p, id, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    return directory_tell(self, call, t, n, changed, err);
}

tab_status keys_delete_directory_user(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__DeleteDirectoryRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    provider p;
    keys_tombstone *t = NULL;
    size_t n = 0;
    bool changed = false;
    TAB_TRY(directory_begin(self, call, true, &tx, &p, err));
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "UPDATE keys.person SET gone = true, changed = now() WHERE org = $1 AND provider = $2 "
                     "AND id = $3 AND user_name IS NOT NULL AND NOT gone RETURNING id",
                     TAB_P(tab_p_text(p.org), tab_p_text(p.id), tab_p_text(q->id))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "", "There is no such user.");
    TAB_TRY(tab_tx_query(tx, NULL, err, "DELETE FROM keys.person_member WHERE org = $1 AND person = $2",
                         TAB_P(tab_p_text(p.org), tab_p_text(q->id))));
    TAB_TRY(keys_audit(tx, call, p.org, "", "person.delete", q->id, "", err));
    TAB_TRY(directory_settle(tx, call, &p, &q->id, 1, &t, &n, &changed, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    return directory_tell(self, call, t, n, changed, err);
}
