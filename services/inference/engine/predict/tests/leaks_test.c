/* Columns that give the target away are named, strong honest ones are not: decision 0320. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/engine.h"
#include "services/inference/engine/features/mix.h"

enum { ROWS = 600, MOST = 8 };

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

/* What a column holds in row i; a negative flag is a missing cell. */
static double cell(size_t i, const char *name)
{
    double price = floor(1000 + 9000 * unit(i, 1)) / 100, quantity = 1 + floor(20 * unit(i, 2));
    double shipping = floor(1000 * unit(i, 3)) / 100, age = 18 + floor(60 * unit(i, 4));
    bool fraud = unit(i, 5) < 0.1 + (age < 30 ? 0.2 : 0);
    double outcome = 3 * age + 40 * unit(i, 6);
    return strcmp(name, "price") == 0      ? price
           : strcmp(name, "quantity") == 0 ? quantity
           : strcmp(name, "shipping") == 0 ? shipping
           : strcmp(name, "age") == 0      ? age
           : strcmp(name, "fraud") == 0    ? fraud
           : strcmp(name, "refused") == 0  ? (fraud ? floor(3 * unit(i, 7)) : -1)
           : strcmp(name, "total") == 0    ? price + shipping
           : strcmp(name, "value") == 0    ? price * quantity
           : strcmp(name, "cents") == 0    ? floor(outcome * 100 + 0.5)
           : strcmp(name, "outcome") == 0  ? outcome
           : strcmp(name, "strong") == 0   ? outcome + 60 * unit(i, 8)
           : strcmp(name, "meter") == 0    ? 3 * (double)i + 2 * unit(i, 11)
           : strcmp(name, "likewise") == 0 ? outcome + 60 * unit(i, 9)
                                           : unit(i, 10);
}

/* The leaks of the last column's prediction, as "a|b", and the reason of the first. ignored: a column that
 * the caller says to ignore, or NULL. */
static void leaks_of(const char *const *names, const char *ignored, char *all, size_t n, char *reason,
                     size_t m)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    size_t cols = 0;
    while (names[cols] != NULL)
        cols++;
    tab_column *col = tab_arena_new_of(a, tab_column, MOST);
    for (size_t j = 0; j < cols; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[j]));
        for (size_t i = 0; i < ROWS; i++) {
            double v = cell(i, names[j]);
            if (strcmp(names[j], "refused") == 0 && v < 0)
                tab_builder_null(b);
            else if (strcmp(names[j], "refused") == 0)
                tab_builder_text(b, v < 1 ? TAB_S("card") : v < 2 ? TAB_S("name") : TAB_S("address"));
            else if (strcmp(names[j], "fraud") == 0)
                tab_builder_text(b, v > 0 ? TAB_S("yes") : TAB_S("no"));
            else if (strcmp(names[j], "day") == 0)
                tab_builder_text(b, tab_str_of(tab_arena_printf(a, "%zu-%02zu-%02zu", 2024 + i / 336,
                                                                1 + i / 28 % 12, 1 + i % 28)));
            else
                tab_builder_number(b, v);
        }
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = cols, .col = col };
    const tab_table *tables[] = { &t };
    tab_run_options o = { .base = "base-1",
                          .target = TAB_TARGET_COLUMN,
                          .target_column = tab_str_of(names[cols - 1]),
                          .threshold = 0.5 };
    tab_column_option ignore = { .column = tab_str_of(ignored == NULL ? "" : ignored),
                                 .use = TAB_S("ignore") };
    if (ignored != NULL)
        o.given = (tab_given){ .column = &ignore, .columns = 1 };
    Tabella__Bundle *b = NULL;
    cr_assert_eq(tab_engine_run(&e, tables, 1, &o, &b, NULL), TAB_OK);
    const Tabella__Prediction *p = b->prediction;
    cr_assert_eq(b->n_warnings, p->n_leaks);
    all[0] = reason[0] = 0;
    for (size_t i = 0; i < p->n_leaks; i++) {
        size_t at = strlen(all);
        snprintf(all + at, n - at, "%s%s:%.*s", i > 0 ? "|" : "", p->leaks[i]->kind,
                 (int)p->leaks[i]->column->address.len, (const char *)p->leaks[i]->column->address.data);
        cr_expect_eq(strncmp(b->warnings[i], "likely_leak: `", 14), 0, "%s", b->warnings[i]);
    }
    if (p->n_leaks > 0)
        snprintf(reason, m, "%s", p->leaks[0]->reason);
}

Test(leaks, are_named_and_honest_columns_are_not)
{
    static const struct {
        const char *names[MOST], *want, *reason;
    } cases[] = {
        { { "price", "age", "refused", "quantity", "fraud" }, "alone:t.refused", "known before the target" },
        { { "price", "quantity", "shipping", "age", "total" },
          "computed:t.price|computed:t.shipping",
          "a sum" },
        { { "price", "shipping", "quantity", "age", "value" },
          "computed:t.price|computed:t.quantity",
          "a product" },
        { { "price", "cents", "age", "outcome" }, "copy:t.cents", "in other units" },
        { { "price", "strong", "likewise", "age", "outcome" }, "", "" },
        { { "price", "quantity", "age", "fraud" }, "", "" },
        { { "price", "quantity", "age", "chance" }, "", "" },
        { { "day", "price", "meter" }, "", "" }, /* a moment that all rows have is known beforehand */
    };
    char all[400], reason[400];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        leaks_of(cases[k].names, NULL, all, sizeof all, reason, sizeof reason);
        cr_expect_str_eq(all, cases[k].want, "case %zu: %s", k, all);
        cr_expect(strstr(reason, cases[k].reason) != NULL, "case %zu: %s", k, reason);
    }
}

Test(leaks, a_column_that_is_ignored_gives_nothing_away)
{
    static const char *const copy[] = { "price", "cents", "age", "outcome", NULL }, *const sum[] = {
        "price", "quantity", "shipping", "age", "total", NULL
    };
    char all[400], reason[400];
    leaks_of(copy, "cents", all, sizeof all, reason, sizeof reason);
    cr_expect_str_eq(all, "");
    leaks_of(sum, "shipping", all, sizeof all, reason, sizeof reason);
    cr_expect_str_eq(all, "alone:t.price", "what is left is no sum, but tells nearly all: %s", all);
}
