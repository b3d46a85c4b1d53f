#include "common/json/spread.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *json(tab_arena *a, const Tabella__Spread *s)
{
    tab_out o = { 0 };
    tab_spread_json(&o, s);
    tab_str text = tab_out_text(&o);
    const char *copy = tab_arena_copy(a, text).p;
    tab_out_free(&o);
    return copy;
}

Test(spread, of_numbers_is_a_histogram_or_their_values)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    double x[64];
    for (int i = 0; i < 64; i++)
        x[i] = i;
    x[63] = (double)NAN;
    x[0] = 15;
    Tabella__Spread *s = tab_spread_numbers(a, x, 64);
    cr_assert_not_null(s);
    cr_expect(s->n_bins == 16 && s->present == 63 && s->distinct == 62 && fabs(s->low - 1) < 1e-12 &&
              fabs(s->high - 62) < 1e-12);
    uint64_t all = 0;
    for (size_t k = 0; k < s->n_bins; k++)
        all += s->bins[k];
    cr_expect_eq(all, 63);

    const double few[] = { 2, 1, 2, (double)NAN, 3, 2, 3 };
    cr_expect_str_eq(
        json(a, tab_spread_numbers(a, few, 7)),
        "{\"values\":[{\"value\":\"2\",\"rows\":3},{\"value\":\"3\",\"rows\":2},{\"value\":\"1\","
        "\"rows\":1}],\"distinct\":3,\"present\":6}");
    const double huge[14] = { -1.7e308, 1.7e308, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    s = tab_spread_numbers(a, huge, 14);
    cr_expect(s != NULL && s->bins[0] == 1 && s->bins[15] == 1, "the widest range does not overflow");
    cr_expect_eq(tab_spread_numbers(a, few, 0)->present, 0);
}

Test(spread, of_codes_names_what_repeats)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    const tab_str level[] = { TAB_S("b"), TAB_S("a"), TAB_S("<i>") };
    const uint32_t code[] = { 1, 0, 1, TAB_NULL, 2, 0 };
    cr_expect_str_eq(
        json(a, tab_spread_codes(a, code, 6, level, 3)),
        "{\"values\":[{\"value\":\"b\",\"rows\":2},{\"value\":\"a\",\"rows\":2},{\"value\":\"<i>\","
        "\"rows\":1}],\"distinct\":3,\"present\":5}",
        "of equally frequent ones the first to appear");
    tab_str many[40];
    uint32_t each[40];
    char text[40][4];
    for (uint32_t i = 0; i < 40; i++) {
        snprintf(text[i], sizeof text[i], "%u", i);
        many[i] = tab_str_of(text[i]);
        each[i] = i;
    }
    Tabella__Spread *s = tab_spread_codes(a, each, 40, many, 40);
    cr_expect(s->n_value == 0 && s->distinct == 40, "where all differ none is named");
    char longest[100];
    memset(longest, 'x', sizeof longest);
    memcpy(longest + 59, "\xc3\xa4", 2);
    const tab_str one[] = { { longest, sizeof longest } };
    const uint32_t zeros[] = { 0, 0 };
    s = tab_spread_codes(a, zeros, 2, one, 1);
    cr_expect_eq(s->value[0].len, 59, "a value is cut between two characters");
}
