/* Reading of Thrift's compact protocol ("Thrift Compact protocol encoding" of its documentation) that nobody
 * has checked: every access is within the buffer, or it sets `bad` and gives 0.
 *
 *   struct: [delta of the id << 4 | type] value ... 0    list: [n << 4 | type] value ...    numbers: varints
 *
 * A true or false field has its value in its type. Loops end where `bad` is set, since no field follows. */
#ifndef TAB_FILES_THRIFT_H
#define TAB_FILES_THRIFT_H

#include "common/base/base.h"

typedef enum {
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_BYTE = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_DOUBLE = 7,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_SET = 10,
    THRIFT_MAP = 11,
    THRIFT_STRUCT = 12,
    THRIFT_UUID = 13
} tab_thrift_type;

enum { THRIFT_DEPTH = 16 };

typedef struct {
    const uint8_t *p;
    size_t n, at;
    bool bad;
} tab_thrift;

/* A field under way: { 0 } before the first. */
typedef struct {
    int id, type;
} tab_thrift_field;

static inline uint8_t tab_thrift_byte(tab_thrift *t)
{
    if (t->bad || t->at >= t->n) {
        t->bad = true;
        return 0;
    }
    return t->p[t->at++];
}

static inline uint64_t tab_thrift_varint(tab_thrift *t)
{
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t b = tab_thrift_byte(t);
        x |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return x;
    }
    t->bad = true;
    return 0;
}

static inline int64_t tab_thrift_zigzag(tab_thrift *t)
{
    uint64_t x = tab_thrift_varint(t);
    return (int64_t)(x >> 1 ^ (0 - (x & 1)));
}

static inline void tab_thrift_pass(tab_thrift *t, uint64_t n)
{
    if (t->bad || n > t->n - t->at)
        t->bad = true;
    else
        t->at += (size_t)n;
}

/* The next field of a struct; false behind the last. */
static inline bool tab_thrift_next(tab_thrift *t, tab_thrift_field *f)
{
    uint8_t head = tab_thrift_byte(t);
    if (t->bad || head == 0)
        return false;
    int64_t id = head >> 4 != 0 ? f->id + (head >> 4) : tab_thrift_zigzag(t);
    if (id < 0 || id > INT16_MAX)
        t->bad = true;
    f->id = t->bad ? 0 : (int)id;
    f->type = head & 15;
    return !t->bad;
}

/* How many elements a list has: no more than bytes are left. */
static inline size_t tab_thrift_list(tab_thrift *t, int type, int *ret_element)
{
    uint8_t head = tab_thrift_byte(t);
    uint64_t n = head >> 4 == 15 ? tab_thrift_varint(t) : head >> 4;
    *ret_element = head & 15;
    if (t->bad || (type != THRIFT_LIST && type != THRIFT_SET) || n > t->n - t->at) {
        t->bad = true;
        return 0;
    }
    return (size_t)n;
}

static inline int64_t tab_thrift_int(tab_thrift *t, int type)
{
    if (type == THRIFT_BYTE)
        return (int8_t)tab_thrift_byte(t);
    if (type == THRIFT_I16 || type == THRIFT_I32 || type == THRIFT_I64)
        return tab_thrift_zigzag(t);
    t->bad = true;
    return 0;
}

static inline bool tab_thrift_bool(tab_thrift *t, int type)
{
    t->bad |= type != THRIFT_TRUE && type != THRIFT_FALSE;
    return type == THRIFT_TRUE;
}

static inline tab_str tab_thrift_text(tab_thrift *t, int type)
{
    uint64_t n = type == THRIFT_BINARY ? tab_thrift_varint(t) : UINT64_MAX;
    size_t at = t->at;
    tab_thrift_pass(t, n);
    return t->bad ? TAB_S("") : (tab_str){ (const char *)t->p + at, (size_t)n };
}

static inline bool tab_thrift_is_struct(tab_thrift *t, int type)
{
    t->bad |= type != THRIFT_STRUCT;
    return !t->bad;
}

/* A value that is not wanted. In a list a truth value is a byte. */
static inline void tab_thrift_skip(tab_thrift *t, int type, bool element, int depth)
{
    tab_thrift_field f = { 0 };
    int key, value;
    size_t n;
    if (depth > THRIFT_DEPTH)
        t->bad = true;
    if (t->bad)
        return;
    switch (type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE:
        tab_thrift_pass(t, element ? 1 : 0);
        return;
    case THRIFT_BYTE:
        tab_thrift_pass(t, 1);
        return;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        tab_thrift_varint(t);
        return;
    case THRIFT_DOUBLE:
        tab_thrift_pass(t, 8);
        return;
    case THRIFT_UUID:
        tab_thrift_pass(t, 16);
        return;
    case THRIFT_BINARY:
        tab_thrift_pass(t, tab_thrift_varint(t));
        return;
    case THRIFT_LIST:
    case THRIFT_SET:
        n = tab_thrift_list(t, type, &value);
        for (size_t i = 0; i < n && !t->bad; i++)
            tab_thrift_skip(t, value, true, depth + 1);
        return;
    case THRIFT_MAP:
        n = tab_thrift_varint(t);
        value = n > 0 ? tab_thrift_byte(t) : 0;
        key = value >> 4;
        for (size_t i = 0; i < n && !t->bad; i++) {
            tab_thrift_skip(t, key, true, depth + 1);
            tab_thrift_skip(t, value & 15, true, depth + 1);
        }
        return;
    case THRIFT_STRUCT:
        while (tab_thrift_next(t, &f))
            tab_thrift_skip(t, f.type, false, depth + 1);
        return;
    default:
        t->bad = true;
    }
}

#endif
