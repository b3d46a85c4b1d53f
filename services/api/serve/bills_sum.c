/* Sums of calls that the ledger would not tell apart, and what a bill is as bytes. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/proto.h"
#include "proto/events.pb-c.h"
#include "services/api/serve/bills_internal.h"
#include "services/api/serve/serve_once.h"

/* ---- sums ------------------------------------------------------------------------------------ */

/* One that is counted once under its own id, whichever process computes it. */
static bool once(const Tabella__WorkDone *w)
{
    return strncmp(w->event_id, SERVE_ONCE, sizeof SERVE_ONCE - 1) == 0;
}

/* Whether two calls would be one row of the ledger and of the usage object. */
static bool alike(const Tabella__WorkDone *a, const Tabella__WorkDone *b)
{
    bool ok = !once(a) && !once(b) && a->n_usage == b->n_usage &&
              strcmp(a->endpoint_id, b->endpoint_id) == 0 && strcmp(a->key_id, b->key_id) == 0 &&
              strcmp(a->org_id, b->org_id) == 0 && strcmp(a->endpoint, b->endpoint) == 0 &&
              strcmp(a->base_model, b->base_model) == 0 && strcmp(a->hold, b->hold) == 0 &&
              strcmp(a->kind, b->kind) == 0 && strcmp(a->surface, b->surface) == 0;
    for (size_t i = 0; ok && i < a->n_usage; i++)
        ok = strcmp(a->usage[i]->op, b->usage[i]->op) == 0;
    return ok;
}

static Tabella__WorkDone *copy(tab_arena *a, const Tabella__WorkDone *w)
{
    tab_str bytes = tab_proto_write(a, &w->base);
    return bytes.p == NULL ? NULL
                           : (Tabella__WorkDone *)tab_proto_read(a, &tabella__work_done__descriptor, bytes);
}

static uint32_t calls_of(const Tabella__WorkDone *w)
{
    return w->calls == 0 ? 1 : w->calls;
}

size_t bills_sum(tab_arena *a, const Tabella__WorkDone *const *work, size_t n, Tabella__WorkDone **ret)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < m && !alike(ret[k], work[i]))
            k++;
        if (k == m) {
            if ((ret[m] = copy(a, work[i])) == NULL)
                return 0;
            ret[m++]->calls = calls_of(work[i]);
            continue;
        }
        ret[k]->calls += calls_of(work[i]);
        ret[k]->tables += work[i]->tables;
        for (size_t u = 0; u < ret[k]->n_usage; u++)
            ret[k]->usage[u]->cells += work[i]->usage[u]->cells;
    }
    assert(m > 0 || n == 0);
    for (uint32_t i = 0, before = 0, after = 0; i < n; i++) { /* as the sums: modulo 2^32 */
        before += calls_of(work[i]);
        after += i < m ? ret[i]->calls : 0;
        assert(i + 1 < n || before == after); /* no call is lost in a sum, and none is counted twice */
    }
    return m;
}

/* ---- one bill -------------------------------------------------------------------------------- */

/* What the row of these calls has: their sums, and the sums as bytes. */
bool bill_fill(bill *b, const Tabella__WorkDone *const *work, size_t n)
{
    Tabella__Bills all = TABELLA__BILLS__INIT;
    b->event = tab_arena_new_of(b->arena, Tabella__WorkDone *, n);
    b->n = b->event == NULL ? 0 : bills_sum(b->arena, work, n, b->event);
    b->calls = n;
    all.n_work = b->n;
    all.work = b->event;
    b->bytes = b->n == 0 ? (tab_str){ NULL, 0 } : tab_proto_write(b->arena, &all.base);
    return b->bytes.p != NULL;
}

void bill_free(bill *b)
{
    pthread_cond_destroy(&b->wake);
    tab_arena_free(b->arena);
    free(b);
}

bill *bill_new(api *a)
{
    bill *b = calloc(1, sizeof *b);
    if (b == NULL || (b->arena = tab_arena_new((size_t)4 << 20)) == NULL) {
        free(b);
        return NULL;
    }
    b->a = a;
    b->began = tab_mono_ms();
    pthread_cond_init(&b->wake, NULL);
    return b;
}

bill *bill_of_bytes(api *a, const char *id, tab_str bytes)
{
    bill *b = bill_new(a);
    if (b == NULL)
        return NULL;
    snprintf(b->id, sizeof b->id, "%s", id);
    b->bytes = tab_arena_copy(b->arena, bytes);
    const Tabella__Bills *all = tab_proto_read(b->arena, &tabella__bills__descriptor, b->bytes);
    if (all == NULL) {
        bill_free(b);
        return NULL;
    }
    b->event = all->work;
    b->n = b->calls = all->n_work;
    b->state = UNWRITTEN;
    b->owed = true;
    return b;
}
