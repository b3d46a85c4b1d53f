#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/parse.h"

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

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
    if (s->n > 0 && *s->p != ' ' && (unsigned char)*s->p < 0x80)
        return false;
    while (eat(s, " ") || eat(s, "\xc2\xa0") || eat(s, "\xe2\x80\xaf"))
        any = true;
    return any;
}

static const char *const money_signs[] = {
    "US$",
    "R$",
    "A$",
    "C$",
    "HK$",
    "NZ$",
    "S$",
    "NT$",
    "$",
    "\xc2\xa3",
    "\xe2\x82\xac",
    "\xc2\xa5",
    "\xe2\x82\xb9",
    "\xe2\x82\xbd",
    "\xe2\x82\xa9",
    "\xe2\x82\xaa",
    "\xe2\x82\xab",
    "\xe2\x82\xba",
    "\xe2\x82\xb4",
    "\xe2\x82\xa6",
    "\xe0\xb8\xbf",
    "\xe2\x82\xb1",
    "\xc2\xa2",
    "\xe2\x82\xa8",
    "\xe2\x82\xb5",
    "\xe2\x82\xbf",
    "\xef\xbf\xa5",
    "\xe5\x86\x86",
    "\xe5\x85\x83",
    "Rs.",
    "Rs",
    "kr.",
    "kr",
    "Kr",
    "z\xc5\x82",
    "K\xc4\x8d",
    "Ft",
    "lei",
    "\xd1\x80\xd1\x83\xd0\xb1.",
    "\xd1\x80\xd1\x83\xd0\xb1",
    "TL",
    "Fr.",
    "RM",
    "Rp",
};
static const char *const money_codes[] = {
    "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "RMB", "INR", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK",
    "PLN", "CZK", "HUF", "RON", "BGN", "RUB", "UAH", "TRY", "ILS", "ZAR", "BRL", "MXN", "ARS", "CLP",
    "COP", "PEN", "KRW", "TWD", "HKD", "SGD", "MYR", "THB", "IDR", "PHP", "VND", "AED", "SAR", "QAR",
    "KWD", "EGP", "NGN", "KES", "GHS", "MAD", "PKR", "BDT", "LKR", "ISK", "HRK", "RSD", "BTC", "ETH",
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool eat_money(tab_str *s)
{
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

/* Multipliers. A letter alone must touch the digits (18.3k) and end the cell. */
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
            if (s->n == 0 || *s->p == ' ' || *s->p == '+' || (unsigned char)*s->p >= 0x80 || *s->p == ')')
                return scales[i].by;
            *s = was;
        }
    }
    return 0;
}

/* Units that may touch the digits; after a blank any short word is one. */
static bool touching_unit(tab_str u)
{
    static const char *const units[] = {
        "kg",
        "g",
        "mg",
        "ug",
        "\xc2\xb5g",
        "mcg",
        "lb",
        "lbs",
        "oz",
        "t",
        "km",
        "m",
        "cm",
        "mm",
        "um",
        "nm",
        "mi",
        "ft",
        "in",
        "yd",
        "l",
        "L",
        "ml",
        "mL",
        "dl",
        "cl",
        "gal",
        "s",
        "sec",
        "ms",
        "us",
        "ns",
        "min",
        "mins",
        "h",
        "hr",
        "hrs",
        "d",
        "days",
        "yr",
        "yrs",
        "Hz",
        "kHz",
        "MHz",
        "GHz",
        "W",
        "kW",
        "MW",
        "GW",
        "kWh",
        "MWh",
        "Wh",
        "V",
        "kV",
        "mV",
        "mA",
        "Ah",
        "mAh",
        "B",
        "KB",
        "kB",
        "MB",
        "GB",
        "TB",
        "PB",
        "KiB",
        "MiB",
        "GiB",
        "Gb",
        "Mbps",
        "Gbps",
        "\xc2\xb0",
        "\xc2\xb0"
        "C",
        "\xc2\xb0"
        "F",
        "C",
        "F",
        "K",
        "Pa",
        "kPa",
        "MPa",
        "hPa",
        "bar",
        "psi",
        "mmHg",
        "mph",
        "kph",
        "km/h",
        "kmh",
        "m/s",
        "kn",
        "kt",
        "kts",
        "hp",
        "bhp",
        "ps",
        "PS",
        "CC",
        "cc",
        "cm3",
        "rpm",
        "nm",
        "Nm",
        "kmpl",
        "mpg",
        "x",
        "X",
        "\"",
        "'",
        "''",
        "\xe2\x80\xb3",
        "\xe2\x80\xb2",
        "ha",
        "ac",
        "m2",
        "m\xc2\xb2",
        "m3",
        "m\xc2\xb3",
        "km2",
        "km\xc2\xb2",
        "sqft",
        "sqm",
        "kcal",
        "cal",
        "kJ",
        "J",
        "mg/dL",
        "mmol/L",
        "g/dL",
        "IU",
        "mol",
        "mM",
        "uM",
        "nM",
        "ppm",
        "ppb",
        "dB",
        "lm",
        "lx",
        "N",
        "kN",
        "MP",
        "px",
        "pt",
        "em",
        "rem",
        "dpi",
        "fps",
        "pts",
        "pcs",
        "bps",
        "bp",
        "kbp",
        "Da",
        "kDa",
        "\xe5\xb9\xb4",
        "\xe6\xad\xb3",
        "\xe4\xba\xba",
        "\xe4\xb8\x87",
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

/* Digits with groups, decimals and exponent. `plain` receives them as strtod reads them. */
static bool read_digits(tab_str *s, char decimal, tab_number *r)
{
    char plain[96];
    size_t pn = 0;
    uint64_t mantissa = 0;
    int significant = 0, exp10 = 0, whole = 0, group = 0, groups = 0, short_groups = 0;
    const char thousands = decimal == '.' ? ',' : '.';
    char sep = 0;
    bool exact = true, first_zero = s->n > 0 && *s->p == '0';

    while (s->n > 0) {
        char c = *s->p;
        if (digit(c)) {
            if (pn + 8 >= sizeof plain)
                return false;
            plain[pn++] = c;
            if (significant < 19) {
                mantissa = mantissa * 10 + (uint64_t)(c - '0');
                significant += mantissa != 0;
            } else {
                exact = false;
            }
            whole++;
            group++;
            s->p++;
            s->n--;
            continue;
        }
        /* a group mark: the same throughout, digits on both sides */
        size_t k = 1;
        char mark = c;
        if (s->n > 2 && memcmp(s->p, "\xc2\xa0", 2) == 0)
            k = 2, mark = ' ';
        else if (s->n > 3 && (memcmp(s->p, "\xe2\x80\xaf", 3) == 0 || memcmp(s->p, "\xe2\x80\x89", 3) == 0))
            k = 3, mark = ' ';
        else if (s->n > 3 && memcmp(s->p, "\xe2\x80\x99", 3) == 0)
            k = 3, mark = '\'';
        if (whole == 0 || s->n <= k || !digit(s->p[k]) ||
            !(mark == thousands || mark == ' ' || mark == '\'') || (sep != 0 && mark != sep))
            break;
        /* three digits must follow, or two in the Indian style before a later group of three */
        size_t run = 0;
        while (k + run < s->n && run < 4 && digit(s->p[k + run]))
            run++;
        bool indian = run == 2 && mark == ',' && k + run < s->n && s->p[k + run] == ',';
        if ((run != 3 && !indian) || group > 3 || first_zero)
            break;
        short_groups += indian;
        sep = mark;
        groups++;
        group = 0;
        s->p += k;
        s->n -= k;
    }
    r->digits = whole;
    r->grouped = groups > 0;
    r->leading_zero = whole > 1 && first_zero;
    (void)short_groups;
    if (groups == 1 && sep == thousands)
        r->only_point = r->only_comma = false; /* 1,234 reads both ways */
    else if (groups > 0 && sep == thousands)
        *(decimal == '.' ? &r->only_point : &r->only_comma) = true;

    if (s->n > 0 && *s->p == decimal && (whole > 0 || (s->n > 1 && digit(s->p[1])))) {
        const char *mark = s->p;
        s->p++;
        s->n--;
        if (pn == 0)
            plain[pn++] = '0';
        plain[pn++] = '.';
        while (s->n > 0 && digit(*s->p)) {
            if (pn + 8 >= sizeof plain)
                return false;
            plain[pn++] = *s->p;
            if (significant < 19) {
                mantissa = mantissa * 10 + (uint64_t)(*s->p - '0');
                significant += mantissa != 0;
                exp10--;
            } else {
                exact = false;
            }
            r->decimals++;
            s->p++;
            s->n--;
        }
        if (r->decimals == 0 && s->n > 0) { /* "5." ends a cell; "5.x" is no number */
            s->n += (size_t)(s->p - mark);
            s->p = mark;
            return false;
        }
        if (!(r->decimals == 3 && whole > 0 && whole <= 3 && !first_zero && groups == 0))
            *(decimal == '.' ? &r->only_point : &r->only_comma) = true;
    }
    if (whole + r->decimals == 0)
        return false;
    if (s->n > 1 && (*s->p | 32) == 'e') {
        size_t k = 1;
        bool minus = s->p[k] == '-';
        if (s->p[k] == '-' || s->p[k] == '+')
            k++;
        int e = 0;
        size_t from = k;
        while (k < s->n && digit(s->p[k]) && k - from < 4)
            e = e * 10 + (s->p[k++] - '0');
        if (k > from && k == s->n) {
            exp10 += minus ? -e : e;
            r->exponent = true;
            plain[pn++] = 'e';
            for (size_t i = 1; i < k && pn < sizeof plain; i++)
                plain[pn++] = s->p[i];
            s->p += k;
            s->n -= k;
        }
    }
    r->value = scaled(mantissa, exp10, exact, plain, pn);
    return isfinite(r->value);
}

bool tab_parse_number(tab_str s, char decimal, tab_number *ret)
{
    tab_number r = { 0 };
    bool minus = false, paren = false, signs = false;
    size_t first = 0;
    if (s.n == 0 || s.n > 64)
        return false;
    while (first < s.n && !digit(s.p[first]))
        first++;
    if (first == s.n) /* most texts end here */
        return false;
    if (*s.p == '(' && s.p[s.n - 1] == ')') {
        paren = true;
        s.p++;
        s.n -= 2;
    }
    for (bool more = true; more && s.n > 0 && !digit(*s.p);) { /* prefix: sign, bound, money, in any order */
        tab_str was = s;
        eat_space(&s);
        if (!signs && (eat(&s, "-") || eat(&s, "\xe2\x88\x92")))
            minus = signs = true;
        else if (!signs && eat(&s, "+"))
            signs = true;
        else if (!r.bound &&
                 (eat(&s, "<=") || eat(&s, ">=") || eat(&s, "<") || eat(&s, ">") || eat(&s, "~") ||
                  eat(&s, "\xe2\x89\xa4") || eat(&s, "\xe2\x89\xa5") || eat(&s, "\xe2\x89\x88")))
            r.bound = true;
        else if (r.affix == TAB_AFFIX_NONE && eat_money(&s))
            r.affix = TAB_AFFIX_CURRENCY;
        else
            more = s.p != was.p;
    }
    if (!read_digits(&s, decimal, &r))
        return false;
    bool spaced = eat_space(&s);
    if (s.n > 0) {
        double by = eat_scale(&s, spaced);
        if (by != 0.0) {
            r.value *= by;
            if (r.affix == TAB_AFFIX_NONE)
                r.affix = TAB_AFFIX_SCALE;
            spaced |= eat_space(&s);
        }
    }
    if (s.n > 0 && (*s.p == '%' || eat(&s, "\xe2\x80\xb0")) && r.affix == TAB_AFFIX_NONE) {
        r.affix = TAB_AFFIX_PERCENT;
        if (s.n > 0 && *s.p == '%')
            eat(&s, "%");
    }
    if (s.n > 0 && (r.affix == TAB_AFFIX_NONE || r.affix == TAB_AFFIX_SCALE) && eat_money(&s)) {
        r.affix = TAB_AFFIX_CURRENCY;
        eat(&s, ".");
    }
    if (s.n > 0 && r.affix == TAB_AFFIX_NONE && !spaced && !r.decimals &&
        (tab_str_eq(s, TAB_S("st")) || tab_str_eq(s, TAB_S("nd")) || tab_str_eq(s, TAB_S("rd")) ||
         tab_str_eq(s, TAB_S("th")))) {
        r.affix = TAB_AFFIX_ORDINAL;
        s.n = 0;
    }
    if (s.n > 0 && unit_word(s, spaced)) {
        r.unit = s;
        if (r.affix == TAB_AFFIX_NONE || r.affix == TAB_AFFIX_SCALE)
            r.affix = TAB_AFFIX_UNIT;
        s.n = 0;
    }
    if (s.n > 0)
        return false;
    if (minus != paren)
        r.value = -r.value;
    *ret = r;
    return true;
}
