/* What look-alikes within two tables take from the answers across them, by hand. */
#include <criterion/criterion.h>

#include "services/inference/engine/link/evidence/chance.h"

/* Tables of 3 and 4 rows hold 3 + 6 pairs within and 12 across: a pair within stands for 4/3 across. Rows 0
 * and 1 of the first are one entity at 0.5, so each weighs 1/2: the look-alikes feared below 0.5 are
 * 2.1 * 4/3 * (2 * 1/2 * 1/2) * (1 - 0.5) = 0.7. One entity is reckoned with above all answers. */
Test(across_chance, answers_fall_by_the_look_alikes_that_the_tables_hold)
{
    const tab_table_view one = { .rows = 3 }, other = { .rows = 4 };
    uint32_t a[] = { 2, 2, 2, 2, 2 }, b[] = { 0, 1, 2, 3, 0 }, first[] = { 0 }, second[] = { 1 };
    float p[] = { 0.9f, 0.9f, 0.9f, 0.9f, 0.4f }, half[] = { 0.5f };
    const float want[] = { 0.75f, 0.75f, 0.75f, 0.75f, 0.3f };
    tab_twin_pairs across = { .t = { &one, &other }, .rows = 7, .n = 5, .a = a, .b = b, .p = p };
    const tab_twin_pairs within = { .rows = 3, .n = 1, .a = first, .b = second, .p = half };
    const tab_twin_pairs none = { .rows = 4 };
    cr_assert(tab_across_chance(&across, (const tab_twin_pairs *const[]){ &within, &none }));
    for (size_t i = 0; i < 5; i++)
        cr_expect_float_eq(p[i], want[i], 1e-6, "%zu: %g", i, (double)p[i]);
}

/* A row that is one entity with another counts half in each of its pairs. */
Test(across_chance, an_entity_of_two_rows_counts_once)
{
    const tab_table_view one = { .rows = 2 }, other = { .rows = 2 };
    uint32_t a[] = { 0, 1 }, b[] = { 0, 0 }, first[] = { 0 }, second[] = { 1 };
    float p[] = { 0.9f, 0.9f }, sure[] = { 1 };
    tab_twin_pairs across = { .t = { &one, &other }, .rows = 4, .n = 2, .a = a, .b = b, .p = p };
    const tab_twin_pairs within = { .rows = 2, .n = 1, .a = first, .b = second, .p = sure };
    const tab_twin_pairs none = { .rows = 2 };
    cr_assert(tab_across_chance(&across, (const tab_twin_pairs *const[]){ &within, &none }));
    cr_expect(p[0] < 1e-6f && p[1] < 1e-6f, "%g %g: two halves are one entity, the one reckoned with",
              (double)p[0], (double)p[1]);
}
