/* See normalize_text.h: one normal form for what people write differently, for view.c. ASCII
 * takes a short way; all else is decomposed by utf8proc first. */
#include "services/inference/engine/align/text/normalize_text.h"

#include <utf8proc.h>

#include "services/inference/engine/align/text/quantities.h"

/* What one code point becomes: nothing, a break between words, or letters and digits. */
typedef struct {
    char *out;
    size_t n;
    bool gap; /* a break is due before the next letter */
} writer;

/* Appends, after a space where a break is due. What does not fit is dropped. */
static void put(writer *w, const char *p, size_t n)
{
    if (w->n + n + 1 > TAB_NORMAL_MAX)
        return;
    /* a break becomes one blank, never one in front */
    if (w->gap && w->n > 0)
        w->out[w->n++] = ' ';
    w->gap = false;
    memcpy(w->out + w->n, p, n);
    w->n += n;
}

/* A word of its own. */
static void put_apart(writer *w, const char *p, size_t n)
{
    w->gap = true;
    put(w, p, n);
    w->gap = true;
}

/* Points and accents that writers leave out: combining diacriticals, Hebrew and Arabic points. */
static bool droppable_mark(int32_t c)
{
    return (c >= 0x300 && c <= 0x36f) || (c >= 0x591 && c <= 0x5c7) || (c >= 0x64b && c <= 0x65f) ||
           c == 0x670 || (c >= 0x1ab0 && c <= 0x1aff) || (c >= 0x20d0 && c <= 0x20ff) || c == 0x640;
}

/* Letters that decomposition leaves alone and keyboards without them replace. */
static const struct {
    int32_t c;
    const char *latin;
} plain[] = {
    { 0xf8, "o" },  { 0x142, "l" },  { 0x111, "d" }, { 0xf0, "d" },  { 0xfe, "th" },
    { 0xe6, "ae" }, { 0x153, "oe" }, { 0x131, "i" }, { 0x127, "h" }, { 0x2bc, "" },
};

/* Greek and Cyrillic letters as passports and libraries write them in Latin (ISO 843, ICAO 9303), so that a
 * name is one in both scripts; signs without a sound are nothing. Small letters: folding comes first. */
static const char *const greek[] = { "a", "v", "g", "d", "e", "z", "i", "th", "i", "k",  "l",  "m", "n",
                                     "x", "o", "p", "r", "s", "s", "t", "y",  "f", "ch", "ps", "o" };
static const char *const cyrillic[] = { "a",  "b",  "v",  "g",    "d", "e", "zh", "z", "i",  "i", "k",
                                        "l",  "m",  "n",  "o",    "p", "r", "s",  "t", "u",  "f", "kh",
                                        "ts", "ch", "sh", "shch", "",  "y", "",   "e", "yu", "ya" };
static const struct {
    int32_t c;
    const char *latin;
} cyrillic_more[] = { { 0x451, "e" }, { 0x452, "dj" }, { 0x454, "ie" }, { 0x455, "dz" }, { 0x456, "i" },
                      { 0x457, "i" }, { 0x458, "j" },  { 0x459, "lj" }, { 0x45a, "nj" }, { 0x45b, "c" },
                      { 0x45e, "u" }, { 0x45f, "dz" }, { 0x491, "g" } };

/* The letter in Latin, or NULL. A Greek y behind o, a or e is u: "ou", "au", "eu". */
static const char *in_latin(const writer *w, int32_t c)
{
    if (c == 0x3c5 && w->n > 0 && !w->gap && memchr("oae", w->out[w->n - 1], 3) != NULL)
        return "u";
    if (c >= 0x3b1 && c <= 0x3c9)
        return greek[c - 0x3b1];
    if (c >= 0x430 && c <= 0x44f)
        return cyrillic[c - 0x430];
    for (size_t i = 0; c > 0x44f && c < 0x500 && i < sizeof cyrillic_more / sizeof *cyrillic_more; i++)
        if (cyrillic_more[i].c == c)
            return cyrillic_more[i].latin;
    return NULL;
}

/* One decomposed code point: apostrophes and accents vanish, letters and digits stay, the rest divides
 * words. */
static void put_point(writer *w, int32_t c)
{
    if (c == '\'' || c == 0x2019 || c == 0x2018 || c == 0x60 || c == 0xb4 || c == 0x2bc)
        return;
    /* apostrophes are gone; letters with a Latin substitute become it */
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (plain[i].c == c) {
            put(w, plain[i].latin, strlen(plain[i].latin));
            return;
        }
    if (droppable_mark(c))
        return;
    const char *latin = in_latin(w, c);
    if (latin != NULL) {
        if (*latin != 0)
            put(w, latin, strlen(latin));
        return;
    }
    /* letters, digits and the marks of other scripts stay */
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: {
        utf8proc_uint8_t b[4];
        utf8proc_ssize_t n = utf8proc_encode_char(c, b);
        put(w, (const char *)b, (size_t)n);
        break;
    }
    case UTF8PROC_CATEGORY_CF: /* joiners and direction marks: nothing */
        break;
    default:
        w->gap = true;
    }
}

/* One code point that is not ASCII: compatibility decomposition and case folding, then each part. More
 * than 24 parts do not occur (Unicode's longest decomposition has 18). */
static void put_wide(writer *w, int32_t c)
{
    utf8proc_int32_t d[24];
    int boundary = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char(
        c, d, 24, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE, &boundary);
    /* parts that are ASCII are treated as ASCII is below */
    for (utf8proc_ssize_t i = 0; i < n && n <= 24; i++) {
        if (d[i] < 0x80 && d[i] != '\'' && d[i] != '`') {
            char a = (char)d[i];
            if (a >= 'A' && a <= 'Z')
                a = (char)(a + 32);
            if ((a >= 'a' && a <= 'z') || (a >= '0' && a <= '9'))
                put(w, &a, 1);
            else
                w->gap = true;
        } else {
            put_point(w, d[i]);
        }
    }
}

/* &#252; &#xfc; &amp; and the few other names that tables from web pages carry. Returns bytes read. */
static size_t read_reference(tab_str s, size_t at, int32_t *ret)
{
    static const struct {
        const char *name;
        int32_t c;
    } names[] = { { "amp;", '&' },  { "lt;", '<' },    { "gt;", '>' },
                  { "quot;", '"' }, { "apos;", '\'' }, { "nbsp;", ' ' } };
    /* what follows the "&" */
    size_t left = s.n - at - 1;
    const char *p = s.p + at + 1;
    if (left >= 3 && p[0] == '#') {
        /* a code point in decimal or hexadecimal digits, up to the ";" */
        bool hex = p[1] == 'x' || p[1] == 'X';
        int32_t c = 0;
        size_t i = hex ? 2 : 1, from = i;
        for (; i < left && i < 9; i++) {
            int d = p[i] >= '0' && p[i] <= '9'          ? p[i] - '0'
                    : hex && p[i] >= 'a' && p[i] <= 'f' ? p[i] - 'a' + 10
                    : hex && p[i] >= 'A' && p[i] <= 'F' ? p[i] - 'A' + 10
                                                        : -1;
            if (d < 0)
                break;
            c = c * (hex ? 16 : 10) + d;
        }
        if (i == from || i >= left || p[i] != ';' || c <= 0 || c > 0x10ffff)
            return 0;
        *ret = c;
        return i + 2;
    }
    /* a name, with its ";" */
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t n = strlen(names[k].name);
        if (left >= n && memcmp(p, names[k].name, n) == 0) {
            *ret = names[k].c;
            return n + 1;
        }
    }
    return 0;
}

/* Numerals behind a title ("Rocky II") and ordinals ("1st Avenue") as others write them. One letter,
 * "vi" and "xi" are names as well. None is longer than the word it stands for, or than a digit's ordinal
 * in letters. */
static const struct {
    const char *word, *as;
} numerals[] = {
    { "ii", "2" },      { "iii", "3" },       { "iv", "4" },       { "vii", "7" },      { "viii", "8" },
    { "ix", "9" },      { "xii", "12" },      { "xiii", "13" },    { "xiv", "14" },     { "xv", "15" },
    { "xvi", "16" },    { "xvii", "17" },     { "xviii", "18" },   { "xix", "19" },     { "xx", "20" },
    { "first", "1st" }, { "second", "2nd" },  { "third", "3rd" },  { "fourth", "4th" }, { "fifth", "5th" },
    { "sixth", "6th" }, { "seventh", "7th" }, { "eighth", "8th" }, { "ninth", "9th" },  { "tenth", "10th" },
};

enum { ROMAN = 15 }; /* the first of them */

/* What t[0 .. n) is as digits, and its length; t itself where it is none of them. Romans stand behind a
 * word. */
static const char *numeral(const char *t, bool behind, size_t *n)
{
    for (size_t i = 0; *n > 1 && *n < 8 && i < sizeof numerals / sizeof *numerals; i++)
        if (strlen(numerals[i].word) == *n && memcmp(numerals[i].word, t, *n) == 0 &&
            (behind || i >= ROMAN)) {
            *n = strlen(numerals[i].as);
            return numerals[i].as;
        }
    return t;
}

/* Word by word: "007" and "7" are one number, so zeros in front of digits go; numerals become digits. Nothing
 * gets longer, so that words move to where room was left. */
static size_t rewrite_words(char *t, size_t n)
{
    size_t to = 0;
    for (size_t i = 0; i < n;) {
        /* one token; whether it is digits alone */
        size_t end = i;
        bool digits = true;
        while (end < n && t[end] != ' ') {
            digits = digits && t[end] >= '0' && t[end] <= '9';
            end++;
        }
        size_t from = i;
        while (digits && from + 1 < end && t[from] == '0')
            from++;
        size_t length = end - from;
        const char *word = numeral(t + from, i > 0, &length);
        memmove(t + to, word, length);
        to += length;
        if (end < n)
            t[to++] = ' ';
        i = end + 1;
    }
    return to;
}

static bool in_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A size or measures that begin at s.p[i]. Returns the bytes read, 0 where there are none. */
static size_t put_size(writer *w, tab_str s, size_t i)
{
    bool digit = is_digit(s.p[i]), times = i > 1 && (s.p[i - 1] | 32) == 'x' && is_digit(s.p[i - 2]);
    if (!in_word(s.p[i]) || (i > 0 && in_word(s.p[i - 1]) && !(digit && times)))
        return 0;
    bool goes_on = i > 1 && (s.p[i - 1] == '.' || s.p[i - 1] == ',') && is_digit(s.p[i - 2]);
    char q[TAB_QUANTITY_MAX];
    size_t read = 0, n = 0;
    if (digit && !goes_on)
        n = tab_quantity(s, i, q, &read);
    if (n == 0 && !goes_on && !times)
        n = tab_measures(s, i, q, &read);
    if (n > 0 && times && w->n > 1 && w->out[w->n - 1] == 'x' && is_digit(w->out[w->n - 2])) {
        w->out[w->n - 1] = ' '; /* "6x500ml": the x is a word */
        w->out[w->n++] = 'x';
    }
    if (n > 0)
        put_apart(w, q, n);
    return read;
}

/* Broken UTF-8 divides words, byte by byte. */
static size_t read_text(tab_str s, char out[TAB_NORMAL_MAX])
{
    writer w = { out, 0, false };
    for (size_t i = 0; i < s.n && w.n + 8 < TAB_NORMAL_MAX;) {
        /* a reference, an ASCII byte, or a code point of several bytes */
        unsigned char b = (unsigned char)s.p[i];
        int32_t c = 0;
        size_t read;
        if (b == '&' && (read = read_reference(s, i, &c)) > 0) {
            put_wide(&w, c);
            i += read;
        } else if ((read = put_size(&w, s, i)) > 0) {
            i += read;
        } else if (b < 0x80) {
            char a = (char)b;
            if (a >= 'A' && a <= 'Z')
                a = (char)(a + 32);
            if ((a >= 'a' && a <= 'z') || (a >= '0' && a <= '9'))
                put(&w, &a, 1);
            else if (a != '\'' && a != '`')
                w.gap = true;
            i++;
        } else {
            /* broken bytes are breaks */
            utf8proc_ssize_t n =
                utf8proc_iterate((const utf8proc_uint8_t *)s.p + i, (utf8proc_ssize_t)(s.n - i), &c);
            if (n <= 0) {
                w.gap = true;
                i++;
            } else {
                put_wide(&w, c);
                i += (size_t)n;
            }
        }
    }
    return rewrite_words(out, w.n);
}

/* Marks hide sizes ("1'000 g"), and numerals are none at first: where there are digits the text is read
 * again, so that a normal form is its own. */
size_t tab_text_normal(tab_str s, char out[TAB_NORMAL_MAX])
{
    char once[TAB_NORMAL_MAX];
    size_t n = read_text(s, out);
    size_t i = 0;
    while (i < n && !is_digit(out[i]))
        i++;
    if (i == n)
        return n;
    memcpy(once, out, n);
    return read_text((tab_str){ once, n }, out);
}

/* Scripts written without spaces between words. */
static bool unspaced(int32_t c)
{
    return (c >= 0x2e80 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xe00 && c <= 0xeff) ||
           (c >= 0x1000 && c <= 0x109f) || (c >= 0x1780 && c <= 0x17ff) || (c >= 0x20000 && c <= 0x3ffff);
}

/* Each letter with the next one; a lone letter by itself. */
static void pairs_of_letters(tab_str word, void (*emit)(void *, tab_str), void *ctx)
{
    size_t last = 0, at = 0;
    bool first = true;
    while (at < word.n) {
        utf8proc_int32_t c;
        utf8proc_ssize_t n =
            utf8proc_iterate((const utf8proc_uint8_t *)word.p + at, (utf8proc_ssize_t)(word.n - at), &c);
        size_t len = n <= 0 ? 1 : (size_t)n;
        /* two letters, by the bytes from the one before to the end of this */
        if (!first)
            emit(ctx, (tab_str){ word.p + last, at + len - last });
        else if (at + len >= word.n)
            emit(ctx, word);
        first = false;
        last = at;
        at += len;
    }
}

/* Words, and pairs of letters where the word's script is unspaced. */
void tab_text_tokens(tab_str t, void (*emit)(void *ctx, tab_str token), void *ctx)
{
    for (size_t i = 0; i < t.n;) {
        size_t end = i;
        while (end < t.n && t.p[end] != ' ')
            end++;
        tab_str word = { t.p + i, end - i };
        /* the first letter tells the script */
        utf8proc_int32_t c = 0;
        if (word.n > 0 && (unsigned char)word.p[0] >= 0xe0 &&
            utf8proc_iterate((const utf8proc_uint8_t *)word.p, (utf8proc_ssize_t)word.n, &c) > 0 &&
            unspaced(c))
            pairs_of_letters(word, emit, ctx);
        else if (word.n > 0)
            emit(ctx, word);
        i = end + 1;
    }
}

/* "1.5kg" is no model number. */
static bool is_quantity(tab_str s, size_t at)
{
    char q[TAB_QUANTITY_MAX];
    size_t read;
    return tab_quantity(s, at, q, &read) > 0;
}

/* Only words of several parts, of ASCII, of 4 to 47 letters and digits: model numbers and names with
 * hyphens. */
void tab_text_joined(tab_str raw, void (*emit)(void *ctx, tab_str token), void *ctx)
{
    enum { WORD = 48 };
    /* parts: runs of letters and digits within the word; only ASCII words are joined */
    char word[WORD];
    size_t n = 0, parts = 0, begin = 0;
    bool in_part = false, plain_word = true;
    for (size_t i = 0; i <= raw.n; i++) {
        char c = i < raw.n ? raw.p[i] : ' ';
        /* the word ends: it is emitted where it has several parts */
        if (c == ' ' || c == '\t' || c == '\n' || c == ',' || c == ';') {
            if (parts > 1 && plain_word && n >= 4 && n < WORD && !is_quantity(raw, begin))
                emit(ctx, (tab_str){ word, n });
            begin = i + 1;
            n = parts = 0;
            in_part = false;
            plain_word = true;
            continue;
        }
        if (c >= 'A' && c <= 'Z')
            c = (char)(c + 32);
        bool alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if ((unsigned char)c >= 0x80)
            plain_word = false;
        if (alnum) {
            parts += !in_part;
            if (n < WORD)
                word[n] = c;
            n += n < WORD;
        }
        in_part = alnum || c == '\'';
    }
}
