/* Where states belong: each key to two of the live workers, by rendezvous hashing. Calls go to the first,
 * which has the state in memory; the second has it on its disk, and answers when the first does not (decision
 * 0408).
 *
 *   state written ──> told ──> Hold at the other home ──> fetched from the database to its disk */
#include <stdio.h>

#include "common/base/hash.h"
#include "services/inference/inference.h"
#include "services/inference/states/state_store.h"

enum { HOLD_MS = 2000 };

/* Highest random weight (Thaler & Ravishankar, 1998): each worker's weight for the key is a hash of both. A
 * worker that comes or goes moves only the keys that are its own. */
static uint64_t weight(const char *worker, const char *key)
{
    uint64_t h = tab_fnv1a(TAB_FNV1A, worker, strlen(worker));
    h = tab_fnv1a(h, "\xff", 1);
    h = tab_fnv1a(h, key, strlen(key));
    h ^= h >> 33; /* FNV's low bits are weak: finish as MurmurHash3 does */
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
}

/* Puts a worker in its place among the best two. */
static void consider(const char *worker, const char *key, uint64_t most[2], char ret[2][40])
{
    uint64_t w = weight(worker, key);
    for (int i = 0; i < 2; i++) {
        if (ret[i][0] != 0 && (w < most[i] || (w == most[i] && strcmp(worker, ret[i]) < 0)))
            continue;
        if (i == 0) {
            most[1] = most[0];
            memcpy(ret[1], ret[0], sizeof *ret);
        }
        most[i] = w;
        snprintf(ret[i], sizeof ret[i], "%s", worker);
        return;
    }
}

static bool ours(const peer *p)
{
    return strcmp(p->release, state_release()) == 0;
}

void homes_of(inference *self, const char *key, char ret[2][40])
{
    uint64_t most[2] = { 0 };
    memset(ret, 0, 2 * sizeof *ret);
    int64_t now = tab_mono_ms();
    pthread_mutex_lock(&self->lock);
    if (!atomic_load(&self->leaves))
        consider(tab_rpc_worker(self->rpc), key, most, ret);
    for (size_t i = 0; i < self->n_peers; i++)
        if (peer_lives(self, &self->peers[i], now) && ours(&self->peers[i]))
            consider(self->peers[i].id, key, most, ret);
    pthread_mutex_unlock(&self->lock);
}

void home_of_release(inference *self, const char *key, const char *release, char ret[40])
{
    uint64_t most[2] = { 0 };
    char home[2][40] = { "", "" };
    int64_t now = tab_mono_ms();
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->n_peers; i++) {
        const peer *p = &self->peers[i];
        if (peer_lives(self, p, now) && !ours(p) && (p->release[0] == 0 || strcmp(p->release, release) == 0))
            consider(p->id, key, most, home);
    }
    pthread_mutex_unlock(&self->lock);
    memcpy(ret, home[0], sizeof *home);
}

bool homes_other_release(inference *self)
{
    bool any = false;
    int64_t now = tab_mono_ms();
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->n_peers; i++)
        any |= peer_lives(self, &self->peers[i], now) && !ours(&self->peers[i]);
    pthread_mutex_unlock(&self->lock);
    return any;
}

void homes_tell(inference *self, const char *key)
{
    pthread_mutex_lock(&self->lock);
    if (self->told != NULL && self->n_told < HOMES_MOST) /* what is not told is fetched when it is called */
        snprintf(self->told[self->n_told++], HOME_KEY, "%s", key);
    pthread_mutex_unlock(&self->lock);
}

/* Takes one key that was noted; false: there is none. */
static bool next_told(inference *self, char key[HOME_KEY])
{
    pthread_mutex_lock(&self->lock);
    bool any = self->n_told > 0;
    if (any)
        memcpy(key, self->told[--self->n_told], HOME_KEY);
    pthread_mutex_unlock(&self->lock);
    return any;
}

static void tell(inference *self, const char *key)
{
    char home[2][40];
    homes_of(self, key, home);
    const char *own = tab_rpc_worker(self->rpc);
    for (int i = 0; i < 2; i++) {
        if (home[i][0] == 0 || strcmp(home[i], own) == 0)
            continue;
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        Tabella__HoldState q = TABELLA__HOLD_STATE__INIT;
        q.key = (char *)(uintptr_t)key;
        tab_ask ask = { .service = "inference",
                        .method = "Hold",
                        .worker = home[i],
                        .org = "",
                        .actor = "inference",
                        .deadline = tab_in_ms(HOLD_MS),
                        .in = &q.base,
                        .reply = &tabella__hold_reply__descriptor,
                        .arena = a,
                        .gone = &self->ends };
        tab_answer answer;
        tab_error err = { 0 };
        if (a != NULL)
            (void)!tab_rpc_call(self->rpc, &ask, &answer, &err);
    }
}

void homes_send(inference *self)
{
    char key[HOME_KEY];
    while (!atomic_load(&self->ends) && next_told(self, key))
        tell(self, key);
}

tab_status homes_hold(void *arg, tab_call *call, tab_error *err)
{
    inference *self = arg;
    const Tabella__HoldState *q = call->in;
    (void)err;
    if (self->store != NULL && strcmp(call->actor, "inference") == 0)
        state_store_fetch(self->store, q->key);
    return TAB_OK;
}
