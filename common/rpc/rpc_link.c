/* Subscriptions, headers, numbers of calls and streams: what every part of the RPC stands on. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/integer.h"
#include "common/base/log.h"
#include "common/rpc/rpc_internal.h"

bool rpc_connected(const tab_rpc *rpc)
{
    return rpc->nc != NULL && natsConnection_Status(rpc->nc) == NATS_CONN_STATUS_CONNECTED;
}

uint64_t rpc_new_id(tab_rpc *rpc)
{
    return ++rpc->next_id;
}

uint64_t rpc_id_of(const char *subject)
{
    const char *dot = subject == NULL ? NULL : strrchr(subject, '.');
    return dot == NULL ? 0 : strtoull(dot + 1, NULL, 16);
}

const char *rpc_header(natsMsg *m, const char *name)
{
    const char *v = NULL;
    return natsMsgHeader_Get(m, name, &v) == NATS_OK && v != NULL ? v : "";
}

int64_t rpc_header_int(natsMsg *m, const char *name, int64_t most, int64_t otherwise)
{
    int64_t x;
    return tab_integer_read(tab_str_of(rpc_header(m, name)), 0, most, &x) ? x : otherwise;
}

/* The library gives up for good once a server has refused the password twice, as during a rotation. Whoever
 * first finds the connection closed says so, and no process ends before it is said. */
void rpc_say_refused(tab_rpc *rpc)
{
    pthread_mutex_lock(&rpc->lock);
    if (!rpc->said_refused)
        tab_log(TAB_ERROR,
                "NATS refuses our user and password: TAB_NATS_USER and TAB_NATS_PASSWORD are to be those "
                "of its configuration");
    rpc->said_refused = true;
    pthread_mutex_unlock(&rpc->lock);
}

static void sub_ended(void *arg)
{
    tab_rpc *rpc = arg;
    pthread_mutex_lock(&rpc->lock);
    rpc->live_subs--;
    pthread_cond_broadcast(&rpc->changed);
    pthread_mutex_unlock(&rpc->lock);
}

/* NATS' library wakes a thread of its own for a message to be freed: once for a group of them. */
void rpc_msg_end(tab_rpc *rpc, natsMsg *m)
{
    natsMsg *list[RPC_SPENT];
    size_t n = 0;
    if (m == NULL)
        return;
    pthread_mutex_lock(&rpc->spent.lock);
    rpc->spent.of[rpc->spent.n++] = m;
    if (rpc->spent.n == RPC_SPENT || natsMsg_GetDataLength(m) > RPC_SPENT_BYTES) {
        n = rpc->spent.n;
        memcpy(list, rpc->spent.of, n * sizeof *list);
        rpc->spent.n = 0;
    }
    pthread_mutex_unlock(&rpc->spent.lock);
    for (size_t i = 0; i < n; i++)
        natsMsg_Destroy(list[i]);
}

/* In a group of its own a process gets each message once, however many connections it has (rpc_nats.c).
 * Without one it gets it by each; NATS tells only such subscriptions that nobody listens. */
bool rpc_subscribe_on(tab_rpc *rpc, natsConnection *nc, const rpc_sub *of, natsSubscription **ret)
{
    natsStatus st = of->group[0] == 0
                        ? natsConnection_Subscribe(ret, nc, of->subject, of->fn, of->arg)
                        : natsConnection_QueueSubscribe(ret, nc, of->subject, of->group, of->fn, of->arg);
    if (st == NATS_CONNECTION_CLOSED) { /* this thread may learn it before NATS' callback runs */
        rpc_say_refused(rpc);
        return false;
    }
    if (st != NATS_OK) {
        tab_log(TAB_ERROR, "cannot subscribe %s: %s", of->subject, natsStatus_GetText(st));
        return false;
    }
    natsSubscription_SetPendingLimits(*ret, -1, -1);
    pthread_mutex_lock(&rpc->lock);
    rpc->live_subs += natsSubscription_SetOnCompleteCB(*ret, sub_ended, rpc) == NATS_OK;
    pthread_mutex_unlock(&rpc->lock);
    return true;
}

bool rpc_subscribe(tab_rpc *rpc, const char *subject, const char *group, natsMsgHandler fn, void *arg)
{
    natsSubscription *s = NULL;
    if (rpc->n_sub == sizeof rpc->sub / sizeof *rpc->sub)
        return false;
    rpc_sub *of = &rpc->sub_of[rpc->n_sub];
    snprintf(of->subject, sizeof of->subject, "%s", subject);
    snprintf(of->group, sizeof of->group, "%s", group == NULL ? rpc->worker : group);
    of->fn = fn;
    of->arg = arg;
    if (!rpc_subscribe_on(rpc, rpc->nc, of, &s))
        return false;
    pthread_mutex_lock(&rpc->lock);
    rpc->sub[rpc->n_sub++] = s;
    pthread_mutex_unlock(&rpc->lock);
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

void rpc_publish(tab_rpc *rpc, natsMsg *m)
{
    pthread_mutex_lock(&rpc->unsent.lock);
    bool waits = !rpc_connected(rpc) && rpc->unsent.n < RPC_UNSENT;
    if (waits)
        rpc->unsent.of[rpc->unsent.n++] = m;
    pthread_mutex_unlock(&rpc->unsent.lock);
    if (waits)
        return;
    natsConnection_PublishMsg(rpc->nc, m);
    rpc_msg_end(rpc, m);
}

void rpc_publish_unsent(tab_rpc *rpc)
{
    pthread_mutex_lock(&rpc->unsent.lock);
    for (size_t i = 0; i < rpc->unsent.n; i++) {
        natsConnection_PublishMsg(rpc->nc, rpc->unsent.of[i]);
        rpc_msg_end(rpc, rpc->unsent.of[i]);
    }
    rpc->unsent.n = 0;
    pthread_mutex_unlock(&rpc->unsent.lock);
}

bool tab_rpc_listen(tab_rpc *rpc, const char *subject, tab_rpc_heard *heard, void *arg)
{
    return rpc_subscribe(rpc, subject, NULL, heard, arg);
}

void rpc_watch(tab_rpc *rpc, tab_deadline deadline)
{
    if (rpc->watches_at == 0 || deadline < rpc->watches_at)
        pthread_cond_signal(&rpc->tick);
}
