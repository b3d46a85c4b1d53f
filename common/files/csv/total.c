/* See total.h. */
#include "common/files/csv/total.h"

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

/* A number with groups of three, 1.234,50 or 1,234.50, or a decimal comma: what is no number of JSON. */
static bool grouped(tab_str s, char decimal, double *ret)
{
    double x = 0, unit = 1;
    bool fraction = false, minus = s.n > 0 && s.p[0] == '-';
    size_t digits = 0, group = 0, groups = 0;
    for (size_t i = minus; i < s.n; i++) {
        char c = s.p[i];
        if (c >= '0' && c <= '9') {
            digits++;
            group++;
            x = 10 * x + (c - '0');
            unit *= fraction ? 10 : 1;
        } else if (c == decimal && !fraction && digits > 0 && (groups == 0 || group == 3)) {
            fraction = true;
        } else if ((c == '.' || c == ',') && !fraction && group > 0 &&
                   (groups == 0 ? group <= 3 : group == 3)) {
            groups++;
            group = 0;
        } else {
            return false;
        }
    }
    *ret = (minus ? -x : x) / unit;
    return digits > 0 && digits <= 15 && (fraction || groups == 0 || group == 3);
}

/* Adds up the rows above, of which each that is filled is a number; false: one is none. */
static bool add_up(const tab_column *c, size_t row, char decimal, double *ret_sum, double *ret_size,
                   size_t *ret_nonzero)
{
    *ret_sum = *ret_size = 0;
    *ret_nonzero = 0;
    for (size_t i = 0; i < row; i++) {
        tab_cell cell = tab_cell_at(c, i);
        double x = cell.num;
        if (cell.kind == TAB_CELL_NULL)
            continue;
        if (c->layout != TAB_NUMBERS && (cell.kind == TAB_CELL_BOOL || !grouped(cell.text, decimal, &x)))
            return false;
        *ret_sum += x;
        *ret_size += fabs(x);
        *ret_nonzero += x != 0;
    }
    return true;
}

/* Is the cell its column's sum? *ret_nonzero: how many summands are not 0. */
static bool is_sum(const tab_column *c, size_t row, size_t *ret_nonzero)
{
    tab_cell cell = tab_cell_at(c, row);
    double sum, size, x = cell.num;
    for (const char *decimal = ",."; *decimal != 0; decimal++) {
        if (c->layout != TAB_NUMBERS && !grouped(cell.text, *decimal, &x))
            continue;
        if (add_up(c, row, *decimal, &sum, &size, ret_nonzero) && fabs(sum - x) <= 1e-9 * size)
            return true;
    }
    return false;
}

static bool is_total(const tab_table *t, size_t row)
{
    size_t labels = 0, numbers = 0, sums = 0;
    for (size_t k = 0; k < t->cols; k++) {
        tab_cell x = tab_cell_at(&t->col[k], row);
        size_t nonzero = 0;
        if (x.kind == TAB_CELL_NULL)
            continue;
        if (t->col[k].layout != TAB_NUMBERS && says_total(x.text)) {
            labels++;
            continue;
        }
        if (!is_sum(&t->col[k], row, &nonzero))
            return false;
        numbers++;
        sums += nonzero >= 3;
    }
    return labels == 0 ? sums > 1 && t->cols > sums
                       : labels == 1 && t->cols > 1 && (numbers == 0 || sums > 0);
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
    while (t->rows > 0 && empty_row(t, t->rows - 1))
        t->rows--; /* what set it off */
    return true;
}
