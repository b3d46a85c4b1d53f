/* Quantiles hold within groups of rows, and where groups do not differ they are those of all rows (decision
 * 0395). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "common/order.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted_parts.h"

enum { MOST = 6000 };
static const double levels[] = { 0.1, 0.5, 0.9 };

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

/* Rows of one category of four levels and a number; what is learned from their residuals. */
typedef struct {
    tab_arena *a;
    tab_data d;
    uint8_t level[MOST], number[MOST], *bin[2];
    uint32_t code[MOST], *codes[2];
    float x[MOST], *xs[2], residual[MOST], answer[MOST], scale[MOST];
    uint64_t hash[MOST];
    double quantile[3];
    tab_groups g;
} fixture;

/* side: residuals of half of the levels are skewed upwards, of the others downwards. Each row stands there
 * `copies` times. */
static void learn(fixture *f, size_t rows, bool side, size_t copies)
{
    *f = (fixture){ .a = tab_arena_new((size_t)1 << 28) };
    double *sorted = tab_arena_new_of(f->a, double, rows);
    for (size_t i = 0; i < rows; i++) {
        size_t k = i / copies;
        f->hash[i] = k;
        f->level[i] = (uint8_t)(4 * unit(k, 1));
        f->number[i] = (uint8_t)(200 * unit(k, 2));
        double skewed = -log(1 - unit(k, 3)) - 1, even = 2 * unit(k, 3) - 1;
        f->residual[i] = (float)(!side ? even : f->level[i] % 2 == 0 ? skewed : -skewed);
        f->answer[i] = (float)unit(k, 4);
        f->scale[i] = (float)unit(k, 5);
        sorted[i] = (double)f->residual[i];
    }
    f->bin[0] = f->level, f->bin[1] = f->number, f->codes[0] = f->code, f->xs[1] = f->x;
    f->d = (tab_data){ .rows = rows, .n = 2, .x = f->xs, .code = f->codes, .bin = f->bin, .hash = f->hash };
    qsort(sorted, rows, sizeof *sorted, tab_ascending_double);
    for (size_t l = 0; l < 3; l++)
        f->quantile[l] = sorted[(size_t)(levels[l] * (double)rows)];
    tab_groups_task t = { .data = &f->d,
                          .residual = f->residual,
                          .answer = f->answer,
                          .scale = f->scale,
                          .target = f->residual,
                          .level = levels,
                          .quantile = f->quantile,
                          .levels = 3 };
    cr_assert(tab_groups_fit(f->a, &t, &f->g));
}

Test(groups, each_level_has_its_share_below)
{
    static fixture f;
    learn(&f, MOST, true, 1);
    double below[4][3] = { 0 }, rows[4] = { 0 };
    for (size_t i = 0; i < MOST; i++) {
        double q[3];
        memcpy(q, f.quantile, sizeof q);
        tab_groups_shift(&f.g, &f.d, i, f.answer[i], f.scale[i], q, 3);
        cr_assert(q[0] <= q[1] && q[1] <= q[2]);
        rows[f.level[i]]++;
        for (size_t l = 0; l < 3; l++)
            below[f.level[i]][l] += (double)f.residual[i] < q[l];
    }
    for (size_t c = 0; c < 4; c++)
        for (size_t l = 0; l < 3; l++)
            cr_expect_float_eq(below[c][l] / rows[c], levels[l], 0.01, "level %zu: %g below %g", c,
                               below[c][l] / rows[c], levels[l]);
    tab_arena_free(f.a);
}

Test(groups, that_do_not_differ_shift_nothing)
{
    static const struct {
        const char *name;
        size_t rows;
        bool side;
        size_t copies;
    } cases[] = {
        { "no group differs", MOST, false, 1 },
        { "copies are no evidence", MOST, false, 10 },
        { "too few rows a group", 120, true, 1 },
        { "hardly a row", 3, true, 1 },
    };
    static fixture f;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        learn(&f, cases[k].rows, cases[k].side, cases[k].copies);
        cr_expect_eq(f.g.shifts, 0, "%s: %zu shifts", cases[k].name, f.g.shifts);
        tab_arena_free(f.a);
    }
}

/* Whether rows of known groups shift quantiles or narrow new rows' intervals, where rows are kept apart. */
static void expect_plain_apart(const tab_engine *e, const tab_fitted *f)
{
    tab_problem p = f->problem;
    float *place = tab_arena_new_of(e->arena, float, f->rows);
    for (size_t i = 0; i < f->rows; i++)
        place[i] = (float)i / (float)f->rows;
    tab_recipe r = { .learner = { &tab_learn_linear }, .n = 1, .folds = 5, .work = 1e12 };
    for (size_t k = 0; k < 2; k++) {
        p.place = k == 0 ? NULL : place;
        tab_stack *s = tab_stack_fit(e, e->arena, &p, &r);
        tab_interval *v = tab_interval_fit(e, e->arena, &p, s, false);
        cr_expect((v->groups.shifts > 0) == (k == 0) && (v->narrow < 1) == (k == 0) && v->narrow > 0.9,
                  "%zu shifts, %g as wide", v->groups.shifts, v->narrow);
    }
}

/* What is sold at a price, with errors that are skewed upwards in shops 0 and 2, downwards in the others.
 * below, above (4): shares of a shop's new rows below and above its 80 % intervals. */
static void shops(double *below, double *above)
{
    enum { FITTED = 2000, ASKED = 6000 };
    static const char *const name[] = { "north", "south", "east", "west" };
    tab_arena *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_column col[2][3];
    static double y[FITTED + ASKED];
    static size_t of[FITTED + ASKED];
    for (size_t part = 0; part < 2; part++) {
        tab_builder *s = tab_builder_new(a, TAB_S("shop")), *x = tab_builder_new(a, TAB_S("price")),
                    *t = tab_builder_new(a, TAB_S("sold"));
        for (size_t i = part * FITTED; i < FITTED + part * ASKED; i++) {
            of[i] = (size_t)(4 * unit(i, 11));
            double price = unit(i, 12), skewed = -log(1 - unit(i, 13)) - 1;
            y[i] = 9 - 4 * price + (of[i] % 2 == 0 ? skewed : -skewed);
            tab_builder_text(s, tab_str_of(name[of[i]]));
            tab_builder_number(x, price);
            tab_builder_number(t, y[i]);
        }
        cr_assert(tab_builder_finish(s, &col[part][0]) && tab_builder_finish(x, &col[part][1]) &&
                  tab_builder_finish(t, &col[part][2]));
    }
    tab_table t = { .id = TAB_S("t"), .rows = FITTED, .cols = 3, .col = col[0] }, q = t;
    q.rows = ASKED, q.col = col[1];
    tab_profile *p = NULL;
    tab_fitted *f = NULL;
    Tabella__Prediction *m;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    tab_fit_options o = { .target = 2, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_score_any(&e, f, &q, false, &m, NULL), TAB_OK);
    expect_plain_apart(&e, f);
    double rows[4] = { 0 };
    for (size_t i = 0; i < ASKED; i++) {
        const double *v = m->results->quantiles + i * TAB_LEVELS, truth = y[FITTED + i];
        for (size_t l = 1; l < TAB_LEVELS; l++)
            cr_assert_leq(v[l - 1], v[l]);
        rows[of[FITTED + i]]++;
        below[of[FITTED + i]] += truth < v[1];
        above[of[FITTED + i]] += truth > v[5];
    }
    for (size_t c = 0; c < 4; c++)
        below[c] /= rows[c], above[c] /= rows[c];
    tab_fitted_free(f);
    tab_arena_free(a);
}

Test(interval, leaves_a_tenth_out_on_each_side_of_each_shop, .timeout = 600)
{
    double below[4] = { 0 }, above[4] = { 0 };
    shops(below, above);
    for (size_t c = 0; c < 4; c++) {
        cr_expect_float_eq(below[c], 0.1, 0.045, "shop %zu: %g below", c, below[c]);
        cr_expect_float_eq(above[c], 0.1, 0.045, "shop %zu: %g above", c, above[c]);
    }
}
