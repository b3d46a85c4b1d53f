/* drift of an endpoint: its served rows beside its pinned ones (common/calibration/drift.h). */
#include "services/api/serve/drift.h"
#include "common/calibration/drift.h"
#include "proto/jobs.pb-c.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"

static double share_missing(const Tabella__DriftColumn *c, bool of_served)
{
    double all = 0, missing = 0;
    for (size_t b = 0; b < c->n_pinned; b++) {
        missing = (double)(of_served ? tab_drift_served(c, b) : c->pinned[b]);
        all += missing;
    }
    return all > 0 ? missing / all : 0;
}

static void test_members(tab_out *o, const tab_drift_test *t)
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
        n += (double)(of_served ? tab_drift_served(c, b) : c->pinned[b]);
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
        tab_drift_test t = tab_drift_tested(c, d->n_columns);
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
        tab_drift_test t = tab_drift_tested(sure, d->n_columns);
        tab_out_open(o, '{');
        text_member(o, "measure", number ? "standard_deviation" : "probability");
        double_member(o, "pinned_mean", mean_of(sure, false));
        double_member(o, "served_mean", mean_of(sure, true));
        test_members(o, &t);
        tab_out_close(o, '}');
    }
    tab_out_close(o, '}');
}
