#include "common/security/receipt.h"

#include <criterion/criterion.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>

static const uint8_t key[TAB_RECEIPT_KEY] = { 1, 2, 3 }, other[TAB_RECEIPT_KEY] = { 1, 2, 4 };

static tab_receipt number(void)
{
    return (tab_receipt){ .task = TAB_RECEIPT_NUMBER,
                          .regime = 1,
                          .id = { 9, 8, 7 },
                          .at_us = 1700000000000000,
                          .config_revision = 3,
                          .data_revision = 7,
                          .value = 1.5,
                          .low = -2,
                          .median = 1.25,
                          .high = 1e300 };
}

static tab_receipt classes(size_t n)
{
    tab_receipt r = { .task = TAB_RECEIPT_CLASS, .at_us = 1, .classes = n, .others = 5, .rest = 0.1 };
    for (size_t k = 0; k < n; k++) {
        r.of[k].hash = tab_receipt_class((tab_str){ "abcdefgh", k % 8 });
        r.of[k].share = 0.9f / (float)n;
    }
    return r;
}

Test(receipt, what_was_signed_is_read_again)
{
    char text[TAB_RECEIPT_TEXT];
    tab_receipt r = number(), got;
    size_t n = tab_receipt_sign(key, TAB_S("endpoint"), &r, text);
    cr_assert(tab_receipt_read(key, TAB_S("endpoint"), (tab_str){ text, n }, &got));
    cr_expect(got.value == r.value && got.low == r.low && got.median == r.median && got.high == r.high);
    cr_expect(got.regime == 1 && got.at_us == r.at_us && got.config_revision == 3 && got.data_revision == 7);
    cr_expect_arr_eq(got.id, r.id, TAB_RECEIPT_ID);

    r = (tab_receipt){ .task = TAB_RECEIPT_ANOMALY, .at_us = 1, .score = 0.75, .flagged = true };
    n = tab_receipt_sign(key, TAB_S("endpoint"), &r, text);
    cr_assert(tab_receipt_read(key, TAB_S("endpoint"), (tab_str){ text, n }, &got));
    cr_expect(got.task == TAB_RECEIPT_ANOMALY && got.score == 0.75 && got.flagged);
    const size_t sizes[] = { 1, 2, TAB_RECEIPT_CLASSES };
    for (size_t i = 0; i < 3; i++) {
        r = classes(sizes[i]);
        n = tab_receipt_sign(key, TAB_S("endpoint"), &r, text);
        cr_assert(tab_receipt_read(key, TAB_S("endpoint"), (tab_str){ text, n }, &got), "%zu", sizes[i]);
        cr_expect(got.classes == sizes[i] && got.others == 5 && got.rest == 0.1);
        cr_expect_arr_eq(&got.of[sizes[i] - 1], &r.of[sizes[i] - 1], sizeof r.of[0]);
    }
}

static void slice(tab_receipt *r, const char *name)
{
    snprintf(r->slice[r->slices++], TAB_RECEIPT_SLICE, "%s", name);
}

Test(receipt, slices_come_back_and_nobody_else_reads_them)
{
    char text[TAB_RECEIPT_TEXT], again[TAB_RECEIPT_TEXT];
    uint8_t bytes[TAB_RECEIPT_TEXT] = { 0 };
    size_t n = 0;
    tab_receipt r[] = { number(), classes(TAB_RECEIPT_CLASSES) }, got;
    for (size_t i = 0; i < 2; i++) {
        r[i].followed = i == 1; /* the longest there is */
        for (size_t k = 0; k < TAB_RECEIPT_SLICES; k++)
            slice(&r[i], "patients.diagnosis = something that fills sixty-three bytes...!");
        size_t length = tab_receipt_sign(key, TAB_S("e"), &r[i], text);
        cr_assert(length < TAB_RECEIPT_TEXT);
        cr_assert(tab_receipt_read(key, TAB_S("e"), (tab_str){ text, length }, &got));
        cr_expect_eq(got.slices, TAB_RECEIPT_SLICES);
        cr_expect_str_eq(got.slice[3], r[i].slice[3]);
        cr_assert_eq(sodium_base642bin(bytes, sizeof bytes, text + 4, length - 4, NULL, &n, NULL,
                                       sodium_base64_VARIANT_URLSAFE_NO_PADDING),
                     0);
        cr_expect_null(memmem(bytes, n, "diagnosis", 9), "a receipt tells nobody what stands in its row");
        cr_expect_eq(tab_receipt_sign(key, TAB_S("e"), &r[i], again), length);
        cr_expect_str_eq(text, again, "the same call again has the same receipt");
    }
    r[0].slice[1][0] = '\n';
    cr_expect(!tab_receipt_sound(&r[0]), "control characters go into no file");
    r[0].slice[1][0] = 0;
    cr_expect(!tab_receipt_sound(&r[0]), "a slice has a name");
}

Test(receipt, what_is_foreign_changed_or_cut_is_none)
{
    char text[TAB_RECEIPT_TEXT];
    tab_receipt r = classes(3), got;
    slice(&r, "goods.colour = red");
    size_t n = tab_receipt_sign(key, TAB_S("endpoint"), &r, text);
    cr_expect(!tab_receipt_read(other, TAB_S("endpoint"), (tab_str){ text, n }, &got), "another key");
    cr_expect(!tab_receipt_read(key, TAB_S("endpoinT"), (tab_str){ text, n }, &got), "another endpoint");
    cr_expect(!tab_receipt_read(key, TAB_S("endpoint"), TAB_S("rct_"), &got), "empty");
    for (size_t i = 0; i < n; i++) {
        cr_expect(!tab_receipt_read(key, TAB_S("endpoint"), (tab_str){ text, i }, &got), "cut at %zu", i);
        char was = text[i];
        text[i] = was == 'A' ? 'B' : 'A';
        cr_expect(!tab_receipt_read(key, TAB_S("endpoint"), (tab_str){ text, n }, &got), "changed at %zu", i);
        text[i] = was;
    }
    cr_assert(tab_receipt_read(key, TAB_S("endpoint"), (tab_str){ text, n }, &got));
}

Test(receipt, of_an_endpoint_that_follows_outcomes_it_says_how_it_was_served)
{
    char text[TAB_RECEIPT_TEXT];
    tab_receipt r[] = { number(), classes(TAB_RECEIPT_CLASSES) }, got;
    for (size_t i = 0; i < 2; i++) {
        r[i].followed = true;
        r[i].state = 1234567890123;
        r[i].own_low = -1, r[i].own_median = 0.25, r[i].own_high = 8;
        for (size_t k = 0; k < TAB_RECEIPT_EXPERTS; k++)
            r[i].expert[k] = (float)k / 4;
        for (size_t k = 0; k < r[i].classes; k++)
            r[i].of[k].own = (float)k / 100;
        size_t n = tab_receipt_sign(key, TAB_S("e"), &r[i], text);
        cr_assert(n < TAB_RECEIPT_TEXT && tab_receipt_read(key, TAB_S("e"), (tab_str){ text, n }, &got));
        cr_expect(got.followed && got.state == r[i].state);
        for (size_t k = 0; k < r[i].classes; k++)
            cr_expect_eq(got.of[k].own, r[i].of[k].own);
        if (r[i].task == TAB_RECEIPT_NUMBER)
            cr_expect(got.own_low == -1 && got.own_median == 0.25 && got.own_high == 8 &&
                      got.expert[23] == 5.75f);
        for (size_t k = 0; k < n; k++)
            cr_expect_not(tab_receipt_read(key, TAB_S("e"), (tab_str){ text, k }, &got));
    }
    r[0].expert[7] = INFINITY;
    cr_expect_not(tab_receipt_sound(&r[0]));
}

/* Each bound by itself: what lies on it is sound, what lies beyond it is not. */
Test(receipt, bounds_of_what_is_sound)
{
    tab_receipt r;
#define SOUND(from, change, want)                                    \
    do {                                                             \
        r = from;                                                    \
        change;                                                      \
        cr_expect_eq(tab_receipt_sound(&r), want, "after " #change); \
    } while (0)
    SOUND(number(), r.at_us = 1, true);
    SOUND(number(), r.at_us = 0, false);
    SOUND(number(), r.regime = 3, true);
    SOUND(number(), r.regime = 4, false);
    SOUND(number(), (r.regime = 4, r.at_us = 0), false);
    SOUND(number(), r.task = (tab_receipt_task)0, false);
    SOUND(number(), r.task = (tab_receipt_task)9, false);
    double *const figures[] = { &r.value, &r.low, &r.median, &r.high };
    for (size_t i = 0; i < 4; i++)
        SOUND(number(), *figures[i] = NAN, false);
    double *const own[] = { &r.own_low, &r.own_median, &r.own_high };
    for (size_t i = 0; i < 3; i++) {
        SOUND(number(), *own[i] = NAN, true); /* of one that does not follow outcomes nobody reads them */
        SOUND(number(), (*own[i] = NAN, r.followed = true), false);
    }
    SOUND(number(), (r.followed = true, r.expert[TAB_RECEIPT_EXPERTS - 1] = NAN), false);
    SOUND(number(), (r.followed = true, r.expert[0] = NAN), false);
    SOUND(number(), r.high = (double)INFINITY, false);
    SOUND(classes(2), r.of[1].share = (float)NAN, false);
    SOUND(classes(TAB_RECEIPT_CLASSES), r.at_us = 2, true);
    SOUND(classes(2), r.classes = TAB_RECEIPT_CLASSES + 1, false);
    SOUND(classes(2), r.classes = 0, false);
    SOUND(classes(1), r.rest = 1, true);
    SOUND(classes(1), r.rest = 1.000001, true); /* sums of shares are rounded */
    SOUND(classes(1), r.rest = 0, true);
    SOUND(classes(1), r.rest = -0.01, false);
    SOUND(classes(1), r.rest = 1.01, false);
    SOUND(classes(2), r.of[1].share = 1.01f, false);
    SOUND(classes(2), r.of[1].share = -0.01f, false);
    SOUND(classes(2), r.of[1].own = 2, true);
    SOUND(classes(2), (r.of[1].own = 2, r.followed = true), false);
    SOUND(((tab_receipt){ .task = TAB_RECEIPT_ANOMALY, .at_us = 1 }), r.score = NAN, false);
    SOUND(((tab_receipt){ .task = TAB_RECEIPT_ANOMALY, .at_us = 1 }), r.score = 7, true);
}

/* A body that its key has signed is read only if it is whole: of a kind that is known, and nothing behind. */
Test(receipt, an_anomaly_keeps_its_flag_and_its_revisions)
{
    char text[TAB_RECEIPT_TEXT];
    for (int flagged = 0; flagged < 2; flagged++) {
        tab_receipt r = { .task = TAB_RECEIPT_ANOMALY,
                          .at_us = INT64_MAX,
                          .score = -1.5,
                          .flagged = flagged == 1,
                          .config_revision = UINT32_MAX,
                          .data_revision = 1,
                          .regime = 2 },
                    got;
        memset(r.id, 0xfe, sizeof r.id);
        size_t n = tab_receipt_sign(key, TAB_S("e"), &r, text);
        cr_assert(tab_receipt_read(key, TAB_S("e"), (tab_str){ text, n }, &got));
        cr_expect(got.flagged == r.flagged && got.score == r.score && got.at_us == INT64_MAX);
        cr_expect(got.config_revision == UINT32_MAX && got.data_revision == 1 && got.regime == 2);
        cr_expect_arr_eq(got.id, r.id, sizeof r.id);
        cr_expect_not(tab_receipt_read(key, TAB_S("e"), (tab_str){ text, n - 1 }, &got));
        cr_expect_not(tab_receipt_read(key, TAB_S("e"), TAB_S("rct_AAAA"), &got));
    }
}
