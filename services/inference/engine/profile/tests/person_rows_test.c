/* Tables of which a row is a person: births among their dates; and vehicles by their numbers. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/profile/roles/stages.h"

enum { ROWS = 90, MOST = 3 };

static const char *const given[] = { "Anna",   "Peter", "Maria",  "Thomas", "Laura",
                                     "Daniel", "Sarah", "Martin", "Julia" };
static const char *const family[] = { "Becker",   "Schmidt",   "Wagner", "Fischer", "Keller",
                                      "Hoffmann", "Schneider", "Krause", "Lehmann", "Vogel" };

/* What column 1 holds: the first day and the days between two rows, the rows not in their order. */
static struct {
    int from, step, names; /* names: how many different ones */
    bool workdays, later;  /* later: column 2 holds a day after the births, else one before them */
} made;

static void write_day(int64_t day, char *t, size_t n)
{
    int year, month, of_month;
    tab_civil_from_days(day, &year, &month, &of_month);
    snprintf(t, n, "%04d-%02d-%02d", year, month, of_month);
}

static void cell(size_t k, size_t i, char *t, size_t n)
{
    size_t who = i % (size_t)made.names;
    int64_t day = made.from + (int64_t)(i * 37 % ROWS) * made.step;
    if (made.workdays)
        day -= (day + 3) % 7 >= 5 ? 2 : 0;
    if (k == 0)
        snprintf(t, n, "%s %s", given[who % 9], family[who * 7 / 9 % 10]);
    else
        write_day(k == 1 ? day : made.later ? 19500 + (int64_t)i : made.from - 4000 - (int64_t)i, t, n);
}

static const tab_column_profile *profiled(tab_arena *a, size_t cols)
{
    tab_column *c = tab_arena_new_of(a, tab_column, MOST);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_engine *e = tab_arena_new_of(a, tab_engine, 1);
    tab_profile *p;
    for (size_t k = 0; k < cols; k++) {
        tab_builder *b = tab_builder_new(a, TAB_S("x"));
        for (size_t i = 0; i < ROWS; i++) {
            char v[80];
            cell(k, i, v, sizeof v);
            tab_builder_text(b, tab_arena_copy(a, tab_str_of(v)));
        }
        cr_assert(tab_builder_finish(b, &c[k]));
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = ROWS, .cols = cols, .col = c };
    *e = (tab_engine){ .arena = a };
    cr_assert_eq(tab_profile_table(e, t, &p, NULL), TAB_OK);
    return p->col;
}

static double birth(int from, int step, int names, bool workdays, size_t cols, bool later)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    made.from = from, made.step = step, made.names = names, made.workdays = workdays, made.later = later;
    const tab_column_profile *c = profiled(a, cols);
    return c[1].pii_confidence;
}

Test(births, are_the_earliest_days_of_persons_over_decades)
{
    double adults = birth(-11600, 320, ROWS, false, 2, false),
           seen = birth(-11600, 320, ROWS, false, 3, true);
    cr_expect_gt(adults, 0.6, "1938 to 2017, beside names: %g", adults);
    cr_expect_gt(seen, 0.6, "and a later day of each: %g", seen);
    double entries = birth(12000, 80, ROWS, false, 2, false),
           hired = birth(-11600, 320, ROWS, true, 2, false),
           scorers = birth(-11600, 320, 12, false, 2, false),
           second = birth(-11600, 320, ROWS, false, 3, false);
    cr_expect_lt(entries, 0.28, "twenty years may be of entries: %g", entries);
    cr_expect_lt(hired, adults, "nobody is born on working days alone: %g", hired);
    cr_expect_lt(scorers, adults, "persons that come back: %g", scorers);
    cr_expect_lt(second, adults, "an earlier day stands beside: %g", second);
}

Test(vehicles, have_numbers_without_three_letters)
{
    tab_staged c = { .features = { .values = 40, .vin_letters = 20 } };
    float p[TAB_ROLES] = { [TAB_ROLE_CODE] = 0.9f, [TAB_ROLE_VIN] = 0.1f }, q[TAB_ROLES];
    memcpy(q, p, sizeof q);
    c.features.check[TAB_CHECK_VIN_SHAPE] = 1;
    tab_hear_identity(&c, p);
    cr_expect_gt(p[TAB_ROLE_VIN], 0.95f);
    c.features.vin_letters = 6; /* base 16 */
    tab_hear_identity(&c, q);
    cr_expect_float_eq(q[TAB_ROLE_VIN], 0.1f, 1e-6);
}
