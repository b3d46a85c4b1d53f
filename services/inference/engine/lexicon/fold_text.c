/* See fold_text.h. Everything works on bytes and needs no locale: the same text folds alike on every
 * machine. */
#include "services/inference/engine/lexicon/fold_text.h"

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* The first byte says how many bytes follow; every following byte must begin with the bits 10. Surrogates
 * and overlong forms are let through: the result is only compared, never written out again. */
uint32_t tab_utf8_next(tab_str *s)
{
    const unsigned char *p = (const unsigned char *)s->p;
    size_t need = p[0] < 0x80 ? 1 : p[0] >= 0xf0 && p[0] < 0xf8 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc0 ? 2 : 0;
    uint32_t cp = 0xfffd;
    size_t step = 1;
    if (need == 1) {
        cp = p[0];
    } else if (need > 1 && p[0] < 0xf8 && s->n >= need) {
        uint32_t v = p[0] & (0x7fu >> need);
        size_t i = 1;
        while (i < need && (p[i] & 0xc0) == 0x80)
            v = v << 6 | (p[i++] & 0x3fu);
        if (i == need && v <= 0x10ffff) {
            cp = v;
            step = need;
        }
    }
    s->p += step;
    s->n -= step;
    return cp;
}

/* ---- trimming -------------------------------------------------------------------------------- */

/* Bytes of the one white space character that begins at p; 0 where there is none. Used at both ends of a
 * text. */
static size_t space_at(const unsigned char *p, size_t n)
{
    if (n > 0 && (p[0] == ' ' || (p[0] >= '\t' && p[0] <= '\r')))
        return 1;
    if (n > 1 && p[0] == 0xc2 && p[1] == 0xa0)
        return 2;                                                   /* NBSP */
    if (n > 2 && ((p[0] == 0xe3 && p[1] == 0x80 && p[2] == 0x80) || /* ideographic space */
                  (p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf) || /* BOM */
                  (p[0] == 0xe2 && p[1] == 0x80 && p[2] <= 0x8b) || /* en quad .. zero width */
                  (p[0] == 0xe2 && p[1] == 0x80 && p[2] == 0xaf)))  /* narrow NBSP */
        return 3;
    return 0;
}

/* At the end the character is looked for in its one, two and three bytes, since UTF-8 is read forwards. */
tab_str tab_trim(tab_str s)
{
    size_t k;
    while ((k = space_at((const unsigned char *)s.p, s.n)) > 0) {
        s.p += k;
        s.n -= k;
    }
    while (s.n > 0) {
        const unsigned char *end = (const unsigned char *)s.p + s.n;
        if (space_at(end - 1, 1) == 1)
            s.n -= 1;
        else if (s.n >= 2 && space_at(end - 2, 2) == 2)
            s.n -= 2;
        else if (s.n >= 3 && space_at(end - 3, 3) == 3)
            s.n -= 3;
        else
            break;
    }
    return s;
}

/* ---- folding --------------------------------------------------------------------------------- */

/* U+00C0 .. U+017F to base letters; '*' stands for a letter that becomes two, '.' for "keep". */
static const char latin[] =
    /* 00c0 */ "aaaaaa*ceeeeiiiidnooooo.ouuuuyt*"
               /* 00e0 */ "aaaaaa*ceeeeiiiidnooooo.ouuuuyty"
               /* 0100 */ "aaaaaaccccccccddddeeeeeeeeeegggg"
               /* 0120 */ "gggghhhhiiiiiiiiii**jjkkklllllll"
               /* 0140 */ "lllnnnnnnnnnoooooo**rrrrrrssssss"
               /* 0160 */ "ssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

/* One code point folded: lower case, full width to ASCII, Latin accents dropped. 0: drop it (a combining
 * mark, a zero-width character). German sharp s and the ae/oe ligatures become two letters: *second. Latin
 * letters go by the table above, other scripts by ranges of their Unicode blocks; what no range names stays
 * as it is. */
static uint32_t fold_char(uint32_t cp, uint32_t *second)
{
    *second = 0;
    if (cp < 0x80)
        return cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
    if (cp >= 0xc0 && cp <= 0x17f) {
        char c = latin[cp - 0xc0];
        if (c == '.')
            return cp;
        if (c != '*')
            return (uint32_t)(unsigned char)c;
        *second = cp == 0xdf ? 's' : cp == 0x132 || cp == 0x133 ? 'j' : 'e';
        return cp == 0xdf ? 's' : cp == 0x132 || cp == 0x133 ? 'i' : cp == 0xc6 || cp == 0xe6 ? 'a' : 'o';
    }
    if ((cp >= 0x300 && cp <= 0x36f) || (cp >= 0x200b && cp <= 0x200f) || cp == 0xfeff || cp == 0xad)
        return 0;
    if (cp >= 0x391 && cp <= 0x3a9)
        return cp + 32; /* Greek */
    if (cp >= 0x410 && cp <= 0x42f)
        return cp + 32; /* Cyrillic */
    if (cp >= 0x400 && cp <= 0x40f)
        return cp == 0x401 ? 0x435 : cp + 80;
    if (cp == 0x451)
        return 0x435; /* yo as ye: both are written */
    if (cp >= 0x1e00 && cp <= 0x1eff) {
        /* Vietnamese and other letters with two marks: the base letter by range */
        if (cp >= 0x1ea0 && cp <= 0x1eb7)
            return 'a';
        if (cp >= 0x1eb8 && cp <= 0x1ec7)
            return 'e';
        if (cp >= 0x1ec8 && cp <= 0x1ecb)
            return 'i';
        if (cp >= 0x1ecc && cp <= 0x1ee3)
            return 'o';
        if (cp >= 0x1ee4 && cp <= 0x1ef1)
            return 'u';
        if (cp >= 0x1ef2 && cp <= 0x1ef9)
            return 'y';
        return (cp & 1) == 0 && cp < 0x1e96 ? cp + 1 : cp;
    }
    if (cp == 0x1a0 || cp == 0x1a1)
        return 'o';
    if (cp == 0x1af || cp == 0x1b0)
        return 'u';
    if (cp >= 0xff01 && cp <= 0xff5e) { /* full width */
        uint32_t c = cp - 0xfee0;
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    }
    if (cp == 0x2019 || cp == 0x2018 || cp == 0x2bc)
        return '\'';
    if (cp >= 0x2010 && cp <= 0x2015)
        return '-';
    if (cp == 0xa0 || cp == 0x3000 || (cp >= 0x2000 && cp <= 0x200a) || cp == 0x202f)
        return ' ';
    return cp;
}

/* Room for 10 bytes is kept: a blank and two code points. ASCII, which is nearly all text, takes the short
 * way. */
tab_str tab_fold(tab_str s, char *buf, size_t n)
{
    size_t at = 0;
    bool blank = false;
    while (s.n > 0) {
        uint32_t second = 0, cp = (unsigned char)*s.p;
        if (cp > ' ' && cp < 0x80 && at + 10 <= n) { /* nearly always */
            if (blank)
                buf[at++] = ' ';
            blank = false;
            buf[at++] = (char)(cp >= 'A' && cp <= 'Z' ? cp + 32 : cp);
            s.p++;
            s.n--;
            continue;
        }
        cp = fold_char(tab_utf8_next(&s), &second);
        if (cp == 0)
            continue;
        if (cp == ' ' || (cp >= '\t' && cp <= '\r')) {
            blank = at > 0;
            continue;
        }
        if (at + 10 > n)
            break;
        if (blank)
            buf[at++] = ' ';
        blank = false;
        at += tab_utf8_put(cp, buf + at);
        if (second != 0)
            at += tab_utf8_put(second, buf + at);
    }
    return (tab_str){ buf, at };
}

/* ---- cells that say "no value" --------------------------------------------------------------- */

/* Lists of marks as programs (pandas, Excel, R, SQL) and people write them. Strict: no column has such a
 * value in earnest. Words may be a category of their own ("none" is a kind of insurance), so the column
 * decides (column.c). */
tab_foreign tab_foreign_mark(tab_str s)
{
    static const char *const strict[] = {
        "n/a", "na",      "#n/a",  "n.a.",    "nan",    "null", "<na>",   "\\n",    "k.a.", "s/d", "n/d",
        "nd",  "#value!", "#ref!", "#div/0!", "(null)", "nil",  "#null!", "<null>", "na.",  "n.d."
    };
    static const char *const words[] = {
        "none",          "unknown",
        "missing",       "not available",
        "not known",     "unbekannt",
        "desconocido",   "inconnu",
        "undefined",     "tbd",
        "tba",           "not applicable",
        "unk",           "sconosciuto",
        "not specified", "unspecified",
        "not stated",    "not provided",
        "(blank)",       "blank",
        "no data",       "keine angabe",
        "desconhecido",  "\xd0\xbd\xd0\xb5\xd1\x82 \xd0\xb4\xd0\xb0\xd0\xbd\xd0\xbd\xd1\x8b\xd1\x85",
        "onbekend",      "no answer",
        "refused",       "don't know"
    };
    if (s.n == 0)
        return TAB_FOREIGN_STRICT;
    if (s.n > 24)
        return TAB_FOREIGN_NO;
    bool marks = memchr("?-._", s.p[0], 4) != NULL;
    for (size_t i = 1; marks && i < s.n; i++)
        marks = s.p[i] == s.p[0];
    if (marks || (s.n == 3 && memcmp(s.p, "\xe2\x80\x94", 3) == 0) ||
        (s.n == 3 && memcmp(s.p, "\xe2\x80\x93", 3) == 0))
        return TAB_FOREIGN_STRICT;
    /* ":" and ": c" of Eurostat */
    if (s.p[0] == ':' && (s.n == 1 || (s.n == 3 && s.p[1] == ' ')))
        return TAB_FOREIGN_STRICT;
    /* Every mark starts with one of these; most cells are turned away here. */
    if (strchr("nN#<\\kKsSu(UmMdDtTiIrRob", s.p[0]) == NULL && (unsigned char)s.p[0] < 0x80)
        return TAB_FOREIGN_NO;
    char buf[64];
    tab_str f = tab_fold(s, buf, sizeof buf);
    for (size_t i = 0; i < sizeof strict / sizeof *strict; i++)
        if (f.n > 0 && f.p[0] == strict[i][0] && tab_str_is(f, strict[i]))
            return TAB_FOREIGN_STRICT;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (f.n > 0 && f.p[0] == words[i][0] && tab_str_is(f, words[i]))
            return TAB_FOREIGN_WORD;
    return TAB_FOREIGN_NO;
}

/* ---- hash ------------------------------------------------------------------------------------ */

/* The product of two 64-bit numbers, its upper half folded onto the lower one. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t r = (__uint128_t)a * b;
    return (uint64_t)r ^ (uint64_t)(r >> 64);
}

/* Wang Yi's wyhash in small: eight bytes a step, the rest and the length in a last one. The constants are
 * wyhash's own. Models and samples depend on these values: they may never change. */
uint64_t tab_wyhash(const void *p, size_t n, uint64_t seed)
{
    const unsigned char *s = p;
    uint64_t h = seed ^ 0xa0761d6478bd642fULL, w = 0;
    size_t left = n;
    for (; left >= 8; left -= 8, s += 8) {
        memcpy(&w, s, 8);
        h = mix(h ^ w, 0xe7037ed1a0b428dbULL);
    }
    w = 0;
    if (left > 0)
        memcpy(&w, s, left);
    return mix(h ^ w ^ (uint64_t)n << 56, 0x8ebc6af09c88c6e3ULL) ^ mix(h, 0x589965cc75374cc3ULL);
}
