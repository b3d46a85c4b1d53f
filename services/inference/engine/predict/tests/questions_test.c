/* What users ask beside tomorrow's rows (decisions 0585 to 0588, 0650 to 0652): the time before the known
 * one, groups that nobody knows where few are known, series that begin when they are asked, a last month that
 * is not over, a holiday seen once; of runs and of endpoints that were fitted on the rows with a target. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted_parts.h"

enum { COLS = 3, MOST = 1000 };

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

/* Near a normal number. */
static double bell(size_t i, size_t what)
{
    double s = -6;
    for (size_t k = 0; k < 12; k++)
        s += draw(i, 100 * what + k);
    return s;
}

/* A table of two columns and the target, whose truth is kept where it is asked. */
typedef struct {
    tab_arena *a;
    tab_builder *b[COLS];
    double truth[MOST];
    bool asked[MOST];
    size_t rows;
} made;

static made *open_table(const char *first, const char *second)
{
    tab_arena *a = tab_arena_new((size_t)2 << 30);
    made *m = tab_arena_new_of(a, made, 1);
    m->a = a;
    m->b[0] = tab_builder_new(a, tab_str_of(first));
    m->b[1] = tab_builder_new(a, tab_str_of(second));
    m->b[2] = tab_builder_new(a, TAB_S("y"));
    return m;
}

static void add(made *m, double y, bool asked)
{
    m->asked[m->rows] = asked;
    m->truth[m->rows++] = y;
    if (asked)
        tab_builder_null(m->b[2]);
    else
        tab_builder_number(m->b[2], y);
}

static void name(made *m, size_t c, const char *what, size_t n)
{
    char cell[40];
    snprintf(cell, sizeof cell, "%s %zu", what, n);
    tab_builder_text(m->b[c], tab_str_of(cell));
}

static void month(made *m, size_t c, size_t n)
{
    char cell[40];
    snprintf(cell, sizeof cell, "%zu-%02zu-01", 2018 + n / 12, 1 + n % 12);
    tab_builder_text(m->b[c], tab_str_of(cell));
}

/* The share of asked rows in their 80 % interval; *error: root mean square. */
static double covered(made *m, const Tabella__Prediction **ret, double *error)
{
    tab_engine e = { .arena = m->a };
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_column col[COLS];
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(m->b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = m->rows, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    Tabella__Prediction *q = NULL;
    tab_fit_options o = { .base = "base-1", .target = 2, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &q, NULL), TAB_OK);
    const Tabella__Results *r = q->missing_target_results;
    double in = 0, square = 0;
    for (size_t i = 0; i < r->n_row; i++) {
        double y = m->truth[r->row[i]], *at = r->quantiles + i * TAB_LEVELS;
        in += at[1] <= y && y <= at[TAB_LEVELS - 2];
        square += (r->value[i] - y) * (r->value[i] - y);
    }
    *ret = q;
    *error = sqrt(square / (double)r->n_row);
    return in / (double)r->n_row;
}

/* The rows that are asked, or all others, as a table. */
static tab_table *part_of(const made *m, const tab_table *t, bool asked)
{
    tab_table *s = tab_arena_new_of(m->a, tab_table, 1);
    tab_column *col = tab_arena_new_of(m->a, tab_column, COLS);
    *s = (tab_table){ .id = t->id, .cols = COLS, .col = col };
    for (size_t c = 0; c < COLS; c++) {
        tab_builder *b = tab_builder_new(m->a, t->col[c].name);
        for (size_t r = 0; r < m->rows; r++)
            if (m->asked[r] == asked)
                tab_builder_cell(b, tab_cell_at(&t->col[c], r));
        s->rows = tab_builder_rows(b);
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    return s;
}

/* covered(), as an endpoint answers that was fitted on the rows with a target. */
static double served(made *m, const Tabella__Prediction **ret, double *error)
{
    tab_engine e = { .arena = m->a };
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_column col[COLS];
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(m->b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = m->rows, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    Tabella__Prediction *q = NULL;
    tab_fit_options o = { .base = "base-1", .target = 2, .task = TAB_TASK_REGRESSION, .served = true };
    cr_assert_eq(tab_profile_table(&e, part_of(m, &t, false), &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_score(&e, f, part_of(m, &t, true), false, &q, NULL), TAB_OK);
    const Tabella__Results *r = q->results;
    double in = 0, square = 0;
    for (size_t i = 0, k = 0; i < m->rows; i++) {
        if (!m->asked[i])
            continue;
        double *at = r->quantiles + k * TAB_LEVELS;
        in += at[1] <= m->truth[i] && m->truth[i] <= at[TAB_LEVELS - 2];
        square += (r->value[k] - m->truth[i]) * (r->value[k] - m->truth[i]);
        k++;
    }
    *ret = q;
    *error = sqrt(square / (double)r->n_row);
    return in / (double)r->n_row;
}

/* Trends with a season, of which the first year is asked. */
static made *lands(void)
{
    made *m = open_table("month", "land");
    for (size_t s = 0; s < 5; s++)
        for (size_t i = 0; i < 72; i++) {
            month(m, 0, i);
            name(m, 1, "land", s);
            double wave = 8 * bell(s * 12 + i % 12, 1), slope = 0.5 + 1.5 * draw(s, 2);
            add(m, 100 + 20 * bell(s, 3) + slope * (double)i + wave + 3 * bell(72 * s + i, 4), i < 12);
        }
    return m;
}

Test(questions, an_endpoint_tells_what_came_before, .timeout = 300)
{
    made *m = lands();
    const Tabella__Prediction *p;
    double error, in = served(m, &p, &error);
    cr_expect_gt(in, 0.65, "covered %.3f", in); /* 0.4 as rows among the others */
    cr_expect_lt(error, 8, "error %.2f", error);
    cr_expect_eq(p->results->n_regime, 0, "nothing of it is later");
    cr_assert_eq(p->results->n_doubt, 60);
    cr_expect_neq(p->results->doubt[0], 0);
    tab_arena_free(m->a);
}

Test(questions, what_came_before_is_told_as_what_comes_after, .timeout = 300)
{
    made *m = lands();
    const Tabella__Prediction *p;
    double error;
    double in = covered(m, &p, &error);
    cr_expect(strstr(p->split->reason, "come before all others in time") != NULL, "%s", p->split->reason);
    cr_expect_str_eq(p->split->kind, "time");
    cr_expect_str_eq(p->regimes[0]->regime, "alike", "nothing of it is later");
    cr_expect_eq(p->missing_target_results->n_regime, 0);
    cr_expect_gt(in, 0.65, "covered %.3f", in); /* 0.3 before */
    cr_expect_lt(error, 6, "error %.2f", error);
    tab_arena_free(m->a);
}

/* Known plants, then three asked ones, at levels of their own. */
static made *plants(size_t known, size_t table)
{
    made *m = open_table("plant", "x");
    for (size_t s = 0; s < known + 3; s++)
        for (size_t i = 0; i < (s < known ? 100 : 15); i++) {
            size_t row = 1000 * table + 100 * s + i;
            name(m, 0, "plant", s);
            tab_builder_number(m->b[1], bell(row, 5));
            add(m, 100 + 15 * bell(10 * table + s, 6) + 5 * bell(row, 5) + 3 * bell(row, 7), s >= known);
        }
    return m;
}

Test(questions, three_known_groups_say_little_of_a_new_one, .timeout = 300)
{
    enum { TABLES = 12 };
    double in = 0, error;
    for (size_t k = 0; k < TABLES; k++) {
        made *m = plants(3, k);
        const Tabella__Prediction *p;
        in += covered(m, &p, &error) / TABLES;
        cr_expect_str_eq(p->split->kind, "group");
        tab_arena_free(m->a);
    }
    cr_expect_gt(in, 0.7, "covered %.3f", in);
    cr_expect_lt(in, 0.95, "covered %.3f", in);
}

Test(questions, an_endpoint_widens_intervals_of_new_groups_where_few_are_known, .timeout = 300)
{
    enum { TABLES = 12 };
    double in = 0, error;
    for (size_t k = 0; k < TABLES; k++) {
        made *m = plants(3, k);
        const Tabella__Prediction *p;
        in += served(m, &p, &error) / TABLES;
        tab_arena_free(m->a);
    }
    cr_expect_gt(in, 0.7, "covered %.3f", in);
    cr_expect_lt(in, 0.95, "covered %.3f", in);
}

Test(questions, an_endpoint_doubts_another_word_than_the_only_one, .timeout = 300)
{
    made *m = plants(1, 0);
    const Tabella__Prediction *p;
    double error;
    served(m, &p, &error);
    cr_assert_eq(p->results->n_doubt, 45);
    cr_expect(strstr(p->doubts[p->results->doubt[0] - 1], "how they differ is not known") != NULL);
    cr_expect_eq(p->results->regime[0], TAB_REGIME_NEW_GROUP);
    tab_arena_free(m->a);
}

Test(questions, of_one_known_group_no_score_of_others_is_said, .timeout = 300)
{
    made *m = plants(1, 0);
    const Tabella__Prediction *p;
    double error;
    covered(m, &p, &error);
    cr_expect(strstr(p->split->reason, "belong to one group") != NULL, "%s", p->split->reason);
    cr_assert_eq(p->n_regimes, 1);
    cr_expect_str_eq(p->regimes[0]->regime, "new_group");
    cr_expect_eq(p->regimes[0]->rows, 45);
    cr_expect_eq(p->regimes[0]->judged, 0, "no row of another group was judged");
    cr_expect_eq(p->regimes[0]->has_coverage, 0);
    tab_arena_free(m->a);
}

enum { KNOWN = 12, PRODUCTS = 14 };

/* Products of which the last two are launched in the quarter that is asked. */
static made *products(size_t table)
{
    made *m = open_table("month", "product");
    for (size_t s = 0; s < PRODUCTS; s++)
        for (size_t i = s < KNOWN ? 0 : 36; i < 39; i++) {
            size_t row = 10000 * table + 100 * s + i;
            month(m, 0, i);
            name(m, 1, "product", s);
            add(m, 100 + 25 * bell(100 * table + s, 8) + 5 * bell(row, 9), i >= 36);
        }
    return m;
}

Test(questions, a_series_that_begins_when_it_is_asked_is_a_new_group, .timeout = 300)
{
    enum { TABLES = 4 };
    double in = 0, asked = 0, error;
    for (size_t k = 0; k < TABLES; k++) {
        made *m = products(k);
        const Tabella__Prediction *p;
        covered(m, &p, &error);
        cr_expect(strstr(p->split->reason, "6 rows to predict belong to a series without") != NULL, "%s",
                  p->split->reason);
        const Tabella__Results *r = p->missing_target_results;
        for (size_t i = 0; i < r->n_row; i++)
            if (r->row[i] >= 39 * KNOWN) {
                double y = m->truth[r->row[i]], *at = r->quantiles + i * TAB_LEVELS;
                in += at[1] <= y && y <= at[TAB_LEVELS - 2], asked++;
            }
        tab_arena_free(m->a);
    }
    cr_expect_gt(in / asked, 0.6, "covered %.3f", in / asked); /* 0.1 before */
}

Test(questions, an_endpoint_predicts_a_new_series_as_a_new_group, .timeout = 300)
{
    enum { TABLES = 4 };
    double in = 0, asked = 0, error;
    for (size_t k = 0; k < TABLES; k++) {
        made *m = products(k);
        const Tabella__Prediction *p;
        served(m, &p, &error);
        for (size_t i = 3 * KNOWN; i < 3 * PRODUCTS; i++) {
            size_t row = 39 * KNOWN + i - 3 * KNOWN;
            double *at = p->results->quantiles + i * TAB_LEVELS;
            in += at[1] <= m->truth[row] && m->truth[row] <= at[TAB_LEVELS - 2], asked++;
            cr_expect(strstr(p->doubts[p->results->doubt[i] - 1],
                             "no row seen in fitting is of this series") != NULL);
        }
        tab_arena_free(m->a);
    }
    cr_expect_gt(in / asked, 0.6, "covered %.3f", in / asked); /* 0.1 before */
}

/* Shops by month, the last known of which is counted to a third. */
static made *unfinished(void)
{
    made *m = open_table("month", "shop");
    for (size_t s = 0; s < 8; s++)
        for (size_t i = 0; i < 52; i++) {
            double y = 100 + 20 * bell(s, 10) + 8 * bell(12 * s + i % 12, 11) + 3 * bell(52 * s + i, 12);
            month(m, 0, i);
            name(m, 1, "shop", s);
            add(m, i == 47 ? y / 3 : y, i >= 48);
        }
    return m;
}

Test(questions, a_last_month_that_is_not_over_is_not_the_new_level, .timeout = 300)
{
    for (size_t k = 0; k < 2; k++) {
        made *m = unfinished();
        const Tabella__Prediction *p;
        double error, in = k == 0 ? covered(m, &p, &error) : served(m, &p, &error);
        cr_expect(strstr(p->split->reason, "8 rows of the last known time") != NULL, "%s", p->split->reason);
        cr_expect_gt(in, 0.6, "covered %.3f", in); /* none before */
        cr_expect_lt(error, 10, "error %.2f", error);
        tab_arena_free(m->a);
    }
}

static void day(made *m, size_t c, size_t n)
{
    static const size_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    char cell[40];
    size_t month = 0;
    while (n >= days[month])
        n -= days[month++];
    snprintf(cell, sizeof cell, "2022-%02zu-%02zu", 1 + month, 1 + n);
    tab_builder_text(m->b[c], tab_str_of(cell));
}

/* Days of which the last seven come in bit by bit. */
Test(questions, reports_that_come_in_over_a_week_are_not_the_new_level, .timeout = 300)
{
    for (size_t k = 0; k < 2; k++) {
        made *m = open_table("day", "land");
        const Tabella__Prediction *p;
        double error, in, place = 0;
        for (size_t s = 0; s < 5; s++)
            for (size_t i = 0; i < 180; i++) {
                double y = 100 + 5 * bell(7 * s + i % 7, 20) + 3 * bell(180 * s + i, 21) + place;
                place += 0.3 * bell(180 * s + i, 22);
                day(m, 0, i);
                name(m, 1, "land", s);
                add(m, i >= 170 || i < 163 ? y : y * (0.2 + 0.12 * (double)(169 - i)), i >= 170);
            }
        in = k == 0 ? covered(m, &p, &error) : served(m, &p, &error);
        cr_expect(strstr(p->split->reason, "of the last known ") != NULL, "%s", p->split->reason);
        cr_expect_gt(in, 0.6, "covered %.3f", in); /* none before */
        cr_expect_lt(error, 30, "error %.2f", error);
        tab_arena_free(m->a);
    }
}

/* Days with one stretch of a season's sale, which is asked again and was seen before all cuts. */
Test(questions, a_holiday_that_was_seen_once_is_told_by_what_it_was_then, .timeout = 300)
{
    for (size_t k = 0; k < 2; k++) {
        made *m = open_table("day", "holiday");
        const Tabella__Prediction *p;
        double error, in;
        for (size_t i = 0; i < 310; i++) {
            bool holiday = (i >= 20 && i < 28) || i >= 300;
            day(m, 0, i);
            tab_builder_text(m->b[1], holiday ? TAB_S("yes") : TAB_S("no"));
            add(m, 100 + 6 * bell(i % 7, 30) + 3 * bell(i, 31) + (holiday ? 40 : 0), i >= 298);
        }
        in = k == 0 ? covered(m, &p, &error) : served(m, &p, &error);
        cr_expect_gt(in, 0.6, "covered %.3f", in); /* 0.2 before */
        cr_expect_lt(error, 12, "error %.2f", error);
        tab_arena_free(m->a);
    }
}

Test(questions, a_meter_that_is_stuck_says_nothing_of_what_comes, .timeout = 300)
{
    for (size_t k = 0; k < 2; k++) {
        made *m = open_table("day", "meter");
        const Tabella__Prediction *p;
        double error, in, last = 0;
        for (size_t s = 0; s < 6; s++)
            for (size_t i = 0; i < 160; i++) {
                double y = 100 + 20 * bell(s, 40) + 8 * bell(7 * s + i % 7, 41) + 2 * bell(160 * s + i, 42);
                bool stuck = s < 3 && i > 140 && i < 155;
                last = stuck ? last : y;
                day(m, 0, i);
                name(m, 1, "meter", s);
                add(m, i < 155 ? last : y, i >= 155);
            }
        in = k == 0 ? covered(m, &p, &error) : served(m, &p, &error);
        cr_expect(strstr(p->split->reason, "42 rows repeat the last value") != NULL, "%s", p->split->reason);
        cr_expect_gt(in, 0.55, "covered %.3f", in);
        cr_expect_lt(error, 5, "error %.2f", error);
        tab_arena_free(m->a);
    }
}

/* A campaign of a kind that was never run is an effect as unlike the known ones as these are each other. */
Test(questions, a_value_that_no_row_has_widens_the_interval, .timeout = 300)
{
    static const char *const kinds[] = { "none", "card", "gift", "stamp", "big" };
    static const double effect[] = { 0, 20, 45, 70, 0 };
    for (size_t k = 0; k < 2; k++) {
        made *m = open_table("day", "campaign");
        const Tabella__Prediction *p;
        double error, wide[2] = { 0 };
        for (size_t i = 0; i < 200; i++) {
            size_t kind = i >= 195 ? 4 : (size_t)(4 * draw(i, 50));
            day(m, 0, i);
            tab_builder_text(m->b[1], tab_str_of(kinds[kind]));
            add(m, 200 + 3 * bell(i, 51) + effect[kind], i >= 190);
        }
        (void)(k == 0 ? covered(m, &p, &error) : served(m, &p, &error));
        const Tabella__Results *r = k == 0 ? p->missing_target_results : p->results;
        for (size_t i = 0; i < r->n_row; i++)
            wide[i >= 5] += r->quantiles[i * TAB_LEVELS + TAB_LEVELS - 2] - r->quantiles[i * TAB_LEVELS + 1];
        cr_expect_gt(wide[1], 1.5 * wide[0], "%.1f, %.1f", wide[0] / 5, wide[1] / 5);
        if (k == 0) { /* five rows of no kind that was judged */
            cr_assert_geq(p->n_regimes, 2);
            cr_expect_eq(p->regimes[p->n_regimes - 1]->rows, 5);
            cr_expect_eq(p->regimes[p->n_regimes - 1]->judged, 0);
        }
        tab_arena_free(m->a);
    }
}

/* Numbers asked beyond the known ones, on a line that bends. */
Test(questions, beyond_a_number_the_target_moves_on_as_at_its_end, .timeout = 300)
{
    for (size_t k = 0; k < 2; k++) {
        made *m = open_table("x", "kind");
        const Tabella__Prediction *p;
        double error, in;
        for (size_t i = 0; i < 500; i++) {
            double x = i < 440 ? draw(i, 60) : 1 + draw(i, 60) / 2;
            tab_builder_number(m->b[0], round(1000 * x) / 1000);
            name(m, 1, "kind", (size_t)(3 * draw(i, 61)));
            add(m, 40 * x * x + 2 * bell(i, 62), i >= 440);
        }
        in = k == 0 ? covered(m, &p, &error) : served(m, &p, &error);
        cr_expect_gt(in, 0.72, "covered %.3f", in); /* 0.5 before */
        tab_arena_free(m->a);
    }
}

/* A mark that some rows have and the others lack: the rule of succession, and never certain. */
Test(questions, a_target_of_one_class_is_not_certain)
{
    enum { MARKED = 18, ALL = 60 };
    tab_engine e = { .arena = tab_arena_new((size_t)1 << 30) };
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_column col[2];
    tab_builder *b[2] = { tab_builder_new(e.arena, TAB_S("age")), tab_builder_new(e.arena, TAB_S("vip")) };
    for (size_t i = 0; i < ALL; i++) {
        tab_builder_number(b[0], 20 + floor(50 * draw(i, 1)));
        if (i < MARKED)
            tab_builder_text(b[1], TAB_S("yes"));
        else
            tab_builder_null(b[1]);
    }
    for (size_t c = 0; c < 2; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = ALL, .cols = 2, .col = col };
    tab_profile *p = NULL;
    Tabella__Prediction *q = NULL;
    tab_fit_options o = { .base = "base-1", .target = 1, .task = TAB_TASK_CLASSIFICATION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_not_null(tab_fitted_single(f));
    cr_assert_eq(tab_fitted_results(&e, f, false, &q, NULL), TAB_OK);
    const Tabella__Results *r = q->missing_target_results;
    cr_assert_eq(r->n_row, ALL - MARKED);
    for (size_t i = 0; i < r->n_row; i++)
        cr_expect_float_eq(r->probabilities[i], (MARKED + 1.0) / (MARKED + 2.0), 1e-12);
    tab_arena_free(e.arena);
}
