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

enum { END_MS = 1000, SERVERS_MOST = 16 }; /* END_MS: for the last words */

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

/* Once a minute while it is so; NATS' own text names no password. */
static void say_away(tab_rpc *rpc)
{
    const char *why = NULL;
    if (!tab_log_due(&rpc->said_away))
        return;
    natsStatus s = rpc->nc == NULL ? NATS_NO_SERVER : natsConnection_GetLastError(rpc->nc, &why);
    tab_log_fields(TAB_WARN, "NATS is not reachable", "server", rpc->server, "why",
                   why != NULL && why[0] != 0 ? why : natsStatus_GetText(s == NATS_OK ? NATS_NO_SERVER : s),
                   "do", "see whether it runs where TAB_NATS says", NULL);
}

static void cut_off(natsConnection *nc, void *arg)
{
    (void)nc;
    tab_rpc *rpc = arg;
    if (!rpc->closing)
        say_away(rpc);
    pthread_mutex_lock(&rpc->lock);
    rpc_calls_cut(rpc);
    pthread_mutex_unlock(&rpc->lock);
}

/* NATS' last callback for a connection: after it no other one of ours runs. */
static void closed(natsConnection *nc, void *arg)
{
    (void)nc;
    tab_rpc *rpc = arg;
    pthread_mutex_lock(&rpc->lock);
    bool refused = !rpc->closing;
    pthread_mutex_unlock(&rpc->lock);
    if (refused) {
        rpc_say_refused(rpc);
        /* Ending the process lets its supervisor start a new one, which reads the password anew. */
        tab_signals_stop();
    }
    pthread_mutex_lock(&rpc->lock); /* tab_rpc_free waits for this */
    rpc->closed = true;
    pthread_cond_broadcast(&rpc->changed);
    pthread_mutex_unlock(&rpc->lock);
}

static void back_again(natsConnection *nc, void *arg)
{
    (void)nc;
    tab_rpc *rpc = arg;
    atomic_store(&rpc->said_away, 0);
    tab_log(TAB_INFO, "NATS is reachable");
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
            say_away(rpc);
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

/* Errors of the server that belong to no call: a subject that this user may not use, a slow reader. The text
 * may name subjects, never contents. */
static void complained(natsConnection *nc, natsSubscription *sub, natsStatus s, void *arg)
{
    (void)sub;
    (void)arg;
    const char *text = NULL;
    if (natsConnection_GetLastError(nc, &text) != s || text == NULL)
        text = natsStatus_GetText(s);
    tab_log_fields(TAB_WARN, "NATS reports an error", "why", text, NULL);
}

/* The library's locks sleep instead of spinning: the processors are needed elsewhere. */
static void open_library(void)
{
    (void)nats_Open(0);
}

/* Who we are and TLS; the handshake then also checks that the certificate names the host of the URL. */
static natsStatus introduce(natsOptions *o, const tab_access *a)
{
    natsStatus s = NATS_OK;
    bool in_url = strchr(a->address, '@') != NULL;
    if (tab_access_has(a->password))
        s = natsOptions_SetUserInfo(o, tab_access_has(a->user) ? a->user : "", a->password);
    else if (!in_url)
        tab_log(TAB_WARN, "NATS is used without a password (TAB_NATS_PASSWORD)");
    if (s != NATS_OK || !a->tls)
        return s;
    s = natsOptions_SetSecure(o, true);
    if (s == NATS_OK && tab_access_has(a->ca))
        s = natsOptions_SetCATrustedCertificates(o, a->ca);
    if (s == NATS_OK && tab_access_has(a->cert))
        s = natsOptions_SetCertificatesChain(o, a->cert, tab_access_has(a->key) ? a->key : "");
    return s;
}

/* One URL, or several of one cluster, with commas between them: where one server stands still or has gone the
 * next is taken. */
static natsStatus set_servers(natsOptions *o, const char *urls)
{
    const char *of[SERVERS_MOST];
    char *copy = strdup(urls), *rest = NULL;
    int n = 0;
    if (copy == NULL)
        return NATS_NO_MEMORY;
    for (char *u = strtok_r(copy, ", ", &rest); u != NULL && n < SERVERS_MOST;
         u = strtok_r(NULL, ", ", &rest))
        of[n++] = u;
    natsStatus s = n == 0 ? NATS_INVALID_ARG : natsOptions_SetServers(o, of, n);
    free(copy);
    return s;
}

static bool connect_nats(tab_rpc *rpc, const tab_access *a)
{
    natsOptions *o = NULL;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    natsStatus s = natsOptions_Create(&o);
    if (s == NATS_OK)
        s = set_servers(o, a->address);
    if (s == NATS_OK)
        s = introduce(o, a);
    if (s == NATS_OK)
        s = natsOptions_SetCustomInboxPrefix(o, rpc->inbox);
    if (s == NATS_OK) {
        natsOptions_SetName(o, rpc->service);
        natsOptions_SetSendAsap(o, true); /* a buffered publish waits a millisecond for its flush */
        natsOptions_SetMaxReconnect(o, -1);
        natsOptions_SetReconnectWait(o, 100);
        natsOptions_SetReconnectJitter(o, 100, 100);
        natsOptions_SetTimeout(o, 2000);
        natsOptions_SetPingInterval(o, 1000); /* a server that stands still is left after 3 to 4 s */
        natsOptions_SetMaxPingsOut(o, 2);
        natsOptions_SetWriteDeadline(o, 5000);
        natsOptions_SetDisconnectedCB(o, cut_off, rpc);
        natsOptions_SetReconnectedCB(o, back_again, rpc);
        natsOptions_SetClosedCB(o, closed, rpc);
        natsOptions_SetErrorHandler(o, complained, rpc);
        natsOptions_SetRetryOnFailedConnect(o, true, back_again, rpc);
        s = natsConnection_Connect(&rpc->nc, o);
    }
    natsOptions_Destroy(o);
    if (s == NATS_OK || s == NATS_NOT_YET_CONNECTED)
        return true;
    if (s == NATS_CONNECTION_AUTH_FAILED)
        rpc_say_refused(rpc);
    else
        tab_log(TAB_ERROR, "cannot use NATS: %s", natsStatus_GetText(s));
    return false;
}

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
    bool ok = rpc->fd >= 0 && rpc->chunk != NULL && connect_nats(rpc, nats);
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
    if (ok)
        return rpc;
    tab_rpc_free(rpc);
    return NULL;
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
    while (rpc->live_subs > 0 || (rpc->nc != NULL && !rpc->closed))
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
    free(rpc);
}
