/* See data_key.h. */
#include "common/pg/data_key.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>

/* DATA_ID names a data key in front of what it sealed. No key that an operator gives can have it: names end
 * at a colon there. */
#define DATA_ID ":org"
enum { KEY = 32, SCRATCH = 1 << 14, SQL = 200, AT_ONCE = 50 };

/* A statement on the service's table: its %s is the schema. */
static tab_status on_table(tab_tx *tx, const tab_data_keys *k, tab_rows **ret, tab_error *err,
                           const char *before, const char *after, const tab_param *p, size_t n)
{
    char sql[SQL];
    int length = snprintf(sql, sizeof sql, "%s %s.data_key %s", before, k->schema, after);
    assert(length > 0 && length < SQL); /* a statement cut short would be another statement */
    return tab_tx_query(tx, ret, err, sql, p, n);
}

/* ---- the master key -------------------------------------------------------------------------- */

/* A wrapped key moved to another organization, or service, does not open. */
static tab_str wrap_context(tab_arena *a, const tab_data_keys *k, const char *org)
{
    const char *text = tab_arena_printf(a, "%s.data_key/%s", k->schema, org);
    return text == NULL ? (tab_str){ NULL, 0 } : tab_str_of(text);
}

static tab_status wrap(const tab_data_keys *k, tab_arena *a, const char *org, const uint8_t key[KEY],
                       tab_str *ret, tab_error *err)
{
    tab_str context = wrap_context(a, k, org);
    return tab_seal(k->master, a, (tab_str){ (const char *)key, KEY }, context, ret, err);
}

static tab_status unwrap(const tab_data_keys *k, tab_arena *a, const char *org, tab_str wrapped,
                         uint8_t ret[KEY], tab_error *err)
{
    tab_str plain;
    if (k->master == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "what is stored is sealed, and %s is not set", k->setting);
    tab_status s = tab_unseal(k->master, a, wrapped, wrap_context(a, k, org), &plain, err);
    if (s == TAB_UNAVAILABLE) /* the master key is in a token that is away: none is lost */
        return s;
    if (s != TAB_OK)
        return tab_arena_full(a) ? tab_no_memory(err)
                                 : tab_fail(err, TAB_INTERNAL, "",
                                            "no key of %s opens the organization's data key; put back the "
                                            "one that was dropped",
                                            k->setting);
    bool good = plain.n == KEY;
    if (good)
        memcpy(ret, plain.p, KEY);
    sodium_memzero((char *)(uintptr_t)plain.p, plain.n);
    return good ? TAB_OK : tab_fail(err, TAB_INTERNAL, "", "an organization's data key of another length");
}

/* ---- an organization's ----------------------------------------------------------------------- */

tab_status tab_data_key_read(tab_tx *tx, const tab_data_keys *k, const char *org, tab_keyring **ret,
                             tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    TAB_AUTO(tab_rows) *r = NULL;
    uint8_t key[KEY];
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(on_table(tx, k, &r, err, "SELECT wrapped FROM", "WHERE org = $1", TAB_P(tab_p_text(org))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_INTERNAL, "",
                        "what is stored is sealed, and the organization's data key is gone");
    TAB_TRY(unwrap(k, a, org, tab_rows_bytes(r, 0, 0, a), key, err));
    *ret = tab_keyring_of(DATA_ID, key);
    sodium_memzero(key, sizeof key);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status tab_data_key_made(tab_tx *tx, const tab_data_keys *k, const char *org, tab_keyring **ret,
                             tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
    TAB_AUTO(tab_rows) *r = NULL;
    uint8_t fresh[KEY];
    tab_str wrapped;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(on_table(tx, k, &r, err, "SELECT FROM", "WHERE org = $1", TAB_P(tab_p_text(org))));
    if (tab_rows_count(r) == 0) { /* who makes one at the same time waits, and finds the other's */
        randombytes_buf(fresh, sizeof fresh);
        tab_status s = wrap(k, a, org, fresh, &wrapped, err);
        sodium_memzero(fresh, sizeof fresh);
        TAB_TRY(s);
        TAB_TRY(on_table(tx, k, NULL, err, "INSERT INTO",
                         "(org, wrapped) VALUES ($1, $2) ON CONFLICT (org) DO NOTHING",
                         TAB_P(tab_p_text(org), tab_p_bytes(wrapped))));
    }
    return tab_data_key_read(tx, k, org, ret, err);
}

bool tab_data_sealed(tab_str stored)
{
    static const char head[] = "\x04" DATA_ID;
    return stored.n >= sizeof head - 1 && memcmp(stored.p, head, sizeof head - 1) == 0;
}

/* ---- rotation -------------------------------------------------------------------------------- */

static tab_status rewrap(tab_tx *tx, tab_arena *a, const tab_data_keys *k, const char *org, tab_str wrapped,
                         bool *ret_opens, tab_error *err)
{
    uint8_t key[KEY];
    tab_str again;
    tab_status s = unwrap(k, a, org, wrapped, key, err);
    *ret_opens = s == TAB_OK;
    if (s == TAB_UNAVAILABLE)
        return s;
    if (!*ret_opens)
        return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
    s = wrap(k, a, org, key, &again, err);
    sodium_memzero(key, sizeof key);
    TAB_TRY(s);
    return on_table(tx, k, NULL, err, "UPDATE", "SET wrapped = $2 WHERE org = $1",
                    TAB_P(tab_p_text(org), tab_p_bytes(again)));
}

/* The next ones after *after, an organization. The locks are the transaction's. */
static tab_status rewrap_some(tab_pg *pg, tab_arena *a, const tab_data_keys *k, tab_deadline until,
                              const char **after, size_t *ret_n, tab_data_keys_told *y, tab_error *err)
{
    TAB_AUTO(tab_arena) *scratch = tab_arena_new(1 << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    if (scratch == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(pg, TAB_ORG_ALL, until, &tx, err));
    TAB_TRY(on_table(tx, k, &r, err, "SELECT org, wrapped FROM",
                     "WHERE org > $1 ORDER BY org LIMIT $2 FOR UPDATE",
                     TAB_P(tab_p_text(*after), tab_p_int(AT_ONCE))));
    size_t n = *ret_n = tab_rows_count(r);
    for (size_t i = 0; i < n; i++) {
        const char *org = tab_rows_text(r, i, 0);
        tab_str wrapped = tab_rows_bytes(r, i, 1, scratch);
        bool newest = tab_sealed_newest(k->master, wrapped), opens = true;
        if (!newest)
            TAB_TRY(rewrap(tx, scratch, k, org, wrapped, &opens, err));
        y->newest += newest;
        y->wrapped += !newest && opens;
        if (!opens && y->n_failed < TAB_DATA_KEYS_NAMED)
            y->failed[y->n_failed++] = (char *)(uintptr_t)tab_arena_copy(a, tab_str_of(org)).p;
    }
    if (n > 0)
        *after = tab_arena_copy(a, tab_str_of(tab_rows_text(r, n - 1, 0))).p;
    return tab_arena_full(a) ? tab_no_memory(err) : tab_tx_commit(&tx, err);
}

tab_status tab_data_keys_rewrap(tab_pg *pg, tab_arena *a, const tab_data_keys *k, tab_deadline until,
                                tab_data_keys_told *ret, tab_error *err)
{
    const char *after = "";
    *ret = (tab_data_keys_told){ .failed = tab_arena_new_of(a, char *, TAB_DATA_KEYS_NAMED) };
    if (k->master == NULL)
        return tab_fail(err, TAB_VALIDATION, k->setting, "no key is configured");
    if (ret->failed == NULL)
        return tab_no_memory(err);
    for (size_t n = AT_ONCE; n == AT_ONCE;)
        TAB_TRY(rewrap_some(pg, a, k, until, &after, &n, ret, err));
    return TAB_OK;
}
