#include "common/security/receipt.h"

#include <criterion/criterion.h>
#include <math.h>

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

Test(receipt, what_is_foreign_changed_or_cut_is_none)
{
    char text[TAB_RECEIPT_TEXT];
    tab_receipt r = classes(3), got;
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

Test(receipt, figures_that_are_none_are_not_sound)
{
    tab_receipt r = number();
    cr_expect(tab_receipt_sound(&r));
    r.high = (double)INFINITY;
    cr_expect(!tab_receipt_sound(&r));
    r = classes(2);
    r.of[1].share = (float)NAN;
    cr_expect(!tab_receipt_sound(&r));
    r = classes(2);
    r.classes = TAB_RECEIPT_CLASSES + 1;
    cr_expect(!tab_receipt_sound(&r));
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
