/* See few_rows.h. A cell of the short table and one of the other, drawn by chance, hold one value as often as
 * the other column does. A pair of rows agrees by the sum of the logarithms of these shares; one in e^s of
 * all pairs does so by chance, of which there are rows times rows over the pairs that were chosen. */
#include "services/inference/engine/align/few_rows.h"

#include <math.h>

#include "services/inference/engine/align/beyond_chance.h"

/* MOST: what a column's log-odds are at most. */
static const double MOST = 5;

/* How much it says that cell i of row ra is cell j of row rb: 0 where it is not. */
static double equal(const tab_view *x, const tab_view *y, uint32_t ra, uint32_t rb, bool short_a)
{
    uint32_t p = x->code[ra], q = y->code[rb];
    if (p == TAB_NULL || q == TAB_NULL || x->value[p].key != y->value[q].key)
        return 0;
    return -log(short_a ? (double)y->value[q].rows / (double)y->present
                        : (double)x->value[p].rows / (double)x->present);
}

/* The column of b whose cell says most of cell i; TAB_NULL: none. */
static uint32_t best(const tab_table_view *a, const tab_table_view *b, size_t i, uint32_t ra, uint32_t rb,
                     double *ret)
{
    uint32_t at = TAB_NULL;
    *ret = 0;
    for (size_t j = 0; j < b->cols; j++) {
        double s = equal(&a->col[i], &b->col[j], ra, rb, a->rows < b->rows);
        if (s > *ret) {
            *ret = s;
            at = (uint32_t)j;
        }
    }
    return at;
}

void tab_few_rows(const tab_table_view *a, const tab_table_view *b, const tab_row_pairs *rows, float *ret)
{
    memset(ret, 0, a->cols * b->cols * sizeof *ret);
    double tried = rows->n > 0 ? log((double)a->rows * (double)b->rows / (double)rows->n) : 0;
    for (size_t r = 0; r < rows->n; r++) {
        double sum = -tried, s;
        for (size_t i = 0; i < a->cols; i++) {
            uint32_t j = best(a, b, i, rows->a[r], rows->b[r], &s);
            /* each column might have been another one of b */
            sum += j == TAB_NULL ? 0 : fmax(s - log((double)b->cols), 0);
        }
        for (size_t i = 0; sum > TAB_BEYOND_CHANCE && i < a->cols; i++) {
            uint32_t j = best(a, b, i, rows->a[r], rows->b[r], &s);
            if (j != TAB_NULL)
                ret[i * b->cols + j] = (float)fmin((double)ret[i * b->cols + j] + s, MOST);
        }
    }
}
