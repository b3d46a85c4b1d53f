/* The target column as the learners read it: class indices, or standardised numbers. fitted.c calls
 * tab_target_read before it fits.
 *
 * Classes are ordered by value (numbers before text, each rising), so that their indices do not depend on the
 * order of rows. A task may ask for a number to be classified; it cannot ask for a regression of
 * categories. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* Bounds of a target of classes; a target beyond them is refused. Chosen by hand, not measured. */
enum { MOST_CLASSES = 10000 };
static const double MOST_PROBABILITIES = 5e7; /* rows x classes of one answer */

/* A class: the cell that stands for it in answers. */
typedef struct {
    tab_cell_kind kind;
    double num;
    tab_str text;
    uint32_t was; /* index before sorting */
} class_cell;

/* For qsort. */
static int by_class(const void *a, const void *b)
{
    const class_cell *x = a, *y = b;
    /* numbers first, by value; texts by bytes */
    bool xn = x->kind == TAB_CELL_NUMBER, yn = y->kind == TAB_CELL_NUMBER;
    if (xn != yn)
        return xn ? -1 : 1;
    if (xn && x->num != y->num)
        return x->num < y->num ? -1 : 1;
    size_t n = x->text.n < y->text.n ? x->text.n : y->text.n;
    int c = n == 0 ? 0 : memcmp(x->text.p, y->text.p, n);
    if (c != 0)
        return c;
    if (x->text.n != y->text.n)
        return x->text.n < y->text.n ? -1 : 1;
    return (x->was > y->was) - (x->was < y->was);
}

/* Distinct numbers as codes, for a numeric target that is to be classified. */
static size_t codes_of_numbers(const double *number, size_t rows, uint32_t *code, double *sorted)
{
    size_t n = 0, distinct = 0;
    for (size_t i = 0; i < rows; i++)
        if (!isnan(number[i]))
            sorted[n++] = number[i];
    qsort(sorted, n, sizeof *sorted, tab_ascending_double);
    /* the distinct values move to the front; a number's code is its place among them */
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[distinct - 1])
            sorted[distinct++] = sorted[i];
    for (size_t i = 0; i < rows; i++) {
        size_t lo = 0, hi = distinct;
        while (!isnan(number[i]) && lo < hi) {
            size_t mid = (lo + hi) / 2;
            if (sorted[mid] < number[i])
                lo = mid + 1;
            else
                hi = mid;
        }
        code[i] = isnan(number[i]) ? TAB_NULL : (uint32_t)lo;
    }
    return distinct;
}

/* Labels and class cells of the target. */
static tab_status read_classes(tab_fitted *f, const tab_column_profile *c, tab_error *err)
{
    tab_arena *a = f->arena;
    size_t rows = f->rows, levels = c->levels;
    const uint32_t *code = c->code;
    f->label = tab_arena_new_of(a, uint32_t, rows + 1);
    if (f->label == NULL)
        return tab_no_memory(err);
    /* a number that is to be classified: its distinct values are the levels */
    if (code == NULL) {
        double *sorted = tab_arena_new_of(a, double, rows + 1);
        if (sorted == NULL)
            return tab_no_memory(err);
        levels = c->number == NULL ? 0 : codes_of_numbers(c->number, rows, f->label, sorted);
        code = f->label;
    }
    /* first: a row of each level, whose cell is the class's; to: the class of a level */
    uint32_t *first = malloc((levels + 1) * sizeof *first), *to = malloc((levels + 1) * sizeof *to);
    class_cell *cell = malloc((levels + 1) * sizeof *cell);
    tab_status st = first == NULL || to == NULL || cell == NULL ? tab_no_memory(err) : TAB_OK;
    size_t used = 0;
    if (st == TAB_OK) {
        for (size_t i = 0; i < levels; i++)
            first[i] = TAB_NULL;
        for (size_t i = 0; i < rows; i++)
            if (code[i] != TAB_NULL && first[code[i]] == TAB_NULL)
                first[code[i]] = (uint32_t)i;
        for (size_t i = 0; i < levels; i++) {
            if (first[i] == TAB_NULL)
                continue;
            tab_cell v = tab_cell_at(c->column, first[i]);
            cell[used++] = (class_cell){ v.kind, v.num, v.text, (uint32_t)i };
        }
        qsort(cell, used, sizeof *cell, by_class);
        if (used == 0)
            st = tab_fail(err, TAB_VALIDATION, "target.column", "the target is empty in every row");
        else if (used > MOST_CLASSES || (double)used * (double)rows > MOST_PROBABILITIES)
            st = tab_fail(err, TAB_VALIDATION, "target.column",
                          "the target has %zu distinct values: too many classes for %zu rows", used, rows);
    }
    if (st == TAB_OK) {
        /* the classes' cells as they were sent, and each row's class */
        tab_builder *b = tab_builder_new(a, c->column->name);
        for (size_t k = 0; b != NULL && k < used; k++) {
            to[cell[k].was] = (uint32_t)k;
            tab_builder_cell(b, (tab_cell){ .kind = cell[k].kind, .num = cell[k].num, .text = cell[k].text });
        }
        if (b == NULL || !tab_builder_finish(b, &f->class_cells))
            st = tab_no_memory(err);
        for (size_t i = 0; st == TAB_OK && i < rows; i++) {
            f->label[i] = code[i] == TAB_NULL ? TAB_NULL : to[code[i]];
            assert(f->label[i] == TAB_NULL || f->label[i] < used);
        }
        f->classes = used;
    }
    free(first), free(to), free(cell);
    return st;
}

/* Answers stay within what a double holds. */
static const double FARTHEST = 1.7e308;

/* The standardised target. Values are divided by the largest first: sums and squares of any doubles stay
 * finite. */
static tab_status read_numbers(tab_fitted *f, const tab_column_profile *c, tab_error *err)
{
    size_t rows = f->rows, n = 0;
    f->y = tab_arena_new_of(f->arena, float, rows + 1);
    if (f->y == NULL)
        return tab_no_memory(err);
    double most = 0, mean = 0, square = 0, lo = INFINITY, hi = -INFINITY;
    f->whole = true;
    for (size_t i = 0; i < rows; i++)
        if (!isnan(c->number[i])) {
            most = fmax(most, fabs(c->number[i]));
            lo = fmin(lo, c->number[i]), hi = fmax(hi, c->number[i]);
            f->whole = f->whole && c->number[i] == round(c->number[i]); // NOLINT: whole
            n++;
        }
    if (n == 0)
        return tab_fail(err, TAB_VALIDATION, "target.column", "the target holds no number in any row");
    double unit = most > 0 ? most : 1; /* sums of values / unit stay within a double, whatever their range */
    for (size_t i = 0; i < rows; i++)
        mean += isnan(c->number[i]) ? 0 : c->number[i] / unit;
    mean /= (double)n;
    for (size_t i = 0; i < rows; i++) {
        double d = isnan(c->number[i]) ? 0 : c->number[i] / unit - mean;
        square += d * d;
    }
    /* a constant target is in units of 1 */
    double sd = sqrt(square / (double)n);
    f->shift = mean * unit;
    f->scale = sd > 1e-12 && sd * unit > 0 ? sd * unit : 1;
    for (size_t i = 0; i < rows; i++) {
        double d = isnan(c->number[i]) ? (double)NAN : (c->number[i] / unit - mean) / (f->scale / unit);
        f->y[i] = (float)d;
    }
    /* Answers stay a tenth of the range around what was seen, and never turn negative where none was. */
    double tenth = hi / 10 - lo / 10;
    f->least = lo >= 0 && lo - tenth < 0 ? 0 : lo - tenth;
    f->most = hi <= 0 && hi + tenth > 0 ? 0 : hi + tenth;
    f->least = fmax(-FARTHEST, fmin(FARTHEST, f->least));
    f->most = fmax(-FARTHEST, fmin(FARTHEST, f->most));
    assert(f->scale > 0 && f->least <= f->most);
    return TAB_OK;
}

/* An answer beyond a double is the limit of what was seen. */
double tab_target_value(const tab_fitted *f, double y)
{
    double v = f->shift + f->scale * y;
    return isfinite(v) ? v : y > 0 ? f->most : f->least;
}

/* Dates are numbers as well: seconds since 1970. */
tab_status tab_target_read(tab_fitted *f, const tab_profile *p, size_t col, tab_error *err)
{
    if (col >= p->table->cols)
        return tab_fail(err, TAB_VALIDATION, "target.column", "no such column");
    tab_column_profile c = p->col[col];
    if (f->task == TAB_TASK_AUTO)
        f->task = tab_numeric_target(&c) ? TAB_TASK_REGRESSION : TAB_TASK_CLASSIFICATION;
    if (f->task == TAB_TASK_CLASSIFICATION)
        return read_classes(f, &c, err);
    bool number = true;
    if (c.type != TAB_DATETIME && !tab_view_as_number(f->arena, &c, f->rows, &number))
        return tab_no_memory(err);
    if (!number)
        return tab_fail(err, TAB_VALIDATION, "task.type", "regression needs a numeric target");
    return read_numbers(f, &c, err);
}
