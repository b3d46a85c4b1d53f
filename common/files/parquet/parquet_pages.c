/* See parquet_pages.h. Pages stand at any address, so numbers are copied out of them. */
#include "common/files/parquet/parquet_pages.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/parquet/thrift.h"

enum { BLOCK_MOST = 1 << 20, UUID_TEXT = 36, INT128 = 16, JULIAN_EPOCH = 2440588 };
enum { MADE = 3 }; /* slots of `made` before it are what an encoding needs */

#define DAY_US INT64_C(86400000000)

static tab_status damaged(tab_error *err, const char *what)
{
    return tab_fail(err, TAB_VALIDATION, "", "its Parquet data cannot be read: %s", what);
}

static tab_status too_large(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "", "its pages decompress to more than the limit");
}

/* ---- bits ---------------------------------------------------------------------------------------- */

/* `width` bits from bit `at`, at most 64; those behind the end are 0. */
static uint64_t bits_at(const uint8_t *p, size_t n, size_t at, int width)
{
    size_t byte = at / 8, left = n > byte ? n - byte : 0;
    int shift = (int)(at % 8);
    uint64_t x = 0;
    if (width == 0 || left == 0)
        return 0;
    if (left >= sizeof x)
        memcpy(&x, p + byte, sizeof x);
    else
        memcpy(&x, p + byte, left);
    x = le64toh(x) >> shift;
    if (width + shift > 64 && left > 8)
        x |= (uint64_t)p[byte + 8] << (64 - shift);
    return width == 64 ? x : x & ((UINT64_C(1) << width) - 1);
}

/* Groups of 8 that are cut off are taken as far as they are there: not all writers fill the last. */
static bool packed_run(tab_thrift *t, uint64_t groups, int width, uint32_t *out, size_t n, size_t *done)
{
    const uint8_t *p = t->p + t->at;
    size_t left = t->n - t->at, most = n - *done;
    if (groups > INT32_MAX)
        return false;
    size_t bytes = (size_t)groups * (size_t)width, take = (size_t)groups * 8;
    if (bytes > left)
        take = left * 8 / (size_t)width;
    take = take < most ? take : most;
    for (size_t i = 0; i < take; i++)
        out[*done + i] = (uint32_t)bits_at(p, left, i * (size_t)width, width);
    t->at += bytes < left ? bytes : left;
    *done += take;
    return true;
}

bool parquet_runs(tab_str in, int width, uint32_t *out, size_t n)
{
    tab_thrift t = { (const uint8_t *)in.p, in.n, 0, false };
    size_t done = 0;
    if (width < 0 || width > 32)
        return false;
    if (width == 0) {
        memset(out, 0, n * sizeof *out);
        return true;
    }
    while (done < n) {
        uint64_t head = tab_thrift_varint(&t), run = head >> 1;
        uint32_t x = 0;
        if (t.bad)
            return false;
        if ((head & 1) != 0) {
            if (!packed_run(&t, run, width, out, n, &done))
                return false;
            continue;
        }
        for (int i = 0; i < (width + 7) / 8; i++)
            x |= (uint32_t)tab_thrift_byte(&t) << (8 * i);
        for (; !t.bad && run > 0 && done < n; run--)
            out[done++] = x;
    }
    return true;
}

bool parquet_bits(tab_str in, int width, uint32_t *out, size_t n)
{
    if (width < 0 || width > 8 || in.n < (n * (size_t)width + 7) / 8)
        return false;
    for (size_t i = 0; i < n; i++) {
        out[i] = 0;
        for (size_t k = i * (size_t)width; k < (i + 1) * (size_t)width; k++)
            out[i] = out[i] << 1 | ((uint8_t)in.p[k / 8] >> (7 - k % 8) & 1);
    }
    return true;
}

/* ---- deltas -------------------------------------------------------------------------------------- */

/* n numbers of `width` bytes; what is behind them stays in *in.
 *   block size, miniblocks of it, n, first; blocks: least delta, widths, miniblocks */
static bool deltas(tab_str *in, char *out, size_t width, size_t n)
{
    tab_thrift t = { (const uint8_t *)in->p, in->n, 0, false };
    uint64_t block = tab_thrift_varint(&t), minis = tab_thrift_varint(&t), count = tab_thrift_varint(&t);
    uint64_t x = (uint64_t)tab_thrift_zigzag(&t);
    if (t.bad || count != n || block == 0 || block > BLOCK_MOST || minis == 0 || minis > block ||
        block % minis != 0 || block / minis % 8 != 0)
        return false;
    size_t of_mini = (size_t)(block / minis), done = 0;
    if (n > 0) {
        uint64_t le = htole64(x);
        memcpy(out, &le, width);
        done = 1;
    }
    while (done < n) {
        uint64_t least = (uint64_t)tab_thrift_zigzag(&t);
        size_t widths = t.at;
        tab_thrift_pass(&t, minis);
        for (size_t m = 0; m < minis && done < n && !t.bad; m++) {
            int bits = t.p[widths + m];
            const uint8_t *p = t.p + t.at;
            tab_thrift_pass(&t, of_mini / 8 * (uint64_t)bits);
            if (bits > 64 || t.bad)
                return false;
            for (size_t i = 0; i < of_mini && done < n; i++) {
                x += least + bits_at(p, t.n - (size_t)(p - t.p), i * (size_t)bits, bits);
                uint64_t le = htole64(x);
                memcpy(out + done++ * width, &le, width);
            }
        }
        if (t.bad)
            return false;
    }
    *in = (tab_str){ in->p + t.at, in->n - t.at };
    return true;
}

/* n lengths, none of them negative. */
static bool lengths(tab_str *in, int32_t *out, size_t n)
{
    if (!deltas(in, (char *)out, sizeof *out, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        out[i] = (int32_t)le32toh((uint32_t)out[i]);
        if (out[i] < 0)
            return false;
    }
    return true;
}

/* ---- texts --------------------------------------------------------------------------------------- */

static bool plain_texts(tab_str in, tab_str *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t size;
        if (in.n < sizeof size)
            return false;
        memcpy(&size, in.p, sizeof size);
        size = le32toh(size);
        if (size > in.n - sizeof size)
            return false;
        out[i] = (tab_str){ in.p + sizeof size, size };
        in = (tab_str){ in.p + sizeof size + size, in.n - sizeof size - size };
    }
    return true;
}

static bool sized_texts(tab_str in, tab_str *out, int32_t *size, size_t n)
{
    if (!lengths(&in, size, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if ((size_t)size[i] > in.n)
            return false;
        out[i] = (tab_str){ in.p, (size_t)size[i] };
        in = (tab_str){ in.p + size[i], in.n - (size_t)size[i] };
    }
    return true;
}

/* Each text begins as the one before: its first shared[i] bytes; out holds the rest of them. */
static tab_status join_texts(parquet_values *v, const int32_t *shared, uint64_t *room, tab_error *err)
{
    uint64_t size = 0;
    for (size_t i = 0; i < v->n; i++) {
        if ((size_t)shared[i] > (i > 0 ? v->text[i - 1].n + (size_t)shared[i - 1] : 0))
            return damaged(err, "a text begins as one that is shorter");
        size += v->text[i].n + (size_t)shared[i];
        if (size > *room)
            return too_large(err);
    }
    *room -= size;
    char *p = v->made[2] = malloc((size_t)size + 1);
    if (p == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < v->n; i++) {
        size_t first = (size_t)shared[i], rest = v->text[i].n;
        if (first > 0)
            memcpy(p, v->text[i - 1].p, first);
        if (rest > 0)
            memcpy(p + first, v->text[i].p, rest);
        v->text[i] = (tab_str){ p, first + rest };
        p += first + rest;
    }
    return TAB_OK;
}

static tab_status decode_texts(int encoding, tab_str in, uint64_t *room, parquet_values *v, tab_error *err)
{
    size_t n = v->n;
    bool plain = encoding == PARQUET_PLAIN, ok = false;
    if (plain ? n > in.n / 4 : n > *room / 64)
        return plain ? damaged(err, "a page is shorter than its values") : too_large(err);
    if (!plain)
        *room -= n * (sizeof *v->text + 2 * sizeof(int32_t));
    v->text = v->made[0] = calloc(n + 1, sizeof *v->text);
    int32_t *size = v->made[1] = plain ? NULL : calloc(2 * n + 2, sizeof *size);
    if (v->text == NULL || (!plain && size == NULL))
        return tab_no_memory(err);
    switch (encoding) {
    case PARQUET_PLAIN:
        ok = plain_texts(in, v->text, n);
        break;
    case PARQUET_DELTA_LENGTH:
        ok = sized_texts(in, v->text, size, n);
        break;
    case PARQUET_DELTA_BYTES:
        ok = lengths(&in, size, n) && sized_texts(in, v->text, size + n, n);
        return ok ? join_texts(v, size, room, err) : damaged(err, "texts of a page");
    default:
        return damaged(err, "an encoding that texts do not have");
    }
    return ok ? TAB_OK : damaged(err, "texts of a page");
}

/* ---- values of one width ------------------------------------------------------------------------- */

static tab_status make(parquet_values *v, int slot, uint64_t bytes, char **ret, tab_error *err)
{
    v->made[slot] = *ret = bytes < SIZE_MAX ? calloc((size_t)bytes + 1, 1) : NULL;
    return *ret != NULL ? TAB_OK : tab_no_memory(err);
}

static tab_status decode_booleans(int encoding, tab_str in, parquet_values *v, tab_error *err)
{
    uint32_t size, *code;
    char *out, *codes;
    if (encoding == PARQUET_PLAIN) {
        v->values = in;
        return in.n >= (v->n + 7) / 8 ? TAB_OK : damaged(err, "a page is shorter than its values");
    }
    if (encoding != PARQUET_RLE || in.n < sizeof size)
        return damaged(err, "an encoding that truth values do not have");
    memcpy(&size, in.p, sizeof size);
    size = le32toh(size);
    if (size > in.n - sizeof size)
        return damaged(err, "a page is shorter than its values");
    TAB_TRY(make(v, 0, v->n / 8 + 1, &out, err));
    TAB_TRY(make(v, 1, (uint64_t)v->n * sizeof *code, &codes, err));
    code = (uint32_t *)(void *)codes;
    if (!parquet_runs((tab_str){ in.p + sizeof size, size }, 1, code, v->n))
        return damaged(err, "truth values of a page");
    for (size_t i = 0; i < v->n; i++)
        out[i / 8] = (char)((uint8_t)out[i / 8] | (code[i] & 1) << (i % 8));
    v->values = (tab_str){ out, v->n / 8 + 1 };
    return TAB_OK;
}

static tab_status decode_fixed(const parquet_type *t, int encoding, tab_str in, uint64_t *room,
                               parquet_values *v, tab_error *err)
{
    char *out;
    size_t w = t->width, n = v->n;
    bool whole = t->physical == PARQUET_INT32 || t->physical == PARQUET_INT64;
    if (encoding == PARQUET_DELTA && whole) {
        if ((uint64_t)n * w > *room)
            return too_large(err);
        *room -= (uint64_t)n * w;
        TAB_TRY(make(v, 0, (uint64_t)n * w, &out, err));
        v->values = (tab_str){ out, n * w };
        return deltas(&in, out, w, n) ? TAB_OK : damaged(err, "deltas of a page");
    }
    if (n > in.n / w)
        return damaged(err, "a page is shorter than its values");
    v->values = (tab_str){ in.p, n * w };
    if (encoding == PARQUET_PLAIN)
        return TAB_OK;
    if (encoding != PARQUET_SPLIT || t->physical == PARQUET_INT96)
        return damaged(err, "an encoding that its type does not have");
    TAB_TRY(make(v, 0, n * w, &out, err));
    for (size_t k = 0; k < w; k++)
        for (size_t i = 0; i < n; i++)
            out[i * w + k] = in.p[k * n + i];
    v->values.p = out;
    return TAB_OK;
}

/* ---- what is no cell yet ------------------------------------------------------------------------- */

/* Big-endian and of any length, to 16 little-endian bytes. */
static bool decimal_of(tab_str x, char *out)
{
    int sign = x.n > 0 && (x.p[0] & 0x80) != 0 ? 0xff : 0;
    size_t above = x.n > INT128 ? x.n - INT128 : 0;
    for (size_t i = 0; i < above; i++)
        if ((uint8_t)x.p[i] != sign)
            return false;
    x = (tab_str){ x.p + above, x.n - above };
    if (above > 0 && ((x.p[0] & 0x80) != 0) != (sign != 0))
        return false;
    memset(out, sign, INT128);
    for (size_t i = 0; i < x.n; i++)
        out[i] = x.p[x.n - 1 - i];
    return true;
}

static tab_status make_decimals(const parquet_type *t, parquet_values *v, tab_error *err)
{
    char *out;
    TAB_TRY(make(v, MADE, (uint64_t)v->n * INT128, &out, err));
    for (size_t i = 0; i < v->n; i++) {
        tab_str x = v->text != NULL ? v->text[i] : (tab_str){ v->values.p + i * t->width, t->width };
        if (!decimal_of(x, out + i * INT128))
            return damaged(err, "a decimal of more than 38 digits");
    }
    v->values = (tab_str){ out, v->n * INT128 };
    v->text = NULL;
    return TAB_OK;
}

static tab_status make_uuids(parquet_values *v, tab_error *err)
{
    static const char digits[] = "0123456789abcdef";
    char *out, *texts;
    TAB_TRY(make(v, MADE, (uint64_t)v->n * UUID_TEXT, &out, err));
    TAB_TRY(make(v, MADE + 1, (uint64_t)v->n * sizeof *v->text, &texts, err));
    v->text = (tab_str *)(void *)texts;
    for (size_t i = 0; i < v->n; i++) {
        v->text[i] = (tab_str){ out, UUID_TEXT };
        for (size_t k = 0; k < 16; k++) {
            uint8_t x = (uint8_t)v->values.p[16 * i + k];
            if (k == 4 || k == 6 || k == 8 || k == 10)
                *out++ = '-';
            *out++ = digits[x >> 4];
            *out++ = digits[x & 15];
        }
    }
    return TAB_OK;
}

/* Nanoseconds of a day and the Julian day, to microseconds since 1970, which hold the years 1 to 9999. */
static tab_status make_stamps(parquet_values *v, tab_error *err)
{
    char *out;
    TAB_TRY(make(v, MADE, (uint64_t)v->n * sizeof(int64_t), &out, err));
    for (size_t i = 0; i < v->n; i++) {
        uint64_t ns;
        uint32_t day;
        memcpy(&ns, v->values.p + 12 * i, sizeof ns);
        memcpy(&day, v->values.p + 12 * i + 8, sizeof day);
        ns = le64toh(ns);
        day = le32toh(day);
        if (ns >= (uint64_t)DAY_US * 1000 || day > JULIAN_EPOCH + 2932896)
            return damaged(err, "a time is outside the years 1 to 9999");
        int64_t x = ((int64_t)day - JULIAN_EPOCH) * DAY_US + (int64_t)(ns / 1000);
        memcpy(out + 8 * i, &x, sizeof x);
    }
    v->values = (tab_str){ out, v->n * 8 };
    return TAB_OK;
}

tab_status parquet_decode(const parquet_type *t, int encoding, tab_str in, size_t n, uint64_t *room,
                          parquet_values *ret, tab_error *err)
{
    *ret = (parquet_values){ .n = n };
    if (t->physical == PARQUET_BOOLEAN)
        return decode_booleans(encoding, in, ret, err);
    if (t->physical == PARQUET_BYTES) {
        TAB_TRY(decode_texts(encoding, in, room, ret, err));
    } else if (t->physical == PARQUET_FIXED && encoding == PARQUET_DELTA_BYTES) {
        TAB_TRY(decode_texts(encoding, in, room, ret, err));
        for (size_t i = 0; i < n; i++)
            if (ret->text[i].n != t->width)
                return damaged(err, "values of a page are of unlike widths");
        if (n > 0) /* join_texts put them one behind the other */
            ret->values = (tab_str){ ret->text[0].p, n * t->width };
        ret->text = NULL;
    } else {
        TAB_TRY(decode_fixed(t, encoding, in, room, ret, err));
    }
    if (t->cell.kind == ARROW_DECIMAL && t->cell.bits == 128)
        return make_decimals(t, ret, err);
    if (t->physical == PARQUET_INT96)
        return make_stamps(ret, err);
    return t->uuid ? make_uuids(ret, err) : TAB_OK;
}

void parquet_values_free(parquet_values *v)
{
    for (size_t i = 0; i < sizeof v->made / sizeof *v->made; i++)
        free(v->made[i]);
    *v = (parquet_values){ 0 };
}
