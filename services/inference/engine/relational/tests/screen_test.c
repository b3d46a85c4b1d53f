/* Noise is not taken for a signal, however many columns of it there are; a signal is found. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/relational/screen.h"

enum { ROWS = 240, NOISES = 40, GROUP = 12, DRAWS = 40 };

/* About normal. */
static double bell(size_t a, size_t b)
{
    double sum = -6;
    for (size_t k = 0; k < 12; k++)
        sum += tab_unit(tab_mix2(a * 16 + k, b));
    return sum;
}

/* How many of DRAWS tables let a column in. What is left and the columns are drawn row by row, or a group of
 * rows; told: the first column is what is left, and as much noise; apart: each row is taken for a unit. */
static size_t taken(size_t grouped, bool told, bool apart)
{
    size_t hits = 0;
    for (size_t draw = 0; draw < DRAWS; draw++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
        char *text = NULL;
        size_t n = 0, features = 0;
        FILE *f = open_memstream(&text, &n);
        for (size_t c = 0; c < NOISES; c++)
            fprintf(f, "%sc%zu", c == 0 ? "" : ",", c);
        for (size_t r = 0; r < ROWS; r++)
            for (size_t c = 0; c < NOISES; c++) {
                double x = bell(r / grouped + draw * 1000, c + 1);
                x = told && c == 0 ? x + bell(r / grouped + draw * 1000, 777) : x;
                fprintf(f, "%s%.6f", c == 0 ? "\n" : ",", x);
            }
        fputs("\n", f);
        fclose(f);
        const tab_table *t = NULL;
        tab_profile *p = NULL;
        tab_data *d = NULL;
        tab_engine e = { .arena = a };
        cr_assert_eq(tab_csv_read(a, (tab_str){ text, n }, TAB_S("noise"), &t, NULL, NULL), TAB_OK);
        cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
        bool use[NOISES], beyond[4 * NOISES] = { false };
        memset(use, true, sizeof use);
        const tab_encoder *enc = tab_encode_fit(&e, a, p, use, &d);
        cr_assert_not_null(enc);
        float left[ROWS];
        uint64_t unit[ROWS], *units[] = { unit };
        size_t feature[4 * NOISES], of[4 * NOISES] = { 0 };
        for (size_t i = 0; i < ROWS; i++) {
            size_t r = d->row[i];
            left[i] = (float)bell(r / grouped + draw * 1000, 777);
            unit[i] = tab_mix2(apart ? r : r / grouped, 5);
        }
        while (features < enc->n && features < 4 * NOISES) {
            feature[features] = features;
            features++;
        }
        tab_links_left q = { .data = d,
                             .enc = enc,
                             .features = features,
                             .feature = feature,
                             .unit_of = of,
                             .units = 1,
                             .unit = units,
                             .left = left,
                             .outputs = 1 };
        cr_assert(tab_links_screen(&e, a, &q, beyond));
        bool any = false;
        for (size_t k = 0; k < features; k++)
            any = any || (beyond[k] && (!told || enc->f[k].source == 0));
        hits += any;
        free(text);
    }
    return hits;
}

Test(screen, noise_is_no_signal)
{
    size_t n = taken(1, false, false);
    cr_assert_leq(n, 2, "%zu of %d", n, DRAWS);
}

Test(screen, a_signal_is_found)
{
    size_t n = taken(1, true, false);
    cr_assert_eq(n, DRAWS, "%zu of %d", n, DRAWS);
}

/* Rows of one unit count as one: taken row by row, columns of a few units would tell whatever they are. */
Test(screen, rows_of_one_unit_count_once)
{
    size_t n = taken(GROUP, false, false), apart = taken(GROUP, false, true);
    cr_assert_leq(n, 2, "%zu of %d", n, DRAWS);
    cr_assert_geq(apart, DRAWS / 2, "%zu of %d", apart, DRAWS);
}
