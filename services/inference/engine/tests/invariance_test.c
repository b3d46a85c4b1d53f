/* One input, one answer: for any number of threads, any order of rows and columns, and for rows that come
 * alone or together. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

typedef struct {
    size_t threads, n;
    void (*fn)(void *, size_t);
    void *ctx;
    atomic_size_t next;
} loop;

static void *work(void *arg)
{
    loop *l = arg;
    for (size_t i; (i = atomic_fetch_add(&l->next, 1)) < l->n;)
        l->fn(l->ctx, i);
    return NULL;
}

static void parallel(void *arg, size_t n, void (*fn)(void *, size_t), void *ctx)
{
    loop l = { .threads = *(size_t *)arg, .n = n, .fn = fn, .ctx = ctx };
    pthread_t t[8];
    for (size_t i = 1; i < l.threads; i++)
        cr_assert_eq(pthread_create(&t[i], NULL, work, &l), 0);
    work(&l);
    for (size_t i = 1; i < l.threads; i++)
        pthread_join(t[i], NULL);
}

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

enum { ROWS = 240, FEW = 60 /* for the transformer, which a sanitizer slows most */, COLS = 5 };

/* Column j of row i; columns: number with gaps, number, category, outcome, measure. */
static void cell(tab_builder *b, size_t i, size_t j)
{
    char text[16];
    switch (j) {
    case 0:
        if (unit(i, 9) < 0.15)
            tab_builder_null(b);
        else
            tab_builder_number(b, floor(1000 * unit(i, 1)) / 10);
        break;
    case 1:
        tab_builder_number(b, exp(3 * unit(i, 2)));
        break;
    case 2:
        snprintf(text, sizeof text, "c%d", (int)(7 * unit(i, 3)));
        tab_builder_text(b, tab_str_of(text));
        break;
    case 3:
        tab_builder_text(b, unit(i, 1) + 0.3 * unit(i, 4) > 0.6 ? TAB_S("up") : TAB_S("down"));
        break;
    default:
        tab_builder_number(b, 5 * unit(i, 1) + unit(i, 2) + unit(i, 5));
    }
}

static tab_table *table(tab_arena *a, const size_t *row, size_t rows, const size_t *col)
{
    static const char *const names[COLS] = { "a", "b", "c", "d", "e" };
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *c = tab_arena_new_of(a, tab_column, COLS);
    for (size_t j = 0; j < COLS; j++) {
        size_t at = col == NULL ? j : col[j];
        tab_builder *b = tab_builder_new(a, tab_str_of(names[at]));
        for (size_t i = 0; i < rows; i++)
            cell(b, row == NULL ? i : row[i], at);
        cr_assert(tab_builder_finish(b, &c[j]));
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = COLS, .col = c };
    return t;
}

static Tabella__Bundle *run(tab_arena *a, const tab_table *t, const char *target, size_t *threads,
                            const char *base)
{
    tab_engine e = { .arena = a, .parallel_for = threads != NULL ? parallel : NULL, .parallel_arg = threads };
    tab_run_options o = { .threshold = 0.5, .base = base, .explain = true };
    if (target != NULL) {
        o.target = TAB_TARGET_COLUMN;
        o.target_column = tab_str_of(target);
    }
    Tabella__Bundle *b = NULL;
    cr_assert_eq(tab_engine_run(&e, &t, 1, &o, &b, NULL), TAB_OK);
    return b;
}

static void *packed(const Tabella__Bundle *b, size_t *n)
{
    *n = tabella__bundle__get_packed_size(b);
    uint8_t *p = malloc(*n);
    tabella__bundle__pack(b, p);
    return p;
}

static void same_bytes(tab_arena *a, const tab_table *t, const char *target, const char *base, bool all)
{
    size_t n, m, counts[] = { 4, 2 };
    void *one = packed(run(a, t, target, NULL, base), &n);
    for (size_t c = 0; c < 1 + (size_t)all; c++) {
        void *many = packed(run(a, t, target, &counts[c], base), &m);
        cr_expect(n == m && memcmp(one, many, n) == 0, "%s: %zu threads answer otherwise", base, counts[c]);
        free(many);
    }
    free(one);
}

Test(invariance, same_bytes_for_any_number_of_threads, .timeout = 1800)
{
    static const struct {
        const char *base, *target;
    } cases[] = { { "base-1", "d" },  { "base-1", "e" }, { "base-2", "d" }, { "base-2", "e" },
                  { "base-2", NULL }, { "base-3", "d" }, { "base-3", "e" } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        size_t rows = strcmp(cases[k].base, "base-3") == 0 ? FEW : ROWS;
        same_bytes(a, table(a, NULL, rows, NULL), cases[k].target, cases[k].base, true);
    }
}

/* Rows enough for what small tables never reach: loops inside a fit, learners weighed on the first fold. */
Test(invariance, same_bytes_of_a_large_table, .timeout = 1800)
{
    enum { LARGE = 30 * 1000 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    same_bytes(a, table(a, NULL, LARGE, NULL), "e", "base-1", false);
}

Test(invariance, order_of_rows_and_columns, .timeout = 1800)
{
    static const char *const target[] = { "d", "e" };
    static const size_t col[COLS] = { 3, 1, 4, 0, 2 };
    size_t row[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        row[i] = (i * 77 + 5) % ROWS; /* 77 and 240 have no common factor */
    static const char *const base[] = { "base-1", "base-2" };
    for (size_t c = 0; c < 4; c++) {
        size_t k = c % 2;
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        Tabella__Results *x =
            run(a, table(a, NULL, ROWS, NULL), target[k], NULL, base[c / 2])->prediction->results;
        Tabella__Results *y =
            run(a, table(a, row, ROWS, col), target[k], NULL, base[c / 2])->prediction->results;
        for (size_t i = 0; i < ROWS; i++) {
            if (k == 0)
                cr_assert_float_eq(y->probabilities[2 * i], x->probabilities[2 * row[i]], 1e-6);
            else
                cr_assert_float_eq(y->value[i], x->value[row[i]], 1e-5);
        }
    }
}

Test(invariance, rows_alone_or_together, .timeout = 1800)
{
    static const size_t target[] = { 3, 4, COLS };
    static const char *const base[] = { "base-1", "base-2", "base-3" };
    for (size_t c = 0; c < 9; c++) {
        size_t k = c % 3;
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        tab_engine e = { .arena = a };
        tab_profile *p = NULL;
        TAB_AUTO(tab_fitted) *f = NULL;
        cr_assert_eq(tab_profile_table(&e, table(a, NULL, c / 3 == 2 ? FEW : ROWS, NULL), &p, NULL), TAB_OK);
        tab_fit_options o = { .base = base[c / 3],
                              .target = target[k],
                              .task = k == 2 ? TAB_TASK_ANOMALY : TAB_TASK_AUTO };
        cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
        size_t row[130];
        for (size_t i = 0; i < 130; i++)
            row[i] = 1000 + i;
        Tabella__Prediction *all, *one;
        cr_assert_eq(tab_score(&e, f, table(a, row, 130, NULL), true, &all, NULL), TAB_OK);
        for (size_t i = 0; i < 130; i += 13) {
            cr_assert_eq(tab_score(&e, f, table(a, row + i, 1, NULL), true, &one, NULL), TAB_OK);
            const Tabella__Results *x = all->results, *y = one->results;
            if (k == 0)
                cr_expect(memcmp(x->probabilities + 2 * i, y->probabilities, 2 * sizeof(double)) == 0);
            else if (k == 1)
                cr_expect(x->value[i] == y->value[0] &&
                          memcmp(x->quantiles + 7 * i, y->quantiles, 7 * sizeof(double)) == 0);
            else
                cr_expect_eq(x->anomaly_score[i], y->anomaly_score[0]);
        }
    }
}
