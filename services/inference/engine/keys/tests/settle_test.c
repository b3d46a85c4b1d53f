/* The last steps by which inclusions become references, by hand: what stays below one half, and which of
 * several parents is chosen. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/keys/choose.h"
#include "services/inference/engine/keys/root.h"
#include "services/inference/engine/keys/score.h"

static tab_inclusion pair(uint32_t child, uint32_t parent)
{
    return (tab_inclusion){ .child = child, .parent = parent };
}

Test(settle, a_child_has_one_parent_the_likeliest)
{
    tab_inclusion x[] = { pair(0, 1), pair(0, 2), pair(0, 3), pair(4, 3) };
    float p[] = { 0.6f, 0.9f, 0.8f, 0.2f };
    cr_assert(tab_keys_choose(5, x, 4, p));
    cr_expect(p[0] == 0 && p[1] == 0.9f && p[2] == 0 && p[3] == 0.2f);
    float even[] = { 0.7f, 0.7f, 0.7f, 0.7f };
    cr_assert(tab_keys_choose(5, x, 4, even));
    cr_expect(even[0] == 0.7f && even[1] == 0 && even[2] == 0 && even[3] == 0.7f, "of equal ones the first");
}

Test(settle, no_column_is_above_itself)
{
    tab_inclusion x[] = { pair(0, 1), pair(1, 2), pair(2, 0), pair(3, 0), pair(3, 3) };
    float p[] = { 0.9f, 0.8f, 0.95f, 0.6f, 0.99f };
    cr_assert(tab_keys_choose(4, x, 5, p));
    cr_expect(p[2] == 0.95f && p[0] == 0.9f && p[1] == 0, "the least likely of a circle goes");
    cr_expect(p[3] == 0.6f && p[4] == 0);
    tab_inclusion both[] = { pair(0, 1), pair(1, 0) };
    float q[] = { 0.5f, 0.51f };
    cr_assert(tab_keys_choose(2, both, 2, q));
    cr_expect(q[0] == 0 && q[1] == 0.51f);
}

/* Column 0 of table 0 refers to column 1 of table 1; there are four tables. */
typedef struct {
    tab_key_column col[5];
    tab_key_columns k;
    tab_inclusion x;
} world;

static void begin(world *w)
{
    *w = (world){ .x = pair(0, 1) };
    for (uint32_t c = 0; c < 5; c++)
        w->col[c] =
            (tab_key_column){ .table = c < 4 ? c : 3, .kind = TAB_KEY_WHOLE, .n = 1000, .present = 1000 };
    w->k = (tab_key_columns){ .col = w->col };
}

static double settled(world *w, float p)
{
    cr_assert(tab_keys_settle(&w->k, 5, &w->x, 1, &p));
    return (double)p;
}

Test(settle, whole_numbers_of_few_values_are_references_when_it_is_sure)
{
    world w;
    begin(&w);
    w.col[0].n = TAB_KEY_FEW;
    cr_expect_float_eq(settled(&w, 0.64f), 0.49, 1e-6);
    cr_expect_float_eq(settled(&w, 0.3f), 0.3, 1e-6);
    cr_expect_float_eq(settled(&w, 0.65f), 0.65, 1e-6);
    w.col[0].n = TAB_KEY_FEW + 1;
    cr_expect_float_eq(settled(&w, 0.64f), 0.64, 1e-6);
    w.col[0].n = TAB_KEY_FEW;
    w.col[0].kind = TAB_KEY_TEXT;
    cr_expect_float_eq(settled(&w, 0.64f), 0.64, 1e-6, "texts name things, however few");
}

/* Nothing else tells of them: odds of 0.01 times 13 times 273. */
Test(settle, two_counters_of_two_tables_alone_are_one_key_as_chance_leaves)
{
    world w;
    begin(&w);
    for (uint32_t c = 0; c < 5; c++)
        w.col[c].table = c > 0;
    w.col[0].counter = w.col[1].counter = true;
    w.col[0].n = w.col[1].n = 273;
    double odds = 0.01 * 13 * 273;
    cr_expect_float_eq(settled(&w, 0.2f), odds / (1 + odds), 1e-6);
    w.col[0].n = 270;
    cr_expect_float_eq(settled(&w, 0.2f), 0.2, 1e-6, "some rows are missing");
    w.col[0].n = w.col[1].n = 250;
    cr_expect_float_eq(settled(&w, 0.2f), 0.49, 1e-6, "a list that was cut");
}

/* Tables 1, 2 and 3 are keyed by the same 40 codes; table 3 names its rows, by column 4. */
typedef struct {
    tab_key_column col[5];
    tab_key_columns k;
    tab_inclusion x[7];
    float p[7];
} keyed;

static void begin_keyed(keyed *w)
{
    *w = (keyed){ .x = { pair(0, 1), pair(0, 2), pair(0, 3), pair(1, 2), pair(1, 3), pair(2, 3), pair(3, 1) },
                  .p = { 0.4f, 0.3f, 0.1f, 0.3f, 0.1f, 0.2f, 0.2f } };
    for (uint32_t c = 0; c < 5; c++)
        w->col[c] = (tab_key_column){
            .table = c < 4 ? c : 3, .kind = TAB_KEY_TEXT, .n = 40, .present = 40, .unique = c > 0
        };
    w->col[0].present = 300;
    for (size_t i = 0; i < 7; i++)
        w->x[i].held = 40;
    w->k = (tab_key_columns){ .col = w->col };
}

static void root_of(keyed *w)
{
    cr_assert(tab_keys_root(&w->k, 5, w->x, 7, w->p));
}

Test(settle, of_columns_with_the_same_values_the_one_whose_table_names_its_rows_is_the_key)
{
    keyed w;
    begin_keyed(&w);
    root_of(&w);
    cr_expect_float_eq(w.p[2], 0.8f, 1e-6, "what the three share");
    cr_expect(w.p[0] == 0 && w.p[1] == 0);
    cr_expect_float_eq(w.p[4], 0.4f, 1e-6);
    cr_expect_float_eq(w.p[6], 0.2f, 1e-6, "the key's own are as they were");
    begin_keyed(&w);
    w.p[0] = w.p[1] = 0.9f;
    root_of(&w);
    cr_expect_float_eq(w.p[2], 0.99f, 1e-6);
}

Test(settle, tables_that_both_name_their_rows_or_hold_other_values_are_left)
{
    keyed w;
    begin_keyed(&w);
    w.col[4].table = 2;
    w.col[3].kind = w.col[2].kind = w.col[1].kind = TAB_KEY_WHOLE;
    root_of(&w);
    cr_expect_float_eq(w.p[1], 0.8f, 1e-6, "named by another kind of column");
    begin_keyed(&w);
    w.col[4].unique = false;
    root_of(&w);
    cr_expect_float_eq(w.p[2], 0.1f, 1e-6, "none names its rows");
    begin_keyed(&w);
    for (size_t i = 0; i < 7; i++)
        w.x[i].held = 39; /* of 40: the smaller part is no copy */
    root_of(&w);
    cr_expect_float_eq(w.p[2], 0.1f, 1e-6);
    begin_keyed(&w);
    for (size_t c = 0; c < 4; c++)
        w.col[c].kind = TAB_KEY_WHOLE;
    for (size_t i = 0; i < 7; i++)
        w.x[i].f[TAB_KEY_F_PARENT_DENSE] = 1;
    root_of(&w);
    cr_expect_float_eq(w.p[2], 0.1f, 1e-6, "counted numbers are the same by chance");
}

/* Of 200 rows drawn from a counter of 100 some 87 values would be there: 6 are few beside that. */
Test(settle, places_among_a_counter_s_numbers_are_measures)
{
    world w;
    begin(&w);
    w.col[1].n = 100;
    w.col[0].present = 200;
    w.col[0].n = TAB_KEY_FEW;
    w.x.f[TAB_KEY_F_PARENT_DENSE] = 1;
    cr_expect_float_eq(settled(&w, 0.9f), 0.49, 1e-6, "few values of many rows");
    w.col[0].present = 20; /* 18 would be there, four times 6 is more */
    cr_expect_float_eq(settled(&w, 0.9f), 0.9, 1e-6);
    w.col[0].present = 28; /* 24.5: more than four times 6 */
    cr_expect_float_eq(settled(&w, 0.9f), 0.49, 1e-6);
    w.x.f[TAB_KEY_F_PARENT_DENSE] = 0.49f;
    cr_expect_float_eq(settled(&w, 0.9f), 0.9, 1e-6, "the parent counts nothing");
    w.x.f[TAB_KEY_F_PARENT_DENSE] = 0.5f;
    w.col[0].present = 200;
    w.col[0].n = 50;
    cr_expect_float_eq(settled(&w, 0.9f), 0.9, 1e-6);
    w.x.f[TAB_KEY_F_TOP] = -10.5f;
    cr_expect_float_eq(settled(&w, 0.9f), 0.49, 1e-6, "no draw leaves out so much of the end");
    w.x.f[TAB_KEY_F_TOP] = -10;
    cr_expect_float_eq(settled(&w, 0.9f), 0.9, 1e-6);
    w.x.f[TAB_KEY_F_TOP] = -10.5f;
    w.col[0].n = 51;
    cr_expect_float_eq(settled(&w, 0.9f), 0.9, 1e-6);
    w.col[0].n = 50;
    w.col[0].kind = TAB_KEY_DATE;
    cr_expect_float_eq(settled(&w, 0.9f), 0.9, 1e-6);
}

/* Two counters of 1,234 rows among four tables: odds of 0.01 / 3 times 13 times 1234. */
Test(settle, two_counters_are_one_key_as_often_as_chance_leaves)
{
    world w;
    begin(&w);
    w.col[0].counter = w.col[1].counter = true;
    w.col[1].n = 1234;
    double odds = 0.01 / 3 * 13 * 1234;
    cr_expect_float_eq(settled(&w, 0.999f), odds / (1 + odds), 1e-6);
    cr_expect_float_eq(settled(&w, 0.6f), 0.6, 1e-6, "no more than was said");
    w.x.f[TAB_KEY_F_FAME] = 0.5f;
    cr_expect_float_eq(settled(&w, 0.999f), 0.999, 1e-6, "others refer to it as well");
    w.x.f[TAB_KEY_F_FAME] = 0;
    w.col[0].counter = false;
    cr_expect_float_eq(settled(&w, 0.999f), 0.999, 1e-6);
    w.col[0].counter = true;
    static const struct {
        uint32_t n;
        bool is_round;
    } cases[] = { { 20, true },     { 250, true },  { 255, false },   { 1000, true },   { 1500, true },
                  { 1510, false },  { 999, false }, { 10000, true },  { 10500, false }, { 12000, true },
                  { 12100, false }, { 90, true },   { 100000, true }, { 110000, true }, { 101000, false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double o = 0.01 / 3 * 13 * (w.col[1].n = cases[i].n);
        cr_expect_float_eq(settled(&w, 0.999f), cases[i].is_round ? 0.49 : fmin(o / (1 + o), 0.999), 1e-6,
                           "%u", cases[i].n);
    }
}

Test(settle, what_lies_on_a_calendar_refers_to_it)
{
    world w;
    begin(&w);
    w.x.calendar = true;
    cr_expect_float_eq(settled(&w, 0.2f), 0.95, 1e-6);
    cr_expect_float_eq(settled(&w, 0.97f), 0.97, 1e-6);
}
