/* See tab_ahead.h. Callers lie in a table by hash, in a list by last use (the longest unused gives way), and,
 * while they owe, in a queue. Buckets lie in a table by name and live as long as a caller has them. */
#include "gateway/module/tab_ahead.h"

#include <stdlib.h>

enum { PLACES = 4096, NAME = sizeof(((tab_grant *)NULL)->org) + TAB_AHEAD_ENDPOINT + 2 };
static const int64_t minute_us = 60000000;

typedef struct bucket {
    struct bucket *next; /* at its place of the table */
    char name[NAME];     /* kind, organization, key or endpoint */
    uint32_t users;
    uint32_t ahead;
    int64_t full_us;
} bucket;

struct tab_ahead_caller {
    tab_ahead_caller *next;          /* at its place of the table */
    tab_ahead_caller *older, *newer; /* by last use */
    tab_ahead_caller *owes_next;
    char hash[64], endpoint[TAB_AHEAD_ENDPOINT];
    size_t endpoint_n;
    tab_ahead_word told;
    int64_t read_us; /* when told was */
    char *entry, revoked[TAB_EPOCH_TEXT];
    size_t entry_n, revoked_n; /* entry_n 0: forgotten */
    size_t entry_room;
    bucket *bucket[TAB_AHEAD_BUCKETS];
    int64_t learnt_us;
    uint32_t owed, holds;
    bool owes; /* is in the queue of those */
};

struct tab_ahead {
    uint64_t share, workers;
    const tab_identity_key *key;
    unsigned char seed[crypto_shorthash_KEYBYTES];
    size_t callers;
    tab_ahead_caller *by_hash[PLACES], *oldest, *newest, *owes_first, *owes_last;
    bucket *by_name[PLACES];
};

tab_ahead *tab_ahead_new(uint32_t share, uint32_t workers, const tab_identity_key *key)
{
    tab_ahead *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->share = share;
    t->workers = workers == 0 ? 1 : workers;
    t->key = key;
    randombytes_buf(t->seed, sizeof t->seed);
    return t;
}

static size_t place_of(const tab_ahead *t, const char *p, size_t n)
{
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t h;
    crypto_shorthash(out, (const unsigned char *)p, n, t->seed);
    memcpy(&h, out, sizeof h);
    return h % PLACES;
}

/* ---- buckets --------------------------------------------------------------------------------- */
static bucket *bucket_use(tab_ahead *t, char kind, const char *org, tab_str of)
{
    char name[NAME] = { kind };
    size_t n = strlen(org);
    memcpy(name + 1, org, n);
    memcpy(name + 2 + n, of.p, of.n); /* kind, organization, NUL, name */
    bucket **at = &t->by_name[place_of(t, name, sizeof name)];
    for (bucket *b = *at; b != NULL; b = b->next)
        if (memcmp(b->name, name, sizeof name) == 0) {
            b->users++;
            return b;
        }
    bucket *b = calloc(1, sizeof *b);
    if (b == NULL)
        return NULL;
    memcpy(b->name, name, sizeof name);
    b->users = 1;
    b->next = *at;
    *at = b;
    return b;
}

static void bucket_leave(tab_ahead *t, bucket *b)
{
    if (b == NULL || --b->users > 0)
        return;
    bucket **at = &t->by_name[place_of(t, b->name, sizeof b->name)];
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    free(b);
}

static uint32_t limit_of(const tab_ahead_caller *c, int which)
{
    const tab_grant *g = &c->told.entry.grant;
    uint32_t limit = which == 0 ? g->key_rpm : which == 1 ? g->org_rpm : g->endpoint_rpm;
    return limit == 0 ? 1 : limit;
}

/* As the function in Redis rounds it: whole ticks of 10 us. */
static int64_t step_us(uint32_t limit)
{
    return minute_us / 10 / limit * 10;
}

static int64_t full_at(const bucket *b, int64_t now_us, uint32_t limit, uint32_t more)
{
    int64_t from = b->full_us > now_us ? b->full_us : now_us;
    return from + ((int64_t)b->ahead + more) * step_us(limit);
}

/* ---- callers --------------------------------------------------------------------------------- */
static void unlink_use(tab_ahead *t, tab_ahead_caller *c)
{
    *(c->older != NULL ? &c->older->newer : &t->oldest) = c->newer;
    *(c->newer != NULL ? &c->newer->older : &t->newest) = c->older;
}

static void link_newest(tab_ahead *t, tab_ahead_caller *c)
{
    c->older = t->newest;
    c->newer = NULL;
    *(t->newest != NULL ? &t->newest->newer : &t->oldest) = c;
    t->newest = c;
}

static void caller_free(tab_ahead *t, tab_ahead_caller *c)
{
    tab_ahead_caller **at = &t->by_hash[place_of(t, c->hash, sizeof c->hash)];
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    unlink_use(t, c);
    for (int i = 0; i < TAB_AHEAD_BUCKETS; i++)
        bucket_leave(t, c->bucket[i]);
    free(c->entry);
    free(c);
    t->callers--;
}

void tab_ahead_free(tab_ahead *t)
{
    if (t == NULL)
        return;
    while (t->oldest != NULL)
        caller_free(t, t->oldest);
    free(t);
}

tab_ahead_caller *tab_ahead_find(tab_ahead *t, const char hash[64], tab_str endpoint)
{
    for (tab_ahead_caller *c = t->by_hash[place_of(t, hash, 64)]; c != NULL; c = c->next)
        if (memcmp(c->hash, hash, 64) == 0 && tab_str_eq(tab_ahead_endpoint(c), endpoint)) {
            unlink_use(t, c);
            link_newest(t, c);
            return c;
        }
    return NULL;
}

const tab_ahead_word *tab_ahead_told(const tab_ahead_caller *c)
{
    return &c->told;
}

tab_str tab_ahead_entry(const tab_ahead_caller *c)
{
    return (tab_str){ c->entry, c->entry_n };
}

tab_str tab_ahead_revoked(const tab_ahead_caller *c)
{
    return (tab_str){ c->revoked, c->revoked_n };
}

tab_str tab_ahead_endpoint(const tab_ahead_caller *c)
{
    return (tab_str){ c->endpoint, c->endpoint_n };
}

/* A new caller, in place of the longest unused that nobody holds and that owes nothing. */
static tab_ahead_caller *caller_new(tab_ahead *t, const char hash[64], tab_str endpoint)
{
    if (t->callers == TAB_AHEAD_CALLERS) {
        tab_ahead_caller *old = t->oldest;
        while (old != NULL && (old->holds > 0 || old->owes))
            old = old->newer;
        if (old == NULL)
            return NULL;
        caller_free(t, old);
    }
    tab_ahead_caller *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    memcpy(c->hash, hash, sizeof c->hash);
    memcpy(c->endpoint, endpoint.p, endpoint.n);
    c->endpoint_n = endpoint.n;
    tab_ahead_caller **at = &t->by_hash[place_of(t, hash, 64)];
    c->next = *at;
    *at = c;
    link_newest(t, c);
    t->callers++;
    return c;
}

static bool word_old(const tab_ahead_caller *c, int64_t now_us)
{
    return now_us - c->read_us > TAB_AHEAD_WORD_S * 1000000LL;
}

static void filled(tab_ahead_caller *c, const int64_t *full_us, int64_t now_us)
{
    for (int i = 0; i < TAB_AHEAD_BUCKETS && c->bucket[i] != NULL; i++)
        c->bucket[i]->full_us = now_us + full_us[i];
    c->learnt_us = now_us;
}

/* What entry and revoked say. False: one of them cannot be read, or is not signed for this hash. */
static bool read_word(const tab_ahead *t, const char hash[64], tab_str entry, tab_str revoked,
                      tab_ahead_word *ret)
{
    ret->revoked = 0;
    return tab_entry_read(t->key, (tab_str){ hash, 64 }, entry, &ret->entry) &&
           (t->key == NULL || revoked.n == 0 ||
            tab_epoch_read(t->key, tab_str_of(ret->entry.grant.org), revoked, &ret->revoked));
}

static tab_ahead_caller *caller_with_buckets(tab_ahead *t, const char hash[64], tab_str endpoint,
                                             const tab_grant *g)
{
    tab_ahead_caller *c = caller_new(t, hash, endpoint);
    if (c == NULL)
        return NULL;
    c->bucket[0] = bucket_use(t, 'k', g->org, tab_str_of(g->key));
    c->bucket[1] = bucket_use(t, 'o', g->org, TAB_S(""));
    c->bucket[2] = endpoint.n == 0 ? NULL : bucket_use(t, 'e', g->org, endpoint);
    if (c->bucket[0] != NULL && c->bucket[1] != NULL && (endpoint.n == 0 || c->bucket[2] != NULL))
        return c;
    caller_free(t, c);
    return NULL;
}

/* The entry's text, and what it says, whose bounds are a view into it. */
static bool keep_word(tab_ahead_caller *c, tab_str entry, const tab_ahead_word *word)
{
    if (entry.n > c->entry_room) { /* most entries have no bounds, and are short */
        char *more = realloc(c->entry, entry.n);
        if (more == NULL)
            return false;
        c->entry = more;
        c->entry_room = entry.n;
    }
    memcpy(c->entry, entry.p, entry.n);
    c->told = *word;
    tab_str *bounds = &c->told.entry.grant.bounds;
    if (bounds->n > 0)
        bounds->p = c->entry + (bounds->p - entry.p);
    c->entry_n = entry.n;
    return true;
}

void tab_ahead_learn(tab_ahead *t, const char hash[64], tab_str endpoint, tab_str entry, tab_str revoked,
                     const int64_t full_us[TAB_AHEAD_BUCKETS], int64_t now_us)
{
    tab_ahead_word word;
    if (t->share == 0 || endpoint.n > TAB_AHEAD_ENDPOINT || entry.n > TAB_ENTRY_TEXT ||
        revoked.n > TAB_EPOCH_TEXT)
        return;
    tab_ahead_caller *c = tab_ahead_find(t, hash, endpoint);
    if (c != NULL && tab_str_eq(tab_ahead_entry(c), entry) && tab_str_eq(tab_ahead_revoked(c), revoked) &&
        !word_old(c, now_us)) {
        filled(c, full_us, now_us);
        return;
    }
    bool good = read_word(t, hash, entry, revoked, &word);
    if (c != NULL)
        tab_ahead_forget(t, c); /* until its new entry is known to be good */
    if (!good)
        return;
    const tab_grant *g = &word.entry.grant, *was = c != NULL ? &c->told.entry.grant : g;
    if (strcmp(g->org, was->org) != 0 || strcmp(g->key, was->key) != 0)
        return; /* a hash is one key's for ever: not an entry to rely on */
    if (c == NULL && (c = caller_with_buckets(t, hash, endpoint, g)) == NULL)
        return;
    if (!keep_word(c, entry, &word))
        return;
    c->read_us = now_us;
    memcpy(c->revoked, revoked.p, revoked.n);
    c->revoked_n = revoked.n;
    filled(c, full_us, now_us);
}

void tab_ahead_forget(tab_ahead *t, tab_ahead_caller *c)
{
    (void)t;
    c->entry_n = 0;
}

/* ---- ahead ----------------------------------------------------------------------------------- */
static void add(tab_ahead_caller *c, int64_t n)
{
    for (int i = 0; i < TAB_AHEAD_BUCKETS && c->bucket[i] != NULL; i++)
        c->bucket[i]->ahead = (uint32_t)(c->bucket[i]->ahead + n);
}

bool tab_ahead_take(tab_ahead *t, tab_ahead_caller *c, uint32_t n, int64_t now_us)
{
    if (c->entry_n == 0 || now_us - c->learnt_us > TAB_AHEAD_FRESH_US || word_old(c, now_us))
        return false;
    for (int i = 0; i < TAB_AHEAD_BUCKETS && c->bucket[i] != NULL; i++) {
        uint32_t limit = limit_of(c, i);
        uint64_t most = limit * t->share / TAB_AHEAD_SHARES / t->workers;
        if ((uint64_t)c->bucket[i]->ahead + n > most)
            return false;
        if (full_at(c->bucket[i], now_us, limit, n) > now_us + minute_us)
            return false;
    }
    add(c, n);
    c->holds++;
    return true;
}

void tab_ahead_keep(tab_ahead *t, tab_ahead_caller *c, uint32_t n)
{
    c->holds--;
    c->owed += n;
    if (c->owes || c->owed == 0)
        return;
    c->owes = true;
    c->owes_next = NULL;
    *(t->owes_last != NULL ? &t->owes_last->owes_next : &t->owes_first) = c;
    t->owes_last = c;
}

void tab_ahead_return(tab_ahead *t, tab_ahead_caller *c, uint32_t n)
{
    (void)t;
    c->holds--;
    add(c, -(int64_t)n);
}

tab_ahead_rates tab_ahead_left(const tab_ahead_caller *c, int64_t now_us)
{
    tab_ahead_rates a = { 0, UINT32_MAX, 0 };
    for (int i = 0; i < 2; i++) {
        uint32_t limit = limit_of(c, i);
        int64_t full = full_at(c->bucket[i], now_us, limit, 0), room = now_us + minute_us - full;
        uint32_t left = room <= 0 ? 0 : (uint32_t)((room * limit + minute_us / 1000) / minute_us);
        if (i == 0 || left < a.remaining)
            a = (tab_ahead_rates){ limit, left, (full - now_us + 999) / 1000 };
    }
    return a;
}

/* ---- owed ------------------------------------------------------------------------------------ */
static uint32_t hand_over(tab_ahead_caller *c)
{
    uint32_t n = c->owed;
    c->owed = 0;
    c->holds += n > 0;
    return n;
}

/* Those whose debt was handed over by _of meanwhile are passed over. */
tab_ahead_caller *tab_ahead_next(tab_ahead *t, uint32_t *ret_n)
{
    for (tab_ahead_caller *c; (c = t->owes_first) != NULL;) {
        t->owes_first = c->owes_next;
        if (t->owes_first == NULL)
            t->owes_last = NULL;
        c->owes = false;
        if ((*ret_n = hand_over(c)) > 0)
            return c;
    }
    return NULL;
}

uint32_t tab_ahead_of(tab_ahead *t, tab_ahead_caller *c)
{
    (void)t;
    return hand_over(c);
}

void tab_ahead_paid(tab_ahead *t, tab_ahead_caller *c, uint32_t n, const int64_t *full_us, int64_t now_us)
{
    tab_ahead_return(t, c, n);
    if (full_us != NULL)
        filled(c, full_us, now_us);
}
