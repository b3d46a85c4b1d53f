/* See unpack.h. */
#include "common/files/unpack.h"

#include <stdlib.h>
#include <zlib.h>

enum { PIECE = 1 << 16, FREE_BYTES = 64 << 20, RATIO = 200, ENTRIES = 4096 };

tab_status tab_grown_add(void *grown, const char *p, size_t n, tab_error *err)
{
    tab_grown *g = grown;
    if (g->n + n + 1 > g->cap) {
        size_t cap = 2 * (g->n + n) + PIECE;
        char *q = realloc(g->p, cap);
        if (q == NULL)
            return tab_no_memory(err);
        g->p = q;
        g->cap = cap;
    }
    memcpy(g->p + g->n, p, n);
    g->n += n;
    g->p[g->n] = 0;
    return TAB_OK;
}

/* ---- deflate ----------------------------------------------------------------------------------- */

typedef struct {
    uint64_t most, out, in; /* bytes so far */
    tab_unpack_fn fn;
    void *arg;
    uint32_t crc;
    tab_error *err;
} sink;

static tab_status give(sink *s, const char *p, size_t n, uint64_t in)
{
    s->out += n;
    if (s->out > s->most)
        return tab_fail(s->err, TAB_VALIDATION, "", "it decompresses to more than the limit of %llu MiB",
                        (unsigned long long)(s->most >> 20));
    if (s->out > FREE_BYTES && s->out / RATIO > in)
        return tab_fail(s->err, TAB_VALIDATION, "",
                        "it decompresses to more than %d times its size; send it uncompressed", RATIO);
    s->crc = (uint32_t)crc32(s->crc, (const Bytef *)p, (uInt)n);
    return s->fn(s->arg, p, n, s->err);
}

/* One deflate stream of `packed`; *ret_used are its bytes. bits: 31 gzip, -15 bare. */
static tab_status inflate_one(sink *s, tab_str packed, int bits, size_t *ret_used)
{
    char out[PIECE];
    z_stream z = { 0 };
    if (inflateInit2(&z, bits) != Z_OK)
        return tab_no_memory(s->err);
    int rc = Z_OK;
    tab_status status = TAB_OK;
    size_t used = 0;
    while (rc == Z_OK && status == TAB_OK) {
        if (z.avail_in == 0) {
            size_t n = packed.n - used < (1 << 30) ? packed.n - used : (1 << 30);
            z.next_in = (Bytef *)(uintptr_t)(packed.p + used);
            z.avail_in = (uInt)n;
            used += n;
        }
        z.next_out = (Bytef *)out;
        z.avail_out = PIECE;
        rc = inflate(&z, Z_NO_FLUSH);
        if (rc == Z_OK || rc == Z_STREAM_END)
            status = give(s, out, PIECE - z.avail_out, s->in + used - z.avail_in);
    }
    *ret_used = used - z.avail_in;
    s->in += *ret_used;
    inflateEnd(&z);
    if (status == TAB_OK && rc != Z_STREAM_END)
        return tab_fail(s->err, TAB_VALIDATION, "", "it is damaged or truncated at compressed byte %zu",
                        *ret_used);
    return status;
}

tab_status tab_gzip_read(tab_str file, uint64_t most, tab_unpack_fn fn, void *arg, tab_error *err)
{
    sink s = { .most = most, .fn = fn, .arg = arg, .err = err };
    do {
        size_t used;
        TAB_TRY(inflate_one(&s, file, 31, &used));
        file = (tab_str){ file.p + used, file.n - used };
    } while (file.n >= 2 && memcmp(file.p, "\x1f\x8b", 2) == 0);
    return TAB_OK; /* zeros may fill a tape's last block */
}

/* ---- zip --------------------------------------------------------------------------------------- */

static uint32_t le(tab_str s, size_t at, size_t n)
{
    uint32_t x = 0;
    for (size_t i = 0; i < n; i++)
        x |= (uint32_t)(unsigned char)s.p[at + i] << 8 * i;
    return x;
}

static tab_status damaged(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "", "the archive's directory is damaged or truncated");
}

/* Where the record of the directory's end is; it may be followed by a comment of 64 KiB at most. */
static bool find_end(tab_str f, size_t *ret)
{
    for (size_t back = 22; back <= f.n && back <= 22 + 65535; back++)
        if (memcmp(f.p + f.n - back, "PK\5\6", 4) == 0) {
            *ret = f.n - back;
            return true;
        }
    return false;
}

tab_status tab_zip_open(tab_arena *a, tab_str f, tab_zip *ret, tab_error *err)
{
    size_t end;
    if (!find_end(f, &end))
        return damaged(err);
    size_t n = le(f, end + 10, 2), at = le(f, end + 16, 4);
    if (n > ENTRIES)
        return tab_fail(err, TAB_VALIDATION, "", "the archive holds more than %d files", ENTRIES);
    *ret = (tab_zip){ f, tab_arena_new_of(a, tab_zip_entry, n + 1), 0 };
    if (ret->entry == NULL)
        return tab_no_memory(err);
    for (; ret->n < n; ret->n++) {
        if (at > end || end - at < 46 || memcmp(f.p + at, "PK\1\2", 4) != 0)
            return damaged(err);
        size_t name = le(f, at + 28, 2), rest = le(f, at + 30, 2) + le(f, at + 32, 2);
        if (end - at - 46 < name + rest)
            return damaged(err);
        ret->entry[ret->n] = (tab_zip_entry){ .name = { f.p + at + 46, name },
                                              .packed = le(f, at + 20, 4),
                                              .at = le(f, at + 42, 4),
                                              .crc = le(f, at + 16, 4),
                                              .method = (uint16_t)le(f, at + 10, 2),
                                              .flags = (uint16_t)le(f, at + 8, 2) };
        at += 46 + name + rest;
    }
    return TAB_OK;
}

const tab_zip_entry *tab_zip_find(const tab_zip *z, tab_str name)
{
    for (size_t i = 0; i < z->n; i++)
        if (tab_str_eq(z->entry[i].name, name))
            return &z->entry[i];
    return NULL;
}

tab_status tab_zip_read(const tab_zip *z, const tab_zip_entry *e, uint64_t most, tab_unpack_fn fn, void *arg,
                        tab_error *err)
{
    tab_str f = z->file;
    if (e->flags & 1)
        return tab_fail(err, TAB_VALIDATION, "", "it is encrypted; save it without a password");
    if (e->at > f.n || f.n - e->at < 30 || memcmp(f.p + e->at, "PK\3\4", 4) != 0)
        return damaged(err);
    size_t from = e->at + 30 + le(f, e->at + 26, 2) + le(f, e->at + 28, 2);
    if (from > f.n || f.n - from < e->packed)
        return damaged(err);
    sink s = { .most = most, .fn = fn, .arg = arg, .err = err };
    tab_str packed = { f.p + from, e->packed };
    if (e->method == 8) {
        size_t used;
        TAB_TRY(inflate_one(&s, packed, -15, &used));
    } else if (e->method == 0) {
        for (size_t at = 0; at < packed.n; at += PIECE)
            TAB_TRY(give(&s, packed.p + at, packed.n - at < PIECE ? packed.n - at : PIECE, packed.n));
    } else {
        return tab_fail(err, TAB_VALIDATION, "", "it uses compression method %u; only deflate is supported",
                        e->method);
    }
    return s.crc == e->crc ? TAB_OK
                           : tab_fail(err, TAB_VALIDATION, "", "it is damaged: its checksum does not match");
}
