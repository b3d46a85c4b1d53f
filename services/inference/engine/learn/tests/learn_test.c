/* The learners' parts against values worked out another way. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/boost/boost.h"
#include "services/inference/engine/learn/linear/solve.h"
#include "services/inference/engine/learn/stack/stack.h"
#include "services/inference/engine/predict/explain/reasons.h"

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

Test(solve, ridge_by_hand)
{
    /* z = 1, x with x = -1, 0, 1 and y = 1, 2, 6: slope 5 / (2 + lambda), intercept 3. */
    const float z[] = { 1, -1, 1, 0, 1, 1 }, y[] = { 1, 2, 6 };
    const double lambda[] = { 3, 0.5 };
    float w[4];
    tab_system s = { .z = z, .n = 3, .m = 2, .k = 1, .y = y, .lambda = lambda, .path = 2 };
    cr_assert(tab_solve(&s, w));
    cr_expect_float_eq(w[0], 3, 1e-4);
    cr_expect_float_eq(w[1], 1, 1e-4);
    cr_expect_float_eq(w[3], 2, 1e-4);
}

Test(solve, logistic_gradient_vanishes)
{
    enum { N = 200, M = 3 };
    for (size_t k = 1; k <= 7;
         k += 2) { /* vector products up to five margins, then matrices; at w = 0 the gradient is about 10 */
        float z[N * M], w[M * 7];
        uint32_t label[N];
        const double lambda[] = { 2 };
        for (size_t i = 0; i < N; i++) {
            z[i * M] = 1;
            for (size_t j = 1; j < M; j++)
                z[i * M + j] = (float)(unit(i, j) - 0.5);
            label[i] = (uint32_t)(unit(i, 9) * (k == 1 ? 2 : (double)k));
        }
        tab_system s = { .z = z, .n = N, .m = M, .k = k, .label = label, .lambda = lambda, .path = 1 };
        cr_assert(tab_solve(&s, w));
        for (size_t a = 0; a < M; a++)
            for (size_t c = 0; c < k; c++) {
                double g = a == 0 ? 0 : lambda[0] * (double)w[a * k + c];
                for (size_t i = 0; i < N; i++) {
                    double sum = 0, own = 0;
                    for (size_t q = 0; q < k; q++) {
                        double f = 0;
                        for (size_t b = 0; b < M; b++)
                            f += (double)z[i * M + b] * (double)w[b * k + q];
                        sum += exp(f);
                        own = q == c ? exp(f) : own;
                    }
                    double p = k == 1 ? own / (1 + own) : own / sum;
                    g += (double)z[i * M + a] * (p - (label[i] == (k == 1 ? 1 : c)));
                }
                cr_expect_float_eq(g, 0, 0.6, "k %zu: gradient %g at (%zu, %zu)", k, g, a, c);
            }
    }
}

Test(solve, a_rows_product_does_not_depend_on_its_neighbours)
{
    enum { N = 401, M = 700, K = 150 };
    static const size_t shape[][2] = { { 37, 5 },  { 64, 1 },  { 129, 15 }, { 1, 1 },    { 700, 2 },
                                       { 37, 16 }, { 20, 31 }, { 40, 64 },  { 41, 111 }, { 3, 150 } };
    static float z[N * M], w[M * K], all[N * K], one[K];
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++) {
        size_t m = shape[s][0], k = shape[s][1];
        for (size_t i = 0; i < N * m; i++)
            z[i] = (float)(unit(i, 1) - 0.5);
        for (size_t i = 0; i < m * k; i++)
            w[i] = (float)(unit(i, 2) - 0.5);
        tab_apply(z, N, m, w, k, all);
        for (size_t i = 0; i < N; i++) {
            tab_apply(z + i * m, 1, m, w, k, one);
            cr_assert(memcmp(one, all + i * k, k * sizeof *one) == 0, "%zu x %zu: row %zu", m, k, i);
            for (size_t j = 0; i % 50 == 0 && j < k; j++) {
                double sum = 0;
                for (size_t q = 0; q < m; q++)
                    sum += (double)z[i * m + q] * (double)w[q * k + j];
                cr_expect_float_eq((double)one[j], sum, 2e-5, "%zu x %zu: (%zu, %zu)", m, k, i, j);
            }
        }
    }
}

typedef struct {
    tab_arena *a;
    tab_encoder *enc;
    tab_data *data;
    tab_problem p;
} fixture;

/* The problem of f: y of each row of the table, or whether it is positive. */
static void ask(fixture *f, const double *y, size_t rows, bool classes)
{
    float *target = tab_arena_new_of(f->a, float, rows);
    uint32_t *label = tab_arena_new_of(f->a, uint32_t, rows);
    for (size_t i = 0; i < rows; i++) {
        target[i] = (float)y[f->data->row[i]];
        label[i] = y[f->data->row[i]] > 0;
    }
    f->p = (tab_problem){ .enc = f->enc,
                          .data = f->data,
                          .classification = classes,
                          .outputs = classes ? 2 : 1,
                          .label = label,
                          .y = target };
}

/* Two numbers with gaps and a category; y depends on all three, the label on y. */
static fixture made(size_t rows, bool classes)
{
    fixture f = { .a = tab_arena_new((size_t)1 << 30) };
    tab_engine e = { .arena = f.a };
    tab_column *col = tab_arena_new_of(f.a, tab_column, 3);
    tab_table *t = tab_arena_new_of(f.a, tab_table, 1);
    tab_builder *b[3];
    double *y = tab_arena_new_of(f.a, double, rows);
    for (size_t j = 0; j < 3; j++)
        b[j] = tab_builder_new(f.a, TAB_S("x"));
    for (size_t i = 0; i < rows; i++) {
        size_t c = (size_t)(unit(i, 3) * 6);
        if (unit(i, 7) < 0.1)
            tab_builder_null(b[0]);
        else
            tab_builder_number(b[0], unit(i, 1));
        tab_builder_number(b[1], unit(i, 2));
        tab_builder_text(b[2], (tab_str){ "abcdef" + c, 1 });
        y[i] = 2 * unit(i, 1) + (unit(i, 2) > 0.5) + (c % 2 == 0) - 2;
    }
    for (size_t j = 0; j < 3; j++)
        cr_assert(tab_builder_finish(b[j], &col[j]));
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = 3, .col = col };
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    const bool use[] = { true, true, true };
    f.enc = tab_encode_fit(&e, f.a, p, use, &f.data);
    cr_assert_not_null(f.enc);
    ask(&f, y, rows, classes);
    return f;
}

/* Rows of one unit are held by one fold; where equal rows are repeated measurements, each stands by
 * itself. */
Test(stack, units_share_a_fold_and_repeats_do_not)
{
    enum { ROWS = 300 };
    fixture f = made(ROWS, true);
    tab_engine e = { .arena = f.a };
    uint32_t *unit_of = tab_arena_new_of(f.a, uint32_t, ROWS);
    for (uint32_t i = 0; i < ROWS; i++)
        unit_of[i] = i % 60;
    f.p.unit = unit_of;
    const tab_recipe r = { .learner = { &tab_learn_linear }, .n = 1, .folds = 5, .work = 1e12 };
    const tab_stack *s = tab_stack_fit(&e, f.a, &f.p, &r);
    cr_assert_not_null(s);
    size_t held[TAB_FOLDS] = { 0 };
    for (size_t i = 0; i < ROWS; i++) {
        cr_expect_eq(s->fold[i], s->fold[i % 60], "row %zu", i);
        held[s->fold[i]]++;
    }
    for (size_t k = 0; k < s->folds; k++)
        cr_expect(held[k] > 20 && held[k] < 120, "%zu rows in fold %zu", held[k], k);
    f.p.unit = NULL;
    for (int repeats = 0; repeats < 2; repeats++) {
        for (size_t i = 0; i < ROWS; i++)
            f.data->hash[i] = i / 30; /* ten cells */
        f.p.repeats = repeats == 1;
        s = tab_stack_fit(&e, f.a, &f.p, &r);
        size_t apart = 0;
        for (size_t i = 1; i < ROWS; i++)
            apart += i % 30 != 0 && s->fold[i] != s->fold[i - 1];
        cr_expect(repeats == 1 ? apart > 150 : apart == 0, "%zu of 290 neighbours are apart", apart);
    }
    tab_arena_free(f.a);
}

/* Labels that are coins: what all folds' outputs chose would say that something is known, 0.966 here
 * (decision 0392). */
Test(stack, a_fold_has_no_say_in_its_calibration)
{
    enum { ROWS = 100, TABLES = 60 };
    double error = 0;
    for (size_t k = 0; k < TABLES; k++) {
        fixture f = made(ROWS, true);
        tab_engine e = { .arena = f.a };
        uint32_t *label = (uint32_t *)(uintptr_t)f.p.label;
        size_t ones = 0, missed = 0;
        for (size_t i = 0; i < ROWS; i++)
            ones += label[i] = unit(1000 * k + i, 40) < 0.5;
        const tab_recipe r = { .learner = { &tab_learn_boost_fast, &tab_learn_linear, &tab_learn_kernel,
                                            &tab_learn_forest },
                               .n = 4,
                               .work = 1e12 };
        const tab_stack *s = tab_stack_fit(&e, f.a, &f.p, &r);
        cr_assert_not_null(s);
        for (size_t i = 0; i < ROWS; i++)
            missed += (s->oof[2 * i + 1] > s->oof[2 * i]) != (label[i] == 1);
        error += (double)missed / (double)(ones < ROWS - ones ? ones : ROWS - ones) / TABLES;
        tab_arena_free(f.a);
    }
    cr_expect_gt(error, 0.985, "%g of the commonest class's misses", error);
}

/* What has one model of all rows answers by it where no fold stands: rows without a target, and new ones. */
Test(learners, a_model_of_all_rows_answers_outside_the_folds)
{
    for (int classes = 0; classes < 2; classes++) {
        fixture f = made(300, classes);
        tab_engine e = { .arena = f.a };
        uint32_t *label = (uint32_t *)(uintptr_t)f.p.label, row[300], n = 0;
        float *y = (float *)(uintptr_t)f.p.y;
        for (uint32_t i = 0; i < 300; i += 7) {
            label[i] = TAB_NULL, y[i] = NAN;
            row[n++] = i;
        }
        tab_recipe r = { .learner = { &tab_learn_pfn, &tab_learn_linear }, .n = 2, .folds = 3, .work = 1e15 };
        tab_stack *s = tab_stack_fit(&e, f.a, &f.p, &r);
        cr_assert_not_null(s);
        cr_assert(s->members == 2 && s->folds == 3);
        const tab_member *m = &s->member[0];
        cr_assert_gt(m->weight, 0, "linear is as good on its own: choose another table");
        cr_expect_not_null(m->model[3]);
        cr_expect_null(m->model[0], "the folds' contexts are let go");
        cr_expect(s->member[1].model[0] != NULL && s->member[1].model[3] == NULL);
        float *out = tab_arena_new_of(f.a, float, n * s->outputs + 1);
        cr_assert(tab_stack_predict(s, f.enc, f.data, row, n, out));
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < s->outputs; k++)
                cr_assert_float_eq(out[i * s->outputs + k], s->oof[row[i] * s->outputs + k], 1e-5f, "row %u",
                                   row[i]);
        tab_arena_free(f.a);
    }
}

/* Asked for the scale of a target, the network tells where its distribution is wide. */
Test(learners, the_network_knows_where_a_target_is_uncertain)
{
    enum { N = 300, KNOWN = 250 };
    fixture f = made(N, false);
    float *y = (float *)(uintptr_t)f.p.y, out[N - KNOWN];
    uint32_t row[N];
    const float *x = NULL; /* the number without gaps */
    for (size_t j = 0; j < f.enc->n; j++)
        if (f.data->x[j] != NULL && !isnan(f.data->x[j][0] + f.data->x[j][1] + f.data->x[j][2]))
            x = f.data->x[j];
    cr_assert_not_null(x);
    for (uint32_t i = 0; i < N; i++) {
        row[i] = i;
        y[i] = (float)((unit(i, 20) - 0.5) * (x[i] > 0.5f ? 4 : 0.4));
    }
    f.p.of = f.p.y;
    tab_fit_task t = { .context = row, .n = KNOWN, .arena = f.a };
    void *m = tab_learn_pfn.fit(&f.p, &t, NULL);
    cr_assert_not_null(m);
    tab_learn_pfn.predict(m, f.enc, f.data, row + KNOWN, N - KNOWN, out);
    double wide = 0, narrow = 0, many = 0, few = 0;
    for (size_t i = 0; i < N - KNOWN; i++) {
        cr_assert(isfinite(out[i]) && out[i] >= 0);
        *(x[KNOWN + i] > 0.5f ? &wide : &narrow) += (double)out[i];
        *(x[KNOWN + i] > 0.5f ? &many : &few) += 1;
    }
    cr_assert_gt(wide / many, 1.3 * narrow / few, "%g where it is wide, %g where narrow", wide / many,
                 narrow / few);
    tab_arena_free(f.a);
}

Test(learners, what_the_budget_leaves_out_is_named)
{
    fixture f = made(200, true);
    tab_engine e = { .arena = f.a };
    tab_recipe r = {
        .learner = { &tab_learn_forest }, .n = 1, .folds = 3, .work = 2 * tab_learn_forest.work(&f.p, 200)
    };
    tab_stack *s = tab_stack_fit(&e, f.a, &f.p, &r);
    cr_assert_not_null(s);
    cr_assert(s->members == 0 && s->skips == 1);
    cr_expect_str_eq(s->skipped[0], "forest: budget");
    tab_arena_free(f.a);
}

/* The network gets at most 40 % of the budget: it is cut down as far as that asks, and says so, before it
 * is left out. */
Test(learners, what_the_budget_cuts_down_is_named)
{
    enum { FOLDS = 2, FITS = FOLDS + 1 }; /* and one of all rows */
    static const struct {
        size_t rows, from; /* the first form to try: on many rows those of one member */
    } tables[] = { { 120, 0 }, { 700, 3 } };
    for (size_t k = 0; k < 2; k++) {
        size_t rows = tables[k].rows;
        fixture f = made(rows, true);
        tab_engine e = { .arena = f.a };
        double full = tab_learn_pfn.work(&f.p, rows), before = INFINITY, own = full, last = 0;
        const char *said = "";
        for (size_t form = tables[k].from; said != NULL; form++) {
            if (form > 0)
                said = tab_learn_pfn.cheaper(&f.p, rows, form, f.a, &own);
            if (said != NULL && own == before && rows < 512)
                continue; /* contexts that are smaller anyway */
            tab_recipe r = { .learner = { &tab_learn_pfn },
                             .n = 1,
                             .folds = FOLDS,
                             .work = (said == NULL ? 0.99 : 1.000001) * own * FITS / 0.4 };
            tab_stack *s = tab_stack_fit(&e, f.a, &f.p, &r);
            cr_assert_not_null(s);
            cr_assert_eq(s->members, said != NULL, "form %zu", form);
            cr_assert_eq(s->skips, form > 0);
            if (said == NULL) {
                cr_expect_str_eq(s->skipped[0], "pfn: budget");
                continue;
            }
            cr_assert_lt(own, before, "form %zu", form);
            before = own;
            cr_expect_eq(s->member[0].config, form);
            if (form > 0)
                cr_expect_str_eq(s->skipped[0], tab_arena_printf(f.a, "pfn: budget, %s", said));
            cr_expect_lt(s->member[0].loss, s->prior_loss, "form %zu", form);
            cr_expect_neq(s->member[0].loss, last, "form %zu answers like the one before", form);
            last = s->member[0].loss;
        }
        cr_expect_lt(before, full / 7);
        tab_arena_free(f.a);
    }
}

/* Classes beyond ten are told apart by codes: no form has too few members for that. */
Test(learners, a_cut_network_tells_many_classes_apart)
{
    fixture f = made(300, true);
    uint32_t *label = tab_arena_new_of(f.a, uint32_t, 300), row[300];
    float *out = tab_arena_new_of(f.a, float, 300 * 30);
    for (uint32_t i = 0; i < 300; i++)
        row[i] = i, label[i] = i % 30;
    f.p.label = label;
    f.p.outputs = 30;
    double own = 0;
    for (size_t form = 1; tab_learn_pfn.cheaper(&f.p, 300, form, f.a, &own) != NULL; form++) {
        cr_expect(strncmp(tab_learn_pfn.cheaper(&f.p, 300, form, f.a, &own), "4 of 8 members", 14) == 0);
        tab_fit_task t = { .context = row, .n = 300, .config = form, .arena = f.a };
        void *m = tab_learn_pfn.fit(&f.p, &t, NULL);
        cr_assert_not_null(m);
        tab_learn_pfn.predict(m, f.enc, f.data, row, 1, out);
        for (size_t a = 0; a < 30; a++)
            for (size_t b = 0; b < a; b++)
                cr_expect(fabsf(out[a] - out[b]) > 0, "form %zu: classes %zu and %zu are one", form, a, b);
    }
    tab_arena_free(f.a);
}

Test(learners, each_beats_the_base_rate_out_of_fold)
{
    static const tab_learner *const all[] = { &tab_learn_boost,       &tab_learn_boost_shallow,
                                              &tab_learn_boost_brisk, &tab_learn_linear,
                                              &tab_learn_kernel,      &tab_learn_forest,
                                              &tab_learn_knn,         &tab_learn_mlp };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (int classes = 0; classes < 2; classes++) {
            fixture f = made(400, classes);
            tab_engine e = { .arena = f.a };
            tab_recipe r = { .learner = { all[k] }, .n = 1, .folds = 3, .work = 1e15 };
            tab_stack *s = tab_stack_fit(&e, f.a, &f.p, &r);
            cr_assert_not_null(s);
            cr_expect_eq(s->members, 1, "%s took part", all[k]->name);
            cr_expect_lt(s->loss, 0.6 * s->prior_loss, "%s: %g, base rate %g", all[k]->name, s->loss,
                         s->prior_loss);
            tab_arena_free(f.a);
        }
}

/* Contributions of a learner's trees to rows of a table. */
static void contributions_of(const tab_learner *l)
{
    fixture f = made(300, false);
    uint32_t *row = tab_arena_new_of(f.a, uint32_t, 300);
    for (uint32_t i = 0; i < 300; i++)
        row[i] = i;
    tab_fit_task t = { .context = row, .n = 300, .arena = f.a };
    tab_boost *m = l->fit(&f.p, &t, NULL);
    cr_assert_not_null(m);
    /* The mean margin over the cover of each tree is what no feature explains. */
    double mean = (double)m->base[0];
    for (size_t r = 0; r < m->rounds; r++) {
        double sum = 0, cover = 0;
        uint32_t stack[64], n = 0;
        stack[n++] = m->root[r];
        while (n > 0) {
            uint32_t at = stack[--n];
            const tab_tree_node *node = &m->node[at];
            if (node->feature < 0)
                sum += tab_leaf_mean(m, at) * (double)m->cover[at], cover += (double)m->cover[at];
            else
                stack[n++] = node->left, stack[n++] = node->left + 1;
        }
        mean += sum / cover;
    }
    for (uint32_t i = 0; i < 300; i += 29) {
        double phi[8] = { 0 }, sum = 0;
        float margin;
        tab_boost_margins(m, f.data, &i, 1, &margin);
        tab_boost_shap(m, 0, f.data, i, 1, phi);
        for (size_t k = 0; k < f.enc->n; k++)
            sum += phi[k];
        cr_expect_float_eq(sum + mean, (double)margin, 1e-3, "%s, row %u: %g, margin %g", l->name, i,
                           sum + mean, (double)margin);
    }
    tab_arena_free(f.a);
}

Test(reasons, contributions_sum_to_the_margin)
{
    contributions_of(&tab_learn_boost_fast);
    contributions_of(&tab_learn_boost_shallow); /* whose leaves have slopes */
}

Test(slopes, a_line_between_steps)
{
    /* y = x, and half of the cells are missing: trees of slopes follow the line within a bin */
    enum { ROWS = 400 };
    fixture f = made(ROWS, false);
    size_t number = 0;
    while (f.enc->f[number].kind != TAB_FEATURE_NUMBER || f.enc->f[number].edges < 30)
        number++;
    float *y = tab_arena_new_of(f.a, float, ROWS);
    uint32_t *row = tab_arena_new_of(f.a, uint32_t, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        float x = f.data->x[number][i];
        y[i] = isnan(x) ? -1 : fminf(fmaxf(x, -2), 2);
        row[i] = i;
    }
    f.p.y = y;
    tab_fit_task t = { .context = row, .n = ROWS, .arena = f.a };
    tab_boost *m = tab_learn_boost_shallow.fit(&f.p, &t, NULL);
    cr_assert_not_null(m);
    cr_assert_not_null(m->slopes);
    tab_boost flat = *m;
    flat.slopes = NULL; /* without them their leaves are wrong: they carry something */
    float many[ROWS], one, without[ROWS];
    tab_boost_margins(m, f.data, row, ROWS, many);
    tab_boost_margins(&flat, f.data, row, ROWS, without);
    double loss = 0, lost = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        tab_boost_margins(m, f.data, &i, 1, &one);
        cr_assert_eq(memcmp(&one, &many[i], sizeof one), 0, "row %u alone %g, among others %g", i,
                     (double)one, (double)many[i]);
        loss += (double)((many[i] - y[i]) * (many[i] - y[i]));
        lost += (double)((without[i] - y[i]) * (without[i] - y[i]));
    }
    cr_expect_lt(loss / ROWS, 1e-4, "mean squared error %g", loss / ROWS);
    cr_expect_gt(lost, 10 * loss);
    tab_arena_free(f.a);
}

Test(stack, copies_share_a_fold)
{
    fixture f = made(200, false);
    for (size_t i = 0; i + 1 < 200; i += 2)
        f.data->hash[i + 1] = f.data->hash[i];
    tab_engine e = { .arena = f.a };
    tab_recipe r = { .learner = { &tab_learn_boost_quick }, .n = 1, .work = 1e15 };
    tab_stack *s = tab_stack_fit(&e, f.a, &f.p, &r);
    for (size_t i = 0; i + 1 < 200; i += 2)
        cr_assert_eq(s->fold[i], s->fold[i + 1]);
    tab_arena_free(f.a);
}

Test(stack, one_folds_model_errs_by_the_ambiguity_more_than_their_mean)
{
    enum { ROWS = 300 };
    fixture f = made(ROWS, false);
    tab_engine e = { .arena = f.a };
    tab_recipe r = { .learner = { &tab_learn_boost_quick, &tab_learn_linear }, .n = 2, .work = 1e15 };
    tab_stack *s = tab_stack_fit(&e, f.a, &f.p, &r);
    uint32_t row[ROWS];
    float mean[ROWS], ambiguity[ROWS], one[ROWS];
    for (uint32_t i = 0; i < ROWS; i++)
        row[i] = i;
    cr_assert(tab_stack_predict(s, f.enc, f.data, row, ROWS, mean));
    cr_assert(tab_stack_ambiguity(s, f.enc, f.data, row, ROWS, ambiguity));
    double of_each = 0, of_mean = 0;
    for (size_t k = 0; k < s->folds; k++) {
        float answer[ROWS];
        for (size_t i = 0; i < ROWS; i++)
            answer[i] = (float)s->prior_weight * s->prior[0];
        for (size_t l = 0; l < s->members; l++) {
            const tab_member *m = &s->member[l];
            if (m->weight < 1e-6)
                continue;
            tab_fold_view v;
            cr_assert(tab_stack_view(s, k, f.enc, f.data, row, ROWS, &v));
            m->learner->predict(m->model[k], v.enc, v.data, row, ROWS, one);
            tab_stack_view_free(&v);
            for (size_t i = 0; i < ROWS; i++)
                answer[i] += (float)m->weight * one[i];
        }
        for (size_t i = 0; i < ROWS; i++)
            of_each += pow((double)(f.p.y[i] - answer[i]), 2) / (double)s->folds;
    }
    for (size_t i = 0; i < ROWS; i++)
        of_mean += pow((double)(f.p.y[i] - mean[i]), 2) + (double)ambiguity[i];
    cr_expect_gt(ambiguity[0], 0);
    cr_expect_float_eq(of_each, of_mean, 1e-3 * of_each, "%g %g", of_each, of_mean);
    tab_arena_free(f.a);
}

/* One category of 900 levels, each with its own effect; a number that says nothing. */
static fixture many_levels(size_t rows, bool classes)
{
    fixture f = { .a = tab_arena_new((size_t)1 << 30) };
    tab_engine e = { .arena = f.a };
    tab_column *col = tab_arena_new_of(f.a, tab_column, 2);
    tab_table *t = tab_arena_new_of(f.a, tab_table, 1);
    tab_builder *c = tab_builder_new(f.a, TAB_S("c")), *x = tab_builder_new(f.a, TAB_S("x"));
    double *y = tab_arena_new_of(f.a, double, rows);
    for (size_t i = 0; i < rows; i++) {
        size_t level = (size_t)(unit(i, 3) * 900);
        char text[16];
        snprintf(text, sizeof text, "k%03zu", level);
        tab_builder_text(c, tab_str_of(text));
        tab_builder_number(x, unit(i, 1));
        y[i] = 4 * unit(level, 77) - 2 + 0.5 * (unit(i, 5) - 0.5);
    }
    cr_assert(tab_builder_finish(c, &col[0]) && tab_builder_finish(x, &col[1]));
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = 2, .col = col };
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    p->col[0].type = TAB_CATEGORICAL;
    const bool use[] = { true, true };
    f.enc = tab_encode_fit(&e, f.a, p, use, &f.data);
    ask(&f, y, rows, classes);
    return f;
}

Test(levels, a_context_row_never_reads_its_own_target)
{
    fixture f = many_levels(3000, false);
    uint32_t *row = tab_arena_new_of(f.a, uint32_t, 3000);
    size_t n = 0;
    for (uint32_t i = 0; i < 3000; i += 2)
        row[n++] = i;
    tab_levels *v = NULL, *w = NULL;
    cr_assert(tab_levels_fit(f.a, &f.p, row, n, NULL, &v));
    cr_assert_not_null(v);
    cr_assert_eq(v->n, 1);
    size_t at = v->plain;
    uint32_t changed = row[n / 2], last = row[n - 1];
    ((float *)(uintptr_t)f.p.y)[last] += 100;       /* the last in order: no other context row reads it */
    ((float *)(uintptr_t)f.p.y)[row[0] + 1] += 100; /* not of the context at all */
    cr_assert(tab_levels_fit(f.a, &f.p, row, n, NULL, &w));
    for (size_t i = 0; i < n; i++) {
        /* the prior's mean moves by 100 / n for all alike */
        double was = (double)v->data.x[at][row[i]] * v->enc.f[at].scale + v->enc.f[at].shift;
        double is = (double)w->data.x[at][row[i]] * w->enc.f[at].scale + w->enc.f[at].shift;
        cr_assert_float_eq(is, was, 0.08, "row %zu: %g, was %g", i, is, was);
    }
    /* A row outside the context reads all of it. */
    cr_assert_neq(f.data->code[v->code[0]][changed], TAB_NULL);
    tab_data other;
    uint32_t one = row[0] + 1;
    cr_assert(tab_levels_read(v, f.data, &one, 1, &other));
    cr_expect_eq(other.x[at][one], v->data.x[at][one]);
    cr_expect_eq(other.bin[at][one], v->data.bin[at][one]);
    tab_levels_free(v, &other);
    tab_arena_free(f.a);
}

Test(levels, many_levels_explain)
{
    for (int classes = 0; classes < 2; classes++) {
        fixture f = many_levels(6000, classes);
        tab_engine e = { .arena = f.a };
        tab_recipe r = {
            .learner = { &tab_learn_boost_brisk, &tab_learn_linear }, .n = 2, .folds = 4, .work = 1e15
        };
        tab_stack *s = tab_stack_fit(&e, f.a, &f.p, &r);
        cr_assert_not_null(s);
        cr_expect_lt(s->loss / s->prior_loss, 0.2, "%s: %.3f of the base rate's loss",
                     classes ? "classes" : "numbers", s->loss / s->prior_loss);
        uint32_t row[64];
        float out[128];
        for (uint32_t i = 0; i < 64; i++)
            row[i] = i;
        tab_data copy = *f.data; /* the same rows as if they were new */
        cr_assert(tab_stack_predict(s, f.enc, &copy, row, 64, out));
        for (size_t i = 0; i < 64; i++)
            cr_assert(isfinite(out[classes ? 2 * i : i]));
        tab_arena_free(f.a);
    }
}
