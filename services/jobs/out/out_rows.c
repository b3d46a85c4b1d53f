/* OutRows: what a running job writes to options.out, some rows a call (decision 0890).
 *
 *   head (its first pages, how long each array is)     which columns there are, and of what kind
 *   a piece of results, one of missing targets         rows, in the order of their numbers, until one ends
 *   at last a piece of the forecast                    steps ahead, which have no number
 *
 * A call holds a piece of each, whatever the result's length. Only the attempt that has the job is answered:
 * what one before it still writes ends there. */
#include <string.h>

#include "common/base/proto.h"
#include "common/bundle/bundle_pieces.h"
#include "services/jobs/jobs.h"

enum { COLUMNS = 5, SERIES_MOST = 64 };
enum { NUMBER, BOOLEAN, TEXT };                /* OutRowsReply.kinds */
static const size_t SCRATCH = (size_t)2 << 30; /* of a piece of steps that is looked through */

typedef struct {
    const Tabella__Prediction *p; /* the head's */
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
static bool add_steps(predictions *x, const Tabella__Forecast *f, size_t from)
{
    tab_column at, series[SERIES_MOST];
    size_t n = f->n_value;
    if (!tab_column_view(f->at, n, &at))
        return false;
    for (size_t k = 0; x->own + k + 1 < x->cols; k++)
        if (!tab_column_view(f->series_value[k], n, &series[k]))
            return false;
    for (size_t i = from; i < n; i++, x->rows++) {
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
    size_t n = f->n_series + 1;
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
static bool begin(predictions *x, tab_arena *a, const Tabella__Results *r, const Tabella__Forecast *steps)
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
    return x->own < COLUMNS || steps == NULL || begin_steps(x, a, steps);
}

/* In the order of rows: each array has it already. Until one piece is used up that others follow. */
static void add_rows(predictions *x, const Tabella__Results *r, size_t *i, bool r_ends,
                     const Tabella__Results *m, size_t *k, bool m_ends)
{
    for (; *i < r->n_row || *k < m->n_row; x->rows++) {
        if ((*i == r->n_row && !r_ends) || (*k == m->n_row && !m_ends))
            return;
        if (*k == m->n_row || (*i < r->n_row && r->row[*i] < m->row[*k]))
            add_row(x, r, (*i)++, false);
        else
            add_row(x, m, (*k)++, true);
    }
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

/* ---- kinds ------------------------------------------------------------------------------------- */

/* Kinds of cells that a column holds, as bits. */
static unsigned seen(const tab_column *c, size_t n)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < n; i++) {
        tab_cell x = tab_cell_at(c, i);
        if (x.kind != TAB_CELL_NULL)
            kinds |= x.kind == TAB_CELL_NUMBER && x.text.n == 0 ? 1u << NUMBER
                     : x.kind == TAB_CELL_BOOL                  ? 1u << BOOLEAN
                                                                : 1u << TEXT;
    }
    return kinds;
}

static uint32_t kind_of(unsigned seen)
{
    return seen == 1u << NUMBER ? NUMBER : seen == 1u << BOOLEAN ? BOOLEAN : TEXT;
}

typedef struct {
    tab_tx *tx;
    tab_call *call;
    const char *job_id;
    const tab_run_keys *keys;
    const Tabella__Bundle *head;
} kept;

/* What holds element `from` of an array: the head, where all of it does or none is left. */
static tab_status part_of(const kept *x, tab_arena *a, tab_paged array, size_t from,
                          const Tabella__Bundle **ret, tab_error *err)
{
    tab_str bytes;
    size_t total = tab_bundle_total(x->head, array);
    const jobs_wanted wanted = { tab_paged_name(array), from };
    *ret = x->head;
    if (total == tab_bundle_held(x->head, array) || from >= total)
        return TAB_OK;
    TAB_TRY(jobs_output_get(x->tx, x->call->org, x->job_id, x->keys, &wanted, a, &bytes, err));
    const Tabella__Bundle *b = tab_proto_read(a, &tabella__bundle__descriptor, bytes);
    if (b == NULL || !tab_bundle_sound(b) || b->prediction == NULL || tab_bundle_first(b, array) > from ||
        tab_bundle_first(b, array) + tab_bundle_held(b, array) <= from)
        return tab_fail(err, TAB_INTERNAL, "", "a stored bundle cannot be read");
    *ret = b;
    return TAB_OK;
}

/* The kinds of series and times, over all steps. */
static tab_status step_kinds(const kept *x, const predictions *p, uint32_t *kinds, tab_error *err)
{
    unsigned all[SERIES_MOST + 1] = { 0 };
    size_t n = p->cols - p->own, total = tab_bundle_total(x->head, TAB_PAGE_FORECAST);
    for (size_t from = 0; from < total;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(SCRATCH);
        const Tabella__Bundle *b = NULL;
        tab_column c;
        if (a == NULL)
            return tab_no_memory(err);
        TAB_TRY(part_of(x, a, TAB_PAGE_FORECAST, from, &b, err));
        const Tabella__Forecast *f = b->prediction->forecast;
        if (f == NULL || f->n_series + 1 != n)
            return tab_fail(err, TAB_INTERNAL, "", "a stored bundle cannot be read");
        for (size_t k = 0; k < n; k++) {
            if (!tab_column_view(k + 1 < n ? f->series_value[k] : f->at, f->n_value, &c))
                return tab_fail(err, TAB_INTERNAL, "", "a stored bundle cannot be read");
            all[k] |= seen(&c, f->n_value);
        }
        from = tab_bundle_first(b, TAB_PAGE_FORECAST) + f->n_value;
    }
    for (size_t k = 0; k < n; k++)
        kinds[p->own + k] = kind_of(all[k]);
    return TAB_OK;
}

static tab_status kinds_of(const kept *x, const predictions *p, bool first, Tabella__OutRowsReply *y,
                           tab_error *err)
{
    y->kinds = tab_arena_new_of(x->call->arena, uint32_t, p->cols);
    if (y->kinds == NULL)
        return tab_no_memory(err);
    y->n_kinds = p->cols;
    y->kinds[1] = BOOLEAN;
    if (p->n_classes > 0)
        y->kinds[2] = kind_of(seen(&p->classes, p->n_classes));
    else if (p->own < COLUMNS)
        y->kinds[3] = BOOLEAN; /* is_anomaly */
    return first && p->cols > p->own ? step_kinds(x, p, y->kinds, err) : TAB_OK;
}

/* ---- a call ------------------------------------------------------------------------------------ */

static const Tabella__Results none = TABELLA__RESULTS__INIT;

static const Tabella__Results *or_none(const Tabella__Results *r)
{
    return r != NULL ? r : &none;
}

/* The columns, as the head tells. *ret_any false: nothing was predicted. */
static bool begin_with_head(const kept *x, predictions *p, bool *ret_any)
{
    p->p = x->head->prediction;
    *ret_any = p->p != NULL;
    if (p->p == NULL)
        return true;
    const Tabella__Results *r = or_none(p->p->results), *m = or_none(p->p->missing_target_results);
    bool steps = tab_bundle_total(x->head, TAB_PAGE_FORECAST) > 0 && p->p->forecast != NULL;
    return begin(p, x->call->arena, r->n_row > 0 ? r : m, steps ? p->p->forecast : NULL);
}

static bool fits(const predictions *p, const Tabella__Results *r)
{
    return p->n_classes == 0 || r->n_probabilities == p->n_classes * r->n_row;
}

static tab_status rows_of(const kept *x, predictions *p, Tabella__OutRowsReply *y, tab_error *err)
{
    tab_arena *a = x->call->arena;
    const Tabella__Bundle *rb = NULL, *mb = NULL;
    size_t r_all = tab_bundle_total(x->head, TAB_PAGE_RESULTS),
           m_all = tab_bundle_total(x->head, TAB_PAGE_MISSING_TARGET);
    if (y->results > r_all || y->missing > m_all)
        return tab_fail(err, TAB_INTERNAL, "", "more rows were given than the result has");
    TAB_TRY(part_of(x, a, TAB_PAGE_RESULTS, y->results, &rb, err));
    TAB_TRY(part_of(x, a, TAB_PAGE_MISSING_TARGET, y->missing, &mb, err));
    const Tabella__Results *r = or_none(rb->prediction->results),
                           *m = or_none(mb->prediction->missing_target_results);
    size_t r0 = tab_bundle_first(rb, TAB_PAGE_RESULTS), m0 = tab_bundle_first(mb, TAB_PAGE_MISSING_TARGET);
    bool r_done = y->results == r_all, m_done = y->missing == m_all;
    size_t i = r_done ? 0 : (size_t)y->results - r0, k = m_done ? 0 : (size_t)y->missing - m0;
    if (!fits(p, r) || !fits(p, m))
        return tab_fail(err, TAB_INTERNAL, "", "a stored bundle cannot be read");
    r = r_done ? &none : r;
    m = m_done ? &none : m;
    size_t r_from = i, m_from = k;
    add_rows(p, r, &i, r_done || r0 + r->n_row == r_all, m, &k, m_done || m0 + m->n_row == m_all);
    y->results += i - r_from;
    y->missing += k - m_from;
    return TAB_OK;
}

static tab_status steps_of(const kept *x, predictions *p, Tabella__OutRowsReply *y, tab_error *err)
{
    const Tabella__Bundle *b = NULL;
    size_t total = tab_bundle_total(x->head, TAB_PAGE_FORECAST);
    if (p->cols == p->own || y->steps >= total)
        return TAB_OK;
    TAB_TRY(part_of(x, x->call->arena, TAB_PAGE_FORECAST, (size_t)y->steps, &b, err));
    const Tabella__Forecast *f = b->prediction->forecast;
    size_t first = tab_bundle_first(b, TAB_PAGE_FORECAST);
    if (f == NULL || f->n_series + 1 != p->cols - p->own)
        return tab_fail(err, TAB_INTERNAL, "", "a stored bundle cannot be read");
    if (!add_steps(p, f, (size_t)y->steps - first))
        return tab_no_memory(err);
    y->steps = first + f->n_value;
    return TAB_OK;
}

static tab_status hold(tab_tx *tx, const tab_call *call, const Tabella__OutRowsRequest *q, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT 1 FROM jobs.job WHERE org = $1 AND job_id = $2 AND attempt = $3 "
                         "AND status = 'running'",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->job_id), tab_p_int(q->attempt))));
    return tab_rows_count(rows) > 0 ? TAB_OK
                                    : tab_fail(err, TAB_CANCELLED, "", "the lease of this attempt is gone");
}

tab_status jobs_out_rows(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__OutRowsRequest *q = call->in;
    Tabella__OutRowsReply *y = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    kept x = { .call = call, .job_id = q->job_id, .keys = &self->run_keys };
    predictions p = { .p = NULL };
    tab_str bytes;
    bool any = false;
    TAB_TRY(tab_tx_begin(self->pg, call->org, call->deadline, &tx, err));
    TAB_TRY(hold(tx, call, q, err));
    x.tx = tx;
    TAB_TRY(
        jobs_output_get(tx, call->org, q->job_id, x.keys, &(jobs_wanted){ "", 0 }, call->arena, &bytes, err));
    x.head = tab_proto_read(call->arena, &tabella__bundle__descriptor, bytes);
    if (x.head == NULL || !tab_bundle_sound(x.head))
        return tab_fail(err, TAB_INTERNAL, "", "a stored bundle cannot be read");
    if (!begin_with_head(&x, &p, &any))
        return tab_no_memory(err);
    y->results = q->results;
    y->missing = q->missing;
    y->steps = q->steps;
    if (any)
        TAB_TRY(rows_of(&x, &p, y, err));
    if (any && p.rows == 0)
        TAB_TRY(steps_of(&x, &p, y, err));
    if (p.rows > 0)
        TAB_TRY(kinds_of(&x, &p, q->results + q->missing + q->steps == 0, y, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    if (p.rows == 0)
        return TAB_OK;
    const tab_table **tables = tab_arena_new_of(call->arena, const tab_table *, 1);
    if (tables == NULL)
        return tab_no_memory(err);
    TAB_TRY(finish(&p, call->arena, &tables[0], err));
    y->rows = p.rows;
    call->out_tables = tables;
    call->n_out_tables = 1;
    return TAB_OK;
}
