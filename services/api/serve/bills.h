/* The bills of serve calls (decision 0354, 0404).
 *
 *   bill_begin --> a row of api.bill, committed while the calls are computed
 *   bill_end   --> the row is there, and says what was answered: now the answers may leave
 *   within 0.2 s   the rows of that time are taken away and their sums, an event for what the ledger would
 *                  not tell apart, are written into the outbox, in one transaction
 *
 * Where PostgreSQL does not confirm a row in time, the journal of this process (journal.h) keeps the bill in
 * its place until it can be settled: api.settled tells whether it was.
 *
 * An answer that was given is in a row or in the journal, then in the outbox, then in the ledger, whichever
 * process dies: a row whose owner is silent for LEASE_S is settled by whoever finds it, as if all of its
 * calls had been answered. So a refusal (4xx, 5xx) has changed its row before it is told, or stands in the
 * journal; a process that lives annuls what it could do neither for. */
#ifndef TAB_API_BILLS_H
#define TAB_API_BILLS_H

#include "proto/events.pb-c.h"
#include "services/api/api.h"

typedef struct bill bill;

bool bills_open(api *a) TAB_CHECKED;
/* No handler runs any more: what is left is settled, or found by another process when its lease ends. */
void bills_close(api *a);

/* The bill of n > 0 calls that go together, written in the background with the bills of others. bill_end
 * takes it. NULL: out of memory. */
bill *bill_begin(api *a, const Tabella__WorkDone *const *work, size_t n) TAB_CHECKED;
/* PostgreSQL takes no bills, for longer than a slow moment: nothing that it holds can change now. */
bool bill_away(void);
/* Whether the organization may owe so many cells more while PostgreSQL takes no bills. UNAVAILABLE: not. */
tab_status bill_may(const api *a, const char *org, uint64_t cells, tab_error *err) TAB_CHECKED;
/* Of these calls the m in `answered` are to be billed, of the same ones that it began with. OK: that is
 * certain. Else none of them is, unless this process dies before PostgreSQL is back. */
tab_status bill_end(bill *b, const Tabella__WorkDone *const *answered, size_t m, tab_error *err) TAB_CHECKED;

/* The events of n calls, or of sums of calls: those that the ledger would not tell apart are summed under the
 * first one's id. ret has room for n; 0: out of memory. */
size_t bills_sum(tab_arena *a, const Tabella__WorkDone *const *work, size_t n,
                 Tabella__WorkDone **ret) TAB_CHECKED;

#endif
