/* drift of an endpoint: its served rows beside its pinned ones, a test a column (decision 0322).
 *
 * With R_k of R pinned and S_k of S served cells in bin k the two-sample chi-square statistic is
 *
 *   X = sum over k of (sqrt(S / R) R_k - sqrt(R / S) S_k)^2 / (R_k + S_k)
 *
 * of as many degrees of freedom as bins hold any, less one.
 *
 * Its tail is read off the normal distribution by Wilson & Hilferty (1931). A column has drifted where the
 * tail is below ALPHA over the number of columns, so that of endpoints that serve what they pin at most a
 * share ALPHA shows any; and where the population stability index is at least SMALL, for with many rows the
 * least difference is none of chance. */
#include "services/api/serve/drift.h"
#include "proto/jobs.pb-c.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"

#include <math.h>

/* SMALL: below it a shift is called none in credit scoring (Siddiqi, Credit Risk Scorecards, 2006).
 * LEAST_ROWS: of requests. */
static const double ALPHA = 0.01, SMALL = 0.1;
enum { LEAST_ROWS = 20 };

static uint64_t served_in(const Tabella__DriftColumn *c, size_t b)
{
    return c->served[b] + (b < c->n_before ? c->before[b] : 0);
}

drift_test drift_tested(const Tabella__DriftColumn *c, size_t columns)
{
    double pinned = 0, served = 0, x = 0, degrees = -1;
    drift_test t = { .p = 1 };
    for (size_t b = 0; b < c->n_pinned; b++)
        pinned += (double)c->pinned[b], served += (double)served_in(c, b);
    t.served = (uint64_t)served;
    if (!(pinned > 0) || !(served > 0))
        return t;
    for (size_t b = 0; b < c->n_pinned; b++) {
        double r = (double)c->pinned[b], s = (double)served_in(c, b);
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

static double share_missing(const Tabella__DriftColumn *c, bool of_served)
{
    double all = 0, missing = 0;
    for (size_t b = 0; b < c->n_pinned; b++) {
        missing = (double)(of_served ? served_in(c, b) : c->pinned[b]);
        all += missing;
    }
    return all > 0 ? missing / all : 0;
}

static void test_members(tab_out *o, const drift_test *t)
{
    fixed_member(o, "stability_index", t->stability);
    double_member(o, "p_value", t->p);
    double_member(o, "threshold", t->threshold);
    bool_member(o, "drifted", t->drifted);
}

static double mean_of(const Tabella__DriftColumn *c, bool of_served)
{
    double n = 0;
    for (size_t b = 0; b < c->n_pinned; b++)
        n += (double)(of_served ? served_in(c, b) : c->pinned[b]);
    return n > 0 ? (of_served ? c->served_sum + c->before_sum : c->pinned_sum) / n : 0;
}

void drift_member(tab_out *o, const Tabella__Drift *d, bool number)
{
    const Tabella__DriftColumn *sure = NULL;
    tab_out_key(o, "drift");
    if (d == NULL) {
        tab_out_null(o);
        return;
    }
    tab_out_open(o, '{');
    uint_member(o, "rows", d->rows + d->before_rows);
    time_member(o, "since", d->since_us);
    time_member(o, "until", d->until_us);
    size_t drifted = 0;
    open_member(o, "columns", '[');
    for (size_t i = 0; i < d->n_columns; i++) {
        const Tabella__DriftColumn *c = d->columns[i];
        if (c->address.len == 0) {
            sure = c;
            continue;
        }
        drift_test t = drift_tested(c, d->n_columns);
        drifted += t.drifted;
        tab_out_open(o, '{');
        str_member(o, "column", (tab_str){ (const char *)c->address.data, c->address.len });
        test_members(o, &t);
        fixed_member(o, "missing_pinned", share_missing(c, false));
        fixed_member(o, "missing_served", share_missing(c, true));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    uint_member(o, "columns_drifted", drifted);
    tab_out_key(o, "confidence");
    if (sure == NULL) {
        tab_out_null(o);
    } else {
        drift_test t = drift_tested(sure, d->n_columns);
        tab_out_open(o, '{');
        text_member(o, "measure", number ? "standard_deviation" : "probability");
        double_member(o, "pinned_mean", mean_of(sure, false));
        double_member(o, "served_mean", mean_of(sure, true));
        test_members(o, &t);
        tab_out_close(o, '}');
    }
    tab_out_close(o, '}');
}
