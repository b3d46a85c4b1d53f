/* Which processes of a service live: each says so once a second, and callers choose among those that have
 * spoken lately. So a process that stands still, or whose node has gone, gets no calls three seconds later,
 * though NATS counts it among the listeners until its own pings tell (decision 0405).
 *
 * One whose database does not answer says so with each beat: it lives, and may be the only one that cannot
 * reach it. Others come first as long as there are any (decision 0591).
 *
 * Where none is known (a process of a build before this one, NATS that does not let us listen), calls go to
 * the service's queue group as ever. */
#include <stdio.h>
#include <stdlib.h>

#include "common/rpc/rpc_internal.h"

enum { HERE_MS = 1000, GONE_MS = 2500, BACK_MS = 5000, FORGOTTEN_MS = 60000 };

enum { UNABLE_MS = 1500 };

/* A beat is the worker's name; with LEAVES before it the process takes no more calls. One that is UNABLE has
 * both around its name: to a version that knows no such thing it has left. */
#define HERE "tabella.here."
#define LEAVES "-"
#define UNABLE "!"

/* Calls that change nothing, or nothing more the second time, because what they make has an id of theirs. */
static const char *const repeatable[] = { "data-connector.Get",
                                          "data-connector.List",
                                          "data-connector.Snapshots",
                                          "data-connector.Diff",
                                          "data-connector.Compare",
                                          "data-connector.Read",
                                          "data-connector.Profile",
                                          "data-connector.Storage",
                                          "inference.Horizon",
                                          "inference.Models",
                                          "jobs.EndpointBundle",
                                          "jobs.EndpointLogs",
                                          "jobs.Get",
                                          "jobs.GetEndpoint",
                                          "jobs.List",
                                          "jobs.ListEndpoints",
                                          "jobs.OutRows",
                                          "jobs.Output",
                                          "jobs.PutPiece",
                                          "jobs.RefreshCost",
                                          "jobs.Waiting",
                                          "keys.Authenticate",
                                          "keys.GetOrg",
                                          "keys.GetSession",
                                          "keys.ListAudit",
                                          "keys.ListKeys",
                                          "keys.ListNotices",
                                          "metering.ListHolds",
                                          "metering.Reserve",
                                          "metering.Usage",
                                          "reports.Get",
                                          "reports.List",
                                          NULL };

bool rpc_repeatable(const char *service, const char *method)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s", service, method);
    for (const char *const *r = repeatable; *r != NULL; r++)
        if (strcmp(*r, name) == 0)
            return true;
    return false;
}

static rpc_peer *find(tab_rpc *rpc, const char *worker)
{
    for (size_t i = 0; i < rpc->n_peers; i++)
        if (strcmp(rpc->peers[i].worker, worker) == 0)
            return &rpc->peers[i];
    return NULL;
}

/* The entry of one that was not known: the one that was heard longest ago where there is no room. */
static rpc_peer *entry(tab_rpc *rpc)
{
    if (rpc->n_peers < RPC_PEERS)
        return &rpc->peers[rpc->n_peers++];
    rpc_peer *oldest = &rpc->peers[0];
    for (size_t i = 1; i < RPC_PEERS; i++)
        if (rpc->peers[i].heard < oldest->heard)
            oldest = &rpc->peers[i];
    return oldest;
}

void rpc_peer_heard(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    tab_rpc *rpc = arg;
    const char *service = natsMsg_GetSubject(m) + sizeof HERE - 1, *data = natsMsg_GetData(m);
    int n = natsMsg_GetDataLength(m);
    char worker[40];
    bool leaves = n > 0 && data[0] == LEAVES[0], unable = leaves && data[n - 1] == UNABLE[0];
    snprintf(worker, sizeof worker, "%.*s", n - leaves - unable, n == 0 ? "" : data + leaves);
    leaves = leaves && !unable;
    pthread_mutex_lock(&rpc->lock);
    rpc_peer *p = worker[0] == 0 ? NULL : find(rpc, worker);
    if (p == NULL && worker[0] != 0 && !leaves) {
        p = entry(rpc);
        *p = (rpc_peer){ 0 };
        snprintf(p->worker, sizeof p->worker, "%s", worker);
        snprintf(p->service, sizeof p->service, "%s", service);
    }
    if (p != NULL) {
        p->heard = leaves ? -FORGOTTEN_MS : tab_mono_ms();
        p->unable = unable ? p->heard : p->unable;
    }
    pthread_mutex_unlock(&rpc->lock);
    rpc_msg_end(rpc, m);
}

static bool able(const rpc_peer *p, int64_t now)
{
    return p->unable == 0 || now - p->unable > UNABLE_MS;
}

static bool takes_calls(const rpc_peer *p, const char *service, int64_t now)
{
    return strcmp(p->service, service) == 0 && now - p->heard <= GONE_MS && p->heard > p->silent;
}

bool rpc_peer_pick(tab_rpc *rpc, const char *service, char ret[40])
{
    int64_t now = tab_mono_ms();
    rpc_peer *found = NULL;
    for (size_t i = 0; i < rpc->n_peers && (found == NULL || !able(found, now)); i++) { /* in turn */
        rpc_peer *p = &rpc->peers[(rpc->peer_turn + i) % rpc->n_peers];
        if (takes_calls(p, service, now) && (found == NULL || able(p, now)))
            found = p;
    }
    if (found == NULL)
        return false;
    rpc->peer_turn = (size_t)(found - rpc->peers) + 1;
    snprintf(ret, 40, "%s", found->worker);
    return true;
}

bool rpc_peer_unable(tab_rpc *rpc, const char *worker)
{
    int64_t now = tab_mono_ms();
    bool others = false;
    rpc_peer *p = worker[0] == 0 ? NULL : find(rpc, worker);
    if (p == NULL)
        return false;
    p->unable = now;
    for (size_t i = 0; i < rpc->n_peers; i++)
        others |= takes_calls(&rpc->peers[i], p->service, now) && able(&rpc->peers[i], now);
    return others;
}

bool tab_rpc_others_able(tab_rpc *rpc)
{
    int64_t now = tab_mono_ms();
    bool any = false;
    pthread_mutex_lock(&rpc->lock);
    for (size_t i = 0; i < rpc->n_peers; i++) {
        const rpc_peer *p = &rpc->peers[i];
        any |= strcmp(p->worker, rpc->worker) != 0 && takes_calls(p, p->service, now) && able(p, now);
    }
    pthread_mutex_unlock(&rpc->lock);
    return any;
}

bool tab_rpc_lives(tab_rpc *rpc, const char *service)
{
    bool lives = false;
    pthread_mutex_lock(&rpc->lock);
    for (size_t i = 0; i < rpc->n_peers; i++)
        lives |= strcmp(rpc->peers[i].service, service) == 0 && tab_mono_ms() - rpc->peers[i].heard < GONE_MS;
    pthread_mutex_unlock(&rpc->lock);
    return lives;
}

/* They may have lost one NATS server together, and be on their way to another. */
bool rpc_peers_just_fell(tab_rpc *rpc, const char *service)
{
    bool fell = false;
    pthread_mutex_lock(&rpc->lock);
    for (size_t i = 0; i < rpc->n_peers; i++)
        fell |= strcmp(rpc->peers[i].service, service) == 0 && tab_mono_ms() - rpc->peers[i].heard < BACK_MS;
    pthread_mutex_unlock(&rpc->lock);
    return fell;
}

bool rpc_peers_mute(const tab_rpc *rpc, const char *service)
{
    for (size_t i = 0; i < rpc->n_peers; i++)
        if (strcmp(rpc->peers[i].service, service) == 0 && tab_mono_ms() - rpc->peers[i].heard < FORGOTTEN_MS)
            return true;
    return false;
}

bool rpc_peer_known(tab_rpc *rpc, const char *worker)
{
    return worker[0] != 0 && find(rpc, worker) != NULL;
}

void rpc_peer_silent(tab_rpc *rpc, const char *worker)
{
    rpc_peer *p = find(rpc, worker);
    if (p != NULL)
        p->silent = tab_mono_ms();
}

void tab_rpc_able(tab_rpc *rpc, bool able)
{
    atomic_store(&rpc->unable, !able);
}

void rpc_peers_say(tab_rpc *rpc, int64_t now, bool leaves)
{
    char subject[80], text[48];
    bool unable = !leaves && atomic_load(&rpc->unable);
    if (!rpc->serves || atomic_load(&rpc->draining) || !rpc_connected(rpc) ||
        (!leaves && now - rpc->said_here < HERE_MS))
        return;
    rpc->said_here = now;
    snprintf(subject, sizeof subject, HERE "%s", rpc->service);
    snprintf(text, sizeof text, "%s%s%s", leaves || unable ? LEAVES : "", rpc->worker, unable ? UNABLE : "");
    natsConnection_PublishString(rpc->nc, subject, text);
}
