/* What outcomes move: the state that an endpoint's answers follow, what its watch is told, and the columns
 * that an alert names. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/jobs/outcomes/calibration.h"
#include "services/jobs/outcomes/rows.h"
#include "services/jobs/outcomes/watch.h"

static counted number(double low, double median, double high, double y, uint64_t state)
{
    counted c = { .outcome = { .number = y } };
    c.receipt = (tab_receipt){ .task = TAB_RECEIPT_NUMBER, .followed = true, .state = state };
    c.receipt.own_low = c.receipt.low = low;
    c.receipt.own_median = c.receipt.median = median;
    c.receipt.own_high = c.receipt.high = high;
    for (size_t i = 0; i < TAB_RECEIPT_EXPERTS; i++)
        c.receipt.expert[i] = (float)i / 8 - 1;
    return c;
}

/* A number moves the state as the calibration itself does, by its place in the model's own quantiles, by what
 * lay below what was served, and by how many outcomes came since it was served. */
Test(live, a_number_moves_the_state_as_its_receipt_says)
{
    static live_calibration l;
    static tab_bands_state want;
    static const struct {
        double y, score;
        uint64_t served_at, delay;
        bool below[3];
    } cases[] = { { 1, -1, 40, 0, { true, true, true } },
                  { 3, 0, 40, 1, { false, true, true } },
                  { 5, 2, 42, 0, { false, false, false } },
                  { 4, 1, 40, 3, { false, false, true } },
                  { 1.5, -0.75, 99, 0, { false, true, true } } };
    calibration_begin(&l, TAB_RECEIPT_NUMBER, 40);
    tab_bands_begin(&want);
    for (size_t i = 0; i < 5; i++) {
        counted c = number(1, 3, 4, cases[i].y, cases[i].served_at);
        calibration_tell(&l, &c);
        tab_bands_tell(&want, (const float(*)[TAB_BANDS_EXPERTS])c.receipt.expert, cases[i].below,
                       cases[i].score, cases[i].delay);
        cr_expect_eq(l.moved, i + 1);
        cr_expect_arr_eq(&l.bands, &want, sizeof want, "%zu", i);
    }
    counted flat = number(3, 3, 3, 3, 40);
    calibration_tell(&l, &flat);
    cr_expect_eq(l.moved, 5, "an answer without a width says nothing");
    cr_expect_arr_eq(&l.bands, &want, sizeof want);
    calibration_begin(&l, TAB_RECEIPT_NUMBER, 7);
    cr_expect(l.moved == 0 && l.number == 7);
}

Test(live, a_class_moves_the_state_by_the_model_s_own_shares)
{
    static live_calibration l;
    static tab_shares want;
    static const uint64_t hash[] = { 11, 22 };
    counted c = { .outcome = { .hash = { 22 }, .hashes = 1 } };
    c.receipt = (tab_receipt){ .task = TAB_RECEIPT_CLASS, .followed = true, .classes = 2, .others = 3 };
    c.receipt.of[0].hash = 11, c.receipt.of[0].own = 0.5f, c.receipt.of[0].share = 0.9f;
    c.receipt.of[1].hash = 22, c.receipt.of[1].own = 0.25f, c.receipt.of[1].share = 0.05f;
    calibration_begin(&l, TAB_RECEIPT_CLASS, 0);
    tab_shares_begin(&want);
    const double share[] = { 0.5, 0.25 }, over[] = { 0.75, 0.5 };
    calibration_tell(&l, &c);
    tab_shares_tell(&want, &(tab_shares_row){ 2, hash, share, 3, 0.25 }, 1);
    cr_expect_arr_eq(&l.shares, &want, sizeof want);
    c.outcome.hash[0] = 99;
    calibration_tell(&l, &c);
    tab_shares_tell(&want, &(tab_shares_row){ 2, hash, share, 3, 0.25 }, 2);
    cr_expect_arr_eq(&l.shares, &want, sizeof want, "one that the receipt does not name");
    c.receipt.of[0].own = 0.75f, c.receipt.of[1].own = 0.5f;
    calibration_tell(&l, &c);
    tab_shares_tell(&want, &(tab_shares_row){ 2, hash, over, 3, 0 }, 2);
    cr_expect_arr_eq(&l.shares, &want, sizeof want, "never less than nothing is left");
    cr_expect_eq(l.moved, 3);
}

Test(live, outcomes_are_of_what_the_endpoint_answers_now)
{
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    tab_receipt r = { .task = TAB_RECEIPT_NUMBER, .config_revision = 3, .data_revision = 8 };
    e.config_revision = 3, e.data_revision = 8;
    cr_expect(outcome_is_current(&e, &r));
    e.config_revision = 4;
    cr_expect_not(outcome_is_current(&e, &r));
    e.config_revision = 3, e.data_revision = 9;
    cr_expect_not(outcome_is_current(&e, &r));
    e.data_revision = 8, r.task = TAB_RECEIPT_ANOMALY;
    cr_expect_not(outcome_is_current(&e, &r));
}

/* ---- the watch --------------------------------------------------------------------------------- */

Test(live, the_watch_is_told_whether_a_number_lay_within_its_interval)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    Tabella__Watch w;
    static const double y[] = { 1, 4, 2.5, 0.99, 4.01 };
    cr_assert(watch_begin(a, &w, &e, TAB_RECEIPT_NUMBER));
    for (size_t i = 0; i < 5; i++) {
        for (size_t k = 0; k < 2; k++) { /* so that no side begins anew */
            w.sides[k]->evidence = 1;
            w.sides[k]->rows = w.sides[k]->hits = 0, w.sides[k]->said = 0;
        }
        counted c = number(1, 3, 4, y[i], 0);
        cr_expect_null(watch_outcome(&w, &c, 0.95));
        cr_expect_eq(w.sides[0]->hits, i < 3, "%g", y[i]);
        cr_expect_eq(w.sides[1]->hits, i < 3, "%g", y[i]);
        cr_expect_float_eq(w.sides[0]->said, 0.8, 1e-12);
        cr_expect_float_eq(w.sides[1]->said, 0.95, 1e-12, "beyond what the report saw");
    }
}

Test(live, the_watch_is_told_whether_the_label_came_true)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    Tabella__Watch w;
    counted c = { .outcome = { .hash = { 11 }, .hashes = 1 } };
    c.receipt = (tab_receipt){ .task = TAB_RECEIPT_CLASS, .classes = 2 };
    c.receipt.of[0].hash = 11, c.receipt.of[0].share = 0.75f;
    c.receipt.of[1].hash = 22, c.receipt.of[1].share = 0.25f;
    cr_assert(watch_begin(a, &w, &e, TAB_RECEIPT_CLASS));
    (void)watch_outcome(&w, &c, 0.95);
    cr_expect_eq(w.sides[1]->hits, 1u);
    cr_expect_float_eq(w.sides[1]->said, 0.75, 1e-12);
    w.sides[1]->evidence = 1;
    c.outcome.hash[0] = 22;
    (void)watch_outcome(&w, &c, 0.95);
    cr_expect(w.sides[1]->rows == 2 && w.sides[1]->hits == 1, "the second likeliest is no hit");
}

Test(live, the_report_may_have_seen_more_rows_within_their_intervals)
{
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    Tabella__HeldOut h = TABELLA__HELD_OUT__INIT;
    Tabella__RegimeQuality r[3] = { TABELLA__REGIME_QUALITY__INIT, TABELLA__REGIME_QUALITY__INIT,
                                    TABELLA__REGIME_QUALITY__INIT },
                           *of[] = { &r[0], &r[1], &r[2] };
    cr_expect_float_eq(watch_coverage_told(&e), 0.8, 1e-12);
    e.held_out = &h;
    h.regimes = of;
    h.n_regimes = 3;
    r[0].coverage = 0.99; /* not told */
    r[1].has_coverage = r[2].has_coverage = true;
    r[1].coverage = 0.7, r[2].coverage = 0.6;
    cr_expect_float_eq(watch_coverage_told(&e), 0.8, 1e-12, "never less than was stated");
    r[2].coverage = 0.9;
    cr_expect_float_eq(watch_coverage_told(&e), 0.9, 1e-12);
}

Test(live, an_alert_names_the_five_columns_that_moved_most)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static uint64_t pinned[] = { 500, 500 }, served[8][2];
    static char name[8][2];
    Tabella__DriftColumn c[8], *of[8];
    Tabella__Drift d = TABELLA__DRIFT__INIT;
    Tabella__QualityAlert q = TABELLA__QUALITY_ALERT__INIT;
    cr_assert(watch_columns(a, NULL, &q));
    cr_expect_eq(q.n_columns, 0, "nothing was served");
    for (size_t i = 0; i < 8; i++) { /* of 400 rows 230 to 398 lie in the second bin */
        served[i][1] = 230 + 24 * i;
        served[i][0] = 400 - served[i][1];
        snprintf(name[i], sizeof name[i], "%zu", i);
        tabella__drift_column__init(&c[i]);
        c[i].n_pinned = c[i].n_served = 2;
        c[i].pinned = pinned, c[i].served = served[i];
        c[i].address = (ProtobufCBinaryData){ 1, (uint8_t *)name[i] };
        of[i] = &c[i];
    }
    c[6].address.len = 0; /* an address that nobody knows */
    d.columns = of;
    d.n_columns = 8;
    cr_assert(watch_columns(a, &d, &q));
    cr_assert_eq(q.n_columns, 5);
    static const char want[] = "75432";
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(q.columns[i].data[0], want[i], "%zu", i);
    d.n_columns = 2;
    q.n_columns = 0;
    cr_assert(watch_columns(a, &d, &q));
    cr_expect_eq(q.n_columns, 0, "none of these has moved");
    TAB_AUTO(tab_arena) *small = tab_arena_new(16);
    cr_expect_not(watch_columns(small, &d, &q), "out of memory");
}

/* ---- nothing to do asks nobody ------------------------------------------------------------------ */

/* Without a transaction: whatever asked the database would end the test. */
Test(live, outcomes_that_move_nothing_ask_nobody)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    tab_call call = { .org = "org_a", .arena = a };
    tab_error err = { 0 };
    uint64_t moved = 9;
    counted c[4];
    const counted *of[] = { &c[0], &c[1], &c[2], &c[3] };
    for (size_t i = 0; i < 4; i++)
        c[i] = number(1, 3, 4, 2, 0);
    e.config_revision = 5, e.data_revision = 6;
    c[0].receipt.config_revision = 4, c[0].receipt.data_revision = 6;
    c[1].receipt.config_revision = 5, c[1].receipt.data_revision = 7;
    c[2].receipt.task = TAB_RECEIPT_ANOMALY;
    c[2].receipt.config_revision = 5, c[2].receipt.data_revision = 6;
    c[3].receipt.config_revision = 4, c[3].receipt.data_revision = 6;
    cr_expect_eq(watch_outcomes(NULL, &call, &e, of, 4, &err), TAB_OK);
    c[3].receipt.config_revision = 5;
    c[3].receipt.followed = false; /* its answer followed none */
    cr_expect_eq(calibration_move(NULL, &call, &e, of, 4, &moved, &err), TAB_OK);
    cr_expect_eq(moved, 0);
    cr_expect_eq(calibration_move(NULL, &call, &e, of, 0, &moved, &err), TAB_OK);
}

Test(live, cells_that_are_not_kept_ask_nobody)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    Tabella__PinnedDataset d = TABELLA__PINNED_DATASET__INIT, *datasets[] = { &d };
    Tabella__HeldOut h = TABELLA__HELD_OUT__INIT;
    Tabella__ColumnRef t = TABELLA__COLUMN_REF__INIT;
    Tabella__OutcomeRow row = TABELLA__OUTCOME_ROW__INIT, *rows[] = { &row };
    Tabella__OutcomesRequest q = TABELLA__OUTCOMES_REQUEST__INIT;
    tab_call call = { .org = "org_a", .arena = a };
    tab_error err = { 0 };
    uint64_t kept = 9;
    counted c = number(1, 3, 4, 2, 0);
    const counted *of[] = { &c };
    q.rows = rows, q.n_rows = 1;
    d.table_id = (ProtobufCBinaryData){ 1, (uint8_t *)(uintptr_t) "t" };
    t.address = (ProtobufCBinaryData){ 3, (uint8_t *)(uintptr_t) "t.y" };
    h.target = &t, e.held_out = &h, e.datasets = datasets, e.n_datasets = 1;
    cr_expect_eq(outcome_rows_keep(NULL, &call, &e, &q, of, 1, 30, &kept, &err), TAB_OK);
    cr_expect_eq(kept, 0, "no cells were told");
    row.cells = (ProtobufCBinaryData){ 2, (uint8_t *)(uintptr_t) "{}" };
    kept = 9;
    cr_expect_eq(outcome_rows_keep(NULL, &call, &e, &q, of, 1, 0, &kept, &err), TAB_OK);
    cr_expect_eq(kept, 0, "none are kept for a day");
    e.held_out = NULL;
    kept = 9;
    cr_expect_eq(outcome_rows_keep(NULL, &call, &e, &q, of, 1, 30, &kept, &err), TAB_OK);
    cr_expect_eq(kept, 0, "it predicts no column");
    TAB_AUTO(tab_arena) *small = tab_arena_new(16);
    e.held_out = &h;
    call.arena = small;
    cr_expect_neq(outcome_rows_keep(NULL, &call, &e, &q, of, 1, 30, &kept, &err), TAB_OK, "out of memory");
}
