/* Keys of an organization's blocks, and of pieces of its uploads: one that addresses blocks, and its data key
 * (common/pg/data_key.h), which seals both where the operator wants it. */
#ifndef DATA_ORG_KEYS_H
#define DATA_ORG_KEYS_H

#include "common/pg/data_key.h"
#include "services/data-connector/store/blocks.h"

/* What the installation has. */
typedef struct {
    tab_run_keys run;  /* seals temporary datasets */
    tab_data_keys own; /* wrapped by TAB_KEK */
    bool seals;        /* what is stored of other datasets as well; what is sealed is opened in any case */
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
/* The data key that seals; NULL: what is stored stays as it is. */
tab_status org_keys_data(tab_tx *tx, const char *org, const store_keys *keys, tab_keyring **ret,
                         tab_error *err) TAB_CHECKED;

/* A block's stored bytes; data NULL: as they are. */
tab_status org_keys_seal(const tab_keyring *data, tab_arena *a, const char *org, block *b,
                         tab_error *err) TAB_CHECKED;
/* What a sealed block is bound to: its place. */
tab_str org_keys_context(tab_arena *a, const char *org, tab_str hash);

#endif
