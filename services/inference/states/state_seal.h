/* Kept states sealed by a data key of their organization (decision 0765), where the operator has given
 * TAB_STATE_KEK, which wraps these keys. The same bytes lie in PostgreSQL and on disks. No key is remembered:
 * each state that is read or written asks PostgreSQL for it, so that one that was deleted opens nothing. */
#ifndef TAB_STATE_SEAL_H
#define TAB_STATE_SEAL_H

#include "common/pg/data_key.h"
#include "common/rpc/rpc.h"

/* place: the state's key and release. *ret is the arena's, or `bytes` where nothing is sealed; an arena that
 * state_seal_arena has made has room for it. */
tab_arena *state_seal_arena(size_t bytes);
tab_status state_seal(tab_pg *pg, const tab_data_keys *k, tab_arena *a, const char *org, tab_str place,
                      tab_str bytes, tab_str *ret, tab_error *err) TAB_CHECKED;
/* What was not sealed is given back as it is. VALIDATION: no key opens it. */
tab_status state_unseal(tab_pg *pg, const tab_data_keys *k, tab_arena *a, const char *org, tab_str place,
                        tab_str bytes, tab_str *ret, tab_error *err) TAB_CHECKED;

/* Seals one state of those that were stored before; a batch of a sweep. */
tab_status state_seal_older(tab_tx *tx, const tab_data_keys *k, size_t *ret_n, tab_error *err) TAB_CHECKED;

/* The method Reseal: data keys wrapped by the newest key of TAB_STATE_KEK. */
tab_status states_reseal(void *self, tab_call *call, tab_error *err);

#endif
