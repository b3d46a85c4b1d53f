#include <criterion/criterion.h>
#include <stdatomic.h>

#include "services/inference/pool.h"

typedef struct {
    tab_pool *pool;
    atomic_int seen[200];
    atomic_int inner;
} work;

static void outer(void *ctx, size_t i)
{
    work *w = ctx;
    atomic_fetch_add(&w->seen[i], 1);
}

static void inner(void *ctx, size_t i)
{
    (void)i;
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void nested(void *ctx, size_t i)
{
    work *w = ctx;
    atomic_fetch_add(&w->seen[i], 1);
    tab_pool_for(w->pool, 10, inner, &w->inner);
}

Test(pool, every_index_once)
{
    for (size_t helpers = 0; helpers < 4; helpers++) {
        TAB_AUTO(tab_pool) *p = tab_pool_new(helpers, false);
        for (int round = 0; round < 50; round++) {
            work w = { .pool = p };
            tab_pool_for(p, 200, outer, &w);
            for (size_t i = 0; i < 200; i++)
                cr_assert_eq(w.seen[i], 1);
        }
    }
}

Test(pool, loop_in_loop_ends)
{
    TAB_AUTO(tab_pool) *p = tab_pool_new(3, false);
    work w = { .pool = p };
    tab_pool_for(p, 200, nested, &w);
    cr_expect_eq(w.inner, 2000);
}

Test(pool, no_turns)
{
    TAB_AUTO(tab_pool) *p = tab_pool_new(2, false);
    tab_pool_for(p, 0, outer, NULL);
}
