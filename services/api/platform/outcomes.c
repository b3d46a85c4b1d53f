/* /v2/endpoints/:id/outcomes: what became true of rows that were served, and what of the answers held. jobs
 * keeps the sums; figures are made of them here, each beside what chance would do. */
#include <math.h>
#include <stdio.h>

#include "common/security/receipt.h"
#include "proto/jobs.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

enum { ROWS_MOST = 10000 };

/* ---- what came true -------------------------------------------------------------------------- */

typedef struct {
    request *r;
    Tabella__OutcomeRow **row;
    size_t n;
} rows_read;

/* The outcome's row: a receipt that is no text is an empty one, which is refused by its row. */
static Tabella__OutcomeRow *add_row(rows_read *w, tab_str receipt, tab_cell outcome)
{
    Tabella__OutcomeRow *o = tab_arena_new_of(w->r->arena, Tabella__OutcomeRow, 1);
    if (o == NULL)
        return NULL;
    tabella__outcome_row__init(o);
    if (receipt.n < TAB_RECEIPT_TEXT && (receipt.n == 0 || memchr(receipt.p, 0, receipt.n) == NULL))
        o->receipt = receipt.n == 0 ? o->receipt : STR(tab_arena_copy(w->r->arena, receipt).p);
    else
        o->receipt = STR("-"); /* too long to be one */
    o->kind = outcome.kind == TAB_CELL_BOOL     ? 1
              : outcome.kind == TAB_CELL_NUMBER ? 2
              : outcome.kind == TAB_CELL_TEXT   ? 3
                                                : 0;
    o->number = outcome.kind == TAB_CELL_BOOL ? tab_str_eq(outcome.text, TAB_S("true")) : outcome.num;
    if (outcome.kind == TAB_CELL_TEXT)
        o->text = (ProtobufCBinaryData){ outcome.text.n, (uint8_t *)(uintptr_t)outcome.text.p };
    w->row[w->n++] = o;
    return o->receipt == NULL ? NULL : o;
}

static tab_status bad_time(size_t i, tab_error *err)
{
    char path[48];
    snprintf(path, sizeof path, "rows[%zu].at", i);
    return tab_fail(err, TAB_VALIDATION, path,
                    "`at` is a time in ISO 8601 with its offset, 2026-11-24T10:00:00Z, or left out");
}

static tab_cell json_cell(const tab_json *v)
{
    tab_cell c = { TAB_CELL_NULL, 0, TAB_S("") };
    if (v == NULL)
        return c;
    if (v->kind == TAB_JSON_BOOL)
        return (tab_cell){ TAB_CELL_BOOL, 0, v->yes ? TAB_S("true") : TAB_S("false") };
    c.kind = v->kind == TAB_JSON_NUMBER   ? TAB_CELL_NUMBER
             : v->kind == TAB_JSON_STRING ? TAB_CELL_TEXT
                                          : TAB_CELL_NULL;
    c.num = v->num;
    c.text = v->text;
    return c;
}

static tab_status read_json(rows_read *w, const tab_json *rows, tab_error *err)
{
    size_t i = 0;
    for (const tab_json *m = rows->first; m != NULL; m = m->next, i++) {
        const tab_json *receipt = tab_json_get(m, "receipt"), *outcome = tab_json_get(m, "outcome"),
                       *at = tab_json_get(m, "at");
        char path[48];
        snprintf(path, sizeof path, "rows[%zu]", i);
        if (m->kind != TAB_JSON_OBJECT)
            return tab_fail(err, TAB_VALIDATION, path, "a row is an object with `receipt` and `outcome`");
        if (outcome != NULL && (outcome->kind == TAB_JSON_ARRAY || outcome->kind == TAB_JSON_OBJECT))
            return tab_fail(err, TAB_VALIDATION, path, "an outcome is a number, a text, true or false");
        bool text = receipt != NULL && receipt->kind == TAB_JSON_STRING;
        Tabella__OutcomeRow *o = add_row(w, text ? receipt->text : TAB_S(""), json_cell(outcome));
        if (o == NULL)
            return tab_no_memory(err);
        if (at != NULL && at->kind != TAB_JSON_NULL &&
            (at->kind != TAB_JSON_STRING || !tab_time_parse(at->text, &o->at_us)))
            return bad_time(i, err);
    }
    return TAB_OK;
}

/* The column's place; t->cols: there is none. */
static size_t column_of(const tab_table *t, const char *name)
{
    size_t c = 0;
    while (c < t->cols && !tab_str_eq(t->col[c].name, tab_str_of(name)))
        c++;
    return c;
}

static tab_status read_table(rows_read *w, const tab_table *t, tab_error *err)
{
    size_t receipt = column_of(t, "receipt"), outcome = column_of(t, "outcome"), at = column_of(t, "at");
    if (receipt == t->cols || outcome == t->cols)
        return tab_fail(err, TAB_VALIDATION, "tables[0].columns",
                        "a table of outcomes has the columns `receipt` and `outcome`, and may have `at`");
    for (size_t i = 0; i < t->rows; i++) {
        tab_cell r = tab_cell_at(&t->col[receipt], i);
        tab_cell when = at < t->cols ? tab_cell_at(&t->col[at], i) : (tab_cell){ .kind = TAB_CELL_NULL };
        Tabella__OutcomeRow *o =
            add_row(w, r.kind == TAB_CELL_TEXT ? r.text : TAB_S(""), tab_cell_at(&t->col[outcome], i));
        if (o == NULL)
            return tab_no_memory(err);
        if (when.kind != TAB_CELL_NULL &&
            (when.kind != TAB_CELL_TEXT || !tab_time_parse(when.text, &o->at_us)))
            return bad_time(i, err);
    }
    return TAB_OK;
}

static tab_status read_rows(request *r, Tabella__OutcomesRequest *q, tab_error *err)
{
    tab_body b = { 0 };
    TAB_TRY(body_read(r, &b, err));
    const tab_json *rows = tab_json_get(b.root, "rows");
    if (rows == NULL ? b.n_tables != 1 : b.n_tables != 0 || rows->kind != TAB_JSON_ARRAY)
        return tab_fail(err, TAB_VALIDATION, "rows",
                        "outcomes are a list `rows`, or one table in `tables` in its place");
    size_t n = rows != NULL ? rows->count : b.tables[0]->rows;
    if (n > ROWS_MOST)
        return tab_fail(err, TAB_VALIDATION, "rows", "at most %d outcomes a call: send them in several",
                        ROWS_MOST);
    rows_read w = { r, tab_arena_new_of(r->arena, Tabella__OutcomeRow *, n + 1), 0 };
    if (w.row == NULL)
        return tab_no_memory(err);
    TAB_TRY(rows != NULL ? read_json(&w, rows, err) : read_table(&w, b.tables[0], err));
    q->rows = w.row;
    q->n_rows = w.n;
    return TAB_OK;
}

tab_status post_outcomes(request *r, tab_error *err)
{
    Tabella__OutcomesRequest q = TABELLA__OUTCOMES_REQUEST__INIT;
    const Tabella__OutcomesReply *y = NULL;
    tab_out *o = &r->out;
    TAB_TRY(read_rows(r, &q, err));
    q.id_or_name = STR(tab_arena_copy(r->arena, r->param[0]).p);
    TAB_TRY(call(r, "jobs", "Outcomes", &q.base, &tabella__outcomes_reply__descriptor, &y, err));
    tab_out_open(o, '{');
    uint_member(o, "accepted", y->accepted);
    uint_member(o, "ignored", y->ignored);
    open_member(o, "refused", '[');
    for (size_t i = 0; i < y->n_refused; i++) {
        tab_out_open(o, '{');
        uint_member(o, "row", y->refused[i]->row);
        text_member(o, "reason", y->refused[i]->reason);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    return TAB_OK;
}

/* ---- what held ------------------------------------------------------------------------------- */

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

static void chance_members(tab_out *o, double is, double low, double high)
{
    fixed_member(o, "chance_low", fmax(low, 0));
    fixed_member(o, "chance_high", fmin(high, 1));
    bool_member(o, "beyond_chance", is < low - 1e-9 || is > high + 1e-9);
}

static void point(tab_out *o, double said, double was, uint64_t rows)
{
    tab_out_open(o, '{');
    fixed_member(o, "said", said);
    fixed_member(o, "was", was);
    uint_member(o, "rows", rows);
    tab_out_close(o, '}');
}

static void number_members(tab_out *o, const Tabella__OutcomeSums *s)
{
    double n = (double)s->rows, low, high;
    real_member(o, "score", sqrt(s->sq_error / n));
    real_member(o, "baseline", sqrt(s->squares / n));
    text_member(o, "metric", "rmse");
    real_member(o, "mae", s->abs_error / n);
    fixed_member(o, "coverage", (double)s->inside / n);
    by_chance(s->rows, INTERVAL, &low, &high);
    chance_members(o, (double)s->inside / n, low, high);
    real_member(o, "width", s->width / n);
    open_member(o, "calibration", '[');
    point(o, 0.1, (double)s->at_most_low / n, s->rows);
    point(o, 0.5, (double)s->at_most_median / n, s->rows);
    point(o, 0.9, (double)s->at_most_high / n, s->rows);
    tab_out_close(o, ']');
}

static void class_members(tab_out *o, const Tabella__OutcomeSums *s)
{
    double n = (double)s->rows, said = s->confidence / n, d = Z95 * sqrt(s->variance) / n;
    real_member(o, "score", s->log_loss / n);
    real_member(o, "baseline", entropy(s));
    text_member(o, "metric", "log_loss");
    fixed_member(o, "accuracy", (double)s->hits / n);
    fixed_member(o, "confidence", said);
    tab_out_key(o, "coverage");
    tab_out_null(o);
    /* half a row: hits are whole */
    chance_members(o, (double)s->hits / n, said - d - 0.5 / n, said + d + 0.5 / n);
    open_member(o, "calibration", '[');
    for (size_t i = 0; i < s->n_judged; i++)
        if (s->judged[i] > 0)
            point(o, s->said[i] / (double)s->judged[i], (double)s->was[i] / (double)s->judged[i],
                  s->judged[i]);
    tab_out_close(o, ']');
}

static void anomaly_members(tab_out *o, const Tabella__OutcomeSums *s)
{
    uint64_t normal = s->rows - s->anomalies, wrong = s->flagged - s->caught;
    tab_out_key(o, "score");
    if (s->anomalies == 0 || normal == 0)
        tab_out_null(o);
    else
        tab_out_real(o, ((double)s->caught / (double)s->anomalies + 1 - (double)wrong / (double)normal) / 2);
    real_member(o, "baseline", 0.5);
    text_member(o, "metric", "balanced_accuracy");
    uint_member(o, "anomalies", s->anomalies);
    uint_member(o, "flagged", s->flagged);
    uint_member(o, "caught", s->caught);
    tab_out_key(o, "coverage");
    tab_out_null(o);
    open_member(o, "calibration", '[');
    tab_out_close(o, ']');
}

static void sums_members(tab_out *o, uint32_t task, const Tabella__OutcomeSums *s)
{
    uint_member(o, "rows", s->rows);
    if (s->rows == 0)
        return;
    if (task == TAB_RECEIPT_NUMBER)
        number_members(o, s);
    else if (task == TAB_RECEIPT_CLASS)
        class_members(o, s);
    else
        anomaly_members(o, s);
    real_member(o, "delay_s", s->delay_s / (double)s->rows);
}

static void entry(tab_out *o, const Tabella__OutcomeDay *d, bool day)
{
    static const char *const tasks[] = { "", "regression", "classification", "anomaly" };
    char date[16];
    int64_t us = (int64_t)d->day * 86400000000;
    tab_out_open(o, '{');
    if (day) {
        char at[TAB_TIME_TEXT];
        tab_time_text(us, at);
        snprintf(date, sizeof date, "%.10s", at);
        text_member(o, "day", date);
    }
    text_member(o, "task_type", tasks[d->task <= 3 ? d->task : 0]);
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

tab_status get_outcomes(request *r, tab_error *err)
{
    Tabella__GetEndpointRequest q = TABELLA__GET_ENDPOINT_REQUEST__INIT;
    const Tabella__OutcomeQuality *y = NULL;
    tab_out *o = &r->out;
    q.id_or_name = STR(tab_arena_copy(r->arena, r->param[0]).p);
    TAB_TRY(call(r, "jobs", "OutcomeQuality", &q.base, &tabella__outcome_quality__descriptor, &y, err));
    if (y->endpoint == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "an answer is damaged");
    const Tabella__Endpoint *e = y->endpoint;
    tab_out_open(o, '{');
    text_member(o, "endpoint", e->name);
    text_member(o, "id", e->id);
    tab_out_key(o, "held_out");
    held_out_json(o, e->held_out, e->data_snapshot, e->data_version_us, e->report_id, true);
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
