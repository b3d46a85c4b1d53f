/* The perceptron: what a linear learner cannot say, the same bytes however it is run, no NaN, an end when
 * told. */
#include <cblas.h>
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/stack/stack.h"

enum { ROWS = 400, WHOLE = 4 };

typedef struct {
    tab_arena *a;
    tab_encoder *enc;
    tab_data *data;
    tab_problem p;
    uint32_t row[ROWS];
} fixture;

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

/* y is the product of two numbers in [-1, 1] (no sum of curves of one each explains any of it); the label
 * its sign. Two more columns: one with gaps, one nearly constant. */
static fixture made(bool classes)
{
    fixture f = { .a = tab_arena_new((size_t)1 << 30) };
    tab_engine e = { .arena = f.a };
    tab_column *col = tab_arena_new_of(f.a, tab_column, WHOLE);
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = WHOLE, .col = col };
    tab_builder *b[WHOLE];
    for (size_t j = 0; j < WHOLE; j++)
        b[j] = tab_builder_new(f.a, TAB_S("x"));
    for (size_t i = 0; i < ROWS; i++) {
        tab_builder_number(b[0], 2 * unit(i, 1) - 1);
        tab_builder_number(b[1], 2 * unit(i, 2) - 1);
        if (unit(i, 4) < 0.6)
            tab_builder_null(b[2]);
        else
            tab_builder_number(b[2], i % 2 == 0 ? 1e300 : -1e-300);
        tab_builder_number(b[3], i == 7 ? 1 : 5);
    }
    for (size_t j = 0; j < WHOLE; j++)
        cr_assert(tab_builder_finish(b[j], &col[j]));
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    const bool use[WHOLE] = { true, true, true, true };
    f.enc = tab_encode_fit(&e, f.a, p, use, &f.data);
    cr_assert_not_null(f.enc);
    float *y = tab_arena_new_of(f.a, float, ROWS);
    uint32_t *label = tab_arena_new_of(f.a, uint32_t, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        size_t from = f.data->row[i];
        y[i] = (float)(3 * (2 * unit(from, 1) - 1) * (2 * unit(from, 2) - 1));
        label[i] = y[i] > 0;
        f.row[i] = (uint32_t)i;
    }
    f.p = (tab_problem){ .enc = f.enc,
                         .data = f.data,
                         .classification = classes,
                         .outputs = classes ? 2 : 1,
                         .label = label,
                         .y = y };
    openblas_set_num_threads(1);
    return f;
}

static double share_of_loss(const fixture *f, const tab_learner *l)
{
    tab_engine e = { .arena = f->a };
    tab_recipe r = { .learner = { l }, .n = 1, .folds = 4, .work = 1e15 };
    tab_stack *s = tab_stack_fit(&e, f->a, &f->p, &r);
    cr_assert_not_null(s);
    cr_assert_eq(s->members, 1);
    return s->loss / s->prior_loss;
}

Test(mlp, learns_a_product_that_no_sum_of_curves_is)
{
    for (int classes = 0; classes < 2; classes++) {
        fixture f = made(classes);
        double line = share_of_loss(&f, &tab_learn_linear), net = share_of_loss(&f, &tab_learn_mlp);
        cr_expect_gt(line, 0.85, "linear: %g of the base rate's loss", line);
        cr_expect_lt(net, 0.5, "perceptron: %g of the base rate's loss", net);
        tab_arena_free(f.a);
    }
}

typedef struct {
    fixture *f;
    tab_arena *a;
    float out[ROWS * 2];
} one_fit;

static void *fit_one(void *arg)
{
    one_fit *o = arg;
    tab_fit_task t = { .context = o->f->row, .n = ROWS - 100, .arena = o->a };
    void *m = tab_learn_mlp.fit(&o->f->p, &t, NULL);
    if (m != NULL)
        tab_learn_mlp.predict(m, o->f->enc, o->f->data, o->f->row, ROWS, o->out);
    return m;
}

Test(mlp, same_bytes_for_one_and_four_threads_and_rows_alone)
{
    fixture f = made(true);
    one_fit o[5];
    pthread_t id[5];
    void *model = NULL;
    for (size_t i = 0; i < 5; i++)
        o[i] = (one_fit){ .f = &f, .a = tab_arena_new((size_t)1 << 28) };
    model = fit_one(&o[0]);
    cr_assert_not_null(model);
    for (size_t i = 1; i < 5; i++)
        cr_assert_eq(pthread_create(&id[i], NULL, fit_one, &o[i]), 0);
    for (size_t i = 1; i < 5; i++) {
        void *m = NULL;
        pthread_join(id[i], &m);
        cr_assert_not_null(m);
        cr_expect_eq(memcmp(o[0].out, o[i].out, sizeof o[0].out), 0, "thread %zu", i);
    }
    for (size_t i = 0; i < ROWS; i++) {
        float alone[2];
        tab_learn_mlp.predict(model, f.enc, f.data, &f.row[i], 1, alone);
        cr_assert(isfinite(alone[0]) && isfinite(alone[1]), "row %zu", i);
        cr_assert_eq(memcmp(alone, o[0].out + 2 * i, sizeof alone), 0, "row %zu", i);
    }
    for (size_t i = 0; i < 5; i++)
        tab_arena_free(o[i].a);
    tab_arena_free(f.a);
}

Test(mlp, ends_when_told_and_declines_what_it_cannot_carry)
{
    fixture f = made(false);
    atomic_bool cancel = true;
    tab_fit_task t = { .context = f.row, .n = ROWS, .arena = f.a, .cancel = &cancel };
    cr_expect_null(tab_learn_mlp.fit(&f.p, &t, NULL), "cancelled");
    t.cancel = NULL;
    t.n = 20;
    cr_expect_null(tab_learn_mlp.fit(&f.p, &t, NULL), "too few rows");
    float *y = (float *)(uintptr_t)f.p.y; /* a constant target is answered by itself */
    for (size_t i = 0; i < ROWS; i++)
        y[i] = 0.25f;
    t.n = ROWS;
    void *m = tab_learn_mlp.fit(&f.p, &t, NULL);
    cr_assert_not_null(m);
    float out[ROWS];
    tab_learn_mlp.predict(m, f.enc, f.data, f.row, ROWS, out);
    for (size_t i = 0; i < ROWS; i++)
        cr_expect_float_eq(out[i], 0.25f, 0.02, "row %zu: %g", i, (double)out[i]);
    tab_arena_free(f.a);
}
