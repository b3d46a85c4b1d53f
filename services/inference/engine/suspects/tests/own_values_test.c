/* Rare forms and far numbers that are the column's own. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/suspects/suspects.h"

enum { NAMES = 120, ROWS = 3000 };

static uint32_t next(uint32_t *x)
{
    return *x = *x * 1664525u + 1013904223u; /* Knuth, Lewis: a linear congruential generator */
}

static double share(uint32_t *x)
{
    return ((next(x) >> 8) + 0.5) / 16777216;
}

static tab_suspect *suspects_in(tab_arena *a, tab_str csv, double least, size_t *ret_n)
{
    const tab_table *t;
    tab_profile *p;
    tab_suspect *s = NULL;
    tab_engine e = { .arena = a };
    cr_assert(tab_csv_read(a, csv, TAB_S("t"), &t, NULL, NULL) == TAB_OK);
    cr_assert(tab_profile_table(&e, t, &p, NULL) == TAB_OK);
    cr_assert(tab_suspects_find(&e, p, least, &s, ret_n, NULL) == TAB_OK);
    return s;
}

/* A capital and four to six small letters, of which no two are an edit apart. */
static void name_of(uint32_t k, char out[16])
{
    static const char *const begin[] = {
        "Ba", "Cor", "Del", "Fen", "Gri", "Hal", "Jor", "Kes", "Lum", "Mor"
    };
    static const char *const end[] = { "bert", "cott", "dwin", "fish", "gham", "klow",
                                       "mers", "nson", "pley", "rand", "stow", "vick" };
    snprintf(out, 16, "%s%s", begin[k % 10], end[k / 10 % 12]);
}

/* Names that come again and again, and at rows 100, 200, ... what else; suspects of the column. */
static tab_suspect *suspects_of_names(tab_arena *a, const char *const *odd, size_t n, size_t *ret_n)
{
    char *csv = NULL, name[16];
    size_t bytes = 0;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 5;
    fputs("surname,city\n", f);
    for (size_t r = 0; r < ROWS; r++) {
        name_of((next(&x) >> 16) % NAMES, name);
        bool is = r > 0 && r % 100 == 0 && r / 100 <= n;
        fprintf(f, "%s,%s\n", is ? odd[r / 100 - 1] : name, next(&x) >> 31 ? "Bath" : "Derby");
    }
    fclose(f);
    tab_suspect *s = suspects_in(a, (tab_str){ csv, bytes }, 0.5, ret_n);
    free(csv);
    return s;
}

/* No slip of a name of the column makes them: names with a sign, of two capitals, in more words. */
Test(own_values, names_of_a_rare_form_are_not_wrong)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    const char *const odd[] = { "O'Neill",  "O'Brien",  "O'Meara",  "O'Sullivan", "McKinnon",
                                "McDowell", "MacLeish", "de Souza", "de Witt",    "van Aalst" };
    size_t n = 0;
    (void)suspects_of_names(a, odd, sizeof odd / sizeof *odd, &n);
    cr_assert(n == 0, "%zu", n);
}

/* The same signs in and behind names that stand elsewhere without them. */
Test(own_values, slips_of_names_are_still_said)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    const char *const odd[] = { "Cor'nson", "Del'mers", "Fen'stow", "Gri'vick", "Halrand;", "Jor fish" };
    size_t n = 0, sown = sizeof odd / sizeof *odd;
    tab_suspect *s = suspects_of_names(a, odd, sown, &n);
    cr_assert(n == sown, "%zu", n);
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].row % 100 == 0 && s[i].column == 0 && s[i].confidence > 0.8, "%u", s[i].row);
}

/* Plots of land, a quarter unknown and 0, the largest as far out as a Pareto law of 1.2 takes some. Lengths:
 * one in metres. */
Test(own_values, a_heavy_tail_goes_on_and_a_light_one_does_not)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    char *csv = NULL;
    size_t bytes = 0, n = 0;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 17;
    fputs("land,length\n", f);
    for (size_t r = 0; r < ROWS; r++) {
        double land = next(&x) >> 30 ? floor(200 * pow(share(&x), -1 / 1.2)) : 0;
        double length = 1 + share(&x) + share(&x);
        fprintf(f, "%.0f,%.2f\n", land, r == 1500 ? 1000 * length : length);
    }
    fclose(f);
    tab_suspect *s = suspects_in(a, (tab_str){ csv, bytes }, 0.5, &n);
    cr_assert(n > 0 && s[0].row == 1500 && s[0].column == 1 && s[0].confidence > 0.95);
    for (size_t i = 1; i < n; i++)
        cr_expect(s[i].confidence < 0.8, "row %u: %.3f", s[i].row, s[i].confidence);
    free(csv);
}
