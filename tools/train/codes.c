/* Identifiers: keys, codes of schemes, numbers with check digits (made right), addresses of devices and
 * the web. A plan may give a template ("id AAA-9999"); else one is drawn. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/profile/checksum.h"
#include "services/inference/engine/profile/numbering.h"
#include "tools/train/maker.h"

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

static void gtin(chance *c, const char *prefix, size_t digits, char *t)
{
    fill_template(c, "99999999999999", t, digits + 1);
    memcpy(t, prefix, strlen(prefix));
    int sum = 0;
    for (size_t i = 0; i + 1 < digits; i++)
        sum += (t[i] - '0') * ((digits - 1 - i) % 2 == 1 ? 3 : 1);
    t[digits - 1] = (char)('0' + (10 - sum % 10) % 10);
}

static void iban(chance *c, char *t, size_t size)
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

static void isin(chance *c, char *t)
{
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

static void vin(chance *c, char *t)
{
    static const char set[] = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789";
    static const int value[] = { 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9 };
    static const int weight[] = { 8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2 };
    int sum = 0;
    for (int i = 0; i < 17; i++)
        t[i] = i > 11 ? (char)('0' + chance_below(c, 10)) : set[chance_below(c, 33)];
    t[0] = "1234WJVSKL"[chance_below(c, 10)];
    t[17] = 0;
    for (int i = 0; i < 17; i++) {
        const char *at = strchr(set, t[i]);
        sum += weight[i] * (t[i] <= '9' ? t[i] - '0' : value[at - set]);
    }
    t[8] = sum % 11 == 10 ? 'X' : (char)('0' + sum % 11);
}

static void national(chance *c, size_t way, char *t, size_t size)
{
    char d[40];
    int a = 0, b = 0;
    switch (way) {
    case 0:
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

static void tax(chance *c, size_t way, char *t, size_t size)
{
    char d[40];
    switch (way) {
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

static void web(maker *m, int role, size_t way, char *t, size_t size)
{
    chance *c = m->c;
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
    switch (role) {
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

/* One value of a role that is the same in kind from row to row. */
static bool one(maker *m, int role, size_t way, char *t, size_t size)
{
    chance *c = m->c;
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
    switch (role) {
    case TAB_ROLE_CREDIT_CARD: {
        char d[24];
        static const char *const head[] = { "4", "51", "55", "37", "6011", "4", "2221", "35" };
        size_t k = way % 2 == 0 ? chance_below(c, 8) : 0, n = k == 3 ? 15 : 16;
        fill_template(c, "9999999999999999", d, sizeof d);
        memcpy(d, head[k], strlen(head[k]));
        d[n - 1] = luhn(d, n - 1);
        d[n] = 0;
        snprintf(t, size, way < 8 ? "%s" : "%.4s %.4s %.4s %s", d, d + 4, d + 8, d + 12);
        if (way < 8)
            t[n] = 0;
        return true;
    }
    case TAB_ROLE_IMEI:
        fill_template(c, "35999999999999", t, size);
        t[14] = luhn(t, 14);
        t[15] = 0;
        return true;
    case TAB_ROLE_IBAN: {
        char d[48];
        iban(c, d, sizeof d);
        size_t n = 0;
        for (size_t i = 0; d[i] != 0 && n + 2 < size; i++) {
            if (way > 6 && i > 0 && i % 4 == 0)
                t[n++] = ' ';
            t[n++] = d[i];
        }
        t[n] = 0;
        return true;
    }
    case TAB_ROLE_BIC: /* ISO 9362; the branch XXX is the head office */
        snprintf(t, size, "%c%c%c%c%s%c%c%s", (char)('A' + chance_below(c, 26)),
                 (char)('A' + chance_below(c, 26)), (char)('A' + chance_below(c, 26)),
                 (char)('A' + chance_below(c, 26)),
                 train_locales[chance_below(c, train_locale_count)].country2, "2X9M"[chance_below(c, 4)],
                 (char)('A' + chance_below(c, 26)), chance_of(c, 0.4) ? "XXX" : "");
        return true;
    case TAB_ROLE_ISBN:
        if (way < 6) {
            gtin(c, "978", 13, t);
        } else {
            int sum = 0;
            fill_template(c, "999999999", t, size);
            for (int i = 0; i < 9; i++)
                sum += (10 - i) * (t[i] - '0');
            sum = (11 - sum % 11) % 11;
            t[9] = sum == 10 ? 'X' : (char)('0' + sum);
            t[10] = 0;
        }
        return true;
    case TAB_ROLE_GTIN:
        gtin(c, way < 4 ? "4" : way < 7 ? "5" : "0", way == 9 ? 8 : way > 6 ? 12 : 13, t);
        return true;
    case TAB_ROLE_ISIN:
        isin(c, t);
        return true;
    case TAB_ROLE_LEI: {
        char d[40];
        fill_template(c, "999900NNNNNNNNNNNN", d, sizeof d);
        char all[48];
        snprintf(all, sizeof all, "%s00", d);
        snprintf(t, size, "%s%02d", d, 98 - mod97(all));
        return true;
    }
    case TAB_ROLE_VIN:
        vin(c, t);
        return true;
    case TAB_ROLE_NATIONAL_ID:
        national(c, way, t, size);
        return true;
    case TAB_ROLE_TAX_ID:
        tax(c, way % 7, t, size);
        return true;
    case TAB_ROLE_UUID:
        fill_template(c, "HHHHHHHH-HHHH-4HHH-9HHH-HHHHHHHHHHHH", t, size);
        t[19] = "89ab"[chance_below(c, 4)];
        return true;
    case TAB_ROLE_HASH:
        fill_template(c, "HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH", t,
                      way < 4   ? 33
                      : way < 7 ? 41
                                : 65);
        return true;
    case TAB_ROLE_MAC_ADDRESS:
        fill_template(c, way < 7 ? "HH:HH:HH:HH:HH:HH" : "HH-HH-HH-HH-HH-HH", t, size);
        return true;
    case TAB_ROLE_IP_ADDRESS:
        if (way == 9)
            fill_template(c, "2001:db8:HHHH:HHHH::HHHH", t, size);
        else
            snprintf(t, size, "%zu.%zu.%zu.%zu", way < 3 ? 10 : 1 + chance_below(c, 222),
                     way < 2 ? 0 : chance_below(c, 256), chance_below(c, 256), 1 + chance_below(c, 254));
        return true;
    case TAB_ROLE_CRYPTO_ADDRESS:
        fill_template(c, "0xHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH", t, size);
        return true;
    case TAB_ROLE_DOI:
        snprintf(t, size, "10.%zu/%s.%zu.%zu", 1000 + chance_below(c, 8999),
                 (const char *[]){ "j.env", "s41586", "jacs", "nature" }[chance_below(c, 4)],
                 2000 + chance_below(c, 24), chance_below(c, 9999));
        return true;
    case TAB_ROLE_USER_AGENT: {
        const char *f = agents[chance_below(c, 6)];
        size_t n = 0, k = 0;
        for (; *f != 0 && n + 8 < size; f++)
            if (f[0] == '%') {
                n += (size_t)snprintf(t + n, size - n, "%zu", 7 + chance_below(c, k++ == 0 ? 100 : 40));
                f += 2;
            } else {
                t[n++] = *f;
            }
        t[n] = 0;
        return true;
    }
    case TAB_ROLE_VERSION:
        snprintf(t, size,
                 way < 5   ? "%zu.%zu.%zu"
                 : way < 8 ? "v%zu.%zu.%zu"
                           : "%zu.%zu",
                 chance_below(c, 9), chance_below(c, 20), chance_below(c, 30));
        return true;
    case TAB_ROLE_PASSPORT:
        fill_template(c, way < 4 ? "999999999" : way < 7 ? "A99999999" : "AA9999999", t, size);
        return true;
    case TAB_ROLE_DRIVER_LICENSE:
        fill_template(c, way < 4 ? "A9999999" : way < 7 ? "A999-9999-9999" : "AAAAA999999AA9AA", t, size);
        return true;
    case TAB_ROLE_ACCOUNT_NUMBER:
        fill_template(c, way < 5 ? "9999999999" : way < 8 ? "99999999" : "999999999999", t, size);
        return true;
    case TAB_ROLE_PASSWORD:
        fill_template(c, way < 5 ? "aA9a9NaH!a" : "NHaAa9#9NaHa", t, size);
        return true;
    case TAB_ROLE_LICENSE_PLATE:
        fill_template(c, m->loc->plate, t, size);
        return true;
    case TAB_ROLE_POSTAL_CODE:
        fill_template(c, m->loc->postal, t, size);
        return true;
    case TAB_ROLE_PHONE:
        if (way >= 6 && way <= 8) {
            bare_phone(c, m->loc->country2, way == 8,
                       way != 7                       ? 0
                       : m->loc->country2[0] % 2 == 0 ? ' '
                                                      : '-',
                       t, size);
            return true;
        }
        do {
            fill_template(c, m->loc->phone[way % 3], t, size);
        } while (outside_plan(m->loc->country2, t));
        if (way == 9 && chance_of(c, 0.3))
            strcat(t, " x123");
        return true;
    case TAB_ROLE_URL:
    case TAB_ROLE_DOMAIN:
    case TAB_ROLE_FILE_PATH:
        web(m, role, role == TAB_ROLE_DOMAIN ? way % 3 : way % 4, t, size);
        return true;
    case TAB_ROLE_MEDICAL_CODE: {
        static const char *const of[] = { "A99.9",  "A99",   "A99.99",  "99999", "99999-999-99",
                                          "9999-9", "999.9", "A99AA99", "999",   "99999-9" };
        fill_template(c, of[way], t, size);
        return true;
    }
    case TAB_ROLE_INDUSTRY_CODE:
        fill_template(c, (const char *[]){ "999999", "99.99", "9999", "A99.9", "9999.99", "99" }[way % 6], t,
                      size);
        return true;
    case TAB_ROLE_COORDINATES:
        if (way < 6)
            snprintf(t, size, way < 4 ? "%.4f, %.4f" : "(%.5f, %.5f)",
                     m->loc->lat[0] + (m->loc->lat[1] - m->loc->lat[0]) * chance_unit(c),
                     m->loc->lon[0] + (m->loc->lon[1] - m->loc->lon[0]) * chance_unit(c));
        else if (way < 8)
            snprintf(t, size, "POINT (%.5f %.5f)",
                     m->loc->lon[0] + (m->loc->lon[1] - m->loc->lon[0]) * chance_unit(c),
                     m->loc->lat[0] + (m->loc->lat[1] - m->loc->lat[0]) * chance_unit(c));
        else
            snprintf(t, size, "%zu\xc2\xb0%02zu'%02zu\"N %zu\xc2\xb0%02zu'%02zu\"E", chance_below(c, 70),
                     chance_below(c, 60), chance_below(c, 60), chance_below(c, 120), chance_below(c, 60),
                     chance_below(c, 60));
        return true;
    default:
        return false;
    }
}

/* Keys: numbered, scattered, by template; repeated where rows belong together or the key is another
 * table's. */
static bool keys(maker *m, const spec *s)
{
    chance *c = m->c;
    static const char *const forms[] = { "AA-99999",  "AAA9999",    "9999-99",     "A9999999",
                                         "AA99-9999", "999-999",    "NNNNNNNN",    "AAA-9999-99",
                                         "99-9999",   "aaaaa99",    "99999999",    "HHHHHHHH",
                                         "AA999999",  "9999999999", "99999999999", "999999999999",
                                         "A-999",     "A99" };
    bool own = s->arg[0] != 0 && strcmp(s->arg, "ref") != 0,
         ref = strcmp(s->arg, "ref") == 0 || (!own && chance_of(c, 0.2));
    size_t way = own ? 9 : chance_below(c, 14), n = ref ? 3 + chance_below(c, m->rows) : m->rows;
    bool rows = way > 9; /* the row's number, as programs write it out */
    way = rows ? 0 : way;
    double start = rows      ? 1
                   : way < 2 ? (double)chance_below(c, 2)
                             : floor(exp(3 + 10 * chance_unit(c))),
           spread = exp(1 + 4 * chance_unit(c)), spread_log = 2 + 9 * chance_unit(c);
    const char *form = own ? s->arg : forms[chance_below(c, m->rows > 90 ? 16 : 18)];
    char head[12], t[64];
    size_t n_head = strspn(form, "A"),
           fixed = chance_of(c, 0.75) ? n_head : 0; /* capitals in front are usually one prefix */
    fill_template(c, "AAAAAAAAAA", head, sizeof head);
    bool serial = way >= 7 && chance_of(c, 0.4);
    tab_str *made = tab_arena_new_of(m->a, tab_str, n);
    if (made == NULL)
        return false;
    double at = start;
    for (size_t i = 0; i < n; i++) {
        if (way < 4) { /* in order */
            snprintf(t, sizeof t, "%.0f", start + (double)i);
        } else if (way == 4) { /* in order, with holes */
            at += 1 + floor(spread * chance_unit(c) / 4);
            snprintf(t, sizeof t, "%.0f", at);
        } else if (way < 6) { /* scattered */
            snprintf(t, sizeof t, "%.0f", floor(start + start * 9 * chance_unit(c)));
        } else if (way == 6) { /* of all ages: from the first hundreds to the latest millions */
            snprintf(t, sizeof t, "%.0f", floor(start * exp(spread_log * chance_unit(c))));
        } else {
            fill_template(c, form, t, sizeof t);
            memcpy(t, head, fixed);
            for (size_t k = strlen(t), v = i + 1; serial && k > 0 && t[k - 1] >= '0' && t[k - 1] <= '9';
                 k--, v /= 10)
                t[k - 1] = (char)('0' + v % 10);
        }
        made[i] = tab_arena_copy(m->a, tab_str_of(t));
    }
    for (size_t i = 0; i < m->rows; i++)
        m->cell[i] = made[ref ? (size_t)((double)n * drift_unit(m, i)) : i % n];
    return true;
}

/* Codes of a scheme: few forms, used again and again. */
static bool codes(maker *m, const spec *s)
{
    chance *c = m->c;
    static const char *const forms[] = { "AA",   "AAA",   "A9",    "A99",    "999",   "9999",  "AA9",
                                         "AA99", "99",    "A-9",   "AAAA",   "9A",    "99-99", "AA-A9",
                                         "A999", "AA.99", "99999", "9999AA", "AAA99", "999-9A" };
    bool own = s->arg[0] != 0;
    bool pipes = strchr(s->arg, '|') != NULL;
    size_t want = 2 + (size_t)exp(5.2 * chance_unit(c)), n = want < 120 ? want : 120;
    tab_str set[128];
    const char *form = own ? s->arg : forms[chance_below(c, 20)];
    bool mixed = !own && chance_of(c, 0.4), dense = !own && chance_of(c, 0.15);
    size_t first = chance_below(c, 40);
    if (pipes) {
        n = 0;
        for (const char *p = s->arg; *p != 0 && n < 128;) {
            size_t k = strcspn(p, "|");
            set[n++] = tab_arena_copy(m->a, (tab_str){ p, k });
            p += k + (p[k] == '|');
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            char t[64];
            fill_template(c, mixed ? forms[chance_below(c, 20)] : form, t, sizeof t);
            if (dense)
                snprintf(t, sizeof t, "%zu", first + i);
            set[i] = tab_arena_copy(m->a, tab_str_of(t));
        }
    }
    double bend = 0.6 + 2 * chance_unit(c);
    bool blocks = chance_of(c, 0.25);
    for (size_t i = 0; i < m->rows; i++)
        m->cell[i] = set[blocks ? i * n / m->rows : (size_t)((double)n * pow(chance_unit(c), bend)) % n];
    return true;
}

bool make_codes(maker *m, const spec *s, bool *made)
{
    *made = true;
    if (s->role == TAB_ROLE_ID)
        return keys(m, s);
    if (s->role == TAB_ROLE_CODE)
        return codes(m, s);
    size_t way = chance_below(m->c, 10);
    bool repeat = chance_of(m->c, 0.25);
    size_t pool = 2 + chance_below(m->c, 30);
    for (size_t i = 0; i < m->rows; i++) {
        char t[256];
        if (repeat && i >= pool) {
            m->cell[i] = m->cell[chance_below(m->c, pool)];
            continue;
        }
        if (!one(m, s->role, way, t, sizeof t)) {
            *made = false;
            return true;
        }
        if (!put_cell(m, i, t))
            return false;
    }
    return true;
}
