/* How many rows are called anomalies: as many as the scores set apart, none where they set none apart, or
 * what the caller asked for. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/anomaly/anomaly_cut.h"
#include "services/inference/engine/predict/fitted.h"

enum { MOST = 8000 };

static float score_of(double z)
{
    return (float)(0.5 + 0.5 * z / sqrt(1 + z * z));
}

/* rows whose heights fall off exponentially, `planted` of them far up; rising. */
static void fill(float *score, size_t rows, size_t planted, double far)
{
    for (size_t i = 0; i < rows; i++) {
        double u = tab_unit(tab_mix2(i, 7));
        score[i] = score_of(i < planted ? far + u : -0.8 - 0.7 * log(1 - u));
    }
    qsort(score, rows, sizeof *score, tab_ascending_float);
}

static size_t flagged(tab_anomaly_cut cut, const float *score, size_t rows)
{
    double threshold, share;
    size_t n = 0;
    tab_anomaly_cut_find(cut, score, rows, &threshold, &share);
    for (size_t i = 0; i < rows; i++)
        n += (double)score[i] >= threshold;
    cr_expect_float_eq(share, (double)n / (double)rows, 1e-12);
    return n;
}

Test(anomaly_cut, follows_the_scores)
{
    static const size_t planted[] = { 0, 8, 80, 400 };
    static float score[MOST];
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        fill(score, MOST, planted[i], 5);
        size_t n = flagged((tab_anomaly_cut){ 0 }, score, MOST);
        cr_expect(n >= planted[i] && n <= planted[i] + planted[i] / 2 + 8, "%zu planted, %zu flagged",
                  planted[i], n);
    }
}

Test(anomaly_cut, rows_alike_stand_on_one_side)
{
    static float score[1000];
    for (size_t i = 0; i < 1000; i++)
        score[i] = score_of(i < 620 ? -0.78 : 1.27);
    cr_expect_eq(flagged((tab_anomaly_cut){ 0 }, score, 1000), 0);
    cr_expect_eq(flagged((tab_anomaly_cut){ TAB_CUT_SHARE, 0.05 }, score, 1000), 0);
    for (size_t i = 0; i < 1000; i++)
        score[i] = 0.5F;
    cr_expect_eq(flagged((tab_anomaly_cut){ 0 }, score, 1000), 0);
    cr_expect_eq(flagged((tab_anomaly_cut){ 0 }, score, 1), 0);
    cr_expect_eq(flagged((tab_anomaly_cut){ 0 }, score, 2), 0);
}

Test(anomaly_cut, is_what_the_caller_says)
{
    static float score[MOST];
    fill(score, MOST, 80, 12);
    cr_expect_eq(flagged((tab_anomaly_cut){ TAB_CUT_SHARE, 0 }, score, MOST), 0);
    cr_expect_eq(flagged((tab_anomaly_cut){ TAB_CUT_SHARE, 0.25 }, score, MOST), MOST / 4);
    cr_expect_eq(flagged((tab_anomaly_cut){ TAB_CUT_SHARE, 0.5 }, score, MOST), MOST / 2);
    cr_expect_eq(flagged((tab_anomaly_cut){ TAB_CUT_THRESHOLD, 0 }, score, MOST), MOST);
    cr_expect_eq(flagged((tab_anomaly_cut){ TAB_CUT_THRESHOLD, 1 }, score, MOST), 0);
    cr_expect_eq(flagged((tab_anomaly_cut){ TAB_CUT_THRESHOLD, (double)score_of(11.9) }, score, MOST), 80);
}

/* 2,000 rows of sales, of which twenty are a hundred times too high. */
Test(anomaly_cut, of_a_table, .timeout = 300)
{
    enum { ROWS = 2000, COLS = 4 };
    static const char *const names[COLS] = { "region", "quantity", "price", "total" };
    static const char *const regions[] = { "north", "east", "south", "west" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_column col[COLS];
    tab_builder *b[COLS];
    for (size_t j = 0; j < COLS; j++)
        b[j] = tab_builder_new(a, tab_str_of(names[j]));
    for (size_t i = 0; i < ROWS; i++) {
        double quantity = 1 + floor(9 * tab_unit(tab_mix2(i, 1)));
        double price = round(100 * exp(3 + 0.6 * (tab_unit(tab_mix2(i, 2)) + tab_unit(tab_mix2(i, 3)) +
                                                  tab_unit(tab_mix2(i, 4)) - 1.5))) /
                       100;
        tab_builder_text(b[0], tab_str_of(regions[tab_mix2(i, 5) % 4]));
        tab_builder_number(b[1], quantity);
        tab_builder_number(b[2], price);
        tab_builder_number(b[3], quantity * price * (i % 100 == 7 ? 100 : 1));
    }
    for (size_t j = 0; j < COLS; j++)
        cr_assert(tab_builder_finish(b[j], &col[j]));
    tab_table t = { .id = TAB_S("sales"), .rows = ROWS, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    TAB_AUTO(tab_fitted) *f = NULL;
    Tabella__Prediction *m;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    tab_fit_options o = { .target = COLS, .task = TAB_TASK_ANOMALY };
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    size_t n = 0, right = 0;
    for (size_t i = 0; i < ROWS; i++) {
        bool hit = m->results->anomaly_score[i] >= m->threshold;
        n += hit, right += hit && i % 100 == 7;
    }
    cr_expect(n >= 18 && n <= 26 && right >= 18, "%zu flagged, %zu of 20", n, right);
}
