/* See street.h. A text is read word by word, in small letters as far as they are ASCII. Words that stand
 * alone are looked up by their first byte; those that grow together with the street's name by their ends;
 * scripts without blanks have marks that stand anywhere. */
#include "services/inference/engine/profile/cells/street.h"

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
