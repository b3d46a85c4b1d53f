/* Rows are answered, and their confidences made, for what is asked: tomorrow's rows, new groups, or rows like
 * the others (decision 0390). The tables are those on which the product was sure and wrong. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/bundle.h"
#include "services/inference/engine/features/mix.h"

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

/* Near a normal number. */
static double bell(size_t i, size_t what)
{
    double s = -6;
    for (size_t k = 0; k < 12; k++)
        s += draw(i, 100 * what + k);
    return s;
}

enum { MOST_COLS = 5 };

/* A table in the making. The last column is the target; its truth is kept where it is asked. */
typedef struct {
    tab_arena *a;
    tab_builder *b[MOST_COLS];
    size_t cols, rows, asked;
    double *truth; /* by asked row */
    tab_table t;
    tab_column col[MOST_COLS];
    tab_profile *p;
} made;

static void open_table(made *m, const char *const *names, size_t cols)
{
    *m = (made){ .a = tab_arena_new((size_t)4 << 30), .cols = cols };
    for (size_t c = 0; c < cols; c++)
        m->b[c] = tab_builder_new(m->a, tab_str_of(names[c]));
    m->truth = tab_arena_new_of(m->a, double, 4000);
}

static void target(made *m, double y, bool asked)
{
    if (asked) {
        tab_builder_null(m->b[m->cols - 1]);
        m->truth[m->asked++] = y;
    } else {
        tab_builder_number(m->b[m->cols - 1], y);
    }
    m->rows++;
}

static void month(made *m, size_t c, size_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%zu-%02zu-01", 2020 + n / 12, 1 + n % 12);
    tab_builder_text(m->b[c], tab_str_of(text));
}

static void name(made *m, size_t c, const char *what, size_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%s %zu", what, n);
    tab_builder_text(m->b[c], tab_str_of(text));
}

/* What the answers for the asked rows are worth. */
typedef struct {
    double covered, error, relative; /* shares; root mean square; mean absolute share */
    const Tabella__Prediction *p;
} worth;

static const Tabella__Prediction *run(made *m, const char *target_name, tab_task task)
{
    tab_engine e = { .arena = m->a };
    tab_run_options o = { .threshold = 0.5,
                          .base = "base-1",
                          .target = TAB_TARGET_COLUMN,
                          .task = task,
                          .target_column = tab_str_of(target_name) };
    tab_error err = { 0 };
    Tabella__Bundle *b = NULL;
    for (size_t c = 0; c < m->cols; c++)
        cr_assert(tab_builder_finish(m->b[c], &m->col[c]));
    m->t = (tab_table){ .id = TAB_S("t"), .rows = m->rows, .cols = m->cols, .col = m->col };
    const tab_table *t = &m->t;
    cr_assert_eq(tab_engine_run(&e, &t, 1, &o, &b, &err), TAB_OK, "%s", err.message);
    return b->prediction;
}

static worth answer(made *m, const char *target_name)
{
    worth w = { .p = run(m, target_name, TAB_TASK_REGRESSION) };
    const Tabella__Results *r = w.p->missing_target_results;
    cr_assert_eq(r->n_row, m->asked);
    for (size_t i = 0; i < r->n_row; i++) {
        double y = m->truth[i], n = (double)r->n_row;
        const double *q = r->quantiles + i * w.p->n_quantile_levels;
        w.covered += (y >= q[1] && y <= q[w.p->n_quantile_levels - 2]) / n;
        w.error += (y - r->value[i]) * (y - r->value[i]) / n;
        w.relative += fabs(y - r->value[i]) / fabs(y) / n;
    }
    w.error = sqrt(w.error);
    return w;
}

static void all_are(const worth *w, uint32_t regime, const char *split)
{
    const Tabella__Results *r = w->p->missing_target_results;
    cr_expect_str_eq(w->p->split->kind, split, "%s", w->p->split->reason);
    cr_assert_eq(r->n_regime, regime == 0 ? 0 : r->n_row);
    for (size_t i = 0; i < r->n_regime; i++)
        cr_expect_eq(r->regime[i], regime);
    cr_expect_gt(w->p->n_regimes, 0);
}

/* International airline passengers in thousands, by month from 1949 on (Box & Jenkins 1976). */
static const int passengers[] = {
    112, 118, 132, 129, 121, 135, 148, 148, 136, 119, 104, 118, 115, 126, 141, 135, 125, 149, 170, 170, 158,
    133, 114, 140, 145, 150, 178, 163, 172, 178, 199, 199, 184, 162, 146, 166, 171, 180, 193, 181, 183, 218,
    230, 242, 209, 191, 172, 194, 196, 196, 236, 235, 229, 243, 264, 272, 237, 211, 180, 201, 204, 188, 235,
    227, 234, 264, 302, 293, 259, 229, 203, 229, 242, 233, 267, 269, 270, 315, 364, 347, 312, 274, 237, 278,
    284, 277, 317, 313, 318, 374, 413, 405, 355, 306, 271, 306, 315, 301, 356, 348, 355, 422, 465, 467, 404,
    347, 305, 336, 340, 318, 362, 348, 363, 435, 491, 505, 404, 359, 310, 337, 360, 342, 406, 396, 420, 472,
    548, 559, 463, 407, 362, 405, 417, 391, 419, 461, 472, 535, 622, 606, 508, 461, 390, 432
};

Test(ahead, decimal_years_are_a_time_and_a_trend_is_carried_on, .timeout = 600)
{
    static const char *const names[] = { "time", "value" };
    size_t n = sizeof passengers / sizeof *passengers;
    made m;
    open_table(&m, names, 2);
    for (size_t i = 0; i < n; i++) {
        tab_builder_number(m.b[0], 1949 + (double)i / 12);
        target(&m, passengers[i], i >= n - 22);
    }
    worth w = answer(&m, "value");
    all_are(&w, 1, "time");
    cr_expect_lt(w.error, 60, "%g", w.error); /* the last value's is 139; today's trees had 127 */
    cr_expect_geq(w.covered, 0.6, "%g", w.covered);
    cr_expect_lt(w.p->error, 60, "the run says so of itself: %g", w.p->error);
    tab_arena_free(m.a);
}

/* Thirty stores of unlike sizes, 35 months, in December a third more: the next December. */
Test(ahead, a_month_that_few_have_seen_is_told_by_all_series, .timeout = 600)
{
    enum { STORES = 30, SEEDS = 3 };
    static const char *const names[] = { "month", "store", "sales" };
    double covered = 0, relative = 0;
    for (size_t seed = 0; seed < SEEDS; seed++) {
        made m;
        open_table(&m, names, 3);
        for (size_t k = 0; k < 36; k++)
            for (size_t s = 0; s < STORES; s++) {
                size_t own = STORES * seed + s;
                double level = 6 + bell(own, 1), slope = 0.005 + 0.004 * bell(own, 2);
                double y = exp(level + slope * (double)k + 0.04 * bell(100 * own + k, 3));
                month(&m, 0, k);
                name(&m, 1, "store", s);
                target(&m, round(100 * y * (k % 12 == 11 ? 1.35 : 1)) / 100, k == 35);
            }
        worth w = answer(&m, "sales");
        all_are(&w, 1, "time");
        covered += w.covered / SEEDS, relative += w.relative / SEEDS;
        tab_arena_free(m.a);
    }
    cr_expect_lt(relative, 0.071, "%g", relative); /* last year's December times the growth */
    cr_expect(covered >= 0.6 && covered <= 0.95, "%g", covered);
}

/* Six shops that opened three months ago beside 24 of four years: their next year is told by the others'
 * season and by three values of their own, and no surer than these tell. */
Test(ahead, a_series_of_three_values_has_the_season_of_the_others, .timeout = 600)
{
    enum { SHOPS = 30, OLD = 24, NOW = 48, SEEDS = 2 };
    static const char *const names[] = { "month", "shop", "sales" };
    double covered = 0, relative = 0;
    for (size_t seed = 0; seed < SEEDS; seed++) {
        made m;
        open_table(&m, names, 3);
        for (size_t k = 0; k < NOW + 12; k++)
            for (size_t s = 0; s < SHOPS; s++) {
                size_t at = 1000 * seed + s;
                double wave =
                    0.4 * sin(2 * 3.14159265 * (double)k / 12) + 0.12 * bell(k % 12 + 100 * seed, 21);
                double y = exp(5 + 0.7 * bell(at, 22) + wave + 0.08 * bell(100 * at + k, 23));
                if (s < OLD ? k >= NOW : k < NOW - 3)
                    continue;
                month(&m, 0, k);
                name(&m, 1, "shop", s);
                target(&m, round(100 * y) / 100, k >= NOW);
            }
        worth w = answer(&m, "sales");
        all_are(&w, 1, "time");
        covered += w.covered / SEEDS, relative += w.relative / SEEDS;
        tab_arena_free(m.a);
    }
    cr_expect(covered >= 0.65 && covered <= 0.97, "%g", covered);
    cr_expect_lt(relative, 0.11, "%g", relative);
}

/* What a shop sold before it was closed is older than what the others sold yesterday. */
Test(ahead, a_series_that_paused_is_as_far_as_its_own_last_row, .timeout = 600)
{
    enum { SHOPS = 8, CLOSED = 3, DAYS = 214, NOW = 200, SINCE = 160 };
    static const char *const names[] = { "day", "shop", "sales" };
    made m;
    double level[SHOPS], own = 0, others = 0;
    open_table(&m, names, 3);
    for (size_t d = 0; d < DAYS; d++)
        for (size_t s = 0; s < SHOPS; s++) {
            level[s] = (d == 0 ? 100 : level[s]) + 1.5 * bell(10 * d + s, 31);
            if (s == CLOSED && d >= SINCE && d < NOW)
                continue;
            char day[32];
            snprintf(day, sizeof day, "2021-%02zu-%02zu", 1 + d / 28, 1 + d % 28);
            tab_builder_text(m.b[0], tab_str_of(day));
            name(&m, 1, "shop", s);
            target(&m, level[s] + 3 * bell(10 * d + s, 33), d >= NOW);
        }
    worth w = answer(&m, "sales");
    const Tabella__Results *r = w.p->missing_target_results;
    for (size_t i = 0; i < r->n_row; i++) {
        const double *q = r->quantiles + i * w.p->n_quantile_levels;
        *(i % SHOPS == CLOSED ? &own : &others) += q[w.p->n_quantile_levels - 2] - q[1];
    }
    cr_expect_gt(own * (SHOPS - 1), 1.4 * others, "%g", own * (SHOPS - 1) / others);
    tab_arena_free(m.a);
}

/* Six stores by day, with promotions that are known ahead: the last 15 %. */
Test(ahead, days_of_several_stores_are_covered, .timeout = 600)
{
    static const char *const names[] = { "day", "store", "promotion", "sales" };
    made m;
    open_table(&m, names, 4);
    for (size_t d = 0; d < 240; d++)
        for (size_t s = 0; s < 6; s++) {
            char day[32];
            bool promotion = draw(10 * d + s, 4) < 0.15;
            double y = (100 + 150 * (double)s) * (1 + 0.0006 * (double)d) * (d % 7 >= 5 ? 1.3 : 1) *
                       (promotion ? 1.3 : 1) * exp(0.08 * bell(10 * d + s, 5));
            static const size_t before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243 };
            size_t of = 7;
            while (of > 0 && before[of] > d)
                of--;
            snprintf(day, sizeof day, "2021-%02zu-%02zu", of + 1, d - before[of] + 1);
            tab_builder_text(m.b[0], tab_str_of(day));
            name(&m, 1, "store", s);
            tab_builder_number(m.b[2], promotion);
            target(&m, round(100 * y) / 100, d >= 204);
        }
    worth w = answer(&m, "sales");
    all_are(&w, 1, "time");
    cr_expect(w.covered >= 0.68 && w.covered <= 0.95, "%g", w.covered);
    cr_expect_lt(w.relative, 0.12, "%g", w.relative);
    tab_arena_free(m.a);
}

/* Sales of a country, in billions, beside those of a stall: neither is answered in the other's size. */
Test(ahead, series_of_unlike_scales_are_each_answered_in_their_own, .timeout = 600)
{
    static const char *const names[] = { "year", "series", "sales" };
    made m;
    double level[6], off = 0;
    open_table(&m, names, 3);
    for (size_t s = 0; s < 6; s++)
        level[s] = pow(10, 2 * (double)s);
    for (size_t k = 0; k < 40; k++)
        for (size_t s = 0; s < 6; s++) {
            level[s] *= 1 + 0.02 + 0.02 * bell(6 * k + s, 21);
            tab_builder_number(m.b[0], 1980 + (double)k);
            name(&m, 1, "series", s);
            target(&m, level[s], k >= 36);
        }
    worth w = answer(&m, "sales");
    all_are(&w, 1, "time");
    const Tabella__Results *r = w.p->missing_target_results;
    for (size_t i = 0; i < r->n_row; i++)
        off = fmax(off, fabs(log(fmax(r->value[i], 1e-9) / m.truth[i])));
    cr_expect_lt(off, 0.3, "the worst is off by a factor of %g", exp(off));
    cr_expect(w.covered >= 0.6, "%g", w.covered);
    tab_arena_free(m.a);
}

/* Demand that is mostly none: a zero is a zero, and no table of counts is learned as logarithms. */
Test(ahead, counts_with_zeros_have_bands_of_their_own_size, .timeout = 600)
{
    static const char *const names[] = { "month", "part", "demand" };
    made m;
    open_table(&m, names, 3);
    for (size_t k = 0; k < 84; k++)
        for (size_t s = 0; s < 8; s++) {
            size_t i = 8 * k + s;
            month(&m, 0, k);
            name(&m, 1, "part", s);
            target(&m, draw(i, 16) < 0.7 ? 0 : 1 + floor(-3 * log(draw(i, 17) + 1e-3)), k >= 76);
        }
    worth w = answer(&m, "demand");
    const Tabella__Results *r = w.p->missing_target_results;
    size_t levels = w.p->n_quantile_levels;
    all_are(&w, 1, "time");
    cr_expect(w.covered >= 0.7, "%g", w.covered);
    for (size_t i = 0; i < r->n_row; i++)
        cr_expect(r->quantiles[(i + 1) * levels - 1] < 30, "row %u: %g", r->row[i],
                  r->quantiles[(i + 1) * levels - 1]);
    tab_arena_free(m.a);
}

/* Ten years are few, and yet a trend is carried on and the band holds what comes. */
Test(ahead, few_years_are_carried_on, .timeout = 600)
{
    static const char *const names[] = { "year", "members" };
    double covered = 0, error = 0;
    for (size_t seed = 0; seed < 6; seed++) {
        made m;
        open_table(&m, names, 2);
        for (size_t k = 0; k < 12; k++) {
            tab_builder_number(m.b[0], 2013 + (double)k);
            target(&m, round(100 * (50 + 2 * (double)k + 0.5 * bell(12 * seed + k, 18))) / 100, k >= 10);
        }
        worth w = answer(&m, "members");
        all_are(&w, 1, "time");
        covered += w.covered / 6;
        error += w.error / 6;
        tab_arena_free(m.a);
    }
    cr_expect_geq(covered, 0.6, "%g", covered);
    cr_expect_lt(error, 2, "the last value is off by 3: %g", error);
}

/* A random walk: nothing tells where it goes, and the band says so. */
Test(ahead, the_band_of_a_random_walk_grows_with_the_distance, .timeout = 600)
{
    static const char *const names[] = { "month", "index" };
    double covered = 0, wider = 0;
    for (size_t seed = 0; seed < 6; seed++) {
        made m;
        double y = 1000;
        open_table(&m, names, 2);
        for (size_t k = 0; k < 300; k++) {
            y += 10 * bell(1000 * seed + k, 6);
            month(&m, 0, k);
            target(&m, round(100 * y) / 100, k >= 260);
        }
        worth w = answer(&m, "index");
        const double *q = w.p->missing_target_results->quantiles;
        size_t n = w.p->n_quantile_levels, last = 39 * n;
        covered += w.covered / 6;
        wider += (q[last + n - 2] - q[last + 1]) / (q[n - 2] - q[1]) / 6;
        tab_arena_free(m.a);
    }
    cr_expect(covered >= 0.6 && covered <= 1, "%g", covered);
    cr_expect(wider > 1.5 && wider < 12, "%g", wider);
}

/* Two hundred steps on when 24 could be judged: what was not seen is not taken for calm. */
Test(ahead, bands_grow_beyond_the_distances_that_were_judged, .timeout = 600)
{
    static const char *const names[] = { "month", "index" };
    double covered = 0, wider = 0;
    for (size_t seed = 0; seed < 8; seed++) {
        made m;
        double y = 1000;
        open_table(&m, names, 2);
        for (size_t k = 0; k < 260; k++) {
            y += 10 * bell(1000 * seed + k, 19);
            month(&m, 0, k);
            target(&m, round(100 * y) / 100, k >= 60);
        }
        worth w = answer(&m, "index");
        const double *q = w.p->missing_target_results->quantiles;
        size_t n = w.p->n_quantile_levels, near = 23 * n, last = 199 * n;
        covered += w.covered / 8;
        wider += (q[last + n - 2] - q[last + 1]) / (q[near + n - 2] - q[near + 1]) / 8;
        tab_arena_free(m.a);
    }
    cr_expect(wider > 1.5 && wider < 10, "%g", wider);
    cr_expect_geq(covered, 0.6, "%g", covered);
}

/* Three hundred steps on, after a hundred: how far a drift may go astray is told by all distances that were
 * judged. */
Test(ahead, bands_of_a_drift_hold_farther_than_the_past, .timeout = 600)
{
    enum { SEEDS = 12, KNOWN = 100, ASKED = 300 };
    static const char *const names[] = { "month", "index" };
    double covered = 0, least = 1;
    for (size_t seed = 0; seed < SEEDS; seed++) {
        made m;
        double y = 1000;
        open_table(&m, names, 2);
        for (size_t k = 0; k < KNOWN + ASKED; k++) {
            y += 2 + 10 * bell(1000 * seed + k, 23);
            month(&m, 0, k);
            target(&m, round(100 * y) / 100, k >= KNOWN);
        }
        worth w = answer(&m, "index");
        covered += w.covered / SEEDS;
        least = fmin(least, w.covered);
        tab_arena_free(m.a);
    }
    cr_expect_geq(covered, 0.7, "%g, the least %g", covered, least);
}

/* A level that rose by half in the last eight days: whether it stays nobody knows, so the band holds both. */
Test(ahead, a_level_that_just_moved_is_in_the_band, .timeout = 600)
{
    static const char *const names[] = { "day", "index" };
    double covered = 0;
    for (size_t seed = 0; seed < 8; seed++) {
        made m;
        open_table(&m, names, 2);
        for (size_t k = 0; k < 200; k++) {
            double y = (k < 162 ? 100 : 150) + 6 * bell(1000 * seed + k, 31);
            char day[32];
            snprintf(day, sizeof day, "%zu-%02zu-%02zu", 2020 + k / 336, 1 + k % 336 / 28, 1 + k % 28);
            tab_builder_text(m.b[0], tab_str_of(day));
            target(&m, round(100 * y) / 100, k >= 170);
        }
        worth w = answer(&m, "index");
        all_are(&w, 1, "time");
        covered += w.covered / 8;
        tab_arena_free(m.a);
    }
    cr_expect_geq(covered, 0.7, "%g", covered);
}

/* Sixty clients of six rows, sixty of one; another row of each of the latter is asked. */
Test(ahead, rows_of_clients_seen_once_are_not_answered_as_those_of_known_ones, .timeout = 600)
{
    static const char *const names[] = { "client", "dose", "index" };
    double covered = 0;
    for (size_t seed = 0; seed < 4; seed++) {
        made m;
        open_table(&m, names, 3);
        for (size_t i = 0; i < 480; i++) {
            size_t who = i < 360 ? i % 60 : 60 + i % 60;
            double dose = round(100 * bell(1000 * seed + i, 34)) / 100;
            double y = 50 + 10 * bell(200 * seed + who, 35) + 2 * dose + 2 * bell(1000 * seed + i, 36);
            name(&m, 0, "client", who);
            tab_builder_number(m.b[1], dose);
            target(&m, round(100 * y) / 100, i >= 420);
        }
        covered += answer(&m, "index").covered / 4;
        tab_arena_free(m.a);
    }
    cr_expect_geq(covered, 0.65, "%g", covered);
}

/* Twenty months of a walk that nobody measured, between others; and as many drawn at random. */
Test(ahead, rows_in_a_gap_are_answered_as_far_from_others_as_they_are, .timeout = 600)
{
    static const char *const names[] = { "month", "index" };
    double covered[2] = { 0 }, wide[2] = { 0 };
    for (size_t seed = 0; seed < 16; seed++) {
        made m;
        double y = 1000;
        open_table(&m, names, 2);
        for (size_t k = 0; k < 200; k++) {
            bool gap = k >= 90 && k < 110, some = draw(100 * seed + k, 33) < 0.1 && k > 1 && k < 198;
            y += 10 * bell(1000 * seed + k, 32);
            month(&m, 0, k);
            target(&m, round(100 * y) / 100, seed < 8 ? gap : some);
        }
        worth w = answer(&m, "index");
        all_are(&w, 0, seed < 8 ? "time" : "random");
        covered[seed >= 8] += w.covered / 8;
        const double *q = w.p->missing_target_results->quantiles;
        wide[seed >= 8] += q[w.p->n_quantile_levels - 2] - q[1];
        tab_arena_free(m.a);
    }
    cr_expect_geq(covered[0], 0.6, "%g", covered[0]);
    cr_expect_geq(covered[1], 0.65, "%g", covered[1]);
    cr_expect_gt(wide[0], 1.5 * wide[1]);
}

/* Machines that run or stand for weeks: who says that each stays as it is knows more than half, and the
 * answers are beside that. */
Test(ahead, classes_are_beside_the_last_class, .timeout = 600)
{
    enum { MACHINES = 6, DAYS = 160, NOW = 154 };
    static const char *const names[] = { "day", "machine", "state" };
    made m;
    bool runs[MACHINES] = { false };
    open_table(&m, names, 3);
    for (size_t d = 0; d < DAYS; d++)
        for (size_t s = 0; s < MACHINES; s++) {
            char day[32];
            runs[s] = draw(10 * d + s, 41) < 0.05 ? !runs[s] : d == 0 ? s % 2 == 0 : runs[s];
            snprintf(day, sizeof day, "2021-%02zu-%02zu", 1 + d / 28, 1 + d % 28);
            tab_builder_text(m.b[0], tab_str_of(day));
            name(&m, 1, "machine", s);
            if (d >= NOW)
                tab_builder_null(m.b[2]);
            else
                tab_builder_text(m.b[2], runs[s] ? TAB_S("runs") : TAB_S("stands"));
            m.rows++;
        }
    const Tabella__Prediction *p = run(&m, "state", TAB_TASK_CLASSIFICATION);
    cr_assert_geq(p->n_regimes, 1);
    for (size_t k = 0; k < p->n_regimes; k++) {
        cr_assert_str_eq(p->regimes[k]->regime, "later");
        cr_expect(p->regimes[k]->baseline > 0.1 && p->regimes[k]->baseline < 0.6, "at %g days %g",
                  p->regimes[k]->distance, p->regimes[k]->baseline);
    }
    tab_arena_free(m.a);
}

static void visits(made *m, bool whole)
{
    static const char *const names[] = { "patient", "dose", "pulse" };
    open_table(m, names, 3);
    for (size_t i = 0; i < 640; i++) {
        size_t who = i % 40;
        double dose = round(100 * draw(i, 7)) / 10;
        name(m, 0, "patient", who);
        tab_builder_number(m->b[1], dose);
        target(m, round(10 * (70 + 10 * bell(who, 8) + dose + bell(i, 9))) / 10,
               whole ? who >= 32 : draw(i, 10) < 0.2);
    }
}

Test(ahead, new_groups_are_answered_as_groups_that_were_left_out, .timeout = 600)
{
    made m;
    visits(&m, true);
    worth w = answer(&m, "pulse");
    all_are(&w, 2, "group");
    cr_expect_geq(w.covered, 0.6, "%g", w.covered);
    cr_expect_gt(w.p->error, 6, "a person's own level is not known: %g", w.p->error);
    tab_arena_free(m.a);
}

Test(ahead, rows_of_known_groups_are_not_answered_as_if_these_were_new, .timeout = 600)
{
    made m;
    visits(&m, false);
    worth w = answer(&m, "pulse");
    all_are(&w, 0, "random");
    cr_expect_lt(w.error, 4, "their own level is: %g", w.error);
    cr_expect(w.covered >= 0.65 && w.covered <= 0.95, "%g", w.covered);
    tab_arena_free(m.a);
}

/* Mostly known patients, some new ones, and a dose that nobody was given. */
Test(ahead, each_row_is_answered_in_its_own_regime, .timeout = 600)
{
    static const char *const names[] = { "patient", "dose", "pulse" };
    made m;
    double width[4] = { 0 }, rows[4] = { 0 };
    open_table(&m, names, 3);
    for (size_t i = 0; i < 800; i++) {
        size_t who = i % 40;
        double dose = i == 100 ? 40 : round(100 * draw(i, 7)) / 10;
        name(&m, 0, "patient", who);
        tab_builder_number(m.b[1], dose);
        target(&m, round(10 * (70 + 10 * bell(who, 8) + dose + bell(i, 9))) / 10,
               who >= 38 || i == 100 || draw(i, 10) < 0.15);
    }
    worth w = answer(&m, "pulse");
    const Tabella__Results *r = w.p->missing_target_results;
    size_t levels = w.p->n_quantile_levels;
    cr_assert_eq(r->n_regime, r->n_row);
    for (size_t i = 0; i < r->n_row; i++) {
        uint32_t want = r->row[i] == 100 ? 3 : r->row[i] % 40 >= 38 ? 2 : 0;
        cr_expect_eq(r->regime[i], want, "row %u: %u", r->row[i], r->regime[i]);
        width[want] += r->quantiles[i * levels + levels - 2] - r->quantiles[i * levels + 1];
        rows[want]++;
    }
    cr_expect_str_eq(w.p->split->kind, "random");
    cr_expect_gt(width[2] / rows[2], 2 * width[0] / rows[0], "a level that is not known: %g, %g",
                 width[2] / rows[2], width[0] / rows[0]);
    cr_expect_gt(width[3], 2 * width[0] / rows[0]);
    tab_arena_free(m.a);
}

/* Persons by number, each with a level of their own: a known one is answered by its other rows. */
Test(ahead, keys_that_are_numbers_have_a_history, .timeout = 600)
{
    static const char *const names[] = { "person", "year", "x", "y" };
    made m;
    open_table(&m, names, 4);
    for (size_t i = 0; i < 2400; i++) {
        size_t who = (size_t)(300 * draw(i, 11));
        double x = round(1000 * bell(i, 12)) / 1000;
        tab_builder_number(m.b[0], 1000 + (double)who);
        tab_builder_number(m.b[1], 2010 + floor(8 * draw(i, 13)));
        tab_builder_number(m.b[2], x);
        target(&m, round(1000 * (bell(who, 14) + 0.7 * x + 0.6 * bell(i, 15))) / 1000, draw(i, 16) < 0.2);
    }
    worth w = answer(&m, "y");
    cr_expect_str_eq(w.p->split->kind, "random");
    cr_expect_lt(w.error, 0.75, "%g: 0.6 is noise, 1.17 is known without the person", w.error);
    cr_expect(w.covered > 0.72 && w.covered < 0.9, "%g", w.covered);
    tab_arena_free(m.a);
}
