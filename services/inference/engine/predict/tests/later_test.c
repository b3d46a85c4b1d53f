/* An endpoint answers rows that come later by the past of their series: walks from their last value, with
 * intervals that grow as a walk does; whatever rows are served beside them (decision 0400). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/ahead/ahead_parts.h"
#include "services/inference/engine/predict/fitted.h"

enum { COLS = 3, DAYS = 360, AHEAD = 60, SHOPS = 4, SEEDS = 5 };

static double bell(size_t i, size_t what)
{
    double s = -6;
    for (size_t k = 0; k < 12; k++)
        s += tab_unit(tab_mix2(i, 100 * what + k));
    return s;
}

static double step_of(size_t shop)
{
    return pow(10, (double)shop); /* series of unlike scales */
}

/* Walks of shops by day, or trends: rows of days from..from + n. */
static tab_table *walks(tab_arena *a, size_t seed, size_t from, size_t n, double trend, double **truth)
{
    static const char *const names[COLS] = { "day", "shop", "level" };
    tab_builder *b[COLS];
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    double y[SHOPS];
    *truth = tab_arena_new_of(a, double, n *SHOPS + 1);
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(names[c]));
    for (size_t k = 0; k < SHOPS; k++)
        y[k] = 300 * step_of(k);
    for (size_t i = 0, at = 0; i < from + n; i++)
        for (size_t k = 0; k < SHOPS; k++) {
            char day[32], shop[16];
            double noise = bell(i * SHOPS + k, seed);
            y[k] += step_of(k) * (trend > 0 ? trend : noise);
            if (i < from)
                continue;
            snprintf(day, sizeof day, "%zu-%02zu-%02zu", 2020 + i / 336, 1 + i % 336 / 28, 1 + i % 28);
            snprintf(shop, sizeof shop, "shop %c", (char)('a' + k));
            (*truth)[at] = y[k] + (trend > 0 ? step_of(k) * noise : 0);
            tab_builder_text(b[0], tab_str_of(day));
            tab_builder_text(b[1], tab_str_of(shop));
            tab_builder_number(b[2], round(1000 * (*truth)[at++]) / 1000);
        }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    *t = (tab_table){ .id = TAB_S("t"), .rows = n * SHOPS, .cols = COLS, .col = col };
    return t;
}

static tab_fitted *fit(tab_arena *a, const tab_table *t)
{
    tab_engine e = { .arena = a };
    tab_profile *p = NULL;
    tab_fitted *f = NULL;
    tab_fit_options o = { .base = "base-1", .task = TAB_TASK_REGRESSION, .target = COLS - 1, .served = true };
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    return f;
}

static const Tabella__Prediction *serve(tab_arena *a, const tab_fitted *f, const tab_table *t)
{
    tab_engine e = { .arena = a };
    Tabella__Prediction *m = NULL;
    cr_assert_eq(tab_score(&e, f, t, false, &m, NULL), TAB_OK);
    return m;
}

static double width(const Tabella__Prediction *m, size_t row)
{
    const double *q = m->results->quantiles + row * m->n_quantile_levels;
    return q[m->n_quantile_levels - 2] - q[1];
}

Test(later, walks_are_answered_from_their_last_value_and_intervals_grow, .timeout = 900)
{
    double in = 0, error = 0, naive = 0, n = 0;
    for (size_t seed = 1; seed <= SEEDS; seed++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        double *known, *truth;
        const tab_table *labelled = walks(a, seed, 0, DAYS, 0, &known);
        TAB_AUTO(tab_fitted) *f = fit(a, labelled);
        const Tabella__Prediction *m = serve(a, f, walks(a, seed, DAYS, AHEAD, 0, &truth));
        cr_assert_eq(m->results->n_regime, AHEAD * SHOPS);
        for (size_t r = 0; r < AHEAD * SHOPS; r++) {
            const double *q = m->results->quantiles + r * m->n_quantile_levels;
            double unit = step_of(r % SHOPS), last = known[(DAYS - 1) * SHOPS + r % SHOPS];
            cr_expect_eq(m->results->regime[r], 1);
            in += truth[r] >= q[1] && truth[r] <= q[m->n_quantile_levels - 2];
            error += (m->results->value[r] - truth[r]) * (m->results->value[r] - truth[r]) / unit / unit;
            naive += (last - truth[r]) * (last - truth[r]) / unit / unit;
            n++;
        }
        for (size_t k = 0; k < SHOPS; k++)
            cr_expect_gt(width(m, (AHEAD - 1) * SHOPS + k), 2 * width(m, k), "shop %zu", k);
    }
    cr_expect(in / n > 0.7 && in / n < 0.93, "covered %g", in / n);
    cr_expect_lt(error, 1.3 * naive, "%g of the last value's error", sqrt(error / naive));
}

Test(later, a_trend_goes_on_and_its_intervals_stay_narrow, .timeout = 600)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    double *known, *truth, error = 0, wide = 0;
    TAB_AUTO(tab_fitted) *f = fit(a, walks(a, 3, 0, DAYS, 0.2, &known));
    const Tabella__Prediction *m = serve(a, f, walks(a, 3, DAYS, AHEAD, 0.2, &truth));
    for (size_t r = 0; r < AHEAD * SHOPS; r++) {
        double unit = step_of(r % SHOPS), off = (m->results->value[r] - truth[r]) / unit;
        error += off * off / (AHEAD * SHOPS);
        wide += width(m, r) / unit / (AHEAD * SHOPS);
    }
    cr_expect_lt(sqrt(error), 2, "noise is 1: %g", sqrt(error));
    cr_expect_lt(wide, 6, "80%% of the noise is 2.6 wide: %g", wide);
}

/* Days as far ahead as one and a half times what is known: a trend of 0.2 a day, noise of 1. */
Test(later, a_trend_goes_on_far_beyond_what_was_judged, .timeout = 600)
{
    enum { KNOWN = 160, FAR = 240 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    double *known, *truth, error = 0, in = 0;
    TAB_AUTO(tab_fitted) *f = fit(a, walks(a, 4, 0, KNOWN, 0.2, &known));
    const Tabella__Prediction *m = serve(a, f, walks(a, 4, KNOWN, FAR, 0.2, &truth));
    for (size_t r = 0; r < FAR * SHOPS; r++) {
        double off = (m->results->value[r] - truth[r]) / step_of(r % SHOPS);
        const double *q = m->results->quantiles + r * m->n_quantile_levels;
        error += off * off / (FAR * SHOPS);
        in += (truth[r] >= q[1] && truth[r] <= q[m->n_quantile_levels - 2]) / (double)(FAR * SHOPS);
    }
    cr_expect_lt(sqrt(error), 6, "the last value is off by 28: %g", sqrt(error));
    cr_expect_geq(in, 0.7, "covered %g", in);
}

static tab_ahead_growth grown(double near, double middle, double far, double own)
{
    tab_ahead_square v[] = { { 5, near, own }, { 20, middle, own }, { 80, far, own } };
    return tab_ahead_grows(v, 1, 3, 100, 500);
}

static double share_of(const tab_ahead_growth *g, double d)
{
    return g->flat + g->slope * d + g->curve * d * d;
}

/* What is expected of errors five times as far as any that were judged. */
Test(later, errors_grow_beyond_what_was_judged_as_far_as_the_past_does_not_exclude_it)
{
    tab_ahead_growth walk = grown(5, 20, 80, 30), steady = grown(2, 2, 2, 30), few = grown(2, 2, 2, 2);
    tab_ahead_growth none = tab_ahead_grows(NULL, 0, 0, 100, 500);
    cr_expect_float_eq(share_of(&walk, 100), 1, 0.05);
    cr_expect_gt(share_of(&walk, 500), 5);
    cr_expect_lt(share_of(&steady, 500), 2.5, "%g", share_of(&steady, 500));
    cr_expect_gt(share_of(&few, 500), 1.5 * share_of(&steady, 500), "two errors exclude little");
    cr_expect_gt(share_of(&none, 500), share_of(&few, 500));
    cr_expect_gt(share_of(&walk, 5) / share_of(&walk, 100), 0.03);
    cr_expect_lt(share_of(&walk, 5) / share_of(&walk, 100), 0.12);
}

/* Rows answered alone, and those among the fitted times. */
Test(later, a_row_is_answered_alike_whatever_is_beside_it, .timeout = 600)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    double *known, *truth;
    TAB_AUTO(tab_fitted) *f = fit(a, walks(a, 1, 0, DAYS, 0, &known));
    const Tabella__Prediction *all = serve(a, f, walks(a, 1, DAYS - 2, 5, 0, &truth));
    for (size_t i = 0; i < 5; i++) {
        const Tabella__Prediction *own = serve(a, f, walks(a, 1, DAYS - 2 + i, 1, 0, &truth));
        cr_expect_eq(own->results->n_regime, i < 2 ? 0 : SHOPS, "day %zu", i);
        size_t levels = own->n_quantile_levels;
        for (size_t k = 0; k < SHOPS; k++) {
            cr_expect_eq(own->results->value[k], all->results->value[i * SHOPS + k]);
            cr_expect_eq(memcmp(own->results->quantiles + k * levels,
                                all->results->quantiles + (i * SHOPS + k) * levels, levels * sizeof(double)),
                         0);
        }
    }
}

/* A shop that nobody saw, a time that cannot be read. */
Test(later, what_is_not_known_is_answered_by_what_is, .timeout = 600)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    double *known;
    TAB_AUTO(tab_fitted) *f = fit(a, walks(a, 2, 0, DAYS, 0, &known));
    static const char *const day[] = { "2021-02-20", "2021-02-20", "9021-02-20" }, *const shop[] = {
        "new", NULL, "shop a"
    };
    tab_builder *b[COLS];
    tab_column col[COLS];
    static const char *const names[COLS] = { "day", "shop", "level" };
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(names[c]));
    for (size_t i = 0; i < 3; i++) {
        tab_builder_text(b[0], tab_str_of(day[i]));
        if (shop[i] == NULL)
            tab_builder_null(b[1]);
        else
            tab_builder_text(b[1], tab_str_of(shop[i]));
        tab_builder_null(b[2]);
    }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = 3, .cols = COLS, .col = col };
    const Tabella__Prediction *m = serve(a, f, &t);
    for (size_t i = 0; i < 3; i++) {
        cr_expect(isfinite(m->results->value[i]) && isfinite(m->results->std[i]), "row %zu", i);
        cr_expect(isfinite(width(m, i)) && width(m, i) > 0, "row %zu", i);
    }
}
