/* Columns of rows to predict that are not what they are elsewhere: texts of other letters (decision 0793),
 * cells of other rows (decision 0794). */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/asked/cells/broken_pairs.h"
#include "services/inference/engine/predict/asked/cells/novel_texts.h"
#include "services/inference/engine/predict/fitted_parts.h"

enum { ROWS = 600, ASKED = 200, COLS = 4, TEXT = 24 };

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

static void ask(bool *asked)
{
    for (size_t r = 0; r < ROWS; r++)
        asked[r] = r < ASKED;
}

/* Codes of which the known ones begin with y or n; asked ones with `first`, and end with `last`. */
static bool novel(const char *first, const char *last)
{
    static char text[ROWS][TEXT];
    static tab_str level[ROWS];
    static uint32_t code[ROWS];
    bool asked[ROWS], ret = false;
    ask(asked);
    for (size_t r = 0; r < ROWS; r++) {
        const char *own = asked[r] ? first : r % 3 == 0 ? "Y" : "n";
        size_t number = (size_t)(draw(r, 1) * 1e5);
        int n = snprintf(text[r], TEXT, "%s%05zu%s", own, number, asked[r] ? last : "");
        level[r] = (tab_str){ text[r], (size_t)n };
        code[r] = (uint32_t)r;
    }
    tab_column_profile c = { .type = TAB_TEXT, .code = code, .level = level, .levels = ROWS };
    cr_assert(tab_asked_novel_texts(&c, asked, ROWS, &ret));
    return ret;
}

Test(asked_columns, codes_with_a_letter_that_no_known_one_has_are_told)
{
    cr_expect(novel("P", ""));
    cr_expect(novel("", "P"), "at the end");
    cr_expect_not(novel("Y", ""), "as known ones");
    cr_expect_not(novel("N", ""), "as known ones, in another case");
    cr_expect_not(novel("y", "0"), "a digit more");
}

Test(asked_columns, texts_that_hold_something_new_each_are_no_others)
{
    static char text[ROWS][TEXT];
    static tab_str level[ROWS];
    static uint32_t code[ROWS];
    bool asked[ROWS], ret = true;
    ask(asked);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t k = 0; k < 12; k++)
            text[r][k] = (char)('a' + (int)(26 * draw(r, 10 + k)));
        level[r] = (tab_str){ text[r], 12 };
        code[r] = (uint32_t)r;
    }
    tab_column_profile c = { .type = TAB_TEXT, .code = code, .level = level, .levels = ROWS };
    cr_assert(tab_asked_novel_texts(&c, asked, ROWS, &ret));
    cr_expect_not(ret);
}

/* Four columns that follow one number; in asked rows those of `other` are cells of other rows. ret: what is
 * doubted. */
static void broken(const bool *other, size_t follow, double up, bool *ret)
{
    static double x[COLS][ROWS];
    tab_column_profile col[COLS];
    bool asked[ROWS], use[COLS];
    memset(col, 0, sizeof col);
    ask(asked);
    for (size_t c = 0; c < COLS; c++) {
        for (size_t r = 0; r < ROWS; r++) {
            size_t of = asked[r] && other[c] ? (r + 1) % ASKED : r;
            x[c][r] = (c < follow ? draw(of, 1) : 0) + 0.4 * draw(of, 2 + c) + (asked[r] ? up : 0);
        }
        col[c].type = TAB_NUMERIC, col[c].number = x[c];
        use[c] = true;
    }
    cr_assert(tab_asked_broken_pairs(col, use, COLS, asked, ROWS, ret));
}

Test(asked_columns, a_column_of_other_rows_is_told_by_those_that_hold_together)
{
    bool ret[COLS];
    broken((bool[]){ 0, 0, 1, 0 }, COLS, 0, ret);
    cr_expect(!ret[0] && !ret[1] && ret[2] && !ret[3], "one of four");
    broken((bool[]){ 0, 1, 0, 0 }, 2, 0, ret);
    cr_expect(ret[0] && ret[1] && !ret[2] && !ret[3], "which one of two cannot be told");
    broken((bool[]){ 0, 0, 0, 0 }, COLS, 0, ret);
    cr_expect(!ret[0] && !ret[1] && !ret[2] && !ret[3], "none");
    broken((bool[]){ 0, 0, 1, 0 }, COLS, 0.5, ret);
    cr_expect(!ret[0] && !ret[1] && !ret[2] && !ret[3], "asked rows that lie elsewhere");
}

Test(asked_columns, words_of_other_rows_are_told)
{
    static double x[2][ROWS];
    static uint32_t code[ROWS];
    tab_column_profile col[3];
    bool asked[ROWS], ret[3];
    memset(col, 0, sizeof col);
    ask(asked);
    for (size_t r = 0; r < ROWS; r++) {
        size_t of = asked[r] ? (r + 1) % ASKED : r;
        code[r] = r % 50 == 0 ? TAB_NULL : (uint32_t)(6 * draw(of, 1));
        x[0][r] = draw(r, 1), x[1][r] = draw(r, 1) + draw(r, 2);
    }
    for (size_t c = 0; c < 2; c++)
        col[c].type = TAB_NUMERIC, col[c].number = x[c];
    col[2].type = TAB_CATEGORICAL, col[2].code = code, col[2].levels = 6;
    cr_assert(tab_asked_broken_pairs(col, (bool[]){ 1, 1, 1 }, 3, asked, ROWS, ret));
    cr_expect(!ret[0] && !ret[1] && ret[2]);
    cr_assert(tab_asked_broken_pairs(col, (bool[]){ 1, 1, 0 }, 3, asked, ROWS, ret));
    cr_expect(!ret[0] && !ret[1] && !ret[2], "what is not used is not read");
}

/* Whether it is said that `kind` is another word in asked rows than in all known ones. */
static bool says_other(const char *known, const char *asked)
{
    static const char *const name[3] = { "x", "kind", "y" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_engine e = { .arena = a };
    tab_builder *b[3];
    tab_column col[3];
    for (size_t c = 0; c < 3; c++)
        b[c] = tab_builder_new(a, tab_str_of(name[c]));
    for (size_t r = 0; r < 100; r++) {
        tab_builder_number(b[0], draw(r, 1));
        tab_builder_text(b[1], tab_str_of(r < 20 ? asked : r < 25 ? known : "day"));
        if (r < 20)
            tab_builder_null(b[2]);
        else
            tab_builder_number(b[2], draw(r, 1) + draw(r, 2));
    }
    for (size_t c = 0; c < 3; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = 100, .cols = 3, .col = col };
    tab_profile *p = NULL;
    tab_fit_options o = { .base = "base-1", .target = 2, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    return f->unlike != NULL && strstr(f->unlike, "`kind` has one value in all rows with a target") != NULL;
}

Test(asked_columns, another_word_than_all_known_rows_have_is_said, .timeout = 120)
{
    cr_expect(says_other("day", "month"));
    cr_expect_not(says_other("day", "day"));
    cr_expect_not(says_other("week", "month"), "known rows have two");
}
