/* See words.h; pack.c calls it for every array. */
#include "services/inference/engine/pack/words.h"

#include <math.h>
#include <stdlib.h>

/* LEVELS: distinct words that are told by two bytes. SAMPLE: words that the form is chosen by. FEW: below,
 * planes it is. */
enum { PLANES, DELTAS, LEVELS, MOST_LEVELS = 1 << 16, SAMPLE = 1 << 14, FEW = 32 };

size_t tab_words_room(size_t n, size_t size)
{
    return n * size + (size / 4 + 1) * 8;
}

static uint32_t word(const uint8_t *from, size_t i, size_t size, size_t column)
{
    uint32_t w;
    memcpy(&w, from + i * size + column * 4, sizeof w);
    return w;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x, y;
    memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Bits of n bytes by how often each occurs. */
static double bits(const uint32_t count[256], size_t n)
{
    double sum = 0;
    for (size_t b = 0; b < 256; b++)
        if (count[b] > 0)
            sum += count[b] * log2((double)n / count[b]);
    return sum;
}

/* Bits of n words' byte planes. */
static double plane_bits(const uint32_t *w, size_t n, bool deltas)
{
    uint32_t count[4][256] = { { 0 } };
    for (size_t i = 0; i < n; i++) {
        uint32_t v = deltas && i > 0 ? w[i] - w[i - 1] : w[i];
        for (size_t b = 0; b < 4; b++)
            count[b][v >> (8 * b) & 255]++;
    }
    double sum = 0;
    for (size_t b = 0; b < 4; b++)
        sum += bits(count[b], n);
    return sum;
}

/* The distinct words of a column, ascending; 0: too many. */
static size_t levels_of(const uint32_t *w, size_t n, uint32_t *level)
{
    size_t k = 0;
    memcpy(level, w, n * sizeof *level);
    qsort(level, n, sizeof *level, ascending);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || level[i] != level[k - 1]) {
            if (k == MOST_LEVELS)
                return 0;
            level[k++] = level[i];
        }
    return k;
}

static size_t level_at(const uint32_t *level, size_t k, uint32_t w)
{
    size_t lo = 0, hi = k;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        *(level[mid] <= w ? &lo : &hi) = mid;
    }
    return lo;
}

/* n words, `bytes` (1 to 4) of each, plane by plane. */
static size_t write_planes(const uint32_t *w, size_t n, size_t bytes, uint8_t *to)
{
    for (size_t b = 0; b < bytes; b++)
        for (size_t i = 0; i < n; i++)
            to[b * n + i] = (uint8_t)(w[i] >> (8 * b));
    return bytes * n;
}

/* The form of a column by a run of its words; level (n): scratch. */
static int form_of(const uint32_t *w, size_t n, uint32_t *level, size_t *ret_levels)
{
    size_t some = n < SAMPLE ? n : SAMPLE;
    const uint32_t *from = w + (n - some) / 2;
    *ret_levels = 0;
    if (n < FEW)
        return PLANES;
    double plain = plane_bits(from, some, false), deltas = plane_bits(from, some, true);
    double least = fmin(plain, deltas) / (double)some * (double)n;
    /* the levels themselves cost a word each; what tells them apart, their logarithm at most */
    size_t k = levels_of(from, some, level);
    if (k > some / 2 || 16.0 * (double)n < 0.5 * least)
        k = 0;
    if (k > 0)
        k = *ret_levels = levels_of(w, n, level);
    if (k > 0 && (double)k * 32 + (double)n * log2((double)k + 0.001) < least)
        return LEVELS;
    return deltas < 0.97 * plain ? DELTAS : PLANES;
}

static size_t write_column(uint32_t *w, size_t n, uint32_t *level, uint8_t *to)
{
    size_t k, at = 1;
    int form = form_of(w, n, level, &k);
    to[0] = (uint8_t)form;
    if (form == DELTAS)
        for (size_t i = n; --i > 0;)
            w[i] -= w[i - 1];
    if (form != LEVELS)
        return at + write_planes(w, n, 4, to + at);
    uint32_t count = (uint32_t)k;
    memcpy(to + at, &count, sizeof count);
    at += sizeof count;
    memcpy(to + at, level, k * sizeof *level);
    at += k * sizeof *level;
    for (size_t i = 0; i < n; i++)
        w[i] = (uint32_t)level_at(level, k, w[i]);
    return at + write_planes(w, n, k > 256 ? 2 : 1, to + at);
}

size_t tab_words_write(const void *from, size_t n, size_t size, uint8_t *to)
{
    size_t words = size % 4 == 0 ? size / 4 : 0, rest = words > 0 ? 0 : size, at = 0;
    uint32_t *w = malloc(2 * (n + 1) * sizeof *w);
    if (w == NULL)
        return 0;
    for (size_t c = 0; c < words; c++) {
        for (size_t i = 0; i < n; i++)
            w[i] = word(from, i, size, c);
        at += write_column(w, n, w + n + 1, to + at);
    }
    free(w);
    if (rest > 0)
        memcpy(to, from, n * rest);
    return at + n * rest;
}

/* to: every `step`-th word from here on. */
static void read_planes(const uint8_t *from, size_t n, uint32_t *to, size_t step)
{
    const uint8_t *a = from, *b = a + n, *c = b + n, *d = c + n;
    if (step == 1) /* apart, so that the compiler does many at a time */
        for (size_t i = 0; i < n; i++)
            to[i] = a[i] | (uint32_t)b[i] << 8 | (uint32_t)c[i] << 16 | (uint32_t)d[i] << 24;
    else
        for (size_t i = 0; i < n; i++)
            to[i * step] = a[i] | (uint32_t)b[i] << 8 | (uint32_t)c[i] << 16 | (uint32_t)d[i] << 24;
}

/* Bytes read of a column; 0: they are none. */
static size_t read_column(const uint8_t *from, size_t room, uint32_t *to, size_t n, size_t step)
{
    uint32_t k;
    if (room < 1 || from[0] > LEVELS)
        return 0;
    if (from[0] != LEVELS) {
        if ((room - 1) / 4 < n)
            return 0;
        read_planes(from + 1, n, to, step);
        for (size_t i = 1; from[0] == DELTAS && i < n; i++)
            to[i * step] += to[(i - 1) * step];
        return 1 + 4 * n;
    }
    if (room < 5)
        return 0;
    memcpy(&k, from + 1, sizeof k);
    size_t wide = k > 256 ? 2 : 1, at = 5 + 4 * (size_t)k;
    if (k == 0 || k > MOST_LEVELS || room < at || (room - at) / wide < n)
        return 0;
    const uint8_t *low = from + at, *high = low + n;
    for (size_t i = 0; i < n; i++) {
        size_t which = wide == 2 ? low[i] | (size_t)high[i] << 8 : low[i];
        if (which >= k)
            return 0;
        memcpy(&to[i * step], from + 5 + 4 * which, sizeof *to);
    }
    return at + wide * n;
}

size_t tab_words_read(const uint8_t *from, size_t room, void *to, size_t n, size_t size)
{
    size_t words = size % 4 == 0 ? size / 4 : 0, rest = words > 0 ? 0 : size, at = 0;
    for (size_t c = 0; c < words; c++) {
        size_t took = read_column(from + at, room - at, (uint32_t *)to + c, n, words);
        if (took == 0)
            return 0;
        at += took;
    }
    if (rest == 0)
        return at;
    if (room / rest < n)
        return 0;
    memcpy(to, from, n * rest);
    return n * rest;
}
