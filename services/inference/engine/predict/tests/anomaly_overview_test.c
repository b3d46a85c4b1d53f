/* What is said of a whole table's scores: the count, the bins, the rows that score most. */
#include <criterion/criterion.h>

#include "services/inference/engine/predict/anomaly/anomaly_overview.h"

enum { ROWS = 1000 };

Test(anomaly_overview, the_highest_scores_come_first_and_of_equal_ones_the_first_row)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Results r = TABELLA__RESULTS__INIT;
    Tabella__Prediction p = TABELLA__PREDICTION__INIT;
    uint32_t row[ROWS];
    double score[ROWS];
    Tabella__ResultReasons reason[ROWS], *reasons[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        row[i] = 5000 + i;
        score[i] = (i * 7 % 100) / 100.0; /* each value ten times */
        reasons[i] = &reason[i];
    }
    score[123] = 1;
    r.n_row = r.n_anomaly_score = r.n_reasons = ROWS;
    r.row = row, r.anomaly_score = score, r.reasons = reasons;
    p.results = &r;
    p.threshold = 0.9900004; /* written as 0.99, as the scores are */
    cr_assert(tab_anomaly_overview(a, &p));
    cr_expect_eq(p.anomalies, 11);
    cr_assert_eq(p.n_score_bins, TAB_ANOMALY_BINS);
    uint64_t sum = 0;
    for (size_t i = 0; i < p.n_score_bins; i++)
        sum += p.score_bins[i];
    cr_expect_eq(sum, ROWS);
    cr_expect_eq(p.score_bins[TAB_ANOMALY_BINS - 1], 51, "0.95 to 0.99, and the one of 1");
    const Tabella__Results *m = p.most_unusual;
    cr_assert_eq(m->n_row, TAB_ANOMALY_SHOWN);
    cr_expect_eq(m->row[0], 5123);
    cr_expect(m->reasons[0] == &reason[123]);
    for (size_t i = 1; i < m->n_row; i++)
        cr_expect(m->anomaly_score[i] == 0.99 && (i == 1 || m->row[i] > m->row[i - 1]));
}

Test(anomaly_overview, a_table_of_few_rows_shows_all_of_them)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Results r = TABELLA__RESULTS__INIT;
    Tabella__Prediction p = TABELLA__PREDICTION__INIT;
    uint32_t row[] = { 0, 1, 2 };
    double score[] = { 0.2, 0.9, 0.5 };
    r.n_row = r.n_anomaly_score = 3;
    r.row = row, r.anomaly_score = score;
    p.results = &r;
    p.threshold = 0.95;
    cr_assert(tab_anomaly_overview(a, &p));
    cr_expect_eq(p.anomalies, 0);
    cr_assert_eq(p.most_unusual->n_row, 3);
    cr_expect(p.most_unusual->row[0] == 1 && p.most_unusual->row[1] == 2 && p.most_unusual->row[2] == 0);
    cr_expect_eq(p.most_unusual->n_reasons, 0);
}
