/* What two tables write otherwise: codes, scripts, sizes, hosts (decisions 0762, 0763, 0785, 0786). */
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

/* Articles in packs that differ in nothing but their size. */
static void article(size_t e, bool metric, char out[CELL])
{
    static const char *const good[] = { "juice", "water", "cola", "lemonade", "cider" };
    unsigned ml = 250 * (1 + (unsigned)(e % 8));
    const char *brand = family[e / 8 % 18];
    if (metric)
        snprintf(out, CELL, "%s %s %u ml", brand, good[e / 144 + chance(e / 8, 11, 4)], ml);
    else
        snprintf(out, CELL, "%s %s %u,%02uL", brand, good[e / 144 + chance(e / 8, 11, 4)], ml / 1000,
                 ml % 1000 / 10);
}

static void shop(size_t r, size_t c, char out[CELL])
{
    c == 0 ? article(r, true, out)
           : (void)snprintf(out, CELL, "%u.%02u", 1 + chance(r, 12, 9), chance(r, 13, 99));
}

static void kiosk(size_t r, size_t c, char out[CELL])
{
    c == 0 ? article(entity_of(r), false, out) : (void)snprintf(out, CELL, "%u", 1 + chance(r, 14, 400));
}

Test(codes, sizes_are_one_in_any_unit)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "shop", ROWS, 2, shop);
    w.table[1] = table_of(w.arena, "kiosk", ROWS, 2, kiosk);
    expect_all(&w);
}

static void firm(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "%s %s %s", family[r % 18], town[r / 18], r % 2 ? "Ltd" : "GmbH");
    else
        snprintf(out, CELL, "%u", 1900 + chance(r, 15, 120));
}

static void visit(size_t r, size_t c, char out[CELL])
{
    size_t e = entity_of(r);
    if (c > 0) {
        snprintf(out, CELL, "%u", chance(r, 16, 900));
        return;
    }
    snprintf(out, CELL, "%s%s%s.%s", e % 3 ? "" : "https://www.", family[e % 18], town[e / 18],
             e % 4 ? "com" : "co.uk/about");
    for (char *p = out; *p != 0; p++)
        *p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
}

Test(codes, hosts_are_read_as_the_names_of_another_table)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "firm", ROWS, 2, firm);
    w.table[1] = table_of(w.arena, "visit", ROWS, 2, visit);
    expect_all(&w);
}

/* Each host four times: visits, of which none is a firm. A join by these columns would find nothing. */
static void visit_again(size_t r, size_t c, char out[CELL])
{
    c == 1 ? (void)snprintf(out, CELL, "2024-%02u-%02u", 1 + chance(r, 17, 12), 1 + chance(r, 18, 28))
           : visit(r / 4, c, out);
}

Test(codes, hosts_refer_to_nothing)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "firm", ROWS, 2, firm);
    w.table[1] = table_of(w.arena, "visit", 4 * ROWS, 3, visit_again);
    cross(&w);
    for (size_t i = 0; i < w.map->n_relation; i++)
        cr_expect_eq(w.map->relation[i]->key, 0, "%s", w.map->relation[i]->evidence);
    tab_arena_free(w.arena);
}
