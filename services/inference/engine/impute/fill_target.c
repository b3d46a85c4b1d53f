/* See fill.h: the target of a prediction is not learned a second time. Its missing cells take the answers
 * that the prediction gave for them (missing_target_results), so that both parts of a bundle agree. Called
 * by impute.c. */
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/impute/fill.h"

/* Whether class k of a prediction's classes is this cell. Classes travel as a column: numbers as doubles,
 * texts by code, each the run of level_text that ends at level_end[code]. Bytes are copied, since they need
 * not be aligned. */
static bool is_class(const Tabella__Column *classes, size_t k, tab_cell cell)
{
    if (!classes->coded) {
        double v;
        memcpy(&v, classes->numbers.data + k * sizeof v, sizeof v);
        return cell.kind == TAB_CELL_NUMBER && cell.num == v;
    }
    uint32_t code, from = 0, to;
    memcpy(&code, classes->codes.data + k * sizeof code, sizeof code);
    if (code > 0)
        memcpy(&from, classes->level_end.data + (code - 1) * sizeof from, sizeof from);
    memcpy(&to, classes->level_end.data + code * sizeof to, sizeof to);
    tab_str text = { (const char *)classes->level_text.data + from, to - from };
    return classes->level_kind.data[code] == cell.kind && tab_str_eq(text, cell.text);
}

/* first (n): the first row of the column that holds each class, TAB_NULL where none does. A filled cell
 * repeats that row's cell, so that it is written as the table writes it. */
static void rows_of_classes(const tab_column *c, size_t rows, const Tabella__Column *classes, uint32_t *first,
                            size_t n)
{
    for (size_t k = 0; k < n; k++)
        first[k] = TAB_NULL;
    for (size_t row = 0; row < rows; row++) {
        if (tab_fill_missing(c, row))
            continue;
        tab_cell cell = tab_cell_at(c, row);
        for (size_t k = 0; k < n; k++)
            if (first[k] == TAB_NULL && is_class(classes, k, cell))
                first[k] = (uint32_t)row;
    }
}

/* The standard deviation of the n cells that are numbers; 0 where there are none. */
static double deviation(const double *number, size_t n)
{
    double mean = 0, square = 0;
    size_t present = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(number[i]))
            mean += number[i], square += number[i] * number[i], present++;
    mean /= present > 0 ? (double)present : 1;
    return present > 0 ? sqrt(fmax(0, square / (double)present - mean * mean)) : 0;
}

/* The class of a row, by a row of each class (first); n where it is of none. */
static uint32_t class_of(const tab_column_profile *c, size_t row, const uint32_t *first, size_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (first[k] != TAB_NULL && (c->code != NULL ? c->code[first[k]] == c->code[row]
                                                     : c->number[first[k]] == c->number[row])) // NOLINT
            return k;
    return (uint32_t)n;
}

/* Grades the prediction by its own rows' results, which are out of fold. Rows beyond TAB_FILL_ROWS are not
 * asked. False: the arena is full. */
static bool grade(tab_arena *a, const Tabella__Results *r, const tab_column_profile *c, const uint32_t *first,
                  size_t classes, tab_column_fill *f)
{
    size_t n = r->n_row < TAB_FILL_ROWS ? r->n_row : TAB_FILL_ROWS;
    double *truth = tab_arena_new_of(a, double, n + 1), *sorted = tab_arena_new_of(a, double, n + 1);
    uint32_t *class = tab_arena_new_of(a, uint32_t, n + 1), plain = 0;
    size_t *count = tab_arena_new_of(a, size_t, classes + 1);
    if (tab_arena_full(a))
        return false;
    if (f->numeric) {
        for (size_t i = 0; i < n; i++)
            truth[i] = sorted[i] = c->number[r->row[i]];
        qsort(sorted, n, sizeof *sorted, tab_ascending_double);
        f->grade = tab_fill_quality_numbers(truth, r->value, sorted, n);
        return true;
    }
    for (size_t i = 0; i < n; i++)
        count[class[i] = class_of(c, r->row[i], first, classes)]++;
    for (uint32_t k = 1; k < classes; k++)
        plain = count[k] > count[plain] ? k : plain;
    f->grade = tab_fill_quality_classes(class, r->label, n, plain);
    return true;
}

/* A mark ("?") in the target's column is answered by the prediction, too, but stays. Dates are left: the
 * column writes them in its own way. */
bool tab_fill_target(const tab_engine *e, const Tabella__Prediction *m, const tab_profile *p,
                     tab_column_fill *f)
{
    const Tabella__Results *r = m->missing_target_results;
    const tab_column_profile *c = &p->col[f->column];
    size_t rows = p->table->rows;
    f->n = 0;
    if (r == NULL)
        return true;
    if (m->time) {
        f->left = "points in time: the prediction has them";
        return true;
    }
    f->method = "prediction";
    f->numeric = r->n_value > 0;
    size_t classes = r->n_row > 0 && !f->numeric ? r->n_probabilities / r->n_row : 0;
    uint32_t *first = tab_arena_new_of(e->arena, uint32_t, classes + 1);
    if (!tab_fill_room(e->arena, f, r->n_row) || first == NULL)
        return false;
    if (!f->numeric)
        rows_of_classes(c->column, rows, m->classes, first, classes);
    if (m->results != NULL && !grade(e->arena, m->results, c, first, classes, f))
        return false;
    double sd = f->numeric ? deviation(c->number, rows) : 0;
    for (size_t k = 0; k < r->n_row; k++) {
        if (!tab_fill_missing(c->column, r->row[k]))
            continue;
        size_t n = f->n++;
        f->row[n] = r->row[k];
        if (f->numeric) {
            /* The probability of an error below the tolerance, with the answer's own standard deviation read
             * as that of a normal error: P(|x| < z) = erf(z / sqrt 2). */
            double z = r->std[k] > 0 ? TAB_FILL_TOLERANCE * sd / r->std[k] : 0;
            f->value[n] = r->value[k];
            f->confidence[n] = (float)erf(z * M_SQRT1_2);
            continue;
        }
        f->source[n] = first[r->label[k]];
        f->confidence[n] =
            fminf((float)r->probabilities[k * classes + r->label[k]], tab_fill_surest(rows - r->n_row));
    }
    return true;
}
