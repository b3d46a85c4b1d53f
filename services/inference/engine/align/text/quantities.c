/* See quantities.h. */
#include "services/inference/engine/align/text/quantities.h"

#include <inttypes.h>
#include <stdio.h>

/* Millilitres or milligrams in one. Of large ones thousandths are written, of others thousands. */
typedef struct {
    const char *name;
    bool mass, large;
    uint32_t factor;
} unit;

static const unit units[] = {
    { "ml", false, false, 1 },       { "cl", false, false, 10 },     { "dl", false, false, 100 },
    { "l", false, true, 1000 },      { "lt", false, true, 1000 },    { "ltr", false, true, 1000 },
    { "liter", false, true, 1000 },  { "litre", false, true, 1000 }, { "liters", false, true, 1000 },
    { "litres", false, true, 1000 }, { "litro", false, true, 1000 }, { "litros", false, true, 1000 },
    { "litri", false, true, 1000 },  { "mg", true, false, 1 },       { "g", true, false, 1000 },
    { "gr", true, false, 1000 },     { "gram", true, false, 1000 },  { "grams", true, false, 1000 },
    { "gramm", true, false, 1000 },  { "kg", true, true, 1000000 },  { "kilo", true, true, 1000000 },
};

enum { PARTS = 1000, PLACES = 3 }; /* a quantity has at most three decimals */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char at_or_blank(tab_str s, size_t i)
{
    return i < s.n ? s.p[i] : ' ';
}

/* The digits from s.p[*at] on; false where there are none, or more than six. */
static bool read_digits(tab_str s, size_t *at, uint64_t *ret, size_t *n)
{
    size_t from = *at;
    for (*ret = 0; is_digit(at_or_blank(s, *at)) && *at - from < 7; ++*at)
        *ret = *ret * 10 + (uint64_t)(s.p[*at] - '0');
    *n = *at - from;
    return *n > 0 && *n < 7;
}

/* The unit that the letters from s.p[at] on name, or NULL. */
static const unit *unit_at(tab_str s, size_t at, size_t *n)
{
    char word[8];
    for (*n = 0; *n < sizeof word && is_letter(at_or_blank(s, at + *n)); ++*n)
        word[*n] = (char)(s.p[at + *n] | 32);
    char next = at_or_blank(s, at + *n);
    if (*n == 0 || *n == sizeof word || is_digit(next) || (unsigned char)next >= 0x80)
        return NULL;
    word[*n] = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, word) == 0)
            return &units[i];
    return NULL;
}

size_t tab_quantity(tab_str s, size_t at, char out[TAB_QUANTITY_MAX], size_t *read)
{
    uint64_t whole, part = 0;
    size_t i = at, n, places = 0;
    if (!read_digits(s, &i, &whole, &n))
        return 0;
    char mark = at_or_blank(s, i);
    if ((mark == '.' || mark == ',') && is_digit(at_or_blank(s, i + 1))) {
        i++;
        if (!read_digits(s, &i, &part, &places) || places > PLACES)
            return 0;
    }
    /* one blank, or one that does not break */
    if (at_or_blank(s, i) == ' ')
        i++;
    else if (i + 1 < s.n && memcmp(s.p + i, "\xc2\xa0", 2) == 0)
        i += 2;
    const unit *u = unit_at(s, i, &n);
    if (u == NULL)
        return 0;
    for (size_t k = places; k < PLACES; k++)
        part *= 10;
    bool thousands = places == PLACES && whole > 0 && !u->large; /* "1.500 g" beside "1.500 kg" */
    uint64_t parts = (thousands ? (whole * PARTS + part) * PARTS : whole * PARTS + part) * u->factor;
    if (parts == 0 || parts % PARTS != 0)
        return 0;
    uint64_t x = parts / PARTS;
    *read = i + n - at;
    bool grams = u->mass && x % 1000 == 0;
    return (size_t)snprintf(out, TAB_QUANTITY_MAX, "%" PRIu64 "%s", grams ? x / 1000 : x,
                            !u->mass ? "ml"
                            : grams  ? "g"
                                     : "mg");
}

/* The bytes of "x", "X" or "×" at s.p[at], with a blank on either side or none; 0: something else. */
static size_t times_at(tab_str s, size_t at)
{
    size_t i = at + (at_or_blank(s, at) == ' ' && at < s.n);
    if (i < s.n && (s.p[i] | 32) == 'x')
        i++;
    else if (i + 1 < s.n && memcmp(s.p + i, "\xc3\x97", 2) == 0)
        i += 2;
    else
        return 0;
    i += at_or_blank(s, i) == ' ' && i < s.n;
    return is_digit(at_or_blank(s, i)) ? i - at : 0;
}

size_t tab_measures(tab_str s, size_t at, char out[TAB_QUANTITY_MAX], size_t *read)
{
    size_t n = 0, i = at, parts = 0, digits, times = 0;
    for (; i < s.n && i - at < 2 && is_letter(s.p[i]); i++)
        out[n++] = (char)(s.p[i] | 32);
    if (at_or_blank(s, i) == '0') /* 0x1f is one number */
        return 0;
    do {
        uint64_t x;
        size_t from = i += times, unit_n;
        if (n + 8 > TAB_QUANTITY_MAX || !read_digits(s, &i, &x, &digits))
            return 0;
        /* "6 x 1,5 l", "6x1500ml": what is behind the x is a quantity of its own */
        char mark = at_or_blank(s, i);
        if (((mark == '.' || mark == ',') && is_digit(at_or_blank(s, i + 1))) ||
            unit_at(s, i + (mark == ' '), &unit_n) != NULL)
            return 0;
        if (parts++ > 0)
            out[n++] = 'x';
        memcpy(out + n, s.p + from, digits);
        n += digits;
    } while ((times = times_at(s, i)) > 0);
    char next = at_or_blank(s, i);
    if (parts < 2 || is_letter(next) || (unsigned char)next >= 0x80)
        return 0;
    *read = i - at;
    return n;
}
