/* Subscriptions, headers, numbers of calls and streams: what every part of the RPC stands on. */
#include <stdlib.h>

#include "common/integer.h"
#include "common/log.h"
#include "common/rpc_internal.h"

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

static void sub_ended(void *arg)
{
    tab_rpc *rpc = arg;
    pthread_mutex_lock(&rpc->lock);
    rpc->live_subs--;
    pthread_cond_broadcast(&rpc->changed);
    pthread_mutex_unlock(&rpc->lock);
}

bool rpc_subscribe(tab_rpc *rpc, const char *subject, const char *group, natsMsgHandler fn)
{
    natsSubscription *s = NULL;
    natsStatus st = group == NULL ? natsConnection_Subscribe(&s, rpc->nc, subject, fn, rpc)
                                  : natsConnection_QueueSubscribe(&s, rpc->nc, subject, group, fn, rpc);
    if (st != NATS_OK) {
        tab_log(TAB_ERROR, "cannot subscribe %s: %s", subject, natsStatus_GetText(st));
        return false;
    }
    natsSubscription_SetPendingLimits(s, -1, -1);
    pthread_mutex_lock(&rpc->lock);
    rpc->sub[rpc->n_sub++] = s;
    rpc->live_subs += natsSubscription_SetOnCompleteCB(s, sub_ended, rpc) == NATS_OK;
    pthread_mutex_unlock(&rpc->lock);
    return true;
}

void rpc_watch(tab_rpc *rpc, tab_deadline deadline)
{
    if (rpc->watches_at == 0 || deadline < rpc->watches_at)
        pthread_cond_signal(&rpc->tick);
}
