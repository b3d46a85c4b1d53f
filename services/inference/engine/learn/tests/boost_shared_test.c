/* Boosted trees that all classes share: decision 0385. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/boost/boost_grow.h"

enum { ROWS = 3000, CONTEXT = 2400, CLASSES = 21, COLS = 4 };

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

typedef struct {
    tab_arena *a;
    tab_data *data;
    tab_problem p;
    tab_fit_task t;
} fixture;

/* Two numbers, one of them with gaps, a category and noise; the class goes by the first three. */
static fixture made(void)
{
    fixture f = { .a = tab_arena_new((size_t)1 << 30) };
    tab_engine e = { .arena = f.a };
    tab_column *col = tab_arena_new_of(f.a, tab_column, COLS);
    tab_table *t = tab_arena_new_of(f.a, tab_table, 1);
    tab_builder *b[COLS];
    for (size_t j = 0; j < COLS; j++)
        b[j] = tab_builder_new(f.a, TAB_S("x"));
    for (size_t i = 0; i < ROWS; i++) {
        if (unit(i, 7) < 0.1)
            tab_builder_null(b[0]);
        else
            tab_builder_number(b[0], unit(i, 1));
        tab_builder_number(b[1], unit(i, 2));
        tab_builder_text(b[2], (tab_str){ "abcdef" + (size_t)(unit(i, 3) * 6), 1 });
        tab_builder_number(b[3], unit(i, 4));
    }
    for (size_t j = 0; j < COLS; j++)
        cr_assert(tab_builder_finish(b[j], &col[j]));
    *t = (tab_table){ .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = col };
    tab_profile *profile;
    cr_assert_eq(tab_profile_table(&e, t, &profile, NULL), TAB_OK);
    tab_encoder *enc = tab_encode_fit(&e, f.a, profile, NULL, &f.data);
    uint32_t *label = tab_arena_new_of(f.a, uint32_t, ROWS), *row = tab_arena_new_of(f.a, uint32_t, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        size_t at = f.data->row[i];
        double u = unit(at, 5) < 0.8 ? 0.5 * unit(at, 1) + 0.5 * floor(unit(at, 3) * 6) / 6 : unit(at, 6);
        label[i] = unit(at, 2) < 0.5 ? (uint32_t)(u * 14) : 14 + (uint32_t)(u * 7);
        row[i] = (uint32_t)i;
    }
    f.p = (tab_problem){
        .enc = enc, .data = f.data, .classification = true, .outputs = CLASSES, .label = label
    };
    f.t = (tab_fit_task){
        .context = row, .n = CONTEXT, .held = row + CONTEXT, .held_n = ROWS - CONTEXT, .arena = f.a
    };
    return f;
}

static tab_boost_recipe recipe(bool shared, double rows)
{
    return (tab_boost_recipe){ .eta = 0.2,
                               .lambda = 2,
                               .min_hess = 1.5,
                               .columns = 1,
                               .rows = rows,
                               .leaves = 12,
                               .depth = 6,
                               .patience = 100,
                               .salt = 1,
                               .shared = shared };
}

/* The leaf of a row in one tree, by the plain walk. */
static uint32_t leaf_of(const tab_boost *m, const tab_data *d, size_t tree, size_t row)
{
    uint32_t at = m->root[tree];
    while (m->node[at].feature >= 0) {
        const tab_tree_node *n = &m->node[at];
        at = n->left + !tab_goes_left(n, (const uint64_t(*)[4])m->set, d->bin[n->feature][row]);
    }
    return at;
}

Test(shared_trees, answer_as_their_trees_walked_one_by_one)
{
    fixture f = made();
    enum { ROUNDS = 30 };
    tab_boost_recipe r = recipe(true, 0.7);
    double curve[ROUNDS + 1];
    tab_boost *m = tab_boost_fit(&f.p, &f.t, &r, ROUNDS, curve);
    cr_assert_not_null(m);
    cr_assert_eq(m->rounds, ROUNDS);
    uint32_t row[ROWS];
    static float many[ROWS * CLASSES];
    for (size_t i = 0; i < ROWS; i++)
        row[i] = (uint32_t)i;
    tab_boost_margins(m, f.data, row, ROWS, many);
    double loss = 0;
    for (size_t i = 0; i < ROWS; i++) {
        float own[CLASSES], one[CLASSES];
        double sum = 0;
        memcpy(own, m->base, sizeof own);
        for (size_t t = 0; t < m->rounds * CLASSES; t++)
            own[t % CLASSES] += m->node[leaf_of(m, f.data, t, i)].value;
        tab_boost_margins(m, f.data, row + i, 1, one);
        cr_assert(memcmp(own, one, sizeof own) == 0, "row %zu alone", i);
        cr_assert(memcmp(own, many + i * CLASSES, sizeof own) == 0, "row %zu among many", i);
        for (size_t k = 0; k < CLASSES; k++)
            sum += exp((double)own[k]);
        loss += i < CONTEXT ? 0 : log(sum) - (double)own[f.p.label[i]];
    }
    /* what the fit took for its held rows' margins is what the model answers */
    cr_expect_float_eq(loss, curve[ROUNDS], 1e-3);
    tab_arena_free(f.a);
}

Test(shared_trees, a_leaf_has_each_classs_own_newton_step)
{
    fixture f = made();
    tab_boost_recipe r = recipe(true, 1);
    tab_boost *m = tab_boost_fit(&f.p, &f.t, &r, 1, NULL);
    cr_assert_not_null(m);
    uint32_t nodes = m->root[1] - m->root[0];
    cr_assert_gt(nodes, 10);
    double p[CLASSES], sum = 0;
    for (size_t k = 0; k < CLASSES; k++)
        sum += p[k] = exp((double)m->base[k]);
    for (uint32_t at = 0; at < nodes; at++) {
        if (m->node[m->root[0] + at].feature >= 0)
            continue;
        double n = 0, count[CLASSES] = { 0 };
        for (size_t i = 0; i < CONTEXT; i++)
            if (leaf_of(m, f.data, 0, i) == m->root[0] + at)
                n++, count[f.p.label[i]]++;
        for (size_t k = 0; k < CLASSES; k++) {
            double q = p[k] / sum, h = n * q * (1 - q) * CLASSES / (CLASSES - 1);
            double want = -(n * q - count[k]) / (h + r.lambda) * r.eta;
            cr_expect_float_eq((double)m->node[m->root[k] + at].value, want, 1e-4, "leaf %u, class %zu", at,
                               k);
        }
    }
    tab_arena_free(f.a);
}

Test(shared_trees, tell_classes_apart_as_a_tree_each_does)
{
    fixture f = made();
    enum { ROUNDS = 120 };
    double best[2] = { INFINITY, INFINITY }, curve[ROUNDS + 1], first = 0;
    for (int shared = 0; shared < 2; shared++) {
        tab_boost_recipe r = recipe(shared, 0.8);
        cr_assert_not_null(tab_boost_fit(&f.p, &f.t, &r, ROUNDS, curve));
        first = curve[0];
        for (size_t i = 0; i <= ROUNDS; i++)
            best[shared] = fmin(best[shared], curve[i]);
    }
    cr_expect_lt(best[1], 0.75 * first, "%g of %g", best[1], first);
    cr_expect_lt(best[1], 1.03 * best[0], "%g, a tree each %g", best[1], best[0]);
    tab_arena_free(f.a);
}

/* Two classes of three in nearly all directions lie on one side: a direction along which nothing splits does
 * not end the fit. */
Test(shared_trees, go_on_where_a_direction_says_nothing)
{
    fixture f = made();
    uint32_t *label = tab_arena_new_of(f.a, uint32_t, ROWS);
    for (size_t i = 0; i < ROWS; i++)
        label[i] = f.data->bin[1][i] > 100; /* of the third class there is no row */
    f.p.label = label;
    f.p.outputs = 3;
    enum { ROUNDS = 40 };
    double curve[ROUNDS + 1];
    tab_boost_recipe r = recipe(true, 0.8);
    tab_boost *m = tab_boost_fit(&f.p, &f.t, &r, ROUNDS, curve);
    cr_assert_not_null(m);
    cr_expect_eq(m->rounds, ROUNDS);
    cr_expect_lt(curve[ROUNDS], 0.2 * curve[0]);
    tab_arena_free(f.a);
}
