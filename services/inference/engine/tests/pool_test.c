/* The sector of tables that refer to one another. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/pool.h"
#include "services/inference/engine/sector/sectors.h"

enum { TABLES = 4, A = 3, B = 5, C = 7 };

typedef struct {
    double sector[TABLES][TAB_SECTORS];
    tab_table table[TABLES];
    tab_profile profile[TABLES], *p[TABLES];
} world;

/* Table 0 is nearly sure of A, 1 and 2 lean to B a little before A, 3 is sure of C. */
static void make(world *w)
{
    static const double first[TABLES] = { 0.8, 0.2, 0.2, 0.9 }, second[TABLES] = { 0.02, 0.18, 0.15, 0.02 };
    for (size_t t = 0; t < TABLES; t++) {
        size_t one = t == 0 ? A : t == 3 ? C : B, two = t == 0 ? B : A;
        for (size_t s = 0; s < TAB_SECTORS; s++)
            w->sector[t][s] = (1 - first[t] - second[t]) / (TAB_SECTORS - 2);
        w->sector[t][one] = first[t];
        w->sector[t][two] = second[t];
        w->table[t] = (tab_table){ .rows = 10, .cols = 2 };
        w->profile[t] = (tab_profile){ .table = &w->table[t], .sector = w->sector[t], .hints = 2 };
        w->p[t] = &w->profile[t];
    }
}

static size_t first(const tab_profile *p)
{
    size_t best = 0;
    for (size_t s = 0; s < TAB_SECTORS; s++)
        best = p->sector[s] > p->sector[best] ? s : best;
    return best;
}

static double sum(const tab_profile *p)
{
    double x = 0;
    for (size_t s = 0; s < TAB_SECTORS; s++)
        x += p->sector[s];
    return x;
}

Test(pool, tables_that_refer_to_one_another_share_a_sector)
{
    world w;
    make(&w);
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
    /* 1 refers to 0, 2 to 1: one group; 3 stands alone */
    tab_reference ref[] = { { .child_table = 1, .parent_table = 0 },
                            { .child_table = 2, .parent_table = 1 } };
    cr_assert(tab_sectors_pool(a, w.p, TABLES, &(tab_references){ .n = 2, .ref = ref }));
    for (size_t t = 0; t < 3; t++) {
        cr_expect_eq(first(w.p[t]), A, "table %zu", t);
        cr_expect_lt(fabs(sum(w.p[t]) - 1), 1e-9);
        for (size_t s = 0; s < TAB_SECTORS; s++)
            cr_expect_eq(w.p[t]->sector[s], w.p[0]->sector[s]);
    }
    cr_expect_eq(w.p[0]->hints, 2);
    cr_expect_eq(w.p[1]->hints, 0); /* they spoke for B */
    cr_expect_eq(first(w.p[3]), C);
    cr_expect_lt(fabs(w.p[3]->sector[C] - 0.9), 1e-9);
    cr_expect_eq(w.p[3]->hints, 2);
}

Test(pool, a_table_without_cells_says_nothing)
{
    world w;
    make(&w);
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
    w.table[0].rows = 0;
    tab_reference ref[] = { { .child_table = 1, .parent_table = 0 } };
    cr_assert(tab_sectors_pool(a, w.p, TABLES, &(tab_references){ .n = 1, .ref = ref }));
    cr_expect_eq(first(w.p[1]), B);
    cr_expect_lt(fabs(w.p[1]->sector[B] - 0.2), 1e-9);
    cr_expect_eq(w.p[0]->sector, w.sector[0]);
}
