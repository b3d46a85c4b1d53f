/* The memory of passes: each has a ceiling, and all of a process together have one (decision 0303).
 *
 *   malloc of 64 KiB or more, arenas' too -> counted for the process and for the thread's account
 *   past either ceiling                   -> NULL: the path of an allocation that failed
 *
 * Counted is what grows with the data: the small rest and what libraries take for themselves are not. A block
 * is given back to the account of the thread that frees it; what outlives its pass (a fitted model) stays in
 * the process's count alone. Only the program inference is linked so (malloc.c). */
#ifndef TAB_INFERENCE_MEMORY_H
#define TAB_INFERENCE_MEMORY_H

#include <stdatomic.h>

#include "common/base/base.h"

typedef struct {
    atomic_llong used; /* bytes */
    int64_t most;
    atomic_bool full;    /* an allocation was refused for its own ceiling's sake */
    atomic_bool crowded; /* or for the process's */
} tab_memory;

void tab_memory_limit(size_t all); /* bytes of the process; before any pass */
size_t tab_memory_used(void);
int64_t tab_memory_most(void);

/* What this thread allocates from now on is m's; NULL: nobody's. Gives whose it was before. */
tab_memory *tab_memory_enter(tab_memory *m);
tab_memory *tab_memory_mine(void);

/* For malloc.c. False: a ceiling would be passed. */
bool tab_memory_take(size_t n) TAB_CHECKED;
void tab_memory_put(size_t n); /* it is taken, whatever the ceilings say */
void tab_memory_give(size_t n);
enum { TAB_MEMORY_COUNTED = 64 * 1024 };

#endif
