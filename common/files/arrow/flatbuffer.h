/* Reading of FlatBuffers (their documentation, "FlatBuffers Internals") that nobody has checked: every access
 * is within the buffer, or it sets `bad` and gives 0. Positions are offsets in the buffer; 0 is none, since a
 * buffer begins with the offset of its root.
 *
 *   root -> table: [i32 to its vtable] fields ...    vtable: [u16 its size] [u16 table's] [u16 field] ...
 */
#ifndef TAB_FILES_FLATBUFFER_H
#define TAB_FILES_FLATBUFFER_H

#include "common/base/base.h"

typedef struct {
    const uint8_t *p;
    size_t n;
    bool bad;
} tab_fb;

/* `bytes` of 1, 2, 4 or 8, little-endian. */
static inline uint64_t tab_fb_at(tab_fb *b, size_t at, size_t bytes)
{
    uint64_t x = 0;
    if (at > b->n || bytes > b->n - at) {
        b->bad = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        x |= (uint64_t)b->p[at + i] << (8 * i);
    return x;
}

/* Where the offset that stands at `at` leads. */
static inline size_t tab_fb_follow(tab_fb *b, size_t at)
{
    uint64_t to = at + tab_fb_at(b, at, 4);
    if (b->bad || to == at || to >= b->n) {
        b->bad = true;
        return 0;
    }
    return (size_t)to;
}

static inline size_t tab_fb_root(tab_fb *b)
{
    return tab_fb_follow(b, 0);
}

/* Field `i` of a table; 0 where it is not set. */
static inline size_t tab_fb_field(tab_fb *b, size_t table, size_t i)
{
    int64_t vtable = (int64_t)table - (int32_t)(uint32_t)tab_fb_at(b, table, 4);
    if (b->bad || table == 0 || vtable < 0 || (uint64_t)vtable >= b->n) {
        b->bad = true;
        return 0;
    }
    if (4 + 2 * i + 2 > tab_fb_at(b, (size_t)vtable, 2))
        return 0;
    uint64_t off = tab_fb_at(b, (size_t)vtable + 4 + 2 * i, 2);
    return off == 0 ? 0 : table + (size_t)off;
}

static inline int64_t tab_fb_int(tab_fb *b, size_t table, size_t i, size_t bytes, int64_t otherwise)
{
    size_t at = tab_fb_field(b, table, i);
    uint64_t x = at == 0 ? 0 : tab_fb_at(b, at, bytes);
    if (at == 0)
        return otherwise;
    return bytes == 1 ? (int8_t)x : bytes == 2 ? (int16_t)x : bytes == 4 ? (int32_t)x : (int64_t)x;
}

/* The table, vector or text that field `i` refers to; 0 where it is not set. */
static inline size_t tab_fb_ref(tab_fb *b, size_t table, size_t i)
{
    size_t at = tab_fb_field(b, table, i);
    return at == 0 ? 0 : tab_fb_follow(b, at);
}

/* The first of a vector's elements of `size` bytes; *ret_n of them, all within the buffer. */
static inline size_t tab_fb_vector(tab_fb *b, size_t table, size_t i, size_t size, size_t *ret_n)
{
    size_t at = tab_fb_ref(b, table, i);
    uint64_t n = at == 0 ? 0 : tab_fb_at(b, at, 4);
    *ret_n = 0;
    if (at == 0 || b->bad)
        return 0;
    if (n > (b->n - at - 4) / size) {
        b->bad = true;
        return 0;
    }
    *ret_n = (size_t)n;
    return at + 4;
}

static inline tab_str tab_fb_text(tab_fb *b, size_t table, size_t i)
{
    size_t n, at = tab_fb_vector(b, table, i, 1, &n);
    return at == 0 ? TAB_S("") : (tab_str){ (const char *)b->p + at, n };
}

#endif
