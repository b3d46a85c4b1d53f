/* Suspects in tables with known errors, and none to speak of in tables without. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/suspects/given.h"

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
    tab_suspect *s = suspects_in(a, (tab_str){ csv, n }, 0.5, ret_n);
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

/* Of 3,000 codes of eight signs of 0 to f some are letters alone, of six signs of A to Z and 0 to 9 a few
 * digits alone; of prices a few have a second comma. A plate that lacks its dash is said beside them. */
Test(suspects, rare_forms_that_a_column_makes_by_chance_are_not_wrong)
{
    enum { CODES = 3000, AT = 1717 };
    static const char hex[] = "0123456789abcdef", letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    char *csv = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&csv, &n);
    uint32_t x = 3;
    fputs("token,code,price,plate\n", f);
    for (int r = 0; r < CODES; r++) {
        for (int k = 0; k < 8; k++)
            fputc(hex[(next(&x) >> 20) % 16], f);
        fputc(',', f);
        for (int k = 0; k < 6; k++)
            fputc(letters[(next(&x) >> 16) % 36], f);
        double price = exp(6 + 2.2 * ((next(&x) >> 8) / 16777216.0 + (next(&x) >> 8) / 16777216.0 +
                                      (next(&x) >> 8) / 16777216.0));
        unsigned long whole = (unsigned long)price;
        if (whole >= 1000000)
            fprintf(f, ",\"%lu,%03lu,%03lu.50\"", whole / 1000000, whole / 1000 % 1000, whole % 1000);
        else if (whole >= 1000)
            fprintf(f, ",\"%lu,%03lu.50\"", whole / 1000, whole % 1000);
        else
            fprintf(f, ",%lu.50", whole);
        fprintf(f, ",%c%c%s%04u\n", 'A' + (char)((next(&x) >> 16) % 26), 'A' + (char)((next(&x) >> 16) % 26),
                r == AT ? "" : "-", (next(&x) >> 16) % 10000);
    }
    fclose(f);
    tab_suspect *s = suspects_in(a, (tab_str){ csv, n }, 0.5, &n);
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].kind != TAB_SUSPECT_FORMAT || s[i].row == AT, "row %u, column %u", s[i].row,
                  s[i].column);
    cr_expect(n > 0 && s[0].row == AT && s[0].column == 3, "%zu", n);
    free(csv);
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

Test(suspects, what_a_cell_likely_was_is_said)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    const struct {
        change c;
        const char *was;
    } slip[] = { { { 120, 1, "BIRMINGHAM" }, "Birmingham" },
                 { { 137, 1, "Montgomery;" }, "Montgomery" },
                 { { 145, 3, "$164.7" }, "164.7" },
                 { { 161, 3, "16O.5" }, "160.5" },
                 { { 170, 3, "-171.0" }, "171.0" },
                 { { 186, 3, "157.0 157.0" }, "157.0" },
                 { { 202, 3, "ca. 163.3" }, "163.3" },
                 { { 210, 1, "TN" }, "Huntsville" },
                 { { 218, 3, "see note" }, "" } };
    enum { SLIPS = sizeof slip / sizeof *slip };
    change c[SLIPS];
    size_t n = 0;
    for (size_t i = 0; i < SLIPS; i++)
        c[i] = slip[i].c;
    const tab_suspect *s = suspects_of(a, c, SLIPS, &n);
    for (size_t i = 0; i < SLIPS; i++) {
        const tab_suspect *x = at(s, n, c[i].row, c[i].column);
        cr_assert(x != NULL, "%s", c[i].text);
        cr_assert(tab_str_eq(x->suggestion, tab_str_of(slip[i].was)), "%s: %.*s", c[i].text,
                  TAB_STR(x->suggestion));
    }
}

enum { ORDERS = 600, WRONG = 20 };

/* quantity, price, discount (mostly 0), net (rounded), tax, gross; every 30th row's cell of one column is
 * `times` as much. exact false: net is a tenth more or less, as it comes. */
static tab_suspect *suspects_of_orders(tab_arena *a, size_t column, double times, bool exact, size_t *ret_n)
{
    char *csv = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&csv, &n);
    uint32_t x = 11;
    fputs("id,quantity,price,discount,net,tax,gross\n", f);
    for (size_t r = 0; r < ORDERS; r++) {
        static const double discounts[] = { 0, 0, 0, 0, 0, 0.05, 0.1, 0.25 };
        double v[6] = { 1 + (next(&x) >> 27), 0.01 * (100 + (next(&x) >> 20)), discounts[next(&x) >> 29] };
        double noise = exact ? 1 : 0.9 + 0.2 * (next(&x) >> 16) / 65536;
        v[3] = round(100 * v[0] * v[1] * (1 - v[2]) * noise) / 100;
        v[4] = round(19 * v[3]) / 100;
        v[5] = v[3] + v[4];
        if (r % (ORDERS / WRONG) == 7)
            v[column - 1] *= times;
        fprintf(f, "K-%04zu,%.0f,%.2f,%.2f,%.2f,%.2f,%.2f\n", r, v[0], v[1], v[2], v[3], v[4], v[5]);
    }
    fclose(f);
    tab_suspect *s = suspects_in(a, (tab_str){ csv, n }, 0.5, ret_n);
    free(csv);
    return s;
}

Test(suspects, a_number_that_the_others_of_its_row_do_not_make_is_found_and_repaired)
{
    const struct {
        size_t column;
        double times;
    } wrong[] = { { 4, 1.25 }, { 4, 0.8 }, { 6, 1.3 }, { 5, 0.7 } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX), *b = tab_arena_new(SIZE_MAX);
        size_t n = 0, none = 0, found = 0;
        const tab_suspect *s = suspects_of_orders(a, wrong[i].column, wrong[i].times, true, &n);
        (void)suspects_of_orders(b, wrong[i].column, 1, true, &none);
        for (size_t k = 0; k < n; k++) {
            bool right = s[k].column == wrong[i].column && s[k].row % (ORDERS / WRONG) == 7;
            found += right;
            cr_expect(right || s[k].row % (ORDERS / WRONG) == 7, "row %u, column %u", s[k].row, s[k].column);
            cr_expect(!right || s[k].suggestion.n > 0, "no repair");
        }
        cr_expect(found >= WRONG - 2 && n <= found + 2, "column %zu: %zu found, %zu said", wrong[i].column,
                  found, n);
        cr_expect(none == 0, "%zu in a table without errors", none);
    }
}

Test(suspects, numbers_that_only_go_together_are_no_rule)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    size_t n = 0;
    const tab_suspect *s = suspects_of_orders(a, 4, 1, false, &n);
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].kind != TAB_SUSPECT_IDENTITY, "row %u", s[i].row);
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

/* More distinct ids than columns are held against each other with; a number that its shop fixes, for many
 * small shops or a few large ones; one cell a hundred times too much for its shop, and usual elsewhere. */
static tab_suspect *of_long_table(tab_arena *a, size_t shops, size_t *ret_n)
{
    enum { LONG = 25000, ODD = 12345 };
    char *csv = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&csv, &n);
    uint32_t x = 3;
    fputs("id,shop,colour,level\n", f);
    for (size_t r = 0; r < LONG; r++) {
        size_t shop = r % shops;
        double level = pow(10, (double)(shop % 4)) * (1 + (double)(next(&x) >> 16) / 655360);
        fprintf(f, "K-%06zu,shop %zu,%s,%.3f\n", r, shop, shop % 2 == 0 ? "red" : "blue",
                r == ODD ? level * (shop % 4 < 2 ? 100 : 0.01) : level);
    }
    fclose(f);
    tab_suspect *s = suspects_in(a, (tab_str){ csv, n }, 0, ret_n);
    free(csv);
    cr_assert(at(s, *ret_n, ODD, 3) != NULL, "%zu shops, %zu suspects", shops, *ret_n);
    return s;
}

/* First and last names of the same syllables: some are either, and a row of two of these is no swap. Beside
 * them columns that share nothing, of which one row changed places. */
enum { PEOPLE = 1500, TURNED = 777 };
static tab_suspect *of_people(tab_arena *a, uint32_t seed, size_t *ret_n)
{
    static const char *const part[] = { "ka", "lo", "mi", "ra", "ne", "tu", "vi", "so",
                                        "be", "da", "zo", "xi", "qu", "ja", "li", "pe" };
    char *csv = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&csv, &n);
    fputs("first,last,city,state\n", f);
    for (size_t r = 0; r < PEOPLE; r++) {
        for (size_t c = 0; c < 2; c++) {
            for (size_t k = 0, of = 2 + (next(&seed) >> 16) % 3; k < of; k++)
                fputs(part[(next(&seed) >> 16) % 16], f);
            fputs(c == 1 && (next(&seed) >> 16) % 3 > 0 ? "-dor," : ",", f);
        }
        const char *city = CITY[r % PLACES], *state = STATE[r % PLACES];
        fprintf(f, "%s,%s\n", r == TURNED ? state : city, r == TURNED ? city : state);
    }
    fclose(f);
    tab_suspect *s = suspects_in(a, (tab_str){ csv, n }, 0.5, ret_n);
    free(csv);
    return s;
}

Test(suspects, names_that_are_first_and_last_are_not_swapped)
{
    for (uint32_t seed = 1; seed <= 12; seed++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
        size_t n = 0, turned = 0;
        const tab_suspect *s = of_people(a, seed, &n);
        for (size_t i = 0; i < n; i++) {
            cr_expect(s[i].kind != TAB_SUSPECT_SWAPPED || s[i].column >= 2, "seed %u, row %u", seed,
                      s[i].row);
            turned += s[i].row == TURNED && s[i].column >= 2;
        }
        cr_expect_eq(turned, 2, "seed %u: of the two cells %zu", seed, turned);
    }
}

Test(suspects, a_long_table_is_searched_by_samples)
{
    const size_t shops[] = { 4, 37, 2000 };
    for (size_t i = 0; i < sizeof shops / sizeof *shops; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
        size_t n = 0;
        const tab_suspect *s = of_long_table(a, shops[i], &n);
        for (size_t k = 0; k < n; k++)
            cr_assert(s[k].column != 3 || s[k].row == 12345, "%zu shops, row %u", shops[i], s[k].row);
    }
}

Test(suspects, memory_that_ran_out_is_no_clean_table)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    const tab_table *t;
    tab_profile *p;
    tab_suspect *s;
    size_t n = 9;
    tab_error err = { 0 };
    char csv[64 * 40], *end = csv + sprintf(csv, "a,b\n");
    for (int i = 0; i < 40; i++)
        end += sprintf(end, "%d,%s\n", i == 7 ? 90000 : 40 + i % 5, i == 9 ? "gren" : "green");
    cr_assert(tab_csv_read(a, tab_str_of(csv), TAB_S("t"), &t, NULL, NULL) == TAB_OK);
    cr_assert(tab_profile_table(&(tab_engine){ .arena = a }, t, &p, NULL) == TAB_OK);
    TAB_AUTO(tab_arena) *small = tab_arena_new(64);
    cr_assert(tab_suspects_find(&(tab_engine){ .arena = small }, p, 0, &s, &n, &err) == TAB_INTERNAL);
    cr_assert(err.message[0] != 0);
}

Test(suspects, a_sample_of_rows_is_in_order_within_the_table_and_follows_no_cycle)
{
    enum { OF = 1000003, MOST = 4000, CYCLE = 24 };
    size_t last = 0, hour[CYCLE] = { 0 };
    for (size_t i = 0; i < MOST; i++) {
        size_t r = tab_sampled_row(OF, MOST, i);
        cr_assert(r < OF && (i == 0 || r > last));
        hour[r % CYCLE]++;
        last = r;
        cr_assert(tab_sampled_row(MOST, MOST, i) == i);
    }
    for (size_t h = 0; h < CYCLE; h++)
        cr_assert(hour[h] > MOST / CYCLE / 2 && hour[h] < MOST / CYCLE * 2, "%zu: %zu", h, hour[h]);
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

/* answer, code, word, kind: one value in several spellings; codes in which case tells; a word whose other
 * spelling is another thing. */
enum { SPELT = 600 };
static char *spellings(size_t *ret_n)
{
    static const char *const answer[] = { "Yes", "Yes", "No", "Maybe later" };
    static const char letters[] = "abcABC";
    char *csv = NULL;
    FILE *f = open_memstream(&csv, ret_n);
    uint32_t x = 5;
    fputs("answer,town,code,word,kind,amount\n", f);
    for (size_t r = 0; r < SPELT; r++) {
        size_t a = (next(&x) >> 16) % 4, place = (next(&x) >> 16) % PLACES, w = (next(&x) >> 16) % 5;
        const char *said = r % 50 == 3 ? "YES"
                           : r == 10   ? "maybe later"
                           : r == 20   ? "Maybe  later"
                                       : answer[a];
        const char *town = r == 30 ? "Hunts-ville" : r == 40 ? "Hùntsville" : CITY[place];
        const char *word = w == 0 ? "us" : w == 1 ? "Canada" : w == 2 ? "they" : "US";
        fprintf(f, "%s,%s,%c%c,%s,%s,%u\n", said, town, letters[(next(&x) >> 16) % 6],
                letters[(next(&x) >> 16) % 6], word, w == 0 || w == 2 ? "pronoun" : "country",
                (next(&x) >> 20) + (w == 0 ? 3000 : 0));
    }
    fclose(f);
    return csv;
}

Test(suspects, spellings_of_one_value_are_said_and_codes_are_not)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    size_t n = 0;
    char *csv = spellings(&n);
    const tab_suspect *s = suspects_in(a, (tab_str){ csv, n }, 0.5, &n);
    for (size_t r = 3; r < SPELT; r += 50) {
        const tab_suspect *c = at(s, n, r, 0);
        cr_assert(c != NULL && tab_str_eq(c->suggestion, TAB_S("Yes")), "row %zu", r);
        cr_expect_eq(tab_suspect_told(c), TAB_SUSPECT_FORMAT);
    }
    const struct {
        size_t row, column;
        const char *was;
    } one[] = {
        { 10, 0, "Maybe later" }, { 20, 0, "Maybe later" }, { 30, 1, "Huntsville" }, { 40, 1, "Huntsville" }
    };
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        const tab_suspect *c = at(s, n, one[i].row, one[i].column);
        cr_assert(c != NULL && tab_str_eq(c->suggestion, tab_str_of(one[i].was)), "row %zu", one[i].row);
    }
    cr_expect_eq(tab_suspect_told(at(s, n, 40, 1)), TAB_SUSPECT_TYPO, "an accent is a letter's");
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].column < 2, "row %u, column %u, %.3f", s[i].row, s[i].column, s[i].confidence);
    free(csv);
}
