/* Housekeeping: two threads, so that leases wait for nothing. One renews, once a second, those of realtime
 * calls and of idempotency rows; the other asks whether metering is back, gives back holds that nobody wants
 * and deletes what has expired, a batch at a time. */
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "services/api/housekeeping.h"
#include "services/api/idempotency.h"
#include "services/api/serve/concurrency.h"
#include "services/api/serve/reservations.h"
#include "services/api/serve/serve_cache.h"
#include "services/api/uses.h"

enum {
    STATEMENT_MS = 2000,
    BATCH = 200,       /* rows that one statement deletes; an output holds up to megabytes */
    BATCHES = 25,      /* of one table, one after the other, before the other chores are due again */
    SWEEP_MS = 300000, /* between two looks at a table in which nothing more had expired */
    BEHIND_MS = 1000   /* where something was left, or the statement failed */
};

/* What has expired of one table. `one` deletes at most $1 rows, of the least keys by its index, and leaves
 * those that are locked. */
struct sweep {
    const char *table, *labels, *one;
    int64_t due;
    int64_t behind; /* tab_mono_ms since when rows are left; 0: none are */
    tab_metric *lag;
};

struct api_housekeeping {
    api *a;
    pthread_t leases, chores;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
};

static tab_status statement(api *a, const char *sql, const tab_param *p, size_t n, size_t *ret_rows,
                            tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_begin(a->pg, TAB_ORG_ALL, tab_in_ms(STATEMENT_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &rows, err, sql, p, n));
    *ret_rows = tab_rows_count(rows);
    return tab_tx_commit(&tx, err);
}

static void renew_claims(api *a)
{
    tab_out o = { 0 };
    tab_error err;
    size_t rows;
    if (idempotency_claims(a, &o)) /* the next round tries again */
        (void)!statement(a,
                         "UPDATE api.idempotency i SET lease_until = now() + " IDEMPOTENCY_LEASE
                         " FROM jsonb_to_recordset($1::jsonb) "
                         "AS k(org text, method text, path text, key text, attempt int) "
                         "WHERE i.org = k.org AND i.method = k.method AND i.path = k.path AND i.key = k.key "
                         "AND i.attempt = k.attempt AND i.owner = $2 AND i.status IS NULL",
                         TAB_P(tab_p_str(tab_out_text(&o)), tab_p_text(a->owner)), &rows, &err);
    tab_out_free(&o);
}

/* Deletes batches until one is not full. What is left, or what failed, is told and tried again soon. */
static void sweep(api *a, struct sweep *w)
{
    int64_t now = tab_mono_ms();
    tab_error err = { 0 };
    tab_status s = TAB_OK;
    size_t n = BATCH;
    for (int i = 0; i < BATCHES && n == BATCH && s == TAB_OK; i++)
        s = statement(a, w->one, TAB_P(tab_p_int(BATCH)), &n, &err);
    bool left = s != TAB_OK || n == BATCH;
    if (s != TAB_OK)
        tab_log_fields(TAB_WARN, "expired rows could not be deleted; tried again", "table", w->table, "why",
                       err.message, NULL);
    w->behind = !left ? 0 : w->behind > 0 ? w->behind : now;
    w->due = now + (left ? BEHIND_MS : SWEEP_MS);
    tab_metric_set(w->lag, left ? (double)(tab_mono_ms() - w->behind) / 1000 : 0);
}

/* Whether the daemon goes on; waits a second first. */
static bool goes_on(struct api_housekeeping *h)
{
    pthread_mutex_lock(&h->lock);
    if (!h->stop)
        tab_cond_wait(&h->wake, &h->lock, tab_in_ms(1000));
    bool on = !h->stop;
    pthread_mutex_unlock(&h->lock);
    return on;
}

static void *keep_leases(void *arg)
{
    struct api_housekeeping *h = arg;
    while (goes_on(h)) {
        concurrency_renew(h->a);
        renew_claims(h->a);
    }
    return NULL;
}

static void *do_chores(void *arg)
{
    struct api_housekeeping *h = arg;
    int64_t began = tab_mono_ms();
    struct sweep sweeps[] = {
        { .table = "api.idempotency",
          .labels = "table=\"api.idempotency\"",
          .one =
              "DELETE FROM api.idempotency WHERE ctid = ANY(ARRAY(SELECT ctid FROM api.idempotency "
              "WHERE expires_at < now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1" },
        { .table = "api.output",
          .labels = "table=\"api.output\"",
          .one =
              "DELETE FROM api.output WHERE ctid = ANY(ARRAY(SELECT ctid FROM api.output "
              "WHERE expires_at < now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1" },
        { .table = "api.settled",
          .labels = "table=\"api.settled\"",
          .one = "DELETE FROM api.settled WHERE ctid = ANY(ARRAY(SELECT ctid FROM api.settled "
                 "WHERE until < now() ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1" },
    };
    enum { SWEEPS = sizeof sweeps / sizeof *sweeps };
    for (size_t i = 0; i < SWEEPS; i++) {
        sweeps[i].due = began + BEHIND_MS;
        sweeps[i].lag = tab_gauge("tabella_sweep_behind_seconds",
                                  "How long rows that have expired wait to be deleted", sweeps[i].labels);
    }
    while (goes_on(h)) {
        allowance_probe(h->a);
        serve_cache_probe(h->a);
        reservations_sweep(h->a);
        uses_tell(h->a);
        for (size_t i = 0; i < SWEEPS; i++)
            if (tab_mono_ms() >= sweeps[i].due)
                sweep(h->a, &sweeps[i]);
    }
    uses_tell(h->a);
    return NULL;
}

static void stop_threads(struct api_housekeeping *h)
{
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_broadcast(&h->wake);
    pthread_mutex_unlock(&h->lock);
}

struct api_housekeeping *housekeeping_open(api *a)
{
    struct api_housekeeping *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->a = a;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->wake, NULL);
    if (pthread_create(&h->leases, NULL, keep_leases, h) != 0) {
        tab_log(TAB_ERROR, "no thread for leases");
        goto free_it;
    }
    if (pthread_create(&h->chores, NULL, do_chores, h) == 0)
        return h;
    tab_log(TAB_ERROR, "no thread for chores");
    stop_threads(h);
    pthread_join(h->leases, NULL);

free_it:
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
    free(h);
    return NULL;
}

void housekeeping_free(struct api_housekeeping *h)
{
    if (h == NULL)
        return;
    stop_threads(h);
    pthread_join(h->leases, NULL);
    pthread_join(h->chores, NULL);
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
