/* Rules of a row and of two tables: dates in order, long sums, keys of another table; and what a target's
 * spellings are told as. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/suspects/suspects.h"

static uint32_t next(uint32_t *x)
{
    *x = *x * 1664525u + 1013904223u; /* Knuth, Lewis: a linear congruential generator */
    return *x >> 8;
}

/* csv is freed. */
static tab_profile *profile_of(const tab_engine *e, const char *id, char *csv, size_t n)
{
    const tab_table *t;
    tab_profile *p;
    tab_str bytes = tab_arena_copy(e->arena, (tab_str){ csv, n });
    free(csv);
    cr_assert(tab_csv_read(e->arena, bytes, tab_str_of(id), &t, NULL, NULL) == TAB_OK);
    cr_assert(tab_profile_table(e, t, &p, NULL) == TAB_OK);
    return p;
}

static const tab_suspect *at(const tab_suspect *s, size_t n, size_t row, size_t column)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].row == row && s[i].column == column)
            return &s[i];
    return NULL;
}

/* ---- dates --------------------------------------------------------------------------------------------- */

enum { STAYS = 500, SWAPPED = 123, YEAR = 321 };

/* Stays, of which one left before it came and one came a year after; law false: the second date is about a
 * day after the first, and now and then before it. */
static const tab_suspect *stays(const tab_engine *e, bool law, size_t *ret_n)
{
    char *csv = NULL;
    size_t n = 0;
    tab_suspect *s;
    FILE *f = open_memstream(&csv, &n);
    uint32_t x = 9;
    fputs("id,admitted,discharged,billed\n", f);
    for (unsigned r = 0; r < STAYS; r++) {
        unsigned day[3];
        day[0] = 40 + r % 700;
        day[1] = day[0] + 2 + next(&x) % 12 - (law ? 0 : 3 * (next(&x) % 9 == 0));
        day[2] = day[1] + next(&x) % 9;
        if (law && r == SWAPPED) {
            unsigned was = day[0];
            day[0] = day[1], day[1] = was;
        }
        fprintf(f, "%u", r + 1);
        for (int k = 0; k < 3; k++) {
            unsigned year = day[k] / 336, month = day[k] % 336 / 28;
            fprintf(f, ",%u-%02u-%02u", 2023 + year + (law && r == YEAR && k == 0), month + 1,
                    day[k] % 28 + 1);
        }
        fputs("\n", f);
    }
    fclose(f);
    cr_assert(tab_suspects_find(e, profile_of(e, "stays", csv, n), 0.5, &s, ret_n, NULL) == TAB_OK);
    return s;
}

Test(rules, dates_out_of_order_are_found_and_put_in_order)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_engine e = { .arena = a };
    size_t n = 0, none = 0;
    const tab_suspect *s = stays(&e, true, &n);
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].row == SWAPPED || s[i].row == YEAR, "row %u, column %u", s[i].row, s[i].column);
    const tab_suspect *came = at(s, n, YEAR, 1);
    cr_assert(came != NULL && came->suggestion.n == 10 && came->suggestion.p[3] == '4', "%.*s",
              came == NULL ? 0 : (int)came->suggestion.n, came == NULL ? "" : came->suggestion.p);
    cr_assert_eq(tab_suspect_told(came), TAB_SUSPECT_RULE);
    cr_assert(at(s, n, SWAPPED, 1) != NULL || at(s, n, SWAPPED, 2) != NULL);
    s = stays(&e, false, &none);
    cr_assert_eq(none, 0, "%zu where dates only follow each other", none);
}

/* ---- sums of many -------------------------------------------------------------------------------------- */

enum { PAYS = 400, MONTHS = 12 };

/* net = gross - tax - health - fee + bonus between other columns; the year of twelve months. Of row 50 the
 * tax lost a digit, of row 60 the third month is nine hundred more. */
static const tab_suspect *pays(const tab_engine *e, bool wrong, size_t *ret_n)
{
    char *csv = NULL;
    size_t n = 0;
    tab_suspect *s;
    FILE *f = open_memstream(&csv, &n);
    uint32_t x = 4;
    fputs("id,gross,hours,tax,health,fee,bonus,net,m1,m2,m3,m4,m5,m6,m7,m8,m9,m10,m11,m12,year\n", f);
    for (unsigned r = 0; r < PAYS; r++) {
        unsigned gross = 200000 + next(&x) % 700000, tax = gross / 5 + next(&x) % 20000,
                 health = next(&x) % 40000, fee = 1000 + next(&x) % 9000, bonus = next(&x) % 30000, year = 0;
        unsigned net = gross - tax - health - fee + bonus;
        tax = wrong && r == 50 ? tax / 10 : tax;
        fprintf(f, "%u,%.2f,%u,%.2f,%.2f,%.2f,%.2f,%.2f", r + 1, gross / 100.0, next(&x) % 40, tax / 100.0,
                health / 100.0, fee / 100.0, bonus / 100.0, net / 100.0);
        for (unsigned m = 0; m < MONTHS; m++) {
            unsigned sold = next(&x) % 5 == 0 ? 0 : 1000 + next(&x) % 9000;
            year += sold;
            fprintf(f, ",%u", wrong && r == 60 && m == 2 ? sold + 900 : sold);
        }
        fprintf(f, ",%u\n", year);
    }
    fclose(f);
    cr_assert(tab_suspects_candidates(e, profile_of(e, "pays", csv, n), &s, ret_n, NULL) == TAB_OK);
    return s;
}

static size_t identities(const tab_suspect *s, size_t n, size_t row, size_t column)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        k += s[i].kind == TAB_SUSPECT_IDENTITY &&
             (row == SIZE_MAX || (s[i].row == row && s[i].column == column));
    return k;
}

Test(rules, sums_of_many_columns_are_seen_with_their_signs)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_engine e = { .arena = a };
    size_t n = 0;
    const tab_suspect *s = pays(&e, true, &n);
    cr_assert(identities(s, n, 50, 3) == 1 && identities(s, n, 50, 7) == 1);
    cr_assert(identities(s, n, 60, 10) == 1 && identities(s, n, 60, 20) == 1);
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].kind != TAB_SUSPECT_IDENTITY || s[i].row == 50 || s[i].row == 60, "row %u", s[i].row);
    s = pays(&e, false, &n);
    cr_assert_eq(identities(s, n, SIZE_MAX, 0), 0);
}

/* Shipments, of which one is in month 13 and one on a 30th of February; a mark that stands often is none. */
Test(rules, what_is_written_as_a_date_and_is_none_is_found)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_engine e = { .arena = a };
    char *csv = NULL;
    size_t n = 0;
    tab_suspect *s;
    FILE *f = open_memstream(&csv, &n);
    uint32_t x = 4;
    fputs("shipped,parcels\n", f);
    for (unsigned r = 0; r < 150; r++) {
        unsigned month = r == 40 ? 13 : r == 90 ? 2 : r % 40 == 3 ? 99 : 1 + next(&x) % 12;
        unsigned day = r == 90 ? 30 : month == 99 ? 99 : 1 + next(&x) % 28;
        fprintf(f, "2024-%02u-%02u,%u\n", month, day, 1 + next(&x) % 40);
    }
    fclose(f);
    cr_assert(tab_suspects_find(&e, profile_of(&e, "shipments", csv, n), 0.5, &s, &n, NULL) == TAB_OK);
    cr_expect(at(s, n, 40, 0) != NULL && at(s, n, 90, 0) != NULL);
    for (size_t i = 0; i < n; i++) {
        cr_expect(s[i].row == 40 || s[i].row == 90, "row %u, column %u", s[i].row, s[i].column);
        cr_expect(tab_suspect_told(&s[i]) == TAB_SUSPECT_FORMAT);
    }
}

/* ---- keys of another table ----------------------------------------------------------------------------- */

static tab_profile *clients(const tab_engine *e)
{
    static const char *const part[] = { "ba", "ro", "ke", "lim", "tos", "ven", "dur", "sha", "gil", "mon" };
    char *csv = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&csv, &n);
    fputs("client,since\n", f);
    for (unsigned r = 0; r < 100; r++)
        fprintf(f, "%s%s%s,%u\n", part[r % 10], part[r / 10], part[(r * 7 + r / 10) % 10], 1990 + r % 30);
    fclose(f);
    return profile_of(e, "clients", csv, n);
}

Test(rules, a_key_that_is_near_one_of_another_table_is_that)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_engine e = { .arena = a };
    tab_profile *p[2] = { NULL, clients(&e) };
    char *csv = NULL;
    size_t n = 0;
    tab_suspect *s;
    FILE *f = open_memstream(&csv, &n);
    uint32_t x = 8;
    fputs("order,client,amount\n", f);
    for (unsigned r = 0; r < 300; r++) {
        tab_str key = p[1]->col[0].level[next(&x) % 100];
        if (r == 70)
            fprintf(f, "%u,%.*sx,%u\n", r, TAB_STR(key), next(&x) % 500);
        else
            fprintf(f, "%u,%.*s,%u\n", r, r == 90 ? 9 : (int)key.n, r == 90 ? "elsewhere" : key.p,
                    next(&x) % 500);
    }
    fclose(f);
    p[0] = profile_of(&e, "orders", csv, n);
    cr_assert(tab_suspects_find_beside(&e, p, 2, 0, 0.5, &s, &n, NULL) == TAB_OK);
    const tab_suspect *c = at(s, n, 70, 1);
    cr_assert(c != NULL && c->kind == TAB_SUSPECT_REFERENCE && c->confidence > 0.8);
    tab_cell is = tab_cell_at(&p[0]->table->col[1], 70);
    cr_assert_eq(c->suggestion.n + 1, is.text.n);
    cr_assert(memcmp(c->suggestion.p, is.text.p, c->suggestion.n) == 0);
    cr_assert(at(s, n, 90, 1) == NULL, "a client that the other table lacks");
    cr_assert_str_eq(tab_suspect_reason(a, p[0], c),
                     "298 of 300 cells are values of `client` of the table `clients`; this is none");
}

/* ---- a target's spellings ------------------------------------------------------------------------------ */

Test(rules, the_spellings_of_classes_are_told)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_engine e = { .arena = a };
    char *csv = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&csv, &n);
    uint32_t x = 6;
    fputs("size,paid\n", f);
    for (unsigned r = 0; r < 300; r++)
        fprintf(f, "%u,%s\n", next(&x) % 90,
                r % 100 == 7   ? "yes"
                : r == 13      ? "NO"
                : next(&x) % 2 ? "Yes"
                               : "No");
    fclose(f);
    tab_profile *p = profile_of(&e, "t", csv, n);
    Tabella__Suspects *m;
    tab_spelt spelt = { 0, 1, NULL };
    cr_assert(tab_suspects(&e, &p, 1, 0.5, &spelt, &m, NULL) == TAB_OK);
    cr_assert_not_null(spelt.told);
    cr_assert(strstr(spelt.told, "\"yes\" (3 rows) is likely \"Yes\"") != NULL, "%s", spelt.told);
    cr_assert(strstr(spelt.told, "\"NO\" (1 rows)") == NULL && strstr(spelt.told, "\"NO\" (1 row)") != NULL,
              "%s", spelt.told);
    spelt.column = 0;
    cr_assert(tab_suspects(&e, &p, 1, 0.5, &spelt, &m, NULL) == TAB_OK);
    cr_assert_null(spelt.told);
}

/* ---- invoices ------------------------------------------------------------------------------------------ */

enum { LINES = 120, ARTICLES = 6, BILLED = 4, BAD = 12 };

/* How a line's total comes about, in cents: of price and quantity alone, with 19 in a hundred on top that no
 * column holds, with freight. */
typedef enum { BARE, TAXED, FREIGHT } bill;

/* Lines of an invoice; the totals of `wrong` rows, ten apart, are others, of which the quantity makes
 * a price as well. */
static const tab_suspect *lines(const tab_engine *e, bill how, unsigned wrong, size_t *ret_n)
{
    static const unsigned listed[ARTICLES] = { 315, 1490, 12900, 599, 2250, 3875 };
    char *csv = NULL;
    size_t n = 0;
    tab_suspect *s;
    FILE *f = open_memstream(&csv, &n);
    uint32_t x = 5;
    fputs("article,price,quantity,freight,total\n", f);
    for (unsigned r = 0; r < LINES; r++) {
        unsigned article = next(&x) % ARTICLES, price = listed[article] + next(&x) % 20,
                 times = 2 + next(&x) % 9;
        unsigned freight = 100 * (1 + next(&x) % 9) + 90, cents = price * times;
        if (how == TAXED)
            cents = (cents * 119 + 50) / 100;
        if (how == FREIGHT)
            cents += freight;
        if (r % 10 == 3 && r / 10 < wrong)
            cents += cents / 4 / times * times + times; /* as good a multiple of the quantity */
        fprintf(f, "Article %c,%u.%02u,%u,%u.%02u,%u.%02u\n", 'A' + (char)article, price / 100, price % 100,
                times, freight / 100, freight % 100, cents / 100, cents % 100);
    }
    fclose(f);
    cr_assert(tab_suspects_find(e, profile_of(e, "lines", csv, n), 0.5, &s, ret_n, NULL) == TAB_OK);
    return s;
}

/* The articles' own prices tell that of price and total the total is wrong. */
Test(rules, wrong_totals_of_short_invoices_are_found)
{
    for (int how = BARE; how <= FREIGHT; how++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
        tab_engine e = { .arena = a };
        size_t n = 0;
        const tab_suspect *s = lines(&e, (bill)how, BAD, &n);
        size_t found = 0;
        for (unsigned k = 0; k < BAD; k++)
            found += at(s, n, 10 * k + 3, BILLED) != NULL;
        cr_expect(found + 2 >= BAD && n == found, "bill %d: %zu of %zu", how, found, n);
        lines(&e, (bill)how, 0, &n);
        cr_expect(n == 0, "bill %d without an error: %zu", how, n);
    }
}

/* Bills of which some are not paid yet, and one is paid in part. */
Test(rules, what_is_not_paid_yet_is_not_wrong)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_engine e = { .arena = a };
    char *csv = NULL;
    size_t n = 0;
    tab_suspect *s;
    FILE *f = open_memstream(&csv, &n);
    uint32_t x = 8;
    fputs("net,tax,paid\n", f);
    for (unsigned r = 0; r < 200; r++) {
        unsigned net = 1000 + next(&x) % 90000, tax = net / (r % 2 ? 5 : 10);
        unsigned paid = r % 50 == 7 ? 0 : net + tax + (r == 101 ? 4200 : 0);
        fprintf(f, "%u.%02u,%u.%02u,%u.%02u\n", net / 100, net % 100, tax / 100, tax % 100, paid / 100,
                paid % 100);
    }
    fclose(f);
    cr_assert(tab_suspects_find(&e, profile_of(&e, "bills", csv, n), 0.5, &s, &n, NULL) == TAB_OK);
    for (size_t i = 0; i < n; i++)
        cr_expect(s[i].row == 101, "row %u, column %u: %f", s[i].row, s[i].column, s[i].confidence);
}

/* A quantity from 1 to 19, which is told as a category, and whole prices: their products lie densely. */
Test(rules, a_product_of_whole_numbers_is_known)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_engine e = { .arena = a };
    char *csv = NULL;
    size_t bytes = 0, n = 0;
    tab_suspect *s;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 41;
    fputs("quantity,price,total\n", f);
    for (unsigned r = 0; r < 600; r++) {
        unsigned quantity = 1 + next(&x) % 19, price = 5 + next(&x) % 85;
        fprintf(f, "%u,%u,%u\n", quantity, price, r == 77 ? 1001 : quantity * price);
    }
    fclose(f);
    const tab_profile *p = profile_of(&e, "lines", csv, bytes);
    cr_assert(tab_suspects_find(&e, p, 0.5, &s, &n, NULL) == TAB_OK);
    cr_assert(n == 1 && s[0].row == 77 && s[0].column == 2, "%zu: row %u", n, s[0].row);
}
