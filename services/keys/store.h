/* keys' SQL: one function a statement or a transaction's worth of them, rows in and structs out. */
#ifndef KEYS_STORE_H
#define KEYS_STORE_H

#include "common/pg/pg.h"
#include "common/security/identity.h"
#include "common/security/ids.h"
#include "common/security/secret.h"
#include "proto/keys.pb-c.h"

/* A secret that stopped working, and the version at which it did. */
typedef struct {
    char org[TAB_ID], key_id[TAB_ID];
    uint8_t hash[TAB_SECRET_HASH];
    int64_t version;
} keys_tombstone;

/* What a hash stands for: a live key, or a session of one (TAB_GRANT_SESSION in the grant's scopes). */
typedef struct {
    tab_grant grant; /* its bounds are a view into `bounds`: not to be copied away from it */
    tab_bounds_writer bounds;
    uint64_t epoch;  /* the number of its organization's last revocation */
    int64_t ends_us; /* of a session; 0: does not end by itself */
} keys_granted;

/* *ret_known false: no such key, and no such session. One whose end has come is known for a week more, so
 * that its holder is told: whoever lets in compares the end. */
tab_status keys_store_grant(tab_tx *tx, const uint8_t hash[TAB_SECRET_HASH], bool *ret_known,
                            keys_granted *ret, tab_error *err) TAB_CHECKED;

tab_status keys_store_list(tab_tx *tx, tab_arena *a, const char *org, const char *id, Tabella__ApiKey ***ret,
                           size_t *ret_n, tab_error *err) TAB_CHECKED; /* id NULL: all, newest first */

enum { KEYS_MOST = 1000 }; /* of an organization (decision 0157) */

/* A new key; `secret` is what its holder gets. Lists are as bounds.h has them. VALIDATION: it has KEYS_MOST.
 * */
typedef struct {
    const char *id, *name, *networks, *endpoints;
    unsigned scopes;
    int64_t expires_us; /* 0: never */
} keys_new;
tab_status keys_store_create(tab_tx *tx, const char *org, const keys_new *k, const char *secret,
                             tab_error *err) TAB_CHECKED;
/* What its holder may do is changed: the organization's entries in Redis are worth nothing from now on.
 * NOT_FOUND; VALIDATION on endpoints. */
tab_status keys_store_set(tab_tx *tx, const char *org, const Tabella__SetKeyRequest *q, const char *networks,
                          const char *endpoints, tab_error *err) TAB_CHECKED;

/* Gives a live key a new secret, or ends it, and writes the old secret's tombstone row. NOT_FOUND. _end on a
 * key that was ended before, but whose tombstone is not confirmed, gives the same tombstone again. */
tab_status keys_store_rotate(tab_tx *tx, const char *org, const char *id, const char *secret,
                             keys_tombstone *ret, tab_error *err) TAB_CHECKED;
/* The same, but that the old secret stays good for so long. VALIDATION: KEYS_OLD_SECRETS are. */
enum { KEYS_OLD_SECRETS = 4 };
tab_status keys_store_rotate_softly(tab_tx *tx, const char *org, const char *id, const char *secret,
                                    uint32_t overlap_s, tab_error *err) TAB_CHECKED;
tab_status keys_store_end(tab_tx *tx, const char *org, const char *id, keys_tombstone *ret, bool *ret_again,
                          tab_error *err) TAB_CHECKED;

/* What was signed for the organization's keys before this version is worth nothing from now on. */
tab_status keys_store_raise_epoch(tab_tx *tx, const char *org, int64_t version, tab_error *err) TAB_CHECKED;

/* Tombstones that Redis has not confirmed, up to `most` of them, in any organization; and one
 * confirmed. */
tab_status keys_store_pending(tab_tx *tx, tab_arena *a, size_t most, keys_tombstone **ret, size_t *ret_n,
                              tab_error *err) TAB_CHECKED;
tab_status keys_store_confirmed(tab_tx *tx, const keys_tombstone *t, tab_error *err) TAB_CHECKED;

tab_status keys_store_org_create(tab_tx *tx, const char *org, const Tabella__CreateOrgRequest *q,
                                 tab_error *err) TAB_CHECKED;
tab_status keys_store_org_set(tab_tx *tx, const char *org, const Tabella__SetOrgRequest *q,
                              tab_error *err) TAB_CHECKED;
/* The id of the one organization of this name, among all. */
tab_status keys_store_org_find(tab_tx *tx, tab_arena *a, const char *name, const char **ret,
                               tab_error *err) TAB_CHECKED;
/* *tx ends with it where `last`. */
tab_status keys_store_org(tab_tx **tx, bool last, tab_arena *a, const char *org, Tabella__Org *ret,
                          tab_error *err) TAB_CHECKED;
/* One of its own limits, or the plan's again. VALIDATION. */
tab_status keys_store_org_limit(tab_tx *tx, const char *org, const Tabella__OwnLimit *l,
                                tab_error *err) TAB_CHECKED;
/* on: no key of it is known from now on; the tombstones of all its secrets wait for Redis. Off: keys that get
 * later versions (keys_store_org_set) are known again. */
tab_status keys_store_org_suspend(tab_tx *tx, tab_arena *a, const char *org, bool on, keys_tombstone **ret,
                                  size_t *ret_n, tab_error *err) TAB_CHECKED;
/* By id, behind `after`, up to `most`; *tx, of all organizations, ends with it. */
tab_status keys_store_orgs(tab_tx **tx, tab_arena *a, const char *after, int64_t most,
                           Tabella__ListOrgsReply *ret, tab_error *err) TAB_CHECKED;
/* Of live keys, old secrets among them, and of their sessions; key NULL: of all. */
tab_status keys_store_hashes(tab_tx *tx, tab_arena *a, const char *org, const char *key,
                             uint8_t (**ret)[TAB_SECRET_HASH], size_t *ret_n, tab_error *err) TAB_CHECKED;
tab_status keys_store_org_networks(tab_tx *tx, const char *org, const char *networks,
                                   tab_error *err) TAB_CHECKED;

/* Adds counted uses. ids and counts are PostgreSQL array literals. A batch's name makes sure that it is
 * added once; a batch named "" is always added. */
tab_status keys_store_uses(tab_tx *tx, const char *batch, const char *ids, const char *counts,
                           tab_error *err) TAB_CHECKED;

#endif
