/* One arena a request: what it allocates dies with it, in one call, under one ceiling.
 *
 * block -> block -> ...     each: [ used ........ | free ... ]     one thread at a time
 *
 * Past `limit` bytes alloc gives NULL and the arena stays full: a chain of steps checks once. */
#ifndef TAB_ARENA_H
#define TAB_ARENA_H

#include "common/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tab_arena tab_arena;

tab_arena *tab_arena_new(size_t limit); /* limit in bytes; NULL: out of memory */
void tab_arena_free(tab_arena *a);      /* runs deferred calls, newest first; NULL is fine */
TAB_DEFINE_AUTO(tab_arena)

/* n elements of `size` bytes, zeroed, aligned to 64 when 64 bytes or more, else to 16. */
void *tab_arena_alloc(tab_arena *a, size_t n, size_t size) TAB_CHECKED;
#define tab_arena_new_of(a, type, n) ((type *)tab_arena_alloc((a), (n), sizeof(type)))

/* A NUL-terminated copy of the bytes; the view excludes the NUL. p is NULL when the arena is full.
 */
tab_str tab_arena_copy(tab_arena *a, tab_str s);
char *tab_arena_printf(tab_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Takes over n bytes from malloc, counted under the limit and freed with the arena. When it says
 * false the arena is full and p is freed already. */
bool tab_arena_adopt(tab_arena *a, void *p, size_t n) TAB_CHECKED;

bool tab_arena_full(const tab_arena *a);
size_t tab_arena_used(const tab_arena *a); /* bytes taken from the system */
bool tab_arena_defer(tab_arena *a, void (*fn)(void *), void *arg) TAB_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
