/* See checksum.h: numbers that check themselves (payment cards, IBAN, ISBN, VIN ...). features.c asks
 * tab_checks_of for each sampled value; what share of a column passes raises the role (tab_restrict_roles,
 * decision 0061). The standard that defines a check digit stands above each test.
 *
 * A test works on the value without blanks, dashes, dots and slashes ("squeezed"), since people group digits
 * as they like. Its answer is one bit of TAB_CHECKS. */
/* See checksum.h. The sources of the check digits stand above each test. */
#include "services/inference/engine/profile/cells/checksum.h"

#include "services/inference/engine/lexicon/lexicon.h"
#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/cells/numbering.h"
#include "services/inference/engine/profile/cells/pattern.h"

/* What stands in a cell once blanks, dashes and dots are gone. */
typedef struct {
    char c[40];
    size_t n;
    bool digits, alnum, overflow; /* digits only; letters and digits only; there was more than c[] holds */
} squeezed;

/* Capitals, without marks; at most 40 characters. */
static squeezed squeeze(tab_str s)
{
    squeezed q = { .digits = true, .alnum = true };
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        /* marks that people put between groups */
        if (c == ' ' || c == '-' || c == '.' || c == '/')
            continue;
        if (q.n == sizeof q.c) {
            q.overflow = true;
            break;
        }
        q.c[q.n++] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
        q.digits = q.digits && digit(c);
        q.alnum = q.alnum && (digit(c) || letter(c));
    }
    q.digits = q.digits && q.n > 0;
    q.alnum = q.alnum && q.n > 0;
    return q;
}

/* 0 to 9, A as 10 to Z as 35. */
static int value_of(char c)
{
    return digit(c) ? c - '0' : c - 'A' + 10;
}

/* ISO/IEC 7812-1 annex B. */
static bool luhn(const char *d, size_t n)
{
    /* every second digit from the right is doubled, and the digits of the product are added (18 counts 1 + 8
     * = 9) */
    int sum = 0;
    for (size_t i = 0; i < n; i++) {
        int v = d[n - 1 - i] - '0';
        if (i % 2 == 1 && (v *= 2) > 9)
            v -= 9;
        sum += v;
    }
    return sum % 10 == 0;
}

/* ISO 7064 mod 97-10 over letters and digits, with the first `turn` characters moved behind. */
static int mod97(const char *c, size_t n, size_t turn)
/* The number is reduced digit by digit, so that it never overflows. A letter is two decimal digits (10 to
 * 35). */
{
    int m = 0;
    for (size_t i = 0; i < n; i++) {
        int v = value_of(c[(i + turn) % n]);
        m = (v > 9 ? m * 100 + v : m * 10 + v) % 97;
    }
    return m;
}

/* The weighted sum of n digits. */
static int weighted(const char *d, const int *w, size_t n)
{
    int sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (d[i] - '0') * w[i];
    return sum;
}

/* Runs of one digit pass many checks and stand for no number. */
static bool all_same(const squeezed *q)
{
    for (size_t i = 1; i < q->n; i++)
        if (q->c[i] != q->c[0])
            return false;
    return true;
}

/* Payment cards: ranges and lengths of the issuers (ISO/IEC 7812), and Luhn's check digit. */
static bool card(const squeezed *q)
{
    if (!q->digits || q->n < 13 || q->n > 19 || all_same(q))
        return false;
    /* The first two digits name the issuer: 4 Visa, 51 to 55 and 22 to 27 Mastercard, 34 and 37 American
     * Express, 35 JCB, 36, 38 and 30 Diners, 60, 64 and 65 Discover, 62 UnionPay, 50 and 56 to 69
     * Maestro. */
    int two = (q->c[0] - '0') * 10 + (q->c[1] - '0');
    bool issuer = (q->c[0] == '4' && (q->n == 13 || q->n == 16 || q->n == 19)) ||
                  (two >= 51 && two <= 55 && q->n == 16) || (two >= 22 && two <= 27 && q->n == 16) ||
                  ((two == 34 || two == 37) && q->n == 15) || (two == 35 && q->n == 16) ||
                  ((two == 36 || two == 38 || two == 30) && q->n == 14) ||
                  ((two == 60 || two == 64 || two == 65 || two == 62) && q->n >= 16) ||
                  ((two == 50 || (two >= 56 && two <= 69)) && q->n >= 12) || (two == 18 && q->n == 15) ||
                  (two == 21 && q->n == 15);
    return issuer && luhn(q->c, q->n);
}

/* Lengths of the IBAN registry (ISO 13616), by country. `slack`: a column whose check digits are wrong
 * (typed, masked or made up) is one of account numbers all the same. */
static bool iban(const squeezed *q, bool slack)
{
    static const char lengths[] =
        "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18"
        "FO18FR27GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20"
        "LU20LV21LY25MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24SC31SE24"
        "SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20";
    if (!q->alnum || q->n < 15 || q->n > 34 || q->overflow || !upper(q->c[0]) || !upper(q->c[1]) ||
        !digit(q->c[2]))
        return false;
    /* Two letters and two digits for each country. Without slack the length must be exact and the remainder
     * 1, with the country and the check digits moved to the end; with slack one character more or less will
     * do. */
    for (size_t i = 0; i + 4 < sizeof lengths; i += 4)
        if (lengths[i] == q->c[0] && lengths[i + 1] == q->c[1]) {
            size_t n = (size_t)((lengths[i + 2] - '0') * 10 + lengths[i + 3] - '0');
            return slack ? digit(q->c[3]) && q->n <= n + 1 && q->n + 1 >= n
                         : q->n == n && mod97(q->c, q->n, 4) == 1;
        }
    return false;
}

/* ISO 2108: ten digits modulo 11, where X stands for 10, or 13 digits with the prefix 978 or 979. */
static bool isbn(const squeezed *q)
{
    if (q->n == 10) {
        int sum = 0;
        for (size_t i = 0; i < 10; i++) {
            if (!digit(q->c[i]) && !(i == 9 && q->c[i] == 'X'))
                return false;
            /* weights 10 down to 1 */
            sum += (int)(10 - i) * (q->c[i] == 'X' ? 10 : q->c[i] - '0');
        }
        return sum % 11 == 0;
    }
    static const int w[] = { 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1 };
    /* weights 1 and 3 in turn; "978" or "979" */
    return q->digits && q->n == 13 && memcmp(q->c, "97", 2) == 0 && q->c[2] >= '8' &&
           weighted(q->c, w, 13) % 10 == 0;
}

/* GS1's GTIN-8, -12, -13 and -14: weights 3 and 1 from the right. */
static bool gtin(const squeezed *q)
{
    if (!q->digits || !(q->n == 8 || q->n == 12 || q->n == 13 || q->n == 14))
        return false;
    int sum = 0;
    for (size_t i = 0; i < q->n; i++)
        sum += (q->c[q->n - 1 - i] - '0') * (i % 2 == 1 ? 3 : 1);
    return sum % 10 == 0;
}

/* 17 characters without I, O and Q, letters and digits. */
static bool vin_shape(const squeezed *q)
{
    bool has_digit = false, has_letter = false;
    if (q->n != 17 || !q->alnum)
        return false;
    for (size_t i = 0; i < 17; i++) {
        if (q->c[i] == 'I' || q->c[i] == 'O' || q->c[i] == 'Q')
            return false;
        has_digit |= digit(q->c[i]);
        has_letter |= letter(q->c[i]);
    }
    return has_digit && has_letter;
}

/* ISO 3779, check digit at position 9 (49 CFR 565). */
static bool vin(const squeezed *q)
{
    static const int w[] = { 8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2 };
    /* What each letter counts, A to Z; I, O and Q (".") do not occur. */
    static const char translit[] = "12345678.12345.7.923456789";
    int sum = 0;
    for (size_t i = 0; i < 17; i++)
        sum += w[i] * (digit(q->c[i]) ? q->c[i] - '0' : translit[q->c[i] - 'A'] - '0');
    return q->c[8] == (sum % 11 == 10 ? 'X' : (char)('0' + sum % 11));
}

/* ISO 6166: a country, nine characters, and Luhn's digit over their values. */
static bool isin(const squeezed *q)
{
    if (q->n != 12 || !q->alnum || !upper(q->c[0]) || !upper(q->c[1]) || !digit(q->c[11]))
        return false;
    char d[24];
    size_t n = 0;
    for (size_t i = 0; i < 12; i++) {
        int v = value_of(q->c[i]);
        if (v > 9)
            d[n++] = (char)('0' + v / 10);
        d[n++] = (char)('0' + v % 10);
    }
    return luhn(d, n);
}

/* Italy's codice fiscale by its shape. */
static bool fiscal(const squeezed *q)
{
    /* six letters of the name, two digits of the year, the month's letter, the day, the place of birth, a
     * check letter */
    static const char kind[] = "LLLLLLDDLDDLDDDL";
    if (q->n != 16 || q->digits || !q->alnum)
        return false;
    for (size_t i = 0; i < 16; i++)
        if (kind[i] == 'L' ? !upper(q->c[i]) : !digit(q->c[i]))
            return false;
    return true;
}

/* National numbers with a check: Spain DNI/NIE, Brazil CPF, Poland PESEL, Italy codice fiscale (shape and
 * month letter), Sweden/Finland personnummer, Netherlands BSN, France NIR, India Aadhaar (Verhoeff),
 * China. */
static bool national(const squeezed *q)
{
    /* Spain: eight digits, or X, Y, Z (0, 1, 2) and seven, modulo 23, which picks the letter. */
    if (q->n == 9 && (digit(q->c[0]) || (q->c[0] >= 'X' && q->c[0] <= 'Z')) && upper(q->c[8])) {
        int v = digit(q->c[0]) ? q->c[0] - '0' : q->c[0] - 'X';
        for (size_t i = 1; i < 8; i++) {
            if (!digit(q->c[i]))
                return false;
            v = v * 10 + (q->c[i] - '0');
        }
        return "TRWAGMYFPDXBNJZSQVHLCKE"[v % 23] == q->c[8];
    }
    /* The months of a codice fiscale have letters of their own. */
    if (fiscal(q))
        return strchr("ABCDEHLMPRST", q->c[8]) != NULL;
    /* China (GB 11643): weights 2^(17 - i) modulo 11, X for 10. */
    if (q->n == 18 && (digit(q->c[17]) || q->c[17] == 'X')) {
        static const int w[] = { 7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2 };
        for (size_t i = 0; i < 17; i++)
            if (!digit(q->c[i]))
                return false;
        return "10X98765432"[weighted(q->c, w, 17) % 11] == q->c[17];
    }
    if (!q->digits || all_same(q))
        return false;
    if (q->n == 11) {
        /* Poland: the date of birth is within; 20 is added to the month for each century. */
        static const int pesel[] = { 1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1 };
        int month = (q->c[2] - '0') * 10 + q->c[3] - '0', day = (q->c[4] - '0') * 10 + q->c[5] - '0';
        if (weighted(q->c, pesel, 11) % 10 == 0 && month % 20 >= 1 && month % 20 <= 12 && day >= 1 &&
            day <= 31)
            return true;
        int a = 0, b = 0; /* CPF */
        for (int i = 0; i < 9; i++) {
            a += (q->c[i] - '0') * (10 - i);
            b += (q->c[i] - '0') * (11 - i);
        }
        /* Each of the two check digits is 10 times the weighted sum, modulo 11, and 0 for 10. */
        a = a * 10 % 11 % 10;
        b = (b + a * 2) * 10 % 11 % 10;
        return q->c[9] - '0' == a && q->c[10] - '0' == b;
    }
    if (q->n == 15 && (q->c[0] == '1' || q->c[0] == '2')) { /* NIR: key 97 - n mod 97 */
        int64_t v = 0;
        for (size_t i = 0; i < 13; i++)
            v = v * 10 + (q->c[i] - '0');
        return 97 - v % 97 == (q->c[13] - '0') * 10 + q->c[14] - '0';
    }
    return false;
}

/* The numbers of the European Union's value added tax, behind their countries: 9 a digit, A a letter, *
 * either. Codes that begin with a country ("IT001E12345678") have other lengths, or letters elsewhere. */
static bool eu_vat(const squeezed *q)
{
    static const char *const forms[] = {
        "ATU99999999",    "BE9999999999",   "BE999999999",  "BG999999999",   "BG9999999999", "CY99999999A",
        "CZ99999999",     "CZ999999999",    "CZ9999999999", "DE999999999",   "DK99999999",   "EE999999999",
        "EL999999999",    "ES*9999999*",    "FI99999999",   "FR**999999999", "GB999999999",  "GB999999999999",
        "HR99999999999",  "HU99999999",     "IE9999999A",   "IE9999999AA",   "IE9*99999A",   "IT99999999999",
        "LT999999999",    "LT999999999999", "LU99999999",   "LV99999999999", "MT99999999",   "NL999999999A99",
        "PL9999999999",   "PT999999999",    "RO9999999",    "RO99999999",    "RO999999999",  "RO9999999999",
        "SE999999999999", "SI99999999",     "SK9999999999",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *f = forms[i];
        size_t k = 0;
        if (f[0] != q->c[0] || f[1] != q->c[1] || strlen(f) != q->n)
            continue;
        while (k < q->n && (f[k] == '*' || (f[k] == '9'            ? digit(q->c[k])
                                            : f[k] == 'A' && k > 1 ? upper(q->c[k])
                                                                   : f[k] == q->c[k])))
            k++;
        if (k == q->n)
            return true;
    }
    return false;
}

/* EU VAT and India's GSTIN by their shapes, Brazil's CNPJ by its check digits. */
static bool tax(const squeezed *q)
{
    if (q->n >= 9 && q->n <= 14 && upper(q->c[0]) && upper(q->c[1]) && q->alnum && eu_vat(q))
        return true;
    if (q->n == 15 && digit(q->c[0]) && digit(q->c[1]) && upper(q->c[2]) && q->c[13] == 'Z') /* GSTIN */
        return q->alnum;
    if (q->digits && q->n == 14 && !all_same(q)) { /* CNPJ */
        static const int w[] = { 6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2 };
        int a = weighted(q->c, w + 1, 12) % 11, b = weighted(q->c, w, 13) % 11;
        return q->c[12] - '0' == (a < 2 ? 0 : 11 - a) && q->c[13] - '0' == (b < 2 ? 0 : 11 - b);
    }
    return false;
}

/* Whether the n characters at c are digits. */
static bool all_digits(const char *c, size_t n)
{
    while (n > 0 && digit(c[n - 1]))
        n--;
    return n == 0;
}

/* Verhoeff 1969: the digits, turned by their places, multiply to the unit of the dihedral group of order
 * ten. */
bool tab_verhoeff(const char *d, size_t n)
{
    static const char times[10][11] = {
        "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
        "5987604321", "6598710432", "7659821043", "8765932104", "9876543210"
    };
    static const char turned[8][11] = { "0123456789", "1576283094", "5803796142", "8916043527",
                                        "9453126870", "4286573901", "2793806415", "7046913258" };
    int c = 0;
    for (size_t i = 0; i < n; i++)
        c = times[c][turned[i % 8][d[n - 1 - i] - '0'] - '0'] - '0';
    return c == 0;
}

/* SNOMED CT identifiers (release file specification, appendix D): 6 to 18 digits, two before the last that
 * say "concept", and Verhoeff's check digit. */
static bool snomed(const squeezed *q)
{
    return q->digits && q->n >= 6 && q->n <= 18 && q->c[0] != '0' && q->c[q->n - 2] == '0' &&
           q->c[q->n - 3] <= '1' && tab_verhoeff(q->c, q->n);
}

/* Prescription codes of the British National Formulary: chapter, section, paragraph and subparagraph in
 * digits, then chemical, product, strength and equivalent, 15 characters in all. */
static bool bnf(tab_str s)
{
    if (s.n != 15 || s.p[0] > '2' || !all_digits(s.p, 7) || !upper(s.p[7]))
        return false;
    for (size_t i = 8; i < 15; i++)
        if (!digit(s.p[i]) && !upper(s.p[i]))
            return false;
    return upper(s.p[13]) || upper(s.p[14]);
}

/* Codes of the North American Industry Classification (2022): 2 to 6 digits that begin with one of its
 * sectors. */
static bool naics(tab_str s)
{
    static const char sectors[] = "112122233132334244454849515253545556616271728192";
    if (s.n < 2 || s.n > 6 || !all_digits(s.p, s.n))
        return false;
    for (size_t i = 0; i + 1 < sizeof sectors; i += 2)
        if (memcmp(sectors + i, s.p, 2) == 0)
            return true;
    return false;
}

/* Bank identifiers (ISO 9362) in capitals: four letters of the bank, two of a country, two of the place, and
 * three of a branch or none. */
static bool bic(tab_str s)
{
    if (s.n != 8 && s.n != 11)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!upper(s.p[i]) && (i < 6 || !digit(s.p[i])))
            return false;
    const char country[2] = { (char)(s.p[4] | 32), (char)(s.p[5] | 32) };
    const tab_lexeme *x = tab_lexicon_find((tab_str){ country, 2 });
    return x != NULL && (x->lists >> TAB_LIST_COUNTRY_CODE2 & 1) != 0;
}

/* Patterns first (pattern.c); check digits only for texts that hold 8 characters and more besides marks. */
uint64_t tab_checks_of(tab_str s)
{
    bool any_digit;
    if (s.n < 2 || s.n > 400)
        return 0;
    uint64_t r = tab_patterns_of(s, &any_digit);
#define SET(e, test) r |= (test) ? UINT64_C(1) << TAB_CHECK_##e : 0
    SET(BIC, bic(s));
    if (!any_digit)
        return r;
    SET(NAICS, naics(s));
    SET(BNF, bnf(s));
    squeezed q = squeeze(s);
    SET(LOINC, s.n >= 4 && s.n <= 8 && s.p[s.n - 2] == '-' && q.digits && q.n + 1 == s.n && luhn(q.c, q.n));
    SET(SNOMED, q.n == s.n && snomed(&q));
    if (q.overflow || q.n < 8)
        return r;
    r |= tab_numbering_plans(s);
    SET(CARD, card(&q));
    SET(IMEI, q.digits && q.n == 15 && !all_same(&q) && luhn(q.c, 15));
    SET(IBAN, iban(&q, false));
    SET(IBAN_SHAPE, iban(&q, true));
    SET(FISCAL, fiscal(&q));
    SET(ISBN, isbn(&q));
    SET(GTIN, gtin(&q) && !all_same(&q));
    SET(VIN_SHAPE, vin_shape(&q));
    SET(VIN, vin_shape(&q) && vin(&q));
    SET(LEI, q.n == 20 && q.alnum && digit(q.c[18]) && digit(q.c[19]) && mod97(q.c, 20, 0) == 1);
    SET(ISIN, isin(&q));
    SET(NATIONAL, national(&q));
    SET(TAX, tax(&q));
    SET(NINO, q.n == 9 && upper(q.c[0]) && upper(q.c[1]) && upper(q.c[8]) && q.c[8] <= 'D' &&
                  all_digits(q.c + 2, 6));
    SET(NPI, q.digits && q.n == 10 && (q.c[0] == '1' || q.c[0] == '2') && ({
                 char d[15] = "80840";
                 memcpy(d + 5, q.c, 10);
                 luhn(d, 15);
             }));
    return r;
#undef SET
}
