/* Made columns: what is proposed, when it is proven, and that a row's own target has no part in it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/stack/stack.h"

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

enum { COLS = 5 };

typedef struct {
    tab_arena *a;
    tab_encoder *enc;
    tab_data *data;
    tab_problem p;
} fixture;

/* What of: the ratio of the first two columns, the first beside its town's mean, the pair of town and kind;
 * or nothing. */
typedef enum { RATIO, BESIDE, CROSS, NOTHING } truth;

static double level(size_t town)
{
    return 100 * draw(town, 40);
}

static fixture table(size_t rows, truth of, bool classes, size_t seed)
{
    fixture f = { .a = tab_arena_new((size_t)2 << 30) };
    tab_engine e = { .arena = f.a };
    static const char *const name[COLS] = { "price", "rooms", "town", "kind", "age" };
    tab_column *col = tab_arena_new_of(f.a, tab_column, COLS);
    tab_table *t = tab_arena_new_of(f.a, tab_table, 1);
    double *y = tab_arena_new_of(f.a, double, rows);
    tab_builder *b[COLS];
    for (size_t j = 0; j < COLS; j++)
        b[j] = tab_builder_new(f.a, tab_str_of(name[j]));
    for (size_t i = 0; i < rows; i++) {
        size_t at = i + 100000 * seed, town = (size_t)(12 * draw(at, 1)), kind = (size_t)(8 * draw(at, 2));
        double price = level(town) + 20 * draw(at, 3), rooms = 10 + 90 * draw(at, 4);
        char text[16];
        tab_builder_number(b[0], price);
        tab_builder_number(b[1], rooms);
        snprintf(text, sizeof text, "town%zu", town);
        tab_builder_text(b[2], tab_str_of(text));
        snprintf(text, sizeof text, "kind%zu", kind);
        tab_builder_text(b[3], tab_str_of(text));
        tab_builder_number(b[4], draw(at, 5));
        double says = of == RATIO    ? sin(4 * log(price / rooms))
                      : of == BESIDE ? (price - level(town)) / 10 - 1
                      : of == CROSS  ? 2 * draw(100 * town + kind, 6) - 1
                                     : 0;
        y[i] = says + 0.3 * (draw(at, 7) - 0.5);
    }
    for (size_t j = 0; j < COLS; j++)
        cr_assert(tab_builder_finish(b[j], &col[j]));
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    p->col[2].type = p->col[3].type = TAB_CATEGORICAL;
    const bool use[COLS] = { true, true, true, true, true };
    f.enc = tab_encode_fit(&e, f.a, p, use, &f.data);
    cr_assert_not_null(f.enc);
    float *target = tab_arena_new_of(f.a, float, rows);
    uint32_t *label = tab_arena_new_of(f.a, uint32_t, rows);
    for (size_t i = 0; i < rows; i++) {
        target[i] = (float)y[f.data->row[i]];
        label[i] = y[f.data->row[i]] > 0;
    }
    f.p = (tab_problem){ .enc = f.enc,
                         .data = f.data,
                         .classification = classes,
                         .outputs = classes ? 2 : 1,
                         .label = label,
                         .y = target };
    return f;
}

static tab_stack *fit(const fixture *f, bool makes)
{
    tab_engine e = { .arena = f->a };
    tab_recipe r = {
        .learner = { &tab_learn_boost_quick }, .n = 1, .folds = 3, .work = 1e15, .makes = makes
    };
    tab_stack *s = tab_stack_fit(&e, f->a, &f->p, &r);
    cr_assert_not_null(s);
    return s;
}

/* In how many folds a column of the kind is read. */
static size_t folds_with(const tab_stack *s, tab_made_kind kind)
{
    size_t n = 0;
    for (size_t k = 0; k < s->folds; k++)
        for (size_t i = 0; s->levels[k] != NULL && i < s->levels[k]->mades; i++)
            if (s->levels[k]->made[i].recipe.kind == kind) {
                n++;
                break;
            }
    return n;
}

static size_t made_in_all(const tab_stack *s)
{
    size_t n = 0;
    for (size_t k = 0; k < s->folds; k++)
        n += s->levels[k] != NULL ? s->levels[k]->mades : 0;
    return n;
}

Test(made, what_columns_hold_together_is_read, .timeout = 600)
{
    static const struct {
        truth of;
        tab_made_kind kind;
        bool classes;
    } cases[] = { { RATIO, TAB_MADE_RATIO, false },
                  { RATIO, TAB_MADE_RATIO, true },
                  { BESIDE, TAB_MADE_BESIDE, true },
                  { CROSS, TAB_MADE_CROSS, false } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        fixture f = table(3000, cases[c].of, cases[c].classes, 1);
        tab_stack *s = fit(&f, true), *plain = fit(&f, false);
        cr_expect_eq(folds_with(s, cases[c].kind), s->folds, "case %zu: in %zu folds", c,
                     folds_with(s, cases[c].kind));
        cr_expect_eq(made_in_all(plain), 0);
        cr_expect_lt(s->loss, 0.9 * plain->loss, "case %zu: %g, without %g", c, s->loss, plain->loss);
        tab_arena_free(f.a);
    }
}

Test(made, nothing_is_made_of_noise_nor_of_few_rows, .timeout = 600)
{
    for (size_t seed = 0; seed < 8; seed++) {
        fixture f = table(2500, NOTHING, seed % 2, seed);
        cr_expect_eq(made_in_all(fit(&f, true)), 0, "seed %zu", seed);
        tab_arena_free(f.a);
    }
    fixture f = table(1500, RATIO, false, 1);
    cr_expect_eq(made_in_all(fit(&f, true)), 0);
    tab_arena_free(f.a);
}

/* Every kind, fitted on every second row. */
static tab_made_list every_kind(const fixture *f)
{
    uint32_t at[COLS] = { 0 };
    for (uint32_t i = 0; i < f->enc->n; i++)
        at[f->enc->f[i].source] = i;
    tab_made_list list = { .recipe = { { TAB_MADE_DIFFERENCE, at[0], at[1], 0 },
                                       { TAB_MADE_SUM, at[0], at[1], 0 },
                                       { TAB_MADE_RATIO, at[0], at[1], 0 },
                                       { TAB_MADE_PRODUCT, at[0], at[1], 0 },
                                       { TAB_MADE_GROUP, at[0], at[2], 0 },
                                       { TAB_MADE_BESIDE, at[0], at[2], 0 },
                                       { TAB_MADE_CROSS, at[2], at[3], 1 } },
                           .n = 7 };
    return list;
}

static double read(const tab_levels *v, size_t i, uint32_t row)
{
    const tab_feature *f = &v->enc.f[v->plain + v->n + i];
    return f->shift + f->scale * (double)v->data.x[v->plain + v->n + i][row];
}

Test(made, a_rows_own_target_has_no_part_and_new_rows_read_the_same, .timeout = 300)
{
    fixture f = table(2000, RATIO, false, 1);
    tab_made_list list = every_kind(&f);
    uint32_t *row = tab_arena_new_of(f.a, uint32_t, 2000);
    size_t n = 0;
    for (uint32_t i = 0; i < 2000; i += 2)
        row[n++] = i;
    tab_levels *v = NULL, *w = NULL;
    cr_assert(tab_levels_fit(f.a, &f.p, row, n, &list, &v));
    float *y = (float *)(uintptr_t)f.p.y;
    y[row[n - 1]] += 100; /* the last in order: no other context row reads it */
    y[row[0] + 1] += 100; /* not of the context at all */
    cr_assert(tab_levels_fit(f.a, &f.p, row, n, &list, &w));
    cr_assert_eq(v->mades, list.n);
    for (size_t i = 0; i < list.n; i++)
        for (size_t k = 0; k < n; k++) /* the overall mean moves by 100 / n for all alike */
            cr_assert_float_eq(read(v, i, row[k]), read(w, i, row[k]), 0.11, "column %zu, row %zu", i, k);
    for (uint32_t at = 1; at < 2000; at += 100) {
        uint32_t source = f.data->row[at], one = at;
        double price = tab_made_number(&f.enc->f[list.recipe[0].a], f.data, list.recipe[0].a, at);
        double rooms = tab_made_number(&f.enc->f[list.recipe[0].b], f.data, list.recipe[0].b, at);
        cr_expect_float_eq(read(v, 0, at), price - rooms, 1e-2, "row %u", source);
        cr_expect_float_eq(read(v, 2, at), price / rooms, 1e-4 * price / rooms + 1e-5);
        cr_expect_float_eq(read(v, 4, at) + read(v, 5, at), price, 1e-2);
        tab_data other;
        cr_assert(tab_levels_read(v, f.data, &one, 1, &other));
        for (size_t i = 0; i < list.n; i++) {
            size_t c = v->plain + v->n + i;
            cr_expect_eq(other.x[c][at], v->data.x[c][at]);
            cr_expect_eq(other.bin[c][at], v->data.bin[c][at]);
        }
        tab_levels_free(v, &other);
    }
    tab_arena_free(f.a);
}

Test(made, words_name_the_columns)
{
    tab_arena *a = tab_arena_new(1 << 16);
    cr_expect_str_eq(tab_made_words(a, TAB_MADE_BESIDE, TAB_S("houses.price"), TAB_S("town")),
                     "houses.price relative to the mean of its town");
    cr_expect_str_eq(tab_made_words(a, TAB_MADE_RATIO, TAB_S("houses.price"), TAB_S("rooms")),
                     "houses.price divided by rooms");
    tab_arena_free(a);
}
