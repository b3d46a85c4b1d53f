/* What is settled together, and what was settled as long as a failover may lose that. That list is the
 * settler's own: no lock. */
#include <assert.h>
#include <stdlib.h>

#include "services/api/serve/bills_internal.h"

settlement *bills_gather(void)
{
    settlement *s = bills.settled == NULL ? NULL : calloc(1, sizeof *s);
    if (s == NULL || (s->bill = calloc(SETTLED_MOST, sizeof(bill *))) == NULL) {
        free(s);
        return NULL;
    }
    for (bill **at = &bills.settled; *at != NULL && s->n < SETTLED_MOST;) {
        bill *b = *at;
        if (b->state == WRITING) {
            at = &b->next;
            continue;
        }
        assert(b->state == WRITTEN || b->owed);
        *at = b->next;
        s->bill[s->n++] = b;
    }
    tab_id_new(s->id, "settled_");
    if (s->n > 0)
        return s;
    free(s->bill);
    free(s);
    return NULL;
}

bool bill_by_row(const bill *b, bool row)
{
    return row && !b->owed;
}

/* ---- what was settled ------------------------------------------------------------------------- */

static void take_out(bills_kept *k, kept_bill **at)
{
    kept_bill *gone = *at;
    assert(k->n > 0);
    if ((*at = gone->next) == NULL)
        k->last = at;
    k->n--;
    free(gone);
}

void bills_keep(bills_kept *k, const char id[TAB_ID], const bill *b, int64_t now)
{
    kept_bill *x = b->n == 0 ? NULL : malloc(sizeof *x + b->bytes.n);
    if (x == NULL)
        return;
    x->next = NULL;
    memcpy(x->settlement, id, sizeof x->settlement);
    memcpy(x->id, b->id, sizeof x->id);
    x->at = now;
    x->n = b->bytes.n;
    memcpy(x->bytes, b->bytes.p, b->bytes.n);
    *k->last = x;
    k->last = &x->next;
    k->n++;
}

void bills_forget(bills_kept *k, size_t most, int64_t before)
{
    while (k->first != NULL && (k->first->at < before || k->n > most))
        take_out(k, &k->first);
    assert((k->first == NULL) == (k->n == 0));
}

size_t bills_settlements(const bills_kept *k, char **ret)
{
    size_t n = 0;
    for (kept_bill *x = k->first; x != NULL; x = x->next)
        if (n == 0 || strcmp(ret[n - 1], x->settlement) != 0)
            ret[n++] = x->settlement;
    return n;
}

bill *bills_take_back(bills_kept *k, api *a, kept_bill **at)
{
    bill *b = bill_of_bytes(a, (*at)->id, (tab_str){ (*at)->bytes, (*at)->n });
    if (b != NULL)
        take_out(k, at);
    return b;
}
