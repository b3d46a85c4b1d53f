/* The SQL of metering: events counted once, sums by day, windows decided by the database's clock. */
#ifndef TAB_METERING_STORE_H
#define TAB_METERING_STORE_H

#include "common/pg/pg.h"
#include "proto/events.pb-c.h"
#include "proto/keys.pb-c.h"
#include "proto/metering.pb-c.h"

/* Operations of the meter, with their ratio to the fresh rate in thousandths; the ratio is configuration. */
#define METERING_OPS(X)         \
    X(RUN, "run", "1")          \
    X(CACHED, "cached", "0.05") \
    X(CREATE, "create", "1")    \
    X(REFRESH, "refresh", "1")  \
    X(SERVE, "serve", "1")      \
    X(BATCH, "batch", "0.5")    \
    X(GENERATE, "generate", "0.5")

typedef enum {
#define X(e, name, ratio) METERING_##e,
    METERING_OPS(X)
#undef X
        METERING_OP_COUNT
} metering_op;

extern const char *const metering_op_names[METERING_OP_COUNT];
bool metering_op_of(const char *name, metering_op *ret) TAB_CHECKED;

typedef struct {
    int64_t milli[METERING_OP_COUNT];
} metering_rates;

/* Fresh-cell equivalents in thousandths; saturates. */
int64_t metering_milli(const metering_rates *r, metering_op op, uint64_t cells);

/* VALIDATION for an event without id or with an unknown operation: it can never be counted. */
tab_status metering_countable(const Tabella__WorkDone *e, tab_error *err) TAB_CHECKED;
/* ret (n): true where the ledger, or an event before it, has the event's work under another of its ids. */
tab_status metering_known(tab_tx *tx, tab_arena *a, const Tabella__WorkDone *const *e, size_t n, bool *ret,
                          tab_error *err) TAB_CHECKED;
/* Counts n events that can be counted, no id twice, within a transaction that sees their organizations. ret
 * (n): false where an event was counted before. */
tab_status metering_count(tab_tx *tx, tab_arena *a, const metering_rates *r,
                          const Tabella__WorkDone *const *e, size_t n, bool *ret, tab_error *err) TAB_CHECKED;

/* The window that now is in, and what it holds. A lifetime allotment's window starts with the first event. */
typedef struct {
    int64_t now_us, start_us, end_us; /* end_us 0: lifetime */
    int64_t used_milli;
} metering_window;

/* Fills in the usage object, an initialised message, from the arena; its events are the page that q asks
 * for. */
tab_status metering_usage(tab_tx *tx, tab_arena *a, const Tabella__Org *org, const metering_rates *r,
                          const Tabella__UsageRequest *q, Tabella__UsageReply *y, tab_error *err) TAB_CHECKED;

/* What keys last said of an organization, kept for when keys is away. Get gives NULL when there is
 * nothing. */
tab_status metering_account_put(tab_tx *tx, const Tabella__Org *org, tab_error *err) TAB_CHECKED;
tab_status metering_account_get(tab_tx *tx, tab_arena *a, const char *org, Tabella__Org **ret,
                                tab_error *err) TAB_CHECKED;

/* The same for n organizations whose sums may have grown, by their settings as last known: a call to keys
 * would hold the transaction. */
/* ret_told (n): those that send their usage on, first; *ret_n: how many. */
tab_status metering_alerts_of(tab_tx *tx, tab_arena *a, char *const *org, size_t n, const char **ret_told,
                              size_t *ret_n, tab_error *err) TAB_CHECKED;

/* "3d", "4h", "12m": the largest whole unit that is left, rounded up. */
void metering_resets_in(int64_t left_us, char *buf, size_t size);

#endif
