/* Quantiles of weighed numbers by hand; shifts by group beside a twin that reads the definitions of
 * group_quantiles.h once more, plainly; an interval's parts beside what it was fitted on. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted_parts.h"

Test(weighed, a_quantile_lies_between_numbers_by_its_rank)
{
    /* of equal weights at (n + 1) tau */
    const tab_weighed four[] = { { 1, 1 }, { 2, 1 }, { 4, 1 }, { 8, 1 } };
    static const struct {
        double tau, want;
    } cases[] = { { .05, 1 }, { .2, 1 }, { .3, 1.5 }, { .4, 2 }, { .5, 3 },
                  { .6, 4 },  { .7, 6 }, { .8, 8 },   { .9, 8 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_float_eq(tab_weighed_quantile(four, 4, cases[i].tau), cases[i].want, 1e-12, "%g: %g",
                           cases[i].tau, tab_weighed_quantile(four, 4, cases[i].tau));
    /* weights 1, 3: all 4, their mean weight drawn so 10 / 4, the rank of a half 3.25 */
    const tab_weighed two[] = { { 0, 1 }, { 9, 3 } };
    cr_expect_float_eq(tab_weighed_quantile(two, 2, .5), 9 * 2.25 / 3, 1e-12);
    cr_expect_eq(tab_weighed_quantile(two, 2, .1), 0);
    const tab_weighed none[] = { { 5, 0 }, { 6, 0 } };
    cr_expect_eq(tab_weighed_quantile(none, 2, .5), 0, "none counts");
    cr_expect_eq(tab_weighed_quantile(four, 1, .9), 1);
}

Test(weighed, numbers_ascend_and_equal_ones_by_weight)
{
    const tab_weighed a = { 1, 2 }, b = { 2, 1 }, c = { 1, 3 };
    cr_expect(tab_ascending_weighed(&a, &b) < 0 && tab_ascending_weighed(&b, &a) > 0);
    cr_expect(tab_ascending_weighed(&a, &c) < 0 && tab_ascending_weighed(&c, &a) > 0);
    cr_expect_eq(tab_ascending_weighed(&a, &a), 0);
}

/* ---- shifts of groups ---- */

enum { ROWS_MOST = 2000, PARTS = 4, LEVELS = 3 };
static const double levels[LEVELS] = { .1, .5, .9 };

typedef struct {
    size_t rows;
    tab_data d;
    uint8_t bin[2][ROWS_MOST], *bins[2];
    float x[ROWS_MOST], *xs[2], residual[ROWS_MOST], answer[ROWS_MOST], scale[ROWS_MOST], target[ROWS_MOST];
    uint64_t hash[ROWS_MOST];
    double quantile[LEVELS];
} fixture;

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i + 5, j));
}

/* A category of three levels and a number of 30 bins, some missing; residuals skewed by the level, wider by
 * the answer. Every fifth row has no target; copies: each third row is the one before again. */
static void make(fixture *f, size_t rows, bool copies)
{
    *f = (fixture){ .rows = rows, .quantile = { -.8, 0, .8 } };
    for (size_t i = 0; i < rows; i++) {
        size_t k = copies && i % 3 == 2 ? i - 1 : i;
        f->hash[i] = copies ? k : i / 2;
        f->bin[0][i] = (uint8_t)(3 * unit(k, 1) * unit(k, 7));
        f->bin[1][i] = unit(k, 2) < .1 ? TAB_BIN_MISSING : (uint8_t)(30 * unit(k, 2) * unit(k, 6));
        f->answer[i] = (float)(100 * unit(k, 4));
        f->scale[i] = (float)floor(4 * unit(k, 5));
        double skewed = (-log(1 - unit(k, 3)) - 1) * (f->answer[i] > 60 ? 1.8 : 1);
        f->target[i] = (float)(f->bin[0][i] == 1 ? skewed : -skewed);
        f->residual[i] = k % 5 == 4 ? NAN : f->target[i];
    }
    f->bins[0] = f->bin[0], f->bins[1] = f->bin[1], f->xs[1] = f->x;
    f->d = (tab_data){ .rows = rows, .n = 2, .x = f->xs, .bin = f->bins, .hash = f->hash };
}

/* A row's group in each part, and the rows that are read. */
typedef struct {
    size_t n, row[ROWS_MOST], group[PARTS][ROWS_MOST];
    double at[ROWS_MOST];
    float edge[2][4];
} seen;

static int by_float(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void divide(const fixture *f, seen *s)
{
    float sorted[ROWS_MOST];
    size_t count[256] = { 0 }, known = 0;
    for (size_t k = 0; k < 2; k++) { /* fifths of answer and scale, by the values where they begin */
        const float *v = k == 0 ? f->answer : f->scale;
        for (size_t i = 0; i < s->n; i++)
            sorted[i] = v[s->row[i]];
        qsort(sorted, s->n, sizeof *sorted, by_float);
        for (size_t e = 0; e < 4; e++)
            s->edge[k][e] = sorted[s->n * (e + 1) / 5];
        for (size_t i = 0; i < s->n; i++)
            for (size_t e = 0; e < 4; e++)
                s->group[2 + k][i] += v[s->row[i]] >= s->edge[k][e];
    }
    for (size_t i = 0; i < s->n; i++) {
        s->group[0][i] = f->bin[0][s->row[i]];
        count[f->bin[1][s->row[i]]]++;
    }
    known = s->n - count[TAB_BIN_MISSING];
    for (size_t i = 0; i < s->n; i++) { /* a bin's group: how many fifths begin in it or before */
        uint8_t b = f->bin[1][s->row[i]];
        size_t upto = 0;
        for (size_t c = 0; c <= b && b != TAB_BIN_MISSING; c++)
            upto += count[c];
        size_t groups = 0;
        bool begins[5] = { false };
        for (size_t c = 0, before = 0, next = 1; c <= b && b != TAB_BIN_MISSING; before += count[c++])
            for (bool any = false; next < 5 && before + count[c] > known * next / 5; next++, any = true)
                begins[next] = !any;
        for (size_t e = 1; e < 5; e++)
            groups += begins[e];
        s->group[1][i] = b == TAB_BIN_MISSING ? 255 : groups;
    }
}

/* How far the shares of a part's groups are off by chance and beyond; returns the score. */
static double score(const fixture *f, const seen *s, size_t part, double tau, double *between,
                    double share[256])
{
    double n[256] = { 0 }, chi = 0, weights = 0, cells = 0;
    memset(share, 0, 256 * sizeof *share);
    for (size_t i = 0; i < s->n; i++) {
        n[s->group[part][i]]++;
        share[s->group[part][i]] += (double)f->residual[s->row[i]] < s->at[i];
    }
    for (size_t c = 0; c < 256; c++) {
        share[c] = n[c] >= 50 ? share[c] / n[c] : tau;
        if (n[c] < 50)
            continue;
        chi += n[c] * pow(share[c] - tau, 2) / (tau * (1 - tau));
        weights += n[c] / (tau * (1 - tau));
        cells++;
    }
    *between = chi > cells ? (chi - cells) / weights : 0;
    return cells > 0 ? (cbrt(chi / cells) - 1 + 2 / (9 * cells)) / sqrt(2 / (9 * cells)) : -1;
}

/* Moves the quantile of a group's rows to where its shrunk share says; returns by how much. */
static double shift_of(const fixture *f, const seen *s, size_t part, size_t group, double tau, double between,
                       double share)
{
    double off[ROWS_MOST];
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->group[part][i] == group)
            off[n++] = (double)f->residual[s->row[i]] - s->at[i];
    if (n < 50)
        return 0;
    double chance = tau * (1 - tau) / (double)n;
    double level = share + (tau - share) * between / (between + chance), rank = level * ((double)n + 1) - 1;
    qsort(off, n, sizeof *off, by_double);
    if (rank <= 0 || rank >= (double)n - 1)
        return rank <= 0 ? off[0] : off[n - 1];
    double low = off[(size_t)rank], high = off[(size_t)rank + 1];
    return low + (high - low) * (rank - floor(rank));
}

static void check(const fixture *f, bool copies)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 26);
    tab_groups g;
    tab_groups_task t = { .data = &f->d,
                          .residual = f->residual,
                          .answer = f->answer,
                          .scale = f->scale,
                          .target = f->target,
                          .level = levels,
                          .quantile = f->quantile,
                          .levels = LEVELS };
    static seen s;
    size_t at = 0;
    cr_assert(tab_groups_fit(a, &t, &g));
    s = (seen){ 0 };
    for (size_t i = 0; i < f->rows; i++)
        if (!isnan(f->residual[i]) && !(copies && i % 3 == 2))
            s.row[s.n++] = i;
    if (s.n < 50) {
        cr_expect_eq(g.shifts, 0);
        return;
    }
    divide(f, &s);
    for (size_t k = 0; k < 4; k++)
        cr_expect(g.answer[k] == s.edge[0][k] && g.scale[k] == s.edge[1][k]);
    for (size_t l = 0; l < LEVELS; l++) {
        for (size_t i = 0; i < s.n; i++)
            s.at[i] = f->quantile[l];
        for (;;) {
            double best = -1, between, share[256], of_best = 0, shares[256];
            size_t part = 0;
            for (size_t j = 0; j < PARTS; j++) {
                double z = score(f, &s, j, levels[l], &between, share);
                if (z > best) {
                    best = z, part = j, of_best = between;
                    memcpy(shares, share, sizeof shares);
                }
            }
            if (best <= 2.5)
                break;
            cr_assert(at < g.shifts && g.shift[at].of == part && g.shift[at].level == l,
                      "shift %zu of part %zu", at, part);
            double by[256];
            for (size_t c = 0; c < 256; c++)
                by[c] = shift_of(f, &s, part, c, levels[l], of_best, shares[c]);
            for (size_t i = 0; i < s.n; i++) {
                uint8_t bin = part < 2 ? f->bin[part][s.row[i]] : (uint8_t)s.group[part][i];
                double is = (double)g.shift[at].shift[bin], want = by[s.group[part][i]];
                cr_assert_float_eq(is, want, 1e-6 * fmax(1, fabs(want)), "shift %zu of bin %u: %g, not %g",
                                   at, bin, is, want);
                s.at[i] += is;
            }
            at++;
        }
        /* what a row is given */
        for (size_t i = 0; i < s.n; i += 7) {
            double q[LEVELS] = { -1e9, 0, 1e9 };
            size_t r = s.row[i];
            q[l] = f->quantile[l];
            tab_groups_shift(&g, &f->d, r, f->answer[r], f->scale[r], q, LEVELS);
            cr_expect_float_eq(q[l], s.at[i], 1e-5);
        }
    }
    cr_expect_eq(at, g.shifts);
}

Test(groups_twin, shifts_are_as_defined)
{
    static fixture f;
    static const size_t rows[] = { 40, 65, 240, 700, ROWS_MOST };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int copies = 0; copies < 2; copies++) {
            make(&f, rows[i], copies == 1);
            check(&f, copies == 1);
        }
}

Test(groups_twin, quantiles_that_cross_are_put_in_order)
{
    tab_group_shift shift[] = { { .of = 1, .level = 0, .shift = { 5, 0 } },
                                { .of = 2, .level = 2, .shift = { 0, -4, 0, 0, 1 } } };
    tab_groups g = { .features = 1, .answer = { 10, 20, 30, 40 }, .scale = { 1, 2, 3, 4 }, .shift = shift };
    double q[] = { 1, 2, 3 };
    tab_groups_shift(&g, NULL, 0, 0, 0, q, 3);
    cr_expect(q[0] == 1 && q[1] == 2 && q[2] == 3, "no shift: as they were");
    g.shifts = 2;
    tab_groups_shift(&g, NULL, 0, 9.5f, 0.5f, q, 3);
    cr_expect(q[0] == 2 && q[1] == 3 && q[2] == 6, "%g %g %g", q[0], q[1], q[2]);
    double p[] = { 1, 2, 3 };
    tab_groups_shift(&g, NULL, 0, 10, 1, p, 3);
    cr_expect(p[0] == -1 && p[1] == 1 && p[2] == 2, "%g %g %g", p[0], p[1], p[2]);
    double r[] = { 1, 2, 3 };
    tab_groups_shift(&g, NULL, 0, 40, 4, r, 3);
    cr_expect(r[0] == 1 && r[1] == 2 && r[2] == 4);
}

/* ---- the whole ---- */

enum { FITTED = 130 };

typedef struct {
    tab_arena *a;
    tab_engine e;
    tab_data *data;
    tab_problem p;
    tab_stack *s;
} world;

/* One number and what follows it with noise that grows, some rows without it. */
static void begin(world *w, size_t rows)
{
    *w = (world){ .a = tab_arena_new((size_t)1 << 28) };
    w->e.arena = w->a;
    tab_builder *b = tab_builder_new(w->a, TAB_S("x"));
    for (size_t i = 0; i < rows; i++)
        tab_builder_number(b, unit(i, 21));
    tab_column *col = tab_arena_new_of(w->a, tab_column, 1);
    cr_assert(tab_builder_finish(b, col));
    tab_table *t = tab_arena_new_of(w->a, tab_table, 1);
    *t = (tab_table){ .id = TAB_S("t"), .rows = (uint32_t)rows, .cols = 1, .col = col };
    tab_profile *profile;
    const bool use[] = { true };
    cr_assert_eq(tab_profile_table(&w->e, t, &profile, NULL), TAB_OK);
    const tab_encoder *enc = tab_encode_fit(&w->e, w->a, profile, use, &w->data);
    float *y = tab_arena_new_of(w->a, float, rows);
    for (size_t i = 0; i < rows; i++) {
        double x = unit(w->data->row[i], 21);
        y[i] = i % 9 == 8 ? NAN : (float)(3 * x + (1 + x) * (unit(w->data->row[i], 22) - .5));
    }
    w->p = (tab_problem){ .enc = enc, .data = w->data, .outputs = 1, .y = y };
    const tab_recipe r = { .learner = { &tab_learn_linear }, .n = 1, .folds = 5, .work = 1e12 };
    w->s = tab_stack_fit(&w->e, w->a, &w->p, &r);
    cr_assert_not_null(w->s);
}

static int by_x(const void *a, const void *b)
{
    const tab_weighed *x = a, *y = b;
    return x->x < y->x ? -1 : x->x > y->x;
}

/* The least number whose weight and those below it reach a rank, between it and the one before. */
static double quantile(tab_weighed *v, size_t n, double tau)
{
    double all = 0, squares = 0, upto = 0;
    qsort(v, n, sizeof *v, by_x);
    for (size_t i = 0; i < n; i++)
        all += v[i].weight, squares += pow(v[i].weight, 2);
    double rank = tau * (all + squares / all);
    size_t i = 0;
    while (i < n && upto + v[i].weight < rank)
        upto += v[i++].weight;
    return i == n   ? v[n - 1].x
           : i == 0 ? v[0].x
                    : v[i - 1].x + (v[i].x - v[i - 1].x) * (rank - upto) / v[i].weight;
}

static void check_interval(world *w, const tab_interval *v, const float *weight, bool local)
{
    size_t rows = w->data->rows, n = 0, answered = 0;
    double sum = 0, square = 0, all = 0, narrow = 0;
    tab_weighed *scaled = tab_arena_new_of(w->a, tab_weighed, rows);
    float *ambiguity = tab_arena_new_of(w->a, float, rows);
    uint32_t *row = tab_arena_new_of(w->a, uint32_t, rows);
    for (size_t i = 0; i < rows; i++)
        if (!isnan(w->p.y[i])) {
            sum += fabs((double)w->p.y[i] - (double)w->s->oof[i]);
            row[answered++] = (uint32_t)i;
        }
    cr_expect_float_eq(v->floor, sum / (double)answered / 20, 1e-6 * v->floor + 1e-8);
    cr_expect_eq(v->scale != NULL, local && answered >= 60);
    for (size_t i = 0; i < rows; i++) {
        if (isnan(w->p.y[i]))
            continue;
        double root = v->scale != NULL ? (double)v->scale->oof[i] : 1;
        double scale = fmax(v->scale != NULL ? v->floor : 0, root > 0 ? root * root : 0);
        cr_expect_float_eq((double)v->oof_scale[i], scale, 1e-5 * scale);
        double r = (double)(w->p.y[i] - w->s->oof[i]) / scale;
        double times = weight == NULL ? 1 : (double)weight[i];
        scaled[n++] = (tab_weighed){ r, times };
        square += times * r * r;
        all += times;
    }
    cr_expect_float_eq(v->spread, sqrt(square / all), 1e-5 * v->spread);
    for (size_t l = 0; l < TAB_LEVELS && v->groups.shifts == 0; l++)
        cr_expect_float_eq(v->quantile[l], quantile(scaled, n, tab_quantile_level[l]), 1e-4,
                           "%zu: %g, not %g", l, v->quantile[l], quantile(scaled, n, tab_quantile_level[l]));
    cr_assert(tab_stack_ambiguity(w->s, w->p.enc, w->data, row, answered, ambiguity));
    double bulk = (v->quantile[5] - v->quantile[1]) / (2 * 1.2815515655446004);
    for (size_t i = 0; i < answered; i++)
        narrow += sqrt(fmax(.25, 1 - (double)ambiguity[i] / pow(bulk * (double)v->oof_scale[row[i]], 2))) /
                  (double)answered;
    cr_expect_float_eq(v->narrow, answered >= 60 ? narrow : 1, 1e-6, "%g, not %g", v->narrow, narrow);
    /* rows without a target have the scale of new ones */
    float scale[ROWS_MOST];
    for (size_t i = 0; i < rows; i++)
        row[i] = (uint32_t)i;
    cr_assert(tab_interval_scale(v, w->p.enc, w->data, row, rows, scale));
    for (size_t i = 0; i < rows; i++)
        if (isnan(w->p.y[i]) && v->scale == NULL)
            cr_expect_float_eq((double)v->oof_scale[i], (double)scale[i], 1e-6);
}

Test(interval_twin, parts_are_as_defined)
{
    static const size_t rows[] = { 20, 66, 67, 68, FITTED };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        world w;
        begin(&w, rows[k]);
        float *weight = tab_arena_new_of(w.a, float, rows[k]);
        for (size_t i = 0; i < rows[k]; i++)
            weight[i] = (float)(.2 + 2 * unit(i, 31));
        for (int local = 0; local < 2; local++)
            for (int weighed = 0; weighed < 2; weighed++) {
                const tab_interval *v =
                    tab_interval_fit(&w.e, w.a, &w.p, w.s, weighed ? weight : NULL, local);
                cr_assert_not_null(v);
                check_interval(&w, v, weighed ? weight : NULL, local);
            }
        tab_arena_free(w.a);
    }
}
