/* Suspects in tables with known errors, and none to speak of in tables without. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/suspects/parts.h"

enum { ROWS = 400, PLACES = 8 };

static const char *const CITY[PLACES] = { "Birmingham",  "Montgomery",  "Huntsville",  "Tuscaloosa",
                                          "Mobile City", "Dothan Park", "Auburnville", "Decatur" };
static const char *const STATE[PLACES] = { "AL", "GA", "TN", "MS", "FL", "KY", "SC", "NC" };

typedef struct {
    size_t row, column;
    const char *text;
} change;

static uint32_t next(uint32_t *x)
{
    return *x = *x * 1664525u + 1013904223u; /* Knuth, Lewis: a linear congruential generator */
}

/* id, city, state (of the city), height, price, amount (price times count), count; with the changes. */
static tab_suspect *suspects_of(tab_arena *a, const change *c, size_t changes, size_t *ret_n)
{
    char *csv = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&csv, &n);
    uint32_t x = 7;
    fputs("id,city,state,height,price,count,amount\n", f);
    for (size_t r = 0; r < ROWS; r++) {
        char cell[7][64];
        size_t place = r % PLACES;
        unsigned price = 100 + (next(&x) >> 20), count = 1 + (next(&x) >> 28);
        snprintf(cell[0], 64, "K-%05zu", r + 1000);
        snprintf(cell[1], 64, "%s", CITY[place]);
        snprintf(cell[2], 64, "%s", STATE[place]);
        snprintf(cell[3], 64, "%.1f", 150.0 + (next(&x) >> 26) * 0.7);
        snprintf(cell[4], 64, "%u", price);
        snprintf(cell[5], 64, "%u", count);
        snprintf(cell[6], 64, "%u", price * count);
        for (size_t i = 0; i < changes; i++)
            if (c[i].row == r)
                snprintf(cell[c[i].column], 64, "%s", c[i].text);
        for (size_t k = 0; k < 7; k++)
            fprintf(f, "%s%s", cell[k], k < 6 ? "," : "\n");
    }
    fclose(f);
    const tab_table *t;
    tab_profile *p;
    tab_suspect *s = NULL;
    tab_engine e = { .arena = a };
    cr_assert(tab_csv_read(a, (tab_str){ csv, n }, TAB_S("t"), &t, NULL, NULL) == TAB_OK);
    cr_assert(tab_profile_table(&e, t, &p, NULL) == TAB_OK);
    cr_assert(tab_suspects_find(&e, p, 0.5, &s, ret_n, NULL) == TAB_OK);
    free(csv);
    return s;
}

static const tab_suspect *at(const tab_suspect *s, size_t n, size_t row, size_t column)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].row == row && s[i].column == column)
            return &s[i];
    return NULL;
}

Test(suspects, a_table_without_errors_has_none)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    size_t n = 99;
    suspects_of(a, NULL, 0, &n);
    cr_assert(n == 0, "%zu", n);
}

Test(suspects, each_kind_is_found_where_it_was_sown_and_nowhere_else)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    const change c[] = { { 24, 1, "Birminghxm" },
                         { 40, 2, "ZZ" },
                         { 60, 3, "1724.5" },
                         { 80, 6, "12345678" },
                         { 100, 0, "K 01100x" } };
    size_t n = 0, sown = sizeof c / sizeof *c;
    tab_suspect *s = suspects_of(a, c, sown, &n);
    for (size_t i = 0; i < sown; i++)
        cr_assert(at(s, n, c[i].row, c[i].column) != NULL, "change %zu of %zu suspects", i, n);
    cr_assert(n <= sown + 1, "%zu", n);
    const tab_suspect *typo = at(s, n, 24, 1);
    cr_assert(tab_str_eq(typo->suggestion, TAB_S("Birmingham")), "%.*s", TAB_STR(typo->suggestion));
    cr_assert(s[0].confidence >= s[n - 1].confidence && s[n - 1].confidence >= 0.5);
}

Test(suspects, a_short_table_says_nothing)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_engine e = { .arena = a };
    const tab_table *t;
    tab_profile *p;
    tab_suspect *s;
    size_t n = 9;
    const char *csv = "a,b\nred,1\nred,1\nred,99999\n";
    cr_assert(tab_csv_read(a, tab_str_of(csv), TAB_S("t"), &t, NULL, NULL) == TAB_OK);
    cr_assert(tab_profile_table(&e, t, &p, NULL) == TAB_OK);
    cr_assert(tab_suspects_find(&e, p, 0, &s, &n, NULL) == TAB_OK);
    cr_assert(n == 0);
}

Test(suspects, one_edit_is_one_byte_or_two_neighbours_swapped)
{
    bool digit;
    cr_assert(tab_one_edit(TAB_S("berlin"), TAB_S("berlni"), &digit) && !digit);
    cr_assert(tab_one_edit(TAB_S("berlin"), TAB_S("berin"), &digit) && !digit);
    cr_assert(tab_one_edit(TAB_S("berlin"), TAB_S("bexlin"), &digit));
    cr_assert(tab_one_edit(TAB_S("A1"), TAB_S("A2"), &digit) && digit);
    cr_assert(!tab_one_edit(TAB_S("berlin"), TAB_S("berlin"), &digit));
    cr_assert(!tab_one_edit(TAB_S("berlin"), TAB_S("brelni"), &digit));
    cr_assert(!tab_one_edit(TAB_S("berlin"), TAB_S("ber"), &digit));
}
