#include "services/jobs/outcomes/quality.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

static Tabella__OutcomeRow row(uint32_t kind, double number, const char *text)
{
    Tabella__OutcomeRow r = TABELLA__OUTCOME_ROW__INIT;
    r.kind = kind;
    r.number = number;
    r.text = (ProtobufCBinaryData){ strlen(text), (uint8_t *)(uintptr_t)text };
    return r;
}

static tab_receipt number(double low, double high)
{
    return (tab_receipt){ .task = TAB_RECEIPT_NUMBER,
                          .at_us = 1,
                          .value = (low + high) / 2,
                          .median = (low + high) / 2,
                          .low = low,
                          .high = high };
}

Test(quality, sums_are_those_of_the_outcomes_in_any_order_and_division)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    Tabella__OutcomeDay *whole = quality_day(a, 5, TAB_RECEIPT_NUMBER, NULL);
    Tabella__OutcomeDay *left = quality_day(a, 5, TAB_RECEIPT_NUMBER, NULL);
    Tabella__OutcomeDay *right = quality_day(a, 5, TAB_RECEIPT_NUMBER, NULL);
    double mean = 0, squares = 0;
    enum { N = 1000 };
    for (int i = 0; i < N; i++)
        mean += (1e9 + i % 7) / N;
    for (int i = 0; i < N; i++) {
        double y = 1e9 + i % 7;
        outcome o;
        Tabella__OutcomeRow r = row(2, y, "");
        tab_receipt p = number(1e9 + 1, 1e9 + 5);
        p.regime = i % 10 == 0;
        cr_assert_null(outcome_read(&p, &r, &o));
        cr_assert(quality_add(a, whole, &p, &o, 2000000));
        cr_assert(quality_add(a, i % 3 == 0 ? left : right, &p, &o, 2000000));
        squares += (y - mean) * (y - mean);
    }
    cr_assert(quality_merge(a, right, left));
    Tabella__OutcomeDay *both[] = { whole, right, quality_day(a, 5, TAB_RECEIPT_NUMBER, whole) };
    for (size_t i = 0; i < 3; i++) {
        const Tabella__OutcomeSums *s = both[i]->sums;
        cr_expect_eq(s->rows, N);
        cr_expect_float_eq(s->mean, mean, 1e-4);
        cr_expect_float_eq(s->squares, squares, 1e-3 * squares, "%g %g", s->squares, squares);
        cr_expect_eq(s->inside, 715, "%llu", (unsigned long long)s->inside); /* 1 to 5 of 0 to 6 */
        cr_expect_eq(s->at_most_low, 286);
        cr_expect_float_eq(s->delay_s, 2 * N, 1e-6);
        cr_assert_eq(both[i]->n_slices, 3); /* two regimes, one revision */
        uint64_t later = 0;
        for (size_t k = 0; k < 3; k++)
            if (strcmp(both[i]->slices[k]->slice, "regime = later") == 0)
                later = both[i]->slices[k]->sums->rows;
        cr_expect_eq(later, N / 10);
    }
}

/* The slice's rows; 0: there is none. */
static uint64_t rows_of(const Tabella__OutcomeDay *d, const char *name)
{
    for (size_t k = 0; k < d->n_slices; k++)
        if (strcmp(d->slices[k]->slice, name) == 0)
            return d->slices[k]->sums->rows;
    return 0;
}

Test(quality, columns_make_slices_that_take_no_room_from_regimes_and_revisions)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    Tabella__OutcomeDay *d = quality_day(a, 5, TAB_RECEIPT_NUMBER, NULL);
    for (uint32_t i = 0; i < 200; i++) {
        Tabella__OutcomeRow r = row(2, 1, "");
        tab_receipt p = number(0, 2);
        outcome o;
        p.slices = 2;
        snprintf(p.slice[0], TAB_RECEIPT_SLICE, "goods.colour = %s", i % 2 ? "red" : "green");
        snprintf(p.slice[1], TAB_RECEIPT_SLICE, "goods.size from %u", i); /* many: bounds move by refreshes */
        p.data_revision = i / 50;
        cr_assert_null(outcome_read(&p, &r, &o));
        cr_assert(quality_add(a, d, &p, &o, 0));
    }
    cr_expect_eq(rows_of(d, "goods.colour = red"), 100);
    cr_expect_eq(rows_of(d, "revision = 0.3"), 50, "slices of columns fill their own room alone");
    cr_expect_eq(d->n_slices, QUALITY_COLUMNS + 1 + 4);
    Tabella__OutcomeDay *again = quality_day(a, 5, TAB_RECEIPT_NUMBER, d);
    cr_assert_not_null(again);
    cr_expect_eq(again->n_slices, d->n_slices);
}

static tab_receipt classes(const char *const *text, const float *share, size_t n)
{
    tab_receipt r = { .task = TAB_RECEIPT_CLASS, .at_us = 1, .classes = n };
    for (size_t k = 0; k < n; k++) {
        r.of[k].hash = tab_receipt_class(tab_str_of(text[k]));
        r.of[k].share = share[k];
    }
    return r;
}

Test(quality, a_class_is_found_by_its_value_however_it_is_written)
{
    static const struct {
        const char *label;
        uint32_t kind;
        double number;
        const char *text;
        bool hit;
    } cases[] = {
        { "\"yes\"", 3, 0, "yes", true }, { "\"yes\"", 3, 0, "no", false },
        { "1", 2, 1, "", true },          { "1", 3, 0, "1", true },
        { "1", 3, 0, "1.0", true },       { "\"1\"", 2, 1, "", true },
        { "\"01\"", 3, 0, "1", false },   { "true", 1, 1, "", true },
        { "true", 3, 0, "true", true },   { "\"true\"", 1, 1, "", true },
        { "false", 1, 1, "", false },     { "0.10000000000000001", 2, 0.1, "", true },
    };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const text[] = { cases[i].label, "\"other\"" };
        tab_receipt p = classes(text, (const float[]){ 0.75f, 0.25f }, 2);
        Tabella__OutcomeRow r = row(cases[i].kind, cases[i].number, cases[i].text);
        Tabella__OutcomeDay *d = quality_day(a, 1, TAB_RECEIPT_CLASS, NULL);
        outcome o;
        cr_assert_null(outcome_read(&p, &r, &o));
        cr_assert(quality_add(a, d, &p, &o, 0));
        cr_expect_eq(d->sums->hits, cases[i].hit, "%s as %s", cases[i].label, cases[i].text);
        cr_expect_float_eq(d->sums->log_loss, cases[i].hit ? -log(0.75) : -log(1e-6), 1e-6);
    }
}

Test(quality, an_outcome_of_another_kind_is_refused_with_its_reason)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_receipt n = number(0, 1), f = { .task = TAB_RECEIPT_ANOMALY, .at_us = 1, .flagged = true };
    outcome o;
    Tabella__OutcomeRow missing = row(0, 0, ""), text = row(3, 0, "dear"), digits = row(3, 0, "2.5"),
                        yes = row(1, 1, ""), two = row(2, 2, ""), endless = row(3, 0, "inf");
    cr_expect_str_eq(outcome_read(&n, &missing, &o), "the outcome is missing");
    cr_expect_not_null(outcome_read(&n, &text, &o));
    cr_expect_not_null(outcome_read(&n, &endless, &o));
    cr_expect_not_null(outcome_read(&n, &yes, &o));
    cr_expect(outcome_read(&n, &digits, &o) == NULL && o.number == 2.5);
    cr_expect_not_null(outcome_read(&f, &two, &o));
    cr_expect(outcome_read(&f, &yes, &o) == NULL && o.number == 1);
    Tabella__OutcomeDay *d = quality_day(a, 1, TAB_RECEIPT_ANOMALY, NULL);
    cr_assert(quality_add(a, d, &f, &o, 0));
    cr_expect(d->sums->caught == 1 && d->sums->flagged == 1 && d->sums->anomalies == 1);
}
