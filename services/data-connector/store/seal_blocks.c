/* Blocks that were stored before datasets were sealed, or while they were not, are sealed where they lie
 * (decision 0765), a few of one organization in a transaction.
 *
 * A batch goes on behind the block at which the last one stopped, so that blocks of an organization whose
 * data key does not open keep nobody else's waiting; behind the last block it begins anew. Readers see a
 * block before or after: it says by its first bytes which. */
#include <stdio.h>

#include "common/base/proto.h"
#include "services/data-connector/store/store.h"

enum { SCRATCH = 64 << 20 };

static tab_status seal_one(tab_tx *tx, const tab_keyring *own, const char *org, tab_str hash, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    TAB_AUTO(tab_rows) *r = NULL;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_query_bytes(tx, &r, err,
                               "SELECT bytes FROM data_connector.block WHERE org = $1 AND hash = $2",
                               TAB_P(tab_p_text(org), tab_p_bytes(hash))));
    if (tab_rows_count(r) == 0)
        return TAB_OK;
    block b = { .bytes = tab_rows_bytes(r, 0, 0, a) };
    memcpy(b.hash, hash.p, BLOCK_HASH);
    if (block_sealed(b.bytes)) /* by a daemon of before, which does not mark it */
        return tab_tx_query(tx, NULL, err,
                            "UPDATE data_connector.block SET sealed = true WHERE org = $1 AND hash = $2",
                            TAB_P(tab_p_text(org), tab_p_bytes(hash)));
    TAB_TRY(org_keys_seal(own, a, org, &b, err));
    return tab_tx_query(
        tx, NULL, err,
        "UPDATE data_connector.block SET bytes = $3, sealed = true WHERE org = $1 AND hash = $2",
        TAB_P(tab_p_text(org), tab_p_bytes(hash), tab_p_bytes(b.bytes)));
}

tab_status store_seal_blocks(tab_tx *tx, const store_keys *keys, store_seal_place *at, int64_t most,
                             size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_AUTO(tab_keyring) *own = NULL;
    *ret_n = 0;
    if (a == NULL)
        return tab_no_memory(err);
    if (!keys->seals || keys->own.master == NULL)
        return TAB_OK;
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "SELECT org, hash FROM data_connector.block WHERE NOT sealed AND (org, hash) > ($1, $2) "
                     "ORDER BY org, hash LIMIT $3 FOR UPDATE SKIP LOCKED",
                     TAB_P(tab_p_text(at->org), tab_p_bytes((tab_str){ (const char *)at->hash, at->n }),
                           tab_p_int(most))));
    size_t n = *ret_n = tab_rows_count(r), i = 0; /* i: those of the first organization */
    if (n == 0) {                                 /* behind the last one: the first ones, in the next batch */
        *ret_n = at->n > 0 ? (size_t)most : 0;
        *at = (store_seal_place){ 0 };
        return TAB_OK;
    }
    const char *org = tab_rows_text(r, 0, 0);
    snprintf(at->org, sizeof at->org, "%s", org);
    for (; i < n && strcmp(tab_rows_text(r, i, 0), org) == 0; i++)
        memcpy(at->hash, tab_rows_bytes(r, i, 1, a).p,
               at->n = BLOCK_HASH); /* passed, whatever becomes of it */
    TAB_TRY(tab_data_key_made(tx, &keys->own, org, &own, err));
    for (size_t k = 0; k < i; k++)
        TAB_TRY(seal_one(tx, own, org, tab_rows_bytes(r, k, 1, a), err));
    if (i < n) /* another organization's, in the next batch */
        *ret_n = (size_t)most;
    return TAB_OK;
}
