/* options.out: a run's bundle or its predictions, handed to data-connector before the job ends
 * (decision 0327). What cannot be written fails the run; an attempt that dies between writing and
 * the job's end is repeated, and writes the same again. */
#include <strings.h>

#include "common/base/proto.h"
#include "common/bundle/bundle_json.h"
#include "proto/data.pb-c.h"
#include "services/jobs/work.h"

enum { WRITE_MS = 3600000, PIECE_MS = 60000, COLUMNS = 5, SERIES_MOST = 64 };
static const size_t SCRATCH = (size_t)2 << 30; /* of a piece */

typedef struct {
    const Tabella__Prediction *p;
    tab_column classes;
    size_t n_classes, low, high; /* low, high: places of the quantiles 0.1 and 0.9, or the number of levels */
    tab_builder *b[COLUMNS + SERIES_MOST + 1]; /* those of every row; then series and time of steps ahead */
    size_t own, cols;                          /* how many of every row; in all */
    size_t rows;
} predictions;

static void number_or_null(tab_builder *b, const double *of, size_t levels, size_t i, size_t level)
{
    if (level < levels)
        tab_builder_number(b, of[i * levels + level]);
    else
        tab_builder_null(b);
}

static void add_row(predictions *x, const Tabella__Results *r, size_t i, bool missing)
{
    size_t levels = x->p->n_quantile_levels;
    tab_builder_number(x->b[0], r->row[i]);
    tab_builder_bool(x->b[1], missing);
    if (r->n_label > i) {
        tab_builder_cell(x->b[2], tab_cell_at(&x->classes, r->label[i]));
        tab_builder_number(x->b[3], r->probabilities[i * x->n_classes + r->label[i]]);
    } else if (r->n_value > i) {
        tab_builder_number(x->b[2], r->value[i]);
        number_or_null(x->b[3], r->quantiles, levels, i, x->low);
        number_or_null(x->b[4], r->quantiles, levels, i, x->high);
    } else if (r->n_anomaly_score > i) {
        tab_builder_number(x->b[2], r->anomaly_score[i]);
        tab_builder_bool(x->b[3], r->anomaly_score[i] >= x->p->threshold);
    }
    for (size_t k = x->own; k < x->cols; k++)
        tab_builder_null(x->b[k]);
}

/* Steps ahead of every series: rows that the table does not have, so they have no number. */
static bool add_steps(predictions *x, const Tabella__Forecast *f)
{
    tab_column at, series[SERIES_MOST];
    size_t n = f == NULL ? 0 : f->n_value;
    if (n == 0)
        return true;
    if (!tab_column_view(f->at, n, &at))
        return false;
    for (size_t k = 0; x->own + k + 1 < x->cols; k++)
        if (!tab_column_view(f->series_value[k], n, &series[k]))
            return false;
    for (size_t i = 0; i < n; i++) {
        tab_builder_null(x->b[0]);
        tab_builder_bool(x->b[1], true);
        tab_builder_number(x->b[2], f->value[i]);
        tab_builder_number(x->b[3], f->low[i]);
        tab_builder_number(x->b[4], f->high[i]);
        for (size_t k = 0; x->own + k + 1 < x->cols; k++)
            tab_builder_cell(x->b[x->own + k], tab_cell_at(&series[k], i));
        tab_builder_cell(x->b[x->cols - 1], tab_cell_at(&at, i));
    }
    return true;
}

static size_t level(const Tabella__Prediction *p, double q)
{
    size_t k = 0;
    while (k < p->n_quantile_levels && (p->quantile_levels[k] < q - 1e-9 || p->quantile_levels[k] > q + 1e-9))
        k++;
    return k;
}

/* The columns of steps ahead: those that name a series, by their own names, and the time. */
static bool begin_steps(predictions *x, tab_arena *a, const Tabella__Forecast *f)
{
    size_t n = f == NULL || f->n_value == 0 ? 0 : f->n_series + 1;
    for (size_t k = 0; k < n && n <= SERIES_MOST + 1; k++) {
        tab_str name = TAB_S("time");
        if (k + 1 < n)
            name = (tab_str){ (const char *)f->series[k]->address.data, f->series[k]->address.len };
        const char *dot = k + 1 < n ? memchr(name.p, '.', name.n) : NULL;
        if (dot != NULL)
            name = (tab_str){ dot + 1, (size_t)(name.p + name.n - dot - 1) };
        if ((x->b[x->cols++] = tab_builder_new(a, name)) == NULL)
            return false;
    }
    return n <= SERIES_MOST + 1;
}

/* Of what kind the results are decides the columns; their names are those of the command line's files. */
static bool begin(predictions *x, tab_arena *a, const Tabella__Results *r)
{
    static const char *const titles[3][COLUMNS + 1] = {
        { "row", "target_missing", "predicted", "probability", NULL, NULL },
        { "row", "target_missing", "predicted", "low_0.1", "high_0.9", NULL },
        { "row", "target_missing", "anomaly_score", "is_anomaly", NULL, NULL },
    };
    const char *const *title = titles[r->n_anomaly_score > 0 ? 2 : r->n_value > 0 ? 1 : 0];
    x->n_classes = r->n_row > 0 ? r->n_probabilities / r->n_row : 0;
    x->low = level(x->p, 0.1);
    x->high = level(x->p, 0.9);
    if (x->n_classes > 0 && !tab_column_view(x->p->classes, x->n_classes, &x->classes))
        return false;
    for (; title[x->cols] != NULL; x->cols++)
        if ((x->b[x->cols] = tab_builder_new(a, tab_str_of(title[x->cols]))) == NULL)
            return false;
    x->own = x->cols;
    return x->own < COLUMNS || begin_steps(x, a, x->p->forecast);
}

/* In the order of rows: each part has it already. */
static void add_rows(predictions *x, const Tabella__Results *r, const Tabella__Results *m)
{
    for (size_t i = 0, k = 0; i < r->n_row || k < m->n_row; x->rows++)
        if (k == m->n_row || (i < r->n_row && r->row[i] < m->row[k]))
            add_row(x, r, i++, false);
        else
            add_row(x, m, k++, true);
}

static tab_status finish(predictions *x, tab_arena *a, const tab_table **ret, tab_error *err)
{
    tab_column *col = tab_arena_new_of(a, tab_column, COLUMNS + SERIES_MOST + 1);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    if (col == NULL || t == NULL)
        return tab_no_memory(err);
    for (size_t k = 0; k < x->cols; k++)
        if (!tab_builder_finish(x->b[k], &col[k]))
            return tab_no_memory(err);
    *t = (tab_table){ .id = TAB_S("predictions"), .rows = x->rows, .cols = x->cols, .col = col };
    *ret = t;
    return TAB_OK;
}

static const Tabella__Results none = TABELLA__RESULTS__INIT;

static tab_status predictions_table(tab_arena *a, const Tabella__Prediction *p, const tab_table **ret,
                                    tab_error *err)
{
    const Tabella__Results *r = p->results != NULL ? p->results : &none,
                           *m = p->missing_target_results != NULL ? p->missing_target_results : &none;
    predictions x = { .p = p };
    if (!begin(&x, a, r->n_row > 0 ? r : m))
        return tab_no_memory(err);
    add_rows(&x, r, m);
    if (x.cols > x.own && !add_steps(&x, p->forecast))
        return tab_no_memory(err);
    if (x.cols > x.own)
        x.rows += p->forecast->n_value;
    return finish(&x, a, ret, err);
}

/* The piece that begins with row `from`, of a job's results. */
static tab_status kept_piece(work *w, tab_arena *a, uint64_t from, const Tabella__Bundle **ret,
                             tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_str bytes;
    const jobs_wanted wanted = { tab_paged_name(TAB_PAGE_RESULTS), from };
    TAB_TRY(tab_tx_begin(w->self->pg, w->c->org, tab_in_ms(PIECE_MS), &tx, err));
    TAB_TRY(jobs_output_get(tx, w->c->org, w->c->job_id, &w->self->run_keys, &wanted, a, &bytes, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    const Tabella__Bundle *b = tab_proto_read(a, &tabella__bundle__descriptor, bytes);
    bool has = b != NULL && tab_bundle_sound(b) && b->prediction != NULL && b->prediction->results != NULL;
    if (!has || b->prediction->results->n_row == 0 || b->prediction->results->row[0] != from)
        return tab_fail(err, TAB_INTERNAL, "", "a stored bundle cannot be read");
    *ret = b;
    return TAB_OK;
}

/* What the pieces said, as one table: a write is all or nothing. */
static tab_status kept_table(work *w, tab_arena *a, uint64_t rows, const tab_table **ret, tab_error *err)
{
    predictions x = { .p = NULL };
    while (x.rows < rows) {
        TAB_AUTO(tab_arena) *of = tab_arena_new(SCRATCH);
        const Tabella__Bundle *b = NULL;
        if (of == NULL)
            return tab_no_memory(err);
        TAB_TRY(kept_piece(w, of, x.rows, &b, err));
        const Tabella__Results *r = b->prediction->results;
        x.p = b->prediction;
        if (x.cols == 0 && !begin(&x, a, r))
            return tab_no_memory(err);
        if (x.n_classes > 0 && (r->n_probabilities != x.n_classes * r->n_row ||
                                !tab_column_view(x.p->classes, x.n_classes, &x.classes)))
            return tab_fail(err, TAB_INTERNAL, "", "a stored bundle cannot be read");
        add_rows(&x, r, &none);
    }
    return finish(&x, a, ret, err);
}

static void bundle_document(tab_out *o, const Tabella__SubmitRequest *q, const Tabella__RunReply *y)
{
    const char *const member[][2] = {
        { "mode", "run" }, { "run_id", q->run_id }, { "job_id", q->job_id }, { "base", y->base_model }
    };
    tab_out_open(o, '{');
    for (size_t i = 0; i < sizeof member / sizeof *member; i++) {
        tab_out_key(o, member[i][0]);
        tab_out_cstr(o, member[i][1]);
    }
    tab_bundle_json(o, y->bundle, NULL);
    tab_out_close(o, '}');
}

tab_status work_out(work *w, tab_arena *a, const Tabella__SubmitRequest *q, const Tabella__RunReply *y,
                    tab_error *err)
{
    Tabella__WriteRequest ask = TABELLA__WRITE_REQUEST__INIT;
    const void *reply;
    const tab_table *table = NULL;
    tab_out text = { 0 };
    size_t n = strlen(q->out);
    bool json = n > 5 && strcasecmp(q->out + n - 5, ".json") == 0;
    if (!tab_bundle_sound(y->bundle))
        return tab_fail(err, TAB_INTERNAL, "", "a pass whose bundle is damaged");
    ask.out = q->out;
    ask.once = q->job_id;
    ask.mode = q->out_mode;
    if (json) {
        bundle_document(&text, q, y);
        ask.file = (ProtobufCBinaryData){ text.n, (uint8_t *)text.p };
    } else if (y->bundle->prediction != NULL) {
        TAB_TRY(predictions_table(a, y->bundle->prediction, &table, err));
    }
    work_phase(w, "writing", 0.95, 0.96);
    tab_status s = text.failed
                       ? tab_no_memory(err)
                       : work_call_with(w, "data-connector", "Write", WRITE_MS, &ask.base, &table,
                                        table != NULL, &tabella__write_reply__descriptor, a, &reply, err);
    tab_out_free(&text);
    return s;
}

tab_status work_out_kept(work *w, tab_arena *a, const Tabella__SubmitRequest *q, tab_error *err)
{
    Tabella__WriteRequest ask = TABELLA__WRITE_REQUEST__INIT;
    const void *reply;
    const tab_table *table = NULL;
    ask.out = q->out;
    ask.once = q->job_id;
    ask.mode = q->out_mode;
    work_phase(w, "writing", 0.94, 0.96);
    TAB_TRY(kept_table(w, a, q->serve->rows, &table, err));
    return work_call_with(w, "data-connector", "Write", WRITE_MS, &ask.base, &table, 1,
                          &tabella__write_reply__descriptor, a, &reply, err);
}
