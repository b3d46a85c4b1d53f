#include "services/inference/memory.h"

#include <criterion/criterion.h>
#include <pthread.h>

#include "services/inference/pool.h"

enum { MIB = 1 << 20 };

Test(memory, a_pass_has_a_ceiling_of_its_own)
{
    tab_memory one = { .most = 3 * MIB }, two = { .most = 3 * MIB };
    cr_expect_null(tab_memory_enter(&one));
    cr_expect(tab_memory_take(2 * MIB));
    cr_expect_not(tab_memory_take(2 * MIB));
    cr_expect(atomic_load(&one.full) && !atomic_load(&one.crowded));
    cr_expect_eq(tab_memory_enter(&two), &one);
    cr_expect(tab_memory_take(2 * MIB));
    cr_expect_eq(tab_memory_used(), 4u * MIB);
    tab_memory_give(2 * MIB);
    cr_expect_eq(tab_memory_enter(&one), &two);
    tab_memory_give(2 * MIB);
    cr_expect(tab_memory_take(3 * MIB), "what was given back may be taken again");
    tab_memory_give(3 * MIB);
    tab_memory_enter(NULL);
    cr_expect_eq(tab_memory_used(), 0u);
}

Test(memory, all_passes_have_one_together)
{
    tab_memory one = { .most = 8 * MIB };
    tab_memory_limit(4 * MIB);
    cr_expect(tab_memory_take(3 * MIB), "nobody's counts as well");
    tab_memory_enter(&one);
    cr_expect_not(tab_memory_take(2 * MIB));
    cr_expect(atomic_load(&one.crowded) && !atomic_load(&one.full));
    cr_expect_eq(atomic_load(&one.used), 0);
    cr_expect_not(tab_memory_take(SIZE_MAX));
    cr_expect(tab_memory_take(1 * MIB));
}

static void turn(void *ctx, size_t i)
{
    (void)i;
    cr_expect_eq(tab_memory_mine(), ctx);
    cr_expect(tab_memory_take(MIB));
}

Test(memory, what_helpers_allocate_is_their_callers)
{
    TAB_AUTO(tab_pool) *pool = tab_pool_new(3, false);
    tab_memory one = { .most = 100 * (int64_t)MIB };
    tab_memory_enter(&one);
    tab_pool_for(pool, 64, turn, &one);
    cr_expect_eq(atomic_load(&one.used), 64ll * MIB);
    cr_expect_eq(tab_memory_mine(), &one);
}
