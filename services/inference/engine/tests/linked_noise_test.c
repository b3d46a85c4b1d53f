/* Coin flips with other tables beside them that are noise: what is made of those is not read, so that what is
 * said of the answers stays what the table alone bears out. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/bundle.h"
#include "services/inference/engine/features/mix.h"

enum { PEOPLE = 120, COLUMNS = 20, REGIONS = 30, SEEDS = 20, TABLES = 4 };
enum { CHILD = 1, PARENT = 2, GRANDCHILD = 4 };

static uint32_t draw(size_t seed, size_t a, size_t b, uint32_t n)
{
    return (uint32_t)(tab_mix2(tab_mix2(seed, a), b) % n);
}

static size_t visits_of(size_t seed, size_t person)
{
    return draw(seed, person, 1, 8);
}

static void write_people(FILE *f, size_t seed)
{
    fputs("id,region,x,coin\n", f);
    for (size_t i = 0; i < PEOPLE; i++)
        fprintf(f, "%zu,R%03u,%u.5,%s\n", 100003 + i * 7919, draw(seed, i, 2, REGIONS),
                draw(seed, i, 3, 1000), draw(seed, i, 4, 2) ? "heads" : "tails");
}

static void write_regions(FILE *f, size_t seed)
{
    fputs("region,a,b,c,d\n", f);
    for (size_t i = 0; i < REGIONS; i++) {
        fprintf(f, "R%03zu", i);
        for (size_t c = 0; c < 4; c++)
            fprintf(f, ",%u.25", draw(seed, i, 50 + c, 1000));
        fputs("\n", f);
    }
}

/* Visits, or the lines of visits. */
static void write_visits(FILE *f, size_t seed, bool lines)
{
    fputs(lines ? "visit,amount,kind" : "visit,person", f);
    for (size_t c = 0; !lines && c < COLUMNS; c++)
        fprintf(f, ",c%zu", c);
    fputs("\n", f);
    for (size_t i = 0, v = 0; i < PEOPLE; i++)
        for (size_t k = visits_of(seed, i); k > 0; k--, v++) {
            for (size_t q = 0; lines && q <= draw(seed, v, 5, 3); q++)
                fprintf(f, "V%05zu,%u.75,%c\n", v * 3 + 11, draw(seed, v * 4 + q, 6, 5000),
                        'a' + (char)draw(seed, v * 4 + q, 7, 3));
            if (lines)
                continue;
            fprintf(f, "V%05zu,%zu", v * 3 + 11, 100003 + i * 7919);
            for (size_t c = 0; c < COLUMNS; c++)
                if (c % 4 == 0)
                    fprintf(f, ",%c", 'p' + (char)draw(seed, v, 100 + c, 4));
                else
                    fprintf(f, ",%u.5", draw(seed, v, 100 + c, 100000));
            fputs("\n", f);
        }
}

static const tab_table *table(tab_arena *a, size_t which, size_t seed)
{
    static const char *const name[] = { "people", "visits", "regions", "lines" };
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (which == 0)
        write_people(f, seed);
    else if (which == 2)
        write_regions(f, seed);
    else
        write_visits(f, seed, which == 3);
    fclose(f);
    const tab_table *t = NULL;
    cr_assert_eq(tab_csv_read(a, (tab_str){ text, n }, tab_str_of(name[which]), &t, NULL, NULL), TAB_OK);
    free(text);
    return t;
}

/* In how many of SEEDS drawings something is made of the other tables. */
static size_t taken(int kinds)
{
    size_t hits = 0;
    for (size_t seed = 0; seed < SEEDS; seed++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        tab_engine e = { .arena = a };
        tab_profile *p[TABLES];
        size_t n = 0;
        for (size_t which = 0; which < TABLES; which++)
            if (which == 0 || (kinds & (which == 1 ? CHILD : which == 2 ? PARENT : GRANDCHILD)) != 0)
                cr_assert_eq(tab_profile_table(&e, table(a, which, seed), &p[n++], NULL), TAB_OK);
        tab_references refs = { 0 };
        tab_links *l = NULL;
        tab_link_set *s = NULL;
        cr_assert_eq(tab_references_find(&e, p, n, &refs, NULL), TAB_OK);
        cr_assert_eq(tab_links_new(&e, p, n, &refs, 0, 3, TAB_AS_OF_EVIDENCE, &l, NULL), TAB_OK);
        cr_assert_not_null(l);
        cr_assert_eq(tab_links_choose(&e, l, p[0], NULL, 3, TAB_TASK_CLASSIFICATION, &s, NULL, NULL), TAB_OK);
        hits += s != NULL;
    }
    return hits;
}

Test(linked_noise, nothing_is_made_of_noise)
{
    static const int kinds[] = { CHILD, PARENT, CHILD | PARENT, CHILD | PARENT | GRANDCHILD };
    size_t all = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        all += taken(kinds[k]);
    cr_assert_leq(all, 2, "%zu of %d", all, 4 * SEEDS);
}
