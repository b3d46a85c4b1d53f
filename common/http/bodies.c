/* See bodies.h: open addressing over organizations and a free list of holds, both in one piece of memory. */
#include "common/http/bodies.h"

#include <sodium.h>

size_t tab_bodies_size(size_t holds)
{
    return sizeof(tab_bodies) + holds * sizeof(tab_body_hold) + 2 * holds * sizeof(tab_body_org);
}

tab_bodies *tab_bodies_init(void *memory, size_t holds, const unsigned char seed[16])
{
    tab_bodies *t = memory;
    memset(t, 0, tab_bodies_size(holds));
    t->holds = holds;
    t->hold = (tab_body_hold *)(t + 1);
    t->org = (tab_body_org *)(t->hold + holds);
    memcpy(t->seed, seed, sizeof t->seed);
    for (size_t i = 0; i < holds; i++)
        t->hold[i].next = (uint32_t)(i + 2 <= holds ? i + 2 : 0);
    t->free = 1;
    return t;
}

/* The organization's row, or the free one where it belongs: half of the rows are always free. */
static size_t org_at(const tab_bodies *t, uint64_t tag)
{
    size_t at = tag & (2 * t->holds - 1);
    while (t->org[at].holds > 0 && t->org[at].tag != tag)
        at = (at + 1) & (2 * t->holds - 1);
    return at;
}

/* Frees a row, then moves rows behind it back to where a search finds them (Knuth 6.4, algorithm R). */
static void org_drop(tab_bodies *t, size_t at)
{
    size_t mask = 2 * t->holds - 1;
    t->org[at].holds = 0;
    for (size_t i = (at + 1) & mask; t->org[i].holds > 0; i = (i + 1) & mask) {
        size_t home = t->org[i].tag & mask;
        if (((i - home) & mask) < ((i - at) & mask))
            continue; /* it is as near to its home as it can be */
        t->org[at] = t->org[i];
        t->org[i].holds = 0;
        at = i;
    }
}

static tab_bodies_verdict room(const tab_bodies *t, const tab_body_org *o, uint64_t more,
                               tab_bodies_limits most)
{
    uint64_t had = o->holds > 0 ? o->bytes : 0;
    if (most.org > 0 && (had > most.org || more > most.org - had))
        return TAB_BODIES_ORG;
    if (most.all > 0 && (t->all > most.all || more > most.all - t->all))
        return TAB_BODIES_ALL;
    return TAB_BODIES_GOOD;
}

tab_bodies_verdict tab_bodies_take(tab_bodies *t, tab_str org, uint32_t process, uint64_t bytes,
                                   tab_bodies_limits most, uint32_t *ret)
{
    uint64_t tag;
    crypto_shorthash((unsigned char *)&tag, (const unsigned char *)org.p, org.n, t->seed);
    tab_body_org *o = &t->org[org_at(t, tag)];
    tab_bodies_verdict v = room(t, o, bytes, most);
    if (v != TAB_BODIES_GOOD)
        return v;
    if (t->free == 0)
        return TAB_BODIES_ALL;
    uint32_t number = t->free;
    tab_body_hold *h = &t->hold[number - 1];
    t->free = h->next;
    *h = (tab_body_hold){ .tag = tag, .bytes = bytes, .process = process };
    *o = (tab_body_org){ .tag = tag, .bytes = (o->holds > 0 ? o->bytes : 0) + bytes, .holds = o->holds + 1 };
    t->all += bytes;
    *ret = number;
    return TAB_BODIES_GOOD;
}

tab_bodies_verdict tab_bodies_resize(tab_bodies *t, uint32_t hold, uint64_t bytes, tab_bodies_limits most)
{
    tab_body_hold *h = &t->hold[hold - 1];
    tab_body_org *o = &t->org[org_at(t, h->tag)];
    if (bytes > h->bytes) {
        tab_bodies_verdict v = room(t, o, bytes - h->bytes, most);
        if (v != TAB_BODIES_GOOD)
            return v;
    }
    o->bytes += bytes - h->bytes;
    t->all += bytes - h->bytes;
    h->bytes = bytes;
    return TAB_BODIES_GOOD;
}

void tab_bodies_give(tab_bodies *t, uint32_t hold)
{
    tab_body_hold *h = &t->hold[hold - 1];
    size_t at = org_at(t, h->tag);
    t->org[at].bytes -= h->bytes;
    t->all -= h->bytes;
    if (--t->org[at].holds == 0)
        org_drop(t, at);
    *h = (tab_body_hold){ .next = t->free };
    t->free = hold;
}

void tab_bodies_forget(tab_bodies *t, uint32_t process)
{
    for (uint32_t i = 0; i < t->holds; i++)
        if (t->hold[i].process == process)
            tab_bodies_give(t, i + 1);
}
