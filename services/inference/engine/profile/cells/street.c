/* See street.h. A text is read word by word, in small letters as far as they are ASCII. Words that stand
 * alone are looked up by their first byte; those that grow together with the street's name by their ends;
 * scripts without blanks have marks that stand anywhere. */
#include "services/inference/engine/profile/cells/street.h"

#include <stdio.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/cells/ascii.h"

/* Words for street, lane, square, quay and quarter, and how they are shortened, in the languages of Europe,
 * the Americas and Asia; by their first byte, each between two blanks. */
/* clang-format off */
static const char *const words[256] = {
    ['a'] = " al alameda aleea aleja allee alley allée av avda ave avenida avenue ",
    ['b'] = " bd blvd borgo boulevard bul bulevar bulevardul bulvarı bulvár ",
    ['c'] = " c/ cad cadde caddesi calea calle callejón calzada camino carrer carrera carretera "
             "cct cd chemin cir circle circuit close contrada corso cours court cr cres crescent "
             "ct ",
    ['d'] = " dr drive drumul ",
    ['e'] = " esplanade ",
    ['g'] = " gang gardens gasse gata gg grove ",
    ['h'] = " highway hwy hẻm ",
    ['i'] = " impasse intrarea ",
    ['j'] = " jalan jl ",
    ['k'] = " krt körút köz ",
    ['l'] = " laan lane largo ln lorong ",
    ['m'] = " mah mahallesi marg mews ",
    ['n'] = " nagar ngõ nám námestie náměstí ",
    ['o'] = " os osiedle ",
    ['p'] = " parade parkway paseo passage pde phố piazza piazzale pkwy pl place plaza plein praça "
             "prospekt ",
    ['q'] = " quai quay ",
    ['r'] = " r rambla rd road ronda rotonda row rua rue ",
    ['s'] = " sk soi sok sokak sokağı soseaua sq square st str strada street ",
    ['t'] = " tce ter terrace tie trail travessa trg tér třída ",
    ['u'] = " u ul ulica ulice utca ",
    ['v'] = " vei vej via viale vicolo väg vägen ",
    ['w'] = " walk way ",
    [0xc3] = " út útja ",
    [0xc4] = " đường ",
    [0xc5] = " šetalište şoseaua ",
    [0xc8] = " șoseaua ",
    [0xce] = " Λεωφ Λεωφόρος Οδός Πλ Πλατεία λεωφ λεωφόρος οδος οδός ",
    [0xcf] = " πλ πλατεία ",
    [0xd0] = " Алл Бул Бульвар Вул Наб Пер Пл Пр Просп Проспект Туп Ул Улица алл аллея бул бульв "
             "бульвар вул вулиця ж.к жк майдан наб набережная пер переулок пл площа площадь пр "
             "пр-кт пр-т пров провулок проезд просп проспект ",
    [0xd1] = " туп тупик ул улица ш шосе шоссе ",
    [0xd5] = " խճուղի պողոտա փողոց ",
    [0xd6] = " փ ",
    [0xd7] = " דרך סמטת רח' רחוב שד' שדרות ",
    [0xd8] = " بلوار حي خیابان شارع طريق ",
    [0xd9] = " میدان ",
    [0xda] = " کوچه ",
    [0xe1] = " გამზირი ქ ქუჩა შესახვევი ",
    [0xe0] = " गली चौक नगर मार्ग मोहल्ला रोड सड़क ซอย ถนน ",
};
/* clang-format on */

/* Ends of one word that is the street's whole name. */
static const char *const ends[] = { "straße", "strasse", "str",    "weg",    "platz",  "allee", "gasse",
                                    "ring",   "damm",    "ufer",   "steig",  "straat", "laan",  "plein",
                                    "gracht", "kade",    "dijk",   "singel", "steeg",  "hof",   "lei",
                                    "gatan",  "vägen",   "backen", "gränd",  "stigen", "gade",  "vej",
                                    "stræde", "gata",    "veien",  "vegen",  "katu",   "tie",   "kuja",
                                    "polku",  "kaari" };
/* The last bytes of these, so that most words are not compared. */
static const char last_bytes[] = "aedfgimnlrtuzjoy";

/* Where no blanks are written: street, road, lane, block, number, village. */
static const char *const marks[] = { "丁目", "番地", "番号", "路",    "街",  "町", "号",  "號", "巷", "弄",
                                     "大道", "로 ",  "길 ",  "거리 ", "ถนน", "ถ.", "ซอย", "ซ.", "หมู่" };

/* Ward, city, district, village; what follows them there is a quarter and its blocks. */
static const char *const districts[] = { "区", "市", "郡", "村", "县", "縣" };

/* Digits and dashes of East Asian writing, beside those of ASCII. */
static const char *const dashes[] = { "－", "−", "ー", "‐", "–" };

/* The bytes of the digit at s + i, 0: there is none. */
static size_t digit_at(tab_str s, size_t i)
{
    if (i < s.n && digit(s.p[i]))
        return 1;
    bool wide = i + 3 <= s.n && memcmp(s.p + i, "\xef\xbc", 2) == 0;
    unsigned char last = wide ? (unsigned char)s.p[i + 2] : 0;
    return last >= 0x90 && last <= 0x99 ? 3 : 0;
}

/* The same of a dash. */
static size_t dash_at(tab_str s, size_t i)
{
    if (i < s.n && s.p[i] == '-')
        return 1;
    for (size_t k = 0; k < sizeof dashes / sizeof *dashes; k++)
        if (i + strlen(dashes[k]) <= s.n && memcmp(s.p + i, dashes[k], strlen(dashes[k])) == 0)
            return strlen(dashes[k]);
    return 0;
}

/* Whether the text from i on is a name and then two numbers or more with dashes between, to the end or a
 * blank: 赤坂1-2-3. */
static bool has_blocks(tab_str s, size_t i)
{
    size_t numbers = 0, n;
    while (i < s.n && digit_at(s, i) == 0)
        i++;
    while (digit_at(s, i) > 0) {
        while ((n = digit_at(s, i)) > 0)
            i += n;
        numbers++;
        if (digit_at(s, i + dash_at(s, i)) > 0)
            i += dash_at(s, i);
    }
    bool wide_blank = i + 3 <= s.n && memcmp(s.p + i, "\xe3\x80\x80", 3) == 0;
    return numbers >= 2 && (i >= s.n || s.p[i] == ' ' || wide_blank);
}

static bool in_district(tab_str s)
{
    bool han = false;
    for (size_t i = 0; i < s.n && !han; i++)
        han = (unsigned char)s.p[i] >= 0xe3;
    if (!han)
        return false;
    for (size_t k = 0; k < sizeof districts / sizeof *districts; k++) {
        const char *at = memmem(s.p, s.n, districts[k], strlen(districts[k]));
        if (at != NULL && has_blocks(s, (size_t)(at - s.p) + strlen(districts[k])))
            return true;
    }
    return false;
}

static bool is_word(tab_str w)
{
    const char *all = words[(unsigned char)w.p[0]];
    for (const char *at = all; at != NULL && *at != 0;) {
        /* all begins with a blank, and one follows each word */
        const char *end = strchr(++at, ' ');
        if (end == NULL)
            return false;
        if ((size_t)(end - at) == w.n && memcmp(at, w.p, w.n) == 0)
            return true;
        at = end;
    }
    return false;
}

static bool ends_so(tab_str w)
{
    if (w.n <= 5 || strchr(last_bytes, w.p[w.n - 1]) == NULL)
        return false;
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        size_t n = strlen(ends[k]);
        if (w.n > n && memcmp(w.p + w.n - n, ends[k], n) == 0)
            return true;
    }
    return false;
}

static bool between(char c)
{
    return memchr(" ,.;#\n()", c, 9) != NULL;
}

bool tab_is_street(tab_str s)
{
    bool letters = false, word = false, number = false, name = false;
    if (s.n < 6 || s.n > 120)
        return false;
    /* texts without a letter are turned away first: they are most of the cells with digits */
    for (size_t i = 0; i < s.n && !letters; i++)
        letters = letter(s.p[i]) || (unsigned char)s.p[i] >= 0x80;
    if (!letters)
        return false;
    for (size_t i = 0; i < s.n;) {
        char buf[40];
        size_t n = 0, digits = 0;
        while (i < s.n && between(s.p[i]))
            i++;
        for (; i < s.n && !between(s.p[i]); i++)
            if (n < sizeof buf) {
                digits += digit(s.p[i]);
                buf[n++] = upper(s.p[i]) ? (char)(s.p[i] | 32) : s.p[i];
            }
        tab_str w = { buf, n };
        number |= digits > 0 && digits <= 5 && n <= 9; /* "12b" is a house number as well */
        name |= digits == 0 && n > 2;
        word = word || (digits == 0 && n > 0 && (is_word(w) || ends_so(w)));
    }
    /* scripts without blanks: mark and number stand anywhere */
    for (size_t k = 0; !word && k < sizeof marks / sizeof *marks; k++)
        if (memmem(s.p, s.n, marks[k], strlen(marks[k])) != NULL)
            return true;
    return (number && word && name) || (!word && in_district(s));
}

/* A house number: up to four digits, then perhaps a letter, a mark and a second number. */
static bool house_number(tab_str w)
{
    size_t i = 0;
    while (i < w.n && i < 4 && digit(w.p[i]))
        i++;
    if (i == 0 || (i < w.n && digit(w.p[i])))
        return false;
    i += i < w.n && letter(w.p[i]);
    if (i < w.n && (w.p[i] == '/' || w.p[i] == '-'))
        for (i++; i < w.n && (digit(w.p[i]) || (i + 1 == w.n && letter(w.p[i])));)
            i++;
    return i == w.n;
}

uint64_t tab_housed(tab_str s, uint64_t *ret_house)
{
    size_t at = s.n, letters = 0, word = 0;
    bool small = false, good = false;
    while (at > 0 && s.p[at - 1] != ' ')
        at--;
    if (s.n > 80 || at < 5 || !house_number((tab_str){ s.p + at, s.n - at }))
        return 0;
    size_t n = at - 1;
    while (n > 0 && (s.p[n - 1] == ',' || s.p[n - 1] == ' '))
        n--;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= 0xc0 || letter(s.p[i])) { /* a byte that begins a character */
            letters++;
            word++;
            small |= c >= 0x80 || (c >= 'a' && c <= 'z');
            good |= word >= 4 && small;
        } else if (c < 0x80 && strchr(" .'-,", s.p[i]) == NULL) {
            return 0;
        } else if (c < 0x80) {
            word = 0;
            small = false;
        }
    }
    *ret_house = tab_wyhash(s.p + at, s.n - at, 3);
    return letters >= 4 && good ? tab_wyhash(s.p, n, 3) | 1 : 0;
}

/* ---- among words ------------------------------------------------------------------------------ */

/* Words for a street behind its name, as Germanic languages put them; the others stand before it. */
static const char behind[] =
    " allee alley ave avenue blvd boulevard circle close court crescent dr drive gardens gasse gata "
    "gränd grove highway hwy laan lane ln mews parkway pkwy place platz plein rd road row sq "
    "square st straat strasse straße street terrace vej vei väg vägen walk way weg ";

/* One word of a text: its bytes, and what it may be of an address. */
typedef struct {
    tab_str text;
    bool capital, house, behind, before, grown, stop; /* grown: "Lindenstraße"; stop: a mark follows */
} word;

/* A point between two digits: 3.0 is no house. */
static bool in_figure(tab_str s, size_t i)
{
    return s.p[i] == '.' && i > 0 && i + 1 < s.n && digit(s.p[i - 1]) && digit(s.p[i + 1]);
}

static word word_at(tab_str s, size_t *i)
{
    char buf[40];
    word w = { .stop = false };
    while (*i < s.n && between(s.p[*i]))
        (*i)++;
    size_t from = *i, digits = 0, n = 0;
    for (; *i < s.n && (!between(s.p[*i]) || in_figure(s, *i)); (*i)++)
        if (n < sizeof buf) {
            digits += digit(s.p[*i]);
            buf[n++] = upper(s.p[*i]) ? (char)(s.p[*i] | 32) : s.p[*i];
        }
    w.text = (tab_str){ s.p + from, *i - from };
    if (w.text.n == 0 || w.text.n > sizeof buf)
        return w;
    unsigned char first = (unsigned char)w.text.p[0];
    tab_str low = { buf, n };
    w.house = house_number(w.text);
    w.capital = digits == 0 && (upper(w.text.p[0]) || first >= 0xc3) && !(n > 1 && upper(w.text.p[n - 1]));
    w.stop = *i < s.n && memchr(";\n)", s.p[*i], 3) != NULL;
    if (digits > 0 || n < 2)
        return w;
    char blank[44];
    int m = snprintf(blank, sizeof blank, " %.*s ", (int)n, buf);
    w.behind = w.capital && memmem(behind, sizeof behind - 1, blank, (size_t)m) != NULL;
    w.before = n > 2 && !w.behind && is_word(low);
    for (size_t k = 0; w.capital && n > 6 && k < sizeof ends / sizeof *ends; k++) {
        size_t e = strlen(ends[k]);
        bool clear = e >= 5 || strcmp(ends[k], "weg") == 0 || strcmp(ends[k], "str") == 0;
        w.grown = w.grown || (clear && n > e + 2 && memcmp(buf + n - e, ends[k], e) == 0);
    }
    return w;
}

/* Between a word for street and its name: "rue de la Paix", "Rua das Flores". */
static bool is_link(tab_str w)
{
    static const char links[] =
        " de del della delle dei di da do das dos des du la le les los las el of the van von ";
    char blank[12];
    int m = w.n <= 8 ? snprintf(blank, sizeof blank, " %.*s ", (int)w.n, w.p) : 0;
    return m > 0 && memmem(links, sizeof links - 1, blank, (size_t)m) != NULL;
}

/* The words are read one after the other, with what the address has shown so far:
 *
 *   number  Name{1,3} Road        12 Hill Rd              (house, then capitals, then a word behind)
 *   via     Name{1,4} number      via Roma 3, Calle Mayor, 5
 *   number  rue Name              12 rue de la Paix
 *   Lindenstraße number */
uint64_t tab_holds_street(tab_str s)
{
    bool house = false, via = false, grown = false, after = false;
    size_t names = 0, from = 0;
    for (size_t i = 0; i < s.n;) {
        word w = word_at(s, &i);
        if (w.text.n == 0)
            continue;
        size_t at = (size_t)(w.text.p - s.p);
        if ((house && names >= 1 && names <= 3 && w.behind) || (grown && w.house && w.text.n <= 5) ||
            (via && names >= 1 && names <= 4 && w.house) || (after && w.capital && !w.before))
            return tab_wyhash(s.p + from, at + w.text.n - from, 3) | 1;
        if (w.house) {
            house = true;
            via = after = grown = false;
            names = 0;
            from = at;
        } else if (w.before) {
            after = house && names == 0;
            from = after ? from : at;
            via = true;
            house = grown = false;
            names = 0;
        } else if (w.capital) {
            grown = w.grown;
            if (grown && names == 0)
                from = at;
            after = false;
            names++;
        } else if (!((via || after) && is_link(w.text))) {
            house = via = grown = after = false;
        }
        if (w.stop)
            house = via = grown = after = false;
    }
    return 0;
}
