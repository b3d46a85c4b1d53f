/* See cells.h. */
#include "services/data-connector/source/cells.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json/json.h"

enum { MOST_DIGITS = 15 };

bool cell_is_text(const char *p, size_t n)
{
    const uint64_t ones = 0x0101010101010101u, high = ones << 7;
    size_t at = 0;
    for (uint64_t x; n - at >= sizeof x; at += sizeof x) { /* most are ASCII */
        memcpy(&x, p + at, sizeof x);
        if (((x | (x - ones)) & high) != 0)
            break;
    }
    while (at < n && (signed char)p[at] > 0)
        at++;
    if (at == n)
        return true;
    return tab_utf8_valid((tab_str){ p, n }) && memchr(p, 0, n) == NULL;
}

void cell_size(tab_builder *b, const char *what, size_t n)
{
    char text[48];
    tab_builder_text(b, (tab_str){ text, (size_t)snprintf(text, sizeof text, "%s(%zu)", what, n) });
}

void cell_vector(tab_builder *b, const char *text, size_t n)
{
    size_t parts = 1;
    for (size_t i = 0; i < n; i++)
        parts += text[i] == ',';
    cell_size(b, "vector", parts);
}

void cell_text(tab_builder *b, const char *p, size_t n)
{
    if (n > CELL_BYTES) {
        n = CELL_BYTES;
        while (n > 0 && ((unsigned char)p[n] & 0xc0) == 0x80)
            n--;
    }
    tab_builder_text(b, (tab_str){ p, n });
}

void cell_double(tab_builder *b, double x)
{
    if (isfinite(x))
        tab_builder_number(b, x);
    else
        tab_builder_null(b);
}

void cell_double_text(tab_builder *b, const char *text, size_t n)
{
    size_t used;
    double x;
    tab_number_kind kind = tab_number_read(text, text + n, &used, &x);
    bool plain = (kind == TAB_NUMBER_EXACT || kind == TAB_NUMBER_DIGITS) && used == n;
    cell_double(b, plain ? x : strtod(text, NULL));
}

void cell_number(tab_builder *b, const char *text, size_t n)
{
    double near;
    size_t read;
    if (n <= MOST_DIGITS && tab_number_read(text, text + n, &read, &near) == TAB_NUMBER_EXACT && read == n) {
        tab_builder_number(b, near); /* most of them */
        return;
    }
    size_t digits = 0, used;
    bool leading = true;
    char again[32];
    if (!isdigit((unsigned char)text[n - 1])) { /* NaN, Infinity */
        tab_builder_null(b);
        return;
    }
    for (size_t i = 0; i < n && text[i] != 'e' && text[i] != 'E'; i++) {
        if (!isdigit((unsigned char)text[i]))
            continue;
        leading = leading && text[i] == '0';
        digits += !leading;
    }
    double x = strtod(text, NULL);
    if (!isfinite(x))
        tab_builder_null(b);
    else if (digits <= MOST_DIGITS ||
             tab_str_eq((tab_str){ text, n }, (tab_str){ again, tab_number_text(x, again) }))
        tab_builder_number(b, x);
    else if (tab_number_read(text, text + n, &used, &x) != TAB_NUMBER_NONE && used == n)
        tab_builder_number_text(b, (tab_str){ text, n });
    else /* no number of a database's */
        tab_builder_null(b);
}

void cell_time(tab_builder *b, const char *text, size_t n, bool zone)
{
    char out[64];
    if (n < 10 || n > 40 || text[4] != '-' || (n > 10 && text[10] != ' ') || text[n - 1] == 'C' ||
        memcmp(text, "0000", 4) == 0 || memcmp(text + 5, "00", 2) == 0 ||
        memcmp(text + 8, "00", 2) == 0) { /* infinity, five digits, BC; MySQL's dates of zeros */
        tab_builder_null(b);
        return;
    }
    memcpy(out, text, n);
    if (n > 10)
        out[10] = 'T';
    if (zone && n > 3 && memcmp(out + n - 3, "+00", 3) == 0) {
        n -= 3;
        out[n++] = 'Z';
    }
    tab_builder_text(b, (tab_str){ out, n });
}

cells_kind cells_of(const tab_column *c)
{
    if (c->layout == TAB_NUMBERS)
        return CELLS_NUMBER;
    for (size_t i = 0; i < c->levels; i++)
        if (c->kind[i] != TAB_CELL_BOOL)
            return CELLS_TEXT;
    return c->levels > 0 ? CELLS_BOOL : CELLS_TEXT;
}

tab_str cell_out(const tab_column *c, size_t row, char digits[32])
{
    tab_cell x = tab_cell_at(c, row);
    if (x.kind == TAB_CELL_NULL)
        return (tab_str){ NULL, 0 };
    if (x.kind == TAB_CELL_NUMBER && x.text.n == 0)
        return (tab_str){ digits, tab_number_text(x.num, digits) };
    return x.text;
}
