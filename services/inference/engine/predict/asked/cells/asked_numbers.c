/* See asked_numbers.h. */
#include "services/inference/engine/predict/asked/cells/asked_numbers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/asked/cells/two_samples.h"

/* SHARE: of the asked numbers that one value is. RARER: by how much known ones have it less often. ALIKE:
 * standard errors by which numbers of one kind may lie apart. APART: by how much a column's must. By hand. */
static const double SHARE = 0.2, RARER = 20, ALIKE = 1.95, APART = 0.5;

/* The first of n ascending numbers that is not below x. */
static size_t first_from(const double *v, size_t n, double x)
{
    size_t lo = 0;
    for (size_t hi = n; lo < hi;) {
        size_t mid = lo + (hi - lo) / 2;
        if (v[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool alike(const double *a, size_t n, const double *b, size_t m)
{
    return n >= TAB_ASKED_LEAST && m >= TAB_ASKED_LEAST && tab_two_samples_errors(a, n, b, m, 1, 0) <= ALIKE;
}

/* Where the longest run of one value among m ascending numbers begins; *ret: its length. */
static size_t longest_run(const double *v, size_t m, size_t *ret)
{
    size_t best = 0;
    *ret = 0;
    for (size_t i = 0, end; i < m; i = end) {
        for (end = i; end < m && v[end] == v[i];) // NOLINT: the very number
            end++;
        if (end - i > *ret)
            best = i, *ret = end - i;
    }
    return best;
}

double tab_asked_filled(const double *known, size_t n, const double *open, size_t m)
{
    size_t many, at = longest_run(open, m, &many), rest = m - many;
    if (many < TAB_ASKED_LEAST || (double)many < SHARE * (double)m || rest < TAB_ASKED_LEAST)
        return (double)NAN;
    double value = open[at];
    size_t below = first_from(known, n, value), upto = first_from(known, n, nextafter(value, INFINITY));
    if (RARER * (double)(upto - below) * (double)m > (double)many * (double)n)
        return (double)NAN;
    double *other = malloc(rest * sizeof *other);
    bool filled = false;
    for (size_t i = 0; other != NULL && i < rest; i++)
        other[i] = open[i < at ? i : i + many];
    if (other != NULL)
        filled = alike(known, n, other, rest) || (at == rest && alike(known, below, other, rest)) ||
                 (at == 0 && alike(known + upto, n - upto, other, rest));
    free(other);
    return filled ? value : (double)NAN;
}

void tab_asked_exchanged(tab_asked_place *of, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        double best = ALIKE;
        of[i].as = i;
        if (tab_two_samples(of[i].known, of[i].n, of[i].open, of[i].m, 1, 0) < APART)
            continue;
        for (size_t j = 0; j < k; j++) {
            double d = tab_two_samples_errors(of[j].known, of[j].n, of[i].open, of[i].m, 1, 0);
            if (j != i && d <= best)
                best = d, of[i].as = j;
        }
    }
    /* what is another's, which stands where it should, is none's */
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < k; i++)
            if (of[i].as != i && of[of[i].as].as == of[i].as)
                of[i].as = i, again = true;
    }
}
