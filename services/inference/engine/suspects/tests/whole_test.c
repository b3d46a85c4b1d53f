/* Columns whose law holds but for a few cells: ages below 0, texts that were cut at one length; and what looks
 * like either and is right. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/suspects/suspects.h"

enum { PERSONS = 400, ARTICLES = 300 };

static uint32_t next(uint32_t *x)
{
    *x = *x * 1664525u + 1013904223u; /* Knuth, Lewis: a linear congruential generator */
    return *x >> 8;
}

/* At 0.5; csv is freed. */
static tab_suspect *suspects_in(tab_arena *a, char *csv, size_t bytes, size_t *ret_n, tab_profile **ret_p)
{
    const tab_table *t;
    tab_suspect *s = NULL;
    tab_engine e = { .arena = a };
    tab_str own = tab_arena_copy(a, (tab_str){ csv, bytes });
    free(csv);
    cr_assert(tab_csv_read(a, own, TAB_S("t"), &t, NULL, NULL) == TAB_OK);
    cr_assert(tab_profile_table(&e, t, ret_p, NULL) == TAB_OK);
    cr_assert(tab_suspects_find(&e, *ret_p, 0.5, &s, ret_n, NULL) == TAB_OK);
    return s;
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

/* Adults; every hundredth has an age below 0, or their degrees of a day in winter go on below it. */
static tab_suspect *persons(tab_arena *a, bool wrong, bool winter, size_t *ret_n, tab_profile **ret_p)
{
    char *csv = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 23;
    fputs("person,sex,number,weight\n", f);
    for (size_t i = 0; i < PERSONS; i++) {
        uint32_t even = next(&x) % 48, two = next(&x) % 12 + next(&x) % 12 + next(&x) % 12;
        int number = winter ? (int)two - 4 : 18 + (int)even;
        fprintf(f, "P%zu,%c,%d,%u\n", i, next(&x) % 2 == 0 ? 'F' : 'M',
                wrong && i % 100 == 7 ? -(int)(next(&x) % 9) - 1 : number, 50 + next(&x) % 40);
    }
    fclose(f);
    return suspects_in(a, csv, bytes, ret_n, ret_p);
}

Test(whole, ages_below_0_are_wrong)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_profile *p;
    size_t n;
    const tab_suspect *s = persons(a, true, false, &n, &p);
    cr_assert_eq(n, 4, "%zu", n);
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(s[i].row % 100, 7);
        cr_expect_eq(s[i].column, 2);
        cr_expect(tab_suspect_told(&s[i]) == TAB_SUSPECT_RANGE);
    }
    cr_expect_str_eq(tab_suspect_reason(a, p, &s[0]),
                     "396 of 400 numbers in the column look like values of `age`, which this cannot be");
    persons(a, false, false, &n, &p);
    cr_expect_eq(n, 0);
}

Test(whole, a_tail_below_0_is_right)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_profile *p;
    size_t n;
    persons(a, false, true, &n, &p);
    cr_expect_eq(n, 0, "%zu", n);
}

/* ---- texts that were cut ------------------------------------------------------------------------------- */

/* Articles of three to nine words, of which at most `most` letters are there. */
static tab_suspect *articles(tab_arena *a, size_t most, size_t *ret_n, tab_profile **ret_p)
{
    static const char *const WORDS[] = { "garden", "hose",  "flexible", "steel",   "housing", "water",
                                         "pump",   "small", "electric", "drill",   "battery", "cover",
                                         "chair",  "table", "outdoor",  "plastic", "lamp",    "screws" };
    char *csv = NULL, text[200];
    size_t bytes = 0;
    FILE *f = open_memstream(&csv, &bytes);
    uint32_t x = 29;
    fputs("article,text,price\n", f);
    for (size_t i = 0; i < ARTICLES; i++) {
        size_t n = 0, words = 3 + next(&x) % 7;
        for (size_t k = 0; k < words; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, k == 0 ? "%s" : " %s", WORDS[next(&x) % 18]);
        fprintf(f, "A%zu,%.*s,%u.%02u\n", i, (int)most, text, 5 + next(&x) % 90, next(&x) % 100);
    }
    fclose(f);
    return suspects_in(a, csv, bytes, ret_n, ret_p);
}

Test(whole, texts_that_were_cut_are_wrong)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_profile *p;
    size_t n;
    const tab_suspect *s = articles(a, 40, &n, &p);
    cr_assert_gt(n, 40, "%zu", n);
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(s[i].column, 1);
        cr_expect_eq(tab_cell_at(&p->table->col[1], s[i].row).text.n, 40);
    }
    cr_expect(tab_suspect_told(&s[0]) == TAB_SUSPECT_FORMAT && s[0].confidence > 0.9);
}

Test(whole, texts_of_many_lengths_and_codes_of_one_are_right)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    tab_profile *p;
    size_t n;
    articles(a, 200, &n, &p);
    cr_expect_eq(n, 0, "%zu", n);
}
