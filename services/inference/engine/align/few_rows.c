/* See few_rows.h. A cell of the short table and one of the other, drawn by chance, hold one value as often as
 * the other column does. A pair of rows agrees by the sum of the logarithms of these shares; one in e^s of
 * all pairs does so by chance, of which there are rows times rows over the pairs that were chosen. */
#include "services/inference/engine/align/few_rows.h"

#include <math.h>

#include "services/inference/engine/align/beyond_chance.h"

/* MOST: what a column's log-odds are at most. */
static const double MOST = 5;

/* What the words that two texts share say, damped by their number; 0 where less than half of either's are
 * shared. */
static double words(const tab_views *v, const tab_value *x, const tab_value *y)
{
    double sum = 0, shared = 0;
    for (uint32_t i = 0, j = 0; i < x->tok_n && j < y->tok_n;) {
        uint32_t p = v->tok[x->tok + i], q = v->tok[y->tok + j];
        sum += p == q ? (double)v->idf[p] : 0;
        shared += p == q;
        i += p <= q;
        j += q <= p;
    }
    return shared > 1 && 2 * shared >= fmax(x->tok_n, y->tok_n) ? sum / (1 + 0.15 * (shared - 1)) : 0;
}

/* How much it says that cell i of row ra is cell j of row rb: 0 where it is not. A value is as rare as it is
 * in the longer table, those that stand once there as their number says. */
static double equal(const tab_views *v, const tab_view *x, const tab_view *y, uint32_t ra, uint32_t rb,
                    bool short_a)
{
    uint32_t p = x->code[ra], q = y->code[rb];
    if (p == TAB_NULL || q == TAB_NULL)
        return 0;
    if (x->value[p].key != y->value[q].key)
        return words(v, &x->value[p], &y->value[q]);
    const tab_view *longer = short_a ? y : x;
    double count = (double)tab_value_count(longer, &longer->value[short_a ? q : p]);
    return -log(fmin(count / (double)longer->present, 1));
}

/* The column of b whose cell says most of cell i; TAB_NULL: none. */
static uint32_t best(const tab_views *v, const tab_table_view *a, const tab_table_view *b, size_t i,
                     uint32_t ra, uint32_t rb, double *ret)
{
    uint32_t at = TAB_NULL;
    *ret = 0;
    for (size_t j = 0; j < b->cols; j++) {
        double s = equal(v, &a->col[i], &b->col[j], ra, rb, a->rows < b->rows);
        if (s > *ret) {
            *ret = s;
            at = (uint32_t)j;
        }
    }
    return at;
}

void tab_few_rows(const tab_views *v, const tab_table_view *a, const tab_table_view *b,
                  const tab_row_pairs *rows, float *ret)
{
    memset(ret, 0, a->cols * b->cols * sizeof *ret);
    double tried = rows->n > 0 ? log((double)a->rows * (double)b->rows / (double)rows->n) : 0;
    for (size_t r = 0; r < rows->n; r++) {
        double sum = -tried, s;
        for (size_t i = 0; i < a->cols; i++) {
            uint32_t j = best(v, a, b, i, rows->a[r], rows->b[r], &s);
            /* each column might have been another one of b */
            sum += j == TAB_NULL ? 0 : fmax(s - log((double)b->cols), 0);
        }
        for (size_t i = 0; sum > TAB_BEYOND_CHANCE && i < a->cols; i++) {
            uint32_t j = best(v, a, b, i, rows->a[r], rows->b[r], &s);
            if (j != TAB_NULL)
                ret[i * b->cols + j] = (float)fmin((double)ret[i * b->cols + j] + s, MOST);
        }
    }
}
