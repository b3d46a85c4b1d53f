/* metering: its RPC methods (proto/metering.proto) and the consumer that fills the ledger.
 *
 * What an organization may use is keys' to say (GetOrg); metering asks at most once in ORG_FRESH_MS, keeps
 * the answer in its schema, and goes on with what it knows while keys is away. How much was used is read
 * from the ledger at most once in USED_FRESH_MS; what was let in meanwhile is added. */
#ifndef TAB_METERING_H
#define TAB_METERING_H

#include <pthread.h>

#include "common/outbox.h"
#include "services/metering/store.h"

enum { METERING_ORG_FRESH_MS = 5000, METERING_USED_FRESH_MS = 500, METERING_SLOTS = 1024 };

/* What Reserve needs of an organization: one slot a hash, the latest wins. */
typedef struct {
    char org[64];
    int64_t org_at, used_at; /* tab_mono_ms, 0: never */
    bool lifetime, add_usage, cap_set;
    double cap_usd;
    uint64_t allowance, cells_per_minute;
    int64_t used_milli, resets_us; /* microseconds left in the window when it was read */
} metering_slot;

typedef struct {
    tab_pg *pg;
    tab_rpc *rpc;
    metering_rates rates;
    double usd_per_million;
    pthread_mutex_t lock; /* the slots */
    metering_slot slot[METERING_SLOTS];
} metering;

void metering_figures_start(void); /* counters that are told from the start */
extern const tab_rpc_method metering_methods[];

/* tabella.event.work.>: counted, once, and alerts where a threshold was passed; all events of a
 * transaction at once. */
tab_status metering_on_work(void *self, tab_tx *tx, const tab_event *event, size_t n, tab_error *err);

/* Whether `cost_milli` more may be used; when not, why and for how long. Only decides: calls no other
 * service. */
bool metering_allows(const metering_slot *o, double usd_per_million, int64_t cost_milli, char *why,
                     size_t size, uint32_t *ret_retry_s);

#endif
