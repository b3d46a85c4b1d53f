/* Asked numbers that are not those of their column: which value was filled in, which columns hold each
 * other's. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/asked/cells/asked_numbers.h"
#include "services/inference/engine/predict/asked/cells/two_samples.h"

enum { KNOWN = 400, OPEN = 200 };

/* n ascending numbers about `mean`; those that `of` chooses are `value`. */
static void numbers(double *v, size_t n, size_t seed, double mean, double share, double value)
{
    for (size_t i = 0; i < n; i++) {
        double x = mean;
        for (size_t k = 0; k < 4; k++)
            x += 5 * (tab_unit(tab_mix2(8 * seed + k, i)) - 0.5);
        v[i] = tab_unit(tab_mix2(8 * seed + 5, i)) < share ? value : x;
    }
    qsort(v, n, sizeof *v, tab_ascending_double);
}

Test(asked_numbers, distributions_lie_between_alike_and_apart)
{
    double a[KNOWN], b[OPEN];
    numbers(a, KNOWN, 1, 50, 0, 0);
    numbers(b, OPEN, 2, 50, 0, 0);
    cr_expect_lt(tab_two_samples_errors(a, KNOWN, b, OPEN, 1, 0), 1.95);
    cr_expect_float_eq(tab_two_samples(a, KNOWN, b, OPEN, 1, 100), 1, 1e-12);
    cr_expect_float_eq(tab_two_samples(a, KNOWN, a, KNOWN, 1, 0), 0, 1e-12);
    cr_expect_lt(tab_two_samples_errors(a, KNOWN, b, OPEN, 2, -50), 20, "twice as wide, not apart");
    cr_expect_gt(tab_two_samples_errors(a, KNOWN, b, OPEN, 2, -50), 1.95, "twice as wide, not alike");
}

Test(asked_numbers, a_value_that_was_filled_in_is_found)
{
    double a[KNOWN], b[OPEN];
    numbers(a, KNOWN, 1, 50, 0, 0);
    numbers(b, OPEN, 2, 50, 0.6, 51);
    cr_expect_eq(tab_asked_filled(a, KNOWN, b, OPEN), 51);
    numbers(b, OPEN, 2, 50, 0, 0);
    cr_expect(isnan(tab_asked_filled(a, KNOWN, b, OPEN)), "no value is common");
    numbers(a, KNOWN, 1, 50, 0.6, 51);
    numbers(b, OPEN, 2, 50, 0.6, 51);
    cr_expect(isnan(tab_asked_filled(a, KNOWN, b, OPEN)), "known rows have it as often");
    numbers(a, KNOWN, 1, 50, 0, 0);
    numbers(b, OPEN, 2, 60, 0.6, 51);
    cr_expect(isnan(tab_asked_filled(a, KNOWN, b, OPEN)), "the others are others");
    numbers(b, OPEN, 2, 50, 0, 0);
    for (size_t i = 0; i < OPEN; i++)
        b[i] = fmin(b[i], 50);
    cr_expect_eq(tab_asked_filled(a, KNOWN, b, OPEN), 50, "cut off");
}

/* Columns x and z with numbers of each other, or one that moved to where the other was. */
static void places(tab_asked_place of[2], double known[2][KNOWN], double open[2][OPEN], double x, double z)
{
    numbers(known[0], KNOWN, 1, 50, 0, 0);
    numbers(known[1], KNOWN, 2, 80, 0, 0);
    numbers(open[0], OPEN, 3, x, 0, 0);
    numbers(open[1], OPEN, 4, z, 0, 0);
    for (size_t k = 0; k < 2; k++)
        of[k] = (tab_asked_place){ .column = k, .known = known[k], .open = open[k], .n = KNOWN, .m = OPEN };
    tab_asked_exchanged(of, 2);
}

Test(asked_numbers, columns_hold_each_other_s_only_where_both_do)
{
    tab_asked_place of[2];
    double known[2][KNOWN], open[2][OPEN];
    places(of, known, open, 80, 50);
    cr_expect(of[0].as == 1 && of[1].as == 0);
    places(of, known, open, 80, 110);
    cr_expect(of[0].as == 0 && of[1].as == 1, "both grew");
    places(of, known, open, 80, 80);
    cr_expect(of[0].as == 0 && of[1].as == 1, "one grew");
}
