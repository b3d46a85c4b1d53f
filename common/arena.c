/* See arena.h: a list of blocks that double in size up to 4 MiB; a large request gets a block of its own. */
#include "common/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_BLOCK = 16 * 1024, LARGEST_BLOCK = 4 * 1024 * 1024 };

typedef struct block {
    struct block *next;
    size_t size, used; /* of data[] */
    _Alignas(64) char data[];
} block;

typedef struct deferred {
    struct deferred *next;
    void (*fn)(void *);
    void *arg;
} deferred;

struct tab_arena {
    block *head;
    deferred *at_free;
    size_t limit, taken, next_size;
    bool full;
};

tab_arena *tab_arena_new(size_t limit)
{
    tab_arena *a = calloc(1, sizeof *a);
    if (a != NULL) {
        a->limit = limit;
        a->next_size = FIRST_BLOCK;
    }
    return a;
}

void tab_arena_free(tab_arena *a)
{
    if (a == NULL)
        return;
    for (deferred *d = a->at_free; d != NULL; d = d->next)
        d->fn(d->arg);
    for (block *b = a->head, *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    free(a);
}

/* A block with room for n bytes. A large request gets a block of its own behind the head, so that
 * the head's free space is not lost. */
static block *grow(tab_arena *a, size_t n)
{
    size_t size = n > a->next_size ? n : a->next_size;
    if (n > a->limit || a->taken > a->limit - n)
        return NULL;
    if (size > a->limit - a->taken)
        size = n;
    block *b = aligned_alloc(64, (sizeof *b + size + 63) / 64 * 64);
    if (b == NULL)
        return NULL;
    b->size = size;
    b->used = 0;
    a->taken += size;
    if (n > a->next_size && a->head != NULL) {
        b->next = a->head->next;
        a->head->next = b;
    } else {
        b->next = a->head;
        a->head = b;
        if (a->next_size < LARGEST_BLOCK)
            a->next_size *= 2;
    }
    return b;
}

void *tab_arena_alloc(tab_arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (a->full || __builtin_mul_overflow(n, size, &bytes) || bytes > a->limit) {
        a->full = true;
        return NULL;
    }
    if (bytes == 0)
        bytes = 1;
    size_t align = bytes >= 64 ? 64 : 16;
    block *b = a->head;
    size_t at = b == NULL ? 0 : (b->used + align - 1) / align * align;
    if (b == NULL || at > b->size || b->size - at < bytes) {
        b = grow(a, bytes);
        at = 0;
    }
    if (b == NULL) {
        a->full = true;
        return NULL;
    }
    b->used = at + bytes;
    return memset(b->data + at, 0, bytes);
}

tab_str tab_arena_copy(tab_arena *a, tab_str s)
{
    char *p = tab_arena_alloc(a, s.n + 1, 1);
    if (p != NULL && s.n > 0)
        memcpy(p, s.p, s.n);
    return (tab_str){ p, p == NULL ? 0 : s.n };
}

char *tab_arena_printf(tab_arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = n < 0 ? NULL : tab_arena_alloc(a, (size_t)n + 1, 1);
    if (p != NULL)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

bool tab_arena_full(const tab_arena *a)
{
    return a->full;
}

size_t tab_arena_used(const tab_arena *a)
{
    return a->taken;
}

bool tab_arena_defer(tab_arena *a, void (*fn)(void *), void *arg)
{
    deferred *d = tab_arena_alloc(a, 1, sizeof *d);
    if (d == NULL)
        return false;
    *d = (deferred){ a->at_free, fn, arg };
    a->at_free = d;
    return true;
}

bool tab_arena_adopt(tab_arena *a, void *p, size_t n)
{
    if (a->full || n > a->limit || a->taken > a->limit - n || !tab_arena_defer(a, free, p)) {
        a->full = true;
        free(p);
        return false;
    }
    a->taken += n;
    return true;
}
