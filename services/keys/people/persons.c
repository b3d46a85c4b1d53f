/* Persons: rows of keys.api_key whose secret nobody has (decision 0575). A person that is out is an ended
 * key: its sessions are tombstones in Redis before the call is answered, and so are the secrets of its own
 * keys. */
#include <stdio.h>

#include "common/base/proto.h"
#include "common/json/json.h"
#include "services/keys/people/people.h"

enum { NAME_MOST = 128 };

/* ---- who a token describes ------------------------------------------------------------------- */

/* The role that counts most, in the order of TAB_PERSON_ROLES; the provider's own for whoever is in no
 * group. */
tab_status person_role(tab_arena *a, const provider *p, const tab_str *group, size_t n, tab_person_role *ret,
                       tab_error *err)
{
    const tab_json *roles;
    tab_person_role best = p->role;
    TAB_TRY(tab_json_read_own(a, tab_str_of(p->roles), 2, &roles, err));
    for (const tab_json *m = roles->first; m != NULL; m = m->next)
        for (size_t i = 0; i < n; i++)
            if (tab_str_eq(m->key, group[i]) && tab_person_role_named(m->text) > best)
                best = tab_person_role_named(m->text);
    *ret = best;
    return TAB_OK;
}

/* Letters of a domain have no case. */
static bool same_domain(tab_str a, tab_str b)
{
    bool same = a.n == b.n;
    for (size_t i = 0; i < a.n && same; i++)
        same = (a.p[i] | 0x20) == (b.p[i] | 0x20);
    return same;
}

static bool domain_good(const provider *p, const oidc_person *who)
{
    const char *at = who->email.n == 0 ? NULL : memrchr(who->email.p, '@', who->email.n);
    if (*p->domains == 0)
        return true;
    if (at == NULL || !who->email_verified)
        return false;
    tab_str domain = { at + 1, who->email.n - (size_t)(at + 1 - who->email.p) };
    for (const char *list = p->domains; *list != 0; list += *list == ' ') {
        size_t n = strcspn(list, " ");
        if (same_domain((tab_str){ list, n }, domain))
            return true;
        list += n;
    }
    return false;
}

tab_status person_make(tab_tx *tx, tab_call *call, const char *org, const char *name, tab_person_role role,
                       bool lives, char ret_id[TAB_ID], tab_error *err)
{
    char nobody[TAB_SECRET_HASH]; /* of no secret */
    randombytes_buf(nobody, sizeof nobody);
    tab_id_new(ret_id, "usr_");
    TAB_TRY(
        tab_tx_room(tx, org, "SELECT count(*) FROM keys.person WHERE org = $1", PEOPLE_MOST, "people", err));
    TAB_TRY(tab_tx_query(
        tx, NULL, err,
        "INSERT INTO keys.api_key (org, id, name, hash, preview, scopes, version, person, role, deleted) "
        "VALUES ($1, $2, $3, $4, '', $5, nextval('keys.version'), true, $6, "
        "CASE WHEN $7::bool THEN NULL ELSE now() END)",
        TAB_P(tab_p_text(org), tab_p_text(ret_id), tab_p_text(name),
              tab_p_bytes((tab_str){ nobody, sizeof nobody }), tab_p_int(tab_person_role_scopes(role)),
              tab_p_text(tab_person_role_name(role)), tab_p_bool(lives))));
    return keys_audit(tx, call, org, call->actor[0] != 0 ? call->actor : ret_id, "person.create", ret_id,
                      lives ? tab_person_role_name(role) : "out", err);
}

/* Its new role, and what the gateway had signed of it and of its keys is worth nothing from now on. */
tab_status person_set_role(tab_tx *tx, const char *org, const char *id, tab_person_role role, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE keys.api_key SET role = $3, scopes = $4 WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(id), tab_p_text(tab_person_role_name(role)),
                               tab_p_int(tab_person_role_scopes(role)))));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "WITH v AS (SELECT nextval('keys.version') AS version) "
                         "UPDATE keys.api_key k SET version = v.version FROM v "
                         "WHERE k.org = $1 AND (k.id = $2 OR k.owner = $2) RETURNING k.version",
                         TAB_P(tab_p_text(org), tab_p_text(id))));
    return tab_rows_count(r) == 0 ? TAB_OK : keys_store_raise_epoch(tx, org, tab_rows_int(r, 0, 0), err);
}

static tab_status refused(tab_error *err, const char *why)
{
    return tab_fail(err, TAB_AUTH_SCOPE, "", "You may not sign in here: %s. Ask your admin.", why);
}

/* A person as it stands when it signs in. */
typedef struct {
    const char *id;             /* NULL: there is none yet */
    bool pinned, lives, listed; /* listed: the directory has it, or had */
    tab_person_role role;
} person_row;

/* By the provider's name of it; else the one that the directory named and that has not signed in yet: by its
 * mail address, which a token calls verified or whose external id is the provider's name of it. */
static tab_status find(tab_tx *tx, tab_call *call, const provider *p, const oidc_person *who, person_row *ret,
                       tab_error *err)
{
    enum { ID, PINNED, ROLE, LIVES, LISTED, RANK };
    TAB_AUTO(tab_rows) *r = NULL;
    *ret = (person_row){ .id = NULL };
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT p.id, p.pinned, k.role, k.deleted IS NULL, p.user_name IS NOT NULL, "
        "CASE WHEN p.subject IS NOT NULL THEN 0 WHEN p.external = $3 THEN 1 "
        "WHEN lower(p.user_name) = lower($4) THEN 2 ELSE 3 END AS rank "
        "FROM keys.person p JOIN keys.api_key k ON k.org = p.org AND k.id = p.id "
        "WHERE p.org = $1 AND p.provider = $2 AND (p.subject = $3 OR (p.subject IS NULL "
        "AND p.user_name IS NOT NULL AND (($4 = '' AND p.external = $3) OR ($4 <> '' "
        "AND lower($4) IN (lower(p.user_name), lower(p.email)) AND ($5::bool OR p.external = $3))))) "
        "ORDER BY rank, p.id LIMIT 2 FOR UPDATE",
        TAB_P(tab_p_text(p->org), tab_p_text(p->id), tab_p_str(who->subject), tab_p_str(who->email),
              tab_p_bool(who->email_verified))));
    size_t n = tab_rows_count(r);
    if (n == 0)
        return TAB_OK;
    if (n == 2 && tab_rows_int(r, 0, RANK) == tab_rows_int(r, 1, RANK))
        return refused(err, "your directory gives two people your mail address");
    *ret = (person_row){ tab_proto_text(call->arena, tab_rows_text(r, 0, ID)), tab_rows_bool(r, 0, PINNED),
                         tab_rows_bool(r, 0, LIVES), tab_rows_bool(r, 0, LISTED),
                         tab_person_role_named(tab_rows_str(r, 0, ROLE)) };
    return tab_arena_full(call->arena) ? tab_no_memory(err) : TAB_OK;
}

/* Of a person that the directory has its groups count, and not those that a token names. */
static tab_status role_now(tab_tx *tx, tab_call *call, const provider *p, const oidc_person *who,
                           const person_row *row, tab_person_role *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    *ret = row->role;
    if (row->pinned)
        return TAB_OK;
    if (!row->listed)
        return person_role(call->arena, p, who->group, who->n_groups, ret, err);
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT g.name FROM keys.person_member m "
                         "JOIN keys.person_group g ON g.org = m.org AND g.id = m.group_id "
                         "WHERE m.org = $1 AND m.person = $2 LIMIT $3",
                         TAB_P(tab_p_text(p->org), tab_p_text(row->id), tab_p_int(PEOPLE_GROUPS))));
    size_t n = tab_rows_count(r);
    tab_str *group = tab_arena_new_of(call->arena, tab_str, n + 1);
    if (group == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++)
        group[i] = tab_rows_str(r, i, 0);
    return person_role(call->arena, p, group, n, ret, err);
}

/* name NULL: it stays as it is. */
static tab_status note(tab_tx *tx, const provider *p, const oidc_person *who, const char *id,
                       const char *name, tab_error *err)
{
    TAB_TRY(tab_tx_query(
        tx, NULL, err,
        "UPDATE keys.person SET subject = $3, verified = $5::bool, signed_in = now(), "
        "email = CASE WHEN user_name IS NULL OR email = '' THEN $4 ELSE email END WHERE org = $1 AND id = $2",
        TAB_P(tab_p_text(p->org), tab_p_text(id), tab_p_str(who->subject), tab_p_str(who->email),
              tab_p_bool(who->email_verified))));
    return name == NULL
               ? TAB_OK
               : tab_tx_query(tx, NULL, err, "UPDATE keys.api_key SET name = $3 WHERE org = $1 AND id = $2",
                              TAB_P(tab_p_text(p->org), tab_p_text(id), tab_p_text(name)));
}

static const char *name_of(tab_arena *a, const oidc_person *who)
{
    tab_str name = who->name.n > 0 && tab_utf8_count(who->name) <= NAME_MOST ? who->name
                   : who->email.n > 0 && who->email.n <= NAME_MOST           ? who->email
                                                                             : TAB_S("a person");
    return tab_arena_copy(a, name).p;
}

tab_status person_seen(tab_tx *tx, tab_call *call, const provider *p, const oidc_person *who,
                       char ret_id[TAB_ID], bool *ret_changed, tab_error *err)
{
    tab_person_role role;
    person_row row;
    const char *name = name_of(call->arena, who);
    *ret_changed = false;
    if (name == NULL)
        return tab_no_memory(err);
    if (!domain_good(p, who))
        return refused(err, "your mail address is not verified or of another domain");
    /* no directory changes whom it has meanwhile; two first sign-ins at once are one person */
    TAB_TRY(tab_tx_query(tx, NULL, err, "SELECT FROM keys.provider WHERE org = $1 AND id = $2 FOR SHARE",
                         TAB_P(tab_p_text(p->org), tab_p_text(p->id))));
    TAB_TRY(tab_tx_query(tx, NULL, err, "SELECT pg_advisory_xact_lock(hashtextextended($1 || ' ' || $2, 0))",
                         TAB_P(tab_p_text(p->id), tab_p_str(who->subject))));
    TAB_TRY(find(tx, call, p, who, &row, err));
    TAB_TRY(role_now(tx, call, p, who, &row, &role, err));
    if (row.id != NULL && !row.lives)
        return refused(err, "your access was ended");
    if (role == TAB_PERSON_NONE)
        return refused(err, "none of your groups has a role");
    if (row.id == NULL) {
        TAB_TRY(person_make(tx, call, p->org, name, role, true, ret_id, err));
        TAB_TRY(tab_tx_query(tx, NULL, err, "INSERT INTO keys.person (org, id, provider) VALUES ($1, $2, $3)",
                             TAB_P(tab_p_text(p->org), tab_p_text(ret_id), tab_p_text(p->id))));
        return note(tx, p, who, ret_id, NULL, err);
    }
    snprintf(ret_id, TAB_ID, "%s", row.id);
    TAB_TRY(note(tx, p, who, ret_id, row.listed ? NULL : name, err));
    *ret_changed = role != row.role;
    if (!*ret_changed)
        return TAB_OK;
    TAB_TRY(person_set_role(tx, p->org, ret_id, role, err));
    return keys_audit(tx, call, p->org, ret_id, "person.update", ret_id, tab_person_role_name(role), err);
}

/* ---- who is out ------------------------------------------------------------------------------ */

static tab_status append(tab_arena *a, keys_tombstone **t, size_t *n, const keys_tombstone *more, size_t m,
                         tab_error *err)
{
    keys_tombstone *all = tab_arena_new_of(a, keys_tombstone, *n + m + 1);
    if (all == NULL)
        return tab_no_memory(err);
    if (*n > 0)
        memcpy(all, *t, *n * sizeof *all);
    if (m > 0)
        memcpy(all + *n, more, m * sizeof *all);
    *t = all;
    *n += m;
    return TAB_OK;
}

/* One key, or the person itself, with its sessions. */
tab_status person_end_key(tab_tx *tx, tab_call *call, const char *org, const char *id, keys_tombstone **t,
                          size_t *n, tab_error *err)
{
    keys_tombstone old, *ended = NULL;
    size_t m = 0;
    bool again;
    TAB_TRY(keys_store_end(tx, org, id, &old, &again, err));
    TAB_TRY(keys_session_end_all(tx, call->arena, &old, &ended, &m, err));
    return append(call->arena, t, n, ended, m, err);
}

tab_status person_out(tab_tx *tx, tab_call *call, const char *id, keys_tombstone **t, size_t *n,
                      tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    const char *with = tab_arena_printf(call->arena, "with %s", id);
    if (with == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT id FROM keys.api_key WHERE org = $1 AND (id = $2 OR owner = $2) "
                         "AND deleted IS NULL ORDER BY id LIMIT $3",
                         TAB_P(tab_p_text(call->org), tab_p_text(id), tab_p_int(KEYS_MOST + 1))));
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        const char *key = tab_rows_text(r, i, 0);
        TAB_TRY(person_end_key(tx, call, call->org, key, t, n, err));
        if (strcmp(key, id) != 0)
            TAB_TRY(keys_audit(tx, call, call->org, "", "key.delete", key, with, err));
    }
    return TAB_OK;
}

/* It may sign in again; its keys stay ended. */
tab_status person_back(tab_tx *tx, const char *org, const char *id, tab_error *err)
{
    char nobody[TAB_SECRET_HASH];
    randombytes_buf(nobody, sizeof nobody);
    return tab_tx_query(
        tx, NULL, err,
        "UPDATE keys.api_key SET deleted = NULL, hash = $3, version = nextval('keys.version') "
        "WHERE org = $1 AND id = $2 AND deleted IS NOT NULL",
        TAB_P(tab_p_text(org), tab_p_text(id), tab_p_bytes((tab_str){ nobody, sizeof nobody })));
}
