/* Cells that are empty together are filled no more surely than what is left of their rows tells (decision
 * 0493). */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/impute/impute.h"

enum { ROWS = 500, COLS = 3 };

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

/* A page of a form: height, and the weight that follows from it; beside it a number that tells nothing. In
 * one row of five the weight is empty, and `both`: the height as well. */
static void fill(bool both, double *ret_score, double *ret_sure)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    static const char *const name[COLS] = { "noise", "height", "weight" };
    tab_engine e = { .arena = a };
    tab_column col[COLS];
    tab_builder *b[COLS];
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(name[c]));
    for (size_t i = 0; i < ROWS; i++) {
        bool gap = draw(i, 1) < 0.2;
        double height = 150 + 50 * draw(i, 2), weight = height - 100 + 4 * draw(i, 3);
        tab_builder_number(b[0], round(1000 * draw(i, 4)) / 10);
        if (gap && both)
            tab_builder_null(b[1]);
        else
            tab_builder_number(b[1], round(10 * height) / 10);
        if (gap)
            tab_builder_null(b[2]);
        else
            tab_builder_number(b[2], round(10 * weight) / 10);
    }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    Tabella__Imputation *m = NULL;
    tab_impute_target none = { 0, COLS, NULL };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_impute(&e, &p, 1, NULL, &none, &m, NULL), TAB_OK);
    *ret_score = *ret_sure = (double)NAN;
    for (size_t i = 0; i < m->n_columns; i++)
        if (m->columns[i]->column == 2)
            *ret_score = m->columns[i]->score;
    cr_assert_gt(m->n_row_confidence, ROWS / 10);
    *ret_sure = 0;
    for (size_t i = 0; i < m->n_row_confidence; i++)
        *ret_sure += m->row_confidence[i] / (double)m->n_row_confidence;
}

Test(fill_gaps, a_page_that_nobody_filled_in_is_not_guessed_surely, .timeout = 300)
{
    double score, sure;
    fill(true, &score, &sure);
    cr_expect_lt(score, 0.1, "r2 %g: nothing that is left tells the weight", score);
    cr_expect_lt(sure, 0.5, "said %g within half a deviation; of an even spread 0.29 to 0.58 lie there",
                 sure);
}

Test(fill_gaps, a_single_gap_is_filled_from_its_row, .timeout = 300)
{
    double score, sure;
    fill(false, &score, &sure);
    cr_expect_gt(score, 0.9);
    cr_expect_gt(sure, 0.9);
}
