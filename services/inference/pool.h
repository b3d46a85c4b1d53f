/* Threads that passes borrow; those of a pool `behind` step back before all others. The engine makes none of
 * its own: it hands loops to `parallel_for`, and the pool runs their turns on its helpers and on the calling
 * thread.
 *
 *   batch: [ next index ........ n ]   taken one at a time by whoever is free; the caller takes part, so a
 *   loop ends even when every helper is busy, and a loop inside a loop cannot deadlock. Waiting sleeps. */
#ifndef TAB_INFERENCE_POOL_H
#define TAB_INFERENCE_POOL_H

#include "common/base/base.h"

typedef struct tab_pool tab_pool;
tab_pool *tab_pool_new(size_t helpers, bool behind); /* 0 is fine: every loop is the caller's */
void tab_pool_free(tab_pool *p);                     /* no loop may be running */
TAB_DEFINE_AUTO(tab_pool)

/* The shape of tab_engine.parallel_for; `pool` is a tab_pool. Returns when all n calls have returned. */
void tab_pool_for(void *pool, size_t n, void (*fn)(void *ctx, size_t i), void *ctx);

/* The calling thread has a tenth of the weight of others from now on (nice 10): what it computes fills the
 * time that they leave. */
void tab_pool_step_back(void);

#endif
