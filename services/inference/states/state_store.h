/* Where states are kept (decision 0407): this process's disk, a bounded cache, and PostgreSQL, once for all.
 *
 *   read    disk ─> PostgreSQL, and from there to the disk
 *   write   disk, PostgreSQL, and a message to the other processes: the two whose homes the state has fetch
 * it
 *
 * A state's key is "ORG/ENDPOINT/BASE/CONFIG/DATA" (serve_key): its first two words are its owner, what an
 * endpoint's end takes with it. */
#ifndef TAB_STATE_STORE_H
#define TAB_STATE_STORE_H

#include "common/pg/pg.h"
#include "common/pg/sweep.h"
#include "services/inference/states/state_disk.h"
#include "services/inference/states/state_pack.h"
#include "services/inference/states/state_seal.h"

typedef struct state_store {
    tab_pg *pg;
    state_disk *disk;                                        /* NULL: there is none */
    uint8_t key[STATE_KEY];                                  /* of the digests */
    tab_data_keys own;                                       /* seal what is kept; no master: it is not */
    atomic_ullong from_disk, from_database, broken, written; /* so far */
    atomic_ullong as_kept, ahead, lacking; /* calls, fits (fit_ahead.h); still to be fitted */
} state_store;

/* The digests' key, made of the installation's (TAB_ORG_KEY, the first of its list; "": none). */
void state_store_key(const char *org_key, uint8_t ret[STATE_KEY]);

/* The state of a key from where it is; one that cannot be read counts as none, and is logged. Errors: those
 * of PostgreSQL and of memory; *ret is NULL where there is none. */
tab_status state_store_read(state_store *s, const char *key, serve_state **ret, tab_error *err) TAB_CHECKED;

/* Keeps the state's bytes, and gives the state as they say it is, to be served from now on: *ret. The errors
 * are those of memory; that a server or the disk is away is logged, and the state is fitted again elsewhere.
 */
tab_status state_store_write(state_store *s, const char *key, serve_state *st, serve_state **ret,
                             tab_error *err) TAB_CHECKED;

/* Keeps its bytes alone. */
tab_status state_store_keep(state_store *s, const char *key, serve_state *st, tab_error *err) TAB_CHECKED;

/* Whether a state of this key is kept; where it is not, which other release has kept one last: *ret_other,
 * "" for none. True as well where PostgreSQL cannot say. */
bool state_store_has(state_store *s, const char *key, char ret_other[STATE_RELEASE]);

/* Brings a state to the disk, unless it is there. */
void state_store_fetch(state_store *s, const char *key);

/* Drops what an endpoint left: org and its id. False: PostgreSQL is away, and rows are left. */
bool state_store_drop(state_store *s, const char *org, const char *endpoint_id);

/* The next `most` endpoints with rows behind (after_org, after_id) in their order, of all organizations;
 * fewer: the end has come. For the sweep of those that live no more. */
typedef struct {
    const char *org, *endpoint_id;
} state_owner;
tab_status state_store_owners(state_store *s, tab_arena *a, const char *after_org, const char *after_id,
                              size_t most, state_owner **ret, size_t *ret_n, tab_error *err) TAB_CHECKED;

/* The next `most` rows behind `after` in their order, of all organizations and releases. */
typedef struct {
    const char *org, *endpoint_id, *name, *release;
} state_row;
tab_status state_store_rows(state_store *s, tab_arena *a, const state_row *after, size_t most,
                            state_row **ret, size_t *ret_n, tab_error *err) TAB_CHECKED;

/* A thread that drops what releases before have left (docs/sweeps.md). NULL: it does not start. */
tab_sweeper *state_store_sweeps(state_store *s);

void state_store_figures(state_store *s); /* into the metrics */

/* "ORG/ENDPOINT/" of a key. n = 0: it is no key. */
tab_str state_owner_of(const char *key, tab_str *ret_org, tab_str *ret_endpoint);

#endif
