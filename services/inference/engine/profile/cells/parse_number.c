/* See parse.h: numbers as people write them, for column.c and features.c. The decimal mark is the column's,
 * not the cell's: 1.234 alone does not say whether it is a thousand. A number is read in three parts, each
 * from left to right:
 *
 *   "(~ US$ 1,200.50 million)"    prefix: bracket, sign, bound, money
 *                                 digits: groups, decimals, exponent
 *                                 suffix: scale, percent, money, ordinal, unit */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/cells/parse.h"

/* Steps past a word; false where s does not begin with it. */
static bool eat(tab_str *s, const char *word)
{
    if (s->n == 0 || *s->p != *word) /* nearly always */
        return false;
    size_t n = 0;
    for (; word[n] != 0; n++)
        if (n == s->n || s->p[n] != word[n])
            return false;
    s->p += n;
    s->n -= n;
    return true;
}

/* Steps past the first of the words that s begins with: longer ones must stand before their own
 * beginnings. */
static bool eat_any(tab_str *s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (eat(s, words[i]))
            return true;
    return false;
}

/* Blanks inside a number's affixes; NBSP and narrow NBSP count. */
static bool eat_space(tab_str *s)
{
    bool any = false;
    /* a byte below 0x80 that is no blank: nearly always */
    if (s->n > 0 && *s->p != ' ' && (unsigned char)*s->p < 0x80)
        return false;
    while (eat(s, " ") || eat(s, "\xc2\xa0") || eat(s, "\xe2\x80\xaf"))
        any = true;
    return any;
}

/* Longer signs stand before those they begin with: "US$" before "$", "Rs." before "Rs". */
static const char *const money_signs[] = { "US$", "R$",  "A$",   "C$",  "HK$", "NZ$", "S$", "NT$", "$",
                                           "£",   "€",   "¥",    "₹",   "₽", "₩",   "₪",  "₫",   "₺",
                                           "₴",   "₦",   "฿",    "₱",   "¢",   "₨",   "₵",  "₿", "￥",
                                           "円",  "元",  "Rs.",  "Rs",  "kr.", "kr",  "Kr", "zł",  "Kč",
                                           "Ft",  "lei", "руб.", "руб", "TL",  "Fr.", "RM", "Rp" };
static const char *const money_codes[] = {
    "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "RMB", "INR", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK",
    "PLN", "CZK", "HUF", "RON", "BGN", "RUB", "UAH", "TRY", "ILS", "ZAR", "BRL", "MXN", "ARS", "CLP",
    "COP", "PEN", "KRW", "TWD", "HKD", "SGD", "MYR", "THB", "IDR", "PHP", "VND", "AED", "SAR", "QAR",
    "KWD", "EGP", "NGN", "KES", "GHS", "MAD", "PKR", "BDT", "LKR", "ISK", "HRK", "RSD", "BTC", "ETH",
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* A currency sign or an ISO 4217 code. A code must end there: "EURO" is a word. */
static bool eat_money(tab_str *s)
{
    /* was: where to go back to when the word turns out to be another one */
    tab_str was = *s;
    if (s->n == 0)
        return false;
    if (*s->p >= 'A' && *s->p <= 'Z' && s->n >= 3 && eat_any(s, money_codes, COUNT(money_codes))) {
        if (s->n == 0 || !((*s->p | 32) >= 'a' && (*s->p | 32) <= 'z'))
            return true;
        *s = was;
    }
    if (!eat_any(s, money_signs, COUNT(money_signs)))
        return false;
    /* "kron", "leicht": a sign in letters must end its word */
    if ((((unsigned char)s->p[-1]) | 32) >= 'a' && (((unsigned char)s->p[-1]) | 32) <= 'z' && s->n > 0 &&
        (*s->p | 32) >= 'a' && (*s->p | 32) <= 'z') {
        *s = was;
        return false;
    }
    return true;
}

/* Multipliers of English, German and Indian usage; 0: none. A letter alone must touch the digits (18.3k)
 * and end the cell. */
static double eat_scale(tab_str *s, bool spaced)
{
    static const struct {
        const char *word;
        double by;
        bool letter;
    } scales[] = {
        { "thousand", 1e3, false }, { "million", 1e6, false }, { "Million", 1e6, false },
        { "billion", 1e9, false },  { "Billion", 1e9, false }, { "trillion", 1e12, false },
        { "Tsd.", 1e3, false },     { "Mio.", 1e6, false },    { "Mio", 1e6, false },
        { "Mrd.", 1e9, false },     { "Mrd", 1e9, false },     { "lakh", 1e5, false },
        { "Lakh", 1e5, false },     { "Lac", 1e5, false },     { "crore", 1e7, false },
        { "Crore", 1e7, false },    { "Cr", 1e7, false },      { "mn", 1e6, false },
        { "bn", 1e9, false },       { "tn", 1e12, false },     { "MM", 1e6, false },
        { "k", 1e3, true },         { "K", 1e3, true },        { "M", 1e6, true },
        { "B", 1e9, true },         { "T", 1e12, true },
    };
    for (size_t i = 0; i < COUNT(scales); i++) {
        tab_str was = *s;
        if (!(scales[i].letter && spaced) && eat(s, scales[i].word)) {
            /* the word must end here: "Million" is a scale, "Millionaire" is not */
            if (s->n == 0 || *s->p == ' ' || *s->p == '+' || (unsigned char)*s->p >= 0x80 || *s->p == ')')
                return scales[i].by;
            *s = was;
        }
    }
    return 0;
}

/* Units that may touch the digits (12kg). After a blank any short word is a unit (unit_word). */
static bool touching_unit(tab_str u)
{
    static const char *const units[] = {
        "kg",  "g",   "mg",   "ug",  "µg",   "mcg",  "lb",  "lbs",  "oz",    "t",      "km",   "m",    "cm",
        "mm",  "um",  "nm",   "mi",  "ft",   "in",   "yd",  "l",    "L",     "ml",     "mL",   "dl",   "cl",
        "gal", "s",   "sec",  "ms",  "us",   "ns",   "min", "mins", "h",     "hr",     "hrs",  "d",    "days",
        "yr",  "yrs", "Hz",   "kHz", "MHz",  "GHz",  "W",   "kW",   "MW",    "GW",     "kWh",  "MWh",  "Wh",
        "V",   "kV",  "mV",   "mA",  "Ah",   "mAh",  "B",   "KB",   "kB",    "MB",     "GB",   "TB",   "PB",
        "KiB", "MiB", "GiB",  "Gb",  "Mbps", "Gbps", "°",   "°C",   "°F",    "C",      "F",    "K",    "Pa",
        "kPa", "MPa", "hPa",  "bar", "psi",  "mmHg", "mph", "kph",  "km/h",  "kmh",    "m/s",  "kn",   "kt",
        "kts", "hp",  "bhp",  "ps",  "PS",   "CC",   "cc",  "cm3",  "rpm",   "nm",     "Nm",   "kmpl", "mpg",
        "x",   "X",   "\"",   "'",   "''",   "″",    "′",   "ha",   "ac",    "m2",     "m²",   "m3",   "m³",
        "km2", "km²", "sqft", "sqm", "kcal", "cal",  "kJ",  "J",    "mg/dL", "mmol/L", "g/dL", "IU",   "mol",
        "mM",  "uM",  "nM",   "ppm", "ppb",  "dB",   "lm",  "lx",   "N",     "kN",     "MP",   "px",   "pt",
        "em",  "rem", "dpi",  "fps", "pts",  "pcs",  "bps", "bp",   "kbp",   "Da",     "kDa",  "年",   "歳",
        "人",  "万"
    };
    for (size_t i = 0; i < COUNT(units); i++)
        if (u.p[0] == units[i][0] && tab_str_is(u, units[i]))
            return true;
    return false;
}

/* What stands behind the digits and is no money and no scale: at most two short words. */
static bool unit_word(tab_str u, bool spaced)
{
    if (u.n == 0 || u.n > 16)
        return false;
    if (!spaced)
        return touching_unit(u);
    size_t blanks = 0, letters = 0;
    for (size_t i = 0; i < u.n; i++) {
        unsigned char c = (unsigned char)u.p[i];
        if (digit(u.p[i]) && (i == 0 || i + 1 < u.n || u.p[i - 1] == ' ')) /* m2 is a unit, 12 b 3 is not */
            return false;
        if (c == ' ')
            blanks++;
        else if ((c | 32) >= 'a' && (c | 32) <= 'z')
            letters++;
        else if (c < 0x80 && memchr("/.^*'\"-()23", c, 11) == NULL)
            return false;
        else if (c >= 0x80)
            letters++;
    }
    return blanks <= 1 && letters > 0;
}

/* mantissa x 10^e, exactly rounded: both factors exact in a double (Clinger 1990), else strtod. */
static double scaled(uint64_t mantissa, int e, bool exact, const char *text, size_t n)
{
    static const double ten[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    /* Doubles hold integers up to 2^53 and powers of ten up to 10^22 exactly, so one operation rounds
     * once. */
    if (exact && mantissa <= (UINT64_C(1) << 53)) {
        if (e >= 0 && e <= 22)
            return (double)mantissa * ten[e];
        if (e < 0 && e >= -22)
            return (double)mantissa / ten[-e];
    }
    char buf[96];
    if (n >= sizeof buf)
        n = sizeof buf - 1;
    memcpy(buf, text, n);
    buf[n] = 0;
    return strtod(buf, NULL);
}

/* The digits of a number as they are read: the mantissa in up to 19 digits, and all of them as strtod reads
 * them, for numbers that 19 digits do not hold. */
typedef struct {
    char plain[96];
    size_t n;
    uint64_t mantissa;
    int significant, exponent;
    bool exact; /* the mantissa holds every digit */
} digits;

/* Room for 7 bytes more is kept: an exponent and a terminator. */
static bool take_digit(digits *q, char c)
{
    /* too long for a number */
    if (q->n + 8 >= sizeof q->plain)
        return false;
    q->plain[q->n++] = c;
    if (q->significant < 19) {
        q->mantissa = q->mantissa * 10 + (uint64_t)(c - '0');
        /* leading zeros are no significant digits */
        q->significant += q->mantissa != 0;
    } else {
        q->exact = false;
    }
    return true;
}

/* The mark at s and its bytes: thin and no-break blanks are blanks, a typographic apostrophe is one. */
static char mark_at(tab_str s, size_t *bytes)
{
    *bytes = 1;
    if (s.n > 2 && memcmp(s.p, "\xc2\xa0", 2) == 0) {
        *bytes = 2;
        return ' ';
    }
    if (s.n > 3 && (memcmp(s.p, "\xe2\x80\xaf", 3) == 0 || memcmp(s.p, "\xe2\x80\x89", 3) == 0)) {
        *bytes = 3;
        return ' ';
    }
    if (s.n > 3 && memcmp(s.p, "\xe2\x80\x99", 3) == 0) {
        *bytes = 3;
        return '\'';
    }
    return *s.p;
}

/* Digits before the decimal mark, in groups of three (1,200,000) or in India's of two (12,00,000). A group
 * mark is the same throughout and has digits on both sides. */
static bool read_whole(tab_str *s, char decimal, digits *q, tab_number *r)
{
    int whole = 0, group = 0, groups = 0;
    const char thousands = decimal == '.' ? ',' : '.';
    char sep = 0;
    /* 007 is a key or a code: such digits are never grouped */
    bool first_zero = s->n > 0 && *s->p == '0';
    while (s->n > 0) {
        if (digit(*s->p)) {
            if (!take_digit(q, *s->p))
                return false;
            whole++;
            group++;
            s->p++;
            s->n--;
            continue;
        }
        size_t k;
        char mark = mark_at(*s, &k);
        if (whole == 0 || s->n <= k || !digit(s->p[k]) ||
            !(mark == thousands || mark == ' ' || mark == '\'') || (sep != 0 && mark != sep))
            break;
        /* A group is three digits, or two where another group follows behind a comma (India). */
        size_t run = 0;
        while (k + run < s->n && run < 4 && digit(s->p[k + run]))
            run++;
        bool indian = run == 2 && mark == ',' && k + run < s->n && s->p[k + run] == ',';
        if ((run != 3 && !indian) || group > 3 || first_zero)
            break;
        sep = mark;
        groups++;
        group = 0;
        s->p += k;
        s->n -= k;
    }
    /* r->digits counts the zeros in front as well */
    r->digits = whole;
    r->grouped = groups > 0;
    r->leading_zero = whole > 1 && first_zero;
    if (groups == 1 && sep == thousands)
        r->only_point = r->only_comma = false; /* 1,234 reads both ways */
    else if (groups > 0 && sep == thousands)
        *(decimal == '.' ? &r->only_point : &r->only_comma) = true;
    return true;
}

/* The decimal mark and the digits behind it. False: no number ("5.x"). One to three digits, the mark and
 * three more (1.234) read both ways; any other decimals settle which mark is the decimal one. */
static bool read_decimals(tab_str *s, char decimal, digits *q, tab_number *r)
{
    if (s->n == 0 || *s->p != decimal || !(r->digits > 0 || (s->n > 1 && digit(s->p[1]))))
        return true;
    s->p++;
    s->n--;
    if (q->n == 0)
        q->plain[q->n++] = '0';
    q->plain[q->n++] = '.';
    while (s->n > 0 && digit(*s->p)) {
        /* once the mantissa is full, further digits do not move the point */
        q->exponent -= q->significant < 19;
        if (!take_digit(q, *s->p))
            return false;
        r->decimals++;
        s->p++;
        s->n--;
    }
    if (r->decimals == 0 && s->n > 0) /* "5." ends a cell */
        return false;
    bool first_zero = q->plain[0] == '0';
    if (!(r->decimals == 3 && r->digits > 0 && r->digits <= 3 && !first_zero && !r->grouped))
        *(decimal == '.' ? &r->only_point : &r->only_comma) = true;
    return true;
}

/* An exponent of up to four digits that ends the cell; anything else behind an "e" is a unit. */
static void read_exponent(tab_str *s, digits *q, tab_number *r)
{
    if (s->n < 2 || (*s->p | 32) != 'e')
        return;
    size_t k = 1;
    bool minus = s->p[k] == '-';
    if (s->p[k] == '-' || s->p[k] == '+')
        k++;
    int e = 0;
    size_t from = k;
    while (k < s->n && digit(s->p[k]) && k - from < 4)
        e = e * 10 + (s->p[k++] - '0');
    /* "1e5" ends a cell; "12e" or "1e5x" is left to the suffix */
    if (k == from || k != s->n)
        return;
    q->exponent += minus ? -e : e;
    r->exponent = true;
    q->plain[q->n++] = 'e';
    for (size_t i = 1; i < k && q->n < sizeof q->plain; i++)
        q->plain[q->n++] = s->p[i];
    s->p += k;
    s->n -= k;
}

/* Digits with groups, decimals and exponent. */
static bool read_digits(tab_str *s, char decimal, tab_number *r)
{
    digits q = { .exact = true };
    if (!read_whole(s, decimal, &q, r) || !read_decimals(s, decimal, &q, r) || r->digits + r->decimals == 0)
        return false;
    read_exponent(s, &q, r);
    r->value = scaled(q.mantissa, q.exponent, q.exact, q.plain, q.n);
    return isfinite(r->value);
}

/* What stands before the digits: sign, bound and money, in any order, each once. */
static void read_prefix(tab_str *s, tab_number *r, bool *minus)
{
    bool signs = false;
    /* each turn takes one part; a turn that takes nothing ends the loop */
    for (bool more = true; more && s->n > 0 && !digit(*s->p);) {
        const char *was = s->p;
        eat_space(s);
        if (!signs && (eat(s, "-") || eat(s, "−")))
            *minus = signs = true;
        else if (!signs && eat(s, "+"))
            signs = true;
        else if (!r->bound && (eat(s, "<=") || eat(s, ">=") || eat(s, "<") || eat(s, ">") || eat(s, "~") ||
                               eat(s, "≤") || eat(s, "≥") || eat(s, "≈")))
            r->bound = true;
        else if (r->affix == TAB_AFFIX_NONE && eat_money(s))
            r->affix = TAB_AFFIX_CURRENCY;
        else
            more = s->p != was;
    }
}

/* What stands behind the digits: scale, percent, money, ordinal or unit. False where something is left. */
static bool read_suffix(tab_str *s, tab_number *r)
{
    /* a scale may stand before a unit or a currency: "2.5 million EUR", "18k km" */
    bool spaced = eat_space(s);
    if (s->n > 0) {
        double by = eat_scale(s, spaced);
        if (by != 0.0) {
            r->value *= by;
            if (r->affix == TAB_AFFIX_NONE)
                r->affix = TAB_AFFIX_SCALE;
            spaced |= eat_space(s);
        }
    }
    if (s->n > 0 && (*s->p == '%' || eat(s, "‰")) && r->affix == TAB_AFFIX_NONE) {
        r->affix = TAB_AFFIX_PERCENT;
        if (s->n > 0 && *s->p == '%')
            eat(s, "%");
    }
    if (s->n > 0 && (r->affix == TAB_AFFIX_NONE || r->affix == TAB_AFFIX_SCALE) && eat_money(s)) {
        r->affix = TAB_AFFIX_CURRENCY;
        eat(s, ".");
    }
    /* ordinals of English touch their digits: 3rd */
    if (s->n > 0 && r->affix == TAB_AFFIX_NONE && !spaced && !r->decimals &&
        (tab_str_eq(*s, TAB_S("st")) || tab_str_eq(*s, TAB_S("nd")) || tab_str_eq(*s, TAB_S("rd")) ||
         tab_str_eq(*s, TAB_S("th")))) {
        r->affix = TAB_AFFIX_ORDINAL;
        s->n = 0;
    }
    /* the rest of the cell is a unit, or the cell is no number */
    if (s->n > 0 && unit_word(*s, spaced)) {
        r->unit = *s;
        if (r->affix == TAB_AFFIX_NONE || r->affix == TAB_AFFIX_SCALE)
            r->affix = TAB_AFFIX_UNIT;
        s->n = 0;
    }
    return s->n == 0;
}

bool tab_parse_number(tab_str s, char decimal, tab_number *ret)
{
    tab_number r = { 0 };
    bool minus = false, paren = false;
    size_t first = 0;
    if (s.n == 0 || s.n > 64)
        return false;
    /* the first digit, if there is one */
    while (first < s.n && !digit(s.p[first]))
        first++;
    if (first == s.n) /* most texts end here */
        return false;
    if (*s.p == '(' && s.p[s.n - 1] == ')') { /* (5) is -5 in accounts */
        paren = true;
        s.p++;
        s.n -= 2;
    }
    read_prefix(&s, &r, &minus);
    if (!paren && s.n > 2 && *s.p == '(' && s.p[s.n - 1] == ')') { /* $(5) as well */
        paren = true;
        s.p++;
        s.n -= 2;
    }
    if (!minus && !paren && s.n > 1 && s.p[s.n - 1] == '-' && (digit(s.p[s.n - 2]) || s.p[s.n - 2] == ' ')) {
        minus = true; /* 5- as SAP and mainframes write it */
        s.n--;
    }
    if (!read_digits(&s, decimal, &r) || !read_suffix(&s, &r))
        return false;
    /* one minus or one pair of brackets turns the sign; both together do not */
    if (minus != paren)
        r.value = -r.value;
    *ret = r;
    return true;
}
