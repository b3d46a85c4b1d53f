/* Rows like the pinned ones are called drifted as rarely as is said, shifted ones often: decision 0322. */
#include <criterion/criterion.h>
#include <math.h>

#include "common/calibration/drift.h"
#include "proto/jobs.pb-c.h"

enum { BINS = 11, TRIALS = 4000 };

static uint64_t state = 7;

/* SplitMix64 (Steele, Lea & Flood 2014). */
static double unit(void)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/* n rows in tenths; `shift` of them fall into the upper half whatever they are; the last bin is missing
 * cells. */
static void draw(uint64_t *to, size_t n, double shift)
{
    for (size_t b = 0; b < BINS; b++)
        to[b] = 0;
    for (size_t i = 0; i < n; i++)
        to[unit() < shift ? 5 + (size_t)(5 * unit()) : (size_t)(10 * unit())]++;
}

/* How many of TRIALS columns are called drifted, of `columns` that are tested together. */
static size_t drifted(size_t pinned, size_t served, double shift, size_t columns)
{
    uint64_t r[BINS], s[BINS];
    size_t n = 0;
    Tabella__DriftColumn c = TABELLA__DRIFT_COLUMN__INIT;
    c.n_pinned = c.n_served = BINS;
    c.pinned = r, c.served = s;
    for (size_t k = 0; k < TRIALS; k++) {
        draw(r, pinned, 0);
        draw(s, served, shift);
        n += tab_drift_tested(&c, columns).drifted;
    }
    return n;
}

Test(drift, chance_is_called_none)
{
    static const size_t served[] = { 20, 60, 300, 5000 };
    for (size_t i = 0; i < sizeof served / sizeof *served; i++) {
        size_t n = drifted(600, served[i], 0, 1);
        /* a hundredth is said; three standard errors more */
        cr_expect_leq(n, TRIALS / 100 + 19, "%zu rows: %zu of %d", served[i], n, TRIALS);
    }
    cr_expect_leq(drifted(600, 60, 0, 20), 8);
}

Test(drift, a_shift_is_seen)
{
    cr_expect_geq(drifted(600, 300, 0.6, 20), TRIALS * 95 / 100);
    cr_expect_eq(drifted(600, 10, 1, 1), 0, "too few rows say nothing");
    cr_expect_eq(drifted(100000, 100000, 0.05, 1), 0, "a small shift is none, however sure");
}

Test(drift, windows_are_taken_together)
{
    uint64_t r[] = { 300, 300, 0 }, s[] = { 40, 0, 0 }, before[] = { 0, 40, 0 };
    Tabella__DriftColumn c = TABELLA__DRIFT_COLUMN__INIT;
    c.n_pinned = c.n_served = 3;
    c.pinned = r, c.served = s;
    cr_expect(tab_drift_tested(&c, 1).drifted);
    c.n_before = 3, c.before = before;
    tab_drift_test t = tab_drift_tested(&c, 1);
    cr_expect_not(t.drifted);
    cr_expect_eq(t.served, 80);
    cr_expect_gt(t.p, 0.9);
}
