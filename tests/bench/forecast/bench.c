/* Forecasts the series of a file, a table after the other, and says what CPU that took.
 *
 *   forecast IN OUT table|alone    each table at once, or each of its series by itself
 *
 * IN:  (u32 tables) then for each: (u32 season, horizon, series), each series (u32 n) and n doubles
 * OUT: for each series horizon x (value, 7 quantiles) in doubles; on stdout a line a table: CPU seconds */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "services/inference/engine/forecast/forecast.h"

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool number(FILE *f, uint32_t *ret)
{
    return fread(ret, sizeof *ret, 1, f) == 1;
}

static bool write_out(FILE *f, const tab_forecast *r)
{
    for (size_t i = 0; i < r->tracks * r->horizon; i++)
        if (fwrite(&r->value[i], sizeof(double), 1, f) != 1 ||
            fwrite(&r->quantile[i * TAB_FORECAST_LEVELS], sizeof(double), TAB_FORECAST_LEVELS, f) !=
                TAB_FORECAST_LEVELS)
            return false;
    return true;
}

static bool one_table(FILE *in, FILE *out, bool alone)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 30);
    uint32_t season, horizon, series, n;
    if (a == NULL || !number(in, &season) || !number(in, &horizon) || !number(in, &series))
        return false;
    tab_track *track = tab_arena_new_of(a, tab_track, series);
    for (uint32_t i = 0; track != NULL && i < series; i++) {
        double *y = number(in, &n) ? tab_arena_new_of(a, double, n) : NULL;
        if (y == NULL || fread(y, sizeof *y, n, in) != n)
            return false;
        track[i] = (tab_track){ .y = y, .n = n };
    }
    if (track == NULL)
        return false;
    const double period = season;
    double began = cpu();
    tab_engine e = { .arena = a };
    tab_forecast *r = NULL;
    size_t step = alone ? 1 : series;
    for (size_t i = 0; i < series; i += step) {
        if (tab_forecast_make(&e, a, track + i, step, horizon, &period, period > 1, &r, NULL) != TAB_OK ||
            !write_out(out, r))
            return false;
    }
    printf("%.6f %s\n", cpu() - began, r == NULL ? "" : r->method);
    return true;
}

int main(int argc, char **argv)
{
    FILE *in = argc == 4 ? fopen(argv[1], "rb") : NULL, *out = argc == 4 ? fopen(argv[2], "wb") : NULL;
    uint32_t tables = 0;
    bool good = in != NULL && out != NULL && number(in, &tables);
    for (uint32_t i = 0; good && i < tables; i++)
        good = one_table(in, out, strcmp(argv[3], "alone") == 0);
    if (in != NULL)
        fclose(in);
    if (out == NULL || fclose(out) != 0)
        good = false;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
