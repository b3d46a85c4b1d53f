/* Cells of a served row that are unlike all fitted ones are said, with row and column. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

enum { FITTED = 240, COLS = 4 };

typedef struct {
    const char *region, *name;
    double price;
} sale;

static tab_table table_of(tab_arena *a, const sale *s, size_t rows, tab_column *col)
{
    static const char *const names[COLS] = { "region", "name", "price", "sold" };
    tab_builder *b[COLS];
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(names[c]));
    for (size_t i = 0; i < rows; i++) {
        if (s[i].region == NULL)
            tab_builder_null(b[0]);
        else
            tab_builder_text(b[0], tab_str_of(s[i].region));
        tab_builder_text(b[1], tab_str_of(s[i].name));
        tab_builder_number(b[2], s[i].price);
        tab_builder_number(b[3], s[i].price * (double)(i % 3 + 1));
    }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    return (tab_table){ .id = TAB_S("sales"), .rows = rows, .cols = COLS, .col = col };
}

Test(strange, cells_are_said_with_row_and_column, .timeout = 300)
{
    static const char *const regions[] = { "north", "east", "south" };
    static sale known[FITTED], asked[9];
    static char name[FITTED][16];
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_column col[COLS], own[COLS];
    for (size_t i = 0; i < FITTED; i++) {
        snprintf(name[i], sizeof name[i], "customer %zu", i * 7919 % 1000);
        known[i] =
            (sale){ regions[tab_mix2(i, 1) % 3], name[i], 10 + round(900 * tab_unit(tab_mix2(i, 2))) / 10 };
    }
    for (size_t i = 0; i < 9; i++)
        asked[i] = (sale){ "east", "customer 1", 50 };
    tab_table t = table_of(a, known, FITTED, col), q;
    tab_profile *p = NULL;
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_scoring s = { 0 };
    tab_fit_options o = { .base = "base-1", .target = COLS - 1, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);

    asked[2].region = NULL, asked[3].name = "nobody we know", asked[4].price = 105;
    q = table_of(a, asked, 9, own);
    cr_assert_eq(tab_score_read(&e, f, &q, &s, NULL), TAB_OK);
    cr_expect_eq(s.stranges, 0, "%s", s.stranges > 0 ? s.strange[0] : "");

    asked[1].region = "Mars", asked[5].price = 5000;
    q = table_of(a, asked, 9, own);
    s = (tab_scoring){ 0 };
    cr_assert_eq(tab_score_read(&e, f, &q, &s, NULL), TAB_OK);
    cr_assert_eq(s.stranges, 2);
    cr_expect_str_eq(s.strange[0], "sales.region, row 1: no pinned row has the value \"Mars\"");
    cr_expect(strncmp(s.strange[1], "sales.price, row 5: 5000 is far outside the pinned rows' 10", 59) == 0,
              "%s", s.strange[1]);

    for (size_t i = 0; i < 8; i++)
        asked[i].region = "Mars";
    asked[0].price = -1000;
    q = table_of(a, asked, 9, own);
    s = (tab_scoring){ 0 };
    cr_assert_eq(tab_score_read(&e, f, &q, &s, NULL), TAB_OK);
    cr_assert_eq(s.stranges, 2);
    cr_expect_str_eq(s.strange[0], "sales.region, rows 0, 1, 2, 3, 4 and 3 more: no pinned row has such a "
                                   "value, the first being \"Mars\"");
    cr_expect(strstr(s.strange[1], "rows 0 and 5: the first with -1000 is far outside") != NULL, "%s",
              s.strange[1]);
}
