/* See charset.h. Shares and not exact shapes decide: a text is long, and its rare bytes are anybody's. */
#include "common/files/charset.h"

#include <errno.h>
#include <iconv.h>

enum { LOOK = 1 << 20 };

typedef struct {
    size_t high, beside, low_part; /* bytes >= 0xC0; of these beside another; bytes 0x80 .. 0xBF */
    size_t pairs, kana, hangul;   /* two-byte characters, were they such; of Japan's kana; in Hangul's rows */
    size_t title_1251, title_koi; /* words that begin with a capital, and go on small */
    size_t mac, western, polish;  /* letters between ASCII letters: in these sets alone */
} counts;

static bool ascii_letter(unsigned char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* Letters of windows-1250 where 1252 has signs: A, a, L, l, S, s, Z and z of Polish, Czech, Slovak. */
static bool central(unsigned char c)
{
    return memchr("\x8C\x8F\x9C\x9F\xA3\xA5\xAF\xB3\xB9\xBC\xBE\xBF", c, 12) != NULL;
}

static void count_letter(const unsigned char *p, size_t i, size_t n, counts *c)
{
    unsigned char x = p[i], before = i > 0 ? p[i - 1] : 0, after = i + 1 < n ? p[i + 1] : 0;
    bool inside = ascii_letter(before) && ascii_letter(after);
    c->mac += inside && x < 0xA0 && memchr("\x91\x92\x8A\x8E\x9A\x9E\x8C\x9C", x, 8) == NULL;
    c->mac += inside && x == 0x8E; /* e with an acute there; in 1252 a Z that hardly anybody writes */
    c->western += inside && x >= 0xC0;
    c->polish += (inside || (ascii_letter(before) && x >= 0xB3 && !ascii_letter(after))) && central(x);
}

static counts count(tab_str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n = s.n < LOOK ? s.n : LOOK;
    counts c = { 0 };
    for (size_t i = 0; i < n; i++) {
        if (p[i] < 0x80)
            continue;
        unsigned char before = i > 0 ? p[i - 1] : 0, after = i + 1 < n ? p[i + 1] : 0;
        c.high += p[i] >= 0xC0;
        c.low_part += p[i] < 0xC0;
        c.beside += p[i] >= 0xC0 && (before >= 0xC0 || after >= 0xC0);
        if (before < 0x80 && p[i] >= 0xC0 && after >= 0xC0) {
            c.title_1251 += p[i] < 0xE0 && after >= 0xE0;
            c.title_koi += p[i] >= 0xE0 && after < 0xE0;
        }
        count_letter(p, i, n, &c);
    }
    for (size_t i = 0; i + 1 < n; i++) {
        if (p[i] < 0x80)
            continue;
        c.pairs++;
        c.kana += (p[i] == 0x82 || p[i] == 0x83) && p[i + 1] >= 0x40;
        c.hangul += p[i] >= 0xB0 && p[i] <= 0xC8 && p[i + 1] >= 0xA1;
        i++;
    }
    return c;
}

/* Whether all of it is of the set. */
static bool holds(tab_str s, const char *charset)
{
    iconv_t d = iconv_open("UTF-8", charset);
    if (d == (iconv_t)-1)
        return false;
    char *in = (char *)(uintptr_t)s.p, out[4096];
    size_t left = s.n < LOOK ? s.n : LOOK;
    bool good = true, cut = s.n > LOOK;
    while (left > 0 && good) {
        char *to = out;
        size_t room = sizeof out;
        good = iconv(d, &in, &left, &to, &room) != (size_t)-1 || errno == E2BIG ||
               (cut && errno == EINVAL && left < 4);
        left = good && errno == EINVAL && cut && left < 4 ? 0 : left;
    }
    iconv_close(d);
    return good;
}

const char *tab_charset_of(tab_str s)
{
    counts c = count(s);
    if (c.high >= 4 && c.beside * 10 >= c.high * 8 && c.low_part * 10 <= c.high)
        return c.title_koi > c.title_1251 ? "koi8-r" : "windows-1251";
    size_t upper = c.high + c.low_part;
    if (c.pairs >= 2 && c.kana * 10 >= c.pairs && holds(s, "shift_jis"))
        return "shift_jis";
    if (upper >= 4 && c.pairs * 20 <= upper * 11 && c.western == 0 && c.mac == 0) { /* nearly all in pairs */
        if (c.hangul * 10 >= c.pairs * 9 && holds(s, "euc-kr"))
            return "euc-kr";
        if (holds(s, "gb18030"))
            return "gb18030";
    }
    if (c.mac > 2 * c.western && c.mac > c.polish)
        return "macintosh";
    return c.polish >= 2 && 5 * c.polish >= c.western ? "windows-1250" : "windows-1252";
}

tab_str tab_charset_utf8(tab_arena *a, tab_str s, const char *charset)
{
    iconv_t d = iconv_open("UTF-8", charset);
    if (d == (iconv_t)-1)
        return (tab_str){ NULL, 0 };
    size_t most = 3 * s.n + 4, room = most, left = s.n; /* no set's byte is more than three of UTF-8 */
    char *text = tab_arena_alloc(a, most + 1, 1), *to = text, *in = (char *)(uintptr_t)s.p;
    while (text != NULL && left > 0 && iconv(d, &in, &left, &to, &room) == (size_t)-1) {
        if (errno != EILSEQ && errno != EINVAL)
            break;
        if (room < 3)
            break;
        memcpy(to, "\xEF\xBF\xBD", 3);
        to += 3;
        room -= 3;
        in++;
        left--;
    }
    iconv_close(d);
    return (tab_str){ text, text == NULL ? 0 : (size_t)(to - text) };
}
