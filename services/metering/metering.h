/* metering: its RPC methods (proto/metering.proto), the consumer that fills the ledger, and the check of it.
 *
 *   metering.c   Charge, Usage, events: what was used
 *   reserve.c    Reserve, Release, ListHolds: what may be used (decision 0331)
 *   terms.c      by an organization's plan and settings, as keys says them; while keys is away, as it said
 *                last
 *   verify.c     every night, and when an operator asks: all sums anew (decision 0332)
 *   checkpoints.c  up to where the ledger was cut, and whether that is what was signed
 *                (decision 0352) */
#ifndef TAB_METERING_H
#define TAB_METERING_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/rpc/outbox.h"
#include "common/security/checkpoint.h"
#include "services/metering/store.h"

enum { METERING_SLOTS = 1024, METERING_KEYS_AWAY_MS = 2000 };

typedef struct {
    tab_pg *pg;
    tab_rpc *rpc;
    metering_rates rates;
    double usd_per_million;
    atomic_llong keys_away;          /* tab_mono_ms until which keys is not asked; 0: it answers */
    pthread_mutex_t lock;            /* what is stored */
    uint64_t stored[METERING_SLOTS]; /* hash of the terms that are stored already, by organization */
    const char *checkpoint_keys;     /* that may sign checkpoints; "": any */
    int64_t verify_hour; /* of the day in UTC, from which on the nightly check is due; 24: never */
} metering;

void metering_figures_start(void); /* counters that are told from the start */
extern const tab_rpc_method metering_methods[];

/* tabella.event.work.>: counted, once, and alerts where a threshold was passed; all events of a
 * transaction at once, of whatever organizations (decision 0354). tabella.event.job.ended:
 * reservations. */
tab_status metering_on_work(void *self, tab_tx *tx, const tab_event *event, size_t n, tab_error *err);

/* ---- terms.c --------------------------------------------------------------------------------- */

/* What an organization may use. */
typedef struct {
    bool lifetime, add_usage, cap_set;
    double cap_usd;
    uint64_t allowance, cells_per_minute;
} metering_terms;
metering_terms metering_terms_of(const Tabella__Org *o);

/* Thousandths of fresh cells that may be used in a window; INT64_MAX: any number. */
int64_t metering_limit(const metering_terms *t, double usd_per_million);

/* US dollars for cost_milli more than used_milli: what lies beyond the allowance is paid for, unless calls
 * end with it. */
double metering_usd(const metering_terms *t, double usd_per_million, int64_t used_milli, int64_t cost_milli);

/* Why cost_milli more than used_milli is too much, as one sentence; and after how many seconds more may be
 * used. resets_us: what is left of the window. */
void metering_refusal(const metering_terms *t, int64_t used_milli, int64_t cost_milli, int64_t resets_us,
                      char *why, size_t size, uint32_t *ret_retry_s);

/* The organization's plan and settings. NULL: keys is away, and never said them. Holds no transaction while
 * it asks. */
tab_status metering_org(metering *m, tab_call *call, Tabella__Org **ret, tab_error *err) TAB_CHECKED;

/* ---- told.c ---------------------------------------------------------------------------------- */

/* The organization's events among n, of those that were counted just now, into the outbox. */
tab_status metering_tell(tab_tx *tx, tab_arena *a, const metering_rates *r, const char *org,
                         const Tabella__WorkDone *const *e, const bool *fresh, size_t n,
                         tab_error *err) TAB_CHECKED;

/* ---- reserve.c, verify.c: methods ------------------------------------------------------------ */

tab_status metering_reserve(void *self, tab_call *call, tab_error *err);
tab_status metering_release(void *self, tab_call *call, tab_error *err);
tab_status metering_holds(void *self, tab_call *call, tab_error *err);
tab_status metering_verify(void *self, tab_call *call, tab_error *err);

/* What is decided of a Reserve before and after its one statement. */
int64_t metering_lease_s(uint32_t asked);     /* as asked, a week at most; 0: five minutes */
int64_t metering_bounded(uint64_t milli);     /* what sums cannot overflow with */
size_t metering_holds_listed(uint32_t asked); /* of a page */
/* What of a cost may be used, -1: it passes the limit, all thousandths. */
int64_t metering_fits(int64_t cost, int64_t limit, int64_t used, int64_t held);

typedef struct {
    int64_t granted; /* -1: refused */
    int64_t used, held, resets_us;
} metering_room;

/* The answer's figures, and where it is refused, why (size bytes). */
void metering_answer(const metering_terms *t, double usd_per_million, int64_t cost, const metering_room *o,
                     Tabella__ReserveReply *y, char *why, size_t size);

/* A job that bills nothing has ended: what it held is free. */
tab_status metering_job_ended(tab_tx *tx, const Tabella__JobEnded *e, tab_error *err) TAB_CHECKED;

/* *ret_why: why the organization's checkpoints do not hold; NULL: they do, or nothing was cut. keys: as for
 * tab_checkpoint_holds. */
tab_status metering_checkpoints(tab_tx *tx, const char *org, const char *keys, const char **ret_why,
                                tab_error *err) TAB_CHECKED;

/* The checkpoints of an organization, one after the other; begun as { 0 } with org and keys. */
typedef struct {
    const char *org, *keys;
    size_t n;           /* read so far */
    tab_checkpoint now; /* the last one */
} metering_chain;
/* NULL, or why the next one does not hold. */
const char *metering_chain_next(metering_chain *c, tab_str text, tab_str key, tab_str signature);
/* The same of their end: kept, whether sums of what was cut are kept, and their digest. */
const char *metering_chain_end(const metering_chain *c, bool kept, const char *digest);

/* The thread of the nightly check; NULL: out of memory. */
struct metering_nightly *metering_nightly_start(metering *m);
void metering_nightly_stop(struct metering_nightly *n);

#endif
