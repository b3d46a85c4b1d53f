/* A served row of a level that nobody saw is told from the others, and its interval is as wide as levels
 * differ; where levels say nothing, or each row has its own, it is a row like the others. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

enum { FITTED = 360, SHOPS = 8, COLOURS = 3, COLS = 4, SERVED = 3 };

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

static void text(tab_builder *b, const char *what, size_t n)
{
    char s[32];
    snprintf(s, sizeof s, "%s %zu", what, n);
    tab_builder_text(b, tab_str_of(s));
}

/* Rows of a shop, a colour, a price and what is sold, which the first and the third decide. */
typedef struct {
    tab_builder *b[COLS];
    tab_column col[COLS];
} sales;

static void begin(tab_arena *a, sales *s)
{
    static const char *const name[COLS] = { "shop", "colour", "price", "sold" };
    for (size_t c = 0; c < COLS; c++)
        s->b[c] = tab_builder_new(a, tab_str_of(name[c]));
}

static void add(sales *s, size_t i, size_t shop, size_t colour, double levels)
{
    text(s->b[0], "shop", shop);
    text(s->b[1], "colour", colour);
    tab_builder_number(s->b[2], 10 * draw(i, 2));
    tab_builder_number(s->b[3], levels * (double)shop + draw(i, 2) + draw(i, 3));
}

static tab_table end(sales *s, size_t rows)
{
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(s->b[c], &s->col[c]));
    return (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = COLS, .col = s->col };
}

/* Serves a row as the fitted ones, one of a new shop and one of a new colour. width: of their 80 %. */
static const Tabella__Prediction *serve(tab_arena *a, double levels, double *width)
{
    tab_engine e = { .arena = a };
    sales known, new;
    begin(a, &known), begin(a, &new);
    for (size_t i = 0; i < FITTED; i++)
        add(&known, i, (size_t)(SHOPS * draw(i, 4)), (size_t)(COLOURS * draw(i, 5)), levels);
    add(&new, FITTED, 4, 1, levels), add(&new, FITTED, SHOPS + 1, 1, levels);
    add(&new, FITTED, 4, COLOURS + 1, levels);
    tab_table t = end(&known, FITTED), q = end(&new, SERVED);
    tab_profile *p = NULL;
    TAB_AUTO(tab_fitted) *f = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = { .base = "base-1", .target = COLS - 1, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_score_any(&e, f, &q, false, &m, NULL), TAB_OK);
    for (size_t i = 0; i < SERVED; i++) {
        const double *row = m->results->quantiles + i * m->n_quantile_levels;
        width[i] = row[m->n_quantile_levels - 2] - row[1];
    }
    return m;
}

Test(new_levels, are_told_and_their_intervals_are_as_wide_as_levels_differ, .timeout = 300)
{
    tab_arena *a = tab_arena_new((size_t)1 << 30);
    double width[SERVED];
    const Tabella__Prediction *m = serve(a, 5, width);
    const Tabella__Results *r = m->results;
    cr_assert_eq(r->n_regime, SERVED);
    cr_expect(r->regime[0] == 0 && r->regime[1] == 2 && r->regime[2] == 0, "%u %u %u", r->regime[0],
              r->regime[1], r->regime[2]);
    cr_assert_eq(r->n_doubt, SERVED);
    cr_expect(r->doubt[0] == 0 && r->doubt[1] == 1 && r->doubt[2] == 0);
    cr_expect_gt(width[1], 5 * width[0], "eight shops from 0 to 35: %g, known %g", width[1], width[0]);
    cr_expect_lt(width[2], 1.5 * width[0], "colours say nothing: %g, known %g", width[2], width[0]);
    tab_arena_free(a);
}

Test(new_levels, that_say_nothing_are_rows_like_the_others, .timeout = 300)
{
    tab_arena *a = tab_arena_new((size_t)1 << 30);
    double width[SERVED];
    const Tabella__Prediction *m = serve(a, 0, width);
    cr_expect_eq(m->results->n_regime, 0);
    cr_expect_lt(width[1], 1.5 * width[0]);
    tab_arena_free(a);
}

/* Persons of whom each buys or does not, and nothing else tells: of a new one the shares are all that is
 * known. */
Test(new_levels, classes_of_a_level_that_nobody_saw_are_drawn_to_their_shares, .timeout = 300)
{
    enum { PERSONS = 40, EACH = 20, NEW = 60 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    static const char *const name[] = { "person", "height", "basket", "buys" };
    tab_engine e = { .arena = a };
    tab_table t[2];
    tab_column col[2][COLS];
    for (size_t which = 0; which < 2; which++) {
        tab_builder *b[COLS];
        size_t from = which == 0 ? 0 : PERSONS, persons = which == 0 ? PERSONS : NEW;
        for (size_t c = 0; c < COLS; c++)
            b[c] = tab_builder_new(a, tab_str_of(name[c]));
        for (size_t i = 0; i < persons * EACH; i++) {
            size_t who = from + i % persons;
            text(b[0], "person", who);
            tab_builder_number(b[1], 150 + 50 * draw(who, 11));
            tab_builder_number(b[2], draw(from + i, 12));
            tab_builder_text(b[3], draw(from * EACH + i, 13) < (draw(who, 14) < 0.4 ? 0.9 : 0.1)
                                       ? TAB_S("yes")
                                       : TAB_S("no"));
        }
        for (size_t c = 0; c < COLS; c++)
            cr_assert(tab_builder_finish(b[c], &col[which][c]));
        t[which] = (tab_table){ .id = TAB_S("t"), .rows = persons * EACH, .cols = COLS, .col = col[which] };
    }
    double loss[2];
    for (size_t served = 0; served < 2; served++) {
        tab_profile *p = NULL;
        TAB_AUTO(tab_fitted) *f = NULL;
        Tabella__Prediction *m = NULL;
        tab_fit_options o = { .base = "base-1",
                              .target = COLS - 1,
                              .task = TAB_TASK_CLASSIFICATION,
                              .split = served == 0 ? TAB_SPLIT_RANDOM : TAB_SPLIT_AUTO,
                              .served = true };
        cr_assert_eq(tab_profile_table(&e, &t[0], &p, NULL), TAB_OK);
        cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
        cr_assert_eq(tab_score_any(&e, f, &t[1], false, &m, NULL), TAB_OK);
        loss[served] = 0;
        for (size_t i = 0; i < NEW * EACH; i++) {
            size_t who = PERSONS + i % NEW;
            bool yes = draw(PERSONS * EACH + i, 13) < (draw(who, 14) < 0.4 ? 0.9 : 0.1);
            loss[served] -= log(m->results->probabilities[2 * i + yes]) / (NEW * EACH);
        }
    }
    cr_expect_lt(loss[0], 0.75, "the shares lose 0.68: %g", loss[0]);
    cr_expect_lt(loss[1], 0.75, "the shares lose 0.68: %g", loss[1]);
}
