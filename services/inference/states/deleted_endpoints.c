/* States of deleted endpoints: what was learned from a customer's rows leaves memory, disks and database soon
 * after the deletion, not when the room happens to be needed. Every process asks jobs about the endpoints
 * that it holds, and asks again: a message on each deletion could be lost, or overtake the fit that a last
 * call has begun (decision 0252). One of them asks about the database's rows as well.
 *
 * A round is one question about at most MOST endpoints of any organizations, and of more the next round goes
 * on where this one stopped: what it costs does not grow with them (decision 0408). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/log.h"
#include "proto/jobs.pb-c.h"
#include "services/inference/inference.h"
#include "services/inference/serve/drift.h"
#include "services/inference/states/serve_state.h"
#include "services/inference/states/state_store.h"

enum { ROUND_MS = 5000, STEP_MS = 200, MOST = 2000, SEND_EACH_MS = 2000, OWNER = 200 };

/* Where a walk over owners ("ORG/ENDPOINT/", in their order) stands: behind this one; "": before all. */
typedef struct {
    char after[OWNER];
} walk;

static int by_owner(const void *a, const void *b)
{
    const state_owner *x = a, *y = b;
    int org = strcmp(x->org, y->org);
    return org != 0 ? org : strcmp(x->endpoint_id, y->endpoint_id);
}

/* The owners of what is kept in memory, in their order, each once. NULL: the arena is full. */
static state_owner *owners_here(inference *self, tab_arena *a, size_t *ret_n)
{
    size_t n, ahead, m = 0;
    const char **key = tab_states_keys(self->states, a, &n);
    const char **forecast = tab_states_keys(self->forecasts, a, &ahead);
    state_owner *all = tab_arena_full(a) ? NULL : tab_arena_new_of(a, state_owner, n + ahead + 1);
    for (size_t i = 0; all != NULL && i < n + ahead; i++) {
        tab_str org, id;
        if (state_owner_of(i < n ? key[i] : forecast[i - n], &org, &id).n == 0)
            continue;
        all[m++] = (state_owner){ tab_arena_copy(a, org).p, tab_arena_copy(a, id).p };
        if (all[m - 1].org == NULL || all[m - 1].endpoint_id == NULL)
            return NULL;
    }
    *ret_n = 0;
    if (all != NULL && m > 0)
        qsort(all, m, sizeof *all, by_owner);
    for (size_t i = 0; all != NULL && i < m; i++)
        if (i == 0 || by_owner(&all[i], &all[i - 1]) != 0)
            all[(*ret_n)++] = all[i];
    return all;
}

static void drop(inference *self, tab_arena *a, const state_owner *o)
{
    const char *prefix = tab_arena_printf(a, "%s/%s/", o->org, o->endpoint_id);
    if (prefix == NULL)
        return;
    tab_states_drop(self->states, tab_str_of(prefix));
    tab_states_drop(self->forecasts, tab_str_of(prefix));
    if (self->store != NULL && !state_store_drop(self->store, o->org, o->endpoint_id))
        return; /* the next round of the database's rows */
    tab_log_fields(TAB_INFO, "states of a deleted endpoint dropped", "org", o->org, "endpoint",
                   o->endpoint_id, NULL);
}

/* Asks about n owners, MOST at most, and drops the states of those that are gone. */
static void ask(inference *self, tab_arena *a, const state_owner *o, size_t n)
{
    Tabella__GoneRequest q = TABELLA__GONE_REQUEST__INIT;
    q.ids = tab_arena_new_of(a, char *, n + 1);
    q.orgs = tab_arena_new_of(a, char *, n + 1);
    if (n == 0 || q.ids == NULL || q.orgs == NULL)
        return;
    for (size_t i = 0; i < n; i++) {
        q.ids[i] = (char *)(uintptr_t)o[i].endpoint_id;
        q.orgs[i] = (char *)(uintptr_t)o[i].org;
    }
    q.n_ids = q.n_orgs = n;
    tab_ask ask = { .service = "jobs",
                    .method = "GoneOfAll",
                    .org = "",
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
    for (size_t i = 0; i < y->n_places; i++)
        if (y->places[i] < n)
            drop(self, a, &o[y->places[i]]);
}

/* The next MOST owners of a walk, and where it then stands. */
static size_t step(walk *w, const state_owner *all, size_t n, size_t *ret_from)
{
    size_t from = 0;
    char at[OWNER];
    for (; w->after[0] != 0 && from < n; from++) {
        snprintf(at, sizeof at, "%s/%s/", all[from].org, all[from].endpoint_id);
        if (strcmp(at, w->after) > 0)
            break;
    }
    size_t use = n - from < MOST ? n - from : MOST;
    *ret_from = from;
    w->after[0] = 0;
    if (use == MOST)
        snprintf(w->after, sizeof w->after, "%s/%s/", all[from + use - 1].org,
                 all[from + use - 1].endpoint_id);
    return use;
}

static void round_of_memory(inference *self, walk *w)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
    size_t n = 0, from = 0;
    const state_owner *all = a == NULL ? NULL : owners_here(self, a, &n);
    if (all == NULL || n == 0)
        return;
    n = step(w, all, n, &from);
    ask(self, a, all + from, n);
}

/* One process does it: the first home of a word that is no state's. */
static void round_of_rows(inference *self, walk *w)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
    char home[2][40];
    state_owner *next = NULL;
    size_t n = 0;
    tab_error err = { 0 };
    if (a == NULL || self->store == NULL)
        return;
    homes_of(self, "rows of states", home);
    if (strcmp(home[0], tab_rpc_worker(self->rpc)) != 0)
        return;
    tab_str org = { "", 0 }, id = { "", 0 };
    if (w->after[0] != 0)
        (void)state_owner_of(w->after, &org, &id);
    const char *after_org = tab_arena_copy(a, org).p, *after_id = tab_arena_copy(a, id).p;
    if (after_org == NULL || after_id == NULL ||
        state_store_owners(self->store, a, after_org, after_id, MOST, &next, &n, &err) != TAB_OK)
        return; /* the database is away: the next round */
    ask(self, a, next, n);
    w->after[0] = 0;
    if (n == MOST)
        snprintf(w->after, sizeof w->after, "%s/%s/", next[n - 1].org, next[n - 1].endpoint_id);
}

static bool stopped(inference *self)
{
    pthread_mutex_lock(&self->lock);
    bool stop = self->stop;
    pthread_mutex_unlock(&self->lock);
    return stop;
}

static void *gone_states(void *arg)
{
    inference *self = arg;
    int64_t asked = tab_mono_ms(), sent = asked;
    walk memory = { "" }, rows = { "" };
    while (!stopped(self)) {
        if (tab_mono_ms() - asked >= ROUND_MS) {
            round_of_memory(self, &memory);
            round_of_rows(self, &rows);
            serve_keep_grown(self);
            asked = tab_mono_ms();
        }
        if (tab_mono_ms() - sent >= SEND_EACH_MS) {
            drift_send(self, &self->ends);
            sent = tab_mono_ms();
        }
        homes_send(self);
        struct timespec t = { 0, STEP_MS * 1000000 };
        nanosleep(&t, NULL);
    }
    drift_send(self, NULL); /* what was counted last */
    return NULL;
}

bool deleted_endpoints_start(inference *self)
{
    self->cleans = pthread_create(&self->cleaner, NULL, gone_states, self) == 0;
    return self->cleans;
}

void deleted_endpoints_stop(inference *self)
{
    if (self->cleans)
        pthread_join(self->cleaner, NULL);
    self->cleans = false;
}
