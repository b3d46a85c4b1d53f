/* Numbers that are missing because they lie beyond a limit (decision 0710). */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/features/normal.h"
#include "services/inference/engine/impute/fill_asked.h"
#include "services/inference/engine/predict/asked/truncated.h"
#include "services/inference/engine/predict/fitted_parts.h"

enum { ROWS = 800 };

static double bell(size_t i, size_t what)
{
    return tab_normal_quantile(tab_unit(tab_mix2(i, what)) * 0.999 + 0.0005);
}

/* Which rows lack their number: by the number itself, by what tells it, or by nothing. */
typedef enum { ABOVE, BELOW, BY_COLUMN, AT_RANDOM } way;

typedef struct {
    double y[ROWS], m[ROWS]; /* known */
    double asked[ROWS], truth[ROWS], score[ROWS];
    size_t n, k;
} rows;

static bool lacks(way w, double x, double y, size_t i)
{
    return w == ABOVE   ? y > 1.2
           : w == BELOW ? y < -1.2
                        : tab_unit(tab_mix2(i, 9)) < (w == BY_COLUMN ? 1 / (1 + exp(1 - 2 * x)) : 0.2);
}

/* y = x and an error of the same size. Locations are what a model that has the known rows says: of a number
 * that is cut off the mean below the limit. bound: y is a share, which has bounds of its own. */
static void draw(way w, bool bound, rows *r)
{
    r->n = r->k = 0;
    for (size_t i = 0; i < ROWS; i++) {
        double x = bell(i, 1), y = x + 0.7 * bell(i, 2), m = x, turn = w == BELOW ? -1 : 1;
        if (w == ABOVE || w == BELOW) {
            double a = (1.2 - turn * x) / 0.7;
            m = turn * (turn * x - 0.7 * tab_normal_density(a) / tab_normal_below(a));
        }
        bool gone = lacks(w, x, y, i);
        if (bound)
            y = 1 / (1 + exp(-2 * y)), m = 1 / (1 + exp(-2 * m));
        if (gone)
            r->asked[r->k] = m, r->truth[r->k++] = y;
        else
            r->m[r->n] = m, r->y[r->n++] = y;
    }
}

Test(truncated, known_numbers_that_stop_short_are_told_from_others)
{
    static rows r;
    const struct {
        const char *what;
        way w;
        bool bound, found, above;
    } of[] = { { "above a limit", ABOVE, false, true, true },
               { "below a limit", BELOW, false, true, false },
               { "by a column that tells the number", BY_COLUMN, false, false, false },
               { "shares, by such a column", BY_COLUMN, true, false, false },
               { "at random", AT_RANDOM, false, false, false },
               { "shares, at random", AT_RANDOM, true, false, false } };
    for (size_t c = 0; c < sizeof of / sizeof *of; c++) {
        tab_truncation t;
        draw(of[c].w, of[c].bound, &r);
        cr_assert(tab_truncation_find(r.y, r.m, r.n, r.asked, r.k, false, r.score, &t));
        cr_expect_eq(t.deviation > 0, of[c].found, "%s", of[c].what);
        if (!of[c].found || !(t.deviation > 0))
            continue;
        cr_expect_eq(t.above, of[c].above, "%s", of[c].what);
        double in = 0, last = -INFINITY;
        for (size_t i = 0; i < r.k; i++) {
            double low = tab_truncation_quantile(&t, r.score[i], 0.1),
                   high = tab_truncation_quantile(&t, r.score[i], 0.9);
            in += low <= r.truth[i] && r.truth[i] <= high;
            cr_expect(of[c].above ? low >= t.end : high <= t.end, "%s: %g to %g", of[c].what, low, high);
        }
        cr_expect(in / (double)r.k > 0.7 && in / (double)r.k < 0.9, "%s: %.2f", of[c].what, in / (double)r.k);
        for (double tau = 0.05; tau < 1; tau += 0.05) {
            double at = tab_truncation_quantile(&t, 0.3, tau);
            cr_expect_gt(at, last, "%s: quantiles rise", of[c].what);
            last = at;
        }
        double mean, deviation;
        tab_truncation_moments(&t, 0, &mean, &deviation);
        cr_expect(deviation > 0 && (of[c].above ? mean > t.end : mean < t.end));
        cr_expect_float_eq(tab_truncation_within(&t, 0, mean, 1e9), 1, 1e-12);
        cr_expect_lt(tab_truncation_within(&t, 0, mean, deviation / 2), 0.7);
    }
}

Test(truncated, few_rows_and_constant_ones_say_nothing)
{
    static rows r;
    tab_truncation t;
    draw(ABOVE, false, &r);
    cr_assert(tab_truncation_find(r.y, r.m, 40, r.asked, r.k, false, r.score, &t));
    cr_expect_eq(t.deviation, 0.0, "forty known rows");
    cr_assert(tab_truncation_find(r.y, r.m, r.n, r.asked, 9, false, r.score, &t));
    cr_expect_eq(t.deviation, 0.0, "nine missing ones");
    for (size_t i = 0; i < r.n; i++)
        r.y[i] = 3, r.m[i] = 3;
    cr_assert(tab_truncation_find(r.y, r.m, r.n, r.asked, r.k, false, r.score, &t));
    cr_expect_eq(t.deviation, 0.0, "numbers that are all alike");
}

/* A column that tells which rows are missing better than the limit does is why they are. */
Test(truncated, a_column_that_tells_better_is_the_reason)
{
    static rows r;
    static uint8_t tells[ROWS], noise[ROWS], *bin[] = { noise, tells };
    static bool known[ROWS], missing[ROWS];
    tab_truncation t;
    for (size_t i = 0; i < ROWS; i++) {
        tells[i] = (uint8_t)(i % 10), noise[i] = (uint8_t)(20 * tab_unit(tab_mix2(i, 5)));
        missing[i] = i % 10 > 7, known[i] = !missing[i];
    }
    tab_data d = { .n = 1, .rows = ROWS, .bin = bin };
    double entropy = -0.2 * log(0.2) - 0.8 * log(0.8);
    cr_expect_eq(tab_truncation_by_column(&d, known, missing), 0.0, "noise costs more than it tells");
    d.n = 2;
    double gain = tab_truncation_by_column(&d, known, missing);
    cr_expect(gain > 0.9 * entropy && gain < entropy, "%g of %g", gain, entropy);
    draw(ABOVE, false, &r);
    cr_assert(tab_truncation_find(r.y, r.m, r.n, r.asked, r.k, false, r.score, &t));
    cr_expect(t.gain > 0 && t.gain < gain, "%g %g", t.gain, gain);
}

/* Of counts some of those at the end may be missing: the tail begins half a step inside. */
Test(truncated, of_whole_numbers_the_end_itself_may_be_missing)
{
    static rows r;
    tab_truncation t, u;
    draw(ABOVE, false, &r);
    cr_assert(tab_truncation_find(r.y, r.m, r.n, r.asked, r.k, false, r.score, &t));
    cr_assert(tab_truncation_find(r.y, r.m, r.n, r.asked, r.k, true, r.score, &u));
    cr_expect_float_eq(t.end - u.end, 0.5, 1e-12);
}

Test(truncated, cells_are_filled_beyond_the_limit_and_as_surely_as_that_can_be)
{
    static rows r;
    static double y[ROWS], at[ROWS], answer[ROWS];
    static float sure[ROWS];
    static bool open[ROWS];
    static const tab_data none;
    draw(ABOVE, false, &r);
    for (size_t i = 0; i < r.n; i++)
        y[i] = r.y[i], at[i] = answer[i] = r.m[i], sure[i] = 0.9F;
    for (size_t i = 0; i < r.k; i++)
        y[r.n + i] = NAN, at[r.n + i] = answer[r.n + i] = r.asked[i], sure[r.n + i] = 0.9F,
                open[r.n + i] = true;
    cr_assert(tab_fill_cut_off(&none, y, at, open, ROWS, false, 1.2, answer, sure));
    double said = 0, right = 0;
    for (size_t i = 0; i < r.k; i++)
        said += (double)sure[r.n + i], right += fabs(answer[r.n + i] - r.truth[i]) <= 0.6;
    cr_expect_float_eq(said / (double)r.k, right / (double)r.k, 0.1, "%.2f %.2f", said / (double)r.k,
                       right / (double)r.k);
    cr_expect_float_eq(answer[0], r.m[0], 1e-12, "known cells stay");
}

/* A table of three columns, whose target is missing above a limit, through a whole run. */
Test(truncated, a_run_says_so_and_predicts_beyond)
{
    tab_arena *a = tab_arena_new((size_t)2 << 30);
    tab_engine e = { .arena = a };
    tab_builder *b[] = { tab_builder_new(a, TAB_S("length")), tab_builder_new(a, TAB_S("width")),
                         tab_builder_new(a, TAB_S("y")) };
    static double truth[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        double x = bell(i, 1), z = bell(i, 3);
        truth[i] = 2 * x + z + bell(i, 2);
        tab_builder_number(b[0], x);
        tab_builder_number(b[1], z);
        if (truth[i] > 2)
            tab_builder_null(b[2]);
        else
            tab_builder_number(b[2], truth[i]);
    }
    tab_column col[3];
    for (size_t c = 0; c < 3; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = 3, .col = col };
    tab_profile *p = NULL;
    Tabella__Prediction *q = NULL;
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_fit_options o = { .base = "base-1", .target = 2, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &q, NULL), TAB_OK);
    const Tabella__Results *r = q->missing_target_results;
    double in = 0;
    for (size_t i = 0; i < r->n_row; i++) {
        const double *at = r->quantiles + i * TAB_LEVELS;
        in += at[1] <= truth[r->row[i]] && truth[r->row[i]] <= at[TAB_LEVELS - 2];
    }
    cr_expect(in / (double)r->n_row > 0.7, "%.2f", in / (double)r->n_row);
    cr_assert_not_null(tab_fitted_cut_off(f));
    cr_expect_not_null(strstr(tab_fitted_cut_off(f), "above"), "%s", tab_fitted_cut_off(f));
    for (size_t k = 0; k < q->n_regimes; k++)
        cr_expect_not(q->regimes[k]->has_coverage, "no known row tells how often such intervals hold");
    tab_arena_free(a);
}
