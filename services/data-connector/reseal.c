/* Credentials that older keys sealed are sealed again under the newest one, while all goes on: each row is
 * locked for as long as that takes, and no key but the oldest ones can be dropped before all rows are done.
 * tabella admin connections reseal. */
#include <sodium.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "services/data-connector/data.h"

enum { AT_ONCE = 50, NAMED_MOST = 100, COUNTED = 1000000 };

/* One row; false: it does not open. The lock is the transaction's. */
static tab_status reseal_row(data_service *self, tab_arena *a, tab_tx *tx, const tab_rows *r, size_t i,
                             bool *ret_opens, tab_error *err)
{
    const char *org = tab_rows_text(r, i, 0), *id = tab_rows_text(r, i, 1);
    char *context = data_seal_context(a, org, id);
    tab_str plain, sealed;
    if (context == NULL)
        return tab_no_memory(err);
    tab_status s = tab_unseal(self->kek, a, tab_rows_bytes(r, i, 2, a), tab_str_of(context), &plain, err);
    *ret_opens = s == TAB_OK;
    if (s == TAB_UNAVAILABLE) /* the key is in a token that is away */
        return s;
    if (!*ret_opens)
        return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
    s = tab_seal(self->kek, a, plain, tab_str_of(context), &sealed, err);
    sodium_memzero((char *)plain.p, plain.n);
    TAB_TRY(s);
    return tab_tx_query(tx, NULL, err,
                        "UPDATE data_connector.connection SET sealed = $3 WHERE org = $1 AND id = $2",
                        TAB_P(tab_p_text(org), tab_p_text(id), tab_p_bytes(sealed)));
}

/* Some rows after `after`, an organization and an id, in their order; *ret_more: there may be others. */
static tab_status reseal_some(data_service *self, tab_call *call, const char *after[2],
                              Tabella__ResealReply *y, bool *ret_more, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64u << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, call->deadline, &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT org, id, sealed FROM data_connector.connection WHERE (org, id) > ($1, $2) "
                         "ORDER BY org, id LIMIT $3 FOR UPDATE",
                         TAB_P(tab_p_text(after[0]), tab_p_text(after[1]), tab_p_int(AT_ONCE))));
    size_t n = tab_rows_count(r);
    for (size_t i = 0; i < n; i++) {
        bool opens = true;
        if (tab_sealed_newest(self->kek, tab_rows_bytes(r, i, 2, a))) {
            y->newest++;
            continue;
        }
        TAB_TRY(reseal_row(self, a, tx, r, i, &opens, err));
        y->resealed += opens;
        if (!opens && y->n_failed < NAMED_MOST)
            y->failed[y->n_failed++] = tab_proto_text(call->arena, tab_rows_text(r, i, 1));
    }
    *ret_more = n == AT_ONCE;
    for (size_t k = 0; k < 2 && n > 0; k++)
        after[k] = tab_proto_text(call->arena, tab_rows_text(r, n - 1, k));
    return tab_arena_full(call->arena) ? tab_no_memory(err) : tab_tx_commit(&tx, err);
}

/* Blocks that no key has sealed yet (store/seal_blocks.c), counted by their index, up to COUNTED. */
static tab_status count_unsealed(data_service *self, tab_call *call, uint64_t *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, call->deadline, &tx, err));
    TAB_TRY(tab_tx_finish(
        &tx, &r, err, "SELECT count(*) FROM (SELECT FROM data_connector.block WHERE NOT sealed LIMIT $1) x",
        TAB_P(tab_p_int(COUNTED))));
    *ret = (uint64_t)tab_rows_int(r, 0, 0);
    return TAB_OK;
}

static tab_status rewrap(data_service *self, tab_call *call, Tabella__ResealReply *y, tab_error *err)
{
    tab_data_keys_told told;
    TAB_TRY(tab_data_keys_rewrap(self->pg, call->arena, &self->keys.own, call->deadline, &told, err));
    y->data_keys = told.wrapped;
    y->data_keys_newest = told.newest;
    y->data_keys_failed = told.failed;
    y->n_data_keys_failed = told.n_failed;
    return TAB_OK;
}

tab_status data_reseal(void *arg, tab_call *call, tab_error *err)
{
    data_service *self = arg;
    Tabella__ResealReply *y = call->out;
    const char *after[2] = { "", "" };
    bool more = true;
    if (self->kek == NULL)
        return tab_fail(err, TAB_VALIDATION, "TAB_KEK", "no key is configured");
    y->key = tab_proto_text(call->arena, tab_keyring_newest(self->kek));
    y->failed = tab_arena_new_of(call->arena, char *, NAMED_MOST);
    if (y->failed == NULL)
        return tab_no_memory(err);
    while (more)
        TAB_TRY(reseal_some(self, call, after, y, &more, err));
    TAB_TRY(rewrap(self, call, y, err));
    TAB_TRY(count_unsealed(self, call, &y->blocks_unsealed, err));
    tab_log(TAB_INFO, "%llu connections sealed again, %zu do not open; %llu data keys, %zu",
            (unsigned long long)y->resealed, y->n_failed, (unsigned long long)y->data_keys,
            y->n_data_keys_failed);
    return TAB_OK;
}
