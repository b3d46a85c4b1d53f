/* See org_keys.h. */
#include "services/data-connector/store/org_keys.h"

#include <sodium.h>

#include "common/base/proto.h"

/* DATA_ID names a data key in front of what it sealed. No key of TAB_RUN_KEY can have it: names end at a
 * colon there. */
#define DATA_ID ":org"
enum { SCRATCH = 1 << 14 };

void org_keys_freep(org_keys *k)
{
    sodium_memzero(k->address, sizeof k->address);
    tab_keyring_free(k->data);
    k->data = NULL;
}

/* ---- the master key -------------------------------------------------------------------------- */

/* A wrapped key moved to another organization does not open. */
static tab_str wrap_context(tab_arena *a, const char *org)
{
    const char *text = tab_arena_printf(a, "data_connector.data_key/%s", org);
    return text == NULL ? (tab_str){ NULL, 0 } : tab_str_of(text);
}

static tab_status wrap(const tab_keyring *master, tab_arena *a, const char *org, const uint8_t key[BLOCK_KEY],
                       tab_str *ret, tab_error *err)
{
    return tab_seal(master, a, (tab_str){ (const char *)key, BLOCK_KEY }, wrap_context(a, org), ret, err);
}

static tab_status unwrap(const tab_keyring *master, tab_arena *a, const char *org, tab_str wrapped,
                         uint8_t ret[BLOCK_KEY], tab_error *err)
{
    tab_str plain;
    if (master == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "stored rows are sealed, and TAB_KEK is not set");
    if (tab_unseal(master, a, wrapped, wrap_context(a, org), &plain, NULL) != TAB_OK)
        return tab_arena_full(a)
                   ? tab_no_memory(err)
                   : tab_fail(err, TAB_INTERNAL, "",
                              "no key of TAB_KEK opens the organization's data key; put back the "
                              "one that was dropped");
    bool good = plain.n == BLOCK_KEY;
    if (good)
        memcpy(ret, plain.p, BLOCK_KEY);
    sodium_memzero((char *)(uintptr_t)plain.p, plain.n);
    return good ? TAB_OK : tab_fail(err, TAB_INTERNAL, "", "an organization's data key of another length");
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

/* Makes it unless it is there; who makes one at the same time waits, and finds the other's. */
static tab_status data_key_made(tab_tx *tx, tab_arena *a, const char *org, const store_keys *keys,
                                tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    uint8_t fresh[BLOCK_KEY];
    tab_str wrapped;
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT FROM data_connector.data_key WHERE org = $1",
                         TAB_P(tab_p_text(org))));
    if (tab_rows_count(r) > 0)
        return TAB_OK;
    randombytes_buf(fresh, sizeof fresh);
    tab_status s = wrap(keys->master, a, org, fresh, &wrapped, err);
    sodium_memzero(fresh, sizeof fresh);
    TAB_TRY(s);
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO data_connector.data_key (org, wrapped) VALUES ($1, $2) "
                        "ON CONFLICT (org) DO NOTHING",
                        TAB_P(tab_p_text(org), tab_p_bytes(wrapped)));
}

tab_status org_keys_data(tab_tx *tx, const char *org, const store_keys *keys, tab_keyring **ret,
                         tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    TAB_AUTO(tab_rows) *r = NULL;
    uint8_t key[BLOCK_KEY];
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT wrapped FROM data_connector.data_key WHERE org = $1",
                         TAB_P(tab_p_text(org))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_INTERNAL, "",
                        "stored rows are sealed, and the organization's data key is gone");
    TAB_TRY(unwrap(keys->master, a, org, tab_rows_bytes(r, 0, 0, a), key, err));
    *ret = tab_keyring_of(DATA_ID, key);
    sodium_memzero(key, sizeof key);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status org_keys_get(tab_tx *tx, const char *org, const store_keys *keys, org_keys *ret, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    if (a == NULL)
        return tab_no_memory(err);
    *ret = (org_keys){ .data = NULL };
    TAB_TRY(address_key(tx, a, org, ret->address, err));
    if (!keys->seals || keys->master == NULL)
        return TAB_OK;
    TAB_TRY(data_key_made(tx, a, org, keys, err));
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

bool org_keys_sealed(tab_str stored)
{
    static const char head[] = "\x04" DATA_ID;
    return stored.n >= sizeof head - 1 && memcmp(stored.p, head, sizeof head - 1) == 0;
}

/* ---- rotation -------------------------------------------------------------------------------- */

static tab_status rewrap(tab_tx *tx, tab_arena *a, const tab_keyring *master, tab_str wrapped,
                         org_key_wrapped *w, tab_error *err)
{
    uint8_t key[BLOCK_KEY];
    tab_str again;
    w->state = ORG_KEY_NEWEST;
    if (tab_sealed_newest(master, wrapped))
        return TAB_OK;
    w->state = ORG_KEY_LOST;
    if (unwrap(master, a, w->org, wrapped, key, NULL) != TAB_OK)
        return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
    w->state = ORG_KEY_WRAPPED;
    tab_status s = wrap(master, a, w->org, key, &again, err);
    sodium_memzero(key, sizeof key);
    TAB_TRY(s);
    return tab_tx_query(tx, NULL, err, "UPDATE data_connector.data_key SET wrapped = $2 WHERE org = $1",
                        TAB_P(tab_p_text(w->org), tab_p_bytes(again)));
}

tab_status org_keys_rewrap(tab_tx *tx, tab_arena *a, const tab_keyring *master, const char *after,
                           size_t most, org_key_wrapped **ret, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "SELECT org, wrapped FROM data_connector.data_key WHERE org > $1 ORDER BY org LIMIT $2 "
                     "FOR UPDATE",
                     TAB_P(tab_p_text(after), tab_p_int((int64_t)most))));
    *ret_n = tab_rows_count(r);
    *ret = tab_arena_new_of(a, org_key_wrapped, *ret_n + 1);
    if (*ret == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < *ret_n; i++) {
        (*ret)[i].org = tab_proto_text(a, tab_rows_text(r, i, 0));
        TAB_TRY(rewrap(tx, a, master, tab_rows_bytes(r, i, 1, a), &(*ret)[i], err));
    }
    return TAB_OK;
}
