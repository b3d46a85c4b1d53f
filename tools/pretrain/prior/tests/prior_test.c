/* What the synthetic prior promises (prior.h). */
#include <cblas.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/profile/profile.h"
#include "services/inference/engine/recipes.h"
#include "tools/pretrain/prior/prior.h"

typedef struct {
    tab_prior_shape s;
    int count;
    float *x, *y;
    uint8_t *cat;
    tab_prior_info *info;
} tasks;

static tasks draw(uint64_t seed, uint64_t first, int count, tab_prior_shape s)
{
    size_t n = (size_t)s.rows, m = (size_t)s.cols, k = (size_t)count;
    tasks t = { s,
                count,
                malloc(k * n * m * sizeof(float)),
                malloc(k * n * sizeof(float)),
                malloc(k * m),
                malloc(k * sizeof(tab_prior_info)) };
    cr_assert(t.x && t.y && t.cat && t.info);
    cr_assert_eq(tab_prior_batch(seed, first, count, &s, t.x, t.y, t.cat, t.info), 0);
    return t;
}

static void drop(tasks *t)
{
    free(t->x);
    free(t->y);
    free(t->cat);
    free(t->info);
}

static const tab_prior_shape middle = { .rows = 128, .context = 64, .cols = 9 };

Test(prior, a_task_is_a_function_of_its_index)
{
    tasks all = draw(7, 100, 12, middle);
    for (int k = 11; k >= 0; k--) { /* one by one, in another order, with another scratch */
        tasks one = draw(7, 100 + (uint64_t)k, 1, middle);
        size_t n = 128, m = 9, at = (size_t)k;
        cr_assert_arr_eq(one.x, all.x + at * n * m, n * m * sizeof(float));
        cr_assert_arr_eq(one.y, all.y + at * n, n * sizeof(float));
        cr_assert_arr_eq(one.cat, all.cat + at * m, m);
        drop(&one);
    }
    tasks other = draw(8, 100, 1, middle);
    cr_assert_neq(memcmp(other.x, all.x, 128 * 9 * sizeof(float)), 0);
    drop(&other);
    drop(&all);
}

Test(prior, families_come_in_their_shares)
{
    static const double wanted[] = { .32, .09, .09, .07, .15, .28 };
    int count[TAB_PRIOR_FAMILIES] = { 0 }, n = 100000;
    for (int i = 0; i < n; i++)
        count[tab_prior_family_of(3, (uint64_t)i)]++;
    for (int f = 0; f < TAB_PRIOR_FAMILIES; f++)
        cr_assert_float_eq((double)count[f] / n, wanted[f], 0.01, "family %d: %d", f, count[f]);
}

Test(prior, classes_stand_in_the_context_and_columns_vary)
{
    tasks t = draw(11, 0, 300, middle);
    int missing = 0, binary = 0, kept = 0;
    for (int k = 0; k < t.count; k++) {
        const float *x = t.x + (size_t)k * 128 * 9, *y = t.y + (size_t)k * 128;
        int classes = t.info[k].classes, in[TAB_PRIOR_CLASSES] = { 0 }, holes = 0;
        cr_assert(classes >= 2 && classes <= TAB_PRIOR_CLASSES);
        for (int i = 0; i < 128; i++) {
            int c = (int)y[i];
            cr_assert(c >= 0 && c < classes && (float)c == y[i]);
            in[c] += i < 64;
        }
        for (int c = 0; c < classes; c++)
            cr_assert_gt(in[c], 0, "task %d: class %d of %d is not in the context", k, c, classes);
        for (int j = 0; j < 9; j++) {
            bool varies = false;
            float first = NAN;
            for (int i = 0; i < 128; i++) {
                float v = x[i * 9 + j];
                holes += isnan(v);
                cr_assert(isnan(v) || fabsf(v) < 1e7f);
                if (i >= 64 || isnan(v))
                    continue;
                varies |= !isnan(first) && v != first;
                first = v;
                cr_assert(!t.cat[(size_t)k * 9 + (size_t)j] || (v >= 0 && v == floorf(v) && v < 64));
            }
            cr_assert(varies, "task %d: column %d is constant in the context", k, j);
        }
        cr_assert(holes == 0 || t.info[k].missing);
        missing += t.info[k].missing;
        binary += classes == 2;
        kept += t.info[k].kept;
    }
    cr_assert(missing > 60 && missing < 120, "%d of 300 tasks may have missing cells", missing);
    cr_assert(binary > 140 && binary < 230, "%d of 300 are binary", binary);
    cr_assert_lt(kept, 30, "%d of 300 failed the filter and were kept", kept);
    drop(&t);
}

/* Real tables hold towns, products and doctors: of ten tables three have a column of 30 levels or more, and
 * what is rare there is learnable from its like alone. */
Test(prior, some_tables_have_columns_of_many_levels)
{
    tasks t = draw(19, 0, 200, (tab_prior_shape){ .rows = 320, .context = 192, .cols = 9 });
    int tables = 0;
    for (int k = 0; k < t.count; k++) {
        int most = 0;
        for (int j = 0; j < 9; j++) {
            bool in[64] = { false };
            int levels = 0;
            for (int i = 0; i < 320 && t.cat[k * 9 + j]; i++) {
                float v = t.x[((size_t)k * 320 + (size_t)i) * 9 + (size_t)j];
                if (isnan(v) || in[(int)v])
                    continue;
                in[(int)v] = true;
                levels++;
            }
            most = levels > most ? levels : most;
        }
        tables += most >= 30;
    }
    cr_assert(tables > 30 && tables < 90, "%d of 200", tables);
    drop(&t);
}

/* Largest |correlation| of a column with the row's place. */
static double clock_in(const tasks *t, int k)
{
    double most = 0;
    int n = t->s.rows, m = t->s.cols;
    for (int j = 0; j < m; j++) {
        double x1 = 0, x2 = 0, u1 = 0, u2 = 0, xu = 0, have = 0;
        for (int i = 0; i < n; i++) {
            double x = (double)t->x[((size_t)k * (size_t)n + (size_t)i) * (size_t)m + (size_t)j], u = i;
            if (isnan(x))
                continue;
            have++, x1 += x, x2 += x * x, u1 += u, u2 += u * u, xu += x * u;
        }
        double c = (xu - x1 * u1 / have) / sqrt((x2 - x1 * x1 / have) * (u2 - u1 * u1 / have) + 1e-9);
        most = fmax(most, fabs(c));
    }
    return most;
}

Test(prior, some_tables_are_ordered_in_time)
{
    tasks t = draw(23, 0, 300, (tab_prior_shape){ .rows = 256, .context = 192, .cols = 6 });
    int ordered = 0, told = 0, others = 0;
    for (int k = 0; k < t.count; k++) {
        bool moves = clock_in(&t, k) > 0.5;
        ordered += t.info[k].ordered;
        told += moves && t.info[k].ordered;
        others += moves && !t.info[k].ordered;
    }
    cr_assert(ordered > 25 && ordered < 60, "%d of 300", ordered);
    cr_assert(2 * told > ordered, "%d of %d", told, ordered);
    cr_assert(others < 15, "%d of %d others", others, t.count - ordered);
    drop(&t);
}

/* The nearest labelled rows, by ranks, tell more than the class shares: most tasks can be learned. */
Test(prior, most_tasks_can_be_learned)
{
    tasks t = draw(13, 0, 120, (tab_prior_shape){ .rows = 256, .context = 192, .cols = 6 });
    int better = 0;
    for (int k = 0; k < t.count; k++) {
        const float *x = t.x + (size_t)k * 256 * 6, *y = t.y + (size_t)k * 256;
        float rank[256][6], share[TAB_PRIOR_CLASSES] = { 0 };
        for (int j = 0; j < 6; j++)
            for (int i = 0; i < 256; i++) {
                int less = 0;
                for (int r = 0; r < 192; r++)
                    less += x[r * 6 + j] < x[i * 6 + j];
                rank[i][j] = isnan(x[i * 6 + j]) ? 0.5f : (float)less / 192;
            }
        for (int i = 0; i < 192; i++)
            share[(int)y[i]] += 1.0f / 192;
        double with = 0, without = 0;
        for (int q = 192; q < 256; q++) {
            float p[TAB_PRIOR_CLASSES] = { 0 }, sum = 0;
            for (int i = 0; i < 192; i++) {
                float d = 0;
                for (int j = 0; j < 6; j++)
                    d += (rank[q][j] - rank[i][j]) * (rank[q][j] - rank[i][j]);
                float w = expf(-12 * d) + 1e-4f;
                p[(int)y[i]] += w;
                sum += w;
            }
            for (int c = 0; c < t.info[k].classes; c++) {
                double truth = (int)y[q] == c;
                with += pow((double)(p[c] / sum) - truth, 2);
                without += pow((double)share[c] - truth, 2);
            }
        }
        better += with < without;
    }
    cr_assert_gt(better, 80, "%d of 120", better);
    drop(&t);
}

/* A task's columns as a table of the engine. */
static tab_table *table_of(tab_arena *a, const tasks *t, int k)
{
    size_t n = (size_t)t->s.rows, m = (size_t)t->s.cols;
    const float *x = t->x + (size_t)k * n * m;
    tab_column *col = tab_arena_new_of(a, tab_column, m);
    for (size_t j = 0; j < m; j++) {
        tab_builder *b = tab_builder_new(a, TAB_S("x"));
        for (size_t i = 0; i < n; i++) {
            double v = (double)x[i * m + j];
            if (isnan(v))
                tab_builder_null(b);
            else if (t->cat[(size_t)k * m + j])
                tab_builder_text(b, tab_str_of(tab_arena_printf(a, "level %g", v)));
            else
                tab_builder_number(b, v);
        }
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    tab_table *table = tab_arena_new_of(a, tab_table, 1);
    *table = (tab_table){ .id = TAB_S("t"), .rows = n, .cols = m, .col = col };
    return table;
}

/* Does base-1, from the context's labels, answer the other rows better than the class shares do? */
static bool learnable(const tasks *t, int k)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_profile *p = NULL;
    tab_data *d = NULL;
    const tab_base *base = NULL;
    bool use[TAB_PRIOR_COLS];
    size_t n = (size_t)t->s.rows, context = (size_t)t->s.context, classes = (size_t)t->info[k].classes;
    const float *y = t->y + (size_t)k * n;
    cr_assert_eq(tab_profile_table(&e, table_of(a, t, k), &p, NULL), TAB_OK);
    cr_assert_eq(tab_base_find("base-1", &base, NULL), TAB_OK);
    for (size_t j = 0; j < TAB_PRIOR_COLS; j++)
        use[j] = true;
    const tab_encoder *enc = tab_encode_fit(&e, a, p, use, &d);
    uint32_t *label = tab_arena_new_of(a, uint32_t, n);
    double share[TAB_PRIOR_CLASSES] = { 0 }, with = 0, without = 0;
    cr_assert(enc != NULL && label != NULL);
    for (size_t i = 0; i < n; i++) {
        label[i] = d->row[i] < context ? (uint32_t)y[d->row[i]] : TAB_NULL;
        if (label[i] != TAB_NULL)
            share[label[i]] += 1 / (double)context;
    }
    tab_problem q = { .enc = enc, .data = d, .classification = true, .outputs = classes, .label = label };
    const tab_stack *s = tab_stack_fit(&e, a, &q, &base->recipe);
    cr_assert_not_null(s);
    for (size_t i = 0; i < n; i++) {
        if (label[i] != TAB_NULL)
            continue;
        uint32_t own = (uint32_t)y[d->row[i]];
        with -= (double)s->oof[i * classes + own];
        without -= log(share[own]);
    }
    return with < without;
}

/* What is drawn is worth learning, and not too easy: 5 % are kept though nothing explains them. 94 as this
 * is written. */
Test(prior, base_1_beats_the_class_shares_on_most_tasks)
{
    tasks t = draw(17, 0, 100, (tab_prior_shape){ .rows = 192, .context = 128, .cols = 8 });
    int better = 0;
    openblas_set_num_threads(1);
    for (int k = 0; k < t.count; k++)
        better += learnable(&t, k);
    cr_assert(better >= 85 && better <= 97, "%d of 100", better);
    drop(&t);
}

Test(prior, regression_targets_are_standardised_and_odd_shapes_work)
{
    tab_prior_shape s = { .rows = 64, .context = 16, .cols = 1, .regression = 1 };
    tasks t = draw(5, 0, 40, s);
    for (int k = 0; k < 40; k++) {
        double sum = 0, sq = 0;
        for (int i = 0; i < 64; i++) {
            double v = (double)t.y[k * 64 + i];
            cr_assert(isfinite(v));
            sum += v;
            sq += v * v;
        }
        cr_assert_float_eq(sum / 64, 0, 0.2);
        cr_assert_float_eq(sq / 64, 1, 0.5);
    }
    drop(&t);
    t = draw(5, 0, 2, (tab_prior_shape){ .rows = 1024, .context = 512, .cols = TAB_PRIOR_COLS, .easy = 1 });
    cr_assert_leq(t.info[0].classes, 3);
    drop(&t);
    s.context = 64;
    cr_assert_eq(tab_prior_batch(1, 0, 1, &s, NULL, NULL, NULL, NULL), -1);
    s = (tab_prior_shape){ .rows = 64, .context = 16, .cols = 101 };
    cr_assert_eq(tab_prior_batch(1, 0, 1, &s, NULL, NULL, NULL, NULL), -1);
}

Test(prior, shapes_keep_their_limits)
{
    for (uint64_t i = 0; i < 20000; i++) {
        tab_prior_shape s;
        bool big = i % 2;
        tab_prior_shape_of(1, i, big ? 512 : 128, big ? 4096 : 1024, &s);
        cr_assert(s.rows >= 64 && s.rows <= (big ? 4096 : 1024) && s.context >= 32 && s.context < s.rows);
        cr_assert(s.cols >= 2 && s.cols <= TAB_PRIOR_COLS && s.rows * s.cols <= (big ? 80000 : 40000));
    }
}
