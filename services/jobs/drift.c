/* See drift.h. Two windows of served rows are kept: when the current one holds WINDOW rows it becomes the one
 * before, so that what was served long ago is forgotten. */
#include "services/jobs/drift.h"

#include "common/base/proto.h"
#include "services/jobs/endpoint.h"

enum { WINDOW = 20000, MOST_COLUMNS = 256, MOST_BINS = 32, CONTENT_MOST = 1 << 20 };

/* What another process sent: bounded, and every column's bins alike. */
static bool sound(const Tabella__Drift *d)
{
    bool ok = d != NULL && d->n_columns <= MOST_COLUMNS;
    for (size_t i = 0; ok && i < d->n_columns; i++) {
        const Tabella__DriftColumn *c = d->columns[i];
        ok = c->n_pinned > 0 && c->n_pinned <= MOST_BINS && c->n_served == c->n_pinned &&
             c->address.len <= 4096;
    }
    return ok;
}

/* Whether both count the same bins of the same columns of one state. */
static bool alike(const Tabella__Drift *a, const Tabella__Drift *b)
{
    bool same = a->config_revision == b->config_revision && a->data_revision == b->data_revision &&
                a->n_columns == b->n_columns;
    for (size_t i = 0; same && i < a->n_columns; i++)
        same = a->columns[i]->n_pinned == b->columns[i]->n_pinned &&
               a->columns[i]->address.len == b->columns[i]->address.len &&
               (a->columns[i]->address.len == 0 ||
                memcmp(a->columns[i]->address.data, b->columns[i]->address.data,
                       a->columns[i]->address.len) == 0);
    return same;
}

/* Adds what was kept to what came. False: out of memory. */
static bool add(tab_arena *a, Tabella__Drift *d, const Tabella__Drift *kept)
{
    bool full = kept->rows >= WINDOW;
    d->since_us = kept->since_us;
    d->before_rows = full ? kept->rows : kept->before_rows;
    d->rows += full ? 0 : kept->rows;
    for (size_t i = 0; i < d->n_columns; i++) {
        Tabella__DriftColumn *c = d->columns[i];
        const Tabella__DriftColumn *k = kept->columns[i];
        const uint64_t *before = full ? k->served : k->n_before == k->n_pinned ? k->before : NULL;
        c->n_before = c->n_pinned;
        c->before = tab_arena_new_of(a, uint64_t, c->n_pinned);
        c->before_sum = full ? k->served_sum : k->before_sum;
        c->served_sum += full ? 0 : k->served_sum;
        if (c->before == NULL)
            return false;
        for (size_t b = 0; b < c->n_pinned; b++) {
            c->before[b] = before == NULL ? 0 : before[b];
            c->served[b] += full ? 0 : k->served[b];
        }
    }
    return true;
}

static tab_status kept_of(tab_tx *tx, tab_arena *a, const char *org, const char *endpoint_id, bool lock,
                          Tabella__Drift **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    *ret = NULL;
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         lock
                             ? "SELECT content FROM jobs.drift WHERE org = $1 AND endpoint_id = $2 FOR UPDATE"
                             : "SELECT content FROM jobs.drift WHERE org = $1 AND endpoint_id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(endpoint_id))));
    if (tab_rows_count(rows) == 0)
        return TAB_OK;
    Tabella__Drift *d = tab_proto_read(a, &tabella__drift__descriptor, tab_rows_bytes(rows, 0, 0, a));
    *ret = d != NULL && sound(d) ? d : NULL;
    return TAB_OK;
}

tab_status drift_add(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__DriftRequest *q = call->in;
    Tabella__Drift *d = q->drift, *kept = NULL;
    Tabella__Endpoint *e = NULL;
    TAB_AUTO(tab_tx) *tx = NULL;
    if (!sound(d))
        return tab_fail(err, TAB_VALIDATION, "drift", "counts that are no counts");
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    /* the endpoint's row is locked: of several workers one adds at a time */
    TAB_TRY(endpoint_get(tx, call->arena, call->org, q->endpoint_id, true, &e, err));
    if (e->config_revision != d->config_revision || e->data_revision != d->data_revision)
        return tab_tx_commit(&tx, err);
    TAB_TRY(kept_of(tx, call->arena, call->org, e->id, true, &kept, err));
    if (kept != NULL && alike(d, kept) && !add(call->arena, d, kept))
        return tab_no_memory(err);
    d->until_us = tab_now_us();
    tab_str bytes = tab_proto_write(call->arena, &d->base);
    if (bytes.p == NULL)
        return tab_no_memory(err);
    if (bytes.n > CONTENT_MOST)
        return tab_fail(err, TAB_VALIDATION, "drift", "too many counts");
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "INSERT INTO jobs.drift (org, endpoint_id, content) "
                         "VALUES ($1, $2, $3) "
                         "ON CONFLICT (org, endpoint_id) DO UPDATE SET content = excluded.content",
                         TAB_P(tab_p_text(call->org), tab_p_text(e->id), tab_p_bytes(bytes))));
    return tab_tx_commit(&tx, err);
}

tab_status drift_read(tab_tx *tx, tab_arena *a, const char *org, Tabella__Endpoint *e, tab_error *err)
{
    TAB_TRY(kept_of(tx, a, org, e->id, false, &e->drift, err));
    if (e->drift != NULL &&
        (e->drift->config_revision != e->config_revision || e->drift->data_revision != e->data_revision))
        e->drift = NULL;
    return TAB_OK;
}
