/* See states.h. The cache of fitted states: what an endpoint needs to answer, kept between serve calls.
 *
 * A state is a function of its key (endpoint and state version), costs seconds to make, takes megabytes, and
 * is read by many calls at once. So three things have to be true together: nobody fits what somebody else is
 * fitting, nobody frees what somebody reads, and memory stays within a budget. All three follow from one
 * entry a key and one lock over all entries:
 *
 *   absent --first miss--> FITTING --fit ends--> READY --budget--> unlinked, freed by its last user
 *                             |
 *                             +--fit fails--> FAILED, unlinked at once: the next call tries again
 *
 * The first call that misses adds the entry and starts a detached thread; those that come meanwhile wait on
 * `changed`. The fit belongs to none of them: a caller that gives up (its deadline, its client) leaves, and
 * the fit goes on for whoever calls next. That is why the thread gets copies of what it needs (`own`).
 *
 * `users` counts the calls that hold the entry, and the fit itself; `linked` says whether the list still
 * holds it. An entry is freed when both are over, whichever ends last. Eviction only unlinks, so a call that
 * reads a state never looks at the cache again. It follows that memory in use may exceed the budget by what
 * is borrowed at the moment; `bytes` counts what is linked.
 *
 * What holds whenever the lock is free:
 *
 *   - A key is in the list once at most, and what is in the list is FITTING or READY.
 *   - count and bytes are those of the linked entries; one that is FITTING has 0 bytes until it ends.
 *   - Eviction takes the least recently used first, and neither a FITTING entry nor the one that makes room:
 *     one state larger than the whole budget is kept until another comes, for it was just asked for.
 *   - A failure is told to all who waited and kept for none: an error here is a server that was away or a
 *     pass that was cancelled, and would be wrong a moment later.
 *
 * Look-up walks the list. A process holds tens to hundreds of states, recent ones first, and a serve call
 * costs ten thousand times the walk; a hash table would have to be kept in step with the order of use. At
 * most TAB_STATES_FITS fits run at once: what is above is refused, and said to be temporary, rather than
 * queued behind fits that nobody may be waiting for any more. */
#include "services/inference/states/states.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/base/time.h"

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
    size_t budget, fits;
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
    assert(!e->linked);
    e->newer = NULL;
    e->older = s->newest;
    *(s->newest != NULL ? &s->newest->newer : &s->oldest) = e;
    s->newest = e;
    e->linked = true;
}

static void unlink_entry(tab_states *s, entry *e)
{
    assert(e->linked);
    *(e->older != NULL ? &e->older->newer : &s->oldest) = e->newer;
    *(e->newer != NULL ? &e->newer->older : &s->newest) = e->older;
    e->linked = false;
}

static void entry_drop(tab_states *s, entry *e)
{
    assert(e->users == 0 && !e->linked);
    if (e->state != NULL)
        s->free_state(e->state);
    free(e);
}

/* Takes e out of the cache; its memory goes when nobody uses it. */
static void evict(tab_states *s, entry *e)
{
    unlink_entry(s, e);
    assert(s->fig.count > 0 && s->fig.bytes >= e->bytes);
    s->fig.count--;
    s->fig.bytes -= e->bytes;
    if (e->users == 0)
        entry_drop(s, e);
}

void tab_states_free(tab_states *s)
{
    if (s == NULL)
        return;
    tab_states_wait(s);
    while (s->oldest != NULL) {
        entry *e = s->oldest;
        unlink_entry(s, e);
        entry_drop(s, e);
    }
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void tab_states_wait(tab_states *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->fits > 0)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
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
    assert(e->users > 0);
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

/* Makes room for e: removes the least recently used, but neither e nor what is being fitted. */
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

/* Waits for a state that is there or being fitted, and gives up the caller's use of it where it cannot be
 * had. The lock is held. */
static tab_status join_entry(tab_states *s, entry *e, const atomic_bool *cancel, tab_loan **ret,
                             tab_error *err)
{
    bool there = wait_for(s, e, cancel);
    if (there && e->phase == READY) {
        if (e->linked) {
            unlink_entry(s, e);
            link_newest(s, e);
        }
        *ret = e;
        return TAB_OK;
    }
    tab_error failed = e->error;
    release(s, e);
    if (!there)
        return tab_fail(err, TAB_CANCELLED, "", "the call ended before its endpoint was ready");
    return tab_fail(err, failed.status, failed.param, "%s", failed.message);
}

typedef struct {
    tab_states *s;
    entry *e;
    const tab_states_maker *maker;
    void *own;
} fitting;

/* The fit has ended, in `why` or in a state: those that wait are told. The lock is held; the fit's own use of
 * the entry ends. */
static void end_fit(tab_states *s, entry *e, void *state, size_t bytes, const tab_error *why)
{
    assert(e->phase == FITTING && s->fits > 0 && (why->status != TAB_OK || state != NULL));
    if (why->status != TAB_OK) {
        e->phase = FAILED;
        e->error = *why;
        if (e->linked)
            unlink_entry(s, e), s->fig.count--;
    } else {
        e->state = state;
        e->phase = READY;
        if (e->linked) {
            e->bytes = bytes;
            s->fig.bytes += bytes;
            make_room(s, e);
        }
    }
    s->fits--;
    pthread_cond_broadcast(&s->changed);
    release(s, e);
}

static void *run_fit(void *arg)
{
    fitting f = *(fitting *)arg;
    void *state = NULL;
    size_t bytes = 0;
    tab_error why = { 0 };
    free(arg);
    why.status = f.maker->fit(f.own, &state, &bytes, &why);
    f.maker->disown(f.own);
    pthread_mutex_lock(&f.s->lock);
    end_fit(f.s, f.e, state, bytes, &why);
    pthread_mutex_unlock(&f.s->lock);
    return NULL;
}

/* False: nothing was begun. */
static bool begin_fit(tab_states *s, entry *e, const tab_states_maker *maker, void *arg)
{
    fitting *f = malloc(sizeof *f);
    void *own = f == NULL ? NULL : maker->own(arg);
    pthread_attr_t detached;
    pthread_t t;
    if (own == NULL) {
        free(f);
        return false;
    }
    *f = (fitting){ s, e, maker, own };
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    bool begun = pthread_create(&t, &detached, run_fit, f) == 0;
    pthread_attr_destroy(&detached);
    if (!begun) {
        maker->disown(own);
        free(f);
    }
    return begun;
}

/* A new entry that is being fitted, used by its fit and by the caller; NULL after filling err. The lock is
 * held. */
static entry *add_entry(tab_states *s, tab_str key, tab_error *err)
{
    if (s->fits >= TAB_STATES_FITS) {
        tab_fail(err, TAB_UNAVAILABLE, "", "too many endpoints are being loaded at the moment; try again");
        return NULL;
    }
    entry *e = entry_new(key);
    if (e == NULL) {
        tab_no_memory(err);
        return NULL;
    }
    e->phase = FITTING;
    e->users = 2;
    link_newest(s, e);
    s->fits++;
    s->fig.count++;
    s->fig.misses++;
    return e;
}

tab_status tab_states_take(tab_states *s, tab_str key, const tab_states_maker *maker, void *arg,
                           const atomic_bool *cancel, tab_loan **ret, bool *ret_warm, tab_error *err)
{
    tab_error none = { 0 };
    pthread_mutex_lock(&s->lock);
    entry *e = find(s, key);
    bool warm = e != NULL && e->phase == READY;
    if (e != NULL) {
        e->users++;
        *(warm ? &s->fig.hits : &s->fig.joined) += 1;
    } else if ((e = add_entry(s, key, &none)) == NULL) {
        pthread_mutex_unlock(&s->lock);
        return tab_fail(err, none.status, none.param, "%s", none.message);
    } else {
        pthread_mutex_unlock(&s->lock);
        bool begun = begin_fit(s, e, maker, arg);
        pthread_mutex_lock(&s->lock);
        if (!begun) {
            (void)tab_no_memory(&none);
            end_fit(s, e, NULL, 0, &none);
        }
    }
    tab_status st = join_entry(s, e, cancel, ret, err);
    pthread_mutex_unlock(&s->lock);
    if (st == TAB_OK)
        *ret_warm = warm;
    return st;
}

tab_loan *tab_states_borrow(tab_states *s, tab_str key)
{
    pthread_mutex_lock(&s->lock);
    entry *e = find(s, key);
    e = e != NULL && e->phase == READY ? e : NULL;
    if (e != NULL)
        e->users++;
    pthread_mutex_unlock(&s->lock);
    return e;
}

tab_loan *tab_states_again(tab_states *s, tab_loan *loan)
{
    pthread_mutex_lock(&s->lock);
    assert(loan->users > 0);
    loan->users++;
    pthread_mutex_unlock(&s->lock);
    return loan;
}

static bool starts_with(const entry *e, tab_str prefix)
{
    return e->key_n >= prefix.n && memcmp(e->key, prefix.p, prefix.n) == 0;
}

size_t tab_states_fitting(tab_states *s, tab_str prefix, tab_str key)
{
    size_t n = 0;
    pthread_mutex_lock(&s->lock);
    for (const entry *e = s->oldest; e != NULL; e = e->newer)
        n += e->phase == FITTING && starts_with(e, prefix) && (e->key_n != key.n || !starts_with(e, key));
    pthread_mutex_unlock(&s->lock);
    return n;
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
        if (e->phase == READY && starts_with(e, prefix))
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
