/* What the likely references of a schema tell of each other (compete.c), held against their definitions. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/keys/inclusions.h"

enum { TABLES = 4, WIDTH = 9, COLUMNS = TABLES * WIDTH };

static double logit(double p)
{
    p = fmin(fmax(p, 1e-4), 1 - 1e-4);
    return log(p / (1 - p));
}

/* About half of all pairs of columns of unlike tables, by child, then parent. Returns how many. */
static size_t draw_pairs(const tab_key_column *col, tab_inclusion *x, float *p)
{
    size_t n = 0;
    for (uint32_t c = 0; c < COLUMNS; c++)
        for (uint32_t q = 0; q < COLUMNS; q++)
            if (col[c].table != col[q].table && tab_unit(tab_mix2(c, q)) < 0.5) {
                p[n] = (float)tab_unit(tab_mix2(q + 100, c));
                x[n++] = (tab_inclusion){ .child = c, .parent = q };
            }
    return n;
}

/* The sum of p of the other columns of i's child table to i's parent table. */
static double tables_of(const tab_key_column *col, const tab_inclusion *x, const float *p, size_t n, size_t i)
{
    double sum = 0;
    for (size_t o = 0; o < n; o++)
        if (x[o].child != x[i].child && col[x[o].child].table == col[x[i].child].table &&
            col[x[o].parent].table == col[x[i].parent].table)
            sum += (double)p[o];
    return sum;
}

Test(key_context, features_are_as_defined)
{
    tab_key_column col[COLUMNS] = { 0 };
    for (uint32_t c = 0; c < COLUMNS; c++)
        col[c] = (tab_key_column){ .table = c / WIDTH, .column = c % WIDTH };
    tab_key_columns k = { .col = col };
    tab_inclusion *x = calloc(COLUMNS * COLUMNS, sizeof *x);
    float *p = calloc(COLUMNS * COLUMNS, sizeof *p);
    cr_assert(x != NULL && p != NULL);
    size_t n = draw_pairs(col, x, p);
    cr_assert(tab_inclusions_context(&k, x, n, p));
    for (size_t i = 0; i < n; i++) {
        double rival = 1e-4, fame[COLUMNS] = { 0 }, best[COLUMNS] = { 0 }, elsewhere = 0, refers = 0;
        for (size_t o = 0; o < n; o++) {
            rival = o != i && x[o].child == x[i].child ? fmax(rival, (double)p[o]) : rival;
            fame[x[o].parent] += (double)p[o];
            best[x[o].child] = fmax(best[x[o].child], (double)p[o]);
        }
        for (uint32_t c = 0; c < COLUMNS; c++) {
            if (c != x[i].parent && col[c].table == col[x[i].parent].table)
                elsewhere = fmax(elsewhere, fame[c]);
            if (c != x[i].child && col[c].table == col[x[i].child].table)
                refers += best[c];
        }
        const float *f = x[i].f;
        cr_assert_float_eq((double)f[TAB_KEY_F_RIVAL], logit(rival), 1e-5);
        cr_assert_float_eq((double)f[TAB_KEY_F_FAME_ELSE], elsewhere, 1e-4);
        cr_assert_float_eq((double)f[TAB_KEY_F_TABLE_REFERS], refers, 1e-4);
        cr_assert_float_eq((double)f[TAB_KEY_F_TABLES], tables_of(col, x, p, n, i), 1e-4);
    }
    free(x);
    free(p);
}
