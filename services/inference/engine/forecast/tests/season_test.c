/* The parts of a forecast by hand: what a moving mean leaves is the season, a gap is filled by season and
 * line, and few values lean on how their table moves. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/forecast/pool.h"

static const double SHAPE[4] = { 20, -10, 0, -10 };

Test(season, an_even_season_on_a_line_is_found_exactly)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
    double y[40], shape[4];
    for (size_t t = 0; t < 40; t++)
        y[t] = 3 * (double)t + SHAPE[t % 4];
    cr_assert_float_eq(tab_season_strength(a, y, 40, 4, shape), 1, 1e-9);
    for (size_t p = 0; p < 4; p++)
        cr_expect_float_eq(shape[p], SHAPE[p], 1e-9, "%zu: %g", p, shape[p]);
    cr_expect_eq(tab_season_strength(a, y, 7, 4, shape), 0, "two periods are the least");
}

Test(season, a_gap_is_filled_by_season_and_line_above_zero_and_below)
{
    for (double level = 50; level >= -500; level -= 550) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
        double y[40];
        for (size_t t = 0; t < 40; t++)
            y[t] = t == 21 ? (double)NAN : level + (double)t + SHAPE[t % 4];
        tab_track track = { y, 40 };
        tab_learnt l = { .known = true, .periods = 1, .period = { 4 } };
        tab_grid g;
        cr_assert(tab_grid_read(a, &track, NULL, 0, &l, &g));
        cr_expect_eq(g.floored, level > 0);
        cr_expect_float_eq(g.y[21] * g.unit, level + 21 - 10, 3, "%g", g.y[21] * g.unit);
        cr_expect(!g.seen[21] && g.seen[20]);
    }
}

/* The width of the band of four values beside twenty series that move by `share` of their size. */
static double width_beside(double share)
{
    enum { LONG = 20, N = 40 };
    static double y[LONG + 1][N];
    tab_track track[LONG + 1];
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    for (size_t i = 0; i <= LONG; i++) {
        for (size_t t = 0; t < N; t++)
            y[i][t] = 100 * (1 + (i < LONG ? share : 0.01) * sin((double)(7 * t * t + 3 * i)));
        track[i] = (tab_track){ y[i], i < LONG ? N : 4 };
    }
    tab_engine e = { .arena = a };
    tab_forecast *f = NULL;
    double season = 1;
    cr_assert_eq(tab_forecast_make(&e, a, track, LONG + 1, 3, &season, 0, &f, NULL), TAB_OK);
    const double *q = f->quantile + LONG * 3 * TAB_FORECAST_LEVELS;
    return q[5] - q[1];
}

Test(season, a_few_values_lean_on_how_their_table_moves)
{
    double quiet = width_beside(0.01), restless = width_beside(0.2);
    cr_expect(restless > 5 * quiet && restless < 40 * quiet, "%g beside %g", restless, quiet);
}
