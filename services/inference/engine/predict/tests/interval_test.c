/* Quantiles hold within groups of rows, and where groups do not differ they are those of all rows (decision
 * 0395). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
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
        tab_interval *v = tab_interval_fit(e, e->arena, &p, s, NULL, false);
        cr_expect((v->groups.shifts > 0) == (k == 0) && (v->narrow < 1) == (k == 0), "%zu shifts, %g as wide",
                  v->groups.shifts, v->narrow);
        double square = 0;
        for (size_t i = 0; i < f->rows; i++)
            square += pow((double)p.y[i] - (double)s->oof[i], 2) / (double)f->rows;
        cr_expect_float_eq(v->spread, sqrt(square), 1e-5 * v->spread, "%g, %g", v->spread, sqrt(square));
    }
}

static size_t shop_of(size_t i)
{
    return (size_t)(4 * unit(i, 11));
}

/* What is sold at a price, with errors that are skewed upwards in shops 0 and 2, downwards in the others. */
static double sold(size_t i)
{
    double skewed = -log(1 - unit(i, 13)) - 1;
    return 9 - 4 * unit(i, 12) + (shop_of(i) % 2 == 0 ? skewed : -skewed);
}

/* Fits on the first rows of the shops, and answers as many as are asked of those behind them. */
static tab_fitted *fit_shops(const tab_engine *e, const char *base, size_t fitted, size_t asked,
                             Tabella__Prediction **m)
{
    static const char *const name[] = { "north", "south", "east", "west" };
    tab_column col[2][3];
    for (size_t part = 0; part < 2; part++) {
        tab_builder *s = tab_builder_new(e->arena, TAB_S("shop")),
                    *x = tab_builder_new(e->arena, TAB_S("price")),
                    *t = tab_builder_new(e->arena, TAB_S("sold"));
        for (size_t i = part * fitted; i < fitted + part * asked; i++) {
            tab_builder_text(s, tab_str_of(name[shop_of(i)]));
            tab_builder_number(x, unit(i, 12));
            tab_builder_number(t, sold(i));
        }
        cr_assert(tab_builder_finish(s, &col[part][0]) && tab_builder_finish(x, &col[part][1]) &&
                  tab_builder_finish(t, &col[part][2]));
    }
    tab_table t = { .id = TAB_S("t"), .rows = fitted, .cols = 3, .col = col[0] }, q = t;
    q.rows = asked, q.col = col[1];
    tab_profile *p = NULL;
    tab_fitted *f = NULL;
    cr_assert_eq(tab_profile_table(e, &t, &p, NULL), TAB_OK);
    tab_fit_options o = { .base = base, .target = 2, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_fit(e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_score_any(e, f, &q, false, m, NULL), TAB_OK);
    return f;
}

Test(interval, leaves_a_tenth_out_on_each_side_of_each_shop, .timeout = 600)
{
    enum { FITTED = 2000, ASKED = 6000 };
    tab_arena *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    Tabella__Prediction *m;
    tab_fitted *f = fit_shops(&e, NULL, FITTED, ASKED, &m);
    double rows[4] = { 0 }, below[4] = { 0 }, above[4] = { 0 };
    for (size_t i = 0; i < ASKED; i++) {
        const double *v = m->results->quantiles + i * TAB_LEVELS, truth = sold(FITTED + i);
        size_t shop = shop_of(FITTED + i);
        for (size_t l = 1; l < TAB_LEVELS; l++)
            cr_assert_leq(v[l - 1], v[l]);
        rows[shop]++;
        below[shop] += truth < v[1];
        above[shop] += truth > v[5];
    }
    for (size_t c = 0; c < 4; c++) {
        cr_expect_float_eq(below[c] / rows[c], 0.1, 0.045, "shop %zu: %g below", c, below[c] / rows[c]);
        cr_expect_float_eq(above[c] / rows[c], 0.1, 0.045, "shop %zu: %g above", c, above[c] / rows[c]);
    }
    tab_fitted_free(f);
    tab_arena_free(a);
}

/* Of base-1, which has one scale for all rows. */
Test(interval, of_new_rows_is_narrower_than_out_of_fold, .timeout = 600)
{
    enum { FITTED = 300, ASKED = 20 };
    tab_arena *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    Tabella__Prediction *m, *own;
    tab_fitted *f = fit_shops(&e, "base-1", FITTED, ASKED, &m);
    cr_assert_eq(tab_fitted_results(&e, f, false, &own, NULL), TAB_OK);
    double before = own->results->std[0], now = m->results->std[0];
    cr_expect(now < before && now > 0.8 * before, "%g, %g", now, before);
    /* drift compares how sure it is of new rows with how sure it would be of those were they new */
    size_t n;
    double *sure = tab_fitted_sureness(a, f, &n);
    cr_assert_eq(n, FITTED);
    cr_expect_float_eq(sure[0], now, 1e-6 * now, "%g, %g", sure[0], now);
    expect_plain_apart(&e, f);
    tab_fitted_free(f);
    tab_arena_free(a);
}

/* Residuals of few groups may all lie to one side: to be wider is to reach farther out, never to pass the
 * median. */
Test(interval, is_made_wider_outwards)
{
    static const double wider[TAB_LEVELS] = { 4, 3, 2, 1, 2, 3, 4 };
    static const struct {
        double of[TAB_LEVELS], want[TAB_LEVELS];
    } cases[] = {
        { { -3, -2, -1, 0, 1, 2, 3 }, { -12, -6, -2, 0, 2, 6, 12 } },
        { { -1, 0.5, 1, 1.5, 2, 2, 2 }, { -4, 0.5, 1, 1.5, 4, 6, 8 } },
        { { -2, -2, -2, -1.5, -1, -0.5, 1 }, { -8, -6, -4, -1.5, -1, -0.5, 4 } },
        { { 1, 1, 1, 1, 1, 1, 1 }, { 1, 1, 1, 1, 2, 3, 4 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double q[TAB_LEVELS];
        memcpy(q, cases[i].of, sizeof q);
        tab_widen_quantiles(wider, q);
        for (size_t l = 0; l < TAB_LEVELS; l++)
            cr_expect_float_eq(q[l], cases[i].want[l], 1e-12, "%zu %zu: %g", i, l, q[l]);
    }
    /* nor do they cross where a level is widened less than one nearer to the median */
    double q[TAB_LEVELS] = { -3, -2.9, -2.8, 0, 2.8, 2.9, 3 };
    tab_widen_quantiles((const double[]){ 1, 1, 3, 1, 3, 1, 1 }, q);
    cr_expect(q[0] <= q[1] && q[1] <= q[2] && q[2] < -8 && q[4] > 8 && q[4] <= q[5] && q[5] <= q[6]);
}
