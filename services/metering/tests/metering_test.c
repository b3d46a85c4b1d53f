#include <criterion/criterion.h>

#include "services/metering/metering.h"
#include "services/metering/whole_cells.h"

#define HOUR 3600000000
#define DAY (24 * HOUR)

Test(metering, resets_in_the_largest_unit_that_is_left)
{
    static const struct {
        int64_t left;
        const char *want;
    } cases[] = { { 3 * DAY, "3d" },
                  { 3 * DAY + 1, "4d" },
                  { DAY, "1d" },
                  { DAY - 1000000, "24h" },
                  { 4 * HOUR, "4h" },
                  { HOUR + 1, "2h" },
                  { HOUR - 1000000, "60m" },
                  { 59000000, "59s" },
                  { 1, "1s" },
                  { 0, "1s" },
                  { -5, "1s" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buf[32];
        metering_resets_in(cases[i].left, buf, sizeof buf);
        cr_expect_str_eq(buf, cases[i].want, "%lld: %s", (long long)cases[i].left, buf);
    }
}

static bool allows(const metering_slot *o, int64_t cells, uint32_t *retry)
{
    char why[200];
    return metering_allows(o, 0.1, cells * 1000, why, sizeof why, retry);
}

Test(metering, allowance_ends_exactly_where_it_ends)
{
    uint32_t retry = 0;
    metering_slot o = { .allowance = 1000, .used_milli = 900000, .resets_us = HOUR };
    cr_expect(allows(&o, 100, &retry));
    cr_expect_not(allows(&o, 101, &retry));
    cr_expect_eq(retry, 3601u);
}

Test(metering, add_usage_goes_on_until_the_spend_cap)
{
    uint32_t retry;
    metering_slot o = { .allowance = 1000, .used_milli = 1000000, .resets_us = HOUR, .add_usage = true };
    cr_expect(allows(&o, 1000000000, &retry), "no cap was set");
    o.cap_set = true;
    o.cap_usd = 1; /* ten million cells at 0.1 USD a million */
    cr_expect(allows(&o, 10000000, &retry));
    cr_expect_not(allows(&o, 10000001, &retry));
}

Test(metering, pay_as_you_go_has_no_allowance)
{
    uint32_t retry;
    metering_slot o = { .resets_us = HOUR };
    cr_expect(allows(&o, 1000000000, &retry));
    o.cap_set = true;
    cr_expect_not(allows(&o, 1, &retry), "a cap of nothing");
}

Test(metering, equivalents_are_exact_and_saturate)
{
    metering_rates r = { .milli = { [METERING_RUN] = 1000, [METERING_CACHED] = 50 } };
    cr_expect_eq(metering_milli(&r, METERING_CACHED, 3), 150);
    cr_expect_eq(metering_milli(&r, METERING_RUN, UINT64_MAX), INT64_MAX);
    metering_op op;
    cr_expect(metering_op_of("batch", &op) && op == METERING_BATCH);
    cr_expect_not(metering_op_of("Batch", &op));
}

Test(metering, whole_cells_sum_to_the_rounded_total)
{
    /* 0.05 + 0.5 + 1.95 + 7.7: 10.2, the floors give 8, and what is over goes to 1.95 and 7.7 */
    static const int64_t milli[] = { 50, 500, 1950, 0, 7700 };
    uint64_t whole[5], sum = 0;
    whole_cells(milli, 5, whole);
    for (size_t i = 0; i < 5; i++)
        sum += whole[i];
    cr_expect_eq(sum, 10);
    cr_expect_eq(whole_total(milli, 5), 10);
    cr_expect_eq(whole[0] + whole[1] + whole[3], 0);
    cr_expect_eq(whole[2], 2);
    cr_expect_eq(whole[4], 8);
    static const int64_t half[] = { 250, 250 }, less[] = { 250, 249 };
    whole_cells(half, 2, whole);
    cr_expect(whole[0] == 1 && whole[1] == 0);
    cr_expect_eq(whole_total(less, 2), 0);
    whole_cells(less, 2, whole);
    cr_expect(whole[0] == 0 && whole[1] == 0);
}
