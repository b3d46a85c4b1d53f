/* The whole pass on tables at the edges: whatever the cells, a bundle is complete and its numbers are
 * probabilities, ordered quantiles and finite values. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

typedef struct {
    tab_arena *a;
    tab_column col[2100];
    tab_table t;
} maker;

static tab_builder *column(maker *m, const char *name)
{
    return tab_builder_new(m->a, tab_str_of(name));
}

static void add(maker *m, tab_builder *b)
{
    m->t.rows = tab_builder_rows(b);
    cr_assert(tab_builder_finish(b, &m->col[m->t.cols++]));
    m->t.col = m->col;
}

static maker *start(void)
{
    static maker m;
    m.a = tab_arena_new((size_t)4 << 30);
    m.t = (tab_table){ .id = TAB_S("t") };
    return &m;
}

static double noise(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

static void check_results(const Tabella__Prediction *p, const Tabella__Results *r)
{
    if (r->n_row == 0)
        return;
    size_t k = r->n_probabilities / r->n_row;
    for (size_t i = 0; i < r->n_row; i++) {
        double sum = 0;
        for (size_t j = 0; j < k; j++) {
            double q = r->probabilities[i * k + j];
            cr_assert(q >= 0 && q <= 1, "probability %g", q);
            sum += q;
        }
        /* of one class it is not certain (decision 0641) */
        cr_assert(k == 0 || (k == 1 ? sum > 0.5 && sum < 1 : fabs(sum - 1) < 1e-9),
                  "probabilities sum to %.12g", sum);
        if (r->n_value > 0) {
            cr_assert(isfinite(r->value[i]) && isfinite(r->std[i]) && r->std[i] >= 0);
            for (size_t l = 0; l < p->n_quantile_levels; l++) {
                const double *q = r->quantiles + i * p->n_quantile_levels;
                cr_assert(isfinite(q[l]));
                cr_assert(l == 0 || q[l] >= q[l - 1], "quantiles cross: %g after %g", q[l], q[l - 1]);
            }
        }
        if (r->n_anomaly_score > 0)
            cr_assert(r->anomaly_score[i] >= 0 && r->anomaly_score[i] <= 1);
    }
}

static Tabella__Bundle *run(maker *m, tab_run_options o)
{
    tab_engine e = { .arena = m->a };
    const tab_table *t = &m->t;
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    if (o.threshold == 0)
        o.threshold = 0.5;
    tab_status st = tab_engine_run(&e, &t, 1, &o, &b, &err);
    if (st == TAB_VALIDATION)
        return NULL;
    cr_assert_eq(st, TAB_OK, "%s: %s", err.param, err.message);
    cr_assert_not_null(b->target_selection);
    cr_assert_not_null(b->imputation);
    if (b->prediction != NULL) {
        check_results(b->prediction, b->prediction->results);
        if (b->prediction->missing_target_results != NULL)
            check_results(b->prediction, b->prediction->missing_target_results);
        cr_expect_eq(b->prediction->results->n_row + b->prediction->missing_target, m->t.rows);
    }
    for (size_t i = 0; i < b->imputation->n_row_confidence; i++)
        cr_assert(b->imputation->row_confidence[i] >= 0 && b->imputation->row_confidence[i] <= 1);
    return b;
}

/* x, y numbers, a category and a two-valued outcome of x, `rows` rows; `noisy`: the outcome is a coin. */
static maker *ordinary(size_t rows, bool noisy)
{
    maker *m = start();
    tab_builder *x = column(m, "x"), *y = column(m, "y"), *c = column(m, "c"), *o = column(m, "o");
    for (size_t i = 0; i < rows; i++) {
        double a = noise(i, 1), b = noise(i, 2);
        tab_builder_number(x, a);
        tab_builder_number(y, b * 10 + 3 * a);
        char text[16];
        snprintf(text, sizeof text, "k%d", (int)(noise(i, 3) * 5));
        tab_builder_text(c, tab_str_of(text));
        bool yes = noisy ? noise(i, 4) < 0.3 : a + 0.2 * b > 0.6;
        tab_builder_text(o, yes ? TAB_S("yes") : TAB_S("no"));
    }
    add(m, x), add(m, y), add(m, c), add(m, o);
    return m;
}

#define ON(name)                                                  \
    (tab_run_options)                                             \
    {                                                             \
        .target = TAB_TARGET_COLUMN, .target_column = TAB_S(name) \
    }

Test(bundle, learns_what_can_be_learned)
{
    maker *m = ordinary(300, false);
    Tabella__Bundle *b = run(m, ON("o"));
    const Tabella__Results *r = b->prediction->results;
    size_t right = 0;
    for (size_t i = 0; i < r->n_row; i++) {
        bool yes = noise(i, 1) + 0.2 * noise(i, 2) > 0.6;
        right += r->label[i] == (uint32_t)yes; /* classes stand in order: no, yes */
    }
    cr_expect_gt(right, 280, "%zu of 300 out-of-fold labels are right", right);
    tab_arena_free(m->a);
}

Test(bundle, a_coin_gets_its_own_odds)
{
    maker *m = ordinary(1000, true);
    Tabella__Bundle *b = run(m, ON("o"));
    const Tabella__Results *r = b->prediction->results;
    double sum = 0, far = 0;
    for (size_t i = 0; i < r->n_row; i++) {
        sum += r->probabilities[2 * i + 1];
        far = fmax(far, fabs(r->probabilities[2 * i + 1] - 0.3));
    }
    cr_expect_float_eq(sum / (double)r->n_row, 0.3, 0.04, "mean probability %g", sum / (double)r->n_row);
    cr_expect_lt(far, 0.2, "some row is %g from the base rate", far);
    tab_arena_free(m->a);
}

Test(bundle, few_rows)
{
    for (size_t rows = 0; rows < 8; rows++)
        for (int target = 0; target < 4; target++) {
            maker *m = ordinary(rows, false);
            run(m, target == 0   ? (tab_run_options){ .target = TAB_TARGET_AUTO }
                   : target == 1 ? ON("o")
                   : target == 2 ? ON("y")
                                 : (tab_run_options){ .task = TAB_TASK_ANOMALY });
            tab_arena_free(m->a);
        }
}

Test(bundle, one_column)
{
    for (int kind = 0; kind < 3; kind++) {
        maker *m = start();
        tab_builder *x = column(m, "x");
        for (size_t i = 0; i < 40; i++) {
            if (kind == 0)
                tab_builder_number(x, noise(i, 1));
            else if (kind == 1)
                tab_builder_null(x);
            else
                tab_builder_text(x, TAB_S("same"));
        }
        add(m, x);
        run(m, (tab_run_options){ .target = TAB_TARGET_AUTO });
        run(m, ON("x"));
        run(m, (tab_run_options){ .task = TAB_TASK_ANOMALY });
        tab_arena_free(m->a);
    }
}

Test(bundle, far_numbers)
{
    maker *m = ordinary(80, false);
    tab_builder *z = column(m, "z"), *w = column(m, "w");
    for (size_t i = 0; i < 80; i++) {
        tab_builder_number(z, i % 3 == 0 ? 1e300 : i % 3 == 1 ? -1.7e308 : 1e-300 * noise(i, 5));
        tab_builder_number(w, 1.7e308 * (2 * noise(i, 6) - 1));
    }
    add(m, z), add(m, w);
    run(m, ON("z"));
    run(m, ON("w"));
    run(m, ON("o"));
    run(m, (tab_run_options){ .task = TAB_TASK_ANOMALY });
    tab_arena_free(m->a);
}

Test(bundle, a_class_per_row_and_many_categories)
{
    maker *m = ordinary(120, false);
    tab_builder *k = column(m, "k");
    char text[32];
    for (size_t i = 0; i < 120; i++) {
        snprintf(text, sizeof text, "class %zu x", i * 7919);
        tab_builder_text(k, tab_str_of(text));
    }
    add(m, k);
    Tabella__Bundle *b = run(m, ON("k"));
    cr_assert_not_null(b);
    for (size_t i = 0; i < b->prediction->results->n_row; i++)
        for (size_t j = 0; j < 120; j++)
            cr_assert_lt(b->prediction->results->probabilities[i * 120 + j], 0.5);
    run(m, ON("o"));
    tab_arena_free(m->a);
}

Test(bundle, rare_class_and_target_mostly_missing)
{
    maker *m = ordinary(200, false);
    tab_builder *k = column(m, "k"), *q = column(m, "q");
    for (size_t i = 0; i < 200; i++) {
        tab_builder_text(k, i == 17 ? TAB_S("one") : i % 2 ? TAB_S("a") : TAB_S("b"));
        if (i % 25 == 3)
            tab_builder_number(q, noise(i, 1));
        else
            tab_builder_null(q);
    }
    add(m, k), add(m, q);
    Tabella__Bundle *b = run(m, ON("k"));
    cr_expect_eq(b->prediction->results->n_probabilities, 600);
    b = run(m, ON("q"));
    cr_expect_eq(b->prediction->missing_target, 192);
    tab_arena_free(m->a);
}

Test(bundle, identical_rows)
{
    maker *m = start();
    tab_builder *x = column(m, "x"), *o = column(m, "o"), *y = column(m, "y"), *c = column(m, "c");
    double mean = 0;
    for (size_t i = 0; i < 60; i++) {
        tab_builder_number(x, 4);
        tab_builder_text(o, i % 3 == 0 ? TAB_S("a") : TAB_S("b"));
        tab_builder_number(y, noise(i, 3));
        mean += noise(i, 3) / 60;
        tab_builder_number(c, 4);
    }
    add(m, x), add(m, o), add(m, y), add(m, c);
    m->t.cols = 2; /* what could explain never differs: the shares, and the mean */
    Tabella__Bundle *b = run(m, ON("o"));
    cr_expect_float_eq(b->prediction->results->probabilities[0], 1.0 / 3, 0.05);
    m->col[1] = m->col[2];
    const tab_run_options number = { .target = TAB_TARGET_COLUMN,
                                     .target_column = TAB_S("y"),
                                     .task = TAB_TASK_REGRESSION };
    b = run(m, number);
    cr_assert(b != NULL && b->prediction != NULL);
    for (size_t i = 0; i < 60; i++)
        cr_assert_float_eq(b->prediction->results->value[i], mean, 0.05);
    /* Nothing differs at all: no row is unusual. */
    m->col[1] = m->col[3];
    b = run(m, (tab_run_options){ .task = TAB_TASK_ANOMALY });
    cr_assert(b != NULL && b->prediction != NULL);
    for (size_t i = 1; i < 60; i++)
        cr_assert_eq(b->prediction->results->anomaly_score[i], b->prediction->results->anomaly_score[0]);
    run(m, (tab_run_options){ .target = TAB_TARGET_AUTO });
    run(m, ON("c"));
    tab_arena_free(m->a);
}

Test(bundle, wide, .timeout = 1800)
{
    maker *m = ordinary(40, false);
    char name[16];
    for (size_t j = 0; j < 300; j++) {
        snprintf(name, sizeof name, "w%zu", j);
        tab_builder *b = column(m, name);
        for (size_t i = 0; i < 40; i++)
            tab_builder_number(b, noise(i, 100 + j));
        add(m, b);
    }
    run(m, ON("o"));
    tab_arena_free(m->a);
}

Test(bundle, supplied_cells_are_not_filled)
{
    maker *m = ordinary(150, false);
    tab_builder *z = column(m, "z");
    for (size_t i = 0; i < 150; i++) {
        if (i % 4 == 0)
            tab_builder_null(z);
        else
            tab_builder_number(z, floor(20 * noise(i, 1)));
    }
    add(m, z);
    Tabella__Bundle *b = run(m, ON("o"));
    cr_expect_eq(b->imputation->n_row, 38);
    for (size_t i = 0; i < b->imputation->n_row; i++) {
        cr_expect_eq(b->imputation->row[i] % 4, 0);
        cr_expect_eq(b->imputation->column[i], 4);
    }
    tab_arena_free(m->a);
}

Test(bundle, a_misnamed_target_or_base_is_refused)
{
    maker *m = ordinary(20, false);
    tab_engine e = { .arena = m->a };
    const tab_table *t = &m->t;
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    tab_run_options o = ON("nothing");
    cr_expect_eq(tab_engine_run(&e, &t, 1, &o, &b, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "target.column");
    o = ON("o");
    o.base = "base-0";
    cr_expect_eq(tab_engine_run(&e, &t, 1, &o, &b, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "base");
    o = ON("c");
    o.task = TAB_TASK_REGRESSION;
    cr_expect_eq(tab_engine_run(&e, &t, 1, &o, &b, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "task.type");
    tab_arena_free(m->a);
}

Test(bundle, says_what_spoke_for_the_sector)
{
    maker *m = start();
    tab_builder *b[3] = { column(m, "c0"), column(m, "c1"), column(m, "c2") };
    static const char *const drug[] = { "aspirin", "ibuprofen", "metformin" };
    for (size_t i = 0; i < 60; i++) {
        tab_builder_number(b[0], (double)i);
        tab_builder_text(b[1], tab_str_of(drug[i % 3]));
        tab_builder_text(b[2], tab_str_of(i % 2 == 0 ? "hypertension" : "diabetes"));
    }
    for (size_t k = 0; k < 3; k++)
        add(m, b[k]);
    Tabella__Bundle *r = run(m, (tab_run_options){ .target = TAB_TARGET_NONE });
    cr_assert_not_null(r);
    const Tabella__TableUnderstanding *t = r->tables[0];
    cr_assert_geq(t->n_sector_evidence, 1);
    bool words = false;
    for (size_t k = 0; k < t->n_sector_evidence; k++) {
        const Tabella__SectorEvidence *v = t->sector_evidence[k];
        cr_expect(v->weight > 0 && (k == 0 || v->weight <= t->sector_evidence[k - 1]->weight));
        cr_assert_lt(v->index, 3);
        cr_expect(v->column.len == 2 && v->column.data[1] == '0' + v->index);
        cr_expect_str_eq(v->role, t->column_profile[v->index]->role);
        cr_expect(v->index != 0 || v->n_words == 0, "numbers hold no words");
        words |= v->n_words > 0;
    }
    cr_expect(words, "a drug or a disease is a term of its sector");
    tab_arena_free(m->a);
}

Test(bundle, names_five_sectors_likeliest_first_and_none_without_cells)
{
    maker *m = start();
    tab_builder *b = column(m, "c0");
    static const char *const drug[] = { "aspirin 100 mg", "ibuprofen 400 mg", "metformin 500 mg" };
    for (size_t i = 0; i < 60; i++)
        tab_builder_text(b, tab_str_of(drug[i % 3]));
    add(m, b);
    Tabella__Bundle *r = run(m, (tab_run_options){ .target = TAB_TARGET_NONE });
    cr_assert_not_null(r);
    const Tabella__TableUnderstanding *t = r->tables[0];
    cr_assert_eq(t->n_sector_top5, 5);
    double sum = 0;
    for (size_t k = 0; k < 5; k++) {
        sum += t->sector_top5[k]->confidence;
        cr_expect(k == 0 || t->sector_top5[k]->confidence <= t->sector_top5[k - 1]->confidence);
        cr_expect(strlen(t->sector_top5[k]->slug) > 0);
    }
    cr_expect(sum > 0.2 && sum <= 1 + 1e-6, "the five likeliest of 25 hold more than a uniform share: %g",
              sum);
    tab_arena_free(m->a);

    m = start();
    add(m, column(m, "c0"));
    r = run(m, (tab_run_options){ .target = TAB_TARGET_NONE });
    cr_assert_not_null(r);
    cr_expect_eq(r->tables[0]->n_sector_top5, 0);
    tab_arena_free(m->a);
}
