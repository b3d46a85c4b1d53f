/* See bson.h. */
#include "services/data-connector/protocols/bson.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/integer.h"
#include "services/data-connector/providers/array_rows.h"
#include "services/data-connector/source/cells.h"

enum { OID = 12, DECIMAL = 16 };

/* ---- out ------------------------------------------------------------------------------------------- */

static void put_number(bson_writer *w, uint64_t x, size_t bytes)
{
    uint8_t little[8];
    for (size_t i = 0; i < bytes; i++)
        little[i] = (uint8_t)(x >> (8 * i));
    tab_out_bytes(&w->out, little, bytes);
}

static void put_head(bson_writer *w, const char *key, bson_type type)
{
    if (key == NULL)
        return;
    put_number(w, type, 1);
    tab_out_bytes(&w->out, key, strlen(key) + 1);
}

void bson_open(bson_writer *w, const char *key, bson_type type)
{
    put_head(w, key, type);
    w->from[w->depth++] = w->out.n;
    put_number(w, 0, 4);
}

void bson_close(bson_writer *w)
{
    size_t from = w->from[--w->depth];
    put_number(w, 0, 1);
    for (size_t i = 0; i < 4 && !w->out.failed; i++)
        w->out.p[from + i] = (char)((w->out.n - from) >> (8 * i));
}

void bson_text(bson_writer *w, const char *key, tab_str x)
{
    put_head(w, key, BSON_TEXT);
    put_number(w, x.n + 1, 4);
    tab_out_bytes(&w->out, x.p, x.n);
    put_number(w, 0, 1);
}

void bson_int32(bson_writer *w, const char *key, int32_t x)
{
    put_head(w, key, BSON_INT32);
    put_number(w, (uint32_t)x, 4);
}

void bson_int64(bson_writer *w, const char *key, int64_t x)
{
    put_head(w, key, BSON_INT64);
    put_number(w, (uint64_t)x, 8);
}

void bson_bool(bson_writer *w, const char *key, bool x)
{
    put_head(w, key, BSON_BOOL);
    put_number(w, x, 1);
}

void bson_bytes(bson_writer *w, const char *key, tab_str x)
{
    put_head(w, key, BSON_BINARY);
    put_number(w, x.n, 4);
    put_number(w, 0, 1);
    tab_out_bytes(&w->out, x.p, x.n);
}

/* "2026-01-31T12:30:00.250Z" in milliseconds. */
static bool read_time(tab_str text, int64_t *ret)
{
    char copy[40];
    struct tm t = { 0 };
    int ms = 0, used = 0;
    if (text.n < 20 || text.n >= sizeof copy || text.p[text.n - 1] != 'Z')
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    const char *rest = strptime(copy, "%Y-%m-%dT%H:%M:%S", &t);
    if (rest == NULL || (*rest == '.' ? sscanf(rest, ".%3dZ%n", &ms, &used) != 1 || used != 5 || ms < 0
                                      : strcmp(rest, "Z") != 0))
        return false;
    *ret = (int64_t)timegm(&t) * 1000 + ms;
    return true;
}

/* {"$oid": ...} and its like. */
static bool extended(bson_writer *w, const char *key, const tab_json *m)
{
    int64_t x;
    uint8_t id[OID];
    if (tab_str_eq(m->key, TAB_S("$oid")) && m->kind == TAB_JSON_STRING && m->text.n == 2 * OID) {
        for (size_t i = 0; i < OID; i++) {
            char two[3] = { m->text.p[2 * i], m->text.p[2 * i + 1], '\0' }, *end;
            id[i] = (uint8_t)strtoul(two, &end, 16);
            if (end != two + 2 || two[0] == '+' || two[0] == '-' || two[0] == ' ')
                return false;
        }
        put_head(w, key, BSON_ID);
        tab_out_bytes(&w->out, id, OID);
        return true;
    }
    if (tab_str_eq(m->key, TAB_S("$date")) && m->kind == TAB_JSON_STRING && read_time(m->text, &x)) {
        put_head(w, key, BSON_DATE);
        put_number(w, (uint64_t)x, 8);
        return true;
    }
    if (tab_str_eq(m->key, TAB_S("$numberLong")) && m->kind == TAB_JSON_STRING &&
        tab_integer_read(m->text, INT64_MIN, INT64_MAX, &x)) {
        bson_int64(w, key, x);
        return true;
    }
    return false;
}

static bool is_extended(const tab_json *x)
{
    static const char *const names[] = { "$oid", "$date", "$numberLong" };
    for (size_t i = 0; i < sizeof names / sizeof *names && x->count == 1; i++)
        if (tab_str_eq(x->first->key, tab_str_of(names[i])))
            return true;
    return false;
}

static void put_json_number(bson_writer *w, const char *key, const tab_json *x)
{
    int64_t n;
    if (tab_integer_read(x->text, INT64_MIN, INT64_MAX, &n)) {
        if (n >= INT32_MIN && n <= INT32_MAX)
            bson_int32(w, key, (int32_t)n);
        else
            bson_int64(w, key, n);
        return;
    }
    uint64_t bits;
    memcpy(&bits, &x->num, sizeof bits);
    put_head(w, key, BSON_DOUBLE);
    put_number(w, bits, 8);
}

static bool put_members(bson_writer *w, const char *key, const tab_json *x, const char **ret_bad)
{
    static const char *const code[] = { "$where", "$function", "$accumulator" };
    size_t i = 0;
    if (w->depth >= BSON_DEPTH) {
        *ret_bad = "depth";
        return false;
    }
    bson_open(w, key, x->kind == TAB_JSON_ARRAY ? BSON_ARRAY : BSON_DOCUMENT);
    for (const tab_json *m = x->first; m != NULL; m = m->next, i++) {
        char name[1025];
        if (x->kind == TAB_JSON_ARRAY)
            snprintf(name, sizeof name, "%zu", i);
        else
            snprintf(name, sizeof name, "%.*s", (int)(m->key.n < 1024 ? m->key.n : 1024), m->key.p);
        for (size_t k = 0; k < sizeof code / sizeof *code; k++)
            if (strcmp(name, code[k]) == 0) {
                *ret_bad = code[k];
                return false;
            }
        if (x->kind == TAB_JSON_OBJECT && strlen(name) != m->key.n) {
            *ret_bad = "name";
            return false;
        }
        if (!bson_json(w, name, m, ret_bad))
            return false;
    }
    bson_close(w);
    return true;
}

bool bson_json(bson_writer *w, const char *key, const tab_json *x, const char **ret_bad)
{
    switch (x->kind) {
    case TAB_JSON_NULL:
        put_head(w, key, BSON_NULL);
        return true;
    case TAB_JSON_BOOL:
        bson_bool(w, key, x->yes);
        return true;
    case TAB_JSON_NUMBER:
        put_json_number(w, key, x);
        return true;
    case TAB_JSON_STRING:
        bson_text(w, key, x->text);
        return true;
    case TAB_JSON_OBJECT:
        if (is_extended(x)) {
            *ret_bad = "$oid, $date or $numberLong";
            return extended(w, key, x->first);
        }
        return put_members(w, key, x, ret_bad);
    case TAB_JSON_ARRAY:
        return put_members(w, key, x, ret_bad);
    }
    return false;
}

/* ---- in -------------------------------------------------------------------------------------------- */

static uint64_t little(const char *p, size_t n)
{
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++)
        x |= (uint64_t)(uint8_t)p[i] << (8 * i);
    return x;
}

bool bson_document(tab_str bytes, tab_str *ret)
{
    uint64_t n = bytes.n < 5 ? 0 : little(bytes.p, 4);
    if (n < 5 || n > bytes.n || bytes.p[n - 1] != '\0')
        return false;
    *ret = (tab_str){ bytes.p, n };
    return true;
}

/* The bytes of a value that begins at p; SIZE_MAX: none that ends within n. */
static size_t value_size(int type, const char *p, size_t n)
{
    uint64_t m = n < 4 ? 0 : little(p, 4);
    switch (type) {
    case BSON_NULL:
    case 0x06: /* undefined */
    case 0xff: /* the least, the greatest key */
    case 0x7f:
        return 0;
    case BSON_BOOL:
        return 1;
    case BSON_INT32:
        return 4;
    case BSON_DOUBLE:
    case BSON_DATE:
    case 0x11: /* timestamp */
    case BSON_INT64:
        return 8;
    case BSON_ID:
        return OID;
    case 0x13: /* decimal */
        return DECIMAL;
    case BSON_TEXT:
    case 0x0d: /* code */
    case 0x0e: /* symbol */
        return n < 5 || m < 1 || m > n - 4 || p[4 + m - 1] != '\0' ? SIZE_MAX : 4 + m;
    case BSON_DOCUMENT:
    case BSON_ARRAY:
    case 0x0f: /* code with what it sees */
        return n < 5 || m < 5 || m > n || p[m - 1] != '\0' ? SIZE_MAX : m;
    case BSON_BINARY:
        return n < 5 || m > n - 5 ? SIZE_MAX : 5 + m;
    case 0x0b: { /* expression: two texts that end in 0 */
        size_t first = strnlen(p, n), second = first < n ? strnlen(p + first + 1, n - first - 1) : n;
        return first + 1 + second < n ? first + second + 2 : SIZE_MAX;
    }
    case 0x0c: /* pointer */
        return n < 4 + OID + 1 || m < 1 || m > n - 4 - OID ? SIZE_MAX : 4 + m + OID;
    default:
        return SIZE_MAX;
    }
}

bool bson_next(tab_str d, size_t *at, bson_element *ret, bool *ret_bad)
{
    if (*at == 0)
        *at = 4;
    *ret_bad = *at >= d.n;
    if (*ret_bad || (d.p[*at] == '\0' && *at + 1 == d.n))
        return false;
    const char *name = d.p + *at + 1;
    size_t left = d.n - 1 - *at - 1, n = strnlen(name, left); /* without the document's own zero */
    ret->type = (uint8_t)d.p[*at];
    ret->name = (tab_str){ name, n };
    size_t size = n < left ? value_size(ret->type, name + n + 1, left - n - 1) : SIZE_MAX;
    if (size > left || n + 1 + size > left) {
        *ret_bad = true;
        return false;
    }
    ret->value = (tab_str){ name + n + 1, size };
    *at += 1 + n + 1 + size;
    return true;
}

bool bson_find(tab_str document, const char *name, bson_element *ret)
{
    size_t at = 0;
    bool bad;
    while (bson_next(document, &at, ret, &bad))
        if (tab_str_eq(ret->name, tab_str_of(name)))
            return true;
    return false;
}

static double double_of(const bson_element *e)
{
    uint64_t bits = little(e->value.p, 8);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

bool bson_number(const bson_element *e, int64_t *ret)
{
    if (e->type == BSON_INT32)
        *ret = (int32_t)little(e->value.p, 4);
    else if (e->type == BSON_INT64)
        *ret = (int64_t)little(e->value.p, 8);
    else if (e->type == BSON_BOOL)
        *ret = e->value.p[0] != 0;
    else if (e->type == BSON_DOUBLE && fabs(double_of(e)) < 9e15)
        *ret = (int64_t)double_of(e);
    else
        return false;
    return true;
}

tab_str bson_bytes_of(const bson_element *e)
{
    if (e->type == BSON_TEXT)
        return (tab_str){ e->value.p + 4, e->value.n - 5 };
    if (e->type == BSON_BINARY)
        return (tab_str){ e->value.p + 5, e->value.n - 5 };
    return TAB_S("");
}

/* ---- as JSON --------------------------------------------------------------------------------------- */

static void put_time(tab_out *o, int64_t ms)
{
    char text[64];
    int64_t over = ms % 1000, s = ms / 1000 - (over < 0);
    size_t n = array_instant_text(text, s, (uint32_t)(over < 0 ? over + 1000 : over) * 1000000, true);
    if (n > 0)
        tab_out_str(o, (tab_str){ text, n });
    else
        tab_out_null(o);
}

/* IEEE 754-2008 decimal128 by its digits (binary integer coding). */
static void put_decimal(tab_out *o, const char *p)
{
    uint64_t low = little(p, 8), high = little(p + 8, 8);
    char text[80], digits[48];
    size_t n = 0, m = 0;
    if ((high >> 59 & 0xf) == 0xf) { /* infinite, or no number */
        tab_out_null(o);
        return;
    }
    bool beyond = (high >> 61 & 3) == 3; /* a coefficient of more digits than there are: zero */
    int exponent = (int)(high >> (beyond ? 47 : 49) & 0x3fff) - 6176;
    unsigned __int128 x = beyond ? 0 : (unsigned __int128)(high & 0x1ffffffffffff) << 64 | low, most = 1;
    for (int i = 0; i < 34; i++)
        most *= 10;
    x = x >= most ? 0 : x;
    do
        digits[n++] = (char)('0' + (int)(x % 10));
    while ((x /= 10) > 0);
    int point = -exponent;
    if (high >> 63 != 0)
        text[m++] = '-';
    if (point > 0 && point < 40) { /* 0.0025: zeros until there is one before the point */
        while (n <= (size_t)point)
            digits[n++] = '0';
        for (size_t i = n; i > 0; i--) {
            if (i == (size_t)point)
                text[m++] = '.';
            text[m++] = digits[i - 1];
        }
    } else {
        for (size_t i = n; i > 0; i--)
            text[m++] = digits[i - 1];
        if (exponent != 0)
            m += (size_t)snprintf(text + m, sizeof text - m, "E%d", exponent);
    }
    tab_out_raw(o, (tab_str){ text, m });
}

static void put_binary(tab_out *o, tab_str v)
{
    enum { UUID = 4, VECTOR = 9, FLOATS = 0x27, BYTES = 0x03, BITS = 0x10 };
    const uint8_t *p = (const uint8_t *)v.p + 5;
    size_t n = v.n - 5, m;
    char text[64];
    int subtype = (uint8_t)v.p[4], kind = n >= 2 ? p[0] : -1;
    if (subtype == UUID && n == 16) {
        m = 0;
        for (size_t i = 0; i < 16; i++)
            m += (size_t)snprintf(text + m, sizeof text - m, "%s%02x",
                                  i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", p[i]);
    } else if (subtype == VECTOR && (kind == FLOATS || kind == BYTES || kind == BITS)) {
        size_t size = kind == FLOATS ? (n - 2) / 4 : kind == BYTES ? n - 2 : 8 * (n - 2) - (p[1] & 7);
        m = (size_t)snprintf(text, sizeof text, "vector(%zu)", kind == BITS && n == 2 ? 0 : size);
    } else {
        m = (size_t)snprintf(text, sizeof text, "bytes(%zu)", n);
    }
    tab_out_str(o, (tab_str){ text, m });
}

/* What no cell may hold, a zero byte or another coding, is told as bytes, as of other databases. */
static void put_text(tab_out *o, tab_str x)
{
    char size[32];
    if (!cell_is_text(x.p, x.n))
        x = (tab_str){ size, (size_t)snprintf(size, sizeof size, "bytes(%zu)", x.n) };
    tab_out_str(o, x);
}

static void put_id(tab_out *o, const char *p)
{
    char hex[2 * OID + 1];
    for (size_t i = 0; i < OID; i++)
        snprintf(hex + 2 * i, 3, "%02x", (uint8_t)p[i]);
    tab_out_str(o, (tab_str){ hex, 2 * OID });
}

static bool put_container(tab_out *o, tab_str d, bool array, unsigned depth);

static bool put_value(tab_out *o, const bson_element *e, unsigned depth)
{
    const char *p = e->value.p;
    char digits[32];
    switch (e->type) {
    case BSON_DOUBLE: {
        double x = double_of(e);
        if (isfinite(x))
            tab_out_raw(o, (tab_str){ digits, tab_number_text(x, digits) });
        else
            tab_out_null(o);
        return true;
    }
    case BSON_TEXT:
    case 0x0d:
    case 0x0e:
        put_text(o, (tab_str){ p + 4, e->value.n - 5 });
        return true;
    case BSON_DOCUMENT:
    case BSON_ARRAY:
        return put_container(o, e->value, e->type == BSON_ARRAY, depth);
    case BSON_BINARY:
        put_binary(o, e->value);
        return true;
    case BSON_ID:
        put_id(o, p);
        return true;
    case 0x0c: /* a pointer: the id */
        put_id(o, p + e->value.n - OID);
        return true;
    case BSON_BOOL:
        tab_out_bool(o, p[0] != 0);
        return true;
    case BSON_DATE:
        put_time(o, (int64_t)little(p, 8));
        return true;
    case 0x11:
        put_time(o, (int64_t)little(p + 4, 4) * 1000);
        return true;
    case BSON_INT32:
        tab_out_int(o, (int32_t)little(p, 4));
        return true;
    case BSON_INT64:
        tab_out_int(o, (int64_t)little(p, 8));
        return true;
    case 0x13:
        put_decimal(o, p);
        return true;
    case 0x0b:
        put_text(o, (tab_str){ p, strlen(p) });
        return true;
    default: /* null, undefined, the least and the greatest key, code that sees a document */
        tab_out_null(o);
        return true;
    }
}

static bool put_container(tab_out *o, tab_str bytes, bool array, unsigned depth)
{
    tab_str d;
    bson_element e;
    size_t at = 0;
    bool bad = true;
    if (depth == BSON_DEPTH || !bson_document(bytes, &d))
        return false;
    tab_out_open(o, array ? '[' : '{');
    while (bson_next(d, &at, &e, &bad)) {
        if (!array)
            tab_out_key_str(o, e.name);
        if (!put_value(o, &e, depth + 1))
            return false;
    }
    tab_out_close(o, array ? ']' : '}');
    return !bad && !o->failed;
}

bool bson_to_json(tab_out *o, tab_str document)
{
    return put_container(o, document, false, 0);
}
