/* Later rows may be of a class that no row before is of. How often that was so is told by the past, and as
 * much is left of each answer, in runs and at endpoints (decision 0540). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/ahead/novelty.h"
#include "services/inference/engine/predict/fitted.h"

enum { DAYS = 480, ASKED = 60, STAYS = 40 };

Test(novelty, is_the_share_of_rows_whose_class_was_not_there_yet)
{
    /* a class of ten days each: of rows asked from d days before, d in 10 are of a new one */
    enum { N = 400 };
    double pos[N], first[N / 10];
    uint32_t label[N];
    tab_novelty v;
    for (size_t i = 0; i < N; i++)
        pos[i] = (double)i, label[i] = (uint32_t)(i / 10);
    cr_assert(tab_novelty_of(pos, label, N, N, 20, N / 10, first, &v));
    for (size_t s = 0; s < v.steps; s++)
        cr_expect_float_eq(v.share[s], fmin(1, ceil(v.distance[s]) / 10), 0.06, "%g: %g", v.distance[s],
                           v.share[s]);
    cr_expect_gt(v.steps, 8);
    cr_expect_float_eq(tab_novelty_at(&v, 1000), 1, 1e-9, "farther than was told: as the farthest");
    /* up to a cut, classes after it have not occurred */
    cr_assert(tab_novelty_of(pos, label, N, 200, 20, N / 10, first, &v));
    cr_expect(isfinite(first[20]) && isinf(first[21]));
    /* two classes that were always there */
    for (size_t i = 0; i < N; i++)
        label[i] = i % 2;
    cr_assert(tab_novelty_of(pos, label, N, N, 20, 2, first, &v));
    cr_expect_eq(v.steps, 0);
    cr_expect_float_eq(tab_novelty_at(&v, 5), 0, 1e-12);
    /* few rows, and none */
    cr_assert(tab_novelty_of(pos, label, 3, N, 20, 2, first, &v));
    cr_assert(tab_novelty_of(pos, label, 0, N, 20, 2, first, &v));
    cr_expect_float_eq(tab_novelty_at(&v, 5), 0, 1e-12);
}

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

/* Which version runs on a day: each for STAYS days in the mean. */
static size_t version_of(size_t seed, size_t day)
{
    size_t v = 0;
    for (size_t i = 1; i <= day; i++)
        v += draw(i, 900 + seed) < 1.0 / STAYS;
    return v;
}

/* Days from..from + n with the running version; the days from `open` on lack it. */
static tab_table *versions(tab_arena *a, size_t seed, size_t from, size_t n, size_t open)
{
    static const char *const names[] = { "day", "load", "version" };
    tab_builder *b[3];
    tab_column *col = tab_arena_new_of(a, tab_column, 3);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    for (size_t c = 0; c < 3; c++)
        b[c] = tab_builder_new(a, tab_str_of(names[c]));
    for (size_t i = from; i < from + n; i++) {
        char day[32], version[32];
        snprintf(day, sizeof day, "%zu-%02zu-%02zu", 2020 + i / 336, 1 + i % 336 / 28, 1 + i % 28);
        snprintf(version, sizeof version, "version %zu", version_of(seed, i));
        tab_builder_text(b[0], tab_str_of(day));
        tab_builder_number(b[1], round(1000 * draw(i, 950 + seed)) / 10);
        if (i >= open)
            tab_builder_null(b[2]);
        else
            tab_builder_text(b[2], tab_str_of(version));
    }
    for (size_t c = 0; c < 3; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    *t = (tab_table){ .id = TAB_S("t"), .rows = n, .cols = 3, .col = col };
    return t;
}

static tab_fitted *fit(tab_arena *a, const tab_table *t, bool served)
{
    tab_engine e = { .arena = a };
    tab_profile *p = NULL;
    tab_fitted *f = NULL;
    tab_fit_options o = { .base = "base-1", .task = TAB_TASK_CLASSIFICATION, .target = 2, .served = served };
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    return f;
}

/* What is said of the answer, and of all known classes. */
static double sure(const Tabella__Results *r, size_t i, double *all)
{
    size_t k = r->n_probabilities / r->n_row;
    *all = 0;
    for (size_t c = 0; c < k; c++)
        *all += r->probabilities[i * k + c];
    return r->probabilities[i * k + r->label[i]];
}

Test(novelty, a_run_leaves_to_new_classes_what_the_past_says, .timeout = 900)
{
    double all = 0, one, hold = STAYS * (1 - exp(-(double)ASKED / STAYS)) / ASKED;
    enum { SEEDS = 2 };
    for (size_t seed = 0; seed < SEEDS; seed++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        tab_engine e = { .arena = a };
        Tabella__Prediction *m = NULL;
        TAB_AUTO(tab_fitted) *f = fit(a, versions(a, seed, 0, DAYS, DAYS - ASKED), false);
        cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
        const Tabella__Results *r = m->missing_target_results;
        cr_assert_eq(r->n_row, ASKED);
        cr_expect(strstr(m->split->reason, "no row before their cut") != NULL, "%s", m->split->reason);
        for (size_t i = 0; i < ASKED; i++) {
            sure(r, i, &one);
            all += one / (ASKED * SEEDS);
        }
        double near, far;
        sure(r, 0, &near), sure(r, ASKED - 1, &far);
        cr_expect(near > far + 0.1 && near <= 1 + 1e-9, "%g, %g", near, far);
    }
    cr_expect_float_eq(all, hold, 0.15, "said of known classes %g, true %g", all, hold);
}

Test(novelty, an_endpoint_leaves_to_new_classes_what_the_past_says, .timeout = 900)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    tab_engine e = { .arena = a };
    Tabella__Prediction *m = NULL;
    TAB_AUTO(tab_fitted) *f = fit(a, versions(a, 1, 0, DAYS - ASKED, DAYS), true);
    cr_assert_eq(tab_score(&e, f, versions(a, 1, DAYS - ASKED, ASKED, 0), false, &m, NULL), TAB_OK);
    double near, far;
    sure(m->results, 0, &near), sure(m->results, ASKED - 1, &far);
    cr_expect(near > 0.8 && near <= 1 + 1e-9 && far < 0.7 && far > 0.05, "%g, %g", near, far);
}
