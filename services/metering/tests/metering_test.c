#include <criterion/criterion.h>

#include "services/metering/metering.h"

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
