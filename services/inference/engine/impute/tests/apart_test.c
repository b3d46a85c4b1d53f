/* A fill is as sure as its cells lie to those that it was learned from: equal rows, groups of which no cell
 * is known, later rows. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/impute/impute.h"

enum { ROWS = 600 };

static double draw(size_t row, size_t what)
{
    return tab_unit(tab_mix2(row, what + 900));
}

/* Whether fill i is the truth, or, of numbers, within half of the present ones' standard deviation sd of
 * it. */
static bool is_right(const Tabella__Column *c, size_t i, const char *truth, double sd)
{
    if (!c->coded) {
        double v;
        memcpy(&v, c->numbers.data + 8 * i, sizeof v);
        return fabs(v - strtod(truth, NULL)) <= sd / 2;
    }
    uint32_t code, from = 0, to;
    char text[64] = { 0 };
    memcpy(&code, c->codes.data + 4 * i, 4);
    if (code > 0)
        memcpy(&from, c->level_end.data + 4 * (code - 1), 4);
    memcpy(&to, c->level_end.data + 4 * code, 4);
    memcpy(text, c->level_text.data + from, to - from);
    return strcmp(text, truth) == 0;
}

/* Of the present cells, as numbers. */
static double deviation(bool (*hole)(size_t row), const char *(*truth)(size_t row))
{
    double n = 0, sum = 0, square = 0;
    for (size_t r = 0; r < ROWS; r++) {
        double v = hole(r) ? 0 : strtod(truth(r), NULL);
        n += !hole(r), sum += v, square += v * v;
    }
    return sqrt(square / n - sum / n * sum / n);
}

/* The last column's fills of a table in which truth(row) stands where hole(row) does not say that it is
 * missing; the mean confidence and the share of right ones. */
static void fill(const char *head, void (*cells)(FILE *f, size_t row), bool (*hole)(size_t row),
                 const char *(*truth)(size_t row), double *ret_sure, double *ret_right)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    char *csv = NULL;
    size_t n = 0, right = 0;
    FILE *f = open_memstream(&csv, &n);
    fprintf(f, "%s\n", head);
    for (size_t r = 0; r < ROWS; r++) {
        cells(f, r);
        fprintf(f, "%s\n", hole(r) ? "" : truth(r));
    }
    fclose(f);
    const tab_table *t;
    tab_profile *p;
    Tabella__Imputation *m;
    tab_engine e = { .arena = a };
    tab_impute_target none = { 0 };
    cr_assert_eq(tab_csv_read(a, (tab_str){ csv, n }, TAB_S("t"), &t, NULL, NULL), TAB_OK);
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_impute(&e, &p, 1, NULL, &none, &m, NULL), TAB_OK);
    cr_assert(m->n_row > 20 && m->n_row_confidence == m->n_row, "%zu", m->n_row);
    double sd = deviation(hole, truth);
    *ret_sure = 0;
    for (size_t i = 0; i < m->n_row; i++) {
        right += is_right(m->value, i, truth(m->row[i]), sd);
        *ret_sure += m->row_confidence[i] / (double)m->n_row;
    }
    *ret_right = (double)right / (double)m->n_row;
    free(csv);
}

/* ---- a survey of eight unlike rows, of which nothing follows ------------------------------------------ */

static double share;

static void survey(FILE *f, size_t row)
{
    fprintf(f, "%s,%d,", draw(row, 1) < 0.5 ? "town" : "land", draw(row, 2) < 0.5);
}

static bool tenth(size_t row)
{
    return draw(row, 3) < 0.1;
}

static const char *coin(size_t row)
{
    return draw(row, 4) < share ? "yes" : "no";
}

Test(apart, equal_rows_tell_nothing_where_nothing_is_known)
{
    const double shares[] = { 0.03, 0.3, 0.5 };
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double sure, right, commonest = fmax(shares[i], 1 - shares[i]);
        share = shares[i];
        fill("place,member,answer", survey, tenth, coin, &sure, &right);
        cr_assert(fabs(sure - commonest) < 0.06, "%g: sure %g", share, sure);
        cr_assert(right > commonest - 0.15, "%g: right %g", share, right);
    }
}

/* ---- groups with a value each ------------------------------------------------------------------------- */

static void visits(FILE *f, size_t row)
{
    fprintf(f, "site %zu,%.2f,", row / 10, draw(row, 5));
}

static const char *of_site(size_t row)
{
    static const char *const kind[] = { "A", "B", "C" };
    return kind[(size_t)(3 * draw(row / 10, 6))];
}

static bool whole_sites(size_t row)
{
    return draw(row / 10, 7) < 0.2;
}

static bool single_cells(size_t row)
{
    return draw(row, 7) < 0.2;
}

Test(apart, a_group_of_which_no_cell_is_known_is_no_known_group)
{
    double sure, right;
    fill("site,reading,kind", visits, whole_sites, of_site, &sure, &right);
    cr_assert(sure < 0.55, "whole groups: sure %g, right %g", sure, right);
    fill("site,reading,kind", visits, single_cells, of_site, &sure, &right);
    cr_assert(sure > 0.8 && right > 0.9, "single cells: sure %g, right %g", sure, right);
}

/* ---- a class that stands beyond all others ------------------------------------------------------------- */

static void sized(FILE *f, size_t row)
{
    fprintf(f, "%.3f,%d,", draw(row, 8), draw(row, 9) < 0.5);
}

static const char *of_size(size_t row)
{
    return draw(row, 8) < 0.3 ? "small" : draw(row, 8) < 0.7 ? "middle" : "large";
}

static bool the_large(size_t row)
{
    return draw(row, 8) >= 0.7;
}

Test(apart, what_lies_beyond_all_that_is_known_is_not_sure)
{
    double sure, right;
    fill("size,flag,kind", sized, the_large, of_size, &sure, &right);
    cr_assert(sure < 0.75, "beyond: sure %g, right %g", sure, right);
    fill("size,flag,kind", sized, single_cells, of_size, &sure, &right);
    cr_assert(sure > 0.9 && right > 0.9, "among: sure %g, right %g", sure, right);
}

/* ---- numbers of groups --------------------------------------------------------------------------------- */

static char number[32];

/* Twelve machines of fifty rows, whose levels lie five times as far apart as what the load says. */
static void machines(FILE *f, size_t row)
{
    fprintf(f, "M%zu,%.3f,", row / 50, draw(row, 10));
}

static const char *of_machine(size_t row)
{
    snprintf(number, sizeof number, "%.2f", 5 * draw(row / 50, 11) + draw(row, 10));
    return number;
}

static bool whole_machines(size_t row)
{
    return row / 50 % 5 == 2;
}

Test(apart, the_level_of_a_group_is_not_known_by_other_groups)
{
    double sure, right;
    fill("machine,load,heat", machines, whole_machines, of_machine, &sure, &right);
    cr_assert(sure < 0.6, "whole groups: sure %g, right %g", sure, right);
    fill("machine,load,heat", machines, single_cells, of_machine, &sure, &right);
    cr_assert(sure > 0.9 && right > 0.9, "single cells: sure %g, right %g", sure, right);
}

/* ---- stretches of time --------------------------------------------------------------------------------- */

static void days(FILE *f, size_t row)
{
    fprintf(f, "2024-%02zu-%02zu %02zu:00,", 1 + row / 24 / 28, 1 + row / 24 % 28, row % 24);
}

static const char *walk(size_t row)
{
    double at = 0;
    for (size_t r = 0; r <= row; r++)
        at += draw(r, 13) - 0.5;
    snprintf(number, sizeof number, "%.3f", at);
    return number;
}

static bool a_stretch(size_t row)
{
    return row >= 200 && row < 320;
}

Test(apart, a_stretch_is_not_known_as_single_hours_are)
{
    double sure, right;
    fill("hour,level", days, a_stretch, walk, &sure, &right);
    cr_assert(sure < 0.8, "a stretch: sure %g, right %g", sure, right);
    fill("hour,level", days, single_cells, walk, &sure, &right);
    cr_assert(sure > 0.9 && right > 0.9, "single hours: sure %g, right %g", sure, right);
}

/* ---- cells that are missing where they are hard to tell ------------------------------------------------ */

static void halves(FILE *f, size_t row)
{
    fprintf(f, "%.3f,%.3f,", draw(row, 14), draw(row, 15));
}

/* Told by x for small x, by chance for large ones. */
static const char *noisy(size_t row)
{
    double x = draw(row, 14);
    return (x < 0.6 ? x < 0.3 : draw(row, 16) < 0.5) ? "low" : "high";
}

static bool mostly_hard(size_t row)
{
    return draw(row, 17) < (draw(row, 14) < 0.6 ? 0.03 : 0.7);
}

Test(apart, cells_that_are_missing_where_they_are_hard_are_not_sure)
{
    double sure, right;
    fill("x,y,kind", halves, mostly_hard, noisy, &sure, &right);
    cr_assert(sure < right + 0.1, "sure %g, right %g", sure, right);
}

/* So many that no cell of its own can be told to be hard. */
static bool nearly_all_hard(size_t row)
{
    return draw(row, 17) < (draw(row, 14) < 0.6 ? 0.03 : 0.93);
}

static const char *noisy_number(size_t row)
{
    double x = draw(row, 14);
    snprintf(number, sizeof number, "%.3f", x < 0.6 ? x : 2 * draw(row, 16));
    return number;
}

Test(apart, numbers_that_are_missing_where_they_are_hard_are_not_sure)
{
    double sure, right;
    fill("x,y,value", halves, nearly_all_hard, noisy_number, &sure, &right);
    cr_assert(sure < right + 0.1, "sure %g, right %g", sure, right);
}
