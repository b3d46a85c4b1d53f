/* See drift.h.
 *
 * With R_k of R pinned and S_k of S served cells in bin k the two-sample chi-square statistic is
 *
 *   X = sum over k of (sqrt(S / R) R_k - sqrt(R / S) S_k)^2 / (R_k + S_k)
 *
 * of as many degrees of freedom as bins hold any, less one. Its tail is read off the normal distribution by
 * Wilson & Hilferty (1931). */
#include "common/calibration/drift.h"

#include <math.h>

/* SMALL: below it a shift is called none in credit scoring (Siddiqi, Credit Risk Scorecards, 2006).
 * LEAST_ROWS: of requests. */
static const double ALPHA = 0.01, SMALL = 0.1;
enum { LEAST_ROWS = 20 };

uint64_t tab_drift_served(const Tabella__DriftColumn *c, size_t b)
{
    return c->served[b] + (b < c->n_before ? c->before[b] : 0);
}

tab_drift_test tab_drift_tested(const Tabella__DriftColumn *c, size_t columns)
{
    double pinned = 0, served = 0, x = 0, degrees = -1;
    tab_drift_test t = { .p = 1 };
    for (size_t b = 0; b < c->n_pinned; b++)
        pinned += (double)c->pinned[b], served += (double)tab_drift_served(c, b);
    t.served = (uint64_t)served;
    if (!(pinned > 0) || !(served > 0))
        return t;
    for (size_t b = 0; b < c->n_pinned; b++) {
        double r = (double)c->pinned[b], s = (double)tab_drift_served(c, b);
        double d = sqrt(served / pinned) * r - sqrt(pinned / served) * s;
        if (r + s > 0)
            x += d * d / (r + s), degrees++;
        /* half a row more a bin: none is empty */
        double pr = (r + 0.5) / (pinned + 0.5 * (double)c->n_pinned);
        double ps = (s + 0.5) / (served + 0.5 * (double)c->n_pinned);
        t.stability += (ps - pr) * log(ps / pr);
    }
    if (degrees > 0) {
        double of = 2 / (9 * degrees), z = (cbrt(x / degrees) - (1 - of)) / sqrt(of);
        t.p = 0.5 * erfc(z / sqrt(2));
    }
    t.threshold = ALPHA / (double)(columns > 0 ? columns : 1);
    t.drifted = served >= LEAST_ROWS && t.p < t.threshold && t.stability >= SMALL;
    return t;
}
