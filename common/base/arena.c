/* See arena.h: a list of blocks that double in size up to 4 MiB; a large request gets a block of its own. A
 * thread keeps a few first blocks for its next arenas: small requests make many. */
#include "common/base/arena.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_BLOCK = 16 * 1024, LARGEST_BLOCK = 4 * 1024 * 1024 };
_Static_assert(FIRST_BLOCK <= LARGEST_BLOCK && FIRST_BLOCK % 64 == 0,
               "blocks double from the first to the largest");
/* Under AddressSanitizer no block is kept, so that it sees what is used after its end, and what nobody was
 * given is closed: the rest of a block, and GAP bytes behind each piece where the block has them. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { KEPT = 0, GAP = 16 };
#else
enum { KEPT = 4, GAP = 0 };
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

typedef struct block {
    struct block *next;
    size_t size, used; /* of data[] */
    _Alignas(64) char data[];
} block;
_Static_assert(offsetof(block, data) % 64 == 0, "what is aligned within data is aligned");

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

/* ---- first blocks that this thread keeps ----------------------------------------------------- */

static _Thread_local struct {
    block *of[KEPT + 1];
    size_t n;
    bool ends; /* free_kept runs at the thread's end */
} kept;
static pthread_key_t kept_key;
static bool keyed;

static void free_kept(void *arg)
{
    (void)arg;
    while (kept.n > 0)
        free(kept.of[--kept.n]);
    kept.ends = false;
}

static void make_key(void)
{
    keyed = pthread_key_create(&kept_key, free_kept) == 0;
}

static block *block_new(size_t size)
{
    assert(size > 0 && kept.n <= KEPT);
    if (size == FIRST_BLOCK && kept.n > 0)
        return kept.of[--kept.n];
    return aligned_alloc(64, (sizeof(block) + size + 63) / 64 * 64);
}

static void block_free(block *b)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (b->size != FIRST_BLOCK || kept.n == KEPT) {
        free(b);
        return;
    }
    pthread_once(&once, make_key);
    kept.ends = kept.ends || (keyed && pthread_setspecific(kept_key, &kept) == 0);
    if (kept.ends)
        kept.of[kept.n++] = b;
    else
        free(b);
}

/* ---- arenas ---------------------------------------------------------------------------------- */

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
        block_free(b);
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
    block *b = block_new(size);
    if (b == NULL)
        return NULL;
    b->size = size;
    b->used = 0;
    ASAN_POISON_MEMORY_REGION(b->data, size);
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
    assert(a->taken <= a->limit && b->size >= n);
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
    assert(at <= b->size && bytes <= b->size - at && at % align == 0);
    b->used = b->size - at - bytes > GAP ? at + bytes + GAP : b->size;
    ASAN_UNPOISON_MEMORY_REGION(b->data + at, bytes);
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
    assert(fn != NULL);
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
    assert(a->taken <= a->limit);
    return true;
}
