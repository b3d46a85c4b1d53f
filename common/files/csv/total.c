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

static const char *const words[] = {
    "total", "totals",   "grand total", "sum",          "summe",        "gesamt",
    "somme", "totale",   "totaal",      "totalt",       "gesamtsumme",  "zwischensumme",
    "suma",  "subtotal", "sub-total",   "\u5408\u8ba1", "\u5408\u8a08", "\u0418\u0442\u043e\u0433\u043e"
};

/* The text without blanks and colons at its end. */
static tab_str bare(tab_str s)
{
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == ':'))
        s.n--;
    return s;
}

static bool says_total(tab_str s)
{
    s = bare(s);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (s.n == strlen(words[i]) && strncasecmp(s.p, words[i], s.n) == 0)
            return true;
    return false;
}

/* Does the text begin or end with such a word, as "Total North" and "North, sum" do? */
static bool names_total(tab_str s)
{
    s = bare(s);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (s.n == n && strncasecmp(s.p, words[i], n) == 0)
            return true;
        if (s.n <= n)
            continue;
        bool first = strncasecmp(s.p, words[i], n) == 0 && (s.p[n] == ' ' || s.p[n] == ':');
        bool last = strncasecmp(s.p + s.n - n, words[i], n) == 0 && s.p[s.n - n - 1] == ' ';
        if (first || last)
            return true;
    }
    return false;
}

/* Blanks between groups, an apostrophe, or a currency's sign: bytes that say nothing of the number. */
static size_t silent(const char *p, size_t n)
{
    static const char *const signs[] = { " ",      "'",      "$",      "\u00a0", "\u202f",
                                         "\u2009", "\u2019", "\u20ac", "\u00a3", "\u00a5" };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t k = strlen(signs[i]);
        if (k <= n && memcmp(p, signs[i], k) == 0)
            return k;
    }
    return 0;
}

/* The number's signs alone, of an amount: without a currency before or behind it (EUR, a sign), blanks;
 * brackets and a minus behind it become one before it. n 0: it is none. */
static tab_str bare_number(tab_str s, char buf[64])
{
    size_t n = 1, run = 0, i = 0;
    bool minus = false, digits = false, over = false;
    while (i < s.n && n + 1 < 64) {
        char c = s.p[i];
        bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        size_t skip = letter || (c >= '0' && c <= '9') ? 0 : silent(s.p + i, s.n - i);
        run = letter ? run + 1 : 0;
        if (run > 3 || (over && c >= '0' && c <= '9'))
            return TAB_S("");
        over |= letter && digits;
        if (c == '-' && n > 1 && i + 1 < s.n)
            return TAB_S(""); /* a day */
        if (c == '-' || c == '(' || c == ')') {
            minus = true;
        } else if (skip == 0 && !letter) {
            digits |= c >= '0' && c <= '9';
            buf[n++] = c;
        }
        i += skip > 0 ? skip : 1;
    }
    buf[0] = '-';
    return i < s.n || !digits ? TAB_S("") : minus ? (tab_str){ buf, n } : (tab_str){ buf + 1, n - 1 };
}

/* A number with groups of three, 1.234,50 or 1,234.50, or a decimal comma: what is no number of JSON.
 * Amounts of money as well. */
static bool grouped(tab_str amount, char decimal, double *ret)
{
    char buf[64];
    bool plain = true; /* nearly always */
    for (size_t i = 0; i < amount.n && plain; i++)
        plain = (amount.p[i] >= '0' && amount.p[i] <= '9') || amount.p[i] == '.' || amount.p[i] == ',' ||
                (amount.p[i] == '-' && i == 0);
    tab_str s = plain ? amount : bare_number(amount, buf);
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

/* Adds up the rows above of a column of numbers. */
static void add_numbers(const double *num, size_t rows, double *ret_sum, double *ret_size,
                        size_t *ret_nonzero)
{
    double sum = 0, size = 0;
    size_t nonzero = 0;
    for (size_t i = 0; i < rows; i++) {
        double x = isnan(num[i]) ? 0 : num[i];
        sum += x;
        size += fabs(x);
        nonzero += x != 0;
    }
    *ret_sum = sum;
    *ret_size = size;
    *ret_nonzero = nonzero;
}

/* Adds up the rows above, of which each that is filled is a number; false: one is none. */
static bool add_up(const tab_column *c, size_t row, char decimal, double *ret_sum, double *ret_size,
                   size_t *ret_nonzero)
{
    add_numbers(c->num, c->layout == TAB_NUMBERS ? row : 0, ret_sum, ret_size, ret_nonzero);
    for (size_t i = 0; c->layout != TAB_NUMBERS && i < row; i++) {
        tab_cell cell = tab_cell_at(c, i);
        double x = cell.num;
        if (cell.kind == TAB_CELL_NULL)
            continue;
        if (cell.kind == TAB_CELL_BOOL || !grouped(cell.text, decimal, &x))
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
    for (const char *decimal = c->layout == TAB_NUMBERS ? "," : ",."; *decimal != 0; decimal++) {
        if (c->layout != TAB_NUMBERS && !grouped(cell.text, *decimal, &x))
            continue;
        if (add_up(c, row, *decimal, &sum, &size, ret_nonzero) && fabs(sum - x) <= 1e-9 * size)
            return true;
    }
    return false;
}

/* Of a column above a row: how many of its cells are missing, and whether the row's number is at least as
 * large as each of them, as a sum of what is not negative is. */
static void look_above(const tab_column *c, size_t row, size_t *ret_missing, bool *ret_largest)
{
    tab_cell cell = tab_cell_at(c, row);
    double x = cell.num, y;
    *ret_missing = 0;
    *ret_largest = c->layout == TAB_NUMBERS || grouped(cell.text, ',', &x) || grouped(cell.text, '.', &x);
    for (size_t i = 0; i < row; i++) {
        tab_cell above = tab_cell_at(c, i);
        y = above.num;
        bool missing = above.kind == TAB_CELL_NULL;
        *ret_missing += missing;
        if (!missing && c->layout != TAB_NUMBERS)
            *ret_largest &=
                above.kind != TAB_CELL_BOOL && (grouped(above.text, ',', &y) || grouped(above.text, '.', &y));
        *ret_largest &= missing || (y >= 0 && y <= x);
    }
}

/* What the cells of a row are to a total. */
typedef struct {
    size_t labels, phrases; /* "Total"; "Total of all" */
    size_t numbers, sums;   /* sums of three numbers that are not 0, at least */
    size_t others, largest; /* numbers that are no sum of their column; of these as large as any above */
    size_t holes;           /* empty where no cell above is */
} total_signs;

/* How many cells say total; SIZE_MAX: some is a text that is none, and no row of totals has one. Asked first,
 * since it settles most rows (decision 0813). */
static size_t words_of(const tab_table *t, size_t row)
{
    size_t n = 0;
    for (size_t k = 0; k < t->cols; k++) {
        const tab_column *c = &t->col[k];
        double value;
        if (c->layout == TAB_NUMBERS || c->code[row] == TAB_NULL)
            continue;
        tab_str s = tab_cell_at(c, row).text;
        bool says = says_total(s) || names_total(s);
        if (!says && !grouped(s, ',', &value) && !grouped(s, '.', &value))
            return SIZE_MAX;
        n += says;
    }
    return n;
}

/* Of a row without other texts. say: how many cells say total; where none does, the first number that is no
 * sum settles it. */
static total_signs signs_of(const tab_table *t, size_t row, size_t say)
{
    total_signs s = { 0 };
    for (size_t k = 0; k < t->cols && (say > 0 || s.others == 0); k++) {
        const tab_column *c = &t->col[k];
        tab_cell x = tab_cell_at(c, row);
        size_t nonzero = 0, missing = 0;
        bool largest = false;
        if (x.kind == TAB_CELL_NULL && say > 0) {
            look_above(c, row, &missing, &largest);
            s.holes += missing == 0;
        } else if (x.kind == TAB_CELL_NULL) {
            continue;
        } else if (c->layout != TAB_NUMBERS && says_total(x.text)) {
            s.labels++;
        } else if (c->layout != TAB_NUMBERS && names_total(x.text)) {
            s.phrases++;
        } else if (is_sum(c, row, &nonzero)) {
            s.numbers++;
            s.sums += nonzero >= 3;
        } else {
            if (say > 0)
                look_above(c, row, &missing, &largest);
            s.others++;
            s.largest += largest;
        }
    }
    return s;
}

/* A row that says so need not add up: what is said may be rounded, wrong, or of rows that were left out. Then
 * something else must set it apart: a sum beside a mean, a cell missing where none is, or numbers that are
 * the largest of their columns (decision 0700). */
static bool is_total(const tab_table *t, size_t row)
{
    size_t say = words_of(t, row);
    if (say == SIZE_MAX)
        return false;
    total_signs s = signs_of(t, row, say);
    if (s.labels + s.phrases == 0)
        return s.others == 0 && s.sums > 1 && t->cols > s.sums;
    if (s.labels + s.phrases > 1 || t->cols < 2)
        return false;
    if (s.others == 0 && s.labels == 1)
        return s.numbers == 0 || s.sums > 0;
    if (s.labels == 0)
        return s.sums > 0;
    return s.sums > 0 || s.holes > 0 || s.largest == s.others;
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

/* ---- groups ----------------------------------------------------------------------------------------- */

enum { MAY_BE = 2 }; /* in drop, for a while */

/* Marks the rows whose texts name a total; their number. */
static size_t candidates(tab_arena *a, const tab_table *t, size_t from, size_t to, uint8_t *drop)
{
    size_t n = 0;
    for (size_t k = 0; k < t->cols; k++) {
        const tab_column *c = &t->col[k];
        size_t found = 0;
        uint8_t *is = c->layout == TAB_CODED ? tab_arena_alloc(a, c->levels + 1, 1) : NULL;
        for (size_t level = 0, begin = 0; is != NULL && level < c->levels; begin = c->end[level++]) {
            is[level] = c->kind[level] == TAB_CELL_TEXT &&
                        names_total((tab_str){ c->text + begin, c->end[level] - begin });
            found += is[level];
        }
        for (size_t i = from; i < to && found > 0; i++)
            if (c->code[i] != TAB_NULL && is[c->code[i]] && drop[i] == 0) {
                drop[i] = MAY_BE;
                n++;
            }
    }
    return n;
}

/* Does every such row hold the sum of its group in this column? A row right behind another one holds the sum
 * of all groups. */
static bool adds_up(const tab_column *c, size_t from, size_t to, const uint8_t *drop, char decimal)
{
    double sum = 0, size = 0, all = 0, all_size = 0;
    size_t rows = 0, groups = 0;
    for (size_t i = from; i < to; i++) {
        tab_cell cell = tab_cell_at(c, i);
        double x = cell.num;
        bool null = cell.kind == TAB_CELL_NULL, last = drop[i] == MAY_BE;
        if (drop[i] == 1)
            continue;
        if (!null && c->layout != TAB_NUMBERS &&
            (cell.kind == TAB_CELL_BOOL || !grouped(cell.text, decimal, &x)))
            return false;
        if (!last) {
            sum += null ? 0 : x;
            size += null ? 0 : fabs(x);
            rows += !null && x != 0;
            continue;
        }
        bool whole = size == 0;
        if (null || !(fabs((whole ? all : sum) - x) <= 1e-9 * (whole ? all_size : size)))
            return false;
        groups += rows > 1;
        all += sum;
        all_size += size;
        sum = size = 0;
        rows = 0;
    }
    return groups > 1;
}

size_t tab_group_totals(tab_arena *a, const tab_table *t, size_t from, size_t to, uint8_t *drop)
{
    bool found = false;
    size_t n = candidates(a, t, from, to, drop);
    for (size_t k = 0; k < t->cols && n > 1 && !found; k++)
        found = adds_up(&t->col[k], from, to, drop, ',') ||
                (t->col[k].layout != TAB_NUMBERS && adds_up(&t->col[k], from, to, drop, '.'));
    for (size_t i = from; i < to; i++)
        if (drop[i] == MAY_BE)
            drop[i] = found;
    return found ? n : 0;
}
