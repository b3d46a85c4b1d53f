/* Classes that may come in other shares among the rows to predict: confidence is no higher than both readings
 * bear out (decision 0792). */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted_parts.h"

enum { ROWS = 900, COLS = 4 };

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

static bool is_asked(size_t i)
{
    return draw(i, 1) < 0.4;
}

/* Of known rows one in six says yes, of asked ones `share`. */
static bool says_yes(size_t i, double share)
{
    return draw(i, 2) < (is_asked(i) ? share : 0.17);
}

/* How much surer the answers are of asked rows than they are right. *moved: shares are told to move. */
static double too_sure(double share, bool *moved)
{
    static const char *const name[COLS] = { "a", "b", "c", "y" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_engine e = { .arena = a };
    tab_builder *b[COLS];
    tab_column col[COLS];
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(name[c]));
    for (size_t i = 0; i < ROWS; i++) {
        bool yes = says_yes(i, share);
        for (size_t c = 0; c + 1 < COLS; c++) {
            double bell = -6;
            for (size_t k = 0; k < 12; k++)
                bell += draw(i, 100 * (c + 1) + k);
            tab_builder_number(b[c], bell + (yes ? 0.8 : 0));
        }
        if (is_asked(i))
            tab_builder_null(b[COLS - 1]);
        else
            tab_builder_text(b[COLS - 1], yes ? TAB_S("yes") : TAB_S("no"));
    }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = { .base = "base-1", .target = COLS - 1, .task = TAB_TASK_CLASSIFICATION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    const Tabella__Results *r = m->missing_target_results;
    double off = 0;
    for (size_t i = 0; i < r->n_row; i++) {
        bool yes = r->label[i] == 1; /* classes are in order: no, yes */
        off += (r->probabilities[2 * i + yes] - (yes == says_yes(r->row[i], share))) / (double)r->n_row;
    }
    *moved = f->moved != NULL;
    cr_expect_eq(*moved, strstr(m->split->reason, "shares of their classes") != NULL, "%s", m->split->reason);
    return off;
}

Test(label_shift, a_class_that_is_commoner_where_it_is_asked_lowers_confidence, .timeout = 300)
{
    bool moved;
    double off = too_sure(0.6, &moved);
    cr_expect(moved);
    cr_expect_lt(off, 0.1, "surer than right by %.3f, 0.2 before", off);
}

Test(label_shift, the_same_shares_are_left_alone, .timeout = 300)
{
    bool moved;
    double off = too_sure(0.17, &moved);
    cr_expect_not(moved);
    cr_expect(fabs(off) < 0.08, "%.3f", off);
}
