/* Texts by pattern: keys, codes with check digits, house numbers, and the slips of who typed them. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "services/inference/engine/generate/plan.h"

static size_t digits(uint64_t x, size_t least, char *out, size_t size)
{
    char buf[24];
    size_t n = 0;
    do
        buf[n++] = (char)('0' + x % 10);
    while ((x /= 10) != 0);
    while (n < least && n < sizeof buf)
        buf[n++] = '0';
    if (n > size)
        n = size;
    for (size_t i = 0; i < n; i++)
        out[i] = buf[n - 1 - i];
    return n;
}

/* The run of # is the row's number, from 1 0..01 on so that keys have one width. Of ^ it is letters, as of
 * shares: each row another word, in no order (a multiplier without a factor of 26). */
size_t generate_key_text(tab_str pattern, uint64_t row, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < pattern.n && n < size; i++) {
        size_t width = 0;
        uint64_t first = 1, words = 1;
        while (i + width < pattern.n && pattern.p[i + width] == pattern.p[i])
            width++;
        if (pattern.p[i] == '#') {
            for (size_t k = 1; k < width; k++)
                first *= 10;
            n += digits(first + 1 + row, width, out + n, size - n);
        } else if (pattern.p[i] == '^') {
            for (size_t k = 0; k < width; k++)
                words *= 26;
            uint64_t word = (row % words * 7654321 + 98765) % words;
            for (size_t k = 0; k < width && n < size; k++, word /= 26)
                out[n++] = (char)('A' + word % 26);
            if (row >= words)
                n += digits(row / words, 1, out + n, size - n);
        } else {
            for (size_t k = 0; k < width && n < size; k++)
                out[n++] = pattern.p[i];
        }
        i += width - 1;
    }
    return n;
}

size_t generate_fill(uint64_t key, uint64_t row, tab_str s, char *out, size_t size)
{
    static const char both[] = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789";
    size_t n = 0;
    uint64_t h = 0;
    for (size_t i = 0, k = 0; i < s.n && n < size; i++) {
        char c = s.p[i];
        if (c == '\\' && i + 1 < s.n) {
            out[n++] = s.p[++i];
            continue;
        }
        if (c != '#' && c != '^' && c != '`' && c != '*' && c != '%') {
            out[n++] = c;
            continue;
        }
        if (k++ % 8 == 0)
            h = generate_hash(key + k, row);
        uint64_t x = h & 0xff;
        h = h >> 8 | h << 56;
        switch (c) {
        case '#':
            out[n++] = (char)('0' + (x * 10 >> 8));
            break;
        case '^':
            out[n++] = (char)('A' + (x * 26 >> 8));
            break;
        case '`':
            out[n++] = (char)('a' + (x * 26 >> 8));
            break;
        case '*':
            out[n++] = both[x * (sizeof both - 1) >> 8];
            break;
        default: { /* house numbers: many small ones, few large */
            double u = generate_unit(key + 77 + k, row);
            n += digits(1 + (uint64_t)(u * u * u * 900 + 40 * u), 1, out + n, size - n);
        }
        }
    }
    return n;
}

/* Digits at even places from the right count double (Luhn 1954), or threefold (EAN). */
static char sum_digit(const char *p, size_t n, int weight, bool cross)
{
    int sum = 0;
    size_t k = 0;
    for (size_t i = n; i-- > 0;) {
        if (p[i] < '0' || p[i] > '9')
            continue;
        int d = (p[i] - '0') * (k++ % 2 == 0 ? weight : 1);
        sum += cross && d > 9 ? d - 9 : d;
    }
    return (char)('0' + (10 - sum % 10) % 10);
}

/* ISO 13616: the two digits after the country, so that the whole is 1 mod 97. */
static void iban(char *p, size_t n)
{
    unsigned r = 0;
    p[2] = p[3] = '0';
    for (size_t k = 0; k < n; k++) {
        char c = p[(k + 4) % n];
        unsigned x = c >= 'A' ? (unsigned)(c - 'A' + 10) : (unsigned)(c - '0');
        r = (r * (x > 9 ? 100 : 10) + x) % 97;
    }
    assert(r < 97);
    r = 98 - r;
    p[2] = (char)('0' + r / 10);
    p[3] = (char)('0' + r % 10);
}

/* ISO 3779 as North America fills it: the ninth place is the weighted sum mod 11. */
static void vin(char *p, size_t n)
{
    static const int weight[17] = { 8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2 };
    static const char worth[] = "12345678.12345.7.923456789"; /* of A to Z */
    int sum = 0;
    for (size_t i = 0; i < n && i < 17; i++) {
        sum += weight[i] * ((p[i] <= '9' ? p[i] : worth[p[i] - 'A']) - '0');
    }
    if (n == 17)
        p[8] = (char)(sum % 11 == 10 ? 'X' : '0' + sum % 11);
}

void generate_check_digits(int code, char *p, size_t n)
{
    if (n < 5)
        return;
    if (code == CODE_LUHN)
        p[n - 1] = sum_digit(p, n - 1, 2, true);
    else if (code == CODE_EAN)
        p[n - 1] = sum_digit(p, n - 1, 3, false);
    else if (code == CODE_IBAN)
        iban(p, n);
    else if (code == CODE_VIN)
        vin(p, n);
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* One slip: two letters swapped, one left out, one doubled, or all in capitals. A text without two
 * neighbouring letters of ASCII at the place stays as it is. */
size_t generate_typo(uint64_t key, uint64_t row, tab_str s, char *out, size_t size)
{
    uint64_t h = generate_hash(key, row);
    size_t n = s.n < size - 1 ? s.n : size - 1, at = 1;
    memcpy(out, s.p, n);
    if (n < 4)
        return n;
    at = 1 + (size_t)((h >> 8) % (n - 2));
    if (!letter(out[at]) || !letter(out[at + 1 < n ? at + 1 : at]) || at + 1 >= n)
        return n;
    switch (h % 8) {
    case 0:
    case 1:
    case 2: {
        char c = out[at];
        out[at] = out[at + 1];
        out[at + 1] = c;
        return n;
    }
    case 3:
    case 4:
        memmove(out + at, out + at + 1, n - at - 1);
        return n - 1;
    case 5:
    case 6:
        memmove(out + at + 1, out + at, n - at);
        return n + 1;
    default:
        for (size_t i = 0; i < n; i++)
            if (out[i] >= 'a' && out[i] <= 'z')
                out[i] = (char)(out[i] - 32);
        return n;
    }
}

/* Latin-1 letters beyond ASCII (C3 80 .. C3 BF in UTF-8) without their marks. */
static const char bare[] = "AAAAAAACEEEEIIIIDNOOOOO.OUUUUYTsaaaaaaaceeeeiiiidnooooo.ouuuuyty";

/* l: small ASCII letters and digits alone, as in an address of mail; u: capitals; 1: the first letter */
size_t generate_plain(tab_str s, char how, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n && n < size; i++) {
        char c = s.p[i];
        if ((unsigned char)c == 0xc3 && i + 1 < s.n && (unsigned char)s.p[i + 1] >= 0x80)
            c = bare[(unsigned char)s.p[++i] - 0x80];
        if (how == 'u') {
            out[n++] = c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
            continue;
        }
        if (c >= 'A' && c <= 'Z')
            c = (char)(c + 32);
        if (letter(c) || (c >= '0' && c <= '9'))
            out[n++] = c;
        if (how == '1' && n == 1)
            break;
    }
    return n;
}
