/* What an admin sees of persons and changes by hand. */
#include "services/keys/people/people.h"
#include "common/base/proto.h"

static tab_status list(tab_tx *tx, tab_call *call, const char *id, Tabella__Person ***ret, size_t *ret_n,
                       tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    tab_arena *a = call->arena;
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "SELECT p.id, k.name, p.email, k.role, p.pinned, p.provider, p.subject, "
                     "k.deleted IS NULL, p.created, p.signed_in, k.last_used, p.user_name FROM keys.person p "
                     "JOIN keys.api_key k ON k.org = p.org AND k.id = p.id "
                     "WHERE p.org = $1 AND ($2 = '' OR p.id = $2) ORDER BY k.name, p.id LIMIT $3",
                     TAB_P(tab_p_text(call->org), tab_p_text(id), tab_p_int(PEOPLE_MOST))));
    size_t n = tab_rows_count(r);
    Tabella__Person *p = tab_arena_new_of(a, Tabella__Person, n + 1);
    *ret = tab_arena_new_of(a, Tabella__Person *, n + 1);
    if (p == NULL || *ret == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        tabella__person__init(&p[i]);
        p[i].id = tab_proto_text(a, tab_rows_text(r, i, 0));
        p[i].name = tab_proto_text(a, tab_rows_text(r, i, 1));
        p[i].email = tab_proto_text(a, tab_rows_text(r, i, 2));
        p[i].role = tab_proto_text(a, tab_rows_text(r, i, 3));
        p[i].pinned = tab_rows_bool(r, i, 4);
        p[i].provider = tab_proto_text(a, tab_rows_text(r, i, 5));
        p[i].subject = tab_proto_text(a, tab_rows_text(r, i, 6));
        p[i].active = tab_rows_bool(r, i, 7);
        p[i].created_at = tab_rows_time(r, i, 8);
        p[i].signed_in_at = tab_rows_time(r, i, 9);
        p[i].last_used = tab_rows_time(r, i, 10);
        p[i].user_name = tab_proto_text(a, tab_rows_text(r, i, 11));
        (*ret)[i] = &p[i];
    }
    *ret_n = n;
    return TAB_OK;
}

tab_status keys_list_people(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    Tabella__ListPeopleReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(list(tx, call, "", &out->people, &out->n_people, err));
    return tab_tx_commit(&tx, err);
}

/* An admin puts a person out, or lets it in again; whom the directory says to be away it does not. */
static tab_status by_hand(tab_tx *tx, tab_call *call, const Tabella__SetPersonRequest *q, keys_tombstone **t,
                          size_t *n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    if (q->active) {
        TAB_TRY(tab_tx_query(tx, &r, err,
                             "SELECT FROM keys.person WHERE org = $1 AND id = $2 AND user_name IS NOT NULL "
                             "AND (gone OR NOT present)",
                             TAB_P(tab_p_text(call->org), tab_p_text(q->id))));
        if (tab_rows_count(r) > 0)
            return tab_fail(err, TAB_CONFLICT, "active",
                            "The directory says that this person has left; let it in again there.");
        TAB_TRY(person_back(tx, call->org, q->id, err));
    } else {
        TAB_TRY(person_out(tx, call, q->id, t, n, err));
    }
    return tab_tx_query(tx, NULL, err,
                        "UPDATE keys.person SET out_by_directory = false WHERE org = $1 AND id = $2",
                        TAB_P(tab_p_text(call->org), tab_p_text(q->id)));
}

tab_status keys_set_person(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__SetPersonRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    Tabella__Person **found;
    keys_tombstone *t = NULL;
    size_t n = 0, people = 0;
    bool changed = q->role[0] != 0;
    tab_person_role role = tab_person_role_named(tab_str_of(q->role));
    if (q->role[0] != 0 && role == TAB_PERSON_NONE)
        return tab_fail(err, TAB_VALIDATION, "role", "`role` must be viewer, billing, builder or admin.");
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(list(tx, call, q->id, &found, &people, err));
    if (people != 1)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such person.");
    if (q->role[0] != 0 || q->unpin)
        TAB_TRY(tab_tx_query(tx, NULL, err,
                             "UPDATE keys.person SET pinned = $3::bool WHERE org = $1 AND id = $2",
                             TAB_P(tab_p_text(call->org), tab_p_text(q->id), tab_p_bool(!q->unpin))));
    if (role != TAB_PERSON_NONE)
        TAB_TRY(person_set_role(tx, call->org, q->id, role, err));
    if (q->set_active)
        TAB_TRY(by_hand(tx, call, q, &t, &n, err));
    if (found[0]->user_name[0] != 0) {
        provider p;
        TAB_TRY(directory_provider(tx, call, found[0]->provider, &p, err));
        TAB_TRY(directory_settle(tx, call, &p, &q->id, 1, &t, &n, &changed, err));
    }
    const char *detail = tab_arena_printf(call->arena, "%s%s%s", q->role, q->unpin ? " by groups" : "",
                                          !q->set_active ? ""
                                          : q->active    ? " active"
                                                         : " out");
    if (detail == NULL)
        return tab_no_memory(err);
    TAB_TRY(keys_audit(tx, call, call->org, q->actor, "person.update", q->id, detail, err));
    TAB_TRY(list(tx, call, q->id, &found, &people, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    *(Tabella__Person *)call->out = *found[0];
    TAB_TRY(keys_revoke(self, t, n, call->deadline, err));
    return changed ? keys_refill(self, call, call->org, NULL, err) : TAB_OK;
}
