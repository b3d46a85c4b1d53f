/* Rows that are alike and are two: twins, who have one birthday and one address (decision 0705), the sizes of
 * an article (decision 0706), readings of one hour (decision 0708). */
#include <stdio.h>

#include "services/inference/engine/link/evidence/contradictions.h"
#include "services/inference/engine/link/tests/tables.h"

enum { HOUSES = 120, TWINS = 40, PERSON = 5 };

/* The first TWINS houses have a child in each table, the others one in both or in one of them. */
static size_t second;

static void child(size_t r, size_t c, char out[CELL])
{
    size_t house = r < TWINS ? r : r + second * HOUSES;
    size_t name = r < TWINS ? (chance(r, 1, 9) + second * 9) : chance(house, 1, 18);
    if (c == 0)
        snprintf(out, CELL, "%s", given[name]);
    else if (c == 1)
        snprintf(out, CELL, "%s%c%s", family[chance(house, 2, 18)], 'a' + (char)chance(house, 9, 20),
                 town[chance(house, 8, 7)] + 1);
    else if (c == 2)
        snprintf(out, CELL, "19%02u-%02u-%02u", 40 + chance(house, 3, 60), 1 + chance(house, 4, 12),
                 1 + chance(house, 5, 28));
    else if (c == 3)
        snprintf(out, CELL, "%u %s Lane", 1 + chance(house, 6, 200), family[chance(house, 7, 18)]);
    else
        snprintf(out, CELL, "%s", town[chance(house, 8, 7)]);
}

static void child_there(size_t r, size_t c, char out[CELL])
{
    second = 1;
    child(r, c, out);
    second = 0;
}

/* Children of both tables that share nobody, and behind them half of the others in both. */
static void child_in_both(size_t r, size_t c, char out[CELL])
{
    if (r < TWINS)
        child_there(r, c, out);
    else
        child(r, c, out);
}

static size_t pairs_of(cell_of *there, size_t *right)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "here", HOUSES, PERSON, child);
    w.table[1] = table_of(w.arena, "there", HOUSES, PERSON, there);
    cross(&w);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t n = m->n_a_row;
    *right = 0;
    for (size_t i = 0; i < n; i++)
        *right += m->a_row[i] == m->b_row[i] && m->a_row[i] >= TWINS;
    tab_arena_free(w.arena);
    return n;
}

Test(contradictions, twins_are_two)
{
    size_t right, said = pairs_of(child_there, &right);
    cr_expect_leq(said, 1, "%zu pairs of twins", said);
    said = pairs_of(child_in_both, &right);
    cr_expect_eq(right, HOUSES - TWINS, "%zu of those who are in both", right);
    cr_expect_leq(said - right, 2, "%zu wrong", said - right);
}

enum { ARTICLES = 300, MORE = 100, BOTH = 600, COLS = 5 };

static void word(size_t k, size_t salt, char out[CELL])
{
    snprintf(out, CELL, "%s%c%s", family[chance(k, salt, 18)], 'a' + (char)chance(k, salt + 1, 20),
             town[chance(k, salt + 2, 7)] + 1);
}

/* Each article in two of its sizes and colours, MORE in three. */
static void variant(size_t r, size_t c, char out[CELL])
{
    static const char *const size[] = { "XS", "S", "M", "L", "XL" }, *const colour[] = { "black", "white",
                                                                                         "red", "blue" };
    size_t article = r % ARTICLES, which = r / ARTICLES;
    if (c == 0)
        snprintf(out, CELL, "%s", town[chance(article, 1, 7)]);
    else if (c == 1)
        word(article, 2, out);
    else if (c == 2)
        snprintf(out, CELL, "%s", size[(which + chance(article, 5, 5)) % 5]);
    else if (c == 3)
        snprintf(out, CELL, "%s", colour[(which / 2 + chance(article, 6, 4)) % 4]);
    else
        snprintf(out, CELL, "%u.%02u", 10 + chance(article, 7, 90), chance(article, 8, 100));
}

/* Two lists in any order, each person in both: the last column says whose the row was. */
static void put_together(size_t r, size_t c, char out[CELL])
{
    size_t k = r / 2, person = (k * 37) % BOTH;
    if (c == 0)
        snprintf(out, CELL, "%s", given[chance(person, 1, 18)]);
    else if (c == 1)
        word(person, 2, out);
    else if (c == 2)
        snprintf(out, CELL, "19%02u-%02u-%02u", 40 + chance(person, 3, 60), 1 + chance(person, 4, 12),
                 1 + chance(person, 5, 28));
    else if (c == 3)
        snprintf(out, CELL, "+39 %u %u", 300 + chance(person, 8, 60), 100000 + chance(person, 9, 900000));
    else
        snprintf(out, CELL, "%s", r % 2 == chance(k, 31, 2) ? "shop" : "newsletter");
}

/* The share of the pairs of one article or person that is still likely where all were at 0.9: rows that leave
 * the same remainder, or neighbours. */
static double left(cell_of *cell, size_t rows, size_t one_of)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    tab_engine e = { .arena = a };
    tab_table t = table_of(a, "rows", rows, COLS, cell);
    tab_profile *profile;
    tab_views *v;
    tab_link_table *tables;
    tab_twin_pairs s;
    cr_assert_eq(tab_profile_table(&e, &t, &profile, NULL), TAB_OK);
    cr_assert_eq(tab_views_new(&e, &profile, 1, &v, NULL), TAB_OK);
    cr_assert_eq(tab_link_tables_new(&e, v, a, &tables, NULL), TAB_OK);
    cr_assert_eq(tab_twin_pairs_new(&e, v, tables, 0, NULL, a, &s, NULL), TAB_OK);
    s.copy = tab_arena_new_of(a, bool, s.n);
    for (size_t i = 0; i < s.n; i++)
        s.p[i] = 0.9f;
    cr_assert(tab_variants_part(&s));
    size_t all = 0, kept = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool one = one_of > 0 ? s.a[i] % one_of == s.b[i] % one_of : s.a[i] / 2 == s.b[i] / 2;
        all += one;
        kept += one && s.p[i] >= 0.5f;
    }
    tab_link_tables_free(tables, 1);
    tab_views_free(v);
    cr_assert_gt(all, rows / 4);
    return (double)kept / (double)all;
}

Test(contradictions, sizes_of_an_article_are_two)
{
    cr_expect_lt(left(variant, 2 * ARTICLES + MORE, ARTICLES), 0.02);
}

Test(contradictions, lists_put_together_are_not)
{
    cr_expect_gt(left(put_together, 2 * BOTH, 0), 0.98);
}

/* ---- moments ---------------------------------------------------------------------------------- */

enum { HOURS = 240, READING = 4 };

static void reading(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "2024-03-%02zu %02zu:00:00", 1 + r / 24, r % 24);
    else if (c == 1)
        snprintf(out, CELL, "%u.%u", 18 + chance(r, 1 + second, 6), chance(r, 3 + second, 10));
    else if (c == 2)
        snprintf(out, CELL, "%u", 40 + chance(r, 5 + second, 25));
    else
        snprintf(out, CELL, "ok");
}

static void reading_there(size_t r, size_t c, char out[CELL])
{
    second = 1;
    reading(r, c, out);
    second = 0;
}

static size_t pairs_of_readings(cell_of *there)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "here", HOURS, READING, reading);
    w.table[1] = table_of(w.arena, "there", HOURS, READING, there);
    cross(&w);
    size_t n = w.map->entity_matches->n_a_row;
    tab_arena_free(w.arena);
    return n;
}

Test(contradictions, readings_of_one_hour_are_two)
{
    cr_expect_eq(pairs_of_readings(reading_there), 0);
    cr_expect_eq(pairs_of_readings(reading), HOURS, "a file and its copy");
}
