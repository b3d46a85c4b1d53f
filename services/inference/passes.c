/* Calls that compute: slots, cancellation by name, progress, and who else computes. */
#include <nats/nats.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "services/inference/inference.h"
#include "services/inference/states/state_store.h"

enum { TICK_MS = 100, TELL_MS = 250, ALIVE_MS = 1000, DEAD_MS = 3000 };

/* ---- passes ---------------------------------------------------------------------------------- */

static void tell(pass *p, const char *phase, double done, bool now)
{
    int64_t t = tab_mono_ms();
    bool changed = strncmp(p->phase, phase, sizeof p->phase - 1) != 0;
    if (p->told_as[0] == 0 || (!now && !changed && t - p->told < TELL_MS))
        return;
    natsConnection *nc = tab_rpc_nats(p->self->rpc);
    if (nc == NULL)
        return;
    p->told = t;
    p->done = done > p->done ? done : p->done;
    snprintf(p->phase, sizeof p->phase, "%s", phase);
    Tabella__Progress m = TABELLA__PROGRESS__INIT;
    m.call_id = (char *)(uintptr_t)p->told_as;
    m.phase = p->phase;
    m.done = p->done;
    uint8_t bytes[512];
    char subject[128];
    if (tabella__progress__get_packed_size(&m) > sizeof bytes)
        return;
    size_t n = tabella__progress__pack(&m, bytes);
    snprintf(subject, sizeof subject, "tabella.progress.%s", p->told_as);
    (void)natsConnection_Publish(nc, subject, bytes, (int)n);
}

static void on_progress(void *arg, const char *phase, double done)
{
    pass *p = arg;
    pass_phase(p, phase);
    done = done < 0 ? 0 : done > 1 ? 1 : done;
    tell(p, phase, p->from + (p->to - p->from) * done, false);
}

/* A name from outside becomes a NATS subject: letters, digits, '-' and '_' alone. */
static bool plain(const char *s)
{
    return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == strlen(s) &&
           strlen(s) <= 100;
}

/* Gives free slots to those whose turn it is. The lock is held. */
static void give_slots(inference *self)
{
    bool any = false;
    for (tab_turn *t; (t = tab_fair_queue_take(self->slots)) != NULL; any = true)
        ((pass *)(void *)((char *)t - offsetof(pass, turn)))->slotted = true;
    if (any)
        pthread_cond_broadcast(&self->slot);
}

/* Counts what passes computed up to now for their organizations' shares. The lock is held. */
static void count_shares(inference *self, int64_t now)
{
    for (pass *p = self->running; p != NULL; p = p->next)
        if (p->counted > 0) {
            tab_shares_add(self->shares, p->call->org, now - p->counted, now);
            p->counted = now;
        }
}

/* A pass whose caller waits goes before a job; an organization that computed little lately goes before one
 * that computed much. The lock is held. */
static void rank(pass *p)
{
    int64_t now = tab_mono_ms();
    count_shares(p->self, now);
    p->behind = p->call_id[0] != 0 || tab_shares_over(p->self->shares, p->call->org, now);
    p->counted = now;
}

tab_status pass_begin(pass *p, inference *self, const tab_call *call, const char *call_id, bool heavy,
                      tab_error *err)
{
    *p = (pass){ .self = self,
                 .call = call,
                 .call_id = call_id != NULL && plain(call_id) ? call_id : "",
                 .gone = call->cancel,
                 .to = 1 };
    p->told_as = p->call_id;
    pthread_mutex_lock(&self->lock);
    p->next = self->running;
    self->running = p;
    bool waits =
        heavy && tab_fair_queue_put(self->slots, p->call_id[0] == 0 ? AWAITED : JOBS, call->org, &p->turn);
    give_slots(self);
    pass_phase(p, waits ? "queue" : NULL);
    p->waits = waits;
    while (waits && !p->slotted && !atomic_load(&p->cancel) && !self->stop)
        pthread_cond_wait(&self->slot, &self->lock);
    p->waits = false;
    bool go = !atomic_load(&p->cancel) && !self->stop && waits == heavy;
    if (go && heavy)
        rank(p);
    pthread_mutex_unlock(&self->lock);
    if (!go) {
        pass_end(p);
        return tab_fail(err, TAB_CANCELLED, "", "the call ended while it was waiting");
    }
    if (heavy) {
        pass_phase(p, "read");
        pass_count(call);
        tell(p, "reading", 0, true);
    }
    return TAB_OK;
}

void pass_told_as(pass *p, const char *name)
{
    if (!plain(name))
        return;
    p->told_as = name;
    tell(p, "reading", 0, true);
}

void pass_end(pass *p)
{
    inference *self = p->self;
    pass_phase(p, NULL);
    pthread_mutex_lock(&self->lock);
    if (p->counted > 0)
        count_shares(self, tab_mono_ms());
    for (pass **at = &self->running; *at != NULL; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    tab_fair_queue_end(self->slots, &p->turn);
    give_slots(self);
    pthread_mutex_unlock(&self->lock);
}

tab_engine pass_engine(pass *p, tab_arena *a, uint64_t seed)
{
    return (tab_engine){ .arena = a,
                         .cancel = &p->cancel,
                         .progress = on_progress,
                         .progress_arg = p,
                         .parallel_for = tab_pool_for,
                         .parallel_arg = p->behind ? p->self->behind : p->self->pool,
                         .seed = seed };
}

typedef struct {
    pass *p;
    void (*compute)(void *arg);
    void *arg;
} behind_work;

static void *compute_behind(void *arg)
{
    behind_work *w = arg;
    tab_pool_step_back();
    tab_log_context(w->p->call->request_id, w->p->call->org);
    tab_memory_enter(&w->p->memory);
    w->compute(w->arg);
    return NULL;
}

/* A thread that has lowered its priority cannot raise it again without a privilege. So each such pass runs
 * on a thread of its own. */
void pass_compute(pass *p, void (*compute)(void *arg), void *arg)
{
    behind_work w = { .p = p, .compute = compute, .arg = arg };
    pthread_t t;
    p->memory.most = p->self->pass_bytes;
    if (p->behind && pthread_create(&t, NULL, compute_behind, &w) == 0) {
        pthread_join(t, NULL);
        return;
    }
    tab_memory *before = tab_memory_enter(&p->memory);
    compute(arg);
    tab_memory_enter(before);
}

tab_status pass_status(const pass *p, tab_status s, tab_error *err)
{
    if (s == TAB_OK || s == TAB_CANCELLED)
        return s;
    if (atomic_load(&p->memory.full))
        return tab_fail(err, TAB_VALIDATION, "tables",
                        "the computation needs more memory than the limit of %lld MiB",
                        (long long)(p->self->pass_bytes >> 20));
    if (atomic_load(&p->memory.crowded))
        return tab_fail(err, TAB_UNAVAILABLE, "", "all memory is in use at the moment; try again");
    return s;
}

static void on_cancel(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    inference *self = arg;
    const char *name = strrchr(natsMsg_GetSubject(m), '.');
    pthread_mutex_lock(&self->lock);
    for (pass *p = self->running; name != NULL && p != NULL; p = p->next)
        if (strcmp(p->call_id, name + 1) == 0)
            atomic_store(&p->cancel, true);
    pthread_cond_broadcast(&self->slot);
    pthread_mutex_unlock(&self->lock);
    natsMsg_Destroy(m);
}

/* ---- who else is there ----------------------------------------------------------------------- */

static void on_alive(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    inference *self = arg;
    peer said = { .id = "" };
    size_t n = (size_t)natsMsg_GetDataLength(m);
    const char *text = natsMsg_GetData(m), *end = n == 0 ? NULL : memchr(text, ' ', n);
    size_t id = end == NULL ? n : (size_t)(end - text), rest = end == NULL ? 0 : n - id - 1;
    if (id > 0 && id < sizeof said.id && rest < sizeof said.release) {
        memcpy(said.id, text, id);
        if (rest > 0)
            memcpy(said.release, end + 1, rest);
        said.seen = tab_mono_ms();
        pthread_mutex_lock(&self->lock);
        size_t i = 0;
        while (i < self->n_peers && strcmp(self->peers[i].id, said.id) != 0)
            i++;
        if (i < MAX_WORKERS) {
            self->peers[i] = said;
            self->n_peers = i == self->n_peers ? i + 1 : self->n_peers;
        }
        pthread_mutex_unlock(&self->lock);
    }
    natsMsg_Destroy(m);
}

bool peer_lives(const inference *self, const peer *p, int64_t now)
{
    return now - p->seen <= DEAD_MS && strcmp(p->id, tab_rpc_worker(self->rpc)) != 0;
}

/* ---- the ticker ------------------------------------------------------------------------------ */

static void figures(void *arg)
{
    inference *self = arg;
    tab_states_figures f = tab_states_look(self->states);
    int64_t now = tab_mono_ms();
    size_t running = 0, waiting = 0, peers = 0;
    pthread_mutex_lock(&self->lock);
    for (const pass *p = self->running; p != NULL; p = p->next)
        *(p->waits ? &waiting : &running) += 1;
    for (size_t i = 0; i < self->n_peers; i++)
        peers += peer_lives(self, &self->peers[i], now);
    pthread_mutex_unlock(&self->lock);
    tab_metric_set(tab_gauge("tabella_inference_peers", "Other workers that live", NULL), (double)peers);
    tab_metric_set(tab_gauge("tabella_inference_running", "Calls that compute", NULL), (double)running);
    tab_metric_set(tab_gauge("tabella_inference_waiting", "Calls that wait for their turn", NULL),
                   (double)waiting);
    tab_metric_set(tab_gauge("tabella_inference_memory_bytes", "Large blocks of memory in use", NULL),
                   (double)tab_memory_used());
    tab_metric_set(tab_gauge("tabella_states", "Fitted states in memory", NULL), (double)f.count);
    tab_metric_set(tab_gauge("tabella_states_bytes", "Bytes of the fitted states", NULL), (double)f.bytes);
    tab_metric_set(tab_gauge("tabella_states_hits", "Serve calls that found their state", NULL),
                   (double)f.hits);
    tab_metric_set(
        tab_gauge("tabella_states_misses", "Serve calls that did not find their state in memory", NULL),
        (double)f.misses);
    tab_metric_set(tab_gauge("tabella_states_joined", "Serve calls that waited for a fit", NULL),
                   (double)f.joined);
    tab_metric_set(tab_gauge("tabella_forecasts_fitted", "Fits of other steps ahead than a state's", NULL),
                   (double)tab_states_look(self->forecasts).misses);
    tab_metric_set(tab_gauge("tabella_states_kept", "States handed over by the pass that made them", NULL),
                   (double)f.kept);
    if (self->store != NULL)
        state_store_figures(self->store);
    tab_metric_set(tab_gauge("tabella_states_evicted", "States pushed out", NULL), (double)f.evicted);
}

/* "WORKER RELEASE": longer than a name, which is what versions say and hear that know of no release, so that
 * they do not take us for a home of theirs. */
static void tell_alive(inference *self)
{
    char text[sizeof((peer *)0)->id + sizeof((peer *)0)->release];
    natsConnection *nc = tab_rpc_nats(self->rpc);
    int n = snprintf(text, sizeof text, "%s %s", tab_rpc_worker(self->rpc), state_release());
    if (nc != NULL)
        (void)natsConnection_Publish(nc, "tabella.inference.alive", text, n);
}

/* Sets the cancelled flag of passes whose call has ended, drops peers that are silent, and publishes that
 * this process lives. */
static void *tick(void *arg)
{
    inference *self = arg;
    int64_t said = 0;
    pthread_mutex_lock(&self->lock);
    while (!self->stop) {
        int64_t now = tab_mono_ms();
        bool woken = false;
        for (pass *p = self->running; p != NULL; p = p->next)
            if (p->gone != NULL && atomic_load(p->gone) && !atomic_exchange(&p->cancel, true))
                woken = true;
        for (size_t i = 0; i < self->n_peers; i++)
            if (now - self->peers[i].seen > 10 * DEAD_MS)
                self->peers[i--] = self->peers[--self->n_peers];
        if (woken)
            pthread_cond_broadcast(&self->slot);
        pthread_mutex_unlock(&self->lock);
        if (now - said >= ALIVE_MS && !self->alone && !atomic_load(&self->leaves)) {
            said = now;
            tell_alive(self);
        }
        struct timespec t = { 0, TICK_MS * 1000000 };
        nanosleep(&t, NULL);
        pthread_mutex_lock(&self->lock);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

bool inference_start(inference *self)
{
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->slot, NULL);
    if (!tab_rpc_listen(self->rpc, "tabella.cancel.*", on_cancel, self) ||
        !tab_rpc_listen(self->rpc, "tabella.inference.alive", on_alive, self))
        return false;
    self->ticks = pthread_create(&self->ticker, NULL, tick, self) == 0;
    pass_figures_start();
    tab_metrics_before(figures, self);
    return self->ticks;
}

void inference_stop(inference *self)
{
    tab_metrics_before(NULL, NULL);
    atomic_store(&self->ends, true);
    pthread_mutex_lock(&self->lock);
    self->stop = true;
    for (pass *p = self->running; p != NULL; p = p->next)
        atomic_store(&p->cancel, true);
    pthread_cond_broadcast(&self->slot);
    pthread_mutex_unlock(&self->lock);
    tab_states_wait(self->forecasts);
    tab_states_wait(self->states);
    if (self->ticks)
        pthread_join(self->ticker, NULL);
}
