#include "common/json/spread.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"

/* FEW: different numbers up to which each is shown as a value. SMALL: cells up to which values are named
 * though none repeats. By hand. */
enum { FEW = 12, SMALL = 20 };

static Tabella__Spread *spread_new(tab_arena *a)
{
    Tabella__Spread *s = tab_arena_new_of(a, Tabella__Spread, 1);
    if (s == NULL)
        return NULL;
    tabella__spread__init(s);
    s->value = tab_arena_new_of(a, ProtobufCBinaryData, TAB_SPREAD_VALUES);
    s->rows = tab_arena_new_of(a, uint64_t, TAB_SPREAD_VALUES);
    s->bins = tab_arena_new_of(a, uint64_t, TAB_SPREAD_BINS);
    return tab_arena_full(a) ? NULL : s;
}

/* Puts a value in its place among the most frequent ones; of equally frequent ones the first stays first. */
static bool put(tab_arena *a, Tabella__Spread *s, tab_str text, uint64_t rows)
{
    size_t at = s->n_value < TAB_SPREAD_VALUES ? s->n_value++ : TAB_SPREAD_VALUES;
    if (at == TAB_SPREAD_VALUES && rows <= s->rows[--at])
        return true;
    for (; at > 0 && rows > s->rows[at - 1]; at--) {
        s->value[at] = s->value[at - 1];
        s->rows[at] = s->rows[at - 1];
    }
    /* cut between two characters */
    size_t n = text.n < TAB_SPREAD_TEXT ? text.n : TAB_SPREAD_TEXT;
    while (n > 0 && n < text.n && (text.p[n] & 0xc0) == 0x80)
        n--;
    tab_str copy = tab_arena_copy(a, (tab_str){ text.p, n });
    s->value[at] = (ProtobufCBinaryData){ .len = copy.n, .data = (uint8_t *)(uintptr_t)copy.p };
    s->rows[at] = rows;
    s->n_rows = s->n_value;
    return copy.p != NULL;
}

Tabella__Spread *tab_spread_numbers(tab_arena *a, const double *x, size_t n)
{
    Tabella__Spread *s = spread_new(a);
    double *sorted = malloc((n + 1) * sizeof *sorted);
    size_t m = 0;
    char text[32];
    if (s == NULL || sorted == NULL) {
        free(sorted);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            sorted[m++] = x[i];
    qsort(sorted, m, sizeof *sorted, tab_ascending_double);
    for (size_t i = 0; i < m; i++)
        s->distinct += i == 0 || sorted[i] > sorted[i - 1];
    s->present = m;
    bool good = true;
    if (s->distinct > FEW) {
        s->n_bins = TAB_SPREAD_BINS;
        s->low = sorted[0];
        s->high = sorted[m - 1];
        for (size_t i = 0; i < m; i++) { /* halves do not overflow */
            size_t k = (size_t)((sorted[i] / 2 - s->low / 2) / (s->high / 2 - s->low / 2) * TAB_SPREAD_BINS);
            s->bins[k < TAB_SPREAD_BINS ? k : TAB_SPREAD_BINS - 1]++;
        }
    } else {
        for (size_t i = 0, k; good && i < m; i = k) {
            for (k = i; k < m && !(sorted[k] > sorted[i]); k++)
                ;
            good = put(a, s, (tab_str){ text, tab_number_text(sorted[i], text) }, k - i);
        }
    }
    free(sorted);
    return good ? s : NULL;
}

Tabella__Spread *tab_spread_codes(tab_arena *a, const uint32_t *code, size_t n, const tab_str *level,
                                  size_t levels)
{
    Tabella__Spread *s = spread_new(a);
    uint64_t *count = calloc(levels + 1, sizeof *count);
    bool good = s != NULL && count != NULL;
    for (size_t i = 0; good && i < n; i++)
        if (code[i] < levels) {
            s->present++;
            count[code[i]]++;
        }
    for (size_t k = 0; good && k < levels; k++)
        s->distinct += count[k] > 0;
    bool named = good && (s->present <= SMALL || 10 * s->distinct <= 9 * s->present);
    for (size_t k = 0; named && good && k < levels; k++)
        if (count[k] > 0)
            good = put(a, s, level[k], count[k]);
    free(count);
    return good ? s : NULL;
}

/* Numbers that are kept by their digits, beside others: a histogram all the same. */
static bool as_numbers(const tab_column *c, size_t rows, double *x)
{
    for (size_t i = 0; i < c->levels; i++)
        if (c->kind[i] != TAB_CELL_NUMBER)
            return false;
    for (size_t r = 0; r < rows; r++) {
        tab_cell cell = tab_cell_at(c, r);
        x[r] = cell.kind == TAB_CELL_NUMBER ? cell.num : (double)NAN;
    }
    return true;
}

Tabella__Spread *tab_spread_column(tab_arena *a, const tab_column *c, size_t rows)
{
    if (c->layout == TAB_NUMBERS)
        return tab_spread_numbers(a, c->num, rows);
    double *x = c->levels > FEW ? malloc((rows + 1) * sizeof *x) : NULL;
    tab_str *level = calloc(c->levels + 1, sizeof *level);
    Tabella__Spread *s = NULL;
    for (size_t i = 0; level != NULL && i < c->levels; i++)
        level[i] = tab_level(c, i);
    if (x != NULL && as_numbers(c, rows, x))
        s = tab_spread_numbers(a, x, rows);
    else if (level != NULL)
        s = tab_spread_codes(a, c->code, rows, level, c->levels);
    free(x);
    free(level);
    return s;
}

void tab_spread_json(tab_out *o, const Tabella__Spread *s)
{
    tab_out_open(o, '{');
    if (s->n_bins > 0) {
        tab_out_key(o, "bins");
        tab_out_open(o, '[');
        for (size_t i = 0; i < s->n_bins; i++)
            tab_out_uint(o, s->bins[i]);
        tab_out_close(o, ']');
        tab_out_key(o, "low");
        tab_out_real(o, s->low);
        tab_out_key(o, "high");
        tab_out_real(o, s->high);
    } else {
        tab_out_key(o, "values");
        tab_out_open(o, '[');
        for (size_t i = 0; i < s->n_value; i++) {
            tab_out_open(o, '{');
            tab_out_key(o, "value");
            tab_out_str(o, (tab_str){ (const char *)s->value[i].data, s->value[i].len });
            tab_out_key(o, "rows");
            tab_out_uint(o, s->rows[i]);
            tab_out_close(o, '}');
        }
        tab_out_close(o, ']');
    }
    if (s->time) {
        tab_out_key(o, "time");
        tab_out_bool(o, true);
    }
    tab_out_key(o, "distinct");
    tab_out_uint(o, s->distinct);
    tab_out_key(o, "present");
    tab_out_uint(o, s->present);
    tab_out_close(o, '}');
}
