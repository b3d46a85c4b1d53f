/* What the parts of the bills share; not for anybody else.
 *
 *   bills.c          bill_begin, bill_end: rows that are written while calls are computed, or the journal
 *      |
 *   bills_settle.c   the thread that makes events of what is certain, and of what others left
 *      |
 *   bills_kept.c     what is settled together, and what was settled, for a while
 *      |
 *   bills_owed.c     what is shared; whether PostgreSQL takes bills; what is owed
 *      |
 *   bills_sum.c      sums of calls, and a bill's bytes
 *
 * One lock, bills.lock, is for all that is in `bills`. */
#ifndef TAB_API_BILLS_INTERNAL_H
#define TAB_API_BILLS_INTERNAL_H

#include "common/base/metrics.h"
#include "proto/events.pb-c.h"
#include "services/api/serve/bills.h"
#include "services/api/serve/journal.h"

/* BILL_MS: two groups may wait for a frozen database, one after the other: within 10 s all know. LEASE_S: of
 * a row. */
enum { BILL_MS = 4000, LEASE_S = 8 };

struct bill {
    bill *next;
    tab_arena *arena;
    api *a;
    char id[TAB_ID];
    Tabella__WorkDone *
        *event; /* (n): what its calls would be in the outbox; n 0: they are not to be billed */
    size_t n, calls;
    tab_str bytes, row; /* the same as the journal has them; as its row began with */
    enum { QUEUED, WRITING, WRITTEN, UNWRITTEN } state; /* of its row; UNWRITTEN: nobody writes it */
    int64_t began;
    tab_status s;
    tab_error err;
    pthread_cond_t wake;
    bool owed;          /* a row of it may be there or not: whoever settles it leaves a mark */
    journal_file *file; /* where it lies; NULL: nowhere */
};

extern struct bills {
    pthread_mutex_t lock;
    pthread_cond_t came, certain;
    pthread_t writer, settler;
    bill *first, **last; /* to be written */
    bill *settled;       /* certain, to be settled */
    size_t open;         /* begun, not settled */
    bool stop;           /* nobody begins any more */
    int64_t away;        /* tab_mono_ms since when PostgreSQL takes no bills; 0: it does, */
    int64_t well;        /* since then */
    bool shaken;         /* it was away, or ended connections: what it had confirmed is looked up */
    tab_metric *waiting, *aside, *owed, *lost;
} bills;

void bills_well(void); /* PostgreSQL has taken bills, or (bills_away) has not. The lock is held. */
void bills_away(void);
void bills_owe(const bill *b, bool more); /* counts what is owed, or is no longer. The lock is held. */

/* bills_sum.c */
bool bill_fill(bill *b, const Tabella__WorkDone *const *work, size_t n) TAB_CHECKED;
bill *bill_new(api *a) TAB_CHECKED;
void bill_free(bill *b);
bill *bill_of_bytes(api *a, const char *id, tab_str bytes) TAB_CHECKED; /* NULL: they cannot be read */

/* bills_kept.c. A settlement: bills that become events in one transaction. */
enum { SETTLED_MOST = 1024 };
typedef struct {
    char id[TAB_ID];
    bill **bill; /* (n), from malloc */
    size_t n;
} settlement;

/* What is certain now, SETTLED_MOST at most, the last one first; those whose row is just being written wait
 * for that. NULL: none, or out of memory. The lock is held. */
settlement *bills_gather(void) TAB_CHECKED;
/* Its row says what it bills, where it was there. Else a mark must tell whether somebody has settled it. */
bool bill_by_row(const bill *b, bool row);

/* Bills that were settled, the oldest first. */
typedef struct kept_bill {
    struct kept_bill *next;
    char settlement[TAB_ID], id[TAB_ID];
    int64_t at;
    size_t n;
    char bytes[];
} kept_bill;
typedef struct {
    kept_bill *first, **last;
    size_t n;
} bills_kept;

/* id: of its settlement. One of no calls is not kept; nor is one that memory does not suffice for. */
void bills_keep(bills_kept *k, const char id[TAB_ID], const bill *b, int64_t now);
void bills_forget(bills_kept *k, size_t most, int64_t before); /* the oldest, and those of before then */
size_t bills_settlements(const bills_kept *k, char **ret);     /* ret: (k->n), each once */
/* The bill at *at once more, owed, and no longer kept; *at is the next one then. NULL: out of memory. */
bill *bills_take_back(bills_kept *k, api *a, kept_bill **at) TAB_CHECKED;

/* bills_settle.c: the thread. */
void *bills_settle_all(void *api);

#endif
