/* See pool.h: a list of open batches. Helpers sleep on one condition, each caller on that of its batch. */
#include "services/inference/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/log.h"
#include "services/inference/memory.h"

enum { BEHIND = 10 }; /* a weight of 110 beside 1,024 (sched(7)) */

typedef struct batch batch;
struct batch {
    void (*fn)(void *ctx, size_t i);
    void *ctx;
    size_t n;
    size_t next;        /* under the pool's lock, as are all members below */
    tab_memory *memory; /* what the turns allocate is their caller's */
    size_t running;     /* turns that have been taken and not finished */
    pthread_cond_t done;
    batch *older, *newer;
};

struct tab_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    batch *oldest, *newest; /* batches that still have turns to give */
    bool stop, behind;
    size_t helpers;
    pthread_t thread[];
};

static void unlink_batch(tab_pool *p, batch *b)
{
    *(b->older != NULL ? &b->older->newer : &p->oldest) = b->newer;
    *(b->newer != NULL ? &b->newer->older : &p->newest) = b->older;
}

/* Takes one turn of b and runs it; the lock is held on entry and on return. */
static void turn(tab_pool *p, batch *b)
{
    size_t i = b->next++;
    b->running++;
    if (b->next == b->n)
        unlink_batch(p, b);
    pthread_mutex_unlock(&p->lock);
    tab_memory *before = tab_memory_enter(b->memory);
    b->fn(b->ctx, i);
    tab_memory_enter(before);
    pthread_mutex_lock(&p->lock);
    if (--b->running == 0 && b->next == b->n)
        pthread_cond_signal(&b->done); /* its caller, who frees b only after taking the lock */
}

static void *helper(void *arg)
{
    tab_pool *p = arg;
    if (p->behind)
        tab_pool_step_back();
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        /* The newest first: inner loops end before outer ones go on, which bounds what is in flight. */
        if (p->newest != NULL)
            turn(p, p->newest);
        else
            pthread_cond_wait(&p->work, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Linux counts niceness by thread. */
void tab_pool_step_back(void)
{
    static atomic_bool said;
    if (setpriority(PRIO_PROCESS, (id_t)gettid(), BEHIND) != 0 && !atomic_exchange(&said, true))
        tab_log(TAB_WARN, "jobs compute at the priority of calls: setpriority is not permitted here");
}

tab_pool *tab_pool_new(size_t helpers, bool behind)
{
    tab_pool *p = calloc(1, sizeof *p + helpers * sizeof(pthread_t));
    if (p == NULL)
        return NULL;
    p->behind = behind;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 8u << 20); /* passes recurse in trees and sorts */
    while (p->helpers < helpers && pthread_create(&p->thread[p->helpers], &attr, helper, p) == 0)
        p->helpers++;
    pthread_attr_destroy(&attr);
    return p; /* fewer helpers than asked for still end every loop */
}

void tab_pool_free(tab_pool *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->helpers; i++)
        pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void tab_pool_for(void *pool, size_t n, void (*fn)(void *ctx, size_t i), void *ctx)
{
    tab_pool *p = pool;
    if (n <= 1 || p->helpers == 0) {
        for (size_t i = 0; i < n; i++)
            fn(ctx, i);
        return;
    }
    batch b = { .fn = fn, .ctx = ctx, .n = n, .memory = tab_memory_mine() };
    pthread_cond_init(&b.done, NULL);
    pthread_mutex_lock(&p->lock);
    b.older = p->newest;
    *(p->newest != NULL ? &p->newest->newer : &p->oldest) = &b;
    p->newest = &b;
    if (n - 1 < p->helpers)
        for (size_t i = 0; i + 1 < n; i++)
            pthread_cond_signal(&p->work);
    else
        pthread_cond_broadcast(&p->work);
    while (b.next < b.n)
        turn(p, &b);
    while (b.running > 0)
        pthread_cond_wait(&b.done, &p->lock);
    pthread_mutex_unlock(&p->lock);
    pthread_cond_destroy(&b.done);
}
