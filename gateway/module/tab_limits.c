/* See tab_limits.h: GCRA, the generic cell rate algorithm of ATM networks (ITU-T I.371): one time a
 * limit, after which its bucket would be full. */
#include "gateway/module/tab_limits.h"

#include <sodium.h>

enum { MOST = 4 };
static const int64_t minute_us = 60000000;

size_t tab_limits_size(size_t sets)
{
    return sizeof(tab_limits) + sets * TAB_LIMIT_WAYS * sizeof(tab_limit_slot);
}

void tab_limits_init(tab_limits *t, size_t sets, const unsigned char seed[16])
{
    memset(t, 0, tab_limits_size(sets));
    t->sets = sets;
    memcpy(t->seed, seed, sizeof t->seed);
}

static void hash_step(const tab_limits *t, uint64_t *h, const void *p, size_t n)
{
    unsigned char out[crypto_shorthash_BYTES], in[8 + 512];
    if (n > 512)
        n = 512;
    memcpy(in, h, 8);
    memcpy(in + 8, p, n);
    crypto_shorthash(out, in, 8 + n, t->seed);
    memcpy(h, out, 8);
}

static uint64_t tag_of(const tab_limits *t, const tab_limit *l)
{
    uint64_t h = (uint64_t)(unsigned char)l->kind;
    hash_step(t, &h, l->a.n == 0 ? "" : l->a.p, l->a.n);
    hash_step(t, &h, l->b.n == 0 ? "" : l->b.p, l->b.n);
    return h == 0 ? 1 : h;
}

/* The slot of that tag, or the one to give up for it. */
static tab_limit_slot *slot_of(tab_limits *t, uint64_t tag)
{
    tab_limit_slot *set = t->slot + (tag & (t->sets - 1)) * TAB_LIMIT_WAYS, *oldest = set;
    for (int i = 0; i < TAB_LIMIT_WAYS; i++) {
        if (set[i].tag == tag)
            return &set[i];
        if (set[i].tat < oldest->tat)
            oldest = &set[i];
    }
    return oldest;
}

tab_limit_answer tab_limits_take(tab_limits *t, const tab_limit *limits, size_t n, int64_t now_us, bool peek)
{
    uint64_t tag[MOST];
    int64_t tat[MOST];
    tab_limit_answer a = { .let_in = true, .remaining = UINT32_MAX };
    if (n > MOST)
        n = MOST;

    for (size_t i = 0; i < n; i++) {
        uint32_t limit = limits[i].per_minute == 0 ? 1 : limits[i].per_minute;
        tag[i] = tag_of(t, &limits[i]);
        const tab_limit_slot *s = slot_of(t, tag[i]);
        tat[i] = s->tag == tag[i] && s->tat > now_us ? s->tat : now_us;
        tat[i] += minute_us / limit;
        int64_t over = tat[i] - now_us - minute_us;
        uint32_t left = over >= 0 ? 0 : (uint32_t)(-over * limit / minute_us);
        if (over > 0)
            a.let_in = false;
        if (over > 0 && over / 1000 + 1 > a.retry_ms)
            a.retry_ms = over / 1000 + 1;
        if (left < a.remaining) {
            a.remaining = left;
            a.limit = limit;
            a.reset_ms = (tat[i] - now_us) / 1000;
        }
    }
    for (size_t i = 0; i < n && a.let_in && !peek; i++) {
        tab_limit_slot *s = slot_of(t, tag[i]);
        s->tag = tag[i];
        s->tat = tat[i];
    }
    return a;
}

int64_t tab_limits_highest(tab_limits *t, tab_str name, int64_t x)
{
    const tab_limit l = { .kind = 'v', .a = name };
    uint64_t tag = tag_of(t, &l);
    tab_limit_slot *s = slot_of(t, tag);
    int64_t have = s->tag == tag ? s->tat : 0;
    if (x <= have)
        return have;
    s->tag = tag;
    s->tat = x;
    return x;
}
