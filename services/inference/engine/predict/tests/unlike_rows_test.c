/* Rows that are asked in other words or units than the known ones, and pairs of known levels that no known
 * row has: answers are as good as what can be read allows, and no surer. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

enum { ROWS = 700, COLS = 4, TOWNS = 5 };

/* How the asked rows are written. */
typedef enum {
    AS_KNOWN,
    IN_CAPITALS,
    IN_GRAMS,
    HALF_IN_GRAMS,
    IN_POUNDS,
    IN_STONE,
    WITHOUT_WEIGHT,
    FILLED,
    CUT,
    ALL_FIFTY,
    LIGHTER
} way;

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

static double normal(size_t i, size_t what)
{
    return draw(i, what) + draw(i, what + 1) + draw(i, what + 2) - 1.5;
}

static bool is_asked(size_t i)
{
    return draw(i, 1) < 0.3;
}

static size_t town(size_t i)
{
    return (size_t)(TOWNS * draw(i, 2));
}

static double price(size_t i)
{
    return 40 * normal(i, 10) + 10 * (double)town(i) + normal(i, 20);
}

/* Parcels by town and weight, which decide their price. served: the asked rows alone, without a target. */
static tab_table parcels(tab_arena *a, tab_column col[COLS], way how, bool served)
{
    static const char *const name[COLS] = { "town", "weight", "colour", "price" };
    static const char *const known[2][TOWNS] = { { "Köln", "Berlin", "Ulm", "Kiel", "Trier" },
                                                 { "KOLN", "BERLIN ", "ULM", "KIEL", "TRIER" } };
    tab_builder *b[COLS];
    size_t n = 0;
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(name[c]));
    for (size_t i = 0; i < ROWS; i++) {
        bool open = is_asked(i);
        double kilos = 50 + 10 * normal(i, 10);
        if (served && !open)
            continue;
        n++;
        if (open && (how == IN_GRAMS || (how == HALF_IN_GRAMS && draw(i, 30) < 0.5)))
            kilos *= 1000;
        if (open && how == IN_POUNDS)
            kilos *= 2.2046;
        if (open && how == IN_STONE)
            kilos /= 6.3503;
        if (open && (how == ALL_FIFTY || (how == FILLED && draw(i, 30) < 0.6) || (how == CUT && kilos > 50)))
            kilos = 50;
        if (open && how == WITHOUT_WEIGHT)
            kilos = 0;
        if (open && how == LIGHTER)
            kilos -= 30;
        tab_builder_text(b[0], tab_str_of(known[open && how == IN_CAPITALS][town(i)]));
        tab_builder_number(b[1], round(100 * kilos) / 100);
        tab_builder_text(b[2], draw(i, 31) < 0.5 ? TAB_S("red") : TAB_S("blue"));
        if (open)
            tab_builder_null(b[3]);
        else
            tab_builder_number(b[3], round(100 * price(i)) / 100);
    }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    return (tab_table){ .id = TAB_S("t"), .rows = n, .cols = COLS, .col = col };
}

/* How often the 80 % intervals hold the prices of the asked rows, and their mean width. */
static double covered(const Tabella__Prediction *m, const Tabella__Results *r, const size_t *row,
                      double *wide)
{
    double in = 0;
    *wide = 0;
    for (size_t i = 0; i < r->n_row; i++) {
        const double *q = r->quantiles + i * m->n_quantile_levels;
        double y = price(row[r->row[i]]), lo = q[1], hi = q[m->n_quantile_levels - 2];
        in += y >= lo && y <= hi;
        *wide += (hi - lo) / (double)r->n_row;
    }
    return in / (double)r->n_row;
}

/* One run, or one call of an endpoint; told: what its reason says must hold these words; NULL: none. */
static double ask(way how, bool served, const char *told, double *wide)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_engine e = { .arena = a };
    tab_column col[2][COLS];
    tab_table t = parcels(a, col[0], served ? AS_KNOWN : how, false), q = parcels(a, col[1], how, true);
    size_t row[ROWS], n = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (!served || is_asked(i))
            row[n++] = i;
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = {
        .base = "base-1", .target = COLS - 1, .task = TAB_TASK_REGRESSION, .served = served
    };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(served ? tab_score_any(&e, f, &q, false, &m, NULL)
                        : tab_fitted_results(&e, f, false, &m, NULL),
                 TAB_OK);
    if (!served) {
        cr_expect_eq(strstr(m->split->reason, "is read as empty there") != NULL, told != NULL, "%s",
                     m->split->reason);
        cr_expect(told == NULL || strstr(m->split->reason, told) != NULL, "%s", m->split->reason);
    }
    return covered(m, served ? m->results : m->missing_target_results, row, wide);
}

Test(unlike_rows, levels_in_other_letters_are_the_known_ones, .timeout = 300)
{
    double wide[3];
    ask(AS_KNOWN, false, NULL, &wide[0]);
    double run = ask(IN_CAPITALS, false, NULL, &wide[1]), served = ask(IN_CAPITALS, true, NULL, &wide[2]);
    cr_expect_gt(run, 0.7, "%g", run);
    cr_expect_gt(served, 0.7, "%g", served);
    cr_expect_lt(wide[1], 1.2 * wide[0], "%g, as known %g", wide[1], wide[0]);
    cr_expect_lt(wide[2], 1.5 * wide[0], "%g, as known %g", wide[2], wide[0]);
}

Test(unlike_rows, numbers_in_another_unit_are_read_as_empty, .timeout = 300)
{
    double wide[2],
        all = ask(IN_GRAMS, false,
                  "`weight` is distributed in 194 rows to predict as in the others times 1000", &wide[0]),
        half = ask(HALF_IN_GRAMS, false, "times 1000, as in another unit", &wide[1]);
    cr_expect(all > 0.68 && all < 0.92, "%g", all);
    cr_expect(half > 0.68 && half < 0.92, "%g", half);
    cr_expect_lt(wide[0], 80, "the town is known: %g", wide[0]);
    cr_expect_lt(wide[1], wide[0], "half of the weights are known: %g", wide[1]);
}

Test(unlike_rows, what_stands_for_nothing_is_read_as_empty, .timeout = 300)
{
    double wide,
        in = ask(WITHOUT_WEIGHT, false, "`weight` is 0 in rows to predict and in no other row", &wide);
    cr_expect(in > 0.68 && in < 0.92, "%g", in);
}

Test(unlike_rows, pounds_and_stone_are_read_as_empty, .timeout = 300)
{
    double wide, pounds = ask(IN_POUNDS, false, "times 2.2046, as in another unit", &wide),
                 stone = ask(IN_STONE, false, "times 0.157473, as in another unit", &wide);
    cr_expect(pounds > 0.68 && pounds < 0.92, "%g", pounds);
    cr_expect(stone > 0.68 && stone < 0.92, "%g", stone);
}

Test(unlike_rows, what_was_filled_in_or_cut_off_is_read_as_empty, .timeout = 300)
{
    double wide, filled = ask(FILLED, false, "`weight` is 50 in 1", &wide),
                 cut = ask(CUT, false, "as if filled in or truncated", &wide);
    cr_expect(filled > 0.68 && filled < 0.92, "%g", filled);
    cr_expect(cut > 0.68 && cut < 0.92, "%g", cut);
}

/* One weight of all may be the question: answers stand, and are as wide as what it tells. */
Test(unlike_rows, a_number_that_all_asked_rows_have_alike_is_doubted, .timeout = 300)
{
    double wide[2];
    ask(AS_KNOWN, false, NULL, &wide[0]);
    double in = ask(ALL_FIFTY, false, NULL, &wide[1]);
    cr_expect_gt(in, 0.68, "%g", in);
    cr_expect_gt(wide[1], 2 * wide[0], "%g, as known %g", wide[1], wide[0]);
}

/* Smaller parcels are asked, in the same unit: nothing is taken away, and what lies out of range is said. */
Test(unlike_rows, smaller_numbers_are_no_other_unit, .timeout = 300)
{
    double wide;
    ask(LIGHTER, false, NULL, &wide);
}

/* Steps of six series that go on ten times as far are distributed as before in another unit. */
Test(unlike_rows, steps_that_go_on_are_no_other_unit, .timeout = 300)
{
    enum { SERIES = 6, KNOWN = 30, ALL = 300 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_engine e = { .arena = a };
    tab_builder *b[3] = { tab_builder_new(a, TAB_S("shop")), tab_builder_new(a, TAB_S("step")),
                          tab_builder_new(a, TAB_S("sold")) };
    tab_column col[3];
    for (size_t i = 0; i < SERIES * ALL; i++) {
        static const char *const shop[SERIES] = { "Ulm", "Kiel", "Trier", "Essen", "Berlin", "Mainz" };
        size_t step = i % ALL;
        tab_builder_text(b[0], tab_str_of(shop[i / ALL]));
        tab_builder_number(b[1], 0.5 * (double)(step + 1));
        if (step < KNOWN)
            tab_builder_number(b[2], 50 * (double)(i / ALL) + (double)step + 3 * normal(i, 70));
        else
            tab_builder_null(b[2]);
    }
    for (size_t c = 0; c < 3; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = SERIES * ALL, .cols = 3, .col = col };
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = { .base = "base-1", .target = 2, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    cr_expect_str_eq(m->split->kind, "time", "%s", m->split->reason);
    cr_expect_null(strstr(m->split->reason, "another unit"), "%s", m->split->reason);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

enum { SHOPS = 10, GOODS = 12 };

static bool sells(size_t shop, size_t good)
{
    return draw(100 * shop + good, 40) < 0.75;
}

/* What goods sell for in shops: each pair has a price of its own. known: pairs that are sold, else the
 * others, without a target. */
static tab_table offers(tab_arena *a, tab_column col[COLS], bool known, bool asked, double own, size_t *pair)
{
    static const char *const name[COLS] = { "shop", "good", "size", "price" };
    tab_builder *b[COLS];
    size_t n = 0;
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(name[c]));
    for (size_t i = 0; i < 8 * SHOPS * GOODS; i++) {
        size_t at = i % (SHOPS * GOODS), s = at / GOODS, g = at % GOODS;
        char text[32];
        if (!(sells(s, g) ? known : asked))
            continue;
        snprintf(text, sizeof text, "shop %zu", s);
        tab_builder_text(b[0], tab_str_of(text));
        snprintf(text, sizeof text, "good %zu", g);
        tab_builder_text(b[1], tab_str_of(text));
        tab_builder_number(b[2], draw(i, 41));
        double y = (double)(s + g) + own * normal(at, 50) + normal(i, 60);
        if (sells(s, g))
            tab_builder_number(b[3], y);
        else
            tab_builder_null(b[3]);
        pair[n++] = i;
    }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    return (tab_table){ .id = TAB_S("t"), .rows = n, .cols = COLS, .col = col };
}

/* The share of the asked pairs' prices within their intervals. *ret: the prediction. */
static double ask_pairs(tab_arena *a, bool served, double own, const Tabella__Prediction **ret)
{
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_engine e = { .arena = a };
    tab_column col[2][COLS];
    static size_t pair[8 * SHOPS * GOODS], of[8 * SHOPS * GOODS];
    tab_table t = offers(a, col[0], true, !served, own, pair), q = offers(a, col[1], false, true, own, of);
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = {
        .base = "base-1", .target = COLS - 1, .task = TAB_TASK_REGRESSION, .served = served
    };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(served ? tab_score_any(&e, f, &q, false, &m, NULL)
                        : tab_fitted_results(&e, f, false, &m, NULL),
                 TAB_OK);
    const Tabella__Results *r = served ? m->results : m->missing_target_results;
    double in = 0;
    for (size_t k = 0; k < r->n_row; k++) {
        size_t i = served ? of[r->row[k]] : pair[r->row[k]], at = i % (SHOPS * GOODS);
        double y = (double)(at / GOODS + at % GOODS) + own * normal(at, 50) + normal(i, 60);
        const double *v = r->quantiles + k * m->n_quantile_levels;
        in += y >= v[1] && y <= v[m->n_quantile_levels - 2];
    }
    *ret = m;
    return in / (double)r->n_row;
}

Test(unlike_rows, pairs_that_no_known_row_has_are_judged_by_pairs_left_out, .timeout = 300)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    const Tabella__Prediction *m;
    double in = ask_pairs(a, false, 6, &m);
    cr_expect_gt(in, 0.65, "%g", in);
    cr_expect_str_eq(m->split->kind, "group");
    cr_expect(strstr(m->split->reason, "have a pair of shop and good that no other row has") != NULL, "%s",
              m->split->reason);
    cr_expect(m->missing_target_results->n_regime > 0 && m->missing_target_results->regime[0] == 2);
}

Test(unlike_rows, served_pairs_that_no_fitted_row_has_are_told, .timeout = 300)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    const Tabella__Prediction *m;
    double in = ask_pairs(a, true, 6, &m);
    cr_expect_gt(in, 0.65, "%g", in);
    cr_assert_eq(m->n_doubts, 1);
    cr_expect_str_eq(m->doubts[0], "t.shop and t.good have values that no row seen in fitting has together");
    in = ask_pairs(a, true, 0, &m);
    cr_expect_eq(m->n_doubts, 0, "shops and goods add up: a new pair is a row like the others");
}
