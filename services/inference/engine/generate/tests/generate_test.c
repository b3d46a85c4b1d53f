#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/generate/generate.h"
#include "services/inference/engine/sector/sectors.h"

/* A row as one line of text. */
static size_t line(tab_generate_reader *r, const tab_generator *g, size_t t, uint64_t row, char *out,
                   size_t size)
{
    tab_generated_cell cell[TAB_GENERATE_COLS];
    size_t n = 0;
    tab_generate_row(r, t, row, cell);
    for (size_t k = 0; k < tab_generate_table(g, t)->cols && n + 300 < size; k++) {
        if (cell[k].kind == TAB_CELL_NUMBER)
            n += tab_generate_number(cell[k].num, cell[k].decimals, out + n);
        else if (cell[k].kind == TAB_CELL_TEXT)
            n += (size_t)snprintf(out + n, size - n, "%.*s", (int)cell[k].text.n, cell[k].text.p);
        out[n++] = '|';
    }
    out[n] = 0;
    return n;
}

static tab_generator *opened(tab_arena *a, const char *sector, uint64_t rows, uint64_t seed)
{
    tab_generator *g = NULL;
    tab_error err = { 0 };
    cr_assert_eq(tab_generate_open(a, tab_str_of(sector), rows, seed, &g, &err), TAB_OK, "%s: %s", sector,
                 err.message);
    return g;
}

Test(generate, every_sector_has_linked_tables_and_what_it_states_holds)
{
    for (int s = 0; s < TAB_SECTORS; s++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)256 << 20);
        const char *slug = tab_sectors[s].slug;
        tab_generator *g = opened(a, slug, 3000, 11);
        tab_generate_reader *r = tab_generate_reader_new(a, g);
        size_t refers = 0, checks = 0, outcomes = 0;
        cr_assert_geq(tab_generate_tables(g), 3, "%s", slug);
        cr_assert_eq(tab_generate_table(g, 0)->rows, 3000);
        for (size_t t = 0; t < tab_generate_tables(g); t++) {
            const tab_generated_table *x = tab_generate_table(g, t);
            refers += x->refers;
            checks += x->checks;
            for (size_t k = 0; t == 0 && k < x->cols; k++)
                outcomes += x->col[k].stated.n > 3 &&
                            memmem(x->col[k].stated.p, x->col[k].stated.n, "AUC", 3) != NULL;
            for (uint64_t row = 0; row < x->rows && row < 5000; row++)
                cr_assert_eq(tab_generate_broken(r, t, row), 0, "%s, %.*s, row %lu", slug, TAB_STR(x->name),
                             (unsigned long)row);
        }
        cr_assert(refers >= 2 && checks >= 2 && outcomes >= 1, "%s: %zu %zu %zu", slug, refers, checks,
                  outcomes);
    }
}

Test(generate, a_row_depends_on_nothing_that_was_made_before)
{
    for (int s = 0; s < TAB_SECTORS; s++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)256 << 20);
        char one[8192], other[8192];
        tab_generator *g = opened(a, tab_sectors[s].slug, 500, 5);
        tab_generate_reader *on = tab_generate_reader_new(a, g);
        for (size_t t = 0; t < tab_generate_tables(g); t++)
            for (uint64_t row = tab_generate_table(g, t)->rows; row-- > 0;)
                if (row % 17 == 0) {
                    tab_generate_reader *fresh = tab_generate_reader_new(a, g);
                    line(on, g, t, row, one, sizeof one); /* backwards, through all tables */
                    line(fresh, g, t, row, other, sizeof other);
                    cr_assert_str_eq(one, other);
                    if (tab_arena_used(a) > (size_t)128 << 20)
                        goto next;
                }
    next:;
    }
}

Test(generate, references_are_keys_that_are_there)
{
    for (int s = 0; s < TAB_SECTORS; s++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)256 << 20);
        tab_generator *g = opened(a, tab_sectors[s].slug, 400, 3);
        tab_error err;
        const tab_table *made[TAB_GENERATE_TABLES];
        for (size_t t = 0; t < tab_generate_tables(g); t++)
            cr_assert_eq(tab_generate_build(a, g, t, 0, UINT64_MAX / 4, NULL, &made[t], &err), TAB_OK);
        for (size_t t = 0; t < tab_generate_tables(g); t++) {
            const tab_generated_table *x = tab_generate_table(g, t);
            cr_assert_eq(made[t]->rows, x->rows);
            for (size_t p = 0; p < x->refers; p++) {
                const tab_column *from = &made[t]->col[x->ref[p].col], *to = &made[x->ref[p].table]->col[0];
                cr_assert_eq(to->levels, made[x->ref[p].table]->rows, "%s: a key twice", tab_sectors[s].slug);
                for (size_t l = 0; l < from->levels; l++) {
                    bool there = false;
                    for (size_t k = 0; k < to->levels && !there; k++)
                        there = tab_str_eq(tab_level(from, l), tab_level(to, k));
                    cr_assert(there, "%s, %.*s: %.*s", tab_sectors[s].slug, TAB_STR(x->name),
                              TAB_STR(tab_level(from, l)));
                }
            }
        }
    }
}

Test(generate, another_seed_is_another_organization)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)256 << 20);
    char one[8192], other[8192];
    tab_generator *g = opened(a, "retail", 100, 1), *h = opened(a, "Retail & E-commerce", 100, 2);
    line(tab_generate_reader_new(a, g), g, 0, 50, one, sizeof one);
    line(tab_generate_reader_new(a, h), h, 0, 50, other, sizeof other);
    cr_assert_str_neq(one, other);
}

Test(generate, refusals_say_what)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)64 << 20);
    tab_generator *g;
    tab_error err;
    cr_assert_eq(tab_generate_open(a, TAB_S("retial"), 10, 1, &g, &err), TAB_VALIDATION);
    cr_assert_str_eq(err.param, "sector");
    cr_assert_eq(tab_generate_open(a, TAB_S("retail"), 0, 1, &g, &err), TAB_VALIDATION);
    cr_assert_str_eq(err.param, "rows");
    cr_assert_eq(tab_generate_open(a, TAB_S("retail"), TAB_GENERATE_MOST_ROWS + 1, 1, &g, &err),
                 TAB_VALIDATION);
}

/* One row and a billion: every table has rows, and the last one is made as the first. */
Test(generate, few_rows_and_many)
{
    const uint64_t sizes[] = { 1, 2, 7, 64, 65, TAB_GENERATE_MOST_ROWS };
    for (int s = 0; s < TAB_SECTORS; s++)
        for (size_t i = 0; i < 6; i++) {
            TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)256 << 20);
            char text[8192];
            tab_generator *g = opened(a, tab_sectors[s].slug, sizes[i], 2);
            tab_generate_reader *r = tab_generate_reader_new(a, g);
            for (size_t t = 0; t < tab_generate_tables(g); t++) {
                uint64_t n = tab_generate_table(g, t)->rows;
                for (uint64_t row = n > 100 ? n - 100 : 0; row < n; row++) {
                    cr_assert_gt(line(r, g, t, row, text, sizeof text), 10);
                    cr_assert_eq(tab_generate_broken(r, t, row), 0, "%s %lu: table %zu row %lu",
                                 tab_sectors[s].slug, (unsigned long)sizes[i], t, (unsigned long)row);
                }
            }
        }
}

Test(generate, numbers_are_written_as_printf_does)
{
    const double x[] = { 0, -0.004, 1.005, 12.5, -3.999, 1e9, 123456.789, 0.1 + 0.2 };
    char ours[40], theirs[40];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        for (int d = 0; d < 5; d++) {
            double p = pow(10, d);
            ours[tab_generate_number(x[i], d, ours)] = 0;
            snprintf(theirs, sizeof theirs, "%.*f", d, round(x[i] * p) / p + 0.0);
            cr_assert_str_eq(ours, strcmp(theirs, "-0") == 0                                 ? "0"
                                   : strncmp(theirs, "-0.0000", (size_t)d + 3) == 0 && d > 0 ? theirs + 1
                                                                                             : theirs);
        }
}
