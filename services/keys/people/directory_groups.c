/* Groups of a directory: their people have the role that the provider gives to a group of this name. */
#include "common/base/proto.h"
#include "services/keys/people/directory.h"

enum { GROUPS_PAGE = 100, MEMBERS_MOST = 100000 };

/* ---- as they are shown ----------------------------------------------------------------------- */

#define MATCHES                                                                                          \
    "FROM keys.person_group g WHERE g.org = $1 AND g.provider = $2 AND ($3 = '' OR g.id = $3) "          \
    "AND ($4 = '' OR g.name = $4) AND ($5 = '' OR g.external = $5) AND ($6 = '' OR EXISTS (SELECT FROM " \
    "keys.person_member m WHERE m.org = g.org AND m.group_id = g.id AND m.person = $6)) "
#define ASKED                                                                      \
    tab_p_text(p->org), tab_p_text(p->id), tab_p_text(q->id), tab_p_text(q->name), \
        tab_p_text(q->external_id), tab_p_text(q->member)

/* Of all groups of the page at once, in their order. */
static tab_status members(tab_tx *tx, tab_arena *a, const char *org, Tabella__DirectoryGroup *const *group,
                          size_t n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    char **id = tab_arena_new_of(a, char *, n + 1);
    for (size_t i = 0; i < n && id != NULL; i++)
        id[i] = group[i]->id;
    char *ids = id == NULL ? NULL : tab_pg_array(a, id, n);
    if (ids == NULL)
        return tab_no_memory(err);
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "SELECT w.n - 1, k.id, k.name FROM unnest($2::text[]) WITH ORDINALITY AS w(id, n) "
                     "JOIN keys.person_member m ON m.org = $1 AND m.group_id = w.id "
                     "JOIN keys.api_key k ON k.org = m.org AND k.id = m.person ORDER BY w.n, k.id LIMIT $3",
                     TAB_P(tab_p_text(org), tab_p_text(ids), tab_p_int(MEMBERS_MOST + 1))));
    size_t all = tab_rows_count(r);
    if (all > MEMBERS_MOST)
        return tab_fail(
            err, TAB_VALIDATION, "tooMany",
            "These groups have too many members for one answer; ask for fewer, or without members.");
    for (size_t i = 0, end; i < all; i = end) {
        int64_t of = tab_rows_int(r, i, 0);
        for (end = i; end < all && tab_rows_int(r, end, 0) == of;)
            end++;
        Tabella__DirectoryGroup *g = group[of];
        g->members = tab_arena_new_of(a, Tabella__DirectoryGroupName *, end - i);
        for (size_t k = i; k < end; k++) {
            Tabella__DirectoryGroupName *m = directory_name(a, tab_rows_str(r, k, 1), tab_rows_str(r, k, 2));
            if (m == NULL || g->members == NULL)
                return tab_no_memory(err);
            g->members[g->n_members++] = m;
        }
    }
    return TAB_OK;
}

static tab_status list(tab_tx *tx, tab_call *call, const provider *p,
                       const Tabella__ListDirectoryGroupsRequest *q, Tabella__ListDirectoryGroupsReply *ret,
                       tab_error *err)
{
    TAB_AUTO(tab_rows) *total = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    tab_arena *a = call->arena;
    int64_t from = q->start > 0 ? q->start - 1 : 0, most = q->count < GROUPS_PAGE ? q->count : GROUPS_PAGE;
    TAB_TRY(tab_tx_query(tx, &total, err, "SELECT count(*) " MATCHES, TAB_P(ASKED)));
    ret->total = (uint64_t)tab_rows_int(total, 0, 0);
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT g.id, g.name, g.external, g.created, g.changed " MATCHES
                         "ORDER BY g.created, g.id LIMIT $7 OFFSET $8",
                         TAB_P(ASKED, tab_p_int(most), tab_p_int(from))));
    size_t n = tab_rows_count(r);
    Tabella__DirectoryGroup *g = tab_arena_new_of(a, Tabella__DirectoryGroup, n + 1);
    ret->groups = tab_arena_new_of(a, Tabella__DirectoryGroup *, n + 1);
    if (g == NULL || ret->groups == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        tabella__directory_group__init(&g[i]);
        g[i].id = tab_proto_text(a, tab_rows_text(r, i, 0));
        g[i].name = tab_proto_text(a, tab_rows_text(r, i, 1));
        g[i].external_id = tab_proto_text(a, tab_rows_text(r, i, 2));
        g[i].created_at = tab_rows_time(r, i, 3);
        g[i].changed_at = tab_rows_time(r, i, 4);
        ret->groups[ret->n_groups++] = &g[i];
    }
    return q->no_members || n == 0 ? TAB_OK : members(tx, a, p->org, ret->groups, n, err);
}

tab_status keys_list_directory_groups(void *arg, tab_call *call, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    provider p;
    TAB_TRY(directory_begin(arg, call, false, &tx, &p, err));
    TAB_TRY(list(tx, call, &p, call->in, call->out, err));
    return tab_tx_commit(&tx, err);
}

static tab_status show(tab_tx *tx, tab_call *call, const provider *p, const char *id, tab_error *err)
{
    Tabella__ListDirectoryGroupsRequest q = TABELLA__LIST_DIRECTORY_GROUPS_REQUEST__INIT;
    Tabella__ListDirectoryGroupsReply y = TABELLA__LIST_DIRECTORY_GROUPS_REPLY__INIT;
    q.id = (char *)(uintptr_t)id;
    q.count = 1;
    TAB_TRY(list(tx, call, p, &q, &y, err));
    if (y.n_groups != 1)
        return tab_fail(err, TAB_NOT_FOUND, "", "There is no such group.");
    *(Tabella__DirectoryGroup *)call->out = *y.groups[0];
    return TAB_OK;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Whose role may be another one now: who is a member before or after. */
typedef struct {
    char **id;
    size_t n;
} touched;

static tab_status touch(tab_tx *tx, tab_arena *a, const char *org, const char *group, touched *t,
                        tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT person FROM keys.person_member WHERE org = $1 AND group_id = $2 LIMIT $3",
                         TAB_P(tab_p_text(org), tab_p_text(group), tab_p_int(PEOPLE_MOST))));
    char **all = tab_arena_new_of(a, char *, t->n + tab_rows_count(r) + 1);
    if (all == NULL)
        return tab_no_memory(err);
    if (t->n > 0)
        memcpy(all, t->id, t->n * sizeof *all);
    for (size_t i = 0; i < tab_rows_count(r); i++)
        all[t->n++] = tab_proto_text(a, tab_rows_text(r, i, 0));
    t->id = all;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

static tab_status change_members(tab_tx *tx, tab_arena *a, const provider *p, const char *group,
                                 const Tabella__DirectoryMembers *m, tab_error *err)
{
    char *ids = tab_pg_array(a, m->ids, m->n_ids);
    if (ids == NULL)
        return tab_no_memory(err);
    if (m->change == TABELLA__DIRECTORY_MEMBERS__CHANGE__REPLACE)
        TAB_TRY(tab_tx_query(tx, NULL, err,
                             "DELETE FROM keys.person_member WHERE org = $1 AND group_id = $2 "
                             "AND person <> ALL($3::text[])",
                             TAB_P(tab_p_text(p->org), tab_p_text(group), tab_p_text(ids))));
    if (m->change == TABELLA__DIRECTORY_MEMBERS__CHANGE__REMOVE)
        return tab_tx_query(tx, NULL, err,
                            "DELETE FROM keys.person_member WHERE org = $1 AND group_id = $2 "
                            "AND person = ANY($3::text[])",
                            TAB_P(tab_p_text(p->org), tab_p_text(group), tab_p_text(ids)));
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO keys.person_member (org, group_id, person) "
                        "SELECT org, $2, id FROM keys.person WHERE org = $1 AND provider = $4 "
                        "AND user_name IS NOT NULL AND NOT gone AND id = ANY($3::text[]) "
                        "ON CONFLICT DO NOTHING",
                        TAB_P(tab_p_text(p->org), tab_p_text(group), tab_p_text(ids), tab_p_text(p->id)));
}

static tab_status put(tab_tx *tx, tab_call *call, const provider *p, const char *id, tab_error *err)
{
    const Tabella__SetDirectoryGroupRequest *q = call->in;
    TAB_AUTO(tab_rows) *r = NULL;
    tab_status s;
    if (q->id[0] == 0) {
        TAB_TRY(tab_tx_room(tx, p->org, "SELECT count(*) FROM keys.person_group WHERE org = $1",
                            PEOPLE_GROUPS, "groups", err));
        s = tab_tx_query(tx, &r, err,
                         "INSERT INTO keys.person_group (org, id, provider, name, external) "
                         "VALUES ($1, $3, $2, $4, $5) RETURNING id",
                         TAB_P(tab_p_text(p->org), tab_p_text(p->id), tab_p_text(id), tab_p_text(q->name),
                               tab_p_text(q->external_id)));
    } else {
        s = tab_tx_query(tx, &r, err,
                         "UPDATE keys.person_group SET name = coalesce(nullif($4, ''), name), "
                         "external = CASE WHEN $5::bool THEN $6 ELSE external END, changed = now() "
                         "WHERE org = $1 AND provider = $2 AND id = $3 RETURNING id",
                         TAB_P(tab_p_text(p->org), tab_p_text(p->id), tab_p_text(id), tab_p_text(q->name),
                               tab_p_bool(q->set_external_id), tab_p_text(q->external_id)));
    }
    if (s == TAB_CONFLICT)
        return tab_fail(err, TAB_CONFLICT, "uniqueness", "There is a group of this name.");
    TAB_TRY(s);
    return tab_rows_count(r) == 1 ? TAB_OK : tab_fail(err, TAB_NOT_FOUND, "", "There is no such group.");
}

static tab_status noted(tab_tx *tx, tab_call *call, const char *id, tab_error *err)
{
    const Tabella__SetDirectoryGroupRequest *q = call->in;
    size_t n[3] = { 0 };
    for (size_t i = 0; i < q->n_members; i++)
        if ((unsigned)q->members[i]->change < 3)
            n[q->members[i]->change] += q->members[i]->n_ids;
    const char *detail = tab_arena_printf(call->arena, "%s added %zu, removed %zu, set %zu", q->name,
                                          n[TABELLA__DIRECTORY_MEMBERS__CHANGE__ADD],
                                          n[TABELLA__DIRECTORY_MEMBERS__CHANGE__REMOVE],
                                          n[TABELLA__DIRECTORY_MEMBERS__CHANGE__REPLACE]);
    if (detail == NULL)
        return tab_no_memory(err);
    return keys_audit(tx, call, call->org, "", q->id[0] == 0 ? "group.create" : "group.update", id, detail,
                      err);
}

tab_status keys_set_directory_group(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__SetDirectoryGroupRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    provider p;
    touched who = { 0 };
    keys_tombstone *t = NULL;
    size_t n = 0;
    bool changed = false;
    char made[TAB_ID];
    const char *id = q->id;
    if ((q->id[0] == 0 && q->name[0] == 0) || !directory_text_good(q->name) ||
        !directory_text_good(q->external_id))
        return tab_fail(err, TAB_VALIDATION, "invalidValue",
                        "`displayName` is required, and texts must be one line of at most %d bytes.",
                        DIRECTORY_TEXT);
    TAB_TRY(directory_begin(self, call, true, &tx, &p, err));
    if (q->id[0] == 0) {
        tab_id_new(made, "grp_");
        id = made;
    }
    TAB_TRY(put(tx, call, &p, id, err));
    TAB_TRY(touch(tx, call->arena, p.org, id, &who, err));
    for (size_t i = 0; i < q->n_members; i++)
        TAB_TRY(change_members(tx, call->arena, &p, id, q->members[i], err));
    TAB_TRY(touch(tx, call->arena, p.org, id, &who, err));
    TAB_TRY(noted(tx, call, id, err));
    TAB_TRY(directory_settle(tx, call, &p, who.id, who.n, &t, &n, &changed, err));
    TAB_TRY(show(tx, call, &p, id, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    return directory_tell(self, call, t, n, changed, err);
}

tab_status keys_delete_directory_group(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__DeleteDirectoryRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    provider p;
    touched who = { 0 };
    keys_tombstone *t = NULL;
    size_t n = 0;
    bool changed = false;
    TAB_TRY(directory_begin(self, call, true, &tx, &p, err));
    TAB_TRY(touch(tx, call->arena, p.org, q->id, &who, err));
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "DELETE FROM keys.person_group WHERE org = $1 AND provider = $2 AND id = $3 RETURNING name",
        TAB_P(tab_p_text(p.org), tab_p_text(p.id), tab_p_text(q->id))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "", "There is no such group.");
    TAB_TRY(keys_audit(tx, call, p.org, "", "group.delete", q->id, tab_rows_text(r, 0, 0), err));
    TAB_TRY(directory_settle(tx, call, &p, who.id, who.n, &t, &n, &changed, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    return directory_tell(self, call, t, n, changed, err);
}
