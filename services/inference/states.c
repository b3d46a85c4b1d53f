/* See states.h: a list in order of use under one lock, which is not held while a state is fitted. */
#include "services/inference/states.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/time.h"

/* absent -> FITTING -> READY -> (evicted) freed when nobody borrows it
 *                  \-> FAILED  freed when the last who waited has read the error */
typedef enum { FITTING, READY, FAILED } phase;

typedef struct tab_loan entry;
struct tab_loan {
    entry *older, *newer; /* order of use; linked while in the cache */
    phase phase;
    bool linked;
    size_t users; /* borrowers and waiters */
    void *state;
    size_t bytes;
    tab_error error;
    size_t key_n;
    char key[];
};

struct tab_states {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    entry *oldest, *newest;
    size_t budget;
    void (*free_state)(void *state);
    tab_states_figures fig;
};

tab_states *tab_states_new(size_t budget_bytes, void (*free_state)(void *state))
{
    tab_states *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->budget = budget_bytes;
    s->free_state = free_state;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    return s;
}

static void link_newest(tab_states *s, entry *e)
{
    e->newer = NULL;
    e->older = s->newest;
    *(s->newest != NULL ? &s->newest->newer : &s->oldest) = e;
    s->newest = e;
    e->linked = true;
}

static void unlink_entry(tab_states *s, entry *e)
{
    *(e->older != NULL ? &e->older->newer : &s->oldest) = e->newer;
    *(e->newer != NULL ? &e->newer->older : &s->newest) = e->older;
    e->linked = false;
}

static void entry_drop(tab_states *s, entry *e)
{
    if (e->state != NULL)
        s->free_state(e->state);
    free(e);
}

/* Takes e out of the cache; its memory goes when nobody uses it. */
static void evict(tab_states *s, entry *e)
{
    unlink_entry(s, e);
    s->fig.count--;
    s->fig.bytes -= e->bytes;
    if (e->users == 0)
        entry_drop(s, e);
}

void tab_states_free(tab_states *s)
{
    if (s == NULL)
        return;
    while (s->oldest != NULL) {
        entry *e = s->oldest;
        unlink_entry(s, e);
        entry_drop(s, e);
    }
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static entry *find(tab_states *s, tab_str key)
{
    for (entry *e = s->newest; e != NULL; e = e->older)
        if (e->key_n == key.n && memcmp(e->key, key.p, key.n) == 0)
            return e;
    return NULL;
}

/* Waits until e is no longer FITTING. False when the caller gave up. */
static bool wait_for(tab_states *s, entry *e, const atomic_bool *cancel)
{
    while (e->phase == FITTING) {
        if (cancel != NULL && *cancel)
            return false;
        tab_cond_wait(&s->changed, &s->lock, tab_in_ms(100));
    }
    return true;
}

static void release(tab_states *s, entry *e)
{
    if (--e->users == 0 && !e->linked)
        entry_drop(s, e);
}

static entry *entry_new(tab_str key)
{
    entry *e = calloc(1, sizeof *e + key.n);
    if (e == NULL)
        return NULL;
    e->key_n = key.n;
    memcpy(e->key, key.p, key.n);
    e->users = 1;
    return e;
}

/* Room for what e brings: the least recently used out first, never e, never what is being fitted. */
static void make_room(tab_states *s, const entry *e)
{
    for (entry *o = s->oldest, *next; o != NULL && s->fig.bytes > s->budget; o = next) {
        next = o->newer;
        if (o != e && o->phase == READY) {
            s->fig.evicted++;
            evict(s, o);
        }
    }
}

bool tab_states_put(tab_states *s, tab_str key, void *state, size_t bytes, tab_loan **ret)
{
    entry *e = entry_new(key);
    if (e == NULL)
        return false;
    e->state = state;
    e->bytes = bytes;
    e->phase = READY;
    pthread_mutex_lock(&s->lock);
    if (find(s, key) == NULL) {
        link_newest(s, e);
        s->fig.count++;
        s->fig.kept++;
        s->fig.bytes += bytes;
        make_room(s, e);
    }
    pthread_mutex_unlock(&s->lock);
    *ret = e;
    return true;
}

/* A state that is there or being fitted by another call, which is waited for. The lock is held. */
static tab_status join_entry(tab_states *s, entry *e, const atomic_bool *cancel, tab_loan **ret,
                             bool *ret_warm, tab_error *err)
{
    e->users++;
    bool warm = e->phase == READY;
    *(warm ? &s->fig.hits : &s->fig.joined) += 1;
    bool there = wait_for(s, e, cancel);
    if (there && e->phase == READY) {
        if (e->linked) {
            unlink_entry(s, e);
            link_newest(s, e);
        }
        *ret = e;
        *ret_warm = warm;
        return TAB_OK;
    }
    tab_error failed = e->error;
    release(s, e);
    if (!there)
        return tab_fail(err, TAB_CANCELLED, "", "the call ended before its endpoint was ready");
    return tab_fail(err, failed.status, failed.param, "%s", failed.message);
}

/* The fit has ended, in `why` or in a state: those that wait are told. */
static tab_status end_fit(tab_states *s, entry *e, void *state, size_t bytes, const tab_error *why,
                          tab_error *err)
{
    tab_status st = why->status;
    pthread_mutex_lock(&s->lock);
    if (st != TAB_OK) {
        e->phase = FAILED;
        e->error = *why;
        if (e->linked)
            unlink_entry(s, e), s->fig.count--;
        pthread_cond_broadcast(&s->changed);
        release(s, e);
        pthread_mutex_unlock(&s->lock);
        return tab_fail(err, st, why->param, "%s", why->message);
    }
    e->state = state;
    e->phase = READY;
    if (e->linked) {
        e->bytes = bytes;
        s->fig.bytes += bytes;
        make_room(s, e);
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return TAB_OK;
}

tab_status tab_states_take(tab_states *s, tab_str key, tab_states_fit fit, void *arg,
                           const atomic_bool *cancel, tab_loan **ret, bool *ret_warm, tab_error *err)
{
    pthread_mutex_lock(&s->lock);
    entry *e = find(s, key);
    if (e != NULL) {
        tab_status st = join_entry(s, e, cancel, ret, ret_warm, err);
        pthread_mutex_unlock(&s->lock);
        return st;
    }
    e = entry_new(key);
    if (e == NULL) {
        pthread_mutex_unlock(&s->lock);
        return tab_no_memory(err);
    }
    e->phase = FITTING;
    link_newest(s, e);
    s->fig.count++;
    s->fig.misses++;
    pthread_mutex_unlock(&s->lock);

    void *state = NULL;
    size_t bytes = 0;
    tab_error why = { 0 };
    why.status = fit(arg, &state, &bytes, &why);
    TAB_TRY(end_fit(s, e, state, bytes, &why, err));
    *ret = e;
    *ret_warm = false;
    return TAB_OK;
}

void *tab_loan_state(const tab_loan *loan)
{
    return loan->state;
}

void tab_states_give(tab_states *s, tab_loan *loan)
{
    if (loan == NULL)
        return;
    pthread_mutex_lock(&s->lock);
    release(s, loan);
    pthread_mutex_unlock(&s->lock);
}

void tab_states_drop(tab_states *s, tab_str prefix)
{
    pthread_mutex_lock(&s->lock);
    for (entry *e = s->oldest, *next; e != NULL; e = next) {
        next = e->newer;
        if (e->phase == READY && e->key_n >= prefix.n && memcmp(e->key, prefix.p, prefix.n) == 0)
            evict(s, e);
    }
    pthread_mutex_unlock(&s->lock);
}

const char **tab_states_keys(tab_states *s, tab_arena *a, size_t *ret_n)
{
    pthread_mutex_lock(&s->lock);
    size_t n = 0;
    const char **key = tab_arena_new_of(a, const char *, s->fig.count + 1);
    for (entry *e = s->oldest; key != NULL && e != NULL; e = e->newer)
        key[n++] = tab_arena_copy(a, (tab_str){ e->key, e->key_n }).p;
    pthread_mutex_unlock(&s->lock);
    *ret_n = n;
    return tab_arena_full(a) ? NULL : key;
}

tab_states_figures tab_states_look(tab_states *s)
{
    pthread_mutex_lock(&s->lock);
    tab_states_figures f = s->fig;
    pthread_mutex_unlock(&s->lock);
    return f;
}
