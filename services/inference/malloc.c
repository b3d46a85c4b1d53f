/* malloc and its kin as the program inference calls them (-Wl,--wrap): large blocks are counted (memory.h).
 * In programs that are linked without, nothing here is called. */
#include <errno.h>
#include <malloc.h>

#include "services/inference/memory.h"

/* The linker's names for the real ones; weak, for programs that do not wrap. */
void *__real_malloc(size_t n) __attribute__((weak));
void *__real_calloc(size_t n, size_t size) __attribute__((weak));
void *__real_realloc(void *p, size_t n) __attribute__((weak));
void *__real_aligned_alloc(size_t align, size_t n) __attribute__((weak));
void __real_free(void *p) __attribute__((weak));
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void __wrap_free(void *p);

/* What is asked for is taken before, and made right by what was given: a block is counted by its own size. */
static void *counted(void *p, size_t asked)
{
    size_t is = p == NULL ? 0 : malloc_usable_size(p);
    if (asked >= TAB_MEMORY_COUNTED)
        tab_memory_give(asked);
    if (is >= TAB_MEMORY_COUNTED)
        tab_memory_put(is);
    return p;
}

static bool refused(size_t n)
{
    if (n < TAB_MEMORY_COUNTED || tab_memory_take(n))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t n)
{
    return refused(n) ? NULL : counted(__real_malloc(n), n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || refused(bytes))
        return NULL;
    return counted(__real_calloc(n, size), bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return refused(n) ? NULL : counted(__real_aligned_alloc(align, n), n);
}

void *__wrap_realloc(void *p, size_t n)
{
    size_t was = p == NULL ? 0 : malloc_usable_size(p);
    if (refused(n))
        return NULL;
    void *q = __real_realloc(p, n);
    if (q == NULL && n > 0) { /* p is as it was */
        if (n >= TAB_MEMORY_COUNTED)
            tab_memory_give(n);
        return NULL;
    }
    if (was >= TAB_MEMORY_COUNTED)
        tab_memory_give(was);
    return counted(q, n);
}

void __wrap_free(void *p)
{
    size_t is = p == NULL ? 0 : malloc_usable_size(p);
    if (is >= TAB_MEMORY_COUNTED)
        tab_memory_give(is);
    __real_free(p);
}
