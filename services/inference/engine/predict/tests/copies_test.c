/* Rows that the table holds already, cell for cell, are answered as surely as their twins agree (decision
 * 0374). */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

enum { ROWS = 700, KEYS = 10, CLASSES = 3 };

/* The mean log-loss of rows of each key, where the key says the class; noise: the share of the fitted rows
 * whose class is drawn instead. */
static double loss_of_keys(double noise)
{
    static const char *const key[KEYS] = { "ash", "oak", "elm", "fir", "yew",
                                           "box", "bay", "fig", "nut", "ivy" };
    static const char *const class[CLASSES] = { "soft", "hard", "other" };
    tab_arena *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_column col[2], asked[2];
    tab_builder *k = tab_builder_new(a, TAB_S("wood")), *c = tab_builder_new(a, TAB_S("kind"));
    for (size_t i = 0; i < ROWS; i++) {
        size_t at = (size_t)(KEYS * tab_unit(tab_mix2(i, 1)));
        bool drawn = tab_unit(tab_mix2(i, 2)) < noise;
        tab_builder_text(k, tab_str_of(key[at]));
        tab_builder_text(
            c, tab_str_of(class[drawn ? (size_t)(CLASSES * tab_unit(tab_mix2(i, 3))) : at % CLASSES]));
    }
    cr_assert(tab_builder_finish(k, &col[0]) && tab_builder_finish(c, &col[1]));
    k = tab_builder_new(a, TAB_S("wood")), c = tab_builder_new(a, TAB_S("kind"));
    for (size_t i = 0; i < KEYS; i++) {
        tab_builder_text(k, tab_str_of(key[i]));
        tab_builder_null(c);
    }
    cr_assert(tab_builder_finish(k, &asked[0]) && tab_builder_finish(c, &asked[1]));
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = 2, .col = col }, q = t;
    q.rows = KEYS, q.col = asked;
    tab_profile *p = NULL;
    tab_fitted *f = NULL;
    Tabella__Prediction *m;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    tab_fit_options o = { .base = "base-1", .target = 1, .task = TAB_TASK_CLASSIFICATION };
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_score_any(&e, f, &q, false, &m, NULL), TAB_OK);
    double loss = 0;
    for (size_t i = 0; i < KEYS; i++) {
        double most = 0; /* the key's own class is its most probable one */
        for (size_t j = 0; j < CLASSES; j++)
            most = fmax(most, m->results->probabilities[i * CLASSES + j]);
        loss -= log(most) / KEYS;
    }
    tab_fitted_free(f);
    tab_arena_free(a);
    return loss;
}

Test(copies, answer_as_surely_as_they_agree, .timeout = 600)
{
    double sure = loss_of_keys(0), noisy = loss_of_keys(0.3);
    cr_expect_lt(sure, 0.0022, "%g", sure);                  /* about a row of doubt among all */
    cr_expect_gt(sure, 0.0002, "%g", sure);                  /* and never none */
    cr_expect_float_eq(noisy, -log(0.8), 0.06, "%g", noisy); /* 0.7 + 0.3 / 3 keep their class */
}
