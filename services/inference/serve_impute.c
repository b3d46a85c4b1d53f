/* Imputation of a serve call: each column that lacks a cell is predicted from the row's other columns by a
 * model of the pinned rows, fitted once a state; the usual value stands in where nothing can be learned. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/message.h"
#include "services/inference/request.h"

enum { MODEL, MEAN, MODE, PREDICTION };
static const char *const methods[] = { "model", "mean", "mode", "prediction" };

typedef struct {
    uint32_t table, row, column, method;
    double number;           /* numeric columns */
    const tab_column *cells; /* else: the cell is level `level` of these, or the class's cell */
    uint32_t level;
    double confidence;
} filled;

static bool imputable(const tab_column_profile *c)
{
    return !c->identifying && c->present > 1 &&
           (c->type == TAB_NUMERIC || c->type == TAB_CATEGORICAL || c->type == TAB_BOOLEAN);
}

static void usual(const tab_profile *p, size_t c, serve_imputer *m)
{
    const tab_column_profile *col = &p->col[c];
    m->mode = TAB_NULL;
    if (col->type == TAB_NUMERIC && col->number != NULL) {
        double sum = 0, n = 0, square = 0;
        for (size_t r = 0; r < p->table->rows; r++)
            if (!isnan(col->number[r]))
                sum += col->number[r], n++;
        m->mean = n > 0 ? sum / n : 0;
        for (size_t r = 0; r < p->table->rows; r++)
            if (!isnan(col->number[r]))
                square += (col->number[r] - m->mean) * (col->number[r] - m->mean);
        m->sd = n > 0 ? sqrt(square / n) : 0;
    }
    const tab_column *raw = col->column;
    if (raw->layout == TAB_CODED && raw->levels > 0) {
        size_t *count = calloc(raw->levels, sizeof *count), n = 0;
        for (size_t r = 0; count != NULL && r < p->table->rows; r++)
            if (raw->code[r] != TAB_NULL)
                count[raw->code[r]]++, n++;
        for (uint32_t k = 0; count != NULL && k < raw->levels; k++)
            if (m->mode == TAB_NULL || count[k] > count[m->mode])
                m->mode = k;
        if (count != NULL && n > 0)
            m->mode_share = (double)count[m->mode] / (double)n;
        free(count);
    }
}

/* The column's imputer, fitted by the first call that needs it; calls that come meanwhile wait. */
static tab_status imputer_of(const tab_engine *e, serve_state *st, size_t t, size_t c,
                             const serve_imputer **ret, tab_error *err)
{
    tab_status s = TAB_OK;
    serve_imputer *m = &st->imputer[t][c];
    pthread_mutex_lock(&st->lock);
    if (!m->tried) {
        usual(st->profile[t], c, m);
        TAB_AUTO(tab_arena) *scratch = tab_arena_new((size_t)2 << 30);
        tab_engine own = *e;
        own.arena = scratch;
        tab_fit_options fit = { .base = "base-1", .target = c, .table = (uint32_t)t };
        tab_error why = { 0 };
        s = scratch == NULL ? TAB_INTERNAL : tab_fit(&own, st->profile[t], &fit, &m->fitted, &why);
        if (s == TAB_CANCELLED)
            tab_fail(err, s, "", "%s", why.message);
        else
            m->tried = true, s = TAB_OK; /* too few rows, one class: the usual value is what there is */
    }
    *ret = m;
    pthread_mutex_unlock(&st->lock);
    return s;
}

/* The standard deviation of a target's column, which has no imputer: read off its profile by the first
 * call. */
static double spread_of(serve_state *st, size_t t, size_t c)
{
    serve_imputer *m = &st->imputer[t][c];
    pthread_mutex_lock(&st->lock);
    if (!m->tried) {
        usual(st->profile[t], c, m);
        m->tried = true;
    }
    double sd = m->sd;
    pthread_mutex_unlock(&st->lock);
    return sd;
}

static bool missing(const tab_column *c, size_t row)
{
    return c->layout == TAB_NUMBERS ? isnan(c->num[row]) : c->code[row] == TAB_NULL;
}

/* A numeric cell counts as right within half of its column's standard deviation (impute/impute.h). */
static double near(double sd, double std)
{
    return std <= 0 ? 1.0 : erf(0.5 * sd / (std * sqrt(2.0)));
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

/* The missing cells of column c of the request's table i. */
static tab_status fill_column(const tab_engine *e, serve_state *st, const serve_request *r, size_t i,
                              size_t c, const Tabella__Prediction *prediction, filled *f, size_t *n,
                              tab_error *err)
{
    size_t t = r->pinned[i];
    const tab_table *rows = r->table[i];
    const tab_column_profile *col = &st->profile[t]->col[c];
    bool target =
        prediction != NULL && prediction->target != NULL && st->sel.table == t && st->sel.column == c;
    const serve_imputer *m = NULL;
    const Tabella__Prediction *p = target ? prediction : NULL;
    tab_status s = TAB_OK;
    if (!target) {
        if ((s = imputer_of(e, st, t, c, &m, err)) != TAB_OK)
            return s;
        if (m->fitted != NULL) {
            Tabella__Prediction *own = NULL;
            if ((s = tab_score(e, m->fitted, rows, false, &own, err)) != TAB_OK)
                return s;
            p = own;
        }
    }
    double sd = m == NULL ? spread_of(st, t, c) : m->sd;
    for (size_t k = 0; k < rows->rows; k++) {
        if (!missing(&rows->col[c], k))
            continue;
        filled *x = &f[*n];
        *x = (filled){ .table = (uint32_t)i, .row = (uint32_t)k, .column = (uint32_t)c };
        if (p != NULL) {
            x->method = target ? PREDICTION : MODEL;
            if ((s = fill_from(e->arena, p, k, sd, x)) != TAB_OK)
                return tab_fail(err, s, "", "out of memory");
        } else if (col->type == TAB_NUMERIC) {
            x->method = MEAN;
            x->number = m->mean;
            x->confidence = near(m->sd, m->sd);
        } else if (m->mode != TAB_NULL) {
            /* the cell of that level: any row that has it */
            size_t at = 0;
            while (col->column->code[at] != m->mode)
                at++;
            x->method = MODE;
            x->cells = col->column;
            x->level = (uint32_t)at;
            x->confidence = m->mode_share;
        } else {
            continue;
        }
        if (!target && x->cells == NULL && col->decimals == 0) /* as the engine fills them: decision 0263 */
            x->number = round(x->number);
        (*n)++;
    }
    return TAB_OK;
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

/* All that can be filled, by table, row and column. f has room for it. */
static tab_status fill_all(const tab_engine *e, serve_state *st, const serve_request *r,
                           const Tabella__Prediction *prediction, filled *f, size_t *ret_n, tab_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        for (size_t c = 0; c < r->table[i]->cols; c++) {
            bool any = false;
            for (size_t k = 0; !any && k < r->table[i]->rows; k++)
                any = missing(&r->table[i]->col[c], k);
            if (any && imputable(&st->profile[r->pinned[i]]->col[c]))
                TAB_TRY(fill_column(e, st, r, i, c, prediction, f, &n, err));
        }
    qsort(f, n, sizeof *f, by_cell);
    *ret_n = n;
    return TAB_OK;
}

/* Room for n cells. */
static tab_status begin_message(tab_arena *a, Tabella__Imputation *m, size_t n, tab_error *err)
{
    m->table = tab_arena_new_of(a, uint32_t, n + 1);
    m->row = tab_arena_new_of(a, uint32_t, n + 1);
    m->column = tab_arena_new_of(a, uint32_t, n + 1);
    m->method_of = tab_arena_new_of(a, uint32_t, n + 1);
    m->confidence_table = tab_arena_new_of(a, uint32_t, n + 1);
    m->confidence_row = tab_arena_new_of(a, uint32_t, n + 1);
    m->row_confidence = tab_arena_new_of(a, double, n + 1);
    m->n_method = sizeof methods / sizeof *methods;
    m->method = tab_arena_new_of(a, char *, m->n_method);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    for (size_t k = 0; k < m->n_method; k++)
        m->method[k] = tab_text(methods[k]);
    m->n_table = m->n_row = m->n_column = m->n_method_of = n;
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
    size_t n;
    filled *f = tab_arena_new_of(a, filled, count_missing(r) + 1);
    Tabella__Imputation *m = tab_message(a, Tabella__Imputation, TABELLA__IMPUTATION__INIT);
    if (f == NULL || m == NULL)
        return tab_no_memory(err);
    TAB_TRY(fill_all(e, st, r, prediction, f, &n, err));
    TAB_TRY(begin_message(a, m, n, err));
    TAB_TRY(write_cells(a, m, f, n, err));
    *ret = m;
    return TAB_OK;
}
