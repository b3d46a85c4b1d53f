/* See total.h. */
#include "common/files/total.h"

#include <math.h>
#include <strings.h>

static bool empty_row(const tab_table *t, size_t row)
{
    for (size_t k = 0; k < t->cols; k++)
        if (tab_cell_at(&t->col[k], row).kind != TAB_CELL_NULL)
            return false;
    return true;
}

static bool says_total(tab_str s)
{
    static const char *const words[] = { "total",        "totals",       "grand total",
                                         "sum",          "summe",        "gesamt",
                                         "somme",        "totale",       "totaal",
                                         "totalt",       "gesamtsumme",  "suma",
                                         "\u5408\u8ba1", "\u5408\u8a08", "\u0418\u0442\u043e\u0433\u043e" };
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == ':'))
        s.n--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (s.n == strlen(words[i]) && strncasecmp(s.p, words[i], s.n) == 0)
            return true;
    return false;
}

/* Is the cell its column's sum? *ret_nonzero: how many summands are not 0. */
static bool is_sum(const tab_column *c, size_t row, size_t *ret_nonzero)
{
    double sum = 0, size = 0;
    *ret_nonzero = 0;
    for (size_t i = 0; i < row; i++)
        if (!isnan(c->num[i])) {
            sum += c->num[i];
            size += fabs(c->num[i]);
            *ret_nonzero += c->num[i] != 0;
        }
    return fabs(sum - c->num[row]) <= 1e-9 * size;
}

static bool is_total(const tab_table *t, size_t row)
{
    size_t labels = 0, sums = 0;
    bool said = false;
    for (size_t k = 0; k < t->cols; k++) {
        tab_cell x = tab_cell_at(&t->col[k], row);
        size_t nonzero;
        if (x.kind == TAB_CELL_NULL)
            continue;
        if (t->col[k].layout == TAB_NUMBERS) {
            if (!is_sum(&t->col[k], row, &nonzero))
                return false;
            sums += nonzero >= 3 && x.num != 0;
        } else {
            labels++;
            said |= says_total(x.text);
        }
    }
    return sums > 0 && (labels == 0 ? sums > 1 && t->cols > sums : labels == 1 && said);
}

/* A level that the row alone has is its column's last: levels stand in order of first appearance. */
static void cut_level(tab_column *c, size_t row)
{
    if (c->layout != TAB_CODED || c->code[row] == TAB_NULL || c->code[row] + 1 != c->levels)
        return;
    for (size_t i = 0; i < row; i++)
        if (c->code[i] == c->code[row])
            return;
    c->levels--;
}

bool tab_total_row_cut(tab_table *t, tab_column *col)
{
    size_t row = t->rows;
    while (row > 0 && empty_row(t, row - 1))
        row--;
    if (row < 4 || !is_total(t, row - 1))
        return false;
    for (size_t k = 0; k < t->cols; k++)
        cut_level(&col[k], row - 1);
    t->rows = row - 1;
    return true;
}
