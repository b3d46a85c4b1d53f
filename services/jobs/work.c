/* See work.h: the threads. The workflow of each kind of job is a file of its own: work_run.c (run, batch),
 * work_endpoint.c (create, refresh, upgrade), work_sync.c, work_generate.c, work_serve.c (serve). */
#include "services/jobs/work.h"

#include <assert.h>
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/point.h"
#include "common/base/proto.h"
#include "common/run/trace.h"

/* Of the attempts of jobs that no request made so many are traced, where TAB_OTLP is set; what fails is,
 * always. The others are in their request's trace. */
#define JOBS_SPANS 0.1
enum { BEAT_MS = 500, POLL_MS = 1000 };
_Static_assert(JOBS_LEASE_S * 1000 > 4 * BEAT_MS, "a lease outlives some beats that are missed");

/* ---- subscriptions --------------------------------------------------------------------------- */

static void on_wake(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    jobs *self = arg;
    atomic_store(&self->woken, true);
    pthread_cond_signal(&self->wake);
    natsMsg_Destroy(m);
}

static void on_progress(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    jobs *self = arg;
    int n = natsMsg_GetDataLength(m);
    Tabella__Progress *p =
        n > 4096 ? NULL : tabella__progress__unpack(NULL, (size_t)n, (const uint8_t *)natsMsg_GetData(m));
    if (p != NULL) {
        double done = p->done < 0 ? 0 : p->done > 1 ? 1 : p->done;
        pthread_mutex_lock(&self->lock);
        for (work *w = self->held; w != NULL; w = w->next)
            if (strcmp(w->call_id, p->call_id) == 0) {
                int at = (int)(100 * (w->from + (w->to - w->from) * done));
                if (at > w->progress)
                    w->progress = at > 99 ? 99 : at;
                assert(w->from >= 0 && w->from <= w->to && w->to <= 1 && w->progress < 100);
                if (p->phase[0] != 0)
                    snprintf(w->phase, sizeof w->phase, "%s", p->phase);
            }
        pthread_mutex_unlock(&self->lock);
        tabella__progress__free_unpacked(p, NULL);
    }
    natsMsg_Destroy(m);
}

/* ---- the beat -------------------------------------------------------------------------------- */

static void sleep_ms(const atomic_bool *stop, int64_t ms)
{
    for (tab_deadline end = tab_in_ms(ms); !atomic_load(stop) && tab_left_ms(end, 1) > 0;) {
        struct timespec t = { 0, 50000000 };
        nanosleep(&t, NULL);
    }
}

static void *beat(void *arg)
{
    jobs *self = arg;
    while (!atomic_load(&self->beats_end)) {
        /* The list is short (one a worker), so that it is walked by position: a worker that leaves it
         * waits for the lock, and the lease is renewed from a copy of what that needs. */
        for (size_t i = 0;; i++) {
            pthread_mutex_lock(&self->lock);
            work *w = self->held;
            for (size_t k = 0; k < i && w != NULL; k++)
                w = w->next;
            if (w == NULL) {
                pthread_mutex_unlock(&self->lock);
                break;
            }
            jobs_claimed copy = { .attempt = w->c->attempt };
            memcpy(copy.org, w->c->org, sizeof copy.org);
            memcpy(copy.job_id, w->c->job_id, sizeof copy.job_id);
            char phase[sizeof w->phase];
            memcpy(phase, w->phase, sizeof phase);
            int progress = w->progress;
            bool lost = atomic_load(&w->lost);
            pthread_mutex_unlock(&self->lock);
            if (lost)
                continue;
            bool held = true;
            tab_error err = { 0 };
            TAB_POINT("jobs.renew");
            if (jobs_renew(self->pg, &copy, progress, phase, &held, &err) == TAB_OK && !held) {
                TAB_POINT("jobs.lost");
                jobs_cancel_call(self, copy.job_id, copy.attempt);
                pthread_mutex_lock(&self->lock);
                for (work *x = self->held; x != NULL; x = x->next)
                    if (strcmp(x->c->job_id, copy.job_id) == 0 && x->c->attempt == copy.attempt) {
                        atomic_store(&x->lost, true);
                        atomic_store(&x->gone, true);
                    }
                pthread_mutex_unlock(&self->lock);
            }
        }
        sleep_ms(&self->beats_end, BEAT_MS);
    }
    return NULL;
}

static void *sweep(void *arg)
{
    jobs *self = arg;
    while (!atomic_load(&self->stop)) {
        jobs_swept s;
        tab_error err = { 0 };
        tab_status st = jobs_sweep(self->pg, &s, &err);
        if (st == TAB_OK) {
            atomic_store(&self->queued, s.queued);
            atomic_store(&self->running, s.running);
            atomic_store(&self->mean_ms, (int64_t)(s.mean_s * 1000));
            jobs_tell_open(s.of);
            if (s.requeued + s.failed + s.expired > 0) {
                tab_log(TAB_WARN, "sweep: %zu queued again, %zu failed, %zu expired", s.requeued, s.failed,
                        s.expired);
                jobs_wake(self);
            }
        } else if (st != TAB_UNAVAILABLE && st != TAB_CANCELLED) {
            tab_log(TAB_ERROR, "sweep: %s", err.message);
        }
        sleep_ms(&self->stop, 1000);
    }
    return NULL;
}

/* Chores call other services and wait for them: a thread of their own, so that no lost lease does. */
static void *chores(void *arg)
{
    jobs *self = arg;
    while (!atomic_load(&self->stop)) {
        chores_do(self);
        jobs_retain(self);
        sleep_ms(&self->stop, 1000);
    }
    return NULL;
}

/* ---- a worker -------------------------------------------------------------------------------- */

static tab_status fail_job(work *w, const char *message, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    jobs_end end = { .status = "failed", .error = message };
    tab_status s = work_begin(w, 10000, &tx, err);
    if (s == TAB_OK)
        s = jobs_finish(tx, w->c, &end, err);
    if (s == TAB_OK && w->c->endpoint_id[0] != 0) {
        s = tab_tx_query(tx, NULL, err, "INSERT INTO jobs.chore (org, kind, owner) VALUES ($1, 'pins', $2)",
                         TAB_P(tab_p_text(w->c->org), tab_p_text(w->c->endpoint_id)));
        char event[32];
        snprintf(event, sizeof event, "%s.failed", w->c->kind);
        if (s == TAB_OK)
            s = endpoint_log(tx, w->c->org, w->c->endpoint_id, event, w->c->job_id, "system", err, "%s",
                             message);
        if (s == TAB_OK && w->unread)
            s = endpoint_stale(tx, w->c->arena, w->c->org, w->c->endpoint_id, w->c->job_id, message, err);
    }
    if (s == TAB_OK && (s = tab_tx_commit(&tx, err)) == TAB_OK)
        jobs_count_end(w->c->kind, "failed");
    return s;
}

/* What an attempt that ended in an error means for its job. */
static void settle(work *w, tab_status s, const tab_error *why)
{
    jobs *self = w->self;
    tab_error err = { 0 };
    tab_status st;
    TAB_POINT("jobs.settle");
    if (atomic_load(&w->lost))
        return;
    bool away = s == TAB_UNAVAILABLE, lost = tab_rpc_lost(s, why), killed = s == TAB_JOB_FAILED;
    bool ours = s == TAB_CANCELLED && atomic_load(&self->stop), theirs = tab_rpc_stopped(s, why);
    /* in inference, which can run it alone */
    bool passes = strcmp(w->c->work, "sync") != 0 && strcmp(w->c->work, "serve") != 0;
    bool again = w->c->age_s < self->give_up_s;
    if (ours || theirs) {
        st = jobs_requeue(self->pg, w->c, 0, JOBS_BLAMELESS,
                          ours ? "its worker is shutting down" : why->message, &err);
    } else if (killed && w->c->killed + 1 < JOBS_KILLED) {
        st = jobs_requeue(self->pg, w->c, 1000, JOBS_KILLER, why->message, &err);
    } else if (lost && again && passes && !w->c->suspect) {
        st = jobs_requeue(
            self->pg, w->c, 1000, JOBS_SUSPECTED,
            "its worker died, possibly because of this job; from now on it runs in a process of its own",
            &err);
    } else if (away && again && (!lost || w->c->tries < JOBS_TRIES)) {
        st = jobs_requeue(self->pg, w->c, 1000 << (w->c->tries < 4 ? w->c->tries - 1 : 3),
                          lost ? JOBS_TRIED : JOBS_BLAMELESS, why->message, &err);
    } else {
        char message[sizeof why->message + 64];
        if (killed)
            snprintf(message, sizeof message,
                     "the computation crashed each of the %d times it ran in a process of its own",
                     (int)JOBS_KILLED);
        else if (lost && again)
            snprintf(message, sizeof message, "the job was started %lld times and its worker died each time",
                     (long long)w->c->tries);
        else
            snprintf(message, sizeof message, "%s%s",
                     s == TAB_CANCELLED ? "the computation exceeded its time limit" : why->message,
                     away ? " (given up after several tries)" : "");
        st = fail_job(w, message, &err);
    }
    if (st != TAB_OK && st != TAB_CANCELLED)
        tab_log(TAB_WARN, "job %s: %s; its lease will run out", w->c->job_id, err.message);
    jobs_wake(self);
}

/* Before the next worker asks for a job: it counts those that are held. */
static void hold(work *w)
{
    jobs *self = w->self;
    snprintf(w->call_id, sizeof w->call_id, "%s-%lld", w->c->job_id, (long long)w->c->attempt);
    pthread_mutex_lock(&self->lock);
    atomic_store(&w->gone, atomic_load(&self->stop));
    w->next = self->held;
    self->held = w;
    pthread_mutex_unlock(&self->lock);
}

static void work_on(work *w)
{
    jobs *self = w->self;
    jobs_claimed *c = w->c;
    tab_log_context(c->request_id, c->org);
    tab_log_fields(TAB_INFO, "job taken", "job_id", c->job_id, "kind", c->kind, NULL);
    jobs_count_wait(c->kind, c->waited_s);
    tab_span span = c->trace[0] != 0 ? tab_span_begin(c->trace) : tab_span_first(JOBS_SPANS);
    int64_t began = tab_mono_ms();
    tab_error err = { 0 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_status s;
    if (a == NULL)
        s = tab_fail(&err, TAB_UNAVAILABLE, "", "out of memory");
    else if (c->endpoint_id[0] != 0)
        s = work_endpoint(w, a, &err);
    else if (strcmp(c->work, "sync") == 0)
        s = work_sync(w, a, &err);
    else if (strcmp(c->work, "generate") == 0)
        s = work_generate(w, a, &err);
    else if (strcmp(c->work, "serve") == 0)
        s = work_serve(w, a, &err);
    else
        s = work_run(w, a, &err);
    if (s != TAB_OK)
        settle(w, s, &err);

    pthread_mutex_lock(&self->lock);
    for (work **p = &self->held; *p != NULL; p = &(*p)->next)
        if (*p == w) {
            *p = w->next;
            break;
        }
    pthread_mutex_unlock(&self->lock);
    tab_span_end(&span, c->work, s != TAB_OK, "tabella.request_id", c->request_id, "tabella.org", c->org,
                 "tabella.job_id", c->job_id, "tabella.status", tab_status_name(s), NULL);
    jobs_count_attempt(c->kind,
                       s == TAB_OK            ? "ok"
                       : s == TAB_UNAVAILABLE ? "away"
                                              : "error",
                       (double)(tab_mono_ms() - began) / 1000.0);
    if (s == TAB_OK)
        jobs_count_end(c->kind, "done");
    tab_log_fields(TAB_INFO, s == TAB_OK ? "job ended" : "attempt ended", "job_id", c->job_id, "status",
                   tab_status_name(s), "why", err.message, NULL);
    tab_log_context(NULL, NULL);
    tab_span_leave();
}

/* The organizations that have as many jobs at work here as there are workers left, counting the one that
 * asks; as one text. */
static void full_ones(jobs *self, char *ret, size_t size)
{
    size_t busy = 0, used = 0;
    pthread_mutex_lock(&self->lock);
    for (const work *w = self->held; w != NULL; w = w->next)
        busy++;
    for (const work *w = self->held; w != NULL; w = w->next) {
        size_t own = 0;
        bool first = true;
        for (const work *x = self->held; x != NULL; x = x->next)
            own += strcmp(x->c->org, w->c->org) == 0;
        for (const work *x = self->held; x != w; x = x->next)
            first = first && strcmp(x->c->org, w->c->org) != 0;
        if (first && own + busy >= (size_t)self->workers && used + strlen(w->c->org) + 2 < size)
            used += (size_t)snprintf(ret + used, size - used, "%s%s", used > 0 ? " " : "", w->c->org);
    }
    pthread_mutex_unlock(&self->lock);
    ret[used] = 0;
}

/* With `take` held: sleeps until woken, or a poll's time after anybody found nothing: however many workers
 * are idle, one asks a second. True: somebody may have asked meanwhile. */
static bool wait_turn(jobs *self, int64_t back_off)
{
    int64_t left = self->none_at + POLL_MS + 1000 * back_off - tab_mono_ms();
    if (self->none_at == 0 || left <= 0 || atomic_load(&self->woken) || atomic_load(&self->stop))
        return false;
    tab_cond_wait(&self->wake, &self->take, tab_in_ms(left));
    return true;
}

static void *worker(void *arg)
{
    jobs *self = arg;
    int64_t back_off = 0;
    bool ended = false; /* a job, whose end may let another begin */
    while (!atomic_load(&self->stop)) {
        jobs_claimed *c = NULL;
        tab_error err = { 0 };
        pthread_mutex_lock(&self->take);
        if (!ended && wait_turn(self, back_off)) {
            pthread_mutex_unlock(&self->take);
            continue;
        }
        atomic_store(&self->woken, false);
        char full[4096];
        full_ones(self, full, sizeof full);
        tab_status s = atomic_load(&self->stop) ? TAB_OK : jobs_claim(self->pg, full, &c, &err);
        self->none_at = c == NULL ? tab_mono_ms() : 0;
        back_off = c != NULL || s == TAB_OK ? 0 : back_off < 4 ? back_off + 1 : 4;
        work w = { .self = self, .c = c, .phase = "starting", .to = 1 };
        if (c != NULL) {
            TAB_POINT("jobs.claimed");
            hold(&w);
        }
        pthread_mutex_unlock(&self->take);
        ended = c != NULL;
        if (c != NULL) {
            work_on(&w);
            jobs_claimed_free(c);
        }
    }
    return NULL;
}

bool jobs_work_start(jobs *self)
{
    pthread_cond_init(&self->wake, NULL);
    pthread_mutex_init(&self->take, NULL);
    pthread_mutex_init(&self->lock, NULL);
    if (!tab_rpc_listen(self->rpc, "tabella.progress.*", on_progress, self) ||
        !tab_rpc_listen(self->rpc, "tabella.jobs.wake", on_wake, self))
        return false;
    self->thread = calloc((size_t)self->workers, sizeof *self->thread);
    if (self->thread == NULL)
        return false;
    while (self->n_thread < self->workers &&
           pthread_create(&self->thread[self->n_thread], NULL, worker, self) == 0)
        self->n_thread++;
    self->beats = pthread_create(&self->beat_thread, NULL, beat, self) == 0;
    self->sweeps = pthread_create(&self->sweep_thread, NULL, sweep, self) == 0;
    self->chores = pthread_create(&self->chore_thread, NULL, chores, self) == 0;
    return self->n_thread == self->workers && self->beats && self->sweeps && self->chores;
}

void jobs_work_stop(jobs *self)
{
    /* What is at work is given up at whatever it calls, begins no further step, and is handed back to the
     * queue. */
    pthread_mutex_lock(&self->lock);
    atomic_store(&self->stop, true);
    for (work *w = self->held; w != NULL; w = w->next)
        atomic_store(&w->gone, true);
    pthread_mutex_unlock(&self->lock);
    pthread_cond_broadcast(&self->wake);
    for (int64_t i = 0; i < self->n_thread; i++)
        pthread_join(self->thread[i], NULL);
    atomic_store(&self->beats_end, true);
    if (self->beats)
        pthread_join(self->beat_thread, NULL);
    if (self->sweeps)
        pthread_join(self->sweep_thread, NULL);
    if (self->chores)
        pthread_join(self->chore_thread, NULL);
    free(self->thread);
}
