/* What outcomes come to, each figure worked by hand: numbers, classes and anomalies, and what is refused of
 * stored sums. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "common/base/proto.h"
#include "services/jobs/outcomes/calibration.h"
#include "services/jobs/outcomes/quality.h"
#include "services/jobs/outcomes/rows.h"
#include "services/jobs/outcomes/watch.h"

static void add_number(tab_arena *a, Tabella__OutcomeDay *d, double y, int64_t delay_us)
{
    tab_receipt r = { .task = TAB_RECEIPT_NUMBER,
                      .at_us = 1,
                      .value = 10,
                      .low = 8,
                      .median = 10.5,
                      .high = 14,
                      .config_revision = 2,
                      .data_revision = 7 };
    outcome o = { .number = y };
    cr_assert(quality_add(a, d, &r, &o, delay_us));
}

static void expect_numbers(const Tabella__OutcomeSums *s, uint64_t times)
{
    double n = (double)times;
    cr_expect_eq(s->rows, 5 * times);
    cr_expect_float_eq(s->mean, 11, 1e-12);
    cr_expect_float_eq(s->squares, 46.5 * n, 1e-9);
    cr_expect_float_eq(s->abs_error, 14 * n, 1e-9);
    cr_expect_float_eq(s->sq_error, 51.5 * n, 1e-9);
    cr_expect_float_eq(s->width, 30 * n, 1e-9);
    cr_expect_eq(s->inside, 3 * times);
    cr_expect_eq(s->at_most_low, 2 * times);
    cr_expect_eq(s->at_most_median, 3 * times);
    cr_expect_eq(s->at_most_high, 4 * times);
    cr_expect_float_eq(s->delay_s, 3.5 * n, 1e-9);
}

Test(quality_sums, of_numbers_are_as_worked_by_hand)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    Tabella__OutcomeDay *d = quality_day(a, 5, TAB_RECEIPT_NUMBER, NULL);
    static const double y[] = { 8, 10.5, 14, 15, 7.5 };
    static const int64_t delay[] = { 1500000, 2000000, 0, -1, -9000000 }; /* before its answer: at once */
    for (size_t i = 0; i < 5; i++)
        add_number(a, d, y[i], delay[i]);
    cr_expect(d->day == 5 && d->task == TAB_RECEIPT_NUMBER);
    expect_numbers(d->sums, 1);
    cr_assert_eq(d->n_slices, 2);
    cr_expect_str_eq(d->slices[0]->slice, "regime = alike");
    cr_expect_str_eq(d->slices[1]->slice, "revision = 2.7");
    expect_numbers(d->slices[1]->sums, 1);
    Tabella__OutcomeDay *twice = quality_day(a, 5, TAB_RECEIPT_NUMBER, d);
    cr_assert(quality_merge(a, twice, d));
    expect_numbers(twice->sums, 2);
    expect_numbers(twice->slices[0]->sums, 2);
    cr_expect_eq(twice->n_slices, 2);
    cr_assert(quality_merge(a, twice, quality_day(a, 5, TAB_RECEIPT_NUMBER, NULL)));
    expect_numbers(twice->sums, 2); /* of nothing */
}

static tab_receipt class_receipt(float first, uint32_t others, double rest)
{
    tab_receipt r = { .task = TAB_RECEIPT_CLASS, .at_us = 1, .classes = 2, .others = others, .rest = rest };
    r.of[0].hash = 11, r.of[0].share = first;
    r.of[1].hash = 22, r.of[1].share = 0.125f;
    return r;
}

Test(quality_sums, of_classes_are_as_worked_by_hand)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    Tabella__OutcomeDay *d = quality_day(a, 5, TAB_RECEIPT_CLASS, NULL);
    const struct {
        tab_receipt r;
        outcome o;
    } rows[] = {
        { class_receipt(0.5f, 4, 0.375), { .hash = { 11 }, .hashes = 1 } },     /* the label: p 0.5, bin 5 */
        { class_receipt(0.5f, 4, 0.375), { .hash = { 33, 22 }, .hashes = 2 } }, /* by its other name: 0.125 */
        { class_receipt(0.5f, 3, 0.375), { .hash = { 44 }, .hashes = 1 } }, /* one of three others: 0.125 */
        { class_receipt(0.75f, 0, 0), { .hash = { 44 }, .hashes = 1 } },    /* none: a millionth */
        { class_receipt(1, 0, 0), { .hash = { 11 }, .hashes = 1 } },        /* the last bin holds 1 */
        { class_receipt(1.25f, 0, 0), { .hash = { 11 }, .hashes = 1 } },    /* no more than 1 is said */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert(quality_add(a, d, &rows[i].r, &rows[i].o, 0));
    const Tabella__OutcomeSums *s = d->sums;
    cr_expect_eq(s->rows, 6);
    cr_expect_eq(s->hits, 3);
    cr_expect_float_eq(s->log_loss, log(2) + 2 * log(8) + 6 * log(10), 1e-9);
    cr_expect_float_eq(s->confidence, 3 * 0.5 + 0.75 + 2, 1e-9);
    cr_expect_float_eq(s->variance, 3 * 0.25 + 0.1875, 1e-9);
    cr_expect(s->judged[5] == 3 && s->judged[7] == 1 && s->judged[9] == 2 && s->judged[0] == 0);
    cr_expect(s->was[5] == 1 && s->was[7] == 0 && s->was[9] == 2);
    cr_expect_float_eq(s->said[5], 1.5, 1e-9);
    cr_expect_float_eq(s->said[9], 2, 1e-9);
    cr_assert_eq(s->n_known, 3);
    cr_assert_eq(s->n_count, 3);
    cr_expect(s->known[0] == 11 && s->count[0] == 3 && s->known[1] == 22 && s->count[1] == 1);
    cr_expect(s->known[2] == 44 && s->count[2] == 2);
    Tabella__OutcomeDay *twice = quality_day(a, 5, TAB_RECEIPT_CLASS, d);
    cr_assert(quality_merge(a, twice, d));
    cr_expect_eq(twice->sums->hits, 6);
    cr_expect_float_eq(twice->sums->log_loss, 2 * s->log_loss, 1e-9);
    cr_expect_float_eq(twice->sums->confidence, 2 * s->confidence, 1e-9);
    cr_expect_float_eq(twice->sums->variance, 2 * s->variance, 1e-9);
    cr_expect(twice->sums->judged[5] == 6 && twice->sums->was[9] == 4 && twice->sums->count[0] == 6);
    cr_expect_float_eq(twice->sums->said[5], 3, 1e-9);
}

Test(quality_sums, of_anomalies_count_what_was_flagged_what_was_one_and_both)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    Tabella__OutcomeDay *d = quality_day(a, 5, TAB_RECEIPT_ANOMALY, NULL);
    for (int i = 0; i < 10; i++) {
        tab_receipt r = { .task = TAB_RECEIPT_ANOMALY, .at_us = 1, .flagged = i < 4, .regime = 3 };
        outcome o = { .number = i >= 3 && i < 8 };
        cr_assert(quality_add(a, d, &r, &o, 0));
    }
    Tabella__OutcomeDay *twice = quality_day(a, 5, TAB_RECEIPT_ANOMALY, d);
    cr_assert(quality_merge(a, twice, d));
    cr_expect(d->sums->flagged == 4 && d->sums->anomalies == 5 && d->sums->caught == 1 &&
              d->sums->rows == 10);
    cr_expect(twice->sums->flagged == 8 && twice->sums->anomalies == 10 && twice->sums->caught == 2);
    cr_expect_str_eq(d->slices[0]->slice, "regime = out_of_range");
}

Test(quality_sums, classes_and_slices_are_bounded)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    Tabella__OutcomeDay *d = quality_day(a, 5, TAB_RECEIPT_CLASS, NULL);
    for (uint32_t i = 0; i < QUALITY_CLASSES + 5; i++) {
        tab_receipt r = class_receipt(0.5f, 1, 0.375);
        outcome o = { .hash = { 1000 + i }, .hashes = 1 };
        r.config_revision = i;
        cr_assert(quality_add(a, d, &r, &o, 0));
    }
    cr_expect_eq(d->sums->n_known, QUALITY_CLASSES);
    cr_expect_eq(d->sums->known[QUALITY_CLASSES - 1], 1000 + QUALITY_CLASSES - 1);
    cr_expect_eq(d->sums->rows, QUALITY_CLASSES + 5);
    cr_expect_eq(d->n_slices, QUALITY_OWN);
    cr_expect(quality_sound(d), "as many as there may be");
    tab_receipt last = class_receipt(0.5f, 1, 0.375);
    outcome known = { .hash = { 1000 + QUALITY_CLASSES - 1 }, .hashes = 1 };
    cr_assert(quality_add(a, d, &last, &known, 0));
    cr_expect_eq(d->sums->count[QUALITY_CLASSES - 1], 2, "the last one that is known goes on");
}

Test(quality_sums, stored_sums_of_other_sizes_are_not_sound)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    Tabella__OutcomeDay *d = quality_day(a, 5, TAB_RECEIPT_NUMBER, NULL);
    add_number(a, d, 1, 0);
    cr_assert(quality_sound(d));
    size_t *const sizes[] = { &d->sums->n_said, &d->sums->n_was, &d->sums->n_judged, &d->sums->n_known,
                              &d->slices[1]->sums->n_was };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ++*sizes[i];
        cr_expect_not(quality_sound(d), "%zu", i);
        --*sizes[i];
    }
    d->sums->n_known = d->sums->n_count = QUALITY_CLASSES + 1;
    cr_expect_not(quality_sound(d));
    d->sums->n_known = d->sums->n_count = QUALITY_CLASSES;
    cr_expect(quality_sound(d));
    d->task = 0;
    cr_expect_not(quality_sound(d));
    d->task = TAB_RECEIPT_ANOMALY + 1;
    cr_expect_not(quality_sound(d));
    d->task = TAB_RECEIPT_ANOMALY;
    cr_expect(quality_sound(d));
    d->n_slices = QUALITY_SLICES + 1;
    cr_expect_not(quality_sound(d));
    d->n_slices = 2;
    d->sums = NULL;
    cr_expect_not(quality_sound(d));
}

/* ---- what an outcome is ----------------------------------------------------------------------- */

static const char *reads(tab_receipt_task task, uint32_t kind, double number, const char *text, outcome *o)
{
    Tabella__OutcomeRow row = TABELLA__OUTCOME_ROW__INIT;
    tab_receipt r = { .task = task };
    row.kind = kind;
    row.number = number;
    row.text = (ProtobufCBinaryData){ strlen(text), (uint8_t *)(uintptr_t)text };
    return outcome_read(&r, &row, o);
}

Test(quality_sums, an_outcome_is_read_as_its_task_has_it)
{
    outcome o;
    char digits[80];
    cr_expect_not_null(reads(TAB_RECEIPT_NUMBER, 4, 1, "", &o), "no kind of ours");
    cr_expect_not_null(reads(TAB_RECEIPT_NUMBER, 3, 0, "", &o), "an empty text is missing");
    cr_expect_not_null(reads(TAB_RECEIPT_NUMBER, 2, NAN, "", &o));
    cr_expect_not_null(reads(TAB_RECEIPT_NUMBER, 3, 0, " 5", &o));
    cr_expect_not_null(reads(TAB_RECEIPT_NUMBER, 3, 0, "5 ", &o));
    cr_expect(reads(TAB_RECEIPT_NUMBER, 2, -3, "", &o) == NULL && o.number == -3);
    snprintf(digits, sizeof digits, "%063d", 7); /* the most that is read */
    cr_expect(reads(TAB_RECEIPT_NUMBER, 3, 0, digits, &o) == NULL && o.number == 7);
    snprintf(digits, sizeof digits, "%064d", 7);
    cr_expect_not_null(reads(TAB_RECEIPT_NUMBER, 3, 0, digits, &o));
    static const struct {
        const char *text;
        double want; /* -1: refused */
    } flags[] = { { "true", 1 }, { "false", 0 }, { "1", 1 },    { "0", 0 },
                  { "2", -1 },   { "yes", -1 },  { "TRUE", -1 } };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bool ok = reads(TAB_RECEIPT_ANOMALY, 3, 0, flags[i].text, &o) == NULL;
        cr_expect_eq(ok, flags[i].want >= 0, "%s", flags[i].text);
        cr_expect(!ok || o.number == flags[i].want, "%s", flags[i].text);
    }
    cr_expect(reads(TAB_RECEIPT_ANOMALY, 2, 0, "", &o) == NULL && o.number == 0);
    cr_expect(reads(TAB_RECEIPT_ANOMALY, 1, 1, "", &o) == NULL && o.number == 1);
    cr_expect_not_null(reads(TAB_RECEIPT_ANOMALY, 2, 0.5, "", &o));
    cr_expect(reads(TAB_RECEIPT_CLASS, 3, 0, "blue", &o) == NULL && o.hashes == 1);
    cr_expect(reads(TAB_RECEIPT_CLASS, 3, 0, "12", &o) == NULL && o.hashes == 2);
    cr_expect(reads(TAB_RECEIPT_CLASS, 2, 12, "", &o) == NULL && o.hashes == 2);
    cr_expect_eq(o.hash[0], tab_receipt_class(TAB_S("12")));
    cr_expect_eq(o.hash[1], tab_receipt_class(TAB_S("\"12\"")));
    cr_expect(reads(TAB_RECEIPT_CLASS, 1, 1, "", &o) == NULL && o.hashes == 2);
    cr_expect_eq(o.hash[0], tab_receipt_class(TAB_S("true")));
    cr_expect_eq(o.hash[1], tab_receipt_class(TAB_S("\"true\"")));
}

Test(quality_sums, the_class_that_came_true_is_found_by_any_of_its_names)
{
    tab_receipt r = class_receipt(0.5f, 0, 0);
    cr_expect_eq(outcome_class(&r, &(outcome){ .hash = { 11 }, .hashes = 1 }), 0);
    cr_expect_eq(outcome_class(&r, &(outcome){ .hash = { 22, 11 }, .hashes = 2 }), 1, "the first that fits");
    cr_expect_eq(outcome_class(&r, &(outcome){ .hash = { 5, 11 }, .hashes = 2 }), 0);
    cr_expect_eq(outcome_class(&r, &(outcome){ .hash = { 5, 11 }, .hashes = 1 }), 2);
    cr_expect_eq(outcome_class(&r, &(outcome){ .hashes = 0 }), 2);
}

/* ---- the watch --------------------------------------------------------------------------------- */

/* Said 0.8 of one side, 0.9 of the other: odds halved are 2/3, odds doubled 18/19. */
Test(quality_sums, evidence_is_the_likelihood_ratio_of_halved_and_doubled_odds)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    Tabella__Watch *w = tab_arena_new_of(a, Tabella__Watch, 1);
    e.config_revision = 4;
    e.data_revision = 9;
    cr_assert(watch_begin(a, w, &e, TAB_RECEIPT_CLASS) && watch_sound(w));
    cr_expect(w->config_revision == 4 && w->data_revision == 9 && w->task == TAB_RECEIPT_CLASS &&
              w->n_sides == 2);
    Tabella__WatchSide *seldom = w->sides[0], *often = w->sides[1];
    cr_expect_null(watch_tell(w, 0.8, 0.9, false));
    cr_expect_float_eq(seldom->evidence, log(1 / 3.0 / 0.2), 1e-12);
    cr_expect_float_eq(often->evidence, 0, 0, "never below nothing");
    cr_expect_null(watch_tell(w, 0.8, 0.9, true));
    cr_expect_float_eq(seldom->evidence, log(1 / 3.0 / 0.2) + log(2 / 3.0 / 0.8), 1e-12);
    cr_expect_float_eq(often->evidence, log(18 / 19.0 / 0.9), 1e-12);
    cr_expect(seldom->rows == 2 && seldom->hits == 1 && often->rows == 1 && often->hits == 1);
    cr_expect_float_eq(seldom->said, 1.6, 1e-12);
    cr_expect_float_eq(often->said, 0.9, 1e-12, "begun anew, where nothing had been seen");
    seldom->evidence = log(WATCH_RARELY) - 0.1;
    cr_expect_eq(watch_tell(w, 0.8, 0.9, false), seldom, "it has passed");
    cr_expect_eq(seldom->rows, 3);
    cr_expect_null(watch_tell(w, 0.8, 0.9, false));
    cr_expect_eq(seldom->rows, 1, "and begins anew");
    often->evidence = log(WATCH_RARELY) - 0.01;
    cr_expect_eq(watch_tell(w, 0.8, 0.9, true), often);
    cr_expect_null(watch_tell(w, 1, 1, false));
    cr_expect_float_eq(w->sides[0]->said - (double)(w->sides[0]->rows - 1) * 0.8, 0.99, 1e-9,
                       "nothing is sure");
}

Test(quality_sums, evidence_that_cannot_be_is_not_sound)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    Tabella__Watch *w = tab_arena_new_of(a, Tabella__Watch, 1);
    cr_assert(watch_begin(a, w, &e, TAB_RECEIPT_CLASS));
    for (size_t i = 0; i < 2; i++) {
        w->sides[i]->evidence = -0.1;
        cr_expect_not(watch_sound(w), "%zu", i);
        w->sides[i]->evidence = 0;
        w->sides[i]->hits = 1;
        cr_expect_not(watch_sound(w), "%zu", i);
        w->sides[i]->rows = 1;
        cr_expect(watch_sound(w), "%zu", i);
    }
}

/* ---- which column outcomes are of -------------------------------------------------------------- */

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){ strlen(text), (uint8_t *)(uintptr_t)text };
}

Test(quality_sums, outcomes_belong_to_the_table_of_the_target)
{
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    Tabella__PinnedDataset d[3] = { TABELLA__PINNED_DATASET__INIT, TABELLA__PINNED_DATASET__INIT,
                                    TABELLA__PINNED_DATASET__INIT },
                           *of[] = { &d[0], &d[1], &d[2] };
    Tabella__HeldOut h = TABELLA__HELD_OUT__INIT;
    Tabella__ColumnRef t = TABELLA__COLUMN_REF__INIT;
    tab_str column = { NULL, 0 };
    d[0].table_id = bytes_of("order");
    d[1].table_id = bytes_of("orders");
    d[2].table_id = bytes_of("orders.new");
    e.datasets = of;
    e.n_datasets = 3;
    cr_expect_eq(outcome_rows_dataset(&e, &column), 3, "it predicts none");
    e.held_out = &h;
    cr_expect_eq(outcome_rows_dataset(&e, &column), 3);
    h.target = &t;
    t.address = bytes_of("orders.paid");
    cr_expect_eq(outcome_rows_dataset(&e, &column), 1);
    cr_expect(tab_str_eq(column, TAB_S("paid")));
    t.address = bytes_of("order.x");
    cr_expect_eq(outcome_rows_dataset(&e, &column), 0);
    cr_expect(tab_str_eq(column, TAB_S("x")));
    t.address = bytes_of("order.");
    cr_expect_eq(outcome_rows_dataset(&e, &column), 3, "a table is no column");
    t.address = bytes_of("other.x");
    cr_expect_eq(outcome_rows_dataset(&e, &column), 3);
}

Test(quality_sums, a_calibration_of_other_revisions_is_its_number_and_no_more)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    Tabella__LiveCalibration c = TABELLA__LIVE_CALIBRATION__INIT;
    double at[] = { -1, 0, 1 };
    tab_error err;
    e.config_revision = 3;
    e.data_revision = 8;
    c.config_revision = 3;
    c.data_revision = 8;
    c.state = 40;
    c.task = TAB_RECEIPT_NUMBER;
    c.at = at;
    c.n_at = 3;
    cr_assert_eq(calibration_served(a, &e, tab_proto_write(a, &c.base), &err), TAB_OK);
    cr_expect(e.calibration->state == 40 && e.calibration->n_at == 3 &&
              e.calibration->task == TAB_RECEIPT_NUMBER);
    for (int i = 0; i < 2; i++) {
        c.config_revision = i == 0 ? 2 : 3;
        c.data_revision = i == 0 ? 8 : 9;
        cr_assert_eq(calibration_served(a, &e, tab_proto_write(a, &c.base), &err), TAB_OK);
        cr_expect(e.calibration->state == 41 && e.calibration->n_at == 0 && e.calibration->task == 0);
        cr_expect(e.calibration->config_revision == 3 && e.calibration->data_revision == 8);
    }
    cr_assert_eq(calibration_served(a, &e, TAB_S("\xff\xff"), &err), TAB_OK);
    cr_expect(e.calibration->task == UINT32_MAX && e.calibration->state == 0, "what cannot be read says so");
}
