/* See pattern.h: strict patterns (e-mail, URL, addresses of networks, telephone numbers, versions, paths,
 * plates, streets ...), for checksum.c alone. Each test walks the text once. A test is strict where strings
 * that only look alike are common: the shares of accidental passes stand in checksum.h. */
#include "services/inference/engine/profile/cells/pattern.h"

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/lexicon/lexicon.h"
#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/cells/checksum.h"
#include "services/inference/engine/profile/cells/street.h"

/* Whether the last label is a top-level domain of IANA's list (lexicon/tld.txt). */
static bool known_tld(tab_str s)
{
    char buf[32];
    if (s.n < 2 || s.n > 24)
        return false;
    const tab_lexeme *x = tab_lexicon_find(tab_fold(s, buf, sizeof buf));
    return x != NULL && (x->lists >> TAB_LIST_TLD & 1) != 0;
}

/* Labels of letters, digits and inner dashes, two at least, the last a top-level domain. */
static bool domain(tab_str s)
{
    size_t label = 0, dots = 0, last = 0;
    if (s.n < 4 || s.n > 253)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        /* a point ends a label, which must not be empty */
        if (s.p[i] == '.') {
            if (label == 0)
                return false;
            label = 0;
            dots++;
            last = i + 1;
        } else if (letter(s.p[i]) || digit(s.p[i]) || (s.p[i] == '-' && label > 0) ||
                   (unsigned char)s.p[i] >= 0x80 || s.p[i] == '_') {
            label++;
        } else {
            return false;
        }
    }
    return dots > 0 && label > 0 && known_tld((tab_str){ s.p + last, s.n - last });
}

/* RFC 5321 without quoted local parts and addresses in brackets, which nobody has; letters of any script
 * (RFC 6531). */
bool tab_is_email(tab_str s)
{
    const char *at = memchr(s.p, '@', s.n);
    if (at == NULL || at == s.p || s.n > 254)
        return false;
    for (const char *p = s.p; p < at; p++)
        if (!(letter(*p) || digit(*p) || memchr("._%+-'", *p, 6) != NULL || (unsigned char)*p >= 0x80))
            return false;
    return domain((tab_str){ at + 1, (size_t)(s.p + s.n - at - 1) });
}

/* Whether s begins with the lower-case text w, in any case. */
static bool starts(tab_str s, const char *w)
{
    size_t i = 0;
    while (w[i] != 0 && i < s.n && (s.p[i] | (letter(s.p[i]) ? 32 : 0)) == w[i])
        i++;
    return w[i] == 0;
}

/* A scheme, "www." or a domain before a slash. */
static bool url(tab_str s)
{
    if (starts(s, "http://") || starts(s, "https://") || starts(s, "ftp://"))
        return s.n > 10 && memchr(s.p, ' ', s.n) == NULL;
    if (starts(s, "www."))
        return memchr(s.p, ' ', s.n) == NULL && s.n > 6;
    const char *slash = memchr(s.p, '/', s.n); /* host.tld/path */
    return slash != NULL && slash > s.p && domain((tab_str){ s.p, (size_t)(slash - s.p) });
}

/* Four numbers up to 255; a prefix length or a port may follow. */
static bool ipv4(tab_str s)
{
    /* i moves within the loop: a round reads one number and the point behind it */
    int parts = 0;
    for (size_t i = 0; i < s.n; parts++) {
        int v = 0, n = 0;
        while (i < s.n && digit(s.p[i]) && n < 4) {
            v = v * 10 + (s.p[i++] - '0');
            n++;
        }
        if (n == 0 || n > 3 || v > 255)
            return false;
        if (i < s.n && (s.p[i] == '/' || s.p[i] == ':') && parts == 3)
            return s.n - i <= 6; /* a prefix length or a port */
        if (i < s.n && s.p[i++] != '.')
            return false;
    }
    return parts == 4;
}

/* RFC 4291: eight groups of up to four hexadecimal digits, one run of zero groups as "::". */
static bool ipv6(tab_str s)
{
    int groups = 0, doubles = 0;
    if (s.n < 3 || s.n > 45)
        return false;
    /* "::" is counted, one colon is passed over, anything else must be a group */
    for (size_t i = 0; i < s.n;) {
        if (s.p[i] == ':') {
            if (i + 1 < s.n && s.p[i + 1] == ':') {
                doubles++;
                i += 2;
                continue;
            }
            i++;
            continue;
        }
        int n = 0;
        while (i < s.n && hex(s.p[i]) && n < 5) {
            i++;
            n++;
        }
        if (n == 0 || n > 4 || (i < s.n && s.p[i] != ':'))
            return false;
        groups++;
    }
    /* one "::" stands for at least one group */
    return doubles <= 1 && (doubles == 1 ? groups <= 7 && s.n > 4 : groups == 8);
}

static bool template_of(tab_str s, const char *t) /* 9 digit, H hex, A upper, else itself */
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool ok = t[i] == 0     ? false
                  : t[i] == '9' ? digit(c)
                  : t[i] == 'H' ? hex(c)
                  : t[i] == 'A' ? upper(c)
                                : c == t[i];
        if (!ok)
            return false;
    }
    return t[s.n] == 0;
}

/* Digits in groups, as people write telephone numbers. Bare digits are numbering.c's. */
static bool phone(tab_str s)
{
    size_t digits = 0, marks = 0, run = 0, longest = 0;
    bool plus = s.n > 0 && s.p[0] == '+';
    if (s.n < 7 || s.n > 28)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (digit(c)) {
            digits++;
            if (++run > longest)
                longest = run;
            continue;
        }
        run = 0;
        /* an extension may follow: "x12", "ext. 12" */
        if (c == 'x' || c == 'X' || (i > 7 && starts((tab_str){ s.p + i, s.n - i }, "ext")))
            return digits >= 7 && marks > 0;
        if (memchr(" -().+/", c, 7) == NULL)
            return false;
        marks++;
    }
    if (digits < 7 || digits > 15 || marks == 0)
        return false;
    /* 2019-05-31 and 12.5 are no phones; a + or groups of two to four digits are */
    if (template_of(s, "9999-99-99") || template_of(s, "99.99.9999") || template_of(s, "99/99/9999") ||
        template_of(s, "999-99-9999"))
        return false;
    if (s.n > 11 && template_of((tab_str){ s.p, 10 }, "9999-99-99") && s.p[10] == ' ') /* 2019-05-21 14-03 */
        return false;
    /* ITU E.164: 15 digits with the country's; national numbers have 12 at most, a prefix included */
    bool abroad = plus || starts(s, "00");
    if (!abroad && digits > 12)
        return false;
    if (abroad || s.p[0] == '(' || s.p[0] == '0')
        return true;
    /* No country and no trunk digit in front: at least nine digits in groups of five at most. */
    return longest <= 5 && marks >= 1 && digits >= 9;
}

/* v1.2, 1.2.3, 1.2.3-beta. */
static bool version(tab_str s)
{
    size_t dots = 0, digits = 0;
    size_t i = s.n > 1 && (s.p[0] | 32) == 'v' ? 1 : 0;
    if (i >= s.n || !digit(s.p[i]) || s.n > 24)
        return false;
    for (; i < s.n; i++) {
        if (digit(s.p[i]))
            digits++;
        else if (s.p[i] == '.')
            dots++;
        else if (!(dots > 0 && (s.p[i] == '-' || s.p[i] == '+' || letter(s.p[i]))))
            return false;
    }
    /* one point makes a version only behind a "v": 1.5 is a number */
    return digits >= 2 && (dots >= 2 || (dots == 1 && (s.p[0] | 32) == 'v'));
}

/* 10-20, $10 to $20, [0, 5), <18, 65+. */
static bool range(tab_str s)
{
    size_t digits = 0, dash = 0;
    for (size_t i = 0; i < s.n; i++) {
        digits += digit(s.p[i]);
        /* a dash, " to " or an en dash behind the first digit */
        if (i > 0 && digits > 0 &&
            (s.p[i] == '-' || (s.n - i > 4 && memcmp(s.p + i, " to ", 4) == 0) ||
             (s.n - i >= 3 && memcmp(s.p + i, "\xe2\x80\x93", 3) == 0)))
            dash++;
    }
    if (digits == 0 || s.n > 40 || digits > 14)
        return false;
    if (dash == 1 && digits >= 2 &&
        !(s.p[0] == '(' && memchr(s.p, ',', s.n) == NULL)) /* (030) 12-34 is a phone, (1, 2] a range */
        return digit(s.p[0]) || s.p[0] == '$' || s.p[0] == '[' || s.p[0] == '(';
    /* one end open: <18, >65, 65+ */
    return (s.p[0] == '<' || s.p[0] == '>' || s.p[s.n - 1] == '+') && dash == 0 &&
           (digit(s.p[0]) || digit(s.p[s.n - 1]) || s.p[s.n - 1] == '+');
}

bool tab_is_compared(tab_str s)
{
    size_t i = s.n > 0 && (s.p[0] == '<' || s.p[0] == '>');
    i += s.n >= 3 && (memcmp(s.p, "\xe2\x89\xa4", 3) == 0 || memcmp(s.p, "\xe2\x89\xa5", 3) == 0) ? 3 : 0;
    if (i == 0)
        return false;
    while (i < s.n && (s.p[i] == '=' || s.p[i] == ' ' || s.p[i] == '$'))
        i++;
    return i < s.n && digit(s.p[i]);
}

/* What brackets that close hold: an object somewhere, values alone, or neither. */
typedef enum { BRACKETS_NONE, BRACKETS_JSON, BRACKETS_LIST } brackets;

/* An object or an array whose brackets and quotes close. An array with no object in it is a list, as is what
 * PostgreSQL writes, {a,b}. Plain words in square brackets are neither: there must be a string or an inner
 * bracket. */
static brackets brackets_of(tab_str s)
{
    char open = s.p[0], close = s.p[s.n - 1];
    if (s.n < 2 || !((open == '{' && close == '}') || (open == '[' && close == ']')))
        return BRACKETS_NONE;
    int depth = 0, deepest = 0;
    bool quoted = false, colon = false, string = false, comma = false, object = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        /* inside a string only its end counts; a backslash takes the next byte with it */
        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
            continue;
        }
        if (c == '"')
            quoted = string = true;
        else if (c == '{' || c == '[')
            deepest = ++depth > deepest ? depth : deepest;
        else if ((c == '}' || c == ']') && --depth < 0)
            return BRACKETS_NONE;
        object |= c == '{';
        colon |= c == ':';
        comma |= c == ',';
    }
    if (depth != 0 || quoted)
        return BRACKETS_NONE;
    if (object)
        return colon || s.n == 2 ? BRACKETS_JSON : comma && open == '{' ? BRACKETS_LIST : BRACKETS_NONE;
    return string || deepest > 1 ? BRACKETS_LIST : BRACKETS_NONE;
}

/* Two coordinates in one cell: WKT's POINT, decimal degrees with a comma, or degrees with their sign. */
static bool geo_pair(tab_str s)
{
    if (starts(s, "point") && memchr(s.p, '(', s.n) != NULL)
        return true;
    size_t digits = 0, commas = 0, points = 0, degrees = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (digit(c))
            digits++;
        else if (c == ',' || c == ';')
            commas++;
        else if (c == '.')
            points++;
        else if (i + 1 < s.n && c == '\xc2' && s.p[i + 1] == '\xb0')
            degrees++;
        else if ((unsigned char)c < 0x80 && memchr(" -+()NSEWnsew'\"/", c, 16) == NULL)
            return false;
    }
    /* without degree signs: one comma between two numbers with decimals, six digits in all */
    return degrees > 0 ? digits >= 2 && degrees <= 2 : commas == 1 && points == 2 && digits >= 6;
}

/* A file's path of Unix or Windows, or a name with a known ending. */
static bool path(tab_str s)
{
    if (s.n < 4 || memchr(s.p, ' ', s.n) != NULL || starts(s, "http"))
        return false;
    if (letter(s.p[0]) && s.p[1] == ':' && s.p[2] == '\\')
        return true;
    size_t slashes = 0;
    for (size_t i = 0; i < s.n; i++)
        slashes += s.p[i] == '/' || s.p[i] == '\\';
    /* /usr, ~/x, ./x, ../x */
    if ((s.p[0] == '/' || s.p[0] == '~' || s.p[0] == '.') && slashes >= 1)
        return letter(s.p[s.p[0] == '/' ? 1 : 2]) || slashes > 1;
    const char *dot = memrchr(s.p, '.', s.n); /* name.ext */
    size_t ext = dot == NULL ? 0 : (size_t)(s.p + s.n - dot - 1);
    static const char *const known[] = { "txt",  "csv", "jpg",  "jpeg", "png", "gif", "pdf",  "doc",
                                         "docx", "xls", "xlsx", "html", "htm", "xml", "json", "zip",
                                         "gz",   "tar", "mp3",  "mp4",  "wav", "avi", "py",   "js",
                                         "c",    "h",   "css",  "log",  "exe", "dll", "svg",  "ppt",
                                         "pptx", "md",  "tif",  "tiff", "bmp", "webp" };
    if (ext == 0 || ext > 4 || dot == s.p)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (tab_str_is((tab_str){ dot + 1, ext }, known[i]))
            return true;
    return false;
}

/* ICD-10: a letter, two digits (or A, B), and up to four characters behind a point. */
static bool icd10(tab_str s)
{
    if (s.n < 3 || s.n > 8 || !upper(s.p[0]) || !digit(s.p[1]) ||
        !(digit(s.p[2]) || s.p[2] == 'A' || s.p[2] == 'B'))
        return false;
    if (s.n == 3)
        return true;
    if (s.p[3] != '.' || s.n == 4)
        return false;
    for (size_t i = 4; i < s.n; i++)
        if (!digit(s.p[i]) && !upper(s.p[i]))
            return false;
    return true;
}

/* Addresses of Ethereum (0x and 40 hexadecimal digits) and Bitcoin (bc1, or Base58 without 0, O, I and l).
 * Check sums are not computed. */
static bool crypto(tab_str s)
{
    if (s.n == 42 && s.p[0] == '0' && s.p[1] == 'x') {
        for (size_t i = 2; i < 42; i++)
            if (!hex(s.p[i]))
                return false;
        return true;
    }
    if (s.n >= 42 && s.n <= 62 && starts(s, "bc1"))
        return true;
    /* Base58 addresses begin with 1 or 3. Small and capital letters must both occur, or keys of capitals
     * would pass. */
    if (s.n < 26 || s.n > 35 || (s.p[0] != '1' && s.p[0] != '3'))
        return false;
    bool lower = false, up = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!(digit(c) || letter(c)) || c == '0' || c == 'O' || c == 'I' || c == 'l')
            return false;
        lower |= letter(c) && !upper(c);
        up |= upper(c);
    }
    return lower && up;
}

/* Hexadecimal digests of 128 to 512 bits: MD5, SHA-1 and SHA-2. Both a digit and a letter, so that long
 * numbers are none. */
static bool hex_run(tab_str s)
{
    bool d = false, l = false;
    if (s.n != 32 && s.n != 40 && s.n != 56 && s.n != 64 && s.n != 96 && s.n != 128)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!hex(s.p[i]))
            return false;
        d |= digit(s.p[i]);
        l |= letter(s.p[i]);
    }
    return d && l;
}

/* Registration plates: 4 to 10 characters in 1 to 3 groups, letters and digits, capitals. */
static bool plate(tab_str s)
{
    size_t digits = 0, letters = 0, marks = 0;
    if (s.n < 4 || s.n > 11)
        return false;
    /* capitals, digits, and a mark between groups */
    for (size_t i = 0; i < s.n; i++) {
        if (digit(s.p[i]))
            digits++;
        else if (upper(s.p[i]))
            letters++;
        else if ((s.p[i] == ' ' || s.p[i] == '-') && i > 0 && i + 1 < s.n)
            marks++;
        else
            return false;
    }
    return digits >= 1 && letters >= 2 && letters <= 5 && digits <= 5 && marks <= 2;
}

/* "10.1000/182": a registrant of four to nine digits (ISO 26324), which no network (10.3.0.0/16) has. */
static bool doi(tab_str s)
{
    size_t n = 3;
    if (!starts(s, "10."))
        return false;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    bool registrant = n >= 7 && n <= 12;
    while (n < s.n && (s.p[n] == '.' || (s.p[n] >= '0' && s.p[n] <= '9')))
        n++;
    return registrant && n + 1 < s.n && s.p[n] == '/';
}

/* Plates in the forms that countries issue, blanks and dashes where they stand. */
static bool plate_form(tab_str s)
{
    static const char *const forms[] = { "AA99 AAA", "AA99AAA",    "AA-999-AA",  "AA 999 AA", "AA999AA",
                                         "9999 AAA", "AA99AA9999", "AA-99-AA",   "AAA-9999",  "AAA9A99",
                                         "A999AA99", "A999AA999",  "99 AAA 999", "AA-AA 999" };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t k = 0;
        while (k < s.n && forms[i][k] != 0 &&
               (forms[i][k] == 'A'   ? upper(s.p[k])
                : forms[i][k] == '9' ? digit(s.p[k])
                                     : s.p[k] == forms[i][k]))
            k++;
        if (k == s.n && forms[i][k] == 0)
            return true;
    }
    return false;
}

/* A telephone number with its country in front: a plus, and 9 to 15 digits in groups of two at least. */
size_t tab_phone_abroad(tab_str s)
{
    size_t digits = 0, run = 0, end = 0;
    for (size_t i = 1; i < s.n; i++) {
        if (digit(s.p[i])) {
            digits++;
            run++;
            end = i + 1;
            continue;
        }
        if (memchr(" -.()", s.p[i], 5) == NULL || (run == 0 && i > 1 && s.p[i] != '('))
            break;
        run = 0;
    }
    return s.n > 1 && (digit(s.p[1]) || s.p[1] == '(') && digits >= 9 && digits <= 15 ? end : 0;
}

/* Where words and what stands for them end. */
static const char between_words[] = " \t\r\n<>()[]{},;:|\"/";

/* Mail addresses and numbers are looked for at their marks, an @ and a +, so that a text without either costs
 * one look at its bytes. */
bool tab_holds_contact(tab_str s)
{
    if (s.n < 20 || memchr(s.p, ' ', s.n) == NULL)
        return false;
    for (size_t i = 0; i + 1 < s.n; i++) {
        if (s.p[i] == '+' && (i == 0 || strchr(between_words, s.p[i - 1]) != NULL) &&
            tab_phone_abroad((tab_str){ s.p + i, s.n - i }) > 0)
            return true;
        if (s.p[i] != '@')
            continue;
        size_t from = i, to = i;
        while (from > 0 && strchr(between_words, s.p[from - 1]) == NULL)
            from--;
        while (to < s.n && strchr(between_words, s.p[to]) == NULL)
            to++;
        while (to > i &&
               (s.p[to - 1] == '.' || s.p[to - 1] == '\'' || s.p[to - 1] == '!' || s.p[to - 1] == '?'))
            to--;
        if (to - from < s.n && tab_is_email((tab_str){ s.p + from, to - from }))
            return true;
    }
    return false;
}

/* One pass notes which marks the text holds, so that most tests need not run. */
uint64_t tab_patterns_of(tab_str s, bool *any_digit)
{
    uint64_t r = 0;
#define SET(e, test) r |= (test) ? UINT64_C(1) << TAB_CHECK_##e : 0
    bool numeral = false, dot = false, colon = false, at = false, slash = false;
    for (size_t i = 0; i < s.n; i++) {
        numeral |= digit(s.p[i]);
        dot |= s.p[i] == '.';
        colon |= s.p[i] == ':';
        at |= s.p[i] == '@';
        slash |= s.p[i] == '/' || s.p[i] == '\\';
    }
    if (at)
        SET(EMAIL, tab_is_email(s));
    if (dot) {
        SET(DOMAIN, domain(s) && letter(s.p[s.n - 1]));
        SET(URL, url(s));
        SET(IPV4, ipv4(s));
    }
    if (dot || slash)
        SET(PATH, path(s));
    if (colon) {
        SET(IPV6, ipv6(s));
        SET(MAC, template_of(s, "HH:HH:HH:HH:HH:HH"));
    }
    brackets inside = brackets_of(s);
    SET(JSON, inside == BRACKETS_JSON);
    SET(ARRAY, inside == BRACKETS_LIST);
    if (s.n > 20)
        SET(AGENT, starts(s, "mozilla/") || starts(s, "opera/") || starts(s, "curl/"));
    *any_digit = numeral;
    if (!numeral)
        return r;
    SET(STREET, tab_is_street(s));
    SET(HEX_COLOR, template_of(s, "#HHHHHH") || template_of(s, "#HHH"));
    SET(RANGE, range(s));
    SET(PHONE, phone(s));
    SET(VERSION, version(s));
    SET(GEO_PAIR, geo_pair(s));
    SET(ICD10, icd10(s));
    SET(PLATE, plate(s));
    SET(PLATE_FORM, plate_form(s));
    SET(DOI, doi(s));
    SET(CRYPTO, crypto(s));
    SET(HEX_DIGEST, hex_run(s));
    SET(UUID, template_of(s, "HHHHHHHH-HHHH-HHHH-HHHH-HHHHHHHHHHHH") ||
                  template_of(s, "{HHHHHHHH-HHHH-HHHH-HHHH-HHHHHHHHHHHH}"));
    SET(MAC, (r >> TAB_CHECK_MAC & 1) != 0 || template_of(s, "HH-HH-HH-HH-HH-HH") ||
                 template_of(s, "HHHH.HHHH.HHHH"));
    SET(SSN, template_of(s, "999-99-9999") && memcmp(s.p, "000", 3) != 0 && memcmp(s.p, "666", 3) != 0);
    return r;
#undef SET
}
