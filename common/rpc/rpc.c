/* Opening and closing of the RPC: the connection to NATS, its callbacks, the inboxes, and the thread that
 * watches time. See rpc_internal.h for the other parts. */
#include "common/rpc/rpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/rpc/rpc_internal.h"
#include "common/run/signals.h"
#include "common/security/ids.h"

enum { END_MS = 1000 }; /* for the last words */

/* ---- the connection -------------------------------------------------------------------------- */

bool tab_rpc_alive(void *arg)
{
    tab_rpc *rpc = arg;
    return rpc_connected(rpc) && natsConnection_FlushTimeout(rpc->nc, 800) == NATS_OK;
}

const _Atomic int64_t *tab_rpc_turned(const tab_rpc *rpc)
{
    return &rpc->turned;
}

const char *tab_rpc_worker(const tab_rpc *rpc)
{
    return rpc->worker;
}

natsConnection *tab_rpc_nats(tab_rpc *rpc)
{
    return rpc->nc;
}

/* The thread that watches deadlines, silences and streams. With nothing to watch it only shows that it turns:
 * whoever holds the lock for ever is found by it. */
static void *watch(void *arg)
{
    tab_rpc *rpc = arg;
    pthread_mutex_lock(&rpc->lock);
    while (!rpc->closing) {
        int64_t now = tab_mono_ms(), next = now + RPC_TICK_MS;
        atomic_store(&rpc->turned, now);
        if (!rpc_connected(rpc) && !natsConnection_IsClosed(rpc->nc))
            rpc_say_away(rpc);
        rpc_calls_tick(rpc, now, &next);
        rpc_streams_tick(rpc, now);
        rpc_serve_tick(rpc, now, &next);
        rpc_peers_say(rpc, now, false);
        if (rpc->n_pending + rpc->n_holds + rpc->n_pulls == 0 && rpc->jobs == NULL) {
            rpc->watches_at = now + RPC_IDLE_MS;
            tab_cond_wait(&rpc->tick, &rpc->lock, rpc->watches_at);
        } else {
            rpc->watches_at = next;
            tab_cond_wait(&rpc->tick, &rpc->lock, next);
        }
    }
    pthread_mutex_unlock(&rpc->lock);
    return NULL;
}

/* ---- open and close -------------------------------------------------------------------------- */

tab_rpc *tab_rpc_open(const tab_access *nats, const char *service)
{
    tab_rpc *rpc = calloc(1, sizeof *rpc);
    if (rpc == NULL)
        return NULL;
    pthread_cond_init(&rpc->tick, NULL);
    pthread_cond_init(&rpc->changed, NULL);
    pthread_cond_init(&rpc->work, NULL);
    pthread_mutex_init(&rpc->lock, NULL);
    pthread_mutex_init(&rpc->spent.lock, NULL);
    pthread_mutex_init(&rpc->unsent.lock, NULL);
    pthread_mutex_init(&rpc->chunk_lock, NULL);
    pthread_cond_init(&rpc->renew, NULL);
    snprintf(rpc->service, sizeof rpc->service, "%s", service);
    tab_id_new(rpc->worker, "");
    snprintf(rpc->inbox, sizeof rpc->inbox, "_INBOX.%s.%s", tab_access_has(nats->user) ? nats->user : service,
             rpc->worker);
    const char *at = strrchr(nats->address, '@');
    snprintf(rpc->server, sizeof rpc->server, "%s", at == NULL ? nats->address : at + 1);
    rpc->ready_end = &rpc->ready;
    atomic_store(&rpc->turned, tab_mono_ms());
    rpc->threads = 8;
    rpc->queue_most = 512;
    rpc->arena_most = (size_t)2 << 30;
    rpc->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    rpc->chunk = malloc(8 + RPC_CHUNK);
    char subject[128];
    bool ok = rpc->fd >= 0 && rpc->chunk != NULL && rpc_link_open(rpc, nats);
    static const struct {
        char kind;
        natsMsgHandler fn;
    } inboxes[RPC_INBOXES] = {
        { 'a', rpc_answered }, { 'p', rpc_pull_chunk }, { 'h', rpc_kept_body_asked }, { 'b', rpc_unheard }
    };
    for (size_t i = 0; i < RPC_INBOXES && ok; i++) {
        snprintf(subject, sizeof subject, "%s.%c.*", rpc->inbox, inboxes[i].kind);
        ok = rpc_subscribe(rpc, subject, NULL, inboxes[i].fn, rpc);
    }
    ok = ok && rpc_subscribe(rpc, "tabella.here.*", NULL, rpc_peer_heard, rpc);
    ok = ok && (rpc->timer_runs = pthread_create(&rpc->timer, NULL, watch, rpc) == 0);
    if (ok && rpc_renewer_start(rpc))
        return rpc;
    tab_rpc_free(rpc);
    return NULL;
}

/* What NATS had already handed to this connection is worked off too: unsubscribing in the drain form
 * delivers it first. The subject of this very worker stays, and the one that tells of callers that went.
 * While NATS is away there is nobody to confirm that, and nothing more can come. No method runs after this:
 * what methods use may be freed. */
bool tab_rpc_drain(tab_rpc *rpc, int64_t seconds)
{
    tab_deadline until = tab_in_s(seconds);
    rpc_renewer_end(rpc);
    pthread_mutex_lock(&rpc->lock);
    rpc_peers_say(rpc, tab_mono_ms(), true);
    atomic_store(&rpc->draining, true);
    pthread_mutex_unlock(&rpc->lock);
    int kept = rpc->n_sub - 1;
    natsSubscription_DrainTimeout(rpc->sub[kept], tab_left_ms(until, RPC_TIME_MOST));
    pthread_mutex_lock(&rpc->lock);
    while (((rpc->live_subs > kept || rpc->n_holds > 0) && rpc_connected(rpc)) || rpc->jobs != NULL) {
        if (tab_left_ms(until, 1) == 0)
            break;
        tab_cond_wait(&rpc->changed, &rpc->lock, tab_within_ms(until, 100));
    }
    bool all = rpc->jobs == NULL;
    pthread_mutex_unlock(&rpc->lock);
    rpc_serve_stop(rpc);
    if (rpc->nc != NULL)
        natsConnection_FlushTimeout(rpc->nc, 1000);
    return all;
}

/* What the server had sent by now is heard, and answered as stopped, before the connection closes: a call by
 * this worker's name that were lost on the way would look as if we had died of it. */
static void end_subscriptions(tab_rpc *rpc)
{
    tab_deadline until = tab_in_ms(END_MS);
    for (int i = 0; i < rpc->n_sub; i++)
        natsSubscription_DrainTimeout(rpc->sub[i], END_MS);
    pthread_mutex_lock(&rpc->lock);
    while (rpc->live_subs > 0 && rpc_connected(rpc) && tab_left_ms(until, 1) > 0)
        tab_cond_wait(&rpc->changed, &rpc->lock, tab_within_ms(until, 100));
    pthread_mutex_unlock(&rpc->lock);
    if (rpc_connected(rpc))
        natsConnection_FlushTimeout(rpc->nc, END_MS);
}

/* Nobody may call any more. Calls still under way end without their `done`. */
void tab_rpc_free(tab_rpc *rpc)
{
    if (rpc == NULL)
        return;
    rpc_renewer_end(rpc);
    rpc_serve_stop(rpc);
    if (rpc->nc != NULL && natsConnection_IsClosed(rpc->nc))
        rpc_say_refused(rpc);
    pthread_mutex_lock(&rpc->lock);
    rpc->closing = true;
    pthread_cond_signal(&rpc->tick);
    pthread_mutex_unlock(&rpc->lock);
    if (rpc->timer_runs)
        pthread_join(rpc->timer, NULL);
    end_subscriptions(rpc);
    if (rpc->nc != NULL)
        natsConnection_Close(rpc->nc);
    pthread_mutex_lock(&rpc->lock);
    while (rpc->live_subs > 0 || rpc->open_links > 0)
        pthread_cond_wait(&rpc->changed, &rpc->lock);
    pthread_mutex_unlock(&rpc->lock);
    for (int i = 0; i < rpc->n_sub; i++)
        natsSubscription_Destroy(rpc->sub[i]);
    rpc_calls_drop(rpc);
    for (size_t b = 0; b < BUCKETS; b++)
        while (rpc->kept[b] != NULL)
            rpc_kept_body_release(rpc, rpc->kept[b]);
    for (size_t i = 0; i < rpc->spent.n; i++)
        natsMsg_Destroy(rpc->spent.of[i]);
    for (size_t i = 0; i < rpc->unsent.n; i++)
        natsMsg_Destroy(rpc->unsent.of[i]);
    for (size_t i = 0; i < RPC_RETIRED; i++)
        natsConnection_Destroy(rpc->retired[i]);
    natsConnection_Destroy(rpc->nc);
    if (rpc->fd >= 0)
        close(rpc->fd);
    free(rpc->also_self);
    free(rpc->chunk);
    pthread_cond_destroy(&rpc->tick);
    pthread_cond_destroy(&rpc->changed);
    pthread_cond_destroy(&rpc->work);
    pthread_mutex_destroy(&rpc->lock);
    pthread_mutex_destroy(&rpc->spent.lock);
    pthread_mutex_destroy(&rpc->unsent.lock);
    pthread_mutex_destroy(&rpc->chunk_lock);
    pthread_cond_destroy(&rpc->renew);
    free(rpc);
}
