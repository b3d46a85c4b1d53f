/* Keys of an organization's blocks (decision 0735).
 *
 *   TAB_KEK, the operator's ──wraps──> data key, one an organization ──seals──> its blocks
 *
 * Wrapped it lies in data_connector.data_key, in the clear only in memory, for as long as a snapshot is read
 * or written. Who replaces TAB_KEK wraps the data keys anew and leaves the blocks alone; who deletes a data
 * key has made all that it sealed unreadable. Here alone is it wrapped and unwrapped. */
#ifndef DATA_ORG_KEYS_H
#define DATA_ORG_KEYS_H

#include "common/pg/pg.h"
#include "common/security/crypto.h"
#include "services/data-connector/store/blocks.h"

/* What the installation has. */
typedef struct {
    tab_run_keys run;          /* seals temporary datasets */
    const tab_keyring *master; /* TAB_KEK; NULL: none */
    bool seals;                /* blocks of other datasets as well; what is sealed is opened in any case */
} store_keys;

/* What an organization has: a key that addresses its blocks, and one that seals them. */
typedef struct {
    uint8_t address[BLOCK_KEY];
    tab_keyring *data; /* NULL: blocks are stored as they are */
} org_keys;
void org_keys_freep(org_keys *k); /* wipes both */

/* Made where there are none yet, in the transaction of what they are for. */
tab_status org_keys_get(tab_tx *tx, const char *org, const store_keys *keys, org_keys *ret,
                        tab_error *err) TAB_CHECKED;
/* The data key alone. INTERNAL: there is none, or no key of the ring unwraps it. */
tab_status org_keys_data(tab_tx *tx, const char *org, const store_keys *keys, tab_keyring **ret,
                         tab_error *err) TAB_CHECKED;

/* A block's stored bytes; data NULL: as they are. */
tab_status org_keys_seal(const tab_keyring *data, tab_arena *a, const char *org, block *b,
                         tab_error *err) TAB_CHECKED;
/* What a sealed block is bound to: its place. */
tab_str org_keys_context(tab_arena *a, const char *org, tab_str hash);
/* Whether a data key sealed it, rather than TAB_RUN_KEY or none. */
bool org_keys_sealed(tab_str stored);

/* Data keys after `after` that an older key wraps are wrapped under the newest, at most `most` in their
 * order. */
typedef enum { ORG_KEY_WRAPPED, ORG_KEY_NEWEST, ORG_KEY_LOST } org_key_state;
typedef struct {
    const char *org;
    org_key_state state; /* LOST: no key of the ring unwraps it */
} org_key_wrapped;
tab_status org_keys_rewrap(tab_tx *tx, tab_arena *a, const tab_keyring *master, const char *after,
                           size_t most, org_key_wrapped **ret, size_t *ret_n, tab_error *err) TAB_CHECKED;

#endif
