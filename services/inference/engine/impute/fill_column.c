/* See fill.h: fills one column by learners, for impute.c.
 *
 *   encoded table ─> view without the column ─> gaps completed (joint.c) ─> stack ─> answers ─> cells
 *                            └─> gaps left open ------------------------------> sureness --------┘
 *
 * The learners read a view of the table without the column's own features, in which gaps of other columns
 * hold what a joint normal model expects there (decision 0095). The model is a stack (learn/stack/stack.h) of
 * fast learners, so its statements about its own answers are calibrated on rows it did not see:
 *
 *   classes  confidence of a cell = probability of the class that was filled: the likeliest one, or, where
 *            the classes are consecutive whole numbers (a scale from 1 to 5), the one nearest to their
 *            expected value
 *   numbers  confidence of a cell = probability that it lies within the tolerance. A small stack learns it
 *            from the same columns: it predicts in which rows the out-of-fold answers were right */
#include <stdlib.h>
#include <string.h>

#include "common/base/order.h"
#include "services/inference/engine/impute/fill.h"
#include "services/inference/engine/impute/fill_asked.h"
#include "services/inference/engine/impute/fill_gaps.h"
#include "services/inference/engine/impute/leave.h"
#include "services/inference/engine/learn/stack/stack.h"
#include "services/inference/engine/predict/asked/gaps.h"
#include "services/inference/engine/predict/asked/heat.h"
#include "services/inference/engine/predict/asked/mix/odds.h"
#include "services/inference/engine/predict/follows.h"

/* LEAST_ROWS: with fewer present cells the median or the commonest class is filled. SURE_ROWS: from here on a
 * confidence is learned for each cell, below it is one share for all; 30 and 200 change nothing on the
 * tables of tests/bench/predict, whose columns have more (decision 0307). MOST_CLASSES: beyond, the
 * commonest class: a bound of cost. */
enum { LEAST_ROWS = 5, SURE_ROWS = 60, MOST_CLASSES = 200 };
/* From here on a column's views hold the rows that it is learned from and those that lack it, and no others
 * (decision 0378). Smaller tables keep the answers that they have. */
enum { PICK_ROWS = 50000 };
/* A scale of more levels is a number in whole steps (decision 0178). */
enum { LONG_SCALE = 12 };
/* A number takes one tree a round, so that slower steps and more folds are affordable: what was tried
 * stands in decision 0177. */
static const tab_recipe NUMBER = {
    .learner = { &tab_learn_boost_brisk, &tab_learn_kernel_small }, .n = 2, .folds = 5, .work = 2e11
};
static const tab_recipe CLASSES = {
    .learner = { &tab_learn_boost_fast, &tab_learn_kernel_small }, .n = 2, .folds = 3, .work = 2e11
};
/* For columns of a table that is too large for the whole recipe (impute.c). */
static const tab_recipe LIGHT = { .learner = { &tab_learn_boost_quick }, .n = 1, .folds = 2, .work = 2e11 };
/* For the stack that says how sure a number is. */
static const tab_recipe SURE = { .learner = { &tab_learn_boost_quick }, .n = 1, .folds = 2, .work = 2e11 };

/* A column on its way. "Encoded rows" stand in the order of the encoder's data (by hash), "table rows" in
 * that of the table. */
typedef struct {
    const tab_fill_pass *t;
    tab_column_fill *f;
    const tab_column_profile *c;
    tab_arena *a; /* scratch of this column */
    size_t rows;  /* encoded */
    uint32_t *at; /* (rows) where they stand in the table's encoded rows; NULL: these are all */

    tab_encoder enc, bare_enc; /* the view that the learners read, and the same with gaps left open */
    tab_data data, bare;

    const double *number;  /* (table rows) the column as numbers, NaN where missing; NULL: classes */
    double *seen;          /* numbers: the (present) values, ascending */
    double lo, hi;         /* numbers: far values are learned as these (fill_quality.h) */
    double unit, mean, sd; /* numbers: a value v is learned as (v / unit - mean) / sd */
    float *y;              /* (encoded rows) numbers: the target; NaN where missing or not used */
    uint32_t *label;       /* (encoded rows) classes: the target; TAB_NULL where missing or not used */
    uint32_t *first;       /* (classes) a table row that holds each class */
    size_t classes;        /* in order of appearance among the encoded rows */
    size_t present;        /* present cells: numbers of the column, or classes that are learned from */
    tab_asked asked;       /* how the missing cells lie to the present ones */
    bool repeats;          /* more than few rows are equal but for the column: each is its own */
    const double *beyond;  /* (table rows) numbers that most missing cells lie beyond; NULL: none */
    double low, high;      /* of the rows that have the cell */
    double follows;        /* how strongly the column follows them */
    double fresh_left;     /* of what is known of a cell, what is known in a new group; where few are new */
    float *weight;         /* (encoded rows) by how many missing cells each present one stands; NULL: alike */
} column_job;

/* ---- what is learned ------------------------------------------------------------------------- */

/* The column as numbers: its own, or the levels of a long scale; NULL: it is filled by classes. A scale's
 * levels are consecutive whole numbers. */
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

/* Whether the column is learned from this table row's cell. */
static bool is_known(const column_job *q, uint32_t row)
{
    if (row == q->t->total)
        return false;
    return q->number != NULL ? !isnan(q->number[row]) : q->c->code != NULL && q->c->code[row] != TAB_NULL;
}

/* The bare view to the rows that are read, in the order given (NULL: as they stand). Of a long table these
 * are those that will be learned from, which are the first in the order of their hashes, and those whose cell
 * is asked. */
static bool pick_rows(column_job *q, const uint32_t *order)
{
    size_t n = 0, used = 0;
    bool all = q->rows <= PICK_ROWS;
    q->at = tab_arena_new_of(q->a, uint32_t, q->rows + 1);
    if (q->at == NULL)
        return false;
    for (size_t i = 0; i < q->rows; i++) {
        uint32_t at = order != NULL ? order[i] : (uint32_t)i, row = q->bare.row[at];
        bool learned = used < TAB_FILL_ROWS && is_known(q, row);
        used += learned;
        if (all || learned || (row != q->t->total && tab_fill_missing(q->c->column, row)))
            q->at[n++] = at;
    }
    tab_data *d = tab_encode_pick(q->a, &q->bare_enc, &q->bare, q->at, n);
    if (d == NULL)
        return false;
    q->bare = *d;
    q->rows = n;
    return true;
}

/* The two views: without the column, and that with the gaps of other columns completed. A column that no
 * learner fills needs neither, and a wide table has many of those: their rows alone are read. */
static bool make_views(column_job *q)
{
    const tab_fill_pass *t = q->t;
    if (q->f->effort == TAB_FILL_PLAIN) {
        q->enc = q->bare_enc = *t->enc;
        q->data = q->bare = *t->data;
        return true;
    }
    if (!tab_encode_without(q->a, t->enc, t->data, q->f->column, q->rows, &q->bare_enc, &q->bare))
        return false;
    uint32_t *order = NULL;
    if (!tab_encode_unhash(q->a, t->enc, &t->p->col[q->f->column], q->f->column, &q->bare, &order))
        return false;
    q->repeats = order != NULL && tab_apart_units(t->apart)->kind != TAB_UNITS_COPIES;
    if ((q->rows > PICK_ROWS || order != NULL) && !pick_rows(q, order))
        return false;
    tab_joint_gaps gaps;
    uint8_t *row = tab_arena_new_of(q->a, uint8_t, q->rows + 1);
    for (size_t i = 0; row != NULL && i < q->rows; i++) {
        uint32_t at = q->bare.row[i];
        if (is_known(q, at))
            row[i] = TAB_FILL_KNOWN;
        else if (at != t->total && tab_fill_missing(q->c->column, at))
            row[i] = TAB_FILL_ASKED;
    }
    if (row == NULL || !tab_fill_gaps(q->a, row, &q->bare_enc, &q->bare, &gaps))
        return false;
    q->enc = q->bare_enc;
    q->data = q->bare;
    return t->joint == NULL || tab_joint_complete(t->e, q->a, t->joint, q->f->column, t->filled, t->knowns,
                                                  q->at, &gaps, &q->enc, &q->data);
}

/* A number as it is learned: within the fences. */
static double held(const column_job *q, double v)
{
    return fmin(fmax(v, q->lo), q->hi);
}

/* Fences, mean and standard deviation of the numbers. The latter are computed in units of the greatest
 * absolute value, so that squares of huge numbers do not overflow. False: memory. */
static bool standardise(column_job *q)
{
    double square = 0;
    size_t rows = q->t->p->table->rows;
    q->unit = q->sd = 1;
    if (q->number == NULL)
        return true;
    q->seen = tab_arena_new_of(q->a, double, rows + 1);
    if (q->seen == NULL)
        return false;
    for (size_t r = 0; r < rows; r++)
        if (!isnan(q->number[r]) && r != q->t->total)
            q->seen[q->present++] = q->number[r];
    if (q->present == 0)
        return true;
    qsort(q->seen, q->present, sizeof *q->seen, tab_ascending_double);
    tab_fences(q->seen, q->present, TAB_FENCE_LEARNED, &q->lo, &q->hi);
    q->unit = fmax(fabs(q->lo), fabs(q->hi));
    q->unit = q->unit > 0 ? q->unit : 1;
    for (size_t i = 0; i < q->present; i++)
        q->mean += held(q, q->seen[i]) / q->unit / (double)q->present;
    for (size_t i = 0; i < q->present; i++) {
        double d = held(q, q->seen[i]) / q->unit - q->mean;
        square += d * d / (double)q->present;
    }
    q->sd = square > 1e-24 ? sqrt(square) : 1; /* a constant column: every answer is the mean */
    return true;
}

/* The targets of the encoded rows: y or label. Classes are numbered as they appear; `first` remembers a row
 * of each, whose cell is what a filled cell will repeat. */
static bool set_targets(column_job *q)
{
    const tab_column_profile *c = q->c;
    size_t levels = c->code != NULL ? c->levels : 0, used = 0;
    q->y = tab_arena_new_of(q->a, float, q->rows + 1);
    q->label = tab_arena_new_of(q->a, uint32_t, q->rows + 1);
    q->first = tab_arena_new_of(q->a, uint32_t, levels + 1);
    uint32_t *class_of = tab_arena_new_of(q->a, uint32_t, levels + 1); /* class + 1 of a level; 0: none yet */
    if (tab_arena_full(q->a))
        return false;
    for (size_t i = 0; i < q->rows; i++) {
        uint32_t row = q->data.row[i];
        q->y[i] = NAN;
        q->label[i] = TAB_NULL;
        if (used == TAB_FILL_ROWS || row == q->t->total) /* rows stand by hash: the first are a fair sample */
            continue;
        if (q->number != NULL && !isnan(q->number[row])) {
            q->y[i] = (float)((held(q, q->number[row]) / q->unit - q->mean) / q->sd);
            used += !isnan(q->y[i]);
        }
        if (q->number == NULL && c->code != NULL && c->code[row] != TAB_NULL) {
            uint32_t level = c->code[row];
            if (class_of[level] == 0)
                class_of[level] = (uint32_t)++q->classes, q->first[q->classes - 1] = row;
            q->label[i] = class_of[level] - 1;
            q->present++, used++;
        }
    }
    return true;
}

/* The stack's answers for all encoded rows: out of fold where the cell is present. NULL: memory or
 * cancelled. */
static tab_stack *fit(const column_job *q, const tab_engine *e, const tab_problem *problem)
{
    bool numeric = q->number != NULL;
    tab_recipe recipe = q->f->effort != TAB_FILL_WHOLLY ? LIGHT : numeric ? NUMBER : CLASSES;
    if (q->f->effort == TAB_FILL_PLAIN || q->present < LEAST_ROWS || problem->outputs > MOST_CLASSES)
        recipe.n = 0; /* the median or the commonest class */
    return tab_stack_fit(e, q->a, problem, &recipe);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* To the column's own decimals. */
static double round_to(double v, int decimals)
{
    if (decimals < 0 || decimals > 9 || !(fabs(v) < 1e9))
        return v;
    double unit = pow(10, decimals);
    return round(v * unit) / unit;
}

/* The value of v (n, rising) that lies nearest to x; the lower one of two that lie alike. */
static double nearest(const double *v, size_t n, double x)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (v[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == n || (lo > 0 && x - v[lo - 1] <= v[lo] - x))
        lo--;
    return v[lo];
}

/* right (encoded rows): 1 where the out-of-fold answer lay within the tolerance, 0 where not, TAB_NULL
 * where the cell is missing. ret (encoded rows): how likely it is. by_cell: a likelihood for each cell, else
 * one share for all. */
static bool sureness(const tab_engine *e, tab_arena *a, const tab_problem *of, bool by_cell, uint32_t *right,
                     float *ret)
{
    tab_problem q = *of;
    q.classification = true;
    q.outputs = 2;
    q.label = right;
    q.seed ^= 0x5e1f; /* other draws than those of the stack that is judged */
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
        ret[i] = expf(s->oof[2 * i + 1]); /* outputs are log-probabilities of "wrong" and "right" */
    return true;
}

/* How the answers for the cells that are present compare with the median; the median takes their place where
 * they are no better. False: memory. */
static bool grade_numbers(const column_job *q, double *answer)
{
    double *truth = tab_arena_new_of(q->a, double, q->rows + 1);
    double *sorted = tab_arena_new_of(q->a, double, q->rows + 1);
    double *own = tab_arena_new_of(q->a, double, q->rows + 1);
    size_t n = 0;
    if (tab_arena_full(q->a))
        return false;
    for (size_t i = 0; i < q->rows; i++)
        if (!isnan(q->y[i])) {
            truth[n] = sorted[n] = q->number[q->data.row[i]];
            own[n++] = answer[i];
        }
    qsort(sorted, n, sizeof *sorted, tab_ascending_double);
    q->f->grade = tab_fill_quality_numbers(truth, own, sorted, n);
    for (size_t i = 0; !q->f->grade.better && i < q->rows; i++)
        answer[i] = tab_lower_median(q->seen, q->present);
    return true;
}

/* Cells that are missing because they lie beyond a limit. at (encoded rows): locations. False: memory. */
static bool cut_off(const column_job *q, const double *at, double *answer, float *sure)
{
    double *y = tab_arena_new_of(q->a, double, q->rows + 1);
    bool *open = tab_arena_new_of(q->a, bool, q->rows + 1);
    if (tab_arena_full(q->a))
        return false;
    for (size_t i = 0; i < q->rows; i++) {
        uint32_t row = q->data.row[i];
        y[i] = isnan(q->y[i]) ? (double)NAN : q->number[row];
        open[i] = row != q->t->total && tab_fill_missing(q->c->column, row);
    }
    if (!tab_fill_cut_off(&q->bare, y, at, open, q->rows, q->c->decimals == 0, q->sd * q->unit, answer, sure))
        return false;
    for (size_t i = 0; i < q->rows; i++)
        answer[i] = open[i] ? round_to(answer[i], q->c->decimals) : answer[i];
    return true;
}

/* answer and sure (encoded rows): the numbers in the column's own steps and within what was seen of it, and
 * the probability that each lies within the tolerance. */
static bool answer_numbers(const column_job *q, const tab_engine *e, const tab_problem *problem,
                           const tab_stack *s, double *answer, float *sure)
{
    const tab_column_profile *c = q->c;
    uint32_t *right = tab_arena_new_of(q->a, uint32_t, q->rows + 1);
    if (tab_arena_full(q->a))
        return false;
    double *at = tab_arena_new_of(q->a, double, q->rows + 1);
    if (at == NULL)
        return false;
    for (size_t i = 0; i < q->rows; i++) {
        double v = at[i] = ((double)s->oof[i] * q->sd + q->mean) * q->unit;
        /* whole numbers with one that occurs (decision 0263), others within what was seen */
        if (c->decimals == 0)
            answer[i] = nearest(q->seen, q->present, v);
        else
            answer[i] = fmin(fmax(round_to(v, c->decimals), q->seen[0]), q->seen[q->present - 1]);
    }
    if (!grade_numbers(q, answer))
        return false;
    for (size_t i = 0; i < q->rows; i++) {
        double off = fabs((answer[i] / q->unit - q->mean) / q->sd - (double)q->y[i]);
        right[i] = isnan(q->y[i]) ? TAB_NULL : off <= TAB_FILL_TOLERANCE;
    }
    /* gaps as they are: they say how sure an answer can be */
    tab_problem bare = *problem;
    bare.enc = &q->bare_enc;
    bare.data = &q->bare;
    if (!sureness(e, q->a, &bare, q->f->effort == TAB_FILL_WHOLLY, right, sure))
        return false;
    if (q->weight != NULL)
        tab_fill_shift(sure, right, q->weight, q->rows);
    return problem->place != NULL || cut_off(q, at, answer, sure);
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

/* The class to fill, by its log-probabilities o (classes): the likeliest, or on a scale the one nearest to
 * the expected value. */
static size_t best_class(const column_job *q, const float *o, bool scale)
{
    const double *value = q->c->column->num; /* read where the classes are a scale */
    size_t best = 0;
    double expected = 0;
    for (size_t j = 0; j < q->classes; j++) {
        if (scale)
            expected += exp((double)o[j]) * value[q->first[j]];
        if (o[j] > o[best])
            best = j;
    }
    for (size_t j = 0; scale && j < q->classes; j++)
        if (fabs(value[q->first[j]] - expected) < fabs(value[q->first[best]] - expected))
            best = j;
    return best;
}

/* The median class of a scale, else the commonest. False: memory. */
static bool plain_class(const column_job *q, bool scale, uint32_t *ret)
{
    size_t *count = tab_arena_new_of(q->a, size_t, q->classes + 1), n = 0;
    double *value = tab_arena_new_of(q->a, double, q->rows + 1);
    if (tab_arena_full(q->a))
        return false;
    *ret = 0;
    for (size_t i = 0; i < q->rows; i++)
        if (q->label[i] != TAB_NULL) {
            uint32_t k = q->label[i];
            count[k]++;
            value[n++] = scale ? q->c->column->num[q->first[k]] : 0;
        }
    for (uint32_t k = 0; k < q->classes; k++)
        *ret = count[k] > count[*ret] ? k : *ret;
    if (!scale || n == 0)
        return true;
    qsort(value, n, sizeof *value, tab_ascending_double);
    for (uint32_t k = 0; k < q->classes; k++)
        *ret = q->c->column->num[q->first[k]] == tab_lower_median(value, n) ? k : *ret; // NOLINT: the value
    return true;
}

/* best (encoded rows): the class to fill, *plain wherever the answers for the cells that are present are no
 * better than that. False: memory. */
static bool answer_classes(const column_job *q, const tab_stack *s, uint32_t *best)
{
    bool scale = q->classes > 2 && is_scale(q->c->column, q->first, q->classes);
    uint32_t plain, *truth = tab_arena_new_of(q->a, uint32_t, q->rows + 1);
    uint32_t *own = tab_arena_new_of(q->a, uint32_t, q->rows + 1);
    double *number = tab_arena_new_of(q->a, double, 3 * q->rows + 1);
    size_t n = 0;
    if (tab_arena_full(q->a) || !plain_class(q, scale, &plain))
        return false;
    double *said = number + q->rows, *sorted = said + q->rows;
    for (size_t i = 0; i < q->rows; i++) {
        best[i] = (uint32_t)best_class(q, s->oof + i * q->classes, scale);
        if (q->label[i] == TAB_NULL)
            continue;
        truth[n] = q->label[i];
        own[n] = best[i];
        number[n] = sorted[n] = scale ? q->c->column->num[q->first[truth[n]]] : 0;
        said[n] = scale ? q->c->column->num[q->first[own[n]]] : 0;
        n++;
    }
    qsort(sorted, n, sizeof *sorted, tab_ascending_double);
    q->f->grade = scale ? tab_fill_quality_numbers(number, said, sorted, n)
                        : tab_fill_quality_classes(truth, own, n, plain);
    for (size_t i = 0; !q->f->grade.better && i < q->rows; i++)
        best[i] = plain;
    return true;
}

/* place (f->n): the missing cells in rising order of their table rows, each row << 32 | its encoded row.
 * Returns how many. */
static size_t missing_cells(const column_job *q, uint64_t *place)
{
    size_t n = 0;
    for (size_t i = 0; i < q->rows && n < q->f->n; i++)
        if (tab_fill_missing(q->c->column, q->data.row[i]) && q->data.row[i] != q->t->total)
            place[n++] = (uint64_t)q->data.row[i] << 32 | i;
    qsort(place, n, sizeof *place, tab_ascending_u64);
    return n;
}

/* How often the median, or the class `best`, is right of the cells that are present. */
static double plain_share(const column_job *q, uint32_t best)
{
    size_t right = 0, n = 0;
    double median = q->number == NULL ? 0 : tab_lower_median(q->seen, q->present);
    for (size_t i = 0; i < q->rows; i++) {
        bool known = q->number == NULL ? q->label[i] != TAB_NULL : !isnan(q->y[i]);
        double off = (median / q->unit - q->mean) / q->sd - (double)q->y[i];
        n += known;
        right += known && (q->number == NULL ? q->label[i] == best : fabs(off) <= TAB_FILL_TOLERANCE);
    }
    return n > 0 ? (double)right / (double)n : 0;
}

/* A confidence that was learned of rows of known groups and within the numbers that are known, for a row of a
 * new group, or beyond them: what is known of it is less (decisions 0390, 0460). */
static float of_row(const column_job *q, size_t row, uint32_t best, float confidence)
{
    double left = 1;
    if (q->fresh_left < 1 && q->asked.of[row] == TAB_REGIME_NEW_GROUP)
        left = q->fresh_left;
    if (q->beyond != NULL && (q->beyond[row] < q->low || q->beyond[row] > q->high))
        left = fmin(left, 1 - q->follows);
    if (left >= 1)
        return confidence;
    double plain = plain_share(q, best);
    return (float)(plain + left * ((double)confidence - plain));
}

/* Writes the answers for the missing cells to f. */
static bool write_cells(const column_job *q, const tab_engine *e, const tab_problem *problem,
                        const tab_stack *s)
{
    tab_column_fill *f = q->f;
    double *answer = f->numeric ? tab_arena_new_of(q->a, double, q->rows + 1) : NULL;
    float *sure = f->numeric ? tab_arena_new_of(q->a, float, q->rows + 1) : NULL;
    uint32_t *best = f->numeric ? NULL : tab_arena_new_of(q->a, uint32_t, q->rows + 1);
    uint64_t *place = tab_arena_new_of(q->a, uint64_t, f->n + 1);
    if (tab_arena_full(q->a) ||
        !(f->numeric ? answer_numbers(q, e, problem, s, answer, sure) : answer_classes(q, s, best)))
        return false;
    double heat = 1;
    if (!f->numeric && q->weight != NULL && !tab_fill_heat(s, q->label, q->weight, q->rows, &heat))
        return false;
    f->n = missing_cells(q, place);
    for (size_t k = 0; k < f->n; k++) {
        size_t i = (uint32_t)place[k];
        f->row[k] = (uint32_t)(place[k] >> 32);
        if (f->numeric) {
            f->value[k] = answer[i];
            f->confidence[k] = of_row(q, f->row[k], 0, sure[i]);
            continue;
        }
        f->source[k] = q->first[best[i]];
        tab_heat_apply(heat, q->classes, s->oof + i * q->classes);
        float p = fminf(expf(s->oof[i * q->classes + best[i]]), tab_fill_surest(q->present));
        f->confidence[k] = of_row(q, f->row[k], best[i], p);
    }
    return true;
}

/* How strongly the column follows q->beyond, where it is known. False: memory. */
static bool find_follows(column_job *q)
{
    double sd, *x = tab_arena_new_of(q->a, double, q->rows + 1);
    for (size_t i = 0; x != NULL && i < q->rows; i++)
        x[i] = q->beyond[q->data.row[i]];
    bool classes = q->number == NULL;
    return x != NULL && tab_follows(x, classes ? q->label : NULL, classes ? NULL : q->y, q->rows, q->classes,
                                    &q->follows, &sd);
}

/* Weighs present cells where missing ones lie otherwise than they do. False: memory or cancelled. */
static bool weigh(column_job *q, const tab_engine *e, const tab_problem *problem, const bool *open)
{
    tab_problem bare = *problem;
    bare.enc = &q->bare_enc;
    bare.data = &q->bare;
    bool *asked = tab_arena_new_of(q->a, bool, q->rows + 1);
    for (size_t i = 0; asked != NULL && i < q->rows; i++)
        asked[i] = open[q->bare.row[i]];
    return q->f->effort != TAB_FILL_WHOLLY ||
           (asked != NULL && tab_asked_odds(e, q->a, &bare, asked, 0, &q->weight));
}

/* Rows are kept apart as the missing cells lie to the present ones (apart.h). False: memory or cancelled. */
static bool keep_apart(column_job *q, const tab_engine *e, tab_problem *problem)
{
    double steps;
    const tab_profile *p = q->t->p;
    size_t cols = p->table->cols, column = q->f->column, rows = p->table->rows;
    tab_arrangement way;
    uint32_t *unit = NULL;
    bool *open = tab_arena_new_of(q->a, bool, rows + 1);
    for (size_t r = 0; open != NULL && r < rows; r++)
        open[r] = r != q->t->total && tab_fill_missing(q->c->column, r);
    if (open == NULL || !tab_units_of(q->a, tab_apart_units(q->t->apart), &q->data, &unit))
        return false;
    problem->unit = unit;
    problem->repeats = q->repeats;
    if (1 - q->f->missing < TAB_FILL_PRESENT) /* it will be left: what matters is whether it could be told */
        return true;
    q->beyond = tab_apart_beyond(q->t->apart, column, open, &q->low, &q->high);
    if (q->beyond != NULL && !find_follows(q))
        return false;
    if (!tab_apart_looks(q->t->apart, column, open))
        return weigh(q, e, problem, open);
    if (tab_regime_find(q->a, p, column, cols, open, &q->asked, NULL) != TAB_OK ||
        !tab_regime_turn(rows, &q->asked) ||
        tab_arrange(e, q->a, p, problem, column, cols, TAB_SPLIT_AUTO, &q->asked, &way, NULL) != TAB_OK)
        return false;
    float *place = way.place;
    q->fresh_left = way.fresh_gap > 0 ? way.fresh_left : 1;
    if (place == NULL && unit == NULL &&
        !tab_gaps_places(q->a, &q->asked, &q->data, rows, e->seed, &place, &steps))
        return false;
    problem->place = place;
    if (place == NULL)
        return weigh(q, e, problem, open);
    /* the joint model was fitted with rows of the same groups and times, and what it expects of the column
     * tells of them */
    q->enc = q->bare_enc;
    q->data = q->bare;
    q->f->apart = true;
    return true;
}

bool tab_fill_column(const tab_fill_pass *t, tab_column_fill *f)
{
    size_t rows = t->p->table->rows;
    /* An arena of its own, freed at the end: a column's models are not needed by the next one. Its ceiling
     * of 8 GiB is a bound against runaway growth only. */
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    column_job q = { .t = t, .f = f, .c = &t->p->col[f->column], .a = a, .rows = rows, .fresh_left = 1 };
    q.number = numbers_of(q.c, rows);
    f->numeric = q.number != NULL;
    if (!tab_fill_room(t->e->arena, f, f->n) || a == NULL || !make_views(&q))
        return false;
    if (!standardise(&q) || !set_targets(&q))
        return false;
    size_t outputs = f->numeric ? q.present > 0 : q.classes;
    if (outputs == 0) { /* no present cell among the rows that are read: nothing to fill with */
        f->n = 0;
        f->left = "no row that is read has a value";
        return true;
    }
    tab_problem problem = { .enc = &q.enc,
                            .data = &q.data,
                            .label = q.label,
                            .y = q.y,
                            .seed = t->e->seed,
                            .classification = !f->numeric,
                            .outputs = outputs };
    tab_engine e = *t->e; /* the pass's threads, but this column's memory; progress is counted in columns */
    e.progress = NULL;
    e.arena = a;
    if (f->effort != TAB_FILL_PLAIN && !keep_apart(&q, &e, &problem))
        return false;
    tab_stack *s = fit(&q, &e, &problem);
    if (s == NULL)
        return false;
    if (!write_cells(&q, &e, &problem, s))
        return false;
    f->method = f->grade.better ? "model" : strcmp(f->grade.metric, "r2") == 0 ? "median" : "mode";
    return true;
}
