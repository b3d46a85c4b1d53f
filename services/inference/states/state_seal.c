/* See state_seal.h. */
#include "services/inference/states/state_seal.h"

#include <stdio.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "proto/inference.pb-c.h"
#include "services/inference/inference.h"
#include "services/inference/states/state_store.h"

enum { KEY_MS = 2000, ROOM = 64 << 10, COUNTED = 1000000, NAME = 300 };

tab_arena *state_seal_arena(size_t bytes)
{
    return tab_arena_new(bytes + ROOM);
}

static tab_str context(tab_arena *a, tab_str place)
{
    const char *text = tab_arena_printf(a, "inference.state/%.*s", TAB_STR(place));
    return text == NULL ? (tab_str){ NULL, 0 } : tab_str_of(text);
}

tab_status state_seal(tab_pg *pg, const tab_data_keys *k, tab_arena *a, const char *org, tab_str place,
                      tab_str bytes, tab_str *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_keyring) *own = NULL;
    *ret = bytes;
    if (k->master == NULL)
        return TAB_OK;
    TAB_TRY(tab_tx_begin(pg, org, tab_in_ms(KEY_MS), &tx, err));
    TAB_TRY(tab_data_key_made(tx, k, org, &own, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    return tab_seal(own, a, bytes, context(a, place), ret, err);
}

tab_status state_unseal(tab_pg *pg, const tab_data_keys *k, tab_arena *a, const char *org, tab_str place,
                        tab_str bytes, tab_str *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_keyring) *own = NULL;
    tab_error why = { 0 };
    *ret = bytes;
    if (!tab_data_sealed(bytes))
        return TAB_OK;
    TAB_TRY(tab_tx_begin(pg, org, tab_in_ms(KEY_MS), &tx, err));
    tab_status s = tab_data_key_read(tx, k, org, &own, &why);
    if (s == TAB_OK)
        s = tab_unseal(own, a, bytes, context(a, place), ret, &why);
    if (s == TAB_INTERNAL && !tab_arena_full(a))
        return tab_fail(err, TAB_VALIDATION, "state", "%s", why.message);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : tab_fail(err, s, why.param, "%s", why.message);
}

/* ---- those of before ------------------------------------------------------------------------- */

/* The row after the one at which the last batch stopped, so that one that cannot be sealed keeps none
 * waiting; behind the last one the first. */
typedef struct {
    char org[80], endpoint[80], name[NAME], release[STATE_RELEASE];
} row_place;

static tab_status next_row(tab_tx *tx, row_place *at, tab_rows **ret, tab_error *err)
{
    return tab_tx_query_bytes(
        tx, ret, err,
        "SELECT org, endpoint_id, name, release, bytes FROM inference.state WHERE NOT sealed "
        "AND (org, endpoint_id, name, release) > ($1, $2, $3, $4) "
        "ORDER BY org, endpoint_id, name, release LIMIT 1 FOR UPDATE SKIP LOCKED",
        TAB_P(tab_p_text(at->org), tab_p_text(at->endpoint), tab_p_text(at->name), tab_p_text(at->release)));
}

static tab_status seal_row(tab_tx *tx, const tab_data_keys *k, const row_place *at, tab_str row,
                           tab_error *err)
{
    TAB_AUTO(tab_arena) *a = state_seal_arena(row.n);
    TAB_AUTO(tab_keyring) *own = NULL;
    char place[sizeof *at];
    tab_str bytes = row;
    if (a == NULL)
        return tab_no_memory(err);
    if (!tab_data_sealed(row)) {
        snprintf(place, sizeof place, "%s/%s/%s %s", at->org, at->endpoint, at->name, at->release);
        TAB_TRY(tab_data_key_made(tx, k, at->org, &own, err));
        TAB_TRY(tab_seal(own, a, row, context(a, tab_str_of(place)), &bytes, err));
    }
    return tab_tx_query(tx, NULL, err,
                        "UPDATE inference.state SET bytes = $5, sealed = true WHERE org = $1 AND "
                        "endpoint_id = $2 AND name = $3 AND release = $4",
                        TAB_P(tab_p_text(at->org), tab_p_text(at->endpoint), tab_p_text(at->name),
                              tab_p_text(at->release), tab_p_bytes(bytes)));
}

tab_status state_seal_older(tab_tx *tx, const tab_data_keys *k, size_t *ret_n, tab_error *err)
{
    static row_place at;
    TAB_AUTO(tab_rows) *r = NULL;
    *ret_n = 0;
    if (k->master == NULL)
        return TAB_OK;
    TAB_TRY(next_row(tx, &at, &r, err));
    if (tab_rows_count(r) == 0) {
        *ret_n = at.org[0] != 0;
        memset(&at, 0, sizeof at);
        return TAB_OK;
    }
    snprintf(at.org, sizeof at.org, "%s", tab_rows_text(r, 0, 0));
    snprintf(at.endpoint, sizeof at.endpoint, "%s", tab_rows_text(r, 0, 1));
    snprintf(at.name, sizeof at.name, "%s", tab_rows_text(r, 0, 2));
    snprintf(at.release, sizeof at.release, "%s", tab_rows_text(r, 0, 3));
    *ret_n = 1;
    return seal_row(tx, k, &at, tab_rows_bytes(r, 0, 4, NULL), err);
}

tab_status states_reseal(void *arg, tab_call *call, tab_error *err)
{
    const inference *self = arg;
    Tabella__ResealStatesReply *y = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    tab_data_keys_told told;
    if (self->store == NULL || self->store->own.master == NULL)
        return TAB_OK;
    y->key = tab_proto_text(call->arena, tab_keyring_newest(self->store->own.master));
    TAB_TRY(tab_data_keys_rewrap(self->pg, call->arena, &self->store->own, call->deadline, &told, err));
    y->data_keys = told.wrapped;
    y->data_keys_newest = told.newest;
    y->data_keys_failed = told.failed;
    y->n_data_keys_failed = told.n_failed;
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, call->deadline, &tx, err));
    TAB_TRY(tab_tx_finish(&tx, &r, err,
                          "SELECT count(*) FROM (SELECT FROM inference.state WHERE NOT sealed LIMIT $1) x",
                          TAB_P(tab_p_int(COUNTED))));
    y->states_unsealed = (uint64_t)tab_rows_int(r, 0, 0);
    tab_log(TAB_INFO, "%llu data keys wrapped anew, %zu do not open", (unsigned long long)told.wrapped,
            told.n_failed);
    return TAB_OK;
}
