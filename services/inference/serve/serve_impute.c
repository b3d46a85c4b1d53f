/* Imputation of a serve call: each column that lacks a cell is predicted from the row's other columns by a
 * model of the pinned rows, fitted once a state; the usual value stands in where nothing can be learned. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/order.h"
#include "services/inference/engine/impute/fill_quality.h"
#include "services/inference/engine/impute/impute.h"
#include "services/inference/engine/impute/leave.h"
#include "services/inference/engine/message.h"
#include "services/inference/serve/request.h"

enum { MODEL, MEDIAN, MODE, PREDICTION }; /* tab_fill_methods */

typedef struct {
    uint32_t table, row, column, method;
    double number;           /* numeric columns */
    const tab_column *cells; /* else: the cell is level `level` of these, or the class's cell */
    uint32_t level;
    double confidence;
} filled;

/* ---- a column's imputer ---------------------------------------------------------------------- */

/* The usual value: of numbers the median and their spread, of coded cells the commonest. number (rows), or
 * NULL: its values, far ones held within the fences, are left there. */
static bool usual(tab_arena *a, const tab_profile *p, size_t c, serve_imputer *m, double **number)
{
    const tab_column_profile *col = &p->col[c];
    size_t rows = p->table->rows, n = 0;
    const tab_column *raw = col->column;
    m->mode = TAB_NULL;
    *number = NULL;
    if (col->type == TAB_NUMERIC && col->number != NULL) {
        double *sorted = tab_arena_new_of(a, double, rows + 1), lo = 0, hi = 0, mean = 0, square = 0;
        if (sorted == NULL || (*number = tab_arena_new_of(a, double, rows + 1)) == NULL)
            return false;
        for (size_t r = 0; r < rows; r++)
            if (!isnan(col->number[r]))
                sorted[n++] = col->number[r];
        qsort(sorted, n, sizeof *sorted, tab_ascending_double);
        if (n > 0) {
            tab_fences(sorted, n, TAB_FENCE_LEARNED, &lo, &hi);
            m->median = tab_lower_median(sorted, n);
        }
        for (size_t r = 0; r < rows; r++)
            (*number)[r] = isnan(col->number[r]) ? (double)NAN : fmin(fmax(col->number[r], lo), hi);
        double unit = fmax(fabs(lo), fabs(hi)), right = 0;
        unit = unit > 0 ? unit : 1; /* squares of x / unit stay finite */
        for (size_t i = 0; i < n; i++)
            mean += fmin(fmax(sorted[i], lo), hi) / unit / (double)n;
        for (size_t i = 0; i < n; i++) {
            double d = fmin(fmax(sorted[i], lo), hi) / unit - mean;
            square += d * d / (double)n;
        }
        m->sd = unit * sqrt(square);
        for (size_t i = 0; i < n; i++)
            right += fabs(sorted[i] / unit - m->median / unit) <= 0.5 * sqrt(square);
        m->median_share = n > 0 ? right / (double)n : 0;
    }
    if (raw->layout == TAB_CODED && raw->levels > 0) {
        size_t *count = tab_arena_new_of(a, size_t, raw->levels);
        if (count == NULL)
            return false;
        for (size_t r = n = 0; r < rows; r++)
            if (raw->code[r] != TAB_NULL)
                count[raw->code[r]]++, n++;
        for (uint32_t k = 0; k < raw->levels; k++)
            if (m->mode == TAB_NULL || count[k] > count[m->mode])
                m->mode = k;
        if (n > 0)
            m->mode_share = (double)count[m->mode] / (double)n;
    }
    return true;
}

/* The class cells of a prediction as a column: its message points to them. */
static tab_column *classes_of(tab_arena *a, const Tabella__Column *m)
{
    tab_column *c = tab_arena_new_of(a, tab_column, 1);
    if (c == NULL)
        return NULL;
    if (!m->coded) {
        *c = (tab_column){ .layout = TAB_NUMBERS, .num = (const double *)(const void *)m->numbers.data };
        return c;
    }
    *c = (tab_column){ .layout = TAB_CODED,
                       .code = (const uint32_t *)(const void *)m->codes.data,
                       .text = (const char *)m->level_text.data,
                       .end = (const uint32_t *)(const void *)m->level_end.data,
                       .kind = m->level_kind.data,
                       .levels = m->level_kind.len };
    return c;
}

/* truth (n): the class of each of the first n results' rows, `classes` for one of none. */
static bool true_classes(tab_arena *a, const tab_column_profile *col, const Tabella__Prediction *p,
                         size_t classes, uint32_t *truth, size_t n)
{
    const tab_column *cells = classes_of(a, p->classes);
    uint32_t *of =
        tab_arena_new_of(a, uint32_t, col->levels + 1); /* class + 1 of a level; 0: not asked yet */
    if (cells == NULL || of == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t row = p->results->row[i], k = 0;
        uint32_t *known = col->code != NULL && col->code[row] != TAB_NULL ? &of[col->code[row]] : NULL;
        tab_cell is = tab_cell_at(col->column, row);
        for (; (known == NULL || *known == 0) && k < classes; k++) {
            tab_cell x = tab_cell_at(cells, k);
            if (x.kind == is.kind && tab_str_eq(x.text, is.text) &&
                (is.text.n > 0 || x.num == is.num)) // NOLINT
                break;
        }
        if (known != NULL && *known == 0)
            *known = (uint32_t)k + 1;
        truth[i] = known != NULL ? *known - 1 : (uint32_t)k;
    }
    return true;
}

enum { GRADED = 20000 }; /* results that a fill is graded by at most */

/* Out-of-fold answers of the fitted model against the usual value; where they are no better, the model
 * goes. */
static bool grade(const tab_engine *e, const tab_column_profile *col, serve_imputer *m)
{
    tab_arena *a = e->arena;
    Tabella__Prediction *p = NULL;
    if (tab_fitted_results(e, m->fitted, false, &p, NULL) != TAB_OK || p->results == NULL)
        return false;
    const Tabella__Results *r = p->results;
    size_t n = r->n_row < GRADED ? r->n_row : GRADED,
           classes = r->n_row > 0 ? r->n_probabilities / r->n_row : 0;
    tab_fill_quality g;
    if (r->n_value > 0 && col->number == NULL) {
        tab_fitted_free(m->fitted); /* numbers are no answer for cells that are none */
        m->fitted = NULL;
        return true;
    }
    if (r->n_value > 0) {
        double *truth = tab_arena_new_of(a, double, n + 1), *sorted = tab_arena_new_of(a, double, n + 1);
        if (truth == NULL || sorted == NULL)
            return false;
        for (size_t i = 0; i < n; i++)
            truth[i] = sorted[i] = col->number[r->row[i]];
        qsort(sorted, n, sizeof *sorted, tab_ascending_double);
        g = tab_fill_quality_numbers(truth, r->value, sorted, n);
    } else {
        uint32_t *truth = tab_arena_new_of(a, uint32_t, n + 1), common = 0;
        size_t *count = tab_arena_new_of(a, size_t, classes + 1);
        if (truth == NULL || count == NULL || !true_classes(a, col, p, classes, truth, n))
            return false;
        for (size_t i = 0; i < n; i++)
            count[truth[i]]++;
        for (uint32_t k = 1; k < classes; k++)
            common = count[k] > count[common] ? k : common;
        g = tab_fill_quality_classes(truth, r->label, n, common);
    }
    m->metric = g.metric;
    m->score = g.better ? g.score : g.baseline;
    m->baseline = g.baseline;
    m->gain = g.gain;
    /* without a commonest level the model's answers are what there is */
    if (!g.better && (col->type == TAB_NUMERIC || m->mode != TAB_NULL)) {
        tab_fitted_free(m->fitted);
        m->fitted = NULL;
    }
    return true;
}

/* Whether absence is a value of its own: the pass over the pinned rows decides alike (impute/impute.c). */
static bool weigh_absence(const tab_engine *e, const tab_profile *p, size_t c, serve_imputer *m)
{
    double missing = p->col[c].missing;
    bool few = 1 - missing < TAB_FILL_PRESENT, known = m->fitted != NULL && m->gain > TAB_FILL_TOLD;
    char *why = NULL;
    tab_data *d = NULL;
    tab_encoder *enc = NULL;
    if (!few && (known || missing < TAB_FILL_ABSENT))
        return true;
    if ((known || !few) && (enc = tab_encode_fit(e, e->arena, p, NULL, &d)) == NULL)
        return false;
    if (!tab_absence_weigh(e, p, enc, d, c, missing, known, &why))
        return false;
    if (why != NULL)
        m->left = few ? "few pinned rows have a value; an empty cell most likely has none"
                      : "other columns determine which pinned rows have a value, but not the value; an empty "
                        "cell is a value of its own";
    return true;
}

/* Fits the column's model on pinned rows. A failure to learn is none: too few rows, one class. */
static tab_status learn(const tab_engine *e, const tab_profile *p, size_t t, size_t c, serve_imputer *m)
{
    tab_profile own = *p;
    double *number = NULL;
    tab_fit_options fit = { .base = "base-1", .target = c, .table = (uint32_t)t, .split = TAB_SPLIT_RANDOM };
    own.col = tab_arena_new_of(e->arena, tab_column_profile, p->table->cols + 1);
    if (own.col == NULL || !usual(e->arena, p, c, m, &number))
        return TAB_INTERNAL;
    memcpy(own.col, p->col, p->table->cols * sizeof *own.col);
    if (number != NULL)
        own.col[c].number = number; /* one far value drives no fill: decision 0292 */
    m->method = p->col[c].type == TAB_NUMERIC ? tab_fill_methods[MEDIAN] : tab_fill_methods[MODE];
    m->metric = p->col[c].type == TAB_NUMERIC ? "r2" : "accuracy";
    m->score = m->baseline = (double)NAN;
    if (p->col[c].type != TAB_NUMERIC)
        fit.task = TAB_TASK_CLASSIFICATION; /* what is filled is a cell that occurs */
    tab_error why = { 0 };
    tab_status s = tab_fit(e, &own, &fit, &m->fitted, &why);
    if (s == TAB_CANCELLED)
        return s;
    if (s == TAB_OK && !grade(e, &p->col[c], m))
        return TAB_INTERNAL;
    if (m->fitted != NULL)
        m->method = tab_fill_methods[MODEL];
    return weigh_absence(e, p, c, m) ? TAB_OK : TAB_INTERNAL;
}

/* The column's imputer, fitted by the first call that needs it; calls that come meanwhile wait. */
static tab_status imputer_of(const tab_engine *e, serve_state *st, size_t t, size_t c,
                             const serve_imputer **ret, tab_error *err)
{
    tab_status s = TAB_OK;
    serve_imputer *m = &st->imputer[t][c];
    pthread_mutex_lock(&st->lock);
    if (!m->tried) {
        TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)2 << 30);
        tab_engine own = *e;
        own.arena = scratch;
        *m = (serve_imputer){ .left = st->key != NULL && st->key[t][c] != NULL
                                          ? st->key[t][c]
                                          : tab_leave_column(st->arena, &st->profile[t]->col[c]) };
        if (m->left == NULL)
            s = scratch == NULL ? TAB_INTERNAL : learn(&own, st->profile[t], t, c, m);
        m->tried = s == TAB_OK;
        if (m->fitted != NULL)
            atomic_store(&st->grown, true);
        if (s != TAB_OK) {
            tab_fitted_free(m->fitted);
            m->fitted = NULL;
            s = tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
        }
    }
    *ret = m;
    pthread_mutex_unlock(&st->lock);
    return s;
}

/* The spread of a target's column, which has no imputer: read off its profile by the first call. */
static tab_status spread_of(const tab_engine *e, serve_state *st, size_t t, size_t c, double *ret,
                            tab_error *err)
{
    serve_imputer *m = &st->imputer[t][c];
    double *number = NULL;
    pthread_mutex_lock(&st->lock);
    if (!m->tried)
        m->tried = usual(e->arena, st->profile[t], c, m, &number);
    bool ok = m->tried;
    *ret = m->sd;
    pthread_mutex_unlock(&st->lock);
    return ok ? TAB_OK : tab_no_memory(err);
}

/* ---- the cells of a call --------------------------------------------------------------------- */

static bool missing(const tab_column *c, size_t row)
{
    return c->layout == TAB_NUMBERS ? isnan(c->num[row]) : c->code[row] == TAB_NULL;
}

/* A numeric cell counts as right within half of its column's standard deviation (impute/impute.h). */
static double near(double sd, double std)
{
    return std <= 0 ? 1.0 : erf(0.5 * sd / (std * sqrt(2.0)));
}

static tab_status fill_from(tab_arena *a, const Tabella__Prediction *p, size_t row, double sd, filled *f)
{
    const Tabella__Results *r = p->results;
    if (r->n_label > row) {
        tab_column *classes = classes_of(a, p->classes);
        size_t k = p->classes->coded ? p->classes->codes.len / 4 : p->classes->numbers.len / 8;
        if (classes == NULL)
            return TAB_INTERNAL;
        f->cells = classes;
        f->level = r->label[row];
        f->confidence = r->n_probabilities >= (row + 1) * k ? r->probabilities[row * k + r->label[row]] : 0;
    } else if (r->n_value > row) {
        f->number = r->value[row];
        f->confidence = near(sd, r->n_std > row ? r->std[row] : 0);
    }
    return TAB_OK;
}

static void put(tab_builder *b, const filled *f)
{
    if (f->cells == NULL)
        tab_builder_number(b, f->number);
    else
        tab_builder_cell(b, tab_cell_at(f->cells, f->level));
}

static int by_cell(const void *a, const void *b)
{
    const filled *x = a, *y = b;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* What a call is filled with: its cells, and the columns that were and were not. */
typedef struct {
    filled *f;
    size_t n;
    Tabella__Imputation *m;
} filling;

/* A column whose missing cells stay missing. */
static tab_status leave(tab_arena *a, filling *w, size_t i, size_t c, const char *reason, tab_error *err)
{
    Tabella__LeftColumn *x = tab_message(a, Tabella__LeftColumn, TABELLA__LEFT_COLUMN__INIT);
    if (x == NULL)
        return tab_no_memory(err);
    x->table = (uint32_t)i;
    x->column = (uint32_t)c;
    x->reason = tab_text(reason);
    w->m->not_filled[w->m->n_not_filled++] = x;
    return TAB_OK;
}

static tab_status say_how(tab_arena *a, filling *w, size_t i, size_t c, const serve_imputer *m,
                          tab_error *err)
{
    Tabella__FilledColumn *x = tab_message(a, Tabella__FilledColumn, TABELLA__FILLED_COLUMN__INIT);
    if (x == NULL)
        return tab_no_memory(err);
    x->table = (uint32_t)i;
    x->column = (uint32_t)c;
    /* the target's own score stands in the endpoint's report */
    x->method = tab_text(m == NULL ? tab_fill_methods[PREDICTION] : m->method);
    bool graded = m != NULL && isfinite(m->baseline);
    x->metric = tab_text(graded ? m->metric : "");
    x->score = graded ? m->score : 0;
    x->baseline = graded ? m->baseline : 0;
    w->m->columns[w->m->n_columns++] = x;
    return TAB_OK;
}

/* One missing cell by the usual value. False: there is none. */
static bool fill_usual(const tab_column_profile *col, const serve_imputer *m, filled *x)
{
    if (col->type == TAB_NUMERIC) {
        x->method = MEDIAN;
        x->number = m->median;
        x->confidence = m->median_share;
        return true;
    }
    if (m->mode == TAB_NULL)
        return false;
    /* the cell of that level: any row that has it */
    size_t at = 0;
    while (col->column->code[at] != m->mode)
        at++;
    x->method = MODE;
    x->cells = col->column;
    x->level = (uint32_t)at;
    x->confidence = m->mode_share;
    return true;
}

/* The missing cells of column c of the request's table i. */
static tab_status fill_column(const tab_engine *e, serve_state *st, const serve_request *r, size_t i,
                              size_t c, const Tabella__Prediction *prediction, filling *w, tab_error *err)
{
    size_t t = r->pinned[i], before = w->n;
    const tab_table *rows = r->table[i];
    const tab_column_profile *col = &st->profile[t]->col[c];
    bool target =
        prediction != NULL && prediction->target != NULL && st->sel.table == t && st->sel.column == c;
    const serve_imputer *m = NULL;
    const Tabella__Prediction *p = target ? prediction : NULL;
    double sd = 0;
    if (target) {
        TAB_TRY(spread_of(e, st, t, c, &sd, err));
    } else {
        TAB_TRY(imputer_of(e, st, t, c, &m, err));
        if (m->left != NULL)
            return leave(e->arena, w, i, c, m->left, err);
        Tabella__Prediction *own = NULL;
        if (m->fitted != NULL)
            TAB_TRY(tab_score(e, m->fitted, rows, false, &own, err));
        p = own;
        sd = m->sd;
    }
    for (size_t k = 0; k < rows->rows; k++) {
        if (!missing(&rows->col[c], k))
            continue;
        filled *x = &w->f[w->n];
        *x = (filled){ .table = (uint32_t)i, .row = (uint32_t)k, .column = (uint32_t)c };
        x->method = target ? PREDICTION : MODEL;
        if (p == NULL && !fill_usual(col, m, x))
            continue;
        if (p != NULL && fill_from(e->arena, p, k, sd, x) != TAB_OK)
            return tab_no_memory(err);
        if (!target && x->cells == NULL && col->decimals == 0) /* as the engine fills them: decision 0263 */
            x->number = round(x->number);
        w->n++;
    }
    return w->n > before ? say_how(e->arena, w, i, c, m, err) : TAB_OK;
}

/* How many cells of the request are missing. */
static size_t count_missing(const serve_request *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        for (size_t c = 0; c < r->table[i]->cols; c++)
            for (size_t k = 0; k < r->table[i]->rows; k++)
                n += missing(&r->table[i]->col[c], k);
    return n;
}

/* All that can be filled, by table, row and column. w has room for it. */
static tab_status fill_all(const tab_engine *e, serve_state *st, const serve_request *r,
                           const Tabella__Prediction *prediction, filling *w, tab_error *err)
{
    for (size_t i = 0; i < r->n; i++)
        for (size_t c = 0; c < r->table[i]->cols; c++) {
            bool any = false;
            for (size_t k = 0; !any && k < r->table[i]->rows; k++)
                any = missing(&r->table[i]->col[c], k);
            if (any)
                TAB_TRY(fill_column(e, st, r, i, c, prediction, w, err));
        }
    qsort(w->f, w->n, sizeof *w->f, by_cell);
    return TAB_OK;
}

/* A row's confidence is the mean of its cells'. */
static tab_status write_cells(tab_arena *a, Tabella__Imputation *m, const filled *f, size_t n, tab_error *err)
{
    tab_builder *b = tab_builder_new(a, TAB_S(""));
    tab_column value;
    double sum = 0, cells = 0;
    if (b == NULL)
        return tab_no_memory(err);
    for (size_t k = 0; k < n; k++) {
        m->table[k] = f[k].table;
        m->row[k] = f[k].row;
        m->column[k] = f[k].column;
        m->method_of[k] = f[k].method;
        put(b, &f[k]);
        sum += f[k].confidence;
        cells++;
        if (k + 1 == n || f[k + 1].table != f[k].table || f[k + 1].row != f[k].row) {
            m->confidence_table[m->n_row_confidence] = f[k].table;
            m->confidence_row[m->n_row_confidence] = f[k].row;
            m->row_confidence[m->n_row_confidence++] = sum / cells;
            sum = cells = 0;
        }
    }
    m->n_confidence_table = m->n_confidence_row = m->n_row_confidence;
    m->value = tab_builder_finish(b, &value) ? tab_cells_message(a, &value, n) : NULL;
    return m->value == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status serve_impute(const tab_engine *e, serve_state *st, const serve_request *r,
                        const Tabella__Prediction *prediction, Tabella__Imputation **ret, tab_error *err)
{
    tab_arena *a = e->arena;
    filling w = { .f = tab_arena_new_of(a, filled, count_missing(r) + 1),
                  .m = tab_message(a, Tabella__Imputation, TABELLA__IMPUTATION__INIT) };
    size_t cols = 0;
    for (size_t i = 0; i < r->n; i++)
        cols += r->table[i]->cols;
    if (w.f == NULL || w.m == NULL)
        return tab_no_memory(err);
    w.m->columns = tab_arena_new_of(a, Tabella__FilledColumn *, cols + 1);
    w.m->not_filled = tab_arena_new_of(a, Tabella__LeftColumn *, cols + 1);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    TAB_TRY(fill_all(e, st, r, prediction, &w, err));
    if (!tab_imputation_room(a, w.n, w.m))
        return tab_no_memory(err);
    TAB_TRY(write_cells(a, w.m, w.f, w.n, err));
    *ret = w.m;
    return TAB_OK;
}
