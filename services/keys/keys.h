/* keys: its RPC methods (proto/keys.proto), what it does by itself, and its consumers of events. */
#ifndef KEYS_H
#define KEYS_H

#include <pthread.h>

#include "common/outbox.h"
#include "common/redis.h"
#include "services/keys/cache.h"
#include "services/keys/store.h"

enum { KEYS_COUNTED = 1024, KEYS_CHORES_MS = 1000 };

typedef struct {
    tab_pg *pg;
    keys_cache cache;
    /* Uses that the gateway did not count, since its Redis was away; added with the others. */
    pthread_mutex_t lock;
    size_t counted;
    struct {
        char key_id[TAB_ID];
        int64_t n;
    } count[KEYS_COUNTED];
    atomic_bool stop;
} keys;

extern const tab_rpc_method keys_methods[];

/* tabella.event.audit, .job.ended, .usage.alert */
tab_status keys_on_event(void *self, tab_tx *tx, const tab_event *event, tab_error *err);

/* The thread of chores: confirms tombstones, adds counted uses; once in KEYS_CHORES_MS until stop,
 * and once more then. Gives NULL. */
void *keys_chores(void *self);

/* Bits of the scopes named, each once, at least one; else VALIDATION with param "scopes". */
tab_status keys_scopes(char **names, size_t n, unsigned *ret, tab_error *err) TAB_CHECKED;

#endif
