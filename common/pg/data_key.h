/* Data keys: one an organization, which seals what a service stores of it (decisions 0735, 0765).
 *
 *   master key, the operator's ──wraps──> data key ──seals──> blocks, pieces of uploads, fitted states
 *
 * Wrapped it lies in SCHEMA.data_key of the service, in the clear only in memory, for as long as what it
 * seals is read or written. Who replaces the master key wraps the data keys anew and leaves what they seal
 * alone; who deletes a data key has made all of it unreadable. Here alone is it wrapped and unwrapped. */
#ifndef TAB_DATA_KEY_H
#define TAB_DATA_KEY_H

#include "common/pg/pg.h"
#include "common/security/crypto.h"

typedef struct {
    const char *schema;        /* whose table data_key it is */
    const char *setting;       /* where the master key comes from, for errors: "TAB_KEK" */
    const tab_keyring *master; /* NULL: none */
} tab_data_keys;

/* An organization's. INTERNAL: there is none, or no key of the ring unwraps it. */
tab_status tab_data_key_read(tab_tx *tx, const tab_data_keys *k, const char *org, tab_keyring **ret,
                             tab_error *err) TAB_CHECKED;
/* The same, made unless it is there, in the transaction of what it is for. */
tab_status tab_data_key_made(tab_tx *tx, const tab_data_keys *k, const char *org, tab_keyring **ret,
                             tab_error *err) TAB_CHECKED;

/* Whether a data key sealed it, rather than another key or none. */
bool tab_data_sealed(tab_str stored);

/* Every data key that an older master key wraps is wrapped by the newest, some at a time. */
enum { TAB_DATA_KEYS_NAMED = 100 };
typedef struct {
    uint64_t wrapped, newest; /* anew; those that need not be */
    char **failed; /* (n_failed) organizations whose key no key of the ring unwraps, the first ones */
    size_t n_failed;
} tab_data_keys_told;
tab_status tab_data_keys_rewrap(tab_pg *pg, tab_arena *a, const tab_data_keys *k, tab_deadline until,
                                tab_data_keys_told *ret, tab_error *err) TAB_CHECKED;

#endif
