/* See text.h. */
#include "common/files/text.h"

#include "common/files/charset.h"
#include "common/json/json.h"

/* UTF-16 with unpaired surrogates replaced by U+FFFD. */
static tab_str from_utf16(tab_arena *a, tab_str s, bool big)
{
    char *q = tab_arena_alloc(a, s.n / 2 * 3 + 1, 1);
    size_t n = 0;
    const unsigned char *p = (const unsigned char *)s.p;
    for (size_t i = 0; q != NULL && i + 1 < s.n; i += 2) {
        uint32_t u = big ? (uint32_t)p[i] << 8 | p[i + 1] : (uint32_t)p[i + 1] << 8 | p[i];
        if (u >= 0xD800 && u < 0xE000) {
            uint32_t low = 0;
            if (u < 0xDC00 && i + 3 < s.n)
                low = big ? (uint32_t)p[i + 2] << 8 | p[i + 3] : (uint32_t)p[i + 3] << 8 | p[i + 2];
            if (low >= 0xDC00 && low < 0xE000) {
                u = 0x10000 + ((u - 0xD800) << 10) + (low - 0xDC00);
                i += 2;
            } else {
                u = 0xFFFD;
            }
        }
        n += tab_utf8_put(u, q + n);
    }
    return (tab_str){ q, q == NULL ? 0 : n };
}

static tab_str from_windows_1252(tab_arena *a, tab_str s)
{
    static const uint16_t HIGH[32] = { 0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                       0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                       0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                       0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178 };
    size_t high = 0, n = 0;
    for (size_t i = 0; i < s.n; i++)
        high += (unsigned char)s.p[i] >= 0x80;
    char *q = tab_arena_alloc(a, s.n + 2 * high + 1, 1);
    for (size_t i = 0; q != NULL && i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        n += tab_utf8_put(c >= 0x80 && c < 0xA0 ? HIGH[c - 0x80] : c, q + n);
    }
    return (tab_str){ q, q == NULL ? 0 : n };
}

/* UTF-16 without a mark: most text has a zero in one half of its pairs, hardly one in the other. 0: not. */
static int unmarked_utf16(tab_str s)
{
    size_t n = s.n < 4096 ? s.n / 2 : 2048, high = 0, low = 0;
    for (size_t i = 0; i < n; i++) {
        high += s.p[2 * i] == 0;
        low += s.p[2 * i + 1] == 0;
    }
    if (s.n % 2 != 0 || n < 2)
        return 0;
    return high * 10 >= n * 7 && low * 20 < n ? 'b' : low * 10 >= n * 7 && high * 20 < n ? 'l' : 0;
}

tab_str tab_text_utf8(tab_arena *a, tab_str s, const char **ret_encoding)
{
    if (s.n >= 2 && (memcmp(s.p, "\xFF\xFE", 2) == 0 || memcmp(s.p, "\xFE\xFF", 2) == 0)) {
        bool big = (unsigned char)s.p[0] == 0xFE;
        *ret_encoding = big ? "utf-16be" : "utf-16le";
        return from_utf16(a, (tab_str){ s.p + 2, s.n - 2 }, big);
    }
    int half = unmarked_utf16(s);
    if (half != 0) {
        *ret_encoding = half == 'b' ? "utf-16be" : "utf-16le";
        return from_utf16(a, s, half == 'b');
    }
    if (s.n >= 3 && memcmp(s.p, "\xEF\xBB\xBF", 3) == 0)
        s = (tab_str){ s.p + 3, s.n - 3 };
    *ret_encoding = "utf-8";
    if (tab_utf8_valid(s))
        return s;
    *ret_encoding = tab_charset_of(s);
    if (strcmp(*ret_encoding, "windows-1252") != 0) {
        tab_str text = tab_charset_utf8(a, s, *ret_encoding);
        if (text.p != NULL)
            return text;
        *ret_encoding = "windows-1252";
    }
    return from_windows_1252(a, s);
}

tab_str tab_text_utf8_as(tab_arena *a, tab_str s, const char *encoding, const char **ret_encoding)
{
    if (encoding == NULL)
        return tab_text_utf8(a, s, ret_encoding);
    *ret_encoding = encoding;
    bool marked = s.n >= 2 && (memcmp(s.p, "\xFF\xFE", 2) == 0 || memcmp(s.p, "\xFE\xFF", 2) == 0);
    if (strncmp(encoding, "utf-16", 6) == 0)
        return from_utf16(a, (tab_str){ s.p + 2 * marked, s.n - 2 * marked }, encoding[6] == 'b');
    if (strcmp(encoding, "windows-1252") == 0)
        return from_windows_1252(a, s);
    if (strcmp(encoding, "utf-8") == 0 && s.n >= 3 && memcmp(s.p, "\xEF\xBB\xBF", 3) == 0)
        s = (tab_str){ s.p + 3, s.n - 3 };
    return tab_charset_utf8(a, s, encoding);
}
