#include "services/inference/engine/align/minhash.h"

#include <criterion/criterion.h>

enum { TOKENS = 40, SETS = 400 };

/* Mean share of equal bands of sets of TOKENS tokens, of which `other` are replaced. */
static double equal_bands(uint32_t other)
{
    size_t equal = 0;
    for (uint32_t s = 0; s < SETS; s++) {
        uint32_t a[TOKENS], b[TOKENS];
        uint64_t x[TAB_BANDS], y[TAB_BANDS];
        for (uint32_t i = 0; i < TOKENS; i++) {
            a[i] = s * 1000 + i * 7;
            b[TOKENS - 1 - i] = i < other ? a[i] + 1000003 : a[i]; /* in another order */
        }
        tab_minhash(a, TOKENS, x);
        tab_minhash(b, TOKENS, y);
        for (size_t k = 0; k < TAB_BANDS; k++)
            equal += x[k] == y[k];
    }
    return (double)equal / (SETS * TAB_BANDS);
}

Test(minhash, bands_are_equal_as_often_as_the_square_of_the_jaccard_index)
{
    static const uint32_t other[] = { 0, 2, 4, 8, 13, 20, 40 };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        double j = (TOKENS - other[i]) / (double)(TOKENS + other[i]);
        cr_expect_float_eq(equal_bands(other[i]), j * j, 0.04, "%u replaced: %f, not %f", other[i],
                           equal_bands(other[i]), j * j);
    }
}
