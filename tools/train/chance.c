/* See maker.h: draws by chance, and the tables of locales and word lists that makers draw from. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/train/maker.h"

static uint64_t draw(chance *c)
{
    uint64_t z = c->s += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

double chance_unit(chance *c)
{
    return (double)(draw(c) >> 11) * 0x1p-53;
}

size_t chance_below(chance *c, size_t n)
{
    return n == 0 ? 0 : (size_t)(draw(c) % n);
}

double chance_normal(chance *c)
{
    double u = fmax(1e-12, chance_unit(c));
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * chance_unit(c));
}

bool chance_of(chance *c, double p)
{
    return chance_unit(c) < p;
}

/* clang-format off */
const locale train_locales[] = {
    { '.', ",", "$", "USD", 1, 1, { "(999) 999-9999", "999-999-9999", "+1 999 999 9999" }, "99999",
      "AAA-9999", "US", "United States", { "%n %w St", "%n %w Avenue", "%n N %w Rd", "%n %w Blvd Apt %n" },
      "Yes", "No", { 26, 47 }, { -122, -70 } },
    { '.', ",", "$", "USD", 1, 0, { "999.999.9999", "(999)999-9999", "1-999-999-9999" }, "99999-9999",
      "999 AAA", "US", "USA", { "%n %w Street", "%n %w Drive", "%n %w Ln", "%n W %w Way, Unit %n" }, "Y", "N",
      { 30, 45 }, { -118, -75 } },
    { '.', ",", "\xc2\xa3", "GBP", 0.8, 2, { "0999 999 9999", "+44 9999 999999", "(01999) 999999" },
      "AA9 9AA", "AA99 AAA", "GB", "United Kingdom", { "%n %w Road", "%n %w Close", "Flat %n, %n %w Street",
      "%w House, %w Lane" }, "Yes", "No", { 50.5, 57 }, { -5, 1.5 } },
    { '.', ",", "C$", "CAD", 1.3, 0, { "999-999-9999", "(999) 999-9999", "+1 (999) 999-9999" }, "A9A 9A9",
      "AAAA 999", "CA", "Canada", { "%n %w Crescent", "%n rue %w", "%n %w Ave", "%n-%n %w St" }, "Y", "N",
      { 43, 54 }, { -123, -63 } },
    { '.', ",", "A$", "AUD", 1.5, 2, { "(09) 9999 9999", "0499 999 999", "+61 9 9999 9999" }, "9999",
      "AAA-99A", "AU", "Australia", { "%n %w St", "%n/%n %w Parade", "%n %w Terrace", "%n %w Cct" }, "yes",
      "no", { -38, -17 }, { 115, 153 } },
    { '.', ",", "\xe2\x82\xb9", "INR", 83, 4, { "+91 99999 99999", "09999999999", "+91-9999999999" },
      "999999", "AA99AA9999", "IN", "India", { "%n, %w Nagar", "Plot %n, %w Marg", "H.No. %n, %w Colony",
      "%n/%n %w Road" }, "Yes", "No", { 9, 30 }, { 72, 88 } },
    { ',', ".", "\xe2\x82\xac", "EUR", 0.9, 3, { "+49 999 9999999", "0999 / 999999", "(0999) 9999999" },
      "99999", "AA-AA 999", "DE", "Deutschland", { "%wstra\xc3\x9f" "e %n", "%wweg %n", "Am %w %n",
      "%w-Allee %n" }, "ja", "nein", { 47.5, 54.5 }, { 6.5, 14.5 } },
    { ',', " ", "\xe2\x82\xac", "EUR", 0.9, 2, { "09 99 99 99 99", "+33 9 99 99 99 99", "09.99.99.99.99" },
      "99999", "AA-999-AA", "FR", "France", { "%n rue %w", "%n bis, avenue %w", "%n, boulevard %w",
      "%n place %w" }, "oui", "non", { 43, 50.5 }, { -1.5, 7.5 } },
    { ',', ".", "\xe2\x82\xac", "EUR", 0.9, 2, { "+34 999 999 999", "999 99 99 99", "999999999" }, "99999",
      "9999 AAA", "ES", "Espa\xc3\xb1" "a", { "Calle %w, %n", "C/ %w %n", "Avda. %w %n, %n\xc2\xba",
      "Plaza %w %n" }, "s\xc3\xad", "no", { 36.5, 43.3 }, { -8, 3 } },
    { ',', ".", "\xe2\x82\xac", "EUR", 0.9, 2, { "+39 99 9999999", "099 9999999", "399 999 9999" }, "99999",
      "AA 999 AA", "IT", "Italia", { "Via %w, %n", "Via %w %n/A", "Piazza %w, %n", "Corso %w %n" }, "si",
      "no", { 37.5, 46 }, { 7.5, 16 } },
    { ',', ".", "R$", "BRL", 5, 2, { "(99) 99999-9999", "+55 99 9999-9999", "(99) 9999-9999" }, "99999-999",
      "AAA-9999", "BR", "Brasil", { "Rua %w, %n", "Av. %w, %n", "Travessa %w, %n - apto %n", "R. %w, %n" },
      "sim", "n\xc3\xa3o", { -30, -3 }, { -55, -35 } },
    { '.', ",", "$", "MXN", 18, 2, { "+52 99 9999 9999", "999 999 9999", "(99) 9999-9999" }, "99999",
      "AAA-99-99", "MX", "M\xc3\xa9xico", { "Calle %w #%n", "Av. %w %n", "%w No. %n, Col. %w",
      "Blvd. %w %n" }, "S\xc3\xad", "No", { 15.5, 32 }, { -115, -87 } },
    { ',', ".", "\xe2\x82\xac", "EUR", 0.9, 4, { "+31 99 999 9999", "099-9999999", "09 9999 9999" },
      "9999 AA", "AA-99-AA", "NL", "Nederland", { "%wstraat %n", "%wlaan %n-%n", "%wweg %n", "%wplein %n" },
      "ja", "nee", { 51, 53.3 }, { 3.8, 6.8 } },
    { ',', " ", "z\xc5\x82", "PLN", 4, 0, { "+48 999 999 999", "999-999-999", "99 999 99 99" }, "99-999",
      "AA 99999", "PL", "Polska", { "ul. %w %n", "ul. %w %n/%n", "al. %w %n", "os. %w %n" }, "tak", "nie",
      { 49.5, 54.3 }, { 14.5, 23.5 } },
    { ',', " ", "kr", "SEK", 10, 0, { "099-999 99 99", "+46 99 999 99 99", "0999-99 99 99" }, "999 99",
      "AAA 999", "SE", "Sverige", { "%wgatan %n", "%wv\xc3\xa4gen %n", "%w all\xc3\xa9 %n", "%wbacken %n" },
      "ja", "nej", { 55.5, 67 }, { 11.5, 23 } },
    { ',', " ", "\xe2\x82\xbd", "RUB", 90, 3, { "+7 (999) 999-99-99", "8 999 999 99 99", "+7 999 999 9999" },
      "999999", "A999AA99", "RU", "\xd0\xa0\xd0\xbe\xd1\x81\xd1\x81\xd0\xb8\xd1\x8f",
      { "\xd1\x83\xd0\xbb. %w, \xd0\xb4. %n", "\xd0\xbf\xd1\x80. %w, %n",
      "\xd1\x83\xd0\xbb. %w, \xd0\xb4. %n, \xd0\xba\xd0\xb2. %n", "\xd0\xbf\xd0\xb5\xd1\x80. %w, %n" },
      "\xd0\xb4\xd0\xb0", "\xd0\xbd\xd0\xb5\xd1\x82", { 44, 62 }, { 30, 110 } },
    { '.', ",", "\xc2\xa5", "JPY", 150, 0, { "099-9999-9999", "09-9999-9999", "+81 99 9999 9999" },
      "999-9999", "999-99-99", "JP", "\xe6\x97\xa5\xe6\x9c\xac", { "%w\xe7\x94\xba%n-%n-%n",
      "%w\xe5\x8c\xba%n\xe4\xb8\x81\xe7\x9b\xae%n\xe7\x95\xaa%n\xe5\x8f\xb7", "%w\xe5\xb8\x82%n-%n",
      "%n-%n %w-cho" }, "\xe3\x81\xaf\xe3\x81\x84", "\xe3\x81\x84\xe3\x81\x84\xe3\x81\x88", { 31, 44 }, { 130,
      145 } },
    { '.', ",", "\xc2\xa5", "CNY", 7, 0, { "199 9999 9999", "099-99999999", "+86 199 9999 9999" }, "999999",
      "AA9999A", "CN", "\xe4\xb8\xad\xe5\x9b\xbd", { "%w\xe8\xb7\xaf%n\xe5\x8f\xb7",
      "%w\xe8\xa1\x97%n\xe5\x8f\xb7%n\xe5\xae\xa4", "No. %n, %w Road",
      "%w\xe5\x8c\xba%w\xe8\xb7\xaf%n\xe5\x8f\xb7" }, "\xe6\x98\xaf", "\xe5\x90\xa6", { 22, 45 }, { 100,
      125 } },
    { '.', ",", "AED", "AED", 3.7, 2, { "+971 9 999 9999", "099 999 9999", "+971-99-9999999" }, "99999",
      "A 99999", "AE", "United Arab Emirates", { "%w Street, Villa %n", "Building %n, %w Road", "PO Box %n",
      "%n %w St" }, "\xd9\x86\xd8\xb9\xd9\x85", "\xd9\x84\xd8\xa7", { 22.5, 26 }, { 51.5, 56.3 } },
    { '.', ",", "KSh", "KES", 130, 2, { "+254 999 999999", "0799 999999", "0799999999" }, "99999", "AAA 999A",
      "KE", "Kenya", { "%w Road", "P.O. Box %n", "%n %w Avenue", "Plot %n %w Lane" }, "yes", "no", { -4, 4 },
      { 34, 41 } },
    { ',', ".", "Rp", "IDR", 15000, 2, { "0899-9999-9999", "+62 899 9999 9999", "(099) 9999999" }, "99999",
      "A 9999 AA", "ID", "Indonesia", { "Jl. %w No. %n", "Jalan %w %n", "Gg. %w No. %n",
      "Komplek %w Blok A%n" }, "ya", "tidak", { -8.5, 4 }, { 96, 135 } },
    { ',', ".", "\xe2\x82\xba", "TRY", 30, 3, { "0999 999 99 99", "+90 999 999 99 99", "(0999) 999 9999" },
      "99999", "99 AAA 999", "TR", "T\xc3\xbcrkiye", { "%w Cad. No:%n", "%w Sok. %n/%n",
      "%w Mah. %w Sk. No:%n", "%w Bulvar\xc4\xb1 %n" }, "evet", "hay\xc4\xb1r", { 36.5, 41.5 }, { 27, 43 } },
};
/* clang-format on */
const size_t train_locale_count = sizeof train_locales / sizeof *train_locales;

/* ---- word lists ------------------------------------------------------------------------------ */

typedef struct {
    char name[64];
    tab_str *word;
    size_t n;
} list;

static void add_word(list *l, size_t *room, tab_str w)
{
    if (l->n == *room) {
        *room = *room == 0 ? 1024 : 2 * *room;
        l->word = realloc(l->word, *room * sizeof *l->word);
        if (l->word == NULL)
            exit(1);
    }
    l->word[l->n++] = w;
}

static const list *words_of(tab_arena *a, const char *name)
{
    static list lists[128];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(lists[i].name, name) == 0)
            return &lists[i];
    char path[256], *line = NULL;
    size_t cap = 0, room = 0;
    ssize_t n;
    snprintf(path, sizeof path, "services/inference/engine/lexicon/%s.txt", name);
    FILE *f = fopen(path, "r");
    if (f == NULL || count == sizeof lists / sizeof *lists) {
        fprintf(stderr, "cannot read %s (run from the project's root)\n", path);
        exit(1);
    }
    list *l = &lists[count++];
    snprintf(l->name, sizeof l->name, "%s", name);
    while ((n = getline(&line, &cap, f)) > 0) {
        if (line[0] == '#' && line[1] == '+') /* the rest is looked up, not drawn (lexicon.h) */
            break;
        if (line[0] == '#')
            continue;
        for (char *p = line, *end = line + n; p < end;) {
            while (p < end && (*p == ' ' || *p == '\n'))
                p++;
            char *q = p;
            while (q < end && *q != ';' && *q != '\n')
                q++;
            if (q > p)
                add_word(l, &room, tab_arena_copy(a, (tab_str){ p, (size_t)(q - p) }));
            p = q + 1;
        }
    }
    free(line);
    fclose(f);
    if (l->n == 0)
        exit(1);
    return l;
}

int script_of(tab_str w)
{
    for (size_t i = 0; i < w.n; i++) {
        unsigned char c = (unsigned char)w.p[i];
        if (c >= 0xca)            /* the first byte beyond Latin letters; blocks by that byte */
            return c < 0xd0   ? 1 /* Greek */
                   : c < 0xd5 ? 2 /* Cyrillic, Armenian */
                   : c < 0xd8 ? 3
                   : c < 0xe0 ? 4 /* Arabic and its neighbours */
                   : c < 0xe3 ? 5 /* India, Thai, Georgian */
                   : c < 0xea ? 6 /* kana, Han */
                              : 7;
    }
    return 0;
}

tab_str word_of(maker *m, const char *name)
{
    const list *l = words_of(m->a, name);
    tab_str w = l->word[chance_below(m->c, l->n)];
    for (int tries = 0; script_of(w) != m->script && tries < 40; tries++) {
        if (tries > 12 && script_of(w) == 0) /* what has no word in the script is written in Latin */
            break;
        w = l->word[chance_below(m->c, l->n)];
    }
    return w;
}

tab_str title_case(maker *m, tab_str w)
{
    tab_str s = tab_arena_copy(m->a, w);
    unsigned char *p = (unsigned char *)(uintptr_t)s.p;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char next = i + 1 < s.n ? p[i + 1] : 0;
        if (i > 0 && p[i - 1] != ' ' && p[i - 1] != '-')
            continue;
        if (p[i] >= 'a' && p[i] <= 'z')
            p[i] = (unsigned char)(p[i] - 32);
        else if (p[i] == 0xc3 && next >= 0xa0 && next != 0xb7 && next != 0xbf) /* Latin-1 */
            p[i + 1] = (unsigned char)(next - 32);
        else if (p[i] == 0xd0 && next >= 0xb0) /* Cyrillic */
            p[i + 1] = (unsigned char)(next - 32);
        else if (p[i] == 0xd1 && next >= 0x80 && next < 0x90) {
            p[i] = 0xd0;
            p[i + 1] = (unsigned char)(next + 32);
        }
    }
    return s;
}

void fill_template(chance *c, const char *t, char *out, size_t size)
{
    static const char hexes[] = "0123456789abcdef", both[] = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789";
    size_t i = 0;
    for (; t[i] != 0 && i + 1 < size; i++)
        out[i] = t[i] == '9'   ? (char)('0' + chance_below(c, 10))
                 : t[i] == 'A' ? (char)('A' + chance_below(c, 26))
                 : t[i] == 'a' ? (char)('a' + chance_below(c, 26))
                 : t[i] == 'H' ? hexes[chance_below(c, 16)]
                 : t[i] == 'N' ? both[chance_below(c, 33)]
                               : t[i];
    out[i] = 0;
}

bool put_cell(maker *m, size_t row, const char *text)
{
    m->cell[row] = tab_arena_copy(m->a, tab_str_of(text));
    return m->cell[row].p != NULL;
}
