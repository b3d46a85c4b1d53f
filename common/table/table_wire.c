/* See table_wire.h: protobuf's wire format by hand, for protobuf-c would copy every column. */
#include "common/table/table_wire.h"

#include <assert.h>
#include <math.h>

/* ---- writing --------------------------------------------------------------------------------- */

/* Writing. The length of a nested message is not known when its head is written. So every length is a varint
 * of five bytes (legal protobuf, 35 bits) that is filled in when the message is complete. */
enum { LEN = 5, TAG_LEN = 1 + LEN };

typedef struct {
    size_t at; /* offset in the stream */
    const char *p;
} segment;

struct tab_wire {
    segment *seg;
    size_t n, bytes;
    char *heads; /* one buffer for all heads; a segment points into it */
    size_t heads_n;
};

static void put_len(char *p, size_t n)
{
    for (int i = 0; i < LEN; i++)
        p[i] = (char)((n >> (7 * i) & 0x7f) | (i < LEN - 1 ? 0x80 : 0));
}

/* n bytes of head, continuing the last segment where that was a head too. */
static char *head(tab_wire *w, size_t n)
{
    char *p = w->heads + w->heads_n;
    bool joins = w->n > 0 && w->seg[w->n - 1].p + (w->bytes - w->seg[w->n - 1].at) == p;
    if (!joins)
        w->seg[w->n++] = (segment){ w->bytes, p };
    w->heads_n += n;
    w->bytes += n;
    return p;
}

static char *open_field(tab_wire *w, unsigned field)
{
    char *p = head(w, TAG_LEN);
    p[0] = (char)(field << 3 | 2);
    return p + 1;
}

static void put_bytes(tab_wire *w, unsigned field, const void *bytes, size_t n)
{
    put_len(open_field(w, field), n);
    if (n > 0) {
        w->seg[w->n++] = (segment){ w->bytes, bytes };
        w->bytes += n;
    }
}

static void put_array(tab_wire *w, unsigned field, const void *bytes, size_t n)
{
    size_t zeros = (8 - (w->bytes + 2 * TAG_LEN) % 8) % 8;
    put_len(open_field(w, 8), zeros);
    memset(head(w, zeros), 0, zeros);
    put_bytes(w, field, bytes, n);
}

static void put_column(tab_wire *w, const tab_column *c, size_t rows)
{
    char *len = open_field(w, 3);
    size_t from = w->bytes;
    put_bytes(w, 1, c->name.p, c->name.n);
    if (c->layout == TAB_NUMBERS) {
        put_array(w, 3, c->num, rows * sizeof *c->num);
    } else {
        memcpy(head(w, 2), "\x10\x01", 2);
        put_array(w, 4, c->code, rows * sizeof *c->code);
        put_bytes(w, 5, c->text, c->levels == 0 ? 0 : c->end[c->levels - 1]);
        put_array(w, 6, c->end, c->levels * sizeof *c->end);
        put_bytes(w, 7, c->kind, c->levels);
    }
    put_len(len, w->bytes - from);
}

tab_status tab_wire_new(tab_arena *a, const tab_table *const *tables, size_t n, tab_wire **ret,
                        tab_error *err)
{
    size_t columns = 0;
    for (size_t i = 0; i < n; i++)
        columns += tables[i]->cols;
    /* a column: 8 heads with their pads at most, a table: 4; and a segment on each side of each array */
    size_t heads = columns * (8 * TAG_LEN + 4 * 8) + n * 4 * (TAG_LEN + 8) + 16;
    tab_wire *w = tab_arena_new_of(a, tab_wire, 1);
    if (w != NULL) {
        w->seg = tab_arena_new_of(a, segment, columns * 12 + n * 6 + 2);
        w->heads = tab_arena_alloc(a, heads, 1);
    }
    if (w == NULL || tab_arena_full(a))
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const tab_table *t = tables[i];
        char *len = open_field(w, 1);
        size_t from = w->bytes;
        put_bytes(w, 1, t->id.p, t->id.n);
        char *rows = head(w, 1 + LEN);
        rows[0] = 2 << 3;
        put_len(rows + 1, t->rows);
        for (size_t c = 0; c < t->cols; c++)
            put_column(w, &t->col[c], t->rows);
        put_len(len, w->bytes - from);
    }
    assert(w->heads_n <= heads && w->n <= columns * 12 + n * 6 + 2); /* as was reserved */
    *ret = w;
    return TAB_OK;
}

size_t tab_wire_bytes(const tab_wire *w)
{
    return w->bytes;
}

void tab_wire_copy(const tab_wire *w, size_t at, size_t n, char *ret)
{
    assert(at <= w->bytes && n <= w->bytes - at);
    size_t lo = 0, hi = w->n; /* the last segment that starts at or before `at` */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (w->seg[mid].at <= at)
            lo = mid;
        else
            hi = mid;
    }
    for (size_t i = lo; n > 0; i++) {
        size_t end = i + 1 < w->n ? w->seg[i + 1].at : w->bytes, m = end - at < n ? end - at : n;
        memcpy(ret, w->seg[i].p + (at - w->seg[i].at), m);
        ret += m;
        at += m;
        n -= m;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct {
    const char *p, *end;
    bool bad;
} reader;

static uint64_t varint(reader *r)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64 && r->p < r->end; shift += 7) {
        uint8_t b = (uint8_t)*r->p++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            return v;
    }
    r->bad = true;
    return 0;
}

static tab_str sized(reader *r)
{
    uint64_t n = varint(r);
    if (r->bad || n > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return (tab_str){ r->end, 0 };
    }
    tab_str s = { r->p, (size_t)n };
    r->p += n;
    return s;
}

/* The next field: its number and its bytes or its varint. False at the end, or at what is malformed. */
static bool field(reader *r, unsigned *ret_field, tab_str *bytes, uint64_t *number)
{
    if (r->p == r->end || r->bad)
        return false;
    uint64_t key = varint(r);
    *ret_field = (unsigned)(key >> 3);
    *bytes = (tab_str){ NULL, 0 };
    *number = 0;
    switch (key & 7) {
    case 0:
        *number = varint(r);
        break;
    case 2:
        *bytes = sized(r);
        break;
    default:
        r->bad = true;
    }
    return !r->bad;
}

/* The array in place where it is aligned, else a copy. */
static const void *array(tab_arena *a, tab_str s, size_t align)
{
    if (s.n == 0 || (uintptr_t)s.p % align == 0)
        return s.p == NULL ? "" : s.p;
    void *p = tab_arena_alloc(a, s.n, 1);
    if (p != NULL)
        memcpy(p, s.p, s.n);
    return p;
}

static tab_status illegal(tab_error *err, const char *why)
{
    return tab_fail(err, TAB_VALIDATION, "tables", "a table's bytes are damaged: %s", why);
}

static tab_status check_levels(const tab_column *c, size_t rows, size_t text_n, tab_error *err)
{
    uint32_t from = 0;
    for (size_t i = 0; i < c->levels; i++) {
        if (c->end[i] < from || c->end[i] > text_n || c->kind[i] < TAB_CELL_NUMBER ||
            c->kind[i] > TAB_CELL_BOOL)
            return illegal(err, "a level");
        from = c->end[i];
    }
    if (from != text_n)
        return illegal(err, "the levels' text");
    for (size_t r = 0; r < rows; r++)
        if (c->code[r] >= c->levels && c->code[r] != TAB_NULL)
            return illegal(err, "a code without its level");
    return TAB_OK;
}

static tab_status read_column(tab_arena *a, tab_str bytes, size_t rows, tab_column *c, tab_error *err)
{
    reader r = { bytes.p, bytes.p + bytes.n, false };
    tab_str numbers = { NULL, 0 }, codes = numbers, text = numbers, end = numbers, kind = numbers, s;
    uint64_t x, coded = 0;
    for (unsigned f; field(&r, &f, &s, &x);) {
        switch (f) {
        case 1:
            c->name = s;
            break;
        case 2:
            coded = x;
            break;
        case 3:
            numbers = s;
            break;
        case 4:
            codes = s;
            break;
        case 5:
            text = s;
            break;
        case 6:
            end = s;
            break;
        case 7:
            kind = s;
            break;
        default:
            break;
        }
    }
    if (r.bad)
        return illegal(err, "a column's fields");
    if (coded == 0) {
        if (codes.n != 0 || text.n != 0 || end.n != 0 || kind.n != 0)
            return illegal(err, "numbers and codes in one column");
        if (numbers.n % sizeof *c->num != 0 || numbers.n / sizeof *c->num != rows)
            return illegal(err, "the number of rows");
        c->layout = TAB_NUMBERS;
        c->num = array(a, numbers, _Alignof(double));
        for (size_t i = 0; c->num != NULL && i < rows; i++)
            if (isinf(c->num[i]))
                return illegal(err, "an infinite number");
    } else {
        if (codes.n % sizeof *c->code != 0 || codes.n / sizeof *c->code != rows || numbers.n != 0)
            return illegal(err, "the number of rows");
        if (end.n % sizeof *c->end != 0 || end.n / sizeof *c->end != kind.n || text.n >= UINT32_MAX)
            return illegal(err, "the number of levels");
        c->layout = TAB_CODED;
        c->levels = kind.n;
        c->code = array(a, codes, _Alignof(uint32_t));
        c->end = array(a, end, _Alignof(uint32_t));
        c->text = text.p == NULL ? "" : text.p;
        c->kind = kind.p == NULL ? (const uint8_t *)"" : (const uint8_t *)kind.p;
        if (!tab_arena_full(a))
            return check_levels(c, rows, text.n, err);
    }
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

static tab_status read_table(tab_arena *a, tab_str bytes, tab_table *t, tab_error *err)
{
    reader count = { bytes.p, bytes.p + bytes.n, false };
    tab_str s;
    uint64_t x;
    t->id = (tab_str){ "", 0 };
    for (unsigned f; field(&count, &f, &s, &x);) {
        if (f == 1)
            t->id = s;
        else if (f == 2)
            t->rows = x;
        else if (f == 3)
            t->cols++;
    }
    if (count.bad || t->rows >= UINT32_MAX)
        return illegal(err, "a table's fields");
    tab_column *col = tab_arena_new_of(a, tab_column, t->cols);
    if (col == NULL)
        return tab_no_memory(err);
    t->col = col;
    reader r = { bytes.p, bytes.p + bytes.n, false };
    tab_status st = TAB_OK;
    for (unsigned f; st == TAB_OK && field(&r, &f, &s, &x);)
        if (f == 3) {
            col->name = (tab_str){ "", 0 };
            st = s.p == NULL ? illegal(err, "a column's fields") : read_column(a, s, t->rows, col, err);
            col++;
        }
    return st;
}

tab_status tab_wire_read(tab_arena *a, tab_str bytes, const tab_table *const **ret, size_t *ret_n,
                         tab_error *err)
{
    reader r = { bytes.p, bytes.p + bytes.n, false };
    size_t n = 0, i = 0;
    tab_str s;
    uint64_t x;
    for (unsigned f; field(&r, &f, &s, &x);)
        n += f == 1;
    if (r.bad)
        return illegal(err, "its outer fields");
    const tab_table **list = tab_arena_new_of(a, const tab_table *, n);
    tab_table *t = tab_arena_new_of(a, tab_table, n);
    if (list == NULL || t == NULL)
        return tab_no_memory(err);
    r = (reader){ bytes.p, bytes.p + bytes.n, false };
    for (unsigned f; field(&r, &f, &s, &x);) {
        if (f != 1)
            continue;
        tab_status st = s.p == NULL ? illegal(err, "a table") : read_table(a, s, &t[i], err);
        if (st != TAB_OK)
            return st;
        list[i] = &t[i];
        i++;
    }
    assert(i == n);
    *ret = (const tab_table *const *)list;
    *ret_n = n;
    return TAB_OK;
}
