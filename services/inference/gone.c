/* States of deleted endpoints: what was learned from a customer's rows leaves memory soon after the deletion,
 * not when the cache happens to need the room. Every process asks jobs about the endpoints that it holds, and
 * asks again: a message on each deletion could be lost, or overtake the fit that a last call has begun
 * (decision 0252). */
#include <stdio.h>
#include <time.h>

#include "common/base/log.h"
#include "proto/jobs.pb-c.h"
#include "services/inference/drift.h"
#include "services/inference/inference.h"

enum { ROUND_MS = 5000, STEP_MS = 200, IDS_MOST = 500, SEND_EACH_MS = 2000 };

/* "ORG/ENDPOINT/": of the key ORG/ENDPOINT/BASE/... (serve_key). 0: it is no such key. */
static size_t owner_of(const char *key, size_t *ret_org)
{
    const char *first = strchr(key, '/'), *second = first == NULL ? NULL : strchr(first + 1, '/');
    if (second == NULL)
        return 0;
    *ret_org = (size_t)(first - key);
    return (size_t)(second - key) + 1;
}

/* Asks about the endpoints of one organization and drops the states of those that are gone. */
static void ask(inference *self, tab_arena *a, const char *org, char **ids, size_t n)
{
    Tabella__GoneRequest q = TABELLA__GONE_REQUEST__INIT;
    q.ids = ids;
    q.n_ids = n;
    tab_ask ask = { .service = "jobs",
                    .method = "Gone",
                    .org = org,
                    .actor = "inference",
                    .deadline = tab_in_ms(ROUND_MS),
                    .in = &q.base,
                    .reply = &tabella__gone_reply__descriptor,
                    .arena = a,
                    .gone = &self->ends };
    tab_answer answer;
    tab_error err = { 0 };
    if (tab_rpc_call(self->rpc, &ask, &answer, &err) != TAB_OK)
        return; /* the next round asks again; an older jobs does not know the method */
    const Tabella__GoneReply *y = answer.msg;
    for (size_t i = 0; i < y->n_ids; i++) {
        const char *prefix = tab_arena_printf(a, "%s/%s/", org, y->ids[i]);
        if (prefix == NULL)
            return;
        tab_states_drop(self->states, tab_str_of(prefix));
        tab_log_fields(TAB_INFO, "states of a deleted endpoint dropped", "org", org, "endpoint", y->ids[i],
                       NULL);
    }
}

static void round_of(inference *self)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    size_t n, org;
    const char **key = a == NULL ? NULL : tab_states_keys(self->states, a, &n);
    char **ids = key == NULL ? NULL : tab_arena_new_of(a, char *, IDS_MOST);
    if (ids == NULL)
        return;
    for (size_t i = 0; i < n && !atomic_load(&self->ends);
         i++) { /* one round an organization: the first key left names it, and all of its keys are handled */
        if (key[i] == NULL || owner_of(key[i], &org) == 0)
            continue;
        const char *name = tab_arena_copy(a, (tab_str){ key[i], org }).p;
        size_t n_ids = 0;
        for (size_t j = i; name != NULL && j < n && n_ids < IDS_MOST; j++) {
            size_t other, end = key[j] == NULL ? 0 : owner_of(key[j], &other);
            if (end == 0 || other != org || memcmp(key[j], name, org) != 0)
                continue;
            ids[n_ids] = (char *)tab_arena_copy(a, (tab_str){ key[j] + org + 1, end - org - 2 }).p;
            n_ids += ids[n_ids] != NULL;
            key[j] = NULL;
        }
        if (n_ids > 0)
            ask(self, a, name, ids, n_ids);
    }
}

static bool stopped(inference *self)
{
    pthread_mutex_lock(&self->lock);
    bool stop = self->stop;
    pthread_mutex_unlock(&self->lock);
    return stop;
}

void *gone_states(void *arg)
{
    inference *self = arg;
    int64_t asked = tab_mono_ms(), sent = asked;
    while (!stopped(self)) {
        if (tab_mono_ms() - asked >= ROUND_MS) {
            round_of(self);
            asked = tab_mono_ms();
        }
        if (tab_mono_ms() - sent >= SEND_EACH_MS) {
            drift_send(self, &self->ends);
            sent = tab_mono_ms();
        }
        struct timespec t = { 0, STEP_MS * 1000000 };
        nanosleep(&t, NULL);
    }
    drift_send(self, NULL); /* what was counted last */
    return NULL;
}
