/* One value of a role of identifiers: numbers with their check digits (made right), addresses of devices and
 * of the web. A role is a row of the tables at the end: a template, or a function. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/profile/cells/checksum.h"
#include "services/inference/engine/profile/cells/numbering.h"
#include "tools/train/identifiers.h"

/* One value to make: from what, in which of ten ways (drawn once a column), and where it goes. */
typedef struct {
    maker *m;
    chance *c; /* m's */
    int role;
    size_t way; /* 0 .. 9 */
    char *t;    /* (size) */
    size_t size;
} value;

/* ---- check digits ---------------------------------------------------------------------------- */

static char luhn(const char *d, size_t n) /* the digit that makes d[0..n-1] and it right */
{
    int sum = 0;
    for (size_t i = 0; i < n; i++) {
        int v = d[n - 1 - i] - '0';
        if (i % 2 == 0 && (v *= 2) > 9)
            v -= 9;
        sum += v;
    }
    return (char)('0' + (10 - sum % 10) % 10);
}

static int mod97(const char *s) /* digits and letters, letters as 10 .. 35 */
{
    int r = 0;
    for (; *s != 0; s++)
        r = *s <= '9' ? (r * 10 + *s - '0') % 97 : (r * 100 + *s - 'A' + 10) % 97;
    return r;
}

/* ---- one function a role --------------------------------------------------------------------- */

/* A trade item number of `digits`, its last one by GS1's weights 3 and 1. */
static void trade_item(chance *c, const char *prefix, size_t digits, char *t)
{
    fill_template(c, "99999999999999", t, digits + 1);
    memcpy(t, prefix, strlen(prefix));
    int sum = 0;
    for (size_t i = 0; i + 1 < digits; i++)
        sum += (t[i] - '0') * ((digits - 1 - i) % 2 == 1 ? 3 : 1);
    t[digits - 1] = (char)('0' + (10 - sum % 10) % 10);
}

static void gtin(const value *v)
{
    size_t way = v->way;
    trade_item(v->c, way < 4 ? "4" : way < 7 ? "5" : "0", way == 9 ? 8 : way > 6 ? 12 : 13, v->t);
}

static void isbn(const value *v)
{
    char *t = v->t;
    if (v->way < 6) { /* ISBN-13 is a trade item number */
        trade_item(v->c, "978", 13, t);
        return;
    }
    int sum = 0; /* ISBN-10: weights 10 .. 2, modulo 11 */
    fill_template(v->c, "999999999", t, v->size);
    for (int i = 0; i < 9; i++)
        sum += (10 - i) * (t[i] - '0');
    sum = (11 - sum % 11) % 11;
    t[9] = sum == 10 ? 'X' : (char)('0' + sum);
    t[10] = 0;
}

static void credit_card(const value *v)
{
    static const char *const head[] = { "4", "51", "55", "37", "6011", "4", "2221", "35" };
    char d[24];
    size_t k = v->way % 2 == 0 ? chance_below(v->c, 8) : 0, n = k == 3 ? 15 : 16;
    fill_template(v->c, "9999999999999999", d, sizeof d);
    memcpy(d, head[k], strlen(head[k]));
    d[n - 1] = luhn(d, n - 1);
    d[n] = 0;
    snprintf(v->t, v->size, v->way < 8 ? "%s" : "%.4s %.4s %.4s %s", d, d + 4, d + 8, d + 12);
    if (v->way < 8)
        v->t[n] = 0;
}

static void imei(const value *v)
{
    fill_template(v->c, "35999999999999", v->t, v->size);
    v->t[14] = luhn(v->t, 14);
    v->t[15] = 0;
}

/* ISO 13616: the two check digits make the number, turned, 1 modulo 97. */
static void iban_digits(chance *c, char *t, size_t size)
{
    static const char *const of[] = { "DE999999999999999999",      "FR9999999999999999999999999",
                                      "GBAAAA99999999999999",      "ES99999999999999999999",
                                      "ITA9999999999999999999999", "NLAAAA9999999999",
                                      "AT9999999999999999",        "BE999999999999",
                                      "CH99999999999999999",       "PL999999999999999999999999",
                                      "SE99999999999999999999",    "PT999999999999999999999" };
    static const size_t n[] = { 20, 25, 20, 22, 25, 16, 18, 14, 19, 26, 22, 23 };
    size_t k = chance_below(c, 12);
    char body[64], turned[96], country[3] = { of[k][0], of[k][1], 0 };
    fill_template(c, of[k] + 2, body, sizeof body);
    body[n[k] - 2] = 0;
    snprintf(turned, sizeof turned, "%.40s%s00", body, country);
    snprintf(t, size, "%s%02d%.40s", country, 98 - mod97(turned), body);
}

static void iban(const value *v)
{
    char d[48], *t = v->t;
    iban_digits(v->c, d, sizeof d);
    size_t n = 0;
    for (size_t i = 0; d[i] != 0 && n + 2 < v->size; i++) {
        if (v->way > 6 && i > 0 && i % 4 == 0) /* in groups of four, as on paper */
            t[n++] = ' ';
        t[n++] = d[i];
    }
    t[n] = 0;
}

/* ISO 9362; the branch XXX is the head office. */
static void bic(const value *v)
{
    chance *c = v->c;
    snprintf(v->t, v->size, "%c%c%c%c%s%c%c%s", (char)('A' + chance_below(c, 26)),
             (char)('A' + chance_below(c, 26)), (char)('A' + chance_below(c, 26)),
             (char)('A' + chance_below(c, 26)), train_locales[chance_below(c, train_locale_count)].country2,
             "2X9M"[chance_below(c, 4)], (char)('A' + chance_below(c, 26)), chance_of(c, 0.4) ? "XXX" : "");
}

/* ISO 17442, check digits as an IBAN's. */
static void lei(const value *v)
{
    char d[40], all[48];
    fill_template(v->c, "999900NNNNNNNNNNNN", d, sizeof d);
    snprintf(all, sizeof all, "%s00", d);
    snprintf(v->t, v->size, "%s%02d", d, 98 - mod97(all));
}

/* ISO 6166: Luhn's digit over the letters as two digits each. */
static void isin(const value *v)
{
    chance *c = v->c;
    char *t = v->t;
    static const char *const land[] = { "US", "DE", "GB", "FR", "IE", "LU", "NL", "CH", "JP", "CA" };
    char wide[40];
    size_t n = 0;
    strcpy(t, land[chance_below(c, 10)]);
    fill_template(c, chance_of(c, 0.6) ? "999999999" : "N99999N99", t + 2, 10);
    for (const char *p = t; *p != 0; p++)
        n += (size_t)snprintf(wide + n, sizeof wide - n, "%d", *p <= '9' ? *p - '0' : *p - 'A' + 10);
    t[11] = luhn(wide, n);
    t[12] = 0;
}

/* A number of a country of the North American Numbering Plan that the plan does not know. */
static bool outside_plan(const char *country, const char *t)
{
    return (strcmp(country, "US") == 0 || strcmp(country, "CA") == 0) &&
           (tab_numbering_plans(tab_str_of(t)) >> TAB_CHECK_PHONE_NANP & 1) == 0;
}

/* A telephone number as digits (`#` any): as people dial it at home, or with the country's code; `mark`
 * behind the first four, or 0. */
static void bare_phone(chance *c, const char *country, bool abroad, char mark, char *t, size_t size)
{
    static const struct {
        const char *country, *code, *home[4];
    } plans[] = {
        { "GB", "44", { "07#########", "074########", "0161#######", "020########" } },
        { "AU", "61", { "04########", "041#######", "02########", "03########" } },
        { "IN", "91", { "9#########", "8#########", "7#########", "6#########" } },
        { "DE", "49", { "0151########", "0160#######", "0176########", "030#######" } },
        { "FR", "33", { "06########", "07########", "01########", "04########" } },
        { "ES", "34", { "6########", "7########", "91#######", "93#######" } },
        { "IT", "39", { "33########", "34########", "32########", "38########" } },
        { "BR", "55", { "119########", "219########", "319########", "519########" } },
        { "MX", "52", { "55########", "33########", "81########", "66########" } },
        { "NL", "31", { "06########", "06########", "020#######", "010#######" } },
        { "PL", "48", { "5########", "6########", "7########", "88#######" } },
        { "SE", "46", { "070#######", "073#######", "076#######", "072#######" } },
        { "RU", "7", { "8916#######", "8903#######", "8925#######", "8999#######" } },
        { "JP", "81", { "090########", "080########", "070########", "03########" } },
        { "CN", "86", { "13#########", "15#########", "18#########", "17#########" } },
        { "AE", "971", { "050#######", "055#######", "052#######", "056#######" } },
        { "KE", "254", { "07########", "072#######", "0110######", "079#######" } },
        { "ID", "62", { "0812########", "0857########", "0878#######", "0896########" } },
        { "TR", "90", { "053########", "054########", "055########", "0212#######" } },
    };
    const char *code = "1", *home = "##########";
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        if (strcmp(plans[i].country, country) == 0)
            code = plans[i].code, home = plans[i].home[chance_below(c, 4)];
    do {
        size_t n = (size_t)snprintf(t, size, "%s%s", abroad ? code : "",
                                    home + (abroad && (home[0] == '0' || code[0] == '7')));
        for (size_t i = 0; i < n; i++)
            t[i] = t[i] == '#' ? (char)('0' + chance_below(c, 10)) : t[i];
        if (mark != 0 && code[0] != '1') {
            memmove(t + 5, t + 4, n - 3);
            t[4] = mark;
        }
    } while (outside_plan(country, t));
}

static void phone(const value *v)
{
    const locale *l = v->m->loc;
    if (v->way >= 6 && v->way <= 8) {
        char mark = l->country2[0] % 2 == 0 ? ' ' : '-';
        bare_phone(v->c, l->country2, v->way == 8, v->way != 7 ? 0 : mark, v->t, v->size);
        return;
    }
    do {
        fill_template(v->c, l->phone[v->way % 3], v->t, v->size);
    } while (outside_plan(l->country2, v->t));
    if (v->way == 9 && chance_of(v->c, 0.3))
        strcat(v->t, " x123");
}

/* ISO 3779 with North America's check digit in the ninth place. */
static void vin(const value *v)
{
    chance *c = v->c;
    char *t = v->t;
    static const char set[] = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789";
    static const int worth[] = { 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9 };
    static const int weight[] = { 8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2 };
    int sum = 0;
    for (int i = 0; i < 17; i++)
        t[i] = i > 11 ? (char)('0' + chance_below(c, 10)) : set[chance_below(c, 33)];
    t[0] = "1234WJVSKL"[chance_below(c, 10)];
    t[17] = 0;
    for (int i = 0; i < 17; i++) {
        const char *at = strchr(set, t[i]);
        sum += weight[i] * (t[i] <= '9' ? t[i] - '0' : worth[at - set]);
    }
    t[8] = sum % 11 == 10 ? 'X' : (char)('0' + sum % 11);
}

/* Numbers of persons: the United States, Brazil, Spain, the United Kingdom, Poland, France, Italy, India,
 * Sweden, and one without a form. */
static void national(const value *v)
{
    chance *c = v->c;
    char d[40], *t = v->t;
    size_t size = v->size;
    int a = 0, b = 0;
    switch (v->way) {
    case 0: /* SSN */
        snprintf(t, size, "%03zu-%02zu-%04zu", 1 + chance_below(c, 665), 1 + chance_below(c, 98),
                 1 + chance_below(c, 9998));
        break;
    case 1: /* CPF */
        fill_template(c, "999999999", d, sizeof d);
        for (int i = 0; i < 9; i++)
            a += (d[i] - '0') * (10 - i), b += (d[i] - '0') * (11 - i);
        a = a * 10 % 11 % 10;
        b = (b + 2 * a) * 10 % 11 % 10;
        snprintf(t, size, "%.3s.%.3s.%.3s-%d%d", d, d + 3, d + 6, a, b);
        break;
    case 2: { /* DNI */
        size_t n = 10000000 + chance_below(c, 89999999);
        snprintf(t, size, "%zu%c", n, "TRWAGMYFPDXBNJZSQVHLCKE"[n % 23]);
        break;
    }
    case 3:
        fill_template(c, chance_of(c, 0.5) ? "AA 99 99 99 A" : "AA999999A", t, size);
        break;
    case 4: { /* PESEL */
        static const int w[] = { 1, 3, 7, 9, 1, 3, 7, 9, 1, 3 };
        snprintf(d, sizeof d, "%02zu%02zu%02zu%04zu", 40 + chance_below(c, 60), 1 + chance_below(c, 12),
                 1 + chance_below(c, 28), chance_below(c, 10000));
        for (int i = 0; i < 10; i++)
            a += (d[i] - '0') * w[i];
        snprintf(t, size, "%s%d", d, (10 - a % 10) % 10);
        break;
    }
    case 5:
        snprintf(t, size, "%zu %02zu %02zu %02zu %03zu %03zu %02zu", 1 + chance_below(c, 2),
                 chance_below(c, 100), 1 + chance_below(c, 12), 1 + chance_below(c, 95), chance_below(c, 999),
                 chance_below(c, 999), 1 + chance_below(c, 97));
        break;
    case 6:
        fill_template(c, "AAAAAA99A99A999A", t, size);
        break;
    case 7:
        snprintf(t, size, "%04zu %04zu %04zu", 2000 + chance_below(c, 7999), chance_below(c, 10000),
                 chance_below(c, 10000));
        break;
    case 8:
        snprintf(d, sizeof d, "%02zu%02zu%02zu%03zu", chance_below(c, 100), 1 + chance_below(c, 12),
                 1 + chance_below(c, 28), chance_below(c, 1000));
        snprintf(t, size, "%.6s-%.3s%c", d, d + 6, luhn(d, 9));
        break;
    default:
        fill_template(c, "99999999999", t, size);
        break;
    }
}

/* Numbers of companies for taxes: the United States, Germany, France, India, the United Kingdom, Brazil,
 * Austria. */
static void tax(const value *v)
{
    chance *c = v->c;
    char d[40], *t = v->t;
    size_t size = v->size;
    switch (v->way % 7) {
    case 0:
        snprintf(t, size, "%02zu-%07zu", 10 + chance_below(c, 85), chance_below(c, 9999999));
        break;
    case 1: { /* DE: ISO 7064 mod 11, 10 */
        fill_template(c, "99999999", d, sizeof d);
        int p = 10;
        for (int i = 0; i < 8; i++) {
            int s = (d[i] - '0' + p) % 10;
            p = 2 * (s == 0 ? 10 : s) % 11;
        }
        snprintf(t, size, "DE%s%d", d, (11 - p) % 10);
        break;
    }
    case 2: { /* FR with SIREN */
        fill_template(c, "99999999", d, sizeof d);
        d[8] = luhn(d, 8);
        d[9] = 0;
        snprintf(t, size, "FR%02ld%s", (12 + 3 * (atol(d) % 97)) % 97, d);
        break;
    }
    case 3:
        fill_template(c, "99AAAAA9999A9Z9", t, size);
        break;
    case 4:
        fill_template(c, "GB999999999", t, size);
        break;
    case 5:
        fill_template(c, "99.999.999/0001-99", t, size);
        break;
    default:
        snprintf(t, size, "ATU%08zu", chance_below(c, 99999999));
        break;
    }
}

/* Domains, addresses of pages and paths of files. */
static void web(const value *v)
{
    maker *m = v->m;
    chance *c = v->c;
    char *t = v->t;
    size_t size = v->size, way = v->role == TAB_ROLE_DOMAIN ? v->way % 3 : v->way % 4;
    static const char *const tlds[] = { "com", "org",    "net", "de", "co.uk", "fr", "io",
                                        "edu", "com.br", "jp",  "it", "info",  "gov" };
    char w[48], u[24];
    tab_str x = word_of(m, chance_of(c, 0.5) ? "last_name" : "product_word");
    size_t n = 0;
    for (size_t i = 0; i < x.n && n + 1 < sizeof w; i++)
        if ((x.p[i] | 32) >= 'a' && (x.p[i] | 32) <= 'z')
            w[n++] = (char)(x.p[i] | 32);
    w[n] = 0;
    fill_template(c, "aaaa99", u, sizeof u);
    if (n < 3)
        strcpy(w, "north");
    const char *tld = tlds[chance_below(c, 13)];
    switch (v->role) {
    case TAB_ROLE_DOMAIN:
        snprintf(t, size, way == 0 ? "www.%s%s.%s" : "%s%s.%s", w, chance_of(c, 0.3) ? "-online" : "", tld);
        break;
    case TAB_ROLE_FILE_PATH:
        if (way < 2)
            snprintf(t, size, "/%s/%s/%s.%s", way == 0 ? "var/log" : "home", w, u,
                     (const char *[]){ "log", "txt", "csv", "py", "conf" }[chance_below(c, 5)]);
        else
            snprintf(t, size, "C:\\%s\\%s\\%s.%s", "Data", w, u,
                     (const char *[]){ "xlsx", "pdf", "docx", "jpg" }[chance_below(c, 4)]);
        break;
    default:
        if (way == 0)
            snprintf(t, size, "https://www.%s.%s", w, tld);
        else if (way == 1)
            snprintf(t, size, "http://%s.%s/%s/%zu", w, tld, u, chance_below(c, 99999));
        else if (way == 2)
            snprintf(t, size, "https://%s.%s/images/%s.jpg", w, tld, u);
        else
            snprintf(t, size, "https://%s.%s/item?id=%zu", w, tld, chance_below(c, 999999));
    }
}

static void uuid(const value *v)
{
    fill_template(v->c, "HHHHHHHH-HHHH-4HHH-9HHH-HHHHHHHHHHHH", v->t, v->size);
    v->t[19] = "89ab"[chance_below(v->c, 4)]; /* RFC 9562's variant, behind the version 4 */
}

/* As long as those of MD5, SHA-1 and SHA-256. */
static void hash(const value *v)
{
    fill_template(v->c, "HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH", v->t,
                  v->way < 4   ? 33
                  : v->way < 7 ? 41
                               : 65);
}

static void ip_address(const value *v)
{
    chance *c = v->c;
    if (v->way == 9)
        fill_template(c, "2001:db8:HHHH:HHHH::HHHH", v->t, v->size);
    else
        snprintf(v->t, v->size, "%zu.%zu.%zu.%zu", v->way < 3 ? 10 : 1 + chance_below(c, 222),
                 v->way < 2 ? 0 : chance_below(c, 256), chance_below(c, 256), 1 + chance_below(c, 254));
}

static void doi(const value *v)
{
    chance *c = v->c;
    snprintf(v->t, v->size, "10.%zu/%s.%zu.%zu", 1000 + chance_below(c, 8999),
             (const char *[]){ "j.env", "s41586", "jacs", "nature" }[chance_below(c, 4)],
             2000 + chance_below(c, 24), chance_below(c, 9999));
}

/* Each %zu of a form is a number of a version; the first reaches further. */
static void user_agent(const value *v)
{
    static const char *const agents[] = {
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, "
        "like Gecko) Chrome/%zu.0.%zu.0 Safari/537.36",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, "
        "like Gecko) Version/%zu.%zu Safari/605.1.15",
        "Mozilla/5.0 (X11; Linux x86_64; rv:%zu.0) Gecko/20100101 Firefox/%zu.0",
        "curl/%zu.%zu.0",
        "Mozilla/5.0 (iPhone; CPU iPhone OS %zu_%zu like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
        "Googlebot/%zu.%zu"
    };
    char *t = v->t;
    const char *f = agents[chance_below(v->c, 6)];
    size_t n = 0, k = 0;
    for (; *f != 0 && n + 8 < v->size; f++)
        if (f[0] == '%') {
            n += (size_t)snprintf(t + n, v->size - n, "%zu", 7 + chance_below(v->c, k++ == 0 ? 100 : 40));
            f += 2;
        } else {
            t[n++] = *f;
        }
    t[n] = 0;
}

static void version(const value *v)
{
    chance *c = v->c;
    snprintf(v->t, v->size,
             v->way < 5   ? "%zu.%zu.%zu"
             : v->way < 8 ? "v%zu.%zu.%zu"
                          : "%zu.%zu",
             chance_below(c, 9), chance_below(c, 20), chance_below(c, 30));
}

static void license_plate(const value *v)
{
    fill_template(v->c, v->m->loc->plate, v->t, v->size);
}

static void postal_code(const value *v)
{
    fill_template(v->c, v->m->loc->postal, v->t, v->size);
}

/* Within the country's box: a pair, well-known text, or degrees anywhere. */
static void coordinates(const value *v)
{
    chance *c = v->c;
    const double *lat = v->m->loc->lat, *lon = v->m->loc->lon;
    if (v->way < 6)
        snprintf(v->t, v->size, v->way < 4 ? "%.4f, %.4f" : "(%.5f, %.5f)",
                 lat[0] + (lat[1] - lat[0]) * chance_unit(c), lon[0] + (lon[1] - lon[0]) * chance_unit(c));
    else if (v->way < 8)
        snprintf(v->t, v->size, "POINT (%.5f %.5f)", lon[0] + (lon[1] - lon[0]) * chance_unit(c),
                 lat[0] + (lat[1] - lat[0]) * chance_unit(c));
    else
        snprintf(v->t, v->size, "%zu\xc2\xb0%02zu'%02zu\"N %zu\xc2\xb0%02zu'%02zu\"E", chance_below(c, 70),
                 chance_below(c, 60), chance_below(c, 60), chance_below(c, 120), chance_below(c, 60),
                 chance_below(c, 60));
}

/* Roles whose values only fill a template: the first row of the role with a greater `below` than the
 * column's way. */
static const struct {
    int role;
    size_t below;
    const char *form;
} templates[] = {
    { TAB_ROLE_PASSPORT, 4, "999999999" },
    { TAB_ROLE_PASSPORT, 7, "A99999999" },
    { TAB_ROLE_PASSPORT, 10, "AA9999999" },
    { TAB_ROLE_DRIVER_LICENSE, 4, "A9999999" },
    { TAB_ROLE_DRIVER_LICENSE, 7, "A999-9999-9999" },
    { TAB_ROLE_DRIVER_LICENSE, 10, "AAAAA999999AA9AA" },
    { TAB_ROLE_ACCOUNT_NUMBER, 5, "9999999999" },
    { TAB_ROLE_ACCOUNT_NUMBER, 8, "99999999" },
    { TAB_ROLE_ACCOUNT_NUMBER, 10, "999999999999" },
    { TAB_ROLE_PASSWORD, 5, "aA9a9NaH!a" },
    { TAB_ROLE_PASSWORD, 10, "NHaAa9#9NaHa" },
    { TAB_ROLE_MAC_ADDRESS, 7, "HH:HH:HH:HH:HH:HH" },
    { TAB_ROLE_MAC_ADDRESS, 10, "HH-HH-HH-HH-HH-HH" },
    { TAB_ROLE_CRYPTO_ADDRESS, 10, "0xHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH" },
    { TAB_ROLE_MEDICAL_CODE, 1, "A99.9" },
    { TAB_ROLE_MEDICAL_CODE, 2, "A99" },
    { TAB_ROLE_MEDICAL_CODE, 3, "A99.99" },
    { TAB_ROLE_MEDICAL_CODE, 4, "99999" },
    { TAB_ROLE_MEDICAL_CODE, 5, "99999-999-99" },
    { TAB_ROLE_MEDICAL_CODE, 6, "9999-9" },
    { TAB_ROLE_MEDICAL_CODE, 7, "999.9" },
    { TAB_ROLE_MEDICAL_CODE, 8, "A99AA99" },
    { TAB_ROLE_MEDICAL_CODE, 9, "999" },
    { TAB_ROLE_MEDICAL_CODE, 10, "99999-9" },
    { TAB_ROLE_INDUSTRY_CODE, 1, "999999" },
    { TAB_ROLE_INDUSTRY_CODE, 2, "99.99" },
    { TAB_ROLE_INDUSTRY_CODE, 3, "9999" },
    { TAB_ROLE_INDUSTRY_CODE, 4, "A99.9" },
    { TAB_ROLE_INDUSTRY_CODE, 5, "9999.99" },
    { TAB_ROLE_INDUSTRY_CODE, 6, "99" },
    { TAB_ROLE_INDUSTRY_CODE, 7, "999999" },
    { TAB_ROLE_INDUSTRY_CODE, 8, "99.99" },
    { TAB_ROLE_INDUSTRY_CODE, 9, "9999" },
    { TAB_ROLE_INDUSTRY_CODE, 10, "A99.9" },
};

/* All others. */
static const struct {
    int role;
    void (*make)(const value *v);
} makers[] = {
    { TAB_ROLE_CREDIT_CARD, credit_card },
    { TAB_ROLE_IMEI, imei },
    { TAB_ROLE_IBAN, iban },
    { TAB_ROLE_BIC, bic },
    { TAB_ROLE_ISBN, isbn },
    { TAB_ROLE_GTIN, gtin },
    { TAB_ROLE_ISIN, isin },
    { TAB_ROLE_LEI, lei },
    { TAB_ROLE_VIN, vin },
    { TAB_ROLE_NATIONAL_ID, national },
    { TAB_ROLE_TAX_ID, tax },
    { TAB_ROLE_UUID, uuid },
    { TAB_ROLE_HASH, hash },
    { TAB_ROLE_IP_ADDRESS, ip_address },
    { TAB_ROLE_DOI, doi },
    { TAB_ROLE_USER_AGENT, user_agent },
    { TAB_ROLE_VERSION, version },
    { TAB_ROLE_LICENSE_PLATE, license_plate },
    { TAB_ROLE_POSTAL_CODE, postal_code },
    { TAB_ROLE_PHONE, phone },
    { TAB_ROLE_URL, web },
    { TAB_ROLE_DOMAIN, web },
    { TAB_ROLE_FILE_PATH, web },
    { TAB_ROLE_COORDINATES, coordinates },
};

bool one_identifier(maker *m, int role, size_t way, char *t, size_t size)
{
    const value v = { m, m->c, role, way, t, size };
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++)
        if (templates[i].role == role && way < templates[i].below) {
            fill_template(m->c, templates[i].form, t, size);
            return true;
        }
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (makers[i].role == role) {
            makers[i].make(&v);
            return true;
        }
    return false;
}
