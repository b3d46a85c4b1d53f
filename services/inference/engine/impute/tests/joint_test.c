/* The joint model against what must hold: it fills what follows from other cells, and never reads
 * the cell that it is asked about. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/impute/impute.h"
#include "services/inference/engine/impute/joint.h"
#include "services/inference/engine/profile/roles/roles.h"

enum { ROWS = 600 };

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

static double bell(size_t i, size_t j) /* near enough to normal */
{
    return unit(i, j) + unit(i, j + 50) + unit(i, j + 100) - 1.5;
}

static bool gap(size_t i, size_t j)
{
    return unit(i, 900 + j) < 0.2;
}

/* a, b independent; c = a + b; d noise; k the sign of a. A fifth of all cells missing. */
static double value(size_t i, size_t j)
{
    return j == 0 ? bell(i, 1) : j == 1 ? bell(i, 2) : j == 2 ? bell(i, 1) + bell(i, 2) : bell(i, 3);
}

static tab_table *table(tab_arena *a, size_t rows)
{
    static const char *const names[] = { "a", "b", "c", "d", "k" };
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, 5);
    for (size_t j = 0; j < 5; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[j]));
        for (size_t i = 0; i < rows; i++) {
            if (gap(i, j))
                tab_builder_null(b);
            else if (j < 4)
                tab_builder_number(b, value(i, j));
            else
                tab_builder_text(b, value(i, 0) > 0 ? TAB_S("plus") : TAB_S("minus"));
        }
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = 5, .col = col };
    return t;
}

static double correlation(const double *x, const double *y, size_t n)
{
    double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++)
        sx += x[i], sy += y[i], xx += x[i] * x[i], yy += y[i] * y[i], xy += x[i] * y[i];
    double m = (double)n;
    return (xy - sx * sy / m) / sqrt((xx - sx * sx / m) * (yy - sy * sy / m));
}

/* The joint model of the table above. */
static tab_joint *fitted(const tab_engine *e, tab_encoder **enc, tab_data **data)
{
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(e, table(e->arena, ROWS), &p, NULL), TAB_OK);
    *enc = tab_encode_fit(e, e->arena, p, NULL, data);
    tab_joint *j = NULL;
    cr_assert(*enc != NULL && tab_joint_fit(e, e->arena, *enc, *data, &j) && j != NULL);
    return j;
}

Test(joint, fills_what_follows_and_never_reads_the_cell_itself)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_data *data;
    tab_encoder *enc;
    tab_joint *j = fitted(&e, &enc, &data);
    for (size_t target = 0; target < 4; target++) {
        tab_encoder own;
        tab_data view;
        cr_assert(tab_encode_without(a, enc, data, target, ROWS, &own, &view));
        size_t was = own.n;
        cr_assert(tab_joint_complete(&e, a, j, target, NULL, 0, NULL, NULL, &own, &view));
        cr_assert_eq(own.n, was + 1, "a number has one coordinate");
        double given[2][ROWS], guess[2][ROWS];
        size_t n[2] = { 0, 0 };
        for (size_t i = 0; i < ROWS; i++) {
            size_t row = view.row[i];
            bool alone =
                target == 3 || gap(row, 0) || gap(row, 1) || gap(row, 2); /* not fixed by the others */
            if (target < 3 && alone && !gap(row, target))
                continue;
            given[gap(row, target)][n[gap(row, target)]] = value(row, target);
            guess[gap(row, target)][n[gap(row, target)]++] = (double)view.x[was][i];
            for (size_t f = 0; f < was; f++)
                cr_assert(own.f[f].kind == TAB_FEATURE_CODE || !isnan(view.x[f][i]), "a gap is left");
        }
        double with = correlation(given[0], guess[0], n[0]), without = correlation(given[1], guess[1], n[1]);
        if (target == 3) {
            cr_expect_lt(fabs(with), 0.12, "noise is guessed at correlation %.3f where its cell is present",
                         with);
        } else {
            cr_expect_gt(with, 0.98, "column %zu: %.3f where all else is there", target, with);
            cr_expect_gt(without, 0.7, "column %zu: %.3f for missing cells", target, without);
        }
    }
}

/* Cell i as a number; texts stand beside them, so that all are coded. */
static double number_at(const Tabella__Column *c, size_t i)
{
    uint32_t code, from = 0, to;
    memcpy(&code, c->codes.data + 4 * i, 4);
    if (code > 0)
        memcpy(&from, c->level_end.data + 4 * (code - 1), 4);
    memcpy(&to, c->level_end.data + 4 * code, 4);
    char text[64] = { 0 };
    cr_assert_lt(to - from, sizeof text);
    memcpy(text, c->level_text.data + from, to - from);
    return strtod(text, NULL);
}

static const double SD = 0.7071; /* of c */

Test(impute, answers_well_and_knows_how_well)
{
    enum { MANY = 1200 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    tab_engine e = { .arena = a };
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, table(a, MANY), &p, NULL), TAB_OK);
    Tabella__Imputation *m = NULL;
    tab_impute_target none = { 0 };
    cr_assert_eq(tab_impute(&e, &p, 1, NULL, &none, &m, NULL), TAB_OK);
    /* Cells of c where a and b are present, and nothing else of the row is missing: c is their sum.
     */
    double error = 0, sure = 0, right = 0;
    size_t n = 0, at = 0;
    for (size_t i = 0; i < m->n_row; i++) {
        size_t row = m->row[i], col = m->column[i];
        cr_assert(gap(row, col), "a supplied cell is filled");
        if (col != 2 || gap(row, 0) || gap(row, 1) || gap(row, 3) || gap(row, 4))
            continue;
        while (m->confidence_row[at] != row)
            at++;
        double d = number_at(m->value, i) - value(row, 2);
        error += d * d;
        sure += m->row_confidence[at];
        right += fabs(d) <= 0.5 * SD;
        n++;
    }
    size_t gaps = 0;
    for (size_t i = 0; i < MANY; i++)
        for (size_t j = 0; j < 5; j++)
            gaps += gap(i, j);
    cr_expect_eq(m->n_row, gaps, "every gap is filled once");
    double k = (double)n;
    cr_assert_gt(n, 50);
    cr_expect_lt(sqrt(error / k), 0.25 * SD, "NRMSE %.3f where the sum is known", sqrt(error / k) / SD);
    cr_expect_lt(fabs(sure - right) / k, 0.08, "confidence %.3f, right %.3f", sure / k, right / k);
    cr_expect_gt(sure / k, 0.85, "a row whose other cells are there is sure: %.3f", sure / k);
}

/* t counts 0 to 29 and u follows it; a fifth of t is missing. How many of its cells are filled when the
 * profile takes t for an id this surely; whole numbers of its range all. */
static size_t filled_ids(double role_confidence)
{
    enum { MANY = 900 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    tab_engine e = { .arena = a };
    tab_column *col = tab_arena_new_of(a, tab_column, 2);
    tab_table t = { .id = TAB_S("t"), .rows = MANY, .cols = 2, .col = col };
    for (size_t j = 0; j < 2; j++) {
        tab_builder *b = tab_builder_new(a, j == 0 ? TAB_S("t") : TAB_S("u"));
        for (size_t i = 0; i < MANY; i++) {
            double when = (double)(i % 30);
            if (j == 1)
                tab_builder_number(b, 3.7 * when + bell(i, 1));
            else if (gap(i, 0))
                tab_builder_null(b);
            else
                tab_builder_number(b, when);
        }
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    tab_column_profile *c = &p->col[0];
    c->role = TAB_ROLE_ID;
    c->role_confidence = role_confidence;
    c->type = TAB_CATEGORICAL;
    c->identifying = true;
    c->levels = 30;
    Tabella__Imputation *m = NULL;
    tab_impute_target none = { 0 };
    cr_assert_eq(tab_impute(&e, &p, 1, NULL, &none, &m, NULL), TAB_OK);
    double error = 0;
    for (size_t i = 0; i < m->n_row; i++) {
        double v;
        memcpy(&v, m->value->numbers.data + 8 * i, sizeof v);
        cr_assert(v == floor(v) && v >= 0 && v <= 29, "%g is not on the scale", v);
        error += fabs(v - (double)(m->row[i] % 30));
    }
    cr_assert_leq(error, 2 * (double)m->n_row, "the column that it follows fixes it");
    return m->n_row;
}

Test(impute, fills_a_counter_that_is_hardly_taken_for_an_id_and_never_an_id)
{
    cr_expect_gt(filled_ids(0.4), 100);
    cr_expect_eq(filled_ids(0.6), 0);
}

Test(joint, takes_earlier_fills_only_where_the_asked_cell_is_missing)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_data *data;
    tab_encoder *enc;
    tab_joint *j = fitted(&e, &enc, &data);
    uint32_t row[ROWS];
    double fill[ROWS];
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (gap(i, 0))
            row[n] = (uint32_t)i, fill[n++] = 1e6; /* nothing else is so large */
    tab_joint_filled filled = { .column = 0, .n = n, .row = row, .value = fill };
    tab_encoder own;
    tab_data view;
    cr_assert(tab_encode_without(a, enc, data, 2, ROWS, &own, &view));
    cr_assert(tab_joint_complete(&e, a, j, 2, &filled, 1, NULL, NULL, &own, &view));
    size_t f = 0, taken = 0;
    while (own.f[f].source != 0)
        f++;
    for (size_t i = 0; i < ROWS; i++) {
        bool large = view.x[f][i] > tab_number_scaled(&own.f[f], 100);
        cr_assert_eq(large, gap(view.row[i], 0) && gap(view.row[i], 2), "row %u", view.row[i]);
        taken += large;
    }
    cr_expect_gt(taken, 10);
}

/* Rows that are picked from a long table are completed as they are among all of them. */
Test(joint, completes_picked_rows_as_among_all)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_data *data;
    tab_encoder *enc;
    tab_joint *j = fitted(&e, &enc, &data);
    uint32_t row[ROWS], at[ROWS];
    double fill[ROWS];
    size_t n = 0, picked = 0, gaps = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (gap(i, 0))
            row[n] = (uint32_t)i, fill[n++] = 100 + (double)i;
        if (i % 3 == 1)
            at[picked++] = (uint32_t)i;
    }
    tab_joint_filled filled = { .column = 0, .n = n, .row = row, .value = fill };
    tab_encoder whole_enc, own;
    tab_data whole, view;
    cr_assert(tab_encode_without(a, enc, data, 2, ROWS, &whole_enc, &whole));
    cr_assert(tab_encode_without(a, enc, data, 2, ROWS, &own, &view));
    tab_data *some = tab_encode_pick(a, &own, &view, at, picked);
    cr_assert_not_null(some);
    cr_assert(tab_joint_complete(&e, a, j, 2, &filled, 1, NULL, NULL, &whole_enc, &whole));
    cr_assert(tab_joint_complete(&e, a, j, 2, &filled, 1, at, NULL, &own, some));
    cr_assert_eq(own.n, whole_enc.n);
    cr_assert_eq(some->rows, picked);
    for (size_t i = 0; i < picked; i++) {
        cr_assert_eq(some->row[i], data->row[at[i]]);
        gaps += gap(some->row[i], 0) && gap(some->row[i], 2);
        for (size_t f = 0; f < own.n; f++) {
            if (own.f[f].kind == TAB_FEATURE_CODE) {
                cr_assert_eq(some->code[f][i], whole.code[f][at[i]]);
                continue;
            }
            /* what is expected of the asked column is scaled by the rows at hand: read back */
            double x = (double)some->x[f][i] * own.f[f].scale + own.f[f].shift;
            double y = (double)whole.x[f][at[i]] * whole_enc.f[f].scale + whole_enc.f[f].shift;
            cr_assert(fabs(x - y) < 1e-5 * (1 + fabs(y)), "feature %zu row %zu: %g, %g", f, i, x, y);
        }
    }
    cr_expect_gt(gaps, 5, "rows that take earlier fills are among those picked");
}
