/* See row_binary.h. */
#include "services/data-connector/providers/row_binary.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json/json.h"
#include "services/data-connector/data.h"
#include "services/data-connector/source/cells.h"

enum { DEPTH = 16, TYPE_BYTES = 1 << 16, TEXT = 64, TYPES_MOST = 1 << 16 };

typedef enum {
    OF_UINT,
    OF_INT,
    OF_FLOAT,
    OF_BOOL,
    OF_STRING,
    OF_FIXED,
    OF_DATE,
    OF_DATE32,
    OF_TIME,   /* seconds */
    OF_TIME64, /* 10^-scale seconds */
    OF_DECIMAL,
    OF_ENUM,
    OF_UUID,
    OF_IPV4,
    OF_IPV6,
    OF_NOTHING,
    OF_ARRAY
} kind;

typedef struct type type;
struct type {
    kind kind;
    size_t bytes; /* of a value */
    unsigned scale;
    bool nullable;
    const type *of;   /* OF_ARRAY */
    const char *text; /* OF_ENUM: "'a' = 1, 'b' = 2)" */
};

typedef struct {
    tab_arena *a;
    const uint8_t *p, *end;
    size_t types;
    bool bad;
} reader;

/* ---- bytes ---------------------------------------------------------------------------------------- */

static const uint8_t *take(reader *r, uint64_t n)
{
    const uint8_t *p = r->p;
    if (n > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return NULL;
    }
    r->p += n;
    return p;
}

static uint64_t varint(reader *r)
{
    uint64_t x = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *b = take(r, 1);
        if (b == NULL)
            return 0;
        x |= (uint64_t)(*b & 0x7f) << shift;
        if (*b < 0x80)
            return x;
    }
    r->bad = true;
    return 0;
}

static tab_str string(reader *r)
{
    uint64_t n = varint(r);
    const uint8_t *p = take(r, n);
    return p == NULL ? TAB_S("") : (tab_str){ (const char *)p, n };
}

/* Little-endian, of up to 16 bytes. */
static unsigned __int128 whole(reader *r, size_t n, bool sign)
{
    const uint8_t *p = take(r, n);
    unsigned __int128 x = 0;
    for (size_t i = n; p != NULL && i > 0; i--)
        x = x << 8 | p[i - 1];
    if (sign && n < 16 && p != NULL && (p[n - 1] & 0x80) != 0)
        x |= ~(unsigned __int128)0 << (8 * n);
    return x;
}

/* ---- types ---------------------------------------------------------------------------------------- */

static bool named(const char **p, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(*p, name, n) != 0 || isalnum((unsigned char)(*p)[n]))
        return false;
    *p += n;
    return true;
}

static size_t decimal_bytes(unsigned long digits)
{
    return digits <= 9 ? 4 : digits <= 18 ? 8 : digits <= 38 ? 16 : 0;
}

static const struct {
    const char *name;
    kind kind;
    size_t bytes;
} plain_types[] = {
    { "UInt8", OF_UINT, 1 },    { "UInt16", OF_UINT, 2 },     { "UInt32", OF_UINT, 4 },
    { "UInt64", OF_UINT, 8 },   { "UInt128", OF_UINT, 16 },   { "Int8", OF_INT, 1 },
    { "Int16", OF_INT, 2 },     { "Int32", OF_INT, 4 },       { "Int64", OF_INT, 8 },
    { "Int128", OF_INT, 16 },   { "Float32", OF_FLOAT, 4 },   { "Float64", OF_FLOAT, 8 },
    { "Bool", OF_BOOL, 1 },     { "String", OF_STRING, 0 },   { "Date", OF_DATE, 2 },
    { "Date32", OF_DATE32, 4 }, { "UUID", OF_UUID, 16 },      { "IPv4", OF_IPV4, 4 },
    { "IPv6", OF_IPV6, 16 },    { "Nothing", OF_NOTHING, 0 },
};

/* FixedString(bytes), DateTime64(scale, ...), Decimal(digits, scale) at *p, into t; NULL: it is not read. */
static const type *read_sized(const char **p, type *t)
{
    bool fixed = named(p, "FixedString"), time = !fixed && named(p, "DateTime64"),
         decimal = !fixed && !time && named(p, "Decimal");
    if ((!fixed && !time && !decimal) || *(*p)++ != '(')
        return NULL;
    char *end;
    unsigned long first = strtoul(*p, &end, 10), second = 0;
    if (decimal && *end == ',')
        second = strtoul(end + 1, &end, 10);
    *p = end + strcspn(end, ")");
    *p += **p == ')';
    *t = (type){ .kind = fixed  ? OF_FIXED
                         : time ? OF_TIME64
                                : OF_DECIMAL,
                 .bytes = fixed  ? first
                          : time ? 8
                                 : decimal_bytes(first),
                 .scale = (unsigned)(time ? first : second) };
    return t->scale > 38 || (t->kind == OF_TIME64 && t->scale > 9) || t->bytes == 0 || t->bytes > TYPE_BYTES
               ? NULL
               : t;
}

/* The type at *p; NULL: it is not read. */
static const type *read_type(reader *r, const char **p, int depth)
{
    type *t = depth > DEPTH || ++r->types > TYPES_MOST ? NULL : tab_arena_new_of(r->a, type, 1);
    if (t == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof plain_types / sizeof *plain_types; i++)
        if (named(p, plain_types[i].name)) {
            t->kind = plain_types[i].kind;
            t->bytes = plain_types[i].bytes;
            return t;
        }
    if (named(p, "DateTime")) {
        *t = (type){ .kind = OF_TIME, .bytes = 4 };
        *p += **p == '(' ? strcspn(*p, ")") + 1 : 0;
        return t;
    }
    if (named(p, "Enum8") || named(p, "Enum16")) {
        *t = (type){ .kind = OF_ENUM, .bytes = (*p)[-1] == '8' ? 1 : 2, .text = *p + 1 };
        for (++*p; **p != '\0' && **p != ')'; ++*p) /* names may hold anything */
            if (**p == '\'')
                for (++*p; **p != '\0' && **p != '\''; ++*p)
                    *p += **p == '\\' && (*p)[1] != '\0';
        *p += **p == ')';
        return t;
    }
    bool nullable = named(p, "Nullable"), low = !nullable && named(p, "LowCardinality"),
         array = !nullable && !low && named(p, "Array");
    if (nullable || low || array) {
        if (*(*p)++ != '(' || (t->of = read_type(r, p, depth + 1)) == NULL || *(*p)++ != ')')
            return NULL;
        if (!array) {
            *t = *t->of;
            t->nullable |= nullable;
        } else {
            t->kind = OF_ARRAY;
        }
        return t;
    }
    return read_sized(p, t);
}

/* ---- values --------------------------------------------------------------------------------------- */

/* A value before it is a cell: a number's digits, a real number, a text; or nothing. */
typedef struct {
    enum { V_NULL, V_DIGITS, V_REAL, V_TRUE, V_FALSE, V_TEXT, V_BYTES } kind;
    double x;
    tab_str text;
    char buf[TEXT];
} value;

static void digits(value *v, unsigned __int128 x, bool sign, unsigned scale)
{
    char back[TEXT];
    bool minus = sign && (__int128)x < 0;
    size_t n = 0, at = 0;
    if (minus)
        x = -x;
    do {
        back[n++] = (char)('0' + (int)(x % 10));
        x /= 10;
        if (n == scale && scale > 0)
            back[n++] = '.';
    } while (x > 0 || (scale > 0 && n <= scale + 1));
    if (minus)
        v->buf[at++] = '-';
    while (n > 0)
        v->buf[at++] = back[--n];
    v->buf[at] = '\0';
    v->kind = V_DIGITS;
    v->text = (tab_str){ v->buf, at };
}

/* Civil date of days since 1970 (Howard Hinnant's algorithm). False: no year of four digits. */
static bool civil(int64_t days, int *y, int *m, int *d)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365,
            doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    int64_t year = yoe + era * 400 + (*m <= 2);
    *y = (int)year;
    return year >= 1 && year <= 9999;
}

static void moment(value *v, int64_t seconds, int64_t fraction, unsigned scale, bool day)
{
    int y, m, d;
    int64_t days = seconds / 86400, rest = seconds % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    v->kind = V_NULL;
    if (days > 3000000 || days < -800000 || !civil(days, &y, &m, &d))
        return;
    int n = snprintf(v->buf, sizeof v->buf, "%04d-%02d-%02d", y, m, d);
    if (!day)
        n += snprintf(v->buf + n, sizeof v->buf - (size_t)n, "T%02d:%02d:%02d", (int)(rest / 3600),
                      (int)(rest / 60 % 60), (int)(rest % 60));
    if (!day && scale > 0)
        n += snprintf(v->buf + n, sizeof v->buf - (size_t)n, ".%0*lld", (int)scale, (long long)fraction);
    if (!day)
        n += snprintf(v->buf + n, sizeof v->buf - (size_t)n, "Z");
    v->kind = V_TEXT;
    v->text = (tab_str){ v->buf, (size_t)n };
}

static void moment64(value *v, int64_t x, unsigned scale)
{
    int64_t one = 1;
    for (unsigned i = 0; i < scale; i++)
        one *= 10;
    int64_t seconds = x / one, fraction = x % one;
    if (fraction < 0) {
        fraction += one;
        seconds--;
    }
    moment(v, seconds, fraction, scale, false);
}

/* The name of an enumeration's number, in its declaration; else the digits. */
static void enumerated(reader *r, value *v, const char *p, long x)
{
    while (*p == '\'' || *p == ' ' || *p == ',') {
        const char *from;
        if (*p != '\'') {
            p++;
            continue;
        }
        for (from = ++p; *p != '\0' && *p != '\''; p++)
            p += *p == '\\' && p[1] != '\0';
        tab_str name = { from, (size_t)(p - from) };
        p += *p == '\'';
        p += strspn(p, " =");
        char *end;
        if (strtol(p, &end, 10) == x) {
            char *bare = tab_arena_alloc(r->a, name.n + 1, 1);
            size_t n = 0;
            for (size_t i = 0; bare != NULL && i < name.n; i++) {
                i += name.p[i] == '\\' && i + 1 < name.n;
                bare[n++] = name.p[i];
            }
            v->kind = bare == NULL ? V_NULL : V_TEXT;
            v->text = (tab_str){ bare, n };
            return;
        }
        if (end == p)
            break;
        p = end;
    }
    digits(v, (unsigned __int128)(__int128)x, true, 0);
}

static void address(value *v, const uint8_t *p, bool v6)
{
    size_t n = 0;
    for (size_t i = 0; i < 16 && v6; i += 2)
        n += (size_t)snprintf(v->buf + n, TEXT - n, "%s%x", i > 0 ? ":" : "", p[i] << 8 | p[i + 1]);
    if (!v6)
        n = (size_t)snprintf(v->buf, TEXT, "%u.%u.%u.%u", p[3], p[2], p[1], p[0]);
    v->kind = V_TEXT;
    v->text = (tab_str){ v->buf, n };
}

/* Two numbers of 64 bits, each the lowest byte first. */
static void uuid(value *v, const uint8_t *p)
{
    size_t n = 0;
    for (size_t i = 0; i < 16; i++)
        n += (size_t)snprintf(v->buf + n, TEXT - n, "%s%02x",
                              i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", p[i < 8 ? 7 - i : 23 - i]);
    v->kind = V_TEXT;
    v->text = (tab_str){ v->buf, n };
}

static void text_value(value *v, tab_str s, bool fixed)
{
    while (fixed && s.n > 0 && s.p[s.n - 1] == '\0') /* padded with zeros */
        s.n--;
    v->kind = cell_is_text(s.p, s.n) ? V_TEXT : V_BYTES;
    v->text = s;
}

/* A scalar. */
static void read_value(reader *r, const type *t, value *v)
{
    const uint8_t *p;
    float f;
    v->kind = V_NULL;
    v->text = (tab_str){ NULL, 0 };
    if (t->nullable && (p = take(r, 1)) != NULL && *p != 0)
        return;
    switch (t->kind) {
    case OF_UINT:
    case OF_INT:
        digits(v, whole(r, t->bytes, t->kind == OF_INT), t->kind == OF_INT, 0);
        break;
    case OF_DECIMAL:
        digits(v, whole(r, t->bytes, true), true, t->scale);
        break;
    case OF_FLOAT:
        if ((p = take(r, t->bytes)) == NULL)
            break;
        v->kind = V_REAL;
        if (t->bytes == 4) {
            memcpy(&f, p, 4);
            v->x = (double)f;
        } else {
            memcpy(&v->x, p, 8);
        }
        break;
    case OF_BOOL:
        v->kind = whole(r, 1, false) != 0 ? V_TRUE : V_FALSE;
        break;
    case OF_STRING:
        text_value(v, string(r), false);
        break;
    case OF_FIXED:
        if ((p = take(r, t->bytes)) != NULL)
            text_value(v, (tab_str){ (const char *)p, t->bytes }, true);
        break;
    case OF_DATE:
        moment(v, (int64_t)whole(r, 2, false) * 86400, 0, 0, true);
        break;
    case OF_DATE32:
        moment(v, (int64_t)whole(r, 4, true) * 86400, 0, 0, true);
        break;
    case OF_TIME:
        moment(v, (int64_t)whole(r, 4, false), 0, 0, false);
        break;
    case OF_TIME64:
        moment64(v, (int64_t)whole(r, 8, true), t->scale);
        break;
    case OF_ENUM:
        enumerated(r, v, t->text, (long)(int64_t)whole(r, t->bytes, true));
        break;
    case OF_UUID:
        if ((p = take(r, 16)) != NULL)
            uuid(v, p);
        break;
    case OF_IPV4:
    case OF_IPV6:
        if ((p = take(r, t->bytes)) != NULL)
            address(v, p, t->kind == OF_IPV6);
        break;
    case OF_NOTHING:
    case OF_ARRAY:
        break;
    }
}

static void json_value(reader *r, const type *t, tab_out *o)
{
    value v;
    if (t->kind != OF_ARRAY) {
        read_value(r, t, &v);
        switch (v.kind) {
        case V_DIGITS:
            tab_out_raw(o, v.text);
            break;
        case V_REAL:
            tab_out_double(o, v.x);
            break;
        case V_TRUE:
        case V_FALSE:
            tab_out_bool(o, v.kind == V_TRUE);
            break;
        case V_TEXT:
        case V_BYTES:
            tab_out_str(o, v.text);
            break;
        default:
            tab_out_null(o);
        }
        return;
    }
    tab_out_open(o, '[');
    for (uint64_t n = varint(r); n > 0 && !r->bad && !o->failed; n--) {
        const uint8_t *before = r->p;
        json_value(r, t->of, o);
        r->bad |= r->p == before; /* values of no bytes: a count alone would fill memory */
    }
    tab_out_close(o, ']');
}

static bool add(reader *r, const type *t, tab_builder *b)
{
    value v;
    if (t->kind == OF_ARRAY) {
        tab_out o = { 0 };
        json_value(r, t, &o);
        if (!r->bad && !o.failed)
            cell_text(b, o.p, o.n);
        bool failed = o.failed;
        tab_out_free(&o);
        return !failed;
    }
    read_value(r, t, &v);
    switch (v.kind) {
    case V_DIGITS:
        cell_number(b, v.text.p, v.text.n);
        break;
    case V_REAL:
        cell_double(b, v.x);
        break;
    case V_TRUE:
    case V_FALSE:
        tab_builder_bool(b, v.kind == V_TRUE);
        break;
    case V_TEXT:
        cell_text(b, v.text.p, v.text.n);
        break;
    case V_BYTES:
        cell_size(b, "bytes", v.text.n);
        break;
    default:
        tab_builder_null(b);
    }
    return true;
}

static tab_status begin(reader *r, size_t *ret_cols, tab_builder ***ret_b, const type ***ret_t,
                        tab_error *err)
{
    uint64_t cols = varint(r);
    if (r->bad || cols == 0 || cols > DATA_MOST_COLS)
        return tab_fail(err, TAB_VALIDATION, "source", "The source answered in an unexpected format.");
    tab_builder **b = tab_arena_new_of(r->a, tab_builder *, cols);
    const type **t = tab_arena_new_of(r->a, const type *, cols);
    for (size_t k = 0; k < cols && b != NULL && t != NULL; k++) {
        tab_str name = string(r);
        if (r->bad || !cell_is_text(name.p, name.n))
            return tab_fail(err, TAB_VALIDATION, "source", "The source answered in an unexpected format.");
        b[k] = tab_builder_new(r->a, tab_arena_copy(r->a, name));
    }
    for (size_t k = 0; k < cols && t != NULL && !tab_arena_full(r->a); k++) {
        tab_str name = string(r);
        const char *text = name.n > TYPE_BYTES ? NULL : tab_arena_copy(r->a, name).p, *p = text;
        t[k] = text == NULL ? NULL : read_type(r, &p, 0);
        if (r->bad || t[k] == NULL || *p != '\0')
            return tab_fail(err, TAB_VALIDATION, "source",
                            "Column %zu has an unsupported type; convert it in options.query.", k + 1);
    }
    *ret_cols = cols;
    *ret_b = b;
    *ret_t = t;
    return tab_arena_full(r->a) ? tab_no_memory(err) : TAB_OK;
}

tab_status row_binary_read(tab_arena *a, tab_str bytes, tab_str id, const tab_table **ret, tab_error *err)
{
    reader r = { .a = a, .p = (const uint8_t *)bytes.p, .end = (const uint8_t *)bytes.p + bytes.n };
    size_t cols = 0, rows = 0;
    tab_builder **b;
    const type **t;
    TAB_TRY(begin(&r, &cols, &b, &t, err));
    while (r.p < r.end) {
        const uint8_t *before = r.p;
        for (size_t k = 0; k < cols; k++)
            if (!add(&r, t[k], b[k]))
                return tab_no_memory(err);
        if (r.bad || r.p == before)
            return tab_fail(err, TAB_VALIDATION, "source", "The response of the source ends inside a row.");
        if (++rows > DATA_MOST_CELLS / cols)
            return tab_fail(err, TAB_VALIDATION, "source", "A table can have at most %d cells.",
                            DATA_MOST_CELLS);
        if (tab_arena_full(a))
            return tab_no_memory(err);
    }
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    tab_table *table = tab_arena_new_of(a, tab_table, 1);
    for (size_t k = 0; k < cols; k++)
        if (col == NULL || table == NULL || !tab_builder_finish(b[k], &col[k]))
            return tab_no_memory(err);
    *table = (tab_table){ .id = id, .rows = rows, .cols = cols, .col = col };
    *ret = table;
    return TAB_OK;
}
