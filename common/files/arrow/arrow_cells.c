/* See arrow_cells.h. Buffers stand at any address, so numbers are copied out of them. */
#include "common/files/arrow/arrow_cells.h"
#include "common/files/iso.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json/json.h"

enum { EXACT_BITS = 53, STAMP_TEXT = 40, DAY_S = 86400 };

#define NAT INT64_MIN /* what pandas writes beside a missing time */

static tab_status damaged(tab_error *err, const char *what)
{
    return tab_fail(err, TAB_VALIDATION, "", "its data cannot be read: %s", what);
}

static uint64_t little(const char *p, size_t bytes)
{
    uint64_t x = 0;
    memcpy(&x, p, bytes);
    return x;
}

static int64_t whole(const char *p, size_t bytes)
{
    uint64_t x = little(p, bytes);
    size_t above = 64 - 8 * bytes;
    return above == 0 ? (int64_t)x : (int64_t)(x << above) >> above;
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static void add_int(tab_builder *b, const arrow_type *t, const char *p)
{
    size_t bytes = (size_t)t->bits / 8;
    char text[24];
    int64_t s = whole(p, bytes);
    uint64_t u = little(p, bytes), most = UINT64_C(1) << EXACT_BITS;
    if (t->is_signed ? s <= (int64_t)most && s >= -(int64_t)most : u <= most) {
        tab_builder_number(b, t->is_signed ? (double)s : (double)u);
        return;
    }
    int n = t->is_signed ? snprintf(text, sizeof text, "%lld", (long long)s)
                         : snprintf(text, sizeof text, "%llu", (unsigned long long)u);
    tab_builder_number_text(b, (tab_str){ text, (size_t)n });
}

static double half(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double x = exponent == 0    ? ldexp(fraction, -24)
               : exponent == 31 ? (double)NAN
                                : ldexp(1024 + fraction, exponent - 25);
    return h >> 15 ? -x : x;
}

static void add_float(tab_builder *b, const arrow_type *t, const char *p)
{
    double x;
    float f;
    if (t->bits == 64) {
        memcpy(&x, p, sizeof x);
    } else if (t->bits == 32) {
        memcpy(&f, p, sizeof f);
        x = isfinite(f) ? tab_shortest_single(f) : (double)NAN;
    } else {
        x = half((uint16_t)little(p, 2));
    }
    if (isfinite(x))
        tab_builder_number(b, x);
    else
        tab_builder_null(b);
}

/* A decimal's digits with its point; a whole number has none. bits: 32, 64, 128. */
static void add_decimal(tab_builder *b, const arrow_type *t, const char *p)
{
    char text[128], *end = text + sizeof text, *at = end;
    __int128 x = 0;
    if (t->bits == 128)
        memcpy(&x, p, sizeof x);
    else
        x = whole(p, (size_t)t->bits / 8);
    bool minus = x < 0, dropped = true;
    unsigned __int128 u = minus ? -(unsigned __int128)x : (unsigned __int128)x;
    for (int i = 0; i < t->scale || u > 0 || i == t->scale; i++) {
        char digit = (char)('0' + (int)(u % 10));
        if (i == t->scale && at != end)
            *--at = '.';
        u /= 10;
        dropped &= digit == '0' && i < t->scale; /* zeros at the end of a fraction */
        if (!dropped)
            *--at = digit;
    }
    if (minus)
        *--at = '-';
    size_t n;
    double exact;
    if (tab_number_read(at, end, &n, &exact) == TAB_NUMBER_EXACT)
        tab_builder_number(b, exact);
    else
        tab_builder_number_text(b, (tab_str){ at, (size_t)(end - at) });
}

/* ---- times --------------------------------------------------------------------------------------- */

static int64_t per_second(int unit)
{
    return unit == 0 ? 1 : unit == 1 ? 1000 : unit == 2 ? 1000000 : 1000000000;
}

static char *put_clock(char *p, int64_t second, int64_t fraction, int unit)
{
    p = tab_iso_digits(p, second / 3600, 2);
    *p++ = ':';
    p = tab_iso_digits(p, second / 60 % 60, 2);
    *p++ = ':';
    p = tab_iso_digits(p, second % 60, 2);
    if (fraction == 0)
        return p;
    *p++ = '.';
    if (unit < 3)
        return tab_iso_digits(p, fraction * (1000000 / per_second(unit)), 6);
    return fraction % 1000 == 0 ? tab_iso_digits(p, fraction / 1000, 6) : tab_iso_digits(p, fraction, 9);
}

static int64_t floor_div(int64_t x, int64_t by)
{
    return x / by - (x % by < 0);
}

static tab_status add_stamp(tab_builder *b, const arrow_type *t, int64_t x, bool dates, tab_error *err)
{
    char text[STAMP_TEXT], *p = text;
    int64_t per = per_second(t->unit), s = floor_div(x, per), days = floor_div(s, DAY_S);
    if (!tab_iso_in_calendar(days))
        return damaged(err, "a time is outside the years 1 to 9999");
    p = tab_iso_date(p, days);
    if (!dates) {
        *p++ = 'T';
        p = put_clock(p, s - days * DAY_S, x - s * per, t->unit);
    }
    if (t->zone) {
        memcpy(p, "+00:00", 6);
        p += 6;
    }
    tab_builder_text(b, (tab_str){ text, (size_t)(p - text) });
    return TAB_OK;
}

static tab_status hold_stamp(arrow_column *c, int64_t x, tab_error *err)
{
    if (c->stamps == c->stamps_cap) {
        size_t cap = c->stamps_cap < 1024 ? 1024 : 2 * c->stamps_cap;
        int64_t *p = realloc(c->stamp, cap * sizeof *p);
        if (p == NULL)
            return tab_no_memory(err);
        c->stamp = p;
        c->stamps_cap = cap;
    }
    c->stamp[c->stamps++] = x;
    return TAB_OK;
}

static tab_status add_date(tab_builder *b, const arrow_type *t, const char *p, tab_error *err)
{
    char text[STAMP_TEXT];
    int64_t days = t->bits == 32 ? whole(p, 4) : floor_div(whole(p, 8), INT64_C(1000) * DAY_S);
    if (!tab_iso_in_calendar(days))
        return damaged(err, "a date is outside the years 1 to 9999");
    tab_builder_text(b, (tab_str){ text, (size_t)(tab_iso_date(text, days) - text) });
    return TAB_OK;
}

static tab_status add_time(tab_builder *b, const arrow_type *t, const char *p, tab_error *err)
{
    char text[STAMP_TEXT];
    int64_t per = per_second(t->unit), x = whole(p, (size_t)t->bits / 8);
    if (x < 0 || x / per >= DAY_S)
        return damaged(err, "a time of day exceeds 24 hours");
    tab_builder_text(b, (tab_str){ text, (size_t)(put_clock(text, x / per, x % per, t->unit) - text) });
    return TAB_OK;
}

/* ---- texts --------------------------------------------------------------------------------------- */

static tab_status add_text(tab_builder *b, tab_str s, tab_error *err)
{
    if (!tab_utf8_valid(s))
        return damaged(err, "a string is not UTF-8");
    tab_builder_text(b, s);
    return TAB_OK;
}

/* Cell i between the offsets of `width` bytes at i and i + 1. */
static tab_status add_utf8(tab_builder *b, const arrow_array *x, size_t i, size_t width, tab_error *err)
{
    uint64_t from = little(x->values.p + i * width, width), to = little(x->values.p + (i + 1) * width, width);
    if (from > to || to > x->text.n)
        return damaged(err, "a text lies beyond its buffer");
    return add_text(b, (tab_str){ x->text.p + from, (size_t)(to - from) }, err);
}

/* A view: its length, then 12 bytes of text, or 4 of it, the number of a buffer and the place there. */
static tab_status add_view(tab_builder *b, const arrow_array *x, size_t i, tab_error *err)
{
    const char *p = x->values.p + 16 * i;
    uint64_t n = little(p, 4), buffer = little(p + 8, 4), at = little(p + 12, 4);
    if (n <= 12)
        return add_text(b, (tab_str){ p + 4, (size_t)n }, err);
    if (buffer >= x->n_more || at > x->more[buffer].n || n > x->more[buffer].n - at)
        return damaged(err, "a text lies beyond its buffer");
    return add_text(b, (tab_str){ x->more[buffer].p + at, (size_t)n }, err);
}

/* ---- a batch ------------------------------------------------------------------------------------- */

/* Bytes that the second buffer of so many rows has. */
static uint64_t needed(const arrow_type *t, uint64_t rows)
{
    switch (t->kind) {
    case ARROW_NULL:
        return 0;
    case ARROW_BOOL:
        return (rows + 7) / 8;
    case ARROW_UTF8:
        return rows == 0 ? 0 : 4 * (rows + 1);
    case ARROW_LARGE_UTF8:
        return rows == 0 ? 0 : 8 * (rows + 1);
    case ARROW_UTF8_VIEW:
        return 16 * rows;
    default:
        return rows * (uint64_t)t->bits / 8;
    }
}

tab_status arrow_cell_add(arrow_column *c, const arrow_array *x, size_t i, tab_error *err)
{
    const arrow_type *t = &c->type;
    const char *p = x->values.p + i * (size_t)t->bits / 8;
    switch (t->kind) {
    case ARROW_INT:
        add_int(c->b, t, p);
        return TAB_OK;
    case ARROW_FLOAT:
        add_float(c->b, t, p);
        return TAB_OK;
    case ARROW_DECIMAL:
        add_decimal(c->b, t, p);
        return TAB_OK;
    case ARROW_BOOL:
        tab_builder_bool(c->b, arrow_bit((const uint8_t *)x->values.p, i));
        return TAB_OK;
    case ARROW_DATE:
        return add_date(c->b, t, p, err);
    case ARROW_TIME:
        return add_time(c->b, t, p, err);
    case ARROW_TIMESTAMP:
        return hold_stamp(c, whole(p, 8), err);
    case ARROW_DURATION:
        if (whole(p, 8) == NAT)
            tab_builder_null(c->b);
        else
            tab_builder_number(c->b, (double)whole(p, 8) / (double)per_second(t->unit));
        return TAB_OK;
    case ARROW_UTF8:
        return add_utf8(c->b, x, i, 4, err);
    case ARROW_LARGE_UTF8:
        return add_utf8(c->b, x, i, 8, err);
    default:
        return add_view(c->b, x, i, err);
    }
}

tab_status arrow_null_add(arrow_column *c, tab_error *err)
{
    if (c->type.kind == ARROW_TIMESTAMP)
        return hold_stamp(c, NAT, err);
    tab_builder_null(c->b);
    return TAB_OK;
}

tab_status arrow_cells_add(arrow_column *c, const arrow_array *x, tab_error *err)
{
    if (x->values.n < needed(&c->type, x->rows))
        return damaged(err, "a buffer is shorter than its rows");
    for (size_t i = 0; i < x->rows; i++) {
        if (c->type.kind != ARROW_NULL && arrow_known(x, i))
            TAB_TRY(arrow_cell_add(c, x, i, err));
        else
            TAB_TRY(arrow_null_add(c, err));
    }
    return TAB_OK;
}

static tab_status write_stamps(arrow_column *c, tab_error *err)
{
    int64_t day = DAY_S * per_second(c->type.unit);
    bool dates = !c->type.zone;
    for (size_t i = 0; i < c->stamps && dates; i++)
        dates = c->stamp[i] == NAT || c->stamp[i] % day == 0;
    for (size_t i = 0; i < c->stamps; i++) {
        if (c->stamp[i] == NAT)
            tab_builder_null(c->b);
        else
            TAB_TRY(add_stamp(c->b, &c->type, c->stamp[i], dates, err));
    }
    return TAB_OK;
}

tab_status arrow_cells_end(arrow_column *c, tab_column *ret, tab_error *err)
{
    tab_status s = write_stamps(c, err);
    free(c->stamp);
    c->stamp = NULL;
    return s != TAB_OK ? s : tab_builder_finish(c->b, ret) ? TAB_OK : tab_no_memory(err);
}
