/* See impute.h: fills the missing cells of all tables of a pass. bundle.c calls it last, since the target's
 * missing cells are taken from the prediction.
 *
 *   tab_impute ─> fill_table ─> tab_fill_column    (fill_column.c) by learners
 *       │                   └─> tab_fill_target    (fill_target.c) by the prediction
 *       └─> the message: cells by table, row and column
 *
 * All columns of a table share one encoder, and so its bins. A column is learned from a view without its own
 * features, in which gaps of other columns hold what a joint normal model (joint.h) expects there (decision
 * 0095). So every column is learned from a completed table, and no cell is filled twice.
 *
 * Columns are filled in order of missingness. In a row that misses several, a column that is filled later
 * reads what was filled before (decision 0177). */
#include "services/inference/engine/impute/impute.h"

#include <cblas.h>
#include <stdlib.h>

#include "services/inference/engine/impute/fill.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/profile/roles.h"

/* A table's budget counts (rows + ROW_COST) x features a column, about 3 us each with the whole recipe;
 * where that is too much every column gets the light one, and where that is too much still, the columns with
 * most cells missing get their mean or commonest class. ROW_COST: what a column costs beside its rows. More
 * than MOST_FEATURES features cost no more. LIGHTER: how much cheaper the light recipe is. */
enum { ROW_COST = 500, MOST_FEATURES = 300 };
static const double BUDGET = 1e7, LIGHTER = 8;

/* Why a step gave up. */
static tab_status failed(const tab_engine *e, tab_error *err)
{
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
}

/* ---- which columns, and in which order --------------------------------------------------------- */

/* Identifying values are never invented. A number that repeats and is an id by plurality only is more likely
 * something else, a counter of months for one, than an id (decision 0178). */
static bool fillable(const tab_column_profile *c)
{
    bool type = c->type == TAB_NUMERIC || c->type == TAB_BOOLEAN || c->type == TAB_CATEGORICAL;
    bool doubtful = c->role == TAB_ROLE_ID && c->role_confidence < 0.5 && !c->pii &&
                    c->column->layout == TAB_NUMBERS && c->distinct * 4 <= c->present;
    return type && (!c->identifying || doubtful) && c->present > 0;
}

/* For qsort: columns with the fewest gaps first. */
static int by_missing(const void *a, const void *b)
{
    const tab_column_fill *x = a, *y = b;
    if (x->missing != y->missing)
        return x->missing < y->missing ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* f (cols): the columns with missing cells, in the order in which they are filled. Returns how many. */
static size_t columns_to_fill(const tab_profile *p, tab_column_fill *f)
{
    size_t n = 0, rows = p->table->rows;
    for (size_t c = 0; c < p->table->cols; c++) {
        size_t missing = 0;
        if (!fillable(&p->col[c]))
            continue;
        for (size_t r = 0; r < rows; r++)
            missing += tab_fill_missing(p->col[c].column, r);
        if (missing > 0 && missing < rows) {
            f[n] = (tab_column_fill){ .column = c, .missing = (double)missing / (double)rows, .n = missing };
            n++;
        }
    }
    qsort(f, n, sizeof *f, by_missing);
    return n;
}

/* Divides the table's budget among its n columns: all wholly, or lightly as far as it reaches. */
static void share_budget(tab_column_fill *f, size_t n, size_t rows, size_t features)
{
    if (features > MOST_FEATURES)
        features = MOST_FEATURES;
    double cost = (double)((rows < TAB_FILL_ROWS ? rows : TAB_FILL_ROWS) + ROW_COST) * (double)features;
    bool whole = cost * (double)n <= BUDGET;
    for (size_t i = 0; i < n; i++) {
        bool light = cost * (double)(i + 1) <= BUDGET * LIGHTER;
        f[i].effort = whole ? TAB_FILL_WHOLLY : light ? TAB_FILL_LIGHTLY : TAB_FILL_PLAIN;
    }
}

/* The fills f (cols) of one table in the order of by_missing; *count of them. */
static tab_status fill_table(const tab_engine *e, const tab_profile *p, size_t table,
                             const tab_impute_target *target, tab_column_fill *f, size_t *count,
                             tab_error *err)
{
    size_t n = *count = columns_to_fill(p, f);
    if (n == 0)
        return TAB_OK;
    /* the encoded table, the joint model and its folds: let go with the table */
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    tab_data *data = NULL;
    tab_joint *joint = NULL;
    tab_fill_pass t = { .e = e, .p = p };
    t.enc = a == NULL ? NULL : tab_encode_fit(e, a, p, NULL, &data);
    if (t.enc == NULL || !tab_joint_fit(e, a, t.enc, data, &joint))
        return failed(e, err);
    t.data = data;
    t.joint = joint;
    t.filled = tab_arena_new_of(a, tab_joint_filled, n);
    if (t.filled == NULL)
        return failed(e, err);
    share_budget(f, n, p->table->rows, t.enc->n);
    for (size_t i = 0; i < n; i++) {
        bool own = target->prediction != NULL && target->table == table && target->column == f[i].column;
        if (!(own ? tab_fill_target(e, target->prediction, p, &f[i]) : tab_fill_column(&t, &f[i])))
            return failed(e, err);
        if (f[i].numeric) /* the columns that follow read these numbers (decision 0177) */
            t.filled[t.knowns++] = (tab_joint_filled){ f[i].column, f[i].n, f[i].row, f[i].value };
        tab_engine_progress(e, "impute", (double)(i + 1) / (double)n);
    }
    return TAB_OK;
}

/* ---- the message ------------------------------------------------------------------------------- */

/* One filled cell: the at-th of a column's fill. */
typedef struct {
    uint32_t table, row, column;
    const tab_column_fill *fill;
    size_t at;
} cell;

/* For qsort: by table, row and column, as the message lists them. */
static int by_cell(const void *a, const void *b)
{
    const cell *x = a, *y = b;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* c (total): the cells of all fills, sorted. fill (n): a table's fills, count (n) of them. */
static void list_cells(tab_column_fill *const *fill, const size_t *count, size_t n, cell *c, size_t total)
{
    size_t k = 0;
    for (size_t t = 0; t < n; t++)
        for (size_t i = 0; i < count[t]; i++) {
            const tab_column_fill *f = &fill[t][i];
            for (size_t j = 0; j < f->n; j++)
                c[k++] = (cell){ (uint32_t)t, f->row[j], (uint32_t)f->column, f, j };
        }
    qsort(c, total, sizeof *c, by_cell);
}

/* What a cell can have been filled by; method_of[] of the message points into this list. */
static const char *const methods[] = { "model", "mean", "mode", "prediction" };

/* A message with room for `total` cells; NULL: the arena is full. */
static Tabella__Imputation *new_message(tab_arena *a, size_t total)
{
    Tabella__Imputation *m = tab_message(a, Tabella__Imputation, TABELLA__IMPUTATION__INIT);
    if (m == NULL)
        return NULL;
    m->table = tab_arena_new_of(a, uint32_t, total + 1);
    m->row = tab_arena_new_of(a, uint32_t, total + 1);
    m->column = tab_arena_new_of(a, uint32_t, total + 1);
    m->method_of = tab_arena_new_of(a, uint32_t, total + 1);
    m->confidence_table = tab_arena_new_of(a, uint32_t, total + 1);
    m->confidence_row = tab_arena_new_of(a, uint32_t, total + 1);
    m->row_confidence = tab_arena_new_of(a, double, total + 1);
    m->n_table = m->n_row = m->n_column = m->n_method_of = total;
    m->n_method = sizeof methods / sizeof *methods;
    m->method = tab_arena_new_of(a, char *, m->n_method);
    if (tab_arena_full(a))
        return NULL;
    for (size_t q = 0; q < m->n_method; q++)
        m->method[q] = tab_text(methods[q]);
    return m;
}

/* One filled cell: the number itself, or a copy of the cell that its class stands for. */
static void add_value(tab_builder *b, const tab_profile *p, const cell *c)
{
    if (c->fill->numeric) {
        tab_builder_number(b, c->fill->value[c->at]);
        return;
    }
    uint32_t from = c->fill->source[c->at];
    if (from == TAB_NULL)
        tab_builder_null(b);
    else
        tab_builder_cell(b, tab_cell_at(p->col[c->column].column, from));
}

/* Writes cells c (total) and, row by row, the mean confidence of a row's filled cells. False: the arena is
 * full. */
static bool write_cells(tab_arena *a, tab_profile *const *p, const cell *c, size_t total,
                        Tabella__Imputation *m)
{
    tab_builder *b = tab_builder_new(a, TAB_S("value"));
    size_t rows = 0, cells = 0;
    double sum = 0;
    if (b == NULL)
        return false;
    for (size_t i = 0; i < total; i++) {
        m->table[i] = c[i].table;
        m->row[i] = c[i].row;
        m->column[i] = c[i].column;
        for (uint32_t q = 0; q < m->n_method; q++)
            if (strcmp(methods[q], c[i].fill->method) == 0)
                m->method_of[i] = q;
        add_value(b, p[c[i].table], &c[i]);
        sum += (double)c[i].fill->confidence[c[i].at];
        cells++;
        if (i + 1 == total || c[i + 1].table != c[i].table || c[i + 1].row != c[i].row) {
            m->confidence_table[rows] = c[i].table;
            m->confidence_row[rows] = c[i].row;
            m->row_confidence[rows++] = sum / (double)cells;
            sum = 0, cells = 0;
        }
    }
    m->n_confidence_table = m->n_confidence_row = m->n_row_confidence = rows;
    tab_column value;
    if (!tab_builder_finish(b, &value))
        return false;
    m->value = tab_cells_message(a, &value, total);
    return m->value != NULL;
}

/* Tables one after the other, columns of a table in order of missingness. The message lists cells by table
 * and row, so they are sorted at the end. */
tab_status tab_impute(const tab_engine *e, tab_profile *const *p, size_t n, const tab_impute_target *target,
                      Tabella__Imputation **ret, tab_error *err)
{
    tab_arena *a = e->arena;
    openblas_set_num_threads(1); /* sums in one order, whatever the machine */
    tab_column_fill **fill = tab_arena_new_of(a, tab_column_fill *, n + 1);
    size_t *count = tab_arena_new_of(a, size_t, n + 1), total = 0;
    if (fill == NULL || count == NULL)
        return failed(e, err);
    for (size_t t = 0; t < n; t++) {
        fill[t] = tab_arena_new_of(a, tab_column_fill, p[t]->table->cols + 1);
        if (fill[t] == NULL)
            return failed(e, err);
        TAB_TRY(fill_table(e, p[t], t, target, fill[t], &count[t], err));
        for (size_t i = 0; i < count[t]; i++)
            total += fill[t][i].n;
    }
    cell *c = tab_arena_new_of(a, cell, total + 1);
    Tabella__Imputation *m = c == NULL ? NULL : new_message(a, total);
    if (m == NULL)
        return failed(e, err);
    list_cells(fill, count, n, c, total);
    if (!write_cells(a, p, c, total, m))
        return failed(e, err);
    *ret = m;
    return TAB_OK;
}
