/* See wrapper.h. One request at a time goes through `now`, which belongs to the caller while it is FREE or
 * DONE and to the thread while it is RUNNING. Who gives up marks it as left; the thread then wipes it. */
#include "common/security/wrapper.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/time.h"
#include "common/security/crypto.h"

/* SLOTS: organizations whose keys are remembered, and credentials; one more takes the place of another. */
enum { SLOTS = 1024 };

typedef struct {
    bool unwraps;
    char name[TAB_WRAP_NAME + 1];
    uint8_t in[TAB_WRAPPED_MOST], out[TAB_WRAPPED_MOST];
    size_t in_n, out_n;
    tab_status status;
    tab_error err;
} request;

typedef struct {
    uint8_t of[TAB_SHA256], key[TAB_WRAP_KEY]; /* of: the name and what is wrapped */
    int64_t until;                             /* 0: nothing is here */
} remembered;

struct tab_bounded {
    const tab_wrapper *inner;
    tab_wrapper outer;
    int64_t wait_ms, keep_ms;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t turned;
    enum { FREE, ASKED, RUNNING, DONE } state;
    bool left, stop, ended;
    int64_t since, said; /* when the request was asked; when the log was told that it is away */
    request now;
    remembered at[SLOTS];
};

/* ---- what is remembered ---------------------------------------------------------------------- */

static void digest(const char *name, tab_str wrapped, uint8_t ret[TAB_SHA256])
{
    uint8_t both[TAB_WRAP_NAME + 1 + TAB_WRAPPED_MOST] = { 0 };
    memcpy(both, name, strlen(name));
    memcpy(both + TAB_WRAP_NAME + 1, wrapped.p, wrapped.n);
    tab_sha256((tab_str){ (const char *)both, TAB_WRAP_NAME + 1 + wrapped.n }, ret);
}

static remembered *slot_of(tab_bounded *b, const uint8_t of[TAB_SHA256])
{
    return &b->at[(of[0] | of[1] << 8) % SLOTS];
}

static bool recall(tab_bounded *b, const uint8_t of[TAB_SHA256], uint8_t ret[TAB_WRAP_KEY])
{
    pthread_mutex_lock(&b->lock);
    remembered *r = slot_of(b, of);
    bool good = r->until > tab_mono_ms() && memcmp(r->of, of, TAB_SHA256) == 0;
    if (good)
        memcpy(ret, r->key, TAB_WRAP_KEY);
    pthread_mutex_unlock(&b->lock);
    return good;
}

static void remember(tab_bounded *b, const uint8_t of[TAB_SHA256], const uint8_t key[TAB_WRAP_KEY])
{
    pthread_mutex_lock(&b->lock);
    remembered *r = slot_of(b, of);
    memcpy(r->of, of, TAB_SHA256);
    memcpy(r->key, key, TAB_WRAP_KEY);
    r->until = tab_mono_ms() + b->keep_ms;
    pthread_mutex_unlock(&b->lock);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void call_inner(const tab_wrapper *w, request *r)
{
    if (!r->unwraps) {
        r->status = w->wrap(w->self, r->name, r->in, r->out, &r->out_n, &r->err);
        return;
    }
    r->status = w->unwrap(w->self, r->name, (tab_str){ (const char *)r->in, r->in_n }, r->out, &r->err);
    r->out_n = TAB_WRAP_KEY;
}

static void turn(tab_bounded *b, int state)
{
    b->state = state;
    pthread_cond_broadcast(&b->turned);
}

static void *work(void *arg)
{
    tab_bounded *b = arg;
    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (b->state != ASKED && !b->stop)
            pthread_cond_wait(&b->turned, &b->lock);
        if (b->stop)
            break;
        b->state = RUNNING;
        pthread_mutex_unlock(&b->lock);
        call_inner(b->inner, &b->now);
        pthread_mutex_lock(&b->lock);
        if (b->left)
            sodium_memzero(&b->now, sizeof b->now);
        turn(b, b->left ? FREE : DONE);
        b->left = false;
    }
    b->ended = true;
    pthread_cond_broadcast(&b->turned);
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* Under the lock. The operator reads why, once a second at most; a caller can but wait. */
static tab_status away(tab_bounded *b, const char *why, tab_error *err)
{
    if (b->said == 0 || tab_mono_ms() - b->said >= 1000) {
        tab_log(TAB_ERROR, "the master key (%s): %s", b->inner->scheme, why);
        b->said = tab_mono_ms();
    }
    return tab_fail(err, TAB_UNAVAILABLE, "", "the key that seals what is stored is away; try again");
}

static tab_status late(tab_bounded *b, tab_error *err)
{
    tab_error why;
    tab_fail(&why, TAB_UNAVAILABLE, "",
             "no answer for %lld ms; look whether its device and the way to it work",
             (long long)(tab_mono_ms() - b->since));
    return away(b, why.message, err);
}

/* Under the lock: the request is this caller's. A call that hangs already is not waited for. */
static bool take(tab_bounded *b, tab_deadline until)
{
    while (b->state != FREE)
        if (b->since + b->wait_ms <= tab_mono_ms() || !tab_cond_wait(&b->turned, &b->lock, until))
            return b->state == FREE;
    return true;
}

/* Under the lock. `r` is asked with and filled with the answer. */
static tab_status ask(tab_bounded *b, request *r, tab_error *err)
{
    tab_deadline until = tab_in_ms(b->wait_ms);
    if (!take(b, until))
        return late(b, err);
    b->now = *r;
    b->since = tab_mono_ms();
    turn(b, ASKED);
    while (b->state != DONE)
        if (!tab_cond_wait(&b->turned, &b->lock, until) && b->state != DONE) {
            b->left = true;
            return late(b, err);
        }
    *r = b->now;
    sodium_memzero(&b->now, sizeof b->now);
    turn(b, FREE);
    if (r->status == TAB_UNAVAILABLE)
        return away(b, r->err.message, err);
    return r->status == TAB_OK ? TAB_OK : tab_fail(err, r->status, "", "%s", r->err.message);
}

static tab_status call(tab_bounded *b, bool unwraps, const char *name, tab_str in, uint8_t *ret,
                       size_t *ret_n, tab_error *err)
{
    request r = { .unwraps = unwraps, .in_n = in.n };
    assert(in.n <= sizeof r.in && strlen(name) <= TAB_WRAP_NAME);
    memcpy(r.in, in.p, in.n);
    memcpy(r.name, name, strlen(name));
    pthread_mutex_lock(&b->lock);
    tab_status s = ask(b, &r, err);
    pthread_mutex_unlock(&b->lock);
    if (s == TAB_OK) {
        memcpy(ret, r.out, r.out_n);
        *ret_n = r.out_n;
    }
    sodium_memzero(&r, sizeof r);
    return s;
}

static tab_status wrap(void *self, const char *name, const uint8_t key[TAB_WRAP_KEY],
                       uint8_t ret[TAB_WRAPPED_MOST], size_t *ret_n, tab_error *err)
{
    uint8_t of[TAB_SHA256];
    TAB_TRY(call(self, false, name, (tab_str){ (const char *)key, TAB_WRAP_KEY }, ret, ret_n, err));
    digest(name, (tab_str){ (const char *)ret, *ret_n }, of);
    remember(self, of, key);
    return TAB_OK;
}

static tab_status unwrap(void *self, const char *name, tab_str wrapped, uint8_t ret[TAB_WRAP_KEY],
                         tab_error *err)
{
    uint8_t of[TAB_SHA256];
    size_t n;
    digest(name, wrapped, of);
    if (recall(self, of, ret))
        return TAB_OK;
    TAB_TRY(call(self, true, name, wrapped, ret, &n, err));
    remember(self, of, ret);
    return TAB_OK;
}

/* ---- its life -------------------------------------------------------------------------------- */

tab_bounded *tab_bounded_open(const tab_wrapper *inner, int64_t wait_ms, int64_t keep_ms)
{
    tab_bounded *b = calloc(1, sizeof *b);
    if (b == NULL)
        return NULL;
    b->inner = inner;
    b->outer = (tab_wrapper){ .scheme = inner->scheme, .self = b, .wrap = wrap, .unwrap = unwrap };
    b->wait_ms = wait_ms;
    b->keep_ms = keep_ms;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->turned, NULL);
    if (pthread_create(&b->thread, NULL, work, b) == 0)
        return b;
    free(b);
    return NULL;
}

const tab_wrapper *tab_bounded_wrapper(const tab_bounded *b)
{
    return &b->outer;
}

bool tab_bounded_close(tab_bounded *b)
{
    tab_deadline until = tab_in_ms(b->wait_ms);
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_broadcast(&b->turned);
    while (!b->ended && tab_cond_wait(&b->turned, &b->lock, until))
        ;
    bool ended = b->ended;
    sodium_memzero(b->at, sizeof b->at);
    pthread_mutex_unlock(&b->lock);
    if (!ended) {
        pthread_detach(b->thread);
        return false;
    }
    pthread_join(b->thread, NULL);
    sodium_memzero(b, sizeof *b);
    free(b);
    return true;
}
