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

/* id NULL: all, newest first. own_of: a person, or a key of one, whose keys alone there are then; "": all. */
tab_status keys_store_list(tab_tx *tx, tab_arena *a, const char *org, const char *id, const char *own_of,
                           Tabella__ApiKey ***ret, size_t *ret_n, tab_error *err) TAB_CHECKED;
/* NOT_FOUND: there is no such key, or it is another one's. */
tab_status keys_store_own(tab_tx *tx, const char *org, const char *id, const char *own_of,
                          tab_error *err) TAB_CHECKED;
/* In SQL with $1 an organization: the person that this actor is, or whose key it is. */
#define KEYS_OWNER(actor)                                                                         \
    "coalesce((SELECT nullif(x.owner, '') FROM keys.api_key x WHERE x.org = $1 AND x.id = " actor \
    "), " actor "::text)"
/* In SQL of a session s: its end has not come, nor has it been idle for too long. */
#define KEYS_SESSION_LIVES \
    "s.expires > clock_timestamp() AND (s.idle IS NULL OR s.used + s.idle > clock_timestamp())"

enum { KEYS_MOST = 1000 }; /* of an organization (decision 0157) */

/* A new key; `secret` is what its holder gets. Lists are as bounds.h has them. VALIDATION: it has KEYS_MOST.
 * */
typedef struct {
    const char *id, *name, *networks, *endpoints;
    const char *owner; /* a person, or a key of one: it is that person's; NULL or "": the organization's */
    const char *directory; /* a provider, whose directory alone it writes; NULL or "": it is no such key */
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

/* retention.c. Of an organization o and its plan p, in the columns from `col` on. */
#define KEYS_KEEPS                                                                            \
    "o.keep_runs, o.keep_logs, o.keep_snapshots, o.keep_outcomes, p.keep_runs, p.keep_logs, " \
    "p.keep_snapshots, p.keep_outcomes"
#define KEYS_TELLS                                                                   \
    "EXISTS (SELECT FROM keys.webhook w WHERE w.org = o.org AND w.disabled IS NULL " \
    "AND strpos(' ' || w.types || ' ', ' usage.events ') > 0)"
enum { KEYS_KEPT = 8 }; /* columns of KEYS_KEEPS */
tab_status keys_keeps_read(const tab_rows *r, size_t row, size_t col, tab_arena *a, Tabella__Org *ret,
                           tab_error *err) TAB_CHECKED;
/* VALIDATION with the param "retention". */
tab_status keys_keep_set(tab_tx *tx, const char *org, const Tabella__Keep *k, tab_error *err) TAB_CHECKED;

/* What a batch counts is added once: not *ret_fresh, it was added before. One named "" always is fresh. */
tab_status keys_store_batch(tab_tx *tx, const char *batch, bool *ret_fresh, tab_error *err) TAB_CHECKED;
/* Adds counted uses. ids and counts are PostgreSQL array literals. */
tab_status keys_store_uses(tab_tx *tx, const char *ids, const char *counts, tab_error *err) TAB_CHECKED;

#endif
