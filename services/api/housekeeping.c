/* Housekeeping: a thread that once a second asks whether metering is back and renews the leases of realtime
 * calls and of idempotency rows, and every five minutes deletes what has expired. */
#include <stdlib.h>

#include "common/log.h"
#include "services/api/holds.h"
#include "services/api/places.h"

struct api_housekeeping {
    api *a;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
};

static void statement(api *a, const char *sql, const tab_param *p, size_t n)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_error err;
    if (tab_tx_begin(a->pg, TAB_ORG_ALL, tab_in_ms(2000), &tx, &err) == TAB_OK &&
        tab_tx_query(tx, NULL, &err, sql, p, n) == TAB_OK)
        (void)!tab_tx_commit(&tx, &err); /* the next round tries again */
}

static void renew_claims(api *a)
{
    tab_out o = { 0 };
    if (idempotency_claims(a, &o))
        statement(a,
                  "UPDATE api.idempotency i SET lease_until = now() + " IDEMPOTENCY_LEASE
                  " FROM jsonb_to_recordset($1::jsonb) "
                  "AS k(org text, method text, path text, key text, attempt int) "
                  "WHERE i.org = k.org AND i.method = k.method AND i.path = k.path AND i.key = k.key "
                  "AND i.attempt = k.attempt AND i.owner = $2 AND i.status IS NULL",
                  TAB_P(tab_p_str(tab_out_text(&o)), tab_p_text(a->owner)));
    tab_out_free(&o);
}

static void *keep(void *arg)
{
    struct api_housekeeping *h = arg;
    int64_t swept = tab_mono_ms();
    pthread_mutex_lock(&h->lock);
    while (!h->stop) {
        tab_cond_wait(&h->wake, &h->lock, tab_in_ms(1000));
        if (h->stop)
            break;
        pthread_mutex_unlock(&h->lock);
        allowance_probe(h->a);
        holds_sweep(h->a);
        places_renew(h->a);
        renew_claims(h->a);
        if (tab_mono_ms() - swept > 300000) {
            swept = tab_mono_ms();
            statement(h->a, "DELETE FROM api.idempotency WHERE expires_at < now()", TAB_P_NONE);
            statement(h->a, "DELETE FROM api.output WHERE expires_at < now()", TAB_P_NONE);
        }
        pthread_mutex_lock(&h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

struct api_housekeeping *housekeeping_open(api *a)
{
    struct api_housekeeping *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->a = a;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->wake, NULL);
    if (pthread_create(&h->thread, NULL, keep, h) != 0) {
        tab_log(TAB_ERROR, "no thread for leases");
        free(h);
        return NULL;
    }
    return h;
}

void housekeeping_free(struct api_housekeeping *h)
{
    if (h == NULL)
        return;
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    free(h);
}
