#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/link/cross_tables.h"

enum { PATIENTS = 120, TESTS = 400 };

static uint32_t draw(uint64_t *s, uint32_t n)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33) % n;
}

static Tabella__CrossTableMap *crossed(tab_arena *arena, tab_table table[2], tab_builder *b[2][3])
{
    tab_profile *p[2];
    tab_error err = { 0 };
    tab_engine e = { .arena = arena };
    for (int t = 0; t < 2; t++) {
        tab_column *col = tab_arena_new_of(arena, tab_column, 3);
        for (int c = 0; c < 3; c++)
            cr_assert(tab_builder_finish(b[t][c], &col[c]));
        table[t].col = col;
        cr_assert_eq(tab_profile_table(&e, &table[t], &p[t], &err), TAB_OK);
    }
    Tabella__CrossTableMap *map;
    Tabella__UnifiedRows *unified;
    uint64_t linked;
    cr_assert_eq(tab_cross_tables(&e, p, 2, 0.5, &map, &unified, &linked, &err), TAB_OK);
    return map;
}

/* Patients, and what was measured of them: `other` numbers name nobody in the first table. */
static Tabella__CrossTableMap *map_of(tab_arena *arena, bool other)
{
    static const char *const town[] = { "Lisbon", "Turin", "Graz", "Bergen", "Leeds", "Lyon" };
    static const char *const test[] = { "glucose", "creatinine", "potassium" };
    tab_builder *b[2][3];
    uint64_t s = 3;
    char text[32];
    for (int t = 0; t < 2; t++)
        for (int c = 0; c < 3; c++)
            b[t][c] = tab_builder_new(arena, tab_str_of(t == 0 && c == 0 ? "PatNr" : ""));
    for (uint32_t i = 0; i < PATIENTS; i++) {
        snprintf(text, sizeof text, "P%u", 10000 + 7 * i);
        tab_builder_text(b[0][0], tab_str_of(text));
        tab_builder_text(b[0][1], tab_str_of(town[draw(&s, 6)]));
        tab_builder_number(b[0][2], 18 + draw(&s, 80));
    }
    for (uint32_t i = 0; i < TESTS; i++) {
        snprintf(text, sizeof text, "%c%u", other ? 'Q' : 'P', 10000 + 7 * draw(&s, PATIENTS));
        tab_builder_text(b[1][0], tab_str_of(text));
        tab_builder_text(b[1][1], tab_str_of(test[draw(&s, 3)]));
        tab_builder_number(b[1][2], (double)draw(&s, 9000) / 100);
    }
    tab_table table[2] = { { .id = TAB_S("patients"), .rows = PATIENTS, .cols = 3 },
                           { .id = TAB_S("tests"), .rows = TESTS, .cols = 3 } };
    return crossed(arena, table, b);
}

Test(keys, a_column_that_names_the_other_tables_rows_is_said)
{
    tab_arena *arena = tab_arena_new(SIZE_MAX / 2);
    Tabella__CrossTableMap *map = map_of(arena, false);
    cr_expect_str_eq(map->keys_used, "PatNr");
    cr_assert_eq(map->n_relation, 1);
    cr_expect_str_eq(map->relation[0]->relation, "one_to_many");
    cr_expect_eq(map->relation[0]->matches, 0, "a measurement is no patient");
    tab_arena_free(arena);
}

Test(keys, values_that_name_nobody_are_none)
{
    tab_arena *arena = tab_arena_new(SIZE_MAX / 2);
    cr_expect_str_eq(map_of(arena, true)->keys_used, "none");
    tab_arena_free(arena);
}

/* One column of whole numbers from `from` on, and one that repeats them: a key unless anyone counts so. */
static const char *key_of_counters(uint32_t from)
{
    enum { ORDERS = 150, ITEMS = 450 };
    tab_arena *arena = tab_arena_new(SIZE_MAX / 2);
    tab_builder *b[2][3];
    uint64_t s = 9;
    static char ret[32];
    char text[32];
    for (int t = 0; t < 2; t++)
        for (int c = 0; c < 3; c++)
            b[t][c] = tab_builder_new(arena, t == 0 && c == 0 ? TAB_S("order") : TAB_S(""));
    for (uint32_t i = 0; i < ORDERS; i++) {
        tab_builder_number(b[0][0], from + i);
        snprintf(text, sizeof text, "2024-%02u-%02u", 1 + i / 15, 1 + draw(&s, 28));
        tab_builder_text(b[0][1], tab_str_of(text));
        tab_builder_text(b[0][2], draw(&s, 2) ? TAB_S("shipped") : TAB_S("pending"));
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        tab_builder_number(b[1][0], from + draw(&s, ORDERS));
        snprintf(text, sizeof text, "SKU-%u", 100 + draw(&s, 40));
        tab_builder_text(b[1][1], tab_str_of(text));
        tab_builder_number(b[1][2], 5 + (double)draw(&s, 9000) / 100);
    }
    tab_table table[2] = { { .id = TAB_S("orders"), .rows = ORDERS, .cols = 3 },
                           { .id = TAB_S("items"), .rows = ITEMS, .cols = 3 } };
    snprintf(ret, sizeof ret, "%s", crossed(arena, table, b)->keys_used);
    tab_arena_free(arena);
    return ret;
}

Test(keys, counters_meet_by_chance_where_people_begin_to_count)
{
    cr_expect_str_eq(key_of_counters(50321), "order");
    cr_expect_str_eq(key_of_counters(1001), "none");
    cr_expect_str_eq(key_of_counters(1), "none");
}

/* Customers numbered from 1 on and the stock of products have numbers in common, and nothing else. */
Test(keys, numbers_in_common_are_no_attribute)
{
    enum { CUSTOMERS = 200, PRODUCTS = 40 };
    tab_arena *arena = tab_arena_new(SIZE_MAX / 2);
    tab_builder *b[2][3];
    uint64_t s = 5;
    char text[32];
    for (int t = 0; t < 2; t++)
        for (int c = 0; c < 3; c++)
            b[t][c] = tab_builder_new(arena, TAB_S(""));
    for (uint32_t i = 0; i < CUSTOMERS; i++) {
        tab_builder_number(b[0][0], i + 1);
        snprintf(text, sizeof text, "u%u@mail.example", i);
        tab_builder_text(b[0][1], tab_str_of(text));
        tab_builder_text(b[0][2], draw(&s, 2) ? TAB_S("Lisbon") : TAB_S("Graz"));
    }
    for (uint32_t i = 0; i < PRODUCTS; i++) {
        snprintf(text, sizeof text, "SKU-%u", 100 + i);
        tab_builder_text(b[1][0], tab_str_of(text));
        tab_builder_number(b[1][1], 5 + (double)draw(&s, 9000) / 100);
        tab_builder_number(b[1][2], draw(&s, 500));
    }
    tab_table table[2] = { { .id = TAB_S("customers"), .rows = CUSTOMERS, .cols = 3 },
                           { .id = TAB_S("products"), .rows = PRODUCTS, .cols = 3 } };
    Tabella__CrossTableMap *map = crossed(arena, table, b);
    cr_expect_eq(map->n_column_alignment, 0);
    cr_expect_str_eq(map->keys_used, "none");
    tab_arena_free(arena);
}
