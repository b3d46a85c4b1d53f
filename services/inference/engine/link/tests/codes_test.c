/* Codes that two tables divide otherwise, and names in two scripts (decisions 0762, 0763). */
#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

enum { ROWS = 120 };

static size_t entity_of(size_t r)
{
    return (r * 7) % ROWS;
}

/* The number plate of a car, as the state writes it and as a parking meter does. */
static void plate(size_t e, bool divided, char out[CELL])
{
    snprintf(out, CELL, "%c%s%c%c%s%zu", "KMDHB"[chance(e, 1, 5)], divided ? "-" : "",
             "ABCEFG"[chance(e, 2, 6)], "KLMNPR"[chance(e, 3, 6)], divided ? " " : "", 100 + e * 37 % 9000);
}

static void make_of(size_t e, char out[CELL])
{
    snprintf(out, CELL, "%s", family[chance(e, 10, 12)]);
}

static void registered(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        plate(r, true, out);
    else if (c == 1)
        make_of(r, out);
    else
        snprintf(out, CELL, "%s", town[chance(r, 4, 7)]);
}

static void parked(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        plate(entity_of(r), false, out);
    else if (c == 1)
        make_of(entity_of(r), out);
    else
        snprintf(out, CELL, "%u", 1 + chance(r, 5, 90));
}

static void expect_all(world *w)
{
    cross(w);
    const Tabella__EntityMatches *m = w->map->entity_matches;
    size_t right = 0;
    for (size_t i = 0; i < m->n_a_row; i++)
        right += m->a_row[i] == entity_of(m->b_row[i]);
    cr_expect_geq(right, ROWS * 9 / 10, "%zu of %d", right, ROWS);
    cr_expect_leq(m->n_a_row - right, 2, "%zu wrong", m->n_a_row - right);
    tab_arena_free(w->arena);
}

Test(codes, are_one_however_they_are_divided)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "registered", ROWS, 3, registered);
    w.table[1] = table_of(w.arena, "parked", ROWS, 3, parked);
    expect_all(&w);
}

/* Shelves 1-12 and 11-2 of one aisle are two. */
static void shelf(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "A%zu-%zu", 1 + r / 12, 1 + r % 12);
    else if (c == 1)
        make_of(r, out);
    else
        snprintf(out, CELL, "%u", 1 + chance(r, 6, 500));
}

static void aisle(size_t r, size_t c, char out[CELL])
{
    size_t e = entity_of(r);
    if (c == 0)
        snprintf(out, CELL, "A%zu/%zu", 1 + e / 12, 1 + e % 12);
    else if (c == 1)
        make_of(e, out);
    else
        snprintf(out, CELL, "%s", town[chance(r, 8, 7)]);
}

Test(codes, that_differ_in_the_place_of_a_mark_are_two)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "shelf", ROWS, 3, shelf);
    w.table[1] = table_of(w.arena, "aisle", ROWS, 3, aisle);
    expect_all(&w);
}

static const char *const russian[][2] = {
    { "Сергей", "Sergei" },      { "Юрий", "Yurii" },        { "Татьяна", "Tatyana" },
    { "Жанна", "Zhanna" },       { "Михаил", "Mikhail" },    { "Наталья", "Natalya" },
    { "Павел", "Pavel" },        { "Щукин", "Shchukin" },    { "Чехов", "Chekhov" },
    { "Цветаева", "Tsvetaeva" }, { "Орлов", "Orlov" },       { "Шаляпин", "Shalyapin" },
    { "Ахматова", "Akhmatova" }, { "Бродский", "Brodskii" }, { "Репин", "Repin" },
    { "Яшин", "Yashin" },
};

static void person(size_t e, bool latin, char out[CELL])
{
    snprintf(out, CELL, "%s %s", russian[e % 7][latin], russian[7 + e % 9][latin]);
}

static void born(size_t e, char out[CELL])
{
    snprintf(out, CELL, "%u", 1930 + (unsigned)(e / 63) * 20 + chance(e, 9, 20));
}

static void cyrillic(size_t r, size_t c, char out[CELL])
{
    c == 0 ? person(r, false, out) : born(r, out);
}

static void latin(size_t r, size_t c, char out[CELL])
{
    c == 0 ? person(entity_of(r), true, out) : born(entity_of(r), out);
}

Test(codes, names_are_one_in_two_scripts)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "cyrillic", ROWS, 2, cyrillic);
    w.table[1] = table_of(w.arena, "latin", ROWS, 2, latin);
    expect_all(&w);
}
