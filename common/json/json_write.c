/* JSON's writer: one growing buffer, no format strings. */
#include "common/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void tab_out_free(tab_out *o)
{
    free(o->p);
    *o = (tab_out){ 0 };
}

static char *room(tab_out *o, size_t n)
{
    if (o->cap - o->n < n) {
        size_t cap = o->cap < 1024 ? 1024 : o->cap;
        while (cap - o->n < n)
            cap += cap / 2;
        char *p = o->failed ? NULL : realloc(o->p, cap);
        if (p == NULL) {
            o->failed = true;
            return NULL;
        }
        o->p = p;
        o->cap = cap;
    }
    return o->p + o->n;
}

void tab_out_room(tab_out *o, size_t n)
{
    char *p = o->failed || o->cap - o->n >= n ? NULL : realloc(o->p, o->n + n);
    if (p != NULL) {
        o->p = p;
        o->cap = o->n + n;
    }
}

void tab_out_bytes(tab_out *o, const void *p, size_t n)
{
    char *q = room(o, n + 1);
    if (q == NULL)
        return;
    if (n > 0)
        memcpy(q, p, n);
    q[n] = 0;
    o->n += n;
}

/* Room for a value of n bytes behind the comma it may need; NULL: out of memory. */
static char *value(tab_out *o, size_t n)
{
    char *q = room(o, n + 2);
    if (q == NULL)
        return NULL;
    if (o->comma)
        *q++ = ',', o->n++;
    o->comma = true;
    return q;
}

static void put(tab_out *o, const char *p, size_t n)
{
    char *q = value(o, n);
    if (q != NULL) {
        memcpy(q, p, n);
        o->n += n;
    }
}

void tab_out_raw(tab_out *o, tab_str json)
{
    put(o, json.p, json.n);
}

void tab_out_open(tab_out *o, char bracket)
{
    put(o, &bracket, 1);
    o->comma = false;
}

void tab_out_close(tab_out *o, char bracket)
{
    char *q = room(o, 1);
    if (q != NULL)
        *q = bracket, o->n++;
    o->comma = true;
}

void tab_out_key(tab_out *o, const char *key)
{
    size_t n = strlen(key);
    char *q = value(o, n + 3);
    if (q == NULL)
        return;
    *q = '"';
    memcpy(q + 1, key, n);
    memcpy(q + 1 + n, "\":", 2);
    o->n += n + 3;
    o->comma = false;
}

void tab_out_key_str(tab_out *o, tab_str key)
{
    tab_out_str(o, key);
    tab_out_bytes(o, ":", 1);
    o->comma = false;
}

/* 0: as it stands; 'u': \u00XX; 1: not ASCII; else the letter behind the backslash. */
static const char ESCAPE[256] = {
    ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\',
    [0] = 'u',    [1] = 'u',    [2] = 'u',    [3] = 'u',    [4] = 'u',    [5] = 'u',   [6] = 'u',
    [7] = 'u',    [11] = 'u',   [14] = 'u',   [15] = 'u',   [16] = 'u',   [17] = 'u',  [18] = 'u',
    [19] = 'u',   [20] = 'u',   [21] = 'u',   [22] = 'u',   [23] = 'u',   [24] = 'u',  [25] = 'u',
    [26] = 'u',   [27] = 'u',   [28] = 'u',   [29] = 'u',   [30] = 'u',   [31] = 'u',  [127] = 'u',
};

/* The length of the well-formed UTF-8 character at p (RFC 3629), 0 when there is none. */
static size_t character(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    size_t len = p[0] >= 0xC2 && p[0] < 0xE0   ? 2
                 : p[0] >= 0xE0 && p[0] < 0xF0 ? 3
                 : p[0] >= 0xF0 && p[0] < 0xF5 ? 4
                                               : 0;
    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
        (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return len;
}

void tab_out_str(tab_out *o, tab_str s)
{
    static const char HEX[] = "0123456789abcdef";
    char *start = value(o, 6 * s.n + 2), *q = start; /* the longest: \u00XX for each byte */
    if (q == NULL)
        return;
    const unsigned char *p = (const unsigned char *)s.p;
    *q++ = '"';
    for (size_t i = 0; i < s.n;) {
        unsigned char c = p[i];
        if (c >= 0x80) {
            size_t len = character(p + i, s.n - i);
            memcpy(q, len > 0 ? (const char *)p + i : "\xEF\xBF\xBD", len > 0 ? len : 3);
            q += len > 0 ? len : 3;
            i += len > 0 ? len : 1;
            continue;
        }
        i++;
        if (ESCAPE[c] == 0) {
            *q++ = (char)c;
            continue;
        }
        *q++ = '\\';
        *q++ = ESCAPE[c];
        if (ESCAPE[c] == 'u') {
            memcpy(q, "00", 2);
            q[2] = HEX[c >> 4];
            q[3] = HEX[c & 15];
            q += 4;
        }
    }
    *q++ = '"';
    o->n += (size_t)(q - start);
}

void tab_out_cstr(tab_out *o, const char *s)
{
    if (s == NULL)
        tab_out_null(o);
    else
        tab_out_str(o, tab_str_of(s));
}

void tab_out_null(tab_out *o)
{
    put(o, "null", 4);
}

void tab_out_bool(tab_out *o, bool x)
{
    put(o, x ? "true" : "false", x ? 4 : 5);
}

/* Writes the digits of x, at least `least` of them, and returns their number. */
static size_t digits(uint64_t x, size_t least, char *q)
{
    char buf[24];
    size_t n = 0;
    do
        buf[n++] = (char)('0' + x % 10);
    while ((x /= 10) != 0);
    while (n < least)
        buf[n++] = '0';
    for (size_t i = 0; i < n; i++)
        q[i] = buf[n - 1 - i];
    return n;
}

void tab_out_uint(tab_out *o, uint64_t x)
{
    char buf[24];
    put(o, buf, digits(x, 1, buf));
}

void tab_out_int(tab_out *o, int64_t x)
{
    char buf[24];
    buf[0] = '-';
    size_t n = digits(x < 0 ? 0 - (uint64_t)x : (uint64_t)x, 1, buf + 1);
    put(o, x < 0 ? buf : buf + 1, x < 0 ? n + 1 : n);
}

void tab_out_double(tab_out *o, double x)
{
    char buf[32];
    if (isfinite(x))
        put(o, buf, tab_number_text(x, buf));
    else
        tab_out_null(o);
}

/* sign, whole part, point and `places` decimals of scaled / 10^places, without trailing zeros. */
static void put_scaled(tab_out *o, bool negative, uint64_t scaled, int places, uint64_t power)
{
    char buf[48];
    size_t n = 0;
    if (negative && scaled != 0)
        buf[n++] = '-';
    n += digits(scaled / power, 1, buf + n);
    uint64_t part = scaled % power;
    if (part != 0) {
        buf[n++] = '.';
        n += digits(part, (size_t)places, buf + n);
        while (buf[n - 1] == '0')
            n--;
    }
    put(o, buf, n);
}

void tab_out_fixed(tab_out *o, double x)
{
    if (!(fabs(x) < 1e12)) {
        tab_out_real(o, x);
        return;
    }
    put_scaled(o, x < 0, (uint64_t)(fabs(x) * 1e6 + 0.5), 6, 1000000);
}

void tab_out_real(tab_out *o, double x)
{
    static const double POWER[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    double y = fabs(x);
    if (y >= 1e9 && y < 9e15) {
        /* Whole numbers beyond nine digits keep their place: round to the ninth. */
        int over = 1;
        while (over < 7 && y >= 1e9 * POWER[over])
            over++;
        uint64_t power = (uint64_t)POWER[over];
        put_scaled(o, x < 0, ((uint64_t)y + power / 2) / power * power, 0, 1);
    } else if (y >= 1e-5 && y < 1e9) {
        int places = 0; /* so that y 10^places has nine digits before its point */
        while (places < 14 && y * POWER[places] < 1e8)
            places++;
        put_scaled(o, x < 0, (uint64_t)(y * POWER[places] + 0.5), places, (uint64_t)POWER[places]);
    } else if (y == 0) {
        put(o, "0", 1);
    } else if (isfinite(x)) {
        char buf[40];
        int n = snprintf(buf, sizeof buf, "%.8e", x);
        double rounded = 0;
        size_t used;
        if (tab_number_read(buf, buf + n, &used, &rounded) == TAB_NUMBER_EXACT)
            put(o, buf, tab_number_text(rounded, buf));
        else
            tab_out_double(o, x);
    } else {
        tab_out_null(o);
    }
}

void tab_out_cell(tab_out *o, const tab_column *c, size_t row)
{
    if (c->layout == TAB_NUMBERS) {
        tab_out_double(o, c->num[row]);
        return;
    }
    uint32_t k = c->code[row];
    if (k == TAB_NULL)
        tab_out_null(o);
    else if (c->kind[k] == TAB_CELL_TEXT)
        tab_out_str(o, tab_level(c, k));
    else
        tab_out_raw(o, tab_level(c, k));
}
