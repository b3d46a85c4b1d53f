/* The connection to NATS: made, watched, and replaced by another one that has the newest password and
 * certificates, without a lost message (decision 0481).
 *
 *   renewed on SIGHUP, and where NATS refuses what we log in with:
 *
 *   connect --> subscribe to all that the old one has, in the same groups --> publish by it
 *           --> some time for what is on its way --> drain and close the old one
 *
 * Every subscription has a group, of this process at least: while both connections have it each message
 * comes once. Where the new one cannot be made the old one goes on. */
#include "common/rpc/rpc.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/rpc/rpc_internal.h"
#include "common/run/signals.h"

enum {
    SERVERS_MOST = 16,
    SETTLE_MS = 200,   /* for all servers of a cluster to know the new subscriptions */
    DRAIN_MS = 2000,   /* for what the old connection was sent */
    REFUSED_MS = 2000, /* so long another password is waited for where NATS refuses ours */
    AGAIN_MS = 50
};

enum { TOLD = 1, REFUSED = 2 }; /* why the connection is to be renewed */

/* ---- callbacks ------------------------------------------------------------------------------- */

/* Once a minute while it is so; NATS' own text names no password. */
void rpc_say_away(tab_rpc *rpc)
{
    const char *why = NULL;
    if (!tab_log_due(&rpc->said_away))
        return;
    natsStatus s = rpc->nc == NULL ? NATS_NO_SERVER : natsConnection_GetLastError(rpc->nc, &why);
    tab_log_fields(TAB_WARN, "NATS is not reachable", "server", rpc->server, "why",
                   why != NULL && why[0] != 0 ? why : natsStatus_GetText(s == NATS_OK ? NATS_NO_SERVER : s),
                   "do", "see whether it runs where TAB_NATS says", NULL);
}

static void want_renewed(tab_rpc *rpc, int why)
{
    pthread_mutex_lock(&rpc->lock);
    rpc->renew_why |= why;
    pthread_cond_broadcast(&rpc->renew);
    pthread_mutex_unlock(&rpc->lock);
}

/* A connection that another one has replaced. */
static bool replaced(tab_rpc *rpc, const natsConnection *nc)
{
    const natsConnection *now = rpc->nc;
    return now != NULL && now != nc;
}

static void cut_off(natsConnection *nc, void *arg)
{
    tab_rpc *rpc = arg;
    const char *why = NULL;
    if (replaced(rpc, nc))
        return;
    if (natsConnection_GetLastError(nc, &why) == NATS_CONNECTION_AUTH_FAILED)
        want_renewed(rpc, REFUSED);
    else if (!rpc->closing)
        rpc_say_away(rpc);
    pthread_mutex_lock(&rpc->lock);
    rpc_calls_cut(rpc);
    pthread_mutex_unlock(&rpc->lock);
}

/* NATS' last callback for a connection: after it no other one of its own runs. The library gives up for good
 * once a server has refused the password twice. */
static void closed(natsConnection *nc, void *arg)
{
    tab_rpc *rpc = arg;
    pthread_mutex_lock(&rpc->lock); /* tab_rpc_free waits for this */
    bool refused = !rpc->closing && !replaced(rpc, nc);
    rpc->open_links--;
    pthread_cond_broadcast(&rpc->changed);
    pthread_mutex_unlock(&rpc->lock);
    if (refused)
        want_renewed(rpc, REFUSED);
}

static void back_again(natsConnection *nc, void *arg)
{
    (void)nc;
    tab_rpc *rpc = arg;
    atomic_store(&rpc->said_away, 0);
    tab_log(TAB_INFO, "NATS is reachable");
    rpc_publish_unsent(rpc);
}

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

/* waits: where NATS is not there it is connected in the background. */
static natsStatus connect_with(tab_rpc *rpc, const tab_access *a, bool waits, natsConnection **ret)
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
        if (waits)
            natsOptions_SetRetryOnFailedConnect(o, true, back_again, rpc);
        pthread_mutex_lock(&rpc->lock);
        rpc->open_links++; /* before its end can be told */
        pthread_mutex_unlock(&rpc->lock);
        s = natsConnection_Connect(ret, o);
        pthread_mutex_lock(&rpc->lock);
        rpc->open_links -= s != NATS_OK && s != NATS_NOT_YET_CONNECTED;
        pthread_mutex_unlock(&rpc->lock);
    }
    natsOptions_Destroy(o);
    return s;
}

bool rpc_link_open(tab_rpc *rpc, const tab_access *a)
{
    natsConnection *nc = NULL;
    rpc->given = rpc->used = *a;
    natsStatus s = connect_with(rpc, a, true, &nc);
    rpc->nc = nc;
    if (s == NATS_OK || s == NATS_NOT_YET_CONNECTED)
        return true;
    if (s == NATS_CONNECTION_AUTH_FAILED)
        rpc_say_refused(rpc);
    else
        tab_log(TAB_ERROR, "cannot use NATS: %s", natsStatus_GetText(s));
    return false;
}

/* ---- renewed --------------------------------------------------------------------------------- */

static bool differs(const tab_access *a, const tab_access *b)
{
    return a->address != b->address || a->user != b->user || a->password != b->password || a->ca != b->ca ||
           a->cert != b->cert || a->key != b->key;
}

/* Closed at once; freed when seven more have been: whoever published by it has ended long ago. */
static void retire(tab_rpc *rpc, natsConnection *nc)
{
    natsConnection_Close(nc);
    natsConnection_Destroy(rpc->retired[rpc->n_retired % RPC_RETIRED]);
    rpc->retired[rpc->n_retired++ % RPC_RETIRED] = nc;
}

/* The renewer's and, before it, the opener's alone. */
static bool move_to(tab_rpc *rpc, natsConnection *nc, const tab_access *now)
{
    natsSubscription *old[sizeof rpc->sub / sizeof *rpc->sub], *new[sizeof old / sizeof *old] = { NULL };
    natsConnection *before = rpc->nc;
    pthread_mutex_lock(&rpc->lock);
    int n = rpc->n_sub;
    pthread_mutex_unlock(&rpc->lock);
    bool all = true;
    for (int i = 0; i < n && all; i++)
        all = rpc_subscribe_on(rpc, nc, &rpc->sub_of[i], &new[i]);
    all = all && natsConnection_FlushTimeout(nc, DRAIN_MS) == NATS_OK;
    if (all) {
        pthread_mutex_lock(&rpc->lock);
        memcpy(old, rpc->sub, sizeof old);
        memcpy(rpc->sub, new, sizeof *new *(size_t)n);
        rpc->nc = nc;
        rpc->used = *now;
        pthread_mutex_unlock(&rpc->lock);
        rpc_publish_unsent(rpc);
        poll(NULL, 0, SETTLE_MS);
    }
    natsSubscription **done = all ? old : new;
    for (int i = 0; i < n; i++)
        if (done[i] != NULL)
            natsSubscription_DrainTimeout(done[i], DRAIN_MS);
    for (int i = 0; i < n; i++)
        if (done[i] != NULL)
            natsSubscription_WaitForDrainCompletion(done[i], DRAIN_MS);
    natsConnection_FlushTimeout(all ? before : nc, DRAIN_MS);
    retire(rpc, all ? before : nc);
    for (int i = 0; i < n; i++)
        natsSubscription_Destroy(done[i]);
    return all;
}

static bool renewed(tab_rpc *rpc, const tab_access *now)
{
    natsConnection *nc = NULL;
    natsStatus s = connect_with(rpc, now, false, &nc);
    if (s != NATS_OK) {
        natsConnection_Destroy(nc);
        tab_log(TAB_WARN, "NATS is used as before: with what its files say now it says %s",
                natsStatus_GetText(s));
        return false;
    }
    if (!move_to(rpc, nc, now))
        return false;
    tab_log(TAB_INFO, "NATS is connected anew");
    return true;
}

static bool ends(tab_rpc *rpc)
{
    pthread_mutex_lock(&rpc->lock);
    bool yes = rpc->renew_ends;
    pthread_mutex_unlock(&rpc->lock);
    return yes;
}

/* NATS takes our password no more: until another one is there, or none comes. Then the process ends, for its
 * supervisor may start one with another environment. */
static void refused(tab_rpc *rpc)
{
    for (tab_deadline until = tab_in_ms(REFUSED_MS); !ends(rpc); poll(NULL, 0, AGAIN_MS)) {
        tab_config_again();
        tab_access now = tab_access_now(&rpc->given);
        if (rpc_connected(rpc) || (differs(&now, &rpc->used) && renewed(rpc, &now)))
            return;
        if (tab_left_ms(until, 1) == 0)
            break;
    }
    if (ends(rpc) || !natsConnection_IsClosed(rpc->nc))
        return; /* the library still tries, and tells when it has given up */
    rpc_say_refused(rpc);
    tab_signals_stop();
}

static void *renewer(void *arg)
{
    tab_rpc *rpc = arg;
    pthread_mutex_lock(&rpc->lock);
    while (!rpc->renew_ends) {
        int why = rpc->renew_why;
        rpc->renew_why = 0;
        if (why == 0) {
            pthread_cond_wait(&rpc->renew, &rpc->lock);
            continue;
        }
        pthread_mutex_unlock(&rpc->lock);
        tab_access now = tab_access_now(&rpc->given);
        if (why & REFUSED)
            refused(rpc);
        else if (differs(&now, &rpc->used))
            (void)renewed(rpc, &now);
        pthread_mutex_lock(&rpc->lock);
    }
    pthread_mutex_unlock(&rpc->lock);
    return NULL;
}

static void told(void *arg)
{
    want_renewed(arg, TOLD);
}

bool rpc_renewer_start(tab_rpc *rpc)
{
    rpc->renews = pthread_create(&rpc->renewer, NULL, renewer, rpc) == 0;
    rpc->told = (tab_config_listener){ .told = told, .arg = rpc };
    tab_config_listen(&rpc->told);
    return rpc->renews;
}

void rpc_renewer_end(tab_rpc *rpc)
{
    tab_config_forget(&rpc->told);
    pthread_mutex_lock(&rpc->lock);
    bool runs = rpc->renews;
    rpc->renews = false;
    rpc->renew_ends = true;
    pthread_cond_broadcast(&rpc->renew);
    pthread_mutex_unlock(&rpc->lock);
    if (runs)
        pthread_join(rpc->renewer, NULL);
}
