/* GET /v2/endpoints/:id/outcomes: what of the answers held. jobs keeps the sums; figures are made of them
 * here, each beside what chance would do, and written as JSON or as lines of a file. */
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "common/security/receipt.h"
#include "proto/jobs.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/service_calls.h"

static const double INTERVAL = 0.8, Z95 = 1.959964;

/* The shares between which 95 % of n rows' hits lie if each is one with probability p: exact up to so many
 * rows, then by the normal distribution. */
static void by_chance(uint64_t n, double p, double *ret_low, double *ret_high)
{
    enum { EXACT = 200 }; /* a page has hundreds of these, and by here both say the same to a hundredth */
    double rows = (double)n, term = pow(1 - p, rows), sum = 0;
    uint64_t low = n, high = 0;
    if (n > EXACT) {
        double d = Z95 * sqrt(p * (1 - p) / rows);
        *ret_low = p - d;
        *ret_high = p + d;
        return;
    }
    for (uint64_t k = 0; k <= n; k++) { /* term: that k rows of n hit */
        sum += term;
        low = low == n && sum > 0.025 ? k : low;
        high = k;
        if (sum >= 0.975)
            break;
        term *= (rows - (double)k) / ((double)k + 1) * p / (1 - p);
    }
    *ret_low = (double)low / rows;
    *ret_high = (double)high / rows;
}

/* The loss of who knows the shares of the classes and nothing of the row. */
static double entropy(const Tabella__OutcomeSums *s)
{
    double sum = 0, h = 0;
    for (size_t k = 0; k < s->n_count; k++)
        sum += (double)s->count[k];
    for (size_t k = 0; k < s->n_count; k++)
        if (s->count[k] > 0)
            h -= (double)s->count[k] / sum * log((double)s->count[k] / sum);
    return h;
}

/* What is said of a day, a slice or all; NAN: nothing of the kind is said of this task, or nothing at all. */
typedef struct {
    const char *metric;
    double score, baseline, mae, coverage, accuracy, confidence, chance_low, chance_high, width, delay_s;
    bool chance, beyond_chance;
} figures;

static void chance_of(figures *f, double is, double low, double high)
{
    f->chance = true;
    f->chance_low = fmax(low, 0);
    f->chance_high = fmin(high, 1);
    f->beyond_chance = is < low - 1e-9 || is > high + 1e-9;
}

static void number_figures(figures *f, const Tabella__OutcomeSums *s)
{
    double n = (double)s->rows, low, high;
    f->metric = "rmse";
    f->score = sqrt(s->sq_error / n);
    f->baseline = sqrt(s->squares / n);
    f->mae = s->abs_error / n;
    f->coverage = (double)s->inside / n;
    f->width = s->width / n;
    by_chance(s->rows, INTERVAL, &low, &high);
    chance_of(f, f->coverage, low, high);
}

static void class_figures(figures *f, const Tabella__OutcomeSums *s)
{
    double n = (double)s->rows, d = Z95 * sqrt(s->variance) / n;
    f->metric = "log_loss";
    f->score = s->log_loss / n;
    f->baseline = entropy(s);
    f->accuracy = (double)s->hits / n;
    f->confidence = s->confidence / n;
    /* half a row: hits are whole */
    chance_of(f, f->accuracy, f->confidence - d - 0.5 / n, f->confidence + d + 0.5 / n);
}

static void anomaly_figures(figures *f, const Tabella__OutcomeSums *s)
{
    uint64_t normal = s->rows - s->anomalies, wrong = s->flagged - s->caught;
    f->metric = "balanced_accuracy";
    f->baseline = 0.5;
    if (s->anomalies > 0 && normal > 0)
        f->score = ((double)s->caught / (double)s->anomalies + 1 - (double)wrong / (double)normal) / 2;
}

/* Of sums that hold any row. */
static figures figures_of(uint32_t task, const Tabella__OutcomeSums *s)
{
    figures f = {
        "", NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, s->delay_s / (double)s->rows, false, false
    };
    if (task == TAB_RECEIPT_NUMBER)
        number_figures(&f, s);
    else if (task == TAB_RECEIPT_CLASS)
        class_figures(&f, s);
    else
        anomaly_figures(&f, s);
    return f;
}

static const char *task_of(const Tabella__OutcomeDay *d)
{
    static const char *const tasks[] = { "", "regression", "classification", "anomaly" };
    return tasks[d->task <= 3 ? d->task : 0];
}

static const char *date_of(const Tabella__OutcomeDay *d, char ret[16])
{
    char at[TAB_TIME_TEXT];
    tab_time_text((int64_t)d->day * 86400000000, at);
    snprintf(ret, 16, "%.10s", at);
    return ret;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void fixed_or_null(tab_out *o, const char *key, double x)
{
    tab_out_key(o, key);
    if (isnan(x))
        tab_out_null(o);
    else
        tab_out_fixed(o, x);
}

static void point(tab_out *o, double said, double was, uint64_t rows)
{
    tab_out_open(o, '{');
    fixed_member(o, "said", said);
    fixed_member(o, "was", was);
    uint_member(o, "rows", rows);
    tab_out_close(o, '}');
}

static void calibration_member(tab_out *o, uint32_t task, const Tabella__OutcomeSums *s)
{
    double n = (double)s->rows;
    open_member(o, "calibration", '[');
    if (task == TAB_RECEIPT_NUMBER) {
        point(o, 0.1, (double)s->at_most_low / n, s->rows);
        point(o, 0.5, (double)s->at_most_median / n, s->rows);
        point(o, 0.9, (double)s->at_most_high / n, s->rows);
    }
    for (size_t i = 0; task == TAB_RECEIPT_CLASS && i < s->n_judged; i++)
        if (s->judged[i] > 0)
            point(o, s->said[i] / (double)s->judged[i], (double)s->was[i] / (double)s->judged[i],
                  s->judged[i]);
    tab_out_close(o, ']');
}

static void sums_members(tab_out *o, uint32_t task, const Tabella__OutcomeSums *s)
{
    uint_member(o, "rows", s->rows);
    if (s->rows == 0)
        return;
    figures f = figures_of(task, s);
    tab_out_key(o, "score");
    if (isnan(f.score))
        tab_out_null(o);
    else
        tab_out_real(o, f.score);
    real_member(o, "baseline", f.baseline);
    text_member(o, "metric", f.metric);
    if (task == TAB_RECEIPT_NUMBER) {
        real_member(o, "mae", f.mae);
        real_member(o, "width", f.width);
    } else if (task == TAB_RECEIPT_CLASS) {
        fixed_member(o, "accuracy", f.accuracy);
        fixed_member(o, "confidence", f.confidence);
    } else {
        uint_member(o, "anomalies", s->anomalies);
        uint_member(o, "flagged", s->flagged);
        uint_member(o, "caught", s->caught);
    }
    fixed_or_null(o, "coverage", f.coverage);
    if (f.chance) {
        fixed_member(o, "chance_low", f.chance_low);
        fixed_member(o, "chance_high", f.chance_high);
        bool_member(o, "beyond_chance", f.beyond_chance);
    }
    calibration_member(o, task, s);
    real_member(o, "delay_s", f.delay_s);
}

static void entry(tab_out *o, const Tabella__OutcomeDay *d, bool day)
{
    char date[16];
    tab_out_open(o, '{');
    if (day)
        text_member(o, "day", date_of(d, date));
    text_member(o, "task_type", task_of(d));
    sums_members(o, d->task, d->sums);
    open_member(o, "slices", '[');
    for (size_t i = 0; i < d->n_slices; i++) {
        tab_out_open(o, '{');
        text_member(o, "slice", d->slices[i]->slice);
        sums_members(o, d->task, d->slices[i]->sums);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
}

/* ---- a file ---------------------------------------------------------------------------------- */

static const char CSV_HEAD[] =
    "day,task_type,slice,rows,metric,score,baseline,mae,coverage,accuracy,confidence,"
    "chance_low,chance_high,beyond_chance,width,delay_s\r\n";

static void text(tab_out *o, const char *s)
{
    tab_out_bytes(o, s, strlen(s));
}

static void csv_number(tab_out *o, double x)
{
    char digits[40];
    int n = isnan(x) ? snprintf(digits, sizeof digits, ",") : snprintf(digits, sizeof digits, ",%.9g", x);
    tab_out_bytes(o, digits, (size_t)n);
}

/* A field of a file: names of slices hold values of the caller's rows. A spreadsheet is given no formula. */
static void csv_text(tab_out *o, const char *s)
{
    text(o, "\"");
    text(o, *s != 0 && strchr("=+-@", *s) != NULL ? "'" : "");
    for (; *s != 0; s++)
        tab_out_bytes(o, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
    text(o, "\"");
}

/* A line: of the day, or of one of its slices. */
static void csv_line(tab_out *o, const Tabella__OutcomeDay *d, const char *slice,
                     const Tabella__OutcomeSums *s)
{
    char date[16], rows[32];
    if (s->rows == 0)
        return;
    figures f = figures_of(d->task, s);
    const char *const cells[] = { date_of(d, date), ",", task_of(d), "," };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        text(o, cells[i]);
    if (slice[0] != 0)
        csv_text(o, slice);
    snprintf(rows, sizeof rows, ",%llu,", (unsigned long long)s->rows);
    text(o, rows);
    text(o, f.metric);
    const double before[] = { f.score,    f.baseline,   f.mae,        f.coverage,
                              f.accuracy, f.confidence, f.chance_low, f.chance_high };
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        csv_number(o, before[i]);
    text(o, !f.chance ? "," : f.beyond_chance ? ",true" : ",false");
    csv_number(o, f.width);
    csv_number(o, f.delay_s);
    text(o, "\r\n");
}

static tab_status csv_answer(request *r, const Tabella__OutcomeQuality *y, tab_error *err)
{
    tab_out *o = &r->out;
    text(o, CSV_HEAD);
    for (size_t i = 0; i < y->n_days; i++) {
        const Tabella__OutcomeDay *d = y->days[i];
        csv_line(o, d, "", d->sums);
        for (size_t k = 0; k < d->n_slices; k++)
            csv_line(o, d, d->slices[k]->slice, d->slices[k]->sums);
    }
    if (o->failed)
        return tab_no_memory(err);
    r->media = "text/csv";
    return TAB_OK;
}

/* `?format=` says so, else an Accept that names CSV and not JSON. */
static tab_status wants_csv(const request *r, bool *ret, tab_error *err)
{
    tab_str format;
    TAB_TRY(query_param(r, "format", &format, err));
    *ret = format.p == NULL ? r->accept != NULL && strcasestr(r->accept, "text/csv") != NULL &&
                                  strcasestr(r->accept, "application/json") == NULL
                            : tab_str_eq(format, TAB_S("csv"));
    return format.p == NULL || *ret || tab_str_eq(format, TAB_S("json"))
               ? TAB_OK
               : tab_fail(err, TAB_VALIDATION, "format", "`format` must be \"json\" or \"csv\"");
}

/* ---- the route ------------------------------------------------------------------------------- */

tab_status get_outcomes(request *r, tab_error *err)
{
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    const Tabella__OutcomeQuality *y = NULL;
    tab_out *o = &r->out;
    bool csv;
    TAB_TRY(wants_csv(r, &csv, err));
    q.id_or_name = STR(tab_arena_copy(r->arena, r->param[0]).p);
    TAB_TRY(call(r, "jobs", "OutcomeQuality", &q.base, &tabella__outcome_quality__descriptor, &y, err));
    if (y->endpoint == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "an answer is damaged");
    if (csv)
        return csv_answer(r, y, err);
    const Tabella__Endpoint *e = y->endpoint;
    tab_out_open(o, '{');
    text_member(o, "endpoint", e->name);
    text_member(o, "id", e->id);
    tab_out_key(o, "held_out");
    held_out_json(o, e->held_out, e->data_snapshot, e->data_version_us, e->report_id, true);
    uint_member(o, "kept", y->kept);
    open_member(o, "total", '[');
    for (size_t i = 0; i < y->n_total; i++)
        entry(o, y->total[i], false);
    tab_out_close(o, ']');
    open_member(o, "days", '[');
    for (size_t i = 0; i < y->n_days; i++)
        entry(o, y->days[i], true);
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    return TAB_OK;
}
