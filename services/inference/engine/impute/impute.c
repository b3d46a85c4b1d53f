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
#include "services/inference/engine/impute/leave.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/profile/lines.h"

/* A table's budget counts (rows + ROW_COST) x features a column, about 3 us each with the whole recipe;
 * where that is too much every column gets the light one, and where that is too much still, the columns with
 * most cells missing get their median or commonest class. ROW_COST: what a column costs beside its rows. More
 * than MOST_FEATURES features cost no more. LIGHTER: how much cheaper the light recipe is. */
enum { ROW_COST = 500, MOST_FEATURES = 300 };
static const double BUDGET = 1e7, LIGHTER = 8;

/* Why a step gave up. */
static tab_status failed(const tab_engine *e, tab_error *err)
{
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
}

/* ---- which columns, and in which order --------------------------------------------------------- */

/* One table on its way. */
typedef struct {
    size_t table;
    tab_column_fill *fill; /* (n) columns that are filled, by by_missing; room for all */
    size_t n;
    Tabella__LeftColumn *left; /* (lefts) room for two a column */
    size_t lefts;
} table_fill;

/* Says why cells of a column stay missing. */
static void leave(table_fill *w, size_t column, const char *reason)
{
    Tabella__LeftColumn *m = &w->left[w->lefts++];
    tabella__left_column__init(m);
    m->table = (uint32_t)w->table;
    m->column = (uint32_t)column;
    m->reason = tab_text(reason);
}

/* For qsort: columns with the fewest gaps first. */
static int by_missing(const void *a, const void *b)
{
    const tab_column_fill *x = a, *y = b;
    if (x->missing != y->missing)
        return x->missing < y->missing ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

static const char *of_first_rows(tab_arena *a, tab_str name)
{
    return tab_arena_printf(a, "only the first row of each %.*s has a value, which holds for all of its rows",
                            (int)(name.n < 64 ? name.n : 64), name.p);
}

/* The columns with missing cells, in the order in which they are filled, and those that are left. key (cols):
 * why a column that rows of tables are known by is left, or NULL; the whole list may be NULL. total: a row
 * of totals, or TAB_NULL. */
static void columns_to_fill(tab_arena *a, const tab_profile *p, const char *const *key, uint32_t total,
                            bool target, size_t target_column, table_fill *w)
{
    size_t rows = p->table->rows;
    uint32_t document = tab_lines_document(p);
    for (size_t c = 0; c < p->table->cols; c++) {
        size_t missing = 0;
        for (size_t r = 0; r < rows; r++)
            missing += tab_fill_missing(p->col[c].column, r);
        if (missing == 0)
            continue;
        const char *why = key != NULL && key[c] != NULL ? key[c] : tab_leave_column(a, &p->col[c]);
        if (why == NULL && document != TAB_NULL && tab_lines_on_first(p, document, c))
            why = of_first_rows(a, p->table->col[document].name);
        bool own = target && c == target_column; /* which the prediction fills, whatever it is */
        if (why != NULL && !(own && p->col[c].present > 0)) {
            leave(w, c, why);
            continue;
        }
        if (total != TAB_NULL && !own && tab_fill_missing(p->col[c].column, total)) {
            missing--;
            leave(w, c, tab_arena_printf(a, "row %u is a row of totals", total));
        }
        if (missing > 0)
            w->fill[w->n++] =
                (tab_column_fill){ .column = c, .missing = (double)missing / (double)rows, .n = missing };
    }
    qsort(w->fill, w->n, sizeof *w->fill, by_missing);
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

/* Takes a fill back where absence is a value of its own. One that was not graded says nothing of more than
 * few cells. False: memory or cancelled. */
static bool weigh_absence(const tab_fill_pass *t, tab_column_fill *f)
{
    char *why = NULL;
    bool few = 1 - f->missing < TAB_FILL_PRESENT, graded = f->effort != TAB_FILL_PLAIN;
    if (f->left != NULL || (!few && !graded))
        return true;
    /* a group or a stretch without the cell is told by others as well, and is no kind of its own for that */
    bool known = f->apart || f->grade.gain > TAB_FILL_TOLD;
    if (!tab_absence_weigh(t->e, t->p, t->enc, t->data, f->column, f->missing, known, &why))
        return false;
    if (why != NULL)
        f->left = why, f->n = 0;
    return true;
}

/* Puts the numbers that arithmetic makes in the place of learned ones; in a column of classes those that it
 * has. False: the arena is full. */
static bool put_made(const tab_fill_pass *t, tab_column_fill *f)
{
    if (f->n == 0 || t->mades == 0)
        return true;
    f->made = tab_arena_new_of(t->e->arena, bool, f->n);
    if (f->made == NULL)
        return false;
    for (size_t i = 0; i < f->n; i++) {
        const tab_number_made *m = tab_number_made_at(t->made, t->mades, f->row[i], (uint32_t)f->column);
        if (m == NULL || (!f->numeric && m->like == TAB_NULL))
            continue;
        f->made[i] = true;
        f->confidence[i] = (float)m->confidence;
        if (f->numeric)
            f->value[i] = m->value;
        else
            f->source[i] = m->like;
    }
    return true;
}

/* Fills w->fill (n), in that order. */
static tab_status fill_columns(const tab_engine *e, tab_fill_pass *t, const tab_impute_target *target,
                               table_fill *w, tab_error *err)
{
    share_budget(w->fill, w->n, t->p->table->rows, t->enc->n);
    for (size_t i = 0; i < w->n; i++) {
        tab_column_fill *f = &w->fill[i];
        bool own = target->prediction != NULL && target->table == w->table && target->column == f->column;
        if (!(own ? tab_fill_target(e, target->prediction, t->p, f)
                  : tab_fill_column(t, f) && weigh_absence(t, f) && put_made(t, f)))
            return failed(e, err);
        if (f->left != NULL)
            leave(w, f->column, f->left);
        if (f->numeric && f->n > 0) /* the columns that follow read these numbers (decision 0177) */
            t->filled[t->knowns++] = (tab_joint_filled){ f->column, f->n, f->row, f->value };
        tab_engine_progress(e, "impute", (double)(i + 1) / (double)w->n);
    }
    return TAB_OK;
}

/* Finds and fills what is missing in one table. */
static tab_status fill_table(const tab_engine *e, const tab_profile *p, const char *const *key,
                             const tab_impute_target *target, table_fill *w, tab_error *err)
{
    size_t cols = p->table->cols;
    bool own = target->prediction != NULL && target->table == w->table;
    w->fill = tab_arena_new_of(e->arena, tab_column_fill, cols + 1);
    w->left = tab_arena_new_of(e->arena, Tabella__LeftColumn, 2 * cols + 1);
    if (w->fill == NULL || w->left == NULL)
        return failed(e, err);
    tab_fill_pass t = { .e = e, .p = p, .total = tab_row_of_totals(p) };
    columns_to_fill(e->arena, p, key, t.total, own, target->column, w);
    if (w->n == 0)
        return TAB_OK;
    /* the encoded table, the joint model and its folds: let go with the table */
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    tab_data *data = NULL;
    tab_joint *joint = NULL;
    t.enc = a == NULL ? NULL : tab_encode_fit(e, a, p, NULL, &data);
    if (t.enc == NULL || !tab_joint_fit(e, a, t.enc, data, &joint))
        return failed(e, err);
    t.data = data;
    t.joint = joint;
    t.apart = tab_apart_new(a, p);
    if (t.apart == NULL)
        return failed(e, err);
    tab_number_made *made;
    TAB_TRY(tab_numbers_made(e, a, p, &made, &t.mades, err));
    t.made = made;
    t.filled = tab_arena_new_of(a, tab_joint_filled, w->n);
    return t.filled == NULL ? failed(e, err) : fill_columns(e, &t, target, w, err);
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

/* c (total): the cells of all fills, sorted. w (n): the tables. */
static void list_cells(const table_fill *w, size_t n, cell *c, size_t total)
{
    size_t k = 0;
    for (size_t t = 0; t < n; t++)
        for (size_t i = 0; i < w[t].n; i++) {
            const tab_column_fill *f = &w[t].fill[i];
            for (size_t j = 0; j < f->n; j++)
                c[k++] = (cell){ (uint32_t)t, f->row[j], (uint32_t)f->column, f, j };
        }
    qsort(c, total, sizeof *c, by_cell);
}

const char *const tab_fill_methods[TAB_FILL_METHODS] = { "model", "median", "mode", "prediction" };

bool tab_imputation_room(tab_arena *a, size_t n, Tabella__Imputation *m)
{
    m->table = tab_arena_new_of(a, uint32_t, n + 1);
    m->row = tab_arena_new_of(a, uint32_t, n + 1);
    m->column = tab_arena_new_of(a, uint32_t, n + 1);
    m->method_of = tab_arena_new_of(a, uint32_t, n + 1);
    m->confidence_table = tab_arena_new_of(a, uint32_t, n + 1);
    m->confidence_row = tab_arena_new_of(a, uint32_t, n + 1);
    m->row_confidence = tab_arena_new_of(a, double, n + 1);
    m->n_table = m->n_row = m->n_column = m->n_method_of = n;
    m->n_method = TAB_FILL_METHODS;
    m->method = tab_arena_new_of(a, char *, TAB_FILL_METHODS);
    if (tab_arena_full(a))
        return false;
    for (size_t q = 0; q < TAB_FILL_METHODS; q++)
        m->method[q] = tab_text(tab_fill_methods[q]);
    return true;
}

/* A message with room for `total` cells; NULL: the arena is full. */
static Tabella__Imputation *new_message(tab_arena *a, size_t total)
{
    Tabella__Imputation *m = tab_message(a, Tabella__Imputation, TABELLA__IMPUTATION__INIT);
    return m != NULL && tab_imputation_room(a, total, m) ? m : NULL;
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
        bool made = c[i].fill->made != NULL && c[i].fill->made[c[i].at];
        for (uint32_t q = 0; q < m->n_method; q++)
            if (strcmp(tab_fill_methods[q], made ? tab_fill_methods[0] : c[i].fill->method) == 0)
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

/* For qsort: by column. */
static int by_column(const void *a, const void *b)
{
    const tab_column_fill *x = a, *y = b;
    return (x->column > y->column) - (x->column < y->column);
}

static int by_left(const void *a, const void *b)
{
    const Tabella__LeftColumn *x = a, *y = b;
    return (x->column > y->column) - (x->column < y->column);
}

/* Whether the median or the commonest class was filled. */
static bool plain(const tab_column_fill *f)
{
    return strcmp(f->method, "median") == 0 || strcmp(f->method, "mode") == 0;
}

/* columns[] and not_filled[], by table and column. Fills are put in the order of their columns: their cells
 * have been listed. False: the arena is full. */
static bool write_columns(tab_arena *a, table_fill *w, size_t n, Tabella__Imputation *m)
{
    size_t fills = 0, lefts = 0;
    for (size_t t = 0; t < n; t++)
        fills += w[t].n, lefts += w[t].lefts;
    m->columns = tab_arena_new_of(a, Tabella__FilledColumn *, fills + 1);
    m->not_filled = tab_arena_new_of(a, Tabella__LeftColumn *, lefts + 1);
    Tabella__FilledColumn *c = tab_arena_new_of(a, Tabella__FilledColumn, fills + 1);
    if (m->columns == NULL || m->not_filled == NULL || c == NULL)
        return false;
    for (size_t t = 0; t < n; t++) {
        qsort(w[t].fill, w[t].n, sizeof *w[t].fill, by_column);
        qsort(w[t].left, w[t].lefts, sizeof *w[t].left, by_left);
        for (size_t i = 0; i < w[t].n; i++) {
            const tab_column_fill *f = &w[t].fill[i];
            if (f->n == 0)
                continue;
            tabella__filled_column__init(c);
            c->table = (uint32_t)t;
            c->column = (uint32_t)f->column;
            c->method = tab_text(f->method);
            bool graded = isfinite(f->grade.baseline);
            c->metric = tab_text(graded ? f->grade.metric : "");
            c->score = !graded ? 0 : plain(f) ? f->grade.baseline : f->grade.score;
            c->baseline = graded ? f->grade.baseline : 0;
            m->columns[m->n_columns++] = c++;
        }
        for (size_t i = 0; i < w[t].lefts; i++)
            m->not_filled[m->n_not_filled++] = &w[t].left[i];
    }
    return true;
}

/* Tables one after the other, columns of a table in order of missingness. The message lists cells by table
 * and row, so they are sorted at the end. */
tab_status tab_impute(const tab_engine *e, tab_profile *const *p, size_t n, const char *const *const *key,
                      const tab_impute_target *target, Tabella__Imputation **ret, tab_error *err)
{
    tab_arena *a = e->arena;
    openblas_set_num_threads(1); /* sums in one order, whatever the machine */
    table_fill *w = tab_arena_new_of(a, table_fill, n + 1);
    size_t total = 0;
    if (w == NULL)
        return failed(e, err);
    for (size_t t = 0; t < n; t++) {
        w[t].table = t;
        TAB_TRY(fill_table(e, p[t], key == NULL ? NULL : key[t], target, &w[t], err));
        for (size_t i = 0; i < w[t].n; i++)
            total += w[t].fill[i].n;
    }
    cell *c = tab_arena_new_of(a, cell, total + 1);
    Tabella__Imputation *m = c == NULL ? NULL : new_message(a, total);
    if (m == NULL)
        return failed(e, err);
    list_cells(w, n, c, total);
    if (!write_cells(a, p, c, total, m) || !write_columns(a, w, n, m))
        return failed(e, err);
    *ret = m;
    return TAB_OK;
}
