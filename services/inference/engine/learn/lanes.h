/* Sixteen floats at once, for functions under TAB_WIDE_CLONES (clones.h). */
#ifndef TAB_LANES_H
#define TAB_LANES_H

#include <stdint.h>

enum { TAB_LANES = 16 };
typedef float tab_lanes __attribute__((vector_size(64)));
typedef int32_t tab_lanes_int __attribute__((vector_size(64)));

/* x <- e^x for -80 <= x <= 0 (e^-80 is 2e-35), relative error below 3e-7: 2^e times a polynomial on [-ln2/2,
 * ln2/2], e the nearest integer to x / ln 2 and 2^e an exponent field. The same bits on every processor. */
static inline __attribute__((always_inline)) void tab_exp_lanes(tab_lanes *x)
{
    tab_lanes t = *x * 1.44269504f;
    tab_lanes_int e = __builtin_convertvector(t - 0.5f, tab_lanes_int);
    tab_lanes r = (t - __builtin_convertvector(e, tab_lanes)) * 0.693147181f;
    tab_lanes p =
        1 + r * (1 + r * (0.5f + r * (0.166666667f +
                                      r * (0.0416666667f + r * (0.00833333333f + r * 0.00138888889f)))));
    *x = p * (tab_lanes)((e + 127) << 23);
}
#endif
