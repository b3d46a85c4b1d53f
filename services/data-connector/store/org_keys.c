/* See org_keys.h. */
#include "services/data-connector/store/org_keys.h"

#include <sodium.h>

#include "common/base/proto.h"

enum { SCRATCH = 1 << 14 };

void org_keys_freep(org_keys *k)
{
    sodium_memzero(k->address, sizeof k->address);
    tab_keyring_free(k->data);
    k->data = NULL;
}

/* ---- an organization's ----------------------------------------------------------------------- */

static tab_status address_key(tab_tx *tx, tab_arena *a, const char *org, uint8_t ret[BLOCK_KEY],
                              tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    uint8_t fresh[BLOCK_KEY];
    randombytes_buf(fresh, sizeof fresh);
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "INSERT INTO data_connector.org_key (org, key) "
                         "VALUES ($1, $2) "
                         "ON CONFLICT (org) "
                         "DO UPDATE "
                         "SET key = data_connector.org_key.key "
                         "RETURNING key",
                         TAB_P(tab_p_text(org), tab_p_bytes((tab_str){ (char *)fresh, sizeof fresh }))));
    tab_str key = tab_rows_bytes(r, 0, 0, a);
    if (key.n != BLOCK_KEY)
        return tab_fail(err, TAB_INTERNAL, "", "an organization's key of another length");
    memcpy(ret, key.p, BLOCK_KEY);
    return TAB_OK;
}

tab_status org_keys_data(tab_tx *tx, const char *org, const store_keys *keys, tab_keyring **ret,
                         tab_error *err)
{
    *ret = NULL;
    return keys->seals && keys->own.master != NULL ? tab_data_key_made(tx, &keys->own, org, ret, err)
                                                   : TAB_OK;
}

tab_status org_keys_get(tab_tx *tx, const char *org, const store_keys *keys, org_keys *ret, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    if (a == NULL)
        return tab_no_memory(err);
    *ret = (org_keys){ .data = NULL };
    TAB_TRY(address_key(tx, a, org, ret->address, err));
    return org_keys_data(tx, org, keys, &ret->data, err);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

tab_str org_keys_context(tab_arena *a, const char *org, tab_str hash)
{
    char hex[2 * BLOCK_HASH + 1];
    tab_hex((const uint8_t *)hash.p, BLOCK_HASH, hex);
    const char *text = tab_arena_printf(a, "data_connector.block/%s/%s", org, hex);
    return text == NULL ? (tab_str){ NULL, 0 } : tab_str_of(text);
}

tab_status org_keys_seal(const tab_keyring *data, tab_arena *a, const char *org, block *b, tab_error *err)
{
    if (data == NULL)
        return TAB_OK;
    tab_str hash = { (const char *)b->hash, BLOCK_HASH };
    return tab_seal(data, a, b->bytes, org_keys_context(a, org, hash), &b->bytes, err);
}
