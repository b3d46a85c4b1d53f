/* See impute.h. All columns share one encoder, and so its bins. A column is learned from a view without its
 * own features, in which gaps of other columns hold what a joint normal model (joint.h) expects there
 * (decision 0095). So every column is learned from a completed table, and no cell is filled twice.
 *
 * Columns are filled in order of missingness. In a row that misses several, a column that is filled later
 * reads what was filled before (decision 0177). The model is a stack (learn/stack.h) of fast learners, so its
 * statements about its own answers are calibrated on rows it did not see:
 *
 *   classes  confidence of a cell = probability of the class that was filled: the likeliest one, or, where
 *            the classes are consecutive whole numbers (a scale from 1 to 5), the one nearest to their
 *            expected value
 *   numbers  confidence of a cell = probability that it lies within the tolerance. A small stack learns it
 *            from the same columns: it predicts in which rows the out-of-fold answers were right */
#include "services/inference/engine/impute/impute.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "common/order.h"
#include "services/inference/engine/impute/joint.h"
#include "services/inference/engine/learn/stack.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/profile/roles.h"

/* LEAST_ROWS: with fewer present cells the mean or the commonest class is filled. SURE_ROWS: from here on
 * a confidence is learned for each cell, below it is one share for all. MOST_CLASSES: beyond, the
 * commonest class. FIT_ROWS: rows that a column is learned from. Chosen by hand, not measured. */
enum { LEAST_ROWS = 5, SURE_ROWS = 60, MOST_CLASSES = 200, FIT_ROWS = 20000 };
enum { LONG_SCALE = 12 };            /* a scale of more levels is a number in whole steps (decision 0178) */
static const double TOLERANCE = 0.5; /* of the column's standard deviation */
static const double COARSE =
    0.25; /* steps of more standard deviations are too coarse for an expectation (decision 0095) */

/* A number takes one tree a round, so that slower steps and more folds are affordable: what was tried
 * stands in decision 0177. */
static const tab_recipe NUMBER = {
    .learner = { &tab_learn_boost_brisk, &tab_learn_kernel_small }, .n = 2, .folds = 5, .work = 2e11
};
static const tab_recipe CLASSES = {
    .learner = { &tab_learn_boost_fast, &tab_learn_kernel_small }, .n = 2, .folds = 3, .work = 2e11
};
static const tab_recipe LIGHT = { .learner = { &tab_learn_boost_quick }, .n = 1, .folds = 2, .work = 2e11 };
static const tab_recipe SURE = { .learner = { &tab_learn_boost_quick }, .n = 1, .folds = 2, .work = 2e11 };

/* How much a column may cost. A table's budget counts (rows + ROW_COST) x features a column, about 3 us
 * each with the whole recipe; where that is too much every column gets the light one, and where that is
 * too much still, the columns with most cells missing get their mean or commonest class. */
typedef enum { PLAIN, LIGHTLY, WHOLLY } effort;
enum { ROW_COST = 500, MOST_FEATURES = 300 };
static const double BUDGET = 1e7, LIGHTER = 8;

/* One column to fill, and what it was filled with. */
typedef struct {
    size_t column;
    double missing;
    bool numeric;
    effort effort;
    size_t n;         /* cells filled */
    uint32_t *row;    /* (n) rising */
    double *value;    /* (n) numbers */
    uint32_t *source; /* (n) classes: a row of the table whose cell this one repeats */
    float *confidence;
    const char *method;
} column_fill;

/* For qsort: columns with the fewest gaps first. */
static int by_missing(const void *a, const void *b)
{
    const column_fill *x = a, *y = b;
    if (x->missing != y->missing)
        return x->missing < y->missing ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* Identifying values are never invented. A number that repeats and is an id by plurality only is more likely
 * something else, a counter of months for one, than an id: docs/decisions/0178. */
static bool fillable(const tab_column_profile *c)
{
    bool type = c->type == TAB_NUMERIC || c->type == TAB_BOOLEAN || c->type == TAB_CATEGORICAL;
    bool doubtful = c->role == TAB_ROLE_ID && c->role_confidence < 0.5 && !c->pii &&
                    c->column->layout == TAB_NUMBERS && c->distinct * 4 <= c->present;
    return type && (!c->identifying || doubtful) && c->present > 0;
}

/* Whether the cell is null; marks like "?" are none here and keep their cell. */
static bool is_missing(const tab_column *c, size_t row)
{
    return c->layout == TAB_NUMBERS ? isnan(c->num[row]) : c->code[row] == TAB_NULL;
}

/* To the column's own steps; to finer ones where those are coarse beside its spread: the
 * expectation of a count that is mostly 0 or 1 says more with a decimal than without. */
static double round_to(double v, int decimals, double sd)
{
    if (decimals < 0 || decimals > 9 || !(fabs(v) < 1e9))
        return v;
    double unit = pow(10, decimals);
    if (unit * sd < 1 / COARSE)
        unit *= 10;
    return round(v * unit) / unit;
}

/* Whether the classes, one row of each given, are consecutive whole numbers. */
static bool is_scale(const tab_column *c, const uint32_t *first, size_t classes)
{
    double lo = INFINITY, hi = -INFINITY;
    for (size_t k = 0; k < classes; k++) {
        double v = c->layout == TAB_NUMBERS ? c->num[first[k]] : (double)NAN;
        if (!(v == floor(v)))
            return false;
        lo = fmin(lo, v), hi = fmax(hi, v);
    }
    return hi - lo == (double)(classes - 1); /* levels are distinct */
}

/* The column as numbers: its own, or the levels of a long scale; NULL: it is filled by classes. */
static const double *numbers_of(const tab_column_profile *c, size_t rows)
{
    if (c->type == TAB_NUMERIC)
        return c->number;
    if (c->type != TAB_CATEGORICAL || c->column->layout != TAB_NUMBERS || c->levels <= LONG_SCALE)
        return NULL;
    const double *v = c->column->num;
    double lo = INFINITY, hi = -INFINITY;
    for (size_t r = 0; r < rows; r++) {
        if (isnan(v[r]))
            continue;
        if (v[r] != floor(v[r]))
            return NULL;
        lo = fmin(lo, v[r]), hi = fmax(hi, v[r]);
    }
    return hi - lo == (double)(c->levels - 1) ? v : NULL;
}

/* right (rows): 1 where the out-of-fold answer lay within the tolerance, 0 where not, TAB_NULL
 * where the cell is missing. ret (rows): how likely it is. */
static bool sureness(const tab_engine *e, tab_arena *a, const tab_problem *of, bool by_cell, uint32_t *right,
                     float *ret)
{
    tab_problem q = *of;
    q.classification = true;
    q.outputs = 2;
    q.label = right;
    q.seed ^= 0x5e1f;
    tab_recipe recipe = SURE;
    size_t rows = q.data->rows, known = 0;
    for (size_t i = 0; i < rows; i++)
        known += right[i] != TAB_NULL;
    if (!by_cell || known < SURE_ROWS)
        recipe.n = 0; /* the share of right ones */
    tab_stack *s = tab_stack_fit(e, a, &q, &recipe);
    if (s == NULL)
        return false;
    for (size_t i = 0; i < rows; i++)
        ret[i] = expf(s->oof[2 * i + 1]);
    return true;
}

/* The most confidence that a class can have after n cells: the next one may be the first of a class of its
 * own (Laplace's rule of succession, decision 0180). */
static float surest(size_t n)
{
    return (float)((double)(n + 1) / (double)(n + 2));
}

typedef struct {
    const tab_engine *e;
    const tab_profile *p;
    const tab_encoder *enc;
    const tab_data *data;
    const tab_joint *joint;   /* NULL: the table does not carry one */
    tab_joint_filled *filled; /* (knowns) numbers of the columns that came before */
    size_t knowns;
} table_pass;

/* Fills column f->column. Errors leave through false: memory or cancelled. */
static bool fill_column(const table_pass *t, column_fill *f)
{
    const tab_column_profile *c = &t->p->col[f->column];
    size_t rows = t->p->table->rows;
    tab_arena *keep = t->e->arena;
    const double *number = numbers_of(c, rows);
    f->numeric = number != NULL;
    f->row = tab_arena_new_of(keep, uint32_t, f->n + 1);
    f->confidence = tab_arena_new_of(keep, float, f->n + 1);
    f->value = f->numeric ? tab_arena_new_of(keep, double, f->n + 1) : NULL;
    f->source = f->numeric ? NULL : tab_arena_new_of(keep, uint32_t, f->n + 1);
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    tab_encoder enc, bare_enc;
    tab_data data, bare;
    if (tab_arena_full(keep) || a == NULL ||
        !tab_encode_without(a, t->enc, t->data, f->column, rows, &bare_enc, &bare))
        return false;
    enc = bare_enc, data = bare;
    if (t->joint != NULL &&
        !tab_joint_complete(t->e, a, t->joint, f->column, t->filled, t->knowns, &enc, &data))
        return false;
    float *y = tab_arena_new_of(a, float, rows + 1);
    uint32_t *label = tab_arena_new_of(a, uint32_t, rows + 1), *first = NULL, *of = NULL;
    size_t levels = c->code != NULL ? c->levels : 0, classes = 0;
    first = tab_arena_new_of(a, uint32_t, levels + 1);
    of = tab_arena_new_of(a, uint32_t, levels + 1);
    if (tab_arena_full(a))
        return false;
    double mean = 0, square = 0, unit = 0;
    size_t present = 0, used = 0;
    if (f->numeric) {
        for (size_t r = 0; r < rows; r++)
            if (!isnan(number[r]))
                unit = fmax(unit, fabs(number[r])), present++;
        unit = unit > 0 ? unit : 1;
        for (size_t r = 0; r < rows; r++)
            mean += isnan(number[r]) ? 0 : number[r] / unit / (double)present;
        for (size_t r = 0; r < rows; r++) {
            double d = isnan(number[r]) ? 0 : number[r] / unit - mean;
            square += d * d / (double)present;
        }
    }
    double sd = square > 1e-24 ? sqrt(square) : 1;
    for (size_t i = 0; i < rows; i++) { /* in the order of encoded rows */
        uint32_t row = data.row[i];
        y[i] = NAN;
        label[i] = TAB_NULL;
        if (used == FIT_ROWS) /* rows stand by hash: the first are a fair sample */
            continue;
        y[i] = f->numeric && !isnan(number[row]) ? (float)((number[row] / unit - mean) / sd) : NAN;
        used += !isnan(y[i]);
        if (!f->numeric && c->code != NULL && c->code[row] != TAB_NULL) {
            uint32_t level = c->code[row];
            if (of[level] == 0)
                of[level] = (uint32_t)++classes, first[classes - 1] = row;
            label[i] = of[level] - 1;
            present++, used++;
        }
    }
    size_t outputs = f->numeric ? 1 : classes;
    if (outputs == 0) {
        f->n = 0;
        return true;
    }
    tab_problem q = { .enc = &enc,
                      .data = &data,
                      .label = label,
                      .y = y,
                      .seed = t->e->seed,
                      .classification = !f->numeric,
                      .outputs = outputs };
    tab_recipe recipe = f->effort != WHOLLY ? LIGHT : f->numeric ? NUMBER : CLASSES;
    if (f->effort == PLAIN || present < LEAST_ROWS || outputs > MOST_CLASSES)
        recipe.n = 0; /* the mean or the commonest class */
    tab_engine e = *t->e;
    e.progress = NULL;
    e.arena = a;
    tab_stack *s = tab_stack_fit(&e, a, &q, &recipe);
    if (s == NULL)
        return false;
    f->method = s->members > 0 ? "model" : f->numeric ? "mean" : "mode";
    /* A rounded column answers in its own steps, within what was seen. */
    double lo = INFINITY, hi = -INFINITY;
    for (size_t r = 0; f->numeric && r < rows; r++)
        if (!isnan(number[r]))
            lo = fmin(lo, number[r]), hi = fmax(hi, number[r]);
    double *answer = f->numeric ? tab_arena_new_of(a, double, rows + 1) : NULL;
    float *sure = f->numeric ? tab_arena_new_of(a, float, rows + 1) : NULL;
    uint32_t *right = f->numeric ? tab_arena_new_of(a, uint32_t, rows + 1) : NULL;
    if (tab_arena_full(a))
        return false;
    double spread = c->type == TAB_NUMERIC ? sd * unit : (double)INFINITY; /* a scale keeps to its levels */
    for (size_t i = 0; f->numeric && i < rows; i++) {
        double v = round_to(((double)s->oof[i] * sd + mean) * unit, c->decimals, spread);
        answer[i] = v < lo ? lo : v > hi ? hi : v;
        right[i] = isnan(y[i]) ? TAB_NULL : fabs((answer[i] / unit - mean) / sd - (double)y[i]) <= TOLERANCE;
    }
    q.enc = &bare_enc, q.data = &bare; /* gaps as they are: they say how sure an answer can be */
    if (f->numeric && !sureness(&e, a, &q, f->effort == WHOLLY, right, sure))
        return false;
    bool scale = !f->numeric && outputs > 2 && is_scale(c->column, first, outputs);
    uint64_t *place = tab_arena_new_of(a, uint64_t, f->n + 1);
    size_t n = 0;
    for (size_t i = 0; place != NULL && i < rows && n < f->n; i++)
        if (is_missing(c->column, data.row[i]))
            place[n++] = (uint64_t)data.row[i] << 32 | i;
    if (place == NULL)
        return false;
    qsort(place, n, sizeof *place, tab_ascending_u64);
    for (size_t k = 0; k < n; k++) {
        size_t i = (uint32_t)place[k];
        f->row[k] = (uint32_t)(place[k] >> 32);
        if (f->numeric) {
            f->value[k] = answer[i];
            f->confidence[k] = sure[i];
            continue;
        }
        const float *o = s->oof + i * outputs;
        size_t best = 0;
        double expected = 0;
        for (size_t j = 0; j < outputs; j++) {
            if (scale)
                expected += exp((double)o[j]) * c->column->num[first[j]];
            if (o[j] > o[best])
                best = j;
        }
        for (size_t j = 0; scale && j < outputs; j++)
            if (fabs(c->column->num[first[j]] - expected) < fabs(c->column->num[first[best]] - expected))
                best = j;
        f->source[k] = first[best];
        f->confidence[k] = fminf(expf(o[best]), surest(present));
    }
    f->n = n;
    return true;
}

/* A target's missing cells take the prediction's answers; a mark ("?") is answered, too, but stays. */
static bool fill_target(const tab_engine *e, const Tabella__Prediction *m, const tab_profile *p,
                        column_fill *f)
{
    const Tabella__Results *r = m->missing_target_results;
    const tab_column_profile *c = &p->col[f->column];
    if (r == NULL) {
        f->n = 0;
        return true;
    }
    f->method = "prediction";
    f->numeric = r->n_value > 0;
    f->row = tab_arena_new_of(e->arena, uint32_t, r->n_row + 1);
    f->confidence = tab_arena_new_of(e->arena, float, r->n_row + 1);
    f->value = f->numeric ? tab_arena_new_of(e->arena, double, r->n_row + 1) : NULL;
    f->source = f->numeric ? NULL : tab_arena_new_of(e->arena, uint32_t, r->n_row + 1);
    if (tab_arena_full(e->arena))
        return false;
    size_t classes = r->n_row > 0 && !f->numeric ? r->n_probabilities / r->n_row : 0;
    uint32_t *first = tab_arena_new_of(e->arena, uint32_t, classes + 1);
    if (first == NULL)
        return false;
    if (!f->numeric) { /* a row that carries each class: what the results of present rows say */
        for (size_t k = 0; k < classes; k++)
            first[k] = TAB_NULL;
        for (size_t row = 0; row < p->table->rows; row++) {
            if (is_missing(c->column, row))
                continue;
            tab_cell cell = tab_cell_at(c->column, row);
            for (size_t k = 0; k < classes; k++) {
                if (first[k] != TAB_NULL)
                    continue;
                const Tabella__Column *names = m->classes;
                if (!names->coded) {
                    double v;
                    memcpy(&v, names->numbers.data + k * sizeof v, sizeof v);
                    if (cell.kind == TAB_CELL_NUMBER && cell.num == v)
                        first[k] = (uint32_t)row;
                    continue;
                }
                uint32_t code, from = 0, to;
                memcpy(&code, names->codes.data + k * sizeof code, sizeof code);
                if (code > 0)
                    memcpy(&from, names->level_end.data + (code - 1) * sizeof from, sizeof from);
                memcpy(&to, names->level_end.data + code * sizeof to, sizeof to);
                tab_str text = { (const char *)names->level_text.data + from, to - from };
                if (names->level_kind.data[code] == cell.kind && tab_str_eq(text, cell.text))
                    first[k] = (uint32_t)row;
            }
        }
    }
    /* Half a standard deviation either way, read off the interval as if it were normal. */
    double mean = 0, square = 0;
    size_t present = 0;
    for (size_t i = 0; f->numeric && i < p->table->rows; i++)
        if (!isnan(c->number[i]))
            mean += c->number[i], square += c->number[i] * c->number[i], present++;
    mean /= present > 0 ? (double)present : 1;
    double sd = present > 0 ? sqrt(fmax(0, square / (double)present - mean * mean)) : 0;
    f->n = 0;
    for (size_t k = 0; k < r->n_row; k++) {
        if (!is_missing(c->column, r->row[k]))
            continue;
        size_t n = f->n++;
        f->row[n] = r->row[k];
        if (f->numeric) {
            double z = r->std[k] > 0 ? TOLERANCE * sd / r->std[k] : 0;
            f->value[n] = r->value[k];
            f->confidence[n] = (float)erf(z * M_SQRT1_2);
            continue;
        }
        f->source[n] = first[r->label[k]];
        f->confidence[n] =
            fminf((float)r->probabilities[k * classes + r->label[k]], surest(p->table->rows - r->n_row));
    }
    return true;
}

/* Why a step gave up. */
static tab_status failed(const tab_engine *e, tab_error *err)
{
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled")
                                   : tab_fail(err, TAB_INTERNAL, "", "out of memory");
}

/* The fills of one table, columns rising; *count of them. */
static tab_status fill_table(const tab_engine *e, const tab_profile *p, size_t table,
                             const tab_impute_target *target, column_fill *f, size_t *count, tab_error *err)
{
    size_t n = 0, rows = p->table->rows;
    for (size_t c = 0; c < p->table->cols; c++) {
        size_t missing = 0;
        if (!fillable(&p->col[c]))
            continue;
        for (size_t r = 0; r < rows; r++)
            missing += is_missing(p->col[c].column, r);
        if (missing > 0 && missing < rows) {
            f[n] = (column_fill){ .column = c, .missing = (double)missing / (double)rows, .n = missing };
            n++;
        }
    }
    *count = n;
    if (n == 0)
        return TAB_OK;
    qsort(f, n, sizeof *f, by_missing);
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    tab_data *data = NULL;
    table_pass t = { .e = e, .p = p };
    t.enc = a == NULL ? NULL : tab_encode_fit(e, a, p, NULL, &data);
    t.data = data;
    tab_joint *joint = NULL;
    if (t.enc == NULL || !tab_joint_fit(e, a, t.enc, data, &joint))
        return failed(e, err);
    t.joint = joint;
    t.filled = tab_arena_new_of(a, tab_joint_filled, n);
    if (t.filled == NULL)
        return failed(e, err);
    size_t features = t.enc->n < MOST_FEATURES ? t.enc->n : MOST_FEATURES;
    double cost = (double)((rows < FIT_ROWS ? rows : FIT_ROWS) + ROW_COST) * (double)features;
    bool whole = cost * (double)n <= BUDGET;
    for (size_t i = 0; i < n; i++)
        f[i].effort = whole ? WHOLLY : cost * (double)(i + 1) <= BUDGET * LIGHTER ? LIGHTLY : PLAIN;
    for (size_t i = 0; i < n; i++) {
        bool own = target->prediction != NULL && target->table == table && target->column == f[i].column;
        if (!(own ? fill_target(e, target->prediction, p, &f[i]) : fill_column(&t, &f[i])))
            return failed(e, err);
        if (f[i].numeric)
            t.filled[t.knowns++] = (tab_joint_filled){ f[i].column, f[i].n, f[i].row, f[i].value };
        tab_engine_progress(e, "impute", (double)(i + 1) / (double)n);
    }
    return TAB_OK;
}

typedef struct {
    uint32_t table, row, column;
    const column_fill *fill;
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

/* Tables one after the other, columns of a table in order of missingness. The message lists cells by table
 * and row, so they are sorted at the end. */
tab_status tab_impute(const tab_engine *e, tab_profile *const *p, size_t n, const tab_impute_target *target,
                      Tabella__Imputation **ret, tab_error *err)
{
    tab_arena *a = e->arena;
    openblas_set_num_threads(1);
    static const char *const methods[] = { "model", "mean", "mode", "prediction" };
    Tabella__Imputation *m = tab_message(a, Tabella__Imputation, TABELLA__IMPUTATION__INIT);
    column_fill **fill = tab_arena_new_of(a, column_fill *, n + 1);
    size_t *count = tab_arena_new_of(a, size_t, n + 1), total = 0;
    if (m == NULL || fill == NULL || count == NULL)
        return failed(e, err);
    for (size_t t = 0; t < n; t++) {
        fill[t] = tab_arena_new_of(a, column_fill, p[t]->table->cols + 1);
        if (fill[t] == NULL)
            return failed(e, err);
        tab_status st = fill_table(e, p[t], t, target, fill[t], &count[t], err);
        if (st != TAB_OK)
            return st;
        for (size_t i = 0; i < count[t]; i++)
            total += fill[t][i].n;
    }
    cell *c = tab_arena_new_of(a, cell, total + 1);
    m->table = tab_arena_new_of(a, uint32_t, total + 1);
    m->row = tab_arena_new_of(a, uint32_t, total + 1);
    m->column = tab_arena_new_of(a, uint32_t, total + 1);
    m->method_of = tab_arena_new_of(a, uint32_t, total + 1);
    m->confidence_table = tab_arena_new_of(a, uint32_t, total + 1);
    m->confidence_row = tab_arena_new_of(a, uint32_t, total + 1);
    m->row_confidence = tab_arena_new_of(a, double, total + 1);
    tab_builder *b = tab_builder_new(a, TAB_S("value"));
    if (tab_arena_full(a) || b == NULL)
        return failed(e, err);
    m->n_method = sizeof methods / sizeof *methods;
    m->method = tab_arena_new_of(a, char *, m->n_method);
    if (m->method == NULL)
        return failed(e, err);
    for (size_t q = 0; q < m->n_method; q++)
        m->method[q] = tab_text(methods[q]);
    size_t k = 0;
    for (size_t t = 0; t < n; t++)
        for (size_t i = 0; i < count[t]; i++)
            for (size_t j = 0; j < fill[t][i].n; j++)
                c[k++] =
                    (cell){ (uint32_t)t, fill[t][i].row[j], (uint32_t)fill[t][i].column, &fill[t][i], j };
    qsort(c, total, sizeof *c, by_cell);
    m->n_table = m->n_row = m->n_column = m->n_method_of = total;
    size_t rows = 0, cells = 0;
    double sum = 0;
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
        return failed(e, err);
    m->value = tab_cells_message(a, &value, total);
    if (m->value == NULL)
        return failed(e, err);
    *ret = m;
    return TAB_OK;
}
