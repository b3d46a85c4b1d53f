/* See words.h: one function a kind of text (person, street, product, sentence, user name), drawn from word
 * lists. */
#include "tools/train/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

size_t split_list(maker *m, const char *p, tab_str *set)
{
    size_t n = 0;
    while (*p != 0 && n < MOST_LISTED) {
        size_t k = strcspn(p, "|");
        set[n++] = tab_arena_copy(m->a, (tab_str){ p, k });
        p += k + (p[k] == '|');
    }
    return n;
}

tab_str change_case(maker *m, tab_str w, bool upper)
{
    tab_str s = tab_arena_copy(m->a, w);
    char *p = (char *)(uintptr_t)s.p;
    for (size_t i = 0; i < s.n; i++)
        if (upper ? p[i] >= 'a' && p[i] <= 'z' : p[i] >= 'A' && p[i] <= 'Z')
            p[i] = (char)(p[i] ^ 32);
    return s;
}

const char *sector_list(const maker *m, char *buf, size_t n)
{
    snprintf(buf, n, "sector_%s", m->sector);
    return buf;
}

/* Several words that make a phrase of the sector. */
static void phrase(maker *m, size_t words, char *t, size_t size)
{
    char name[64];
    size_t n = 0;
    for (size_t k = 0; k < words && n + 80 < size; k++) {
        tab_str w = word_of(m, chance_of(m->c, 0.35)  ? sector_list(m, name, sizeof name)
                               : chance_of(m->c, 0.6) ? "stop_word"
                               : chance_of(m->c, 0.5) ? "product_word"
                                                      : "place_word");
        if (w.n < 50)
            n += (size_t)snprintf(t + n, size - n, "%s%.*s",
                                  k == 0                  ? ""
                                  : chance_of(m->c, 0.06) ? ". "
                                  : chance_of(m->c, 0.1)  ? ", "
                                                          : " ",
                                  TAB_STR(chance_of(m->c, 0.07) ? title_case(m, w) : w));
        if (chance_of(m->c, 0.04))
            n += (size_t)snprintf(t + n, size - n, " %zu", chance_below(m->c, 2000));
        else if (chance_of(m->c, 0.03))
            n += (size_t)snprintf(t + n, size - n, "'s");
    }
    for (size_t i = 2; i < n; i++) /* sentences */
        if (t[i - 2] == '.' && t[i] >= 'a' && t[i] <= 'z')
            t[i] = (char)(t[i] - 32);
    if (n > 0 && t[0] >= 'a' && t[0] <= 'z' && chance_of(m->c, 0.8))
        t[0] = (char)(t[0] - 32);
    if (n > 0 && words > 5 && chance_of(m->c, 0.6))
        snprintf(t + n, size - n, "%s", chance_of(m->c, 0.9) ? "." : "!");
}

static void ascii_word(maker *m, const char *list, char *t, size_t size)
{
    for (int tries = 0; tries < 20; tries++) {
        tab_str w = word_of(m, list);
        size_t n = 0;
        for (size_t i = 0; i < w.n && n + 1 < size; i++)
            if ((w.p[i] | 32) >= 'a' && (w.p[i] | 32) <= 'z')
                t[n++] = (char)(w.p[i] | 32);
        t[n] = 0;
        if (n >= 3)
            return;
    }
    snprintf(t, size, "kim");
}

static void street(maker *m, const char *form, char *t, size_t size)
{
    size_t n = 0;
    for (; *form != 0 && n + 60 < size; form++) {
        if (form[0] == '%' && form[1] == 'n')
            n += (size_t)snprintf(t + n, size - n, "%zu",
                                  1 + (size_t)exp(7 * chance_unit(m->c) * chance_unit(m->c))),
                form++;
        else if (form[0] == '%' && form[1] == 'w')
            n += (size_t)snprintf(t + n, size - n, "%.*s",
                                  TAB_STR(title_case(m, word_of(m, chance_of(m->c, 0.6)   ? "last_name"
                                                                   : chance_of(m->c, 0.5) ? "city"
                                                                                          : "first_name")))),
                form++;
        else
            t[n++] = *form;
    }
    t[n] = 0;
}

/* A name of a list that begins with a Hangul syllable, or else a Han character: by the first byte. */
static tab_str eastern(maker *m, const char *list, bool hangul)
{
    int script = m->script;
    tab_str w;
    unsigned char a;
    m->script = script_of(hangul ? TAB_S("\xea\xb0\x80") : TAB_S("\xe4\xb8\x80"));
    do {
        w = word_of(m, list);
        a = (unsigned char)w.p[0];
    } while (hangul ? a < 0xea || a > 0xed : a < 0xe4 || a > 0xe9);
    m->script = script;
    return w;
}

static void person(maker *m, size_t way, char *t, size_t size)
{
    if (way >= 14) { /* the family first, nothing between */
        snprintf(t, size, "%.*s%.*s", TAB_STR(eastern(m, "last_name", way == 15)),
                 TAB_STR(eastern(m, "first_name", way == 15)));
        return;
    }
    tab_str first = title_case(m, word_of(m, "first_name")), last = title_case(m, word_of(m, "last_name"));
    char middle = (char)('A' + chance_below(m->c, 26));
    switch (way) {
    case 0:
        snprintf(t, size, "%.*s, %.*s", TAB_STR(last), TAB_STR(first));
        break;
    case 1:
        snprintf(t, size, "%.*s, %.*s %c.", TAB_STR(last), TAB_STR(first), middle);
        break;
    case 2:
        snprintf(t, size, "%.*s %c. %.*s", TAB_STR(first), middle, TAB_STR(last));
        break;
    case 3:
        snprintf(t, size, "%s %.*s %.*s",
                 (const char *[]){ "Mr.", "Mrs.", "Dr.", "Ms" }[chance_below(m->c, 4)], TAB_STR(first),
                 TAB_STR(last));
        break;
    case 4:
        snprintf(t, size, "%.*s %.*s", TAB_STR(change_case(m, first, true)),
                 TAB_STR(change_case(m, last, true)));
        break;
    case 5:
        snprintf(t, size, "%c. %.*s", first.p[0] < 0 ? middle : first.p[0], TAB_STR(last));
        break;
    case 6:
        snprintf(t, size, "%.*s %.*s %.*s", TAB_STR(first), TAB_STR(title_case(m, word_of(m, "first_name"))),
                 TAB_STR(last));
        break;
    case 7:
        snprintf(t, size, "%.*s %.*s-%.*s", TAB_STR(first), TAB_STR(last),
                 TAB_STR(title_case(m, word_of(m, "last_name"))));
        break;
    case 8:
        snprintf(t, size, "%.*s %.*s", TAB_STR(last), TAB_STR(first));
        break;
    case 9:
        snprintf(t, size, "%.*s, %s %.*s", TAB_STR(last),
                 (const char *[]){ "Mr", "Mrs", "Miss", "Dr" }[chance_below(m->c, 4)], TAB_STR(first));
        break;
    default:
        snprintf(t, size, "%.*s %.*s", TAB_STR(first), TAB_STR(last));
        break;
    }
}

static void organization(maker *m, const char *arg, size_t way, char *t, size_t size)
{
    tab_str set[MOST_LISTED];
    size_t n = strchr(arg, '|') != NULL ? split_list(m, arg, set) : 0;
    tab_str head = n > 0 ? set[chance_below(m->c, n)] : title_case(m, word_of(m, "org_word")),
            who = title_case(m, word_of(m, chance_of(m->c, 0.6) ? "last_name" : "city"));
    tab_str two = title_case(m, word_of(m, "last_name")), form = word_of(m, "org_form");
    switch (n > 0 && way < 4 ? 4 : way) {
    case 0:
        snprintf(t, size, "%.*s %.*s", TAB_STR(who), TAB_STR(title_case(m, form)));
        break;
    case 1:
        snprintf(t, size, "%.*s & %.*s", TAB_STR(who), TAB_STR(two));
        break;
    case 2:
        snprintf(t, size, "%.*s, %.*s and %.*s", TAB_STR(who), TAB_STR(two),
                 TAB_STR(title_case(m, word_of(m, "last_name"))));
        break;
    case 3:
        snprintf(t, size, "%.*s", TAB_STR(title_case(m, word_of(m, "company"))));
        break;
    case 5:
        snprintf(t, size, "%.*s of %.*s", TAB_STR(head), TAB_STR(title_case(m, word_of(m, "city"))));
        break;
    case 6:
        snprintf(t, size, "%.*s %.*s %.*s", TAB_STR(who), TAB_STR(head), TAB_STR(title_case(m, form)));
        break;
    case 7:
        snprintf(t, size, "%.*s %.*s", TAB_STR(change_case(m, who, true)),
                 TAB_STR(change_case(m, head, true)));
        break;
    case 8:
        snprintf(t, size, "%.*s %.*s", TAB_STR(head), TAB_STR(who));
        break;
    default:
        snprintf(t, size, "%.*s %.*s", TAB_STR(who), TAB_STR(head));
        break;
    }
}

static void product(maker *m, const tab_str *head, size_t heads, size_t way, char *t, size_t size)
{
    static const char *const size_of[] = { "500 ml",  "1 kg", "XL",   "Pack of 6", "250g",
                                           "12-pack", "Pro",  "Mini", "2.0",       "Plus",
                                           "No. 3",   "S",    "75cl", "10mm",      "A4" };
    tab_str w = heads > 0 ? head[chance_below(m->c, heads)] : word_of(m, "product_word"),
            brand = title_case(m, word_of(m, chance_of(m->c, 0.5) ? "company" : "last_name"));
    tab_str x = title_case(m, w), adj = title_case(m, word_of(m, "color"));
    const char *z = size_of[chance_below(m->c, 15)];
    char model[12];
    fill_template(m->c, chance_of(m->c, 0.5) ? "A999" : "AA-99", model, sizeof model);
    switch (way) {
    case 0:
        snprintf(t, size, "%.*s %.*s", TAB_STR(adj), TAB_STR(x));
        break;
    case 1:
        snprintf(t, size, "%.*s %s", TAB_STR(x), z);
        break;
    case 2:
        snprintf(t, size, "%.*s %.*s %s", TAB_STR(brand), TAB_STR(x), z);
        break;
    case 3:
        snprintf(t, size, "%.*s %.*s", TAB_STR(brand), TAB_STR(x));
        break;
    case 4:
        snprintf(t, size, "%.*s, %.*s, %s", TAB_STR(x), TAB_STR(adj), z);
        break;
    case 5:
        snprintf(t, size, "%.*s", TAB_STR(x));
        break;
    case 6:
        snprintf(t, size, "%.*s %s", TAB_STR(brand), model);
        break;
    case 7:
        snprintf(t, size, "%.*s %.*s", TAB_STR(change_case(m, adj, true)), TAB_STR(change_case(m, x, true)));
        break;
    case 8:
        snprintf(t, size, "%.*s", TAB_STR(w));
        break;
    default:
        snprintf(t, size, "%.*s %s", TAB_STR(x), model);
        break;
    }
}

static void title(maker *m, size_t way, char *t, size_t size)
{
    char name[64];
    tab_str a =
        title_case(m, word_of(m, chance_of(m->c, 0.5) ? "product_word" : sector_list(m, name, sizeof name)));
    tab_str b = title_case(m, word_of(m, chance_of(m->c, 0.4)   ? "city"
                                         : chance_of(m->c, 0.5) ? "place_word"
                                                                : "color")),
            n = title_case(m, word_of(m, "first_name"));
    switch ((way + chance_below(m->c, 3)) % 8) {
    case 0:
        snprintf(t, size, "The %.*s", TAB_STR(a));
        break;
    case 1:
        snprintf(t, size, "%.*s of %.*s", TAB_STR(a), TAB_STR(b));
        break;
    case 2:
        snprintf(t, size, "The %.*s and the %.*s", TAB_STR(a), TAB_STR(b));
        break;
    case 3:
        snprintf(t, size, "%.*s", TAB_STR(b));
        break;
    case 4:
        snprintf(t, size, "How to %.*s in %.*s", TAB_STR(a), TAB_STR(b));
        break;
    case 5:
        snprintf(t, size, "%.*s: A %.*s Guide (Part %zu)", TAB_STR(a), TAB_STR(b), 1 + chance_below(m->c, 9));
        break;
    case 6:
        snprintf(t, size, "%.*s's %.*s", TAB_STR(n), TAB_STR(a));
        break;
    default:
        snprintf(t, size, "%.*s %.*s", TAB_STR(b), TAB_STR(a));
        break;
    }
}

static void place(maker *m, size_t way, char *t, size_t size)
{
    tab_str a = title_case(m, word_of(m, chance_of(m->c, 0.5) ? "city" : "last_name")),
            w = title_case(m, word_of(m, "place_word"));
    if (way < 5)
        snprintf(t, size, "%.*s %.*s", TAB_STR(a), TAB_STR(w));
    else if (way == 5)
        snprintf(t, size, "%.*s %.*s %s", TAB_STR(a), TAB_STR(w),
                 (const char *[]){ "North", "South", "East", "West" }[chance_below(m->c, 4)]);
    else if (way == 6)
        snprintf(t, size, "%.*s & %.*s St", TAB_STR(a), TAB_STR(title_case(m, word_of(m, "last_name"))));
    else if (way == 7)
        snprintf(t, size, "%zu km %s of %.*s", 1 + chance_below(m->c, 90),
                 (const char *[]){ "N", "SE", "WSW", "S" }[chance_below(m->c, 4)], TAB_STR(a));
    else
        snprintf(t, size, "%.*s", TAB_STR(a));
}

static void label(maker *m, size_t way, char *t, size_t size)
{
    char code[16], name[64];
    tab_str a = title_case(m, word_of(m, "last_name")),
            b = title_case(m, word_of(m, sector_list(m, name, sizeof name)));
    fill_template(m->c, "AA9", code, sizeof code);
    switch (way) {
    case 0:
        snprintf(t, size, "%.*s %zu", TAB_STR(b), 1 + chance_below(m->c, 99));
        break;
    case 1:
        snprintf(t, size, "%.*s-%s", TAB_STR(a), code);
        break;
    case 2:
        snprintf(t, size, "%.*s", TAB_STR(title_case(m, word_of(m, "first_name"))));
        break;
    case 3:
        snprintf(t, size, "%.*s_%.*s_%zu", TAB_STR(change_case(m, b, false)),
                 TAB_STR(change_case(m, title_case(m, word_of(m, "color")), false)),
                 2010 + chance_below(m->c, 15));
        break;
    case 4:
        snprintf(t, size, "%.*s %.*s", TAB_STR(title_case(m, word_of(m, "color"))), TAB_STR(b));
        break;
    default:
        snprintf(t, size, "%.*s %.*s", TAB_STR(a), TAB_STR(b));
        break;
    }
}

static void several(maker *m, size_t way, char *t, size_t size)
{
    static const char *const between[] = { ", ", ";", "|", ",", " / ", "; " };
    char name[64];
    size_t n = 0, k = 1 + chance_below(m->c, 5);
    const char *list = way % 3 == 0   ? sector_list(m, name, sizeof name)
                       : way % 3 == 1 ? "genre"
                                      : "product_word",
               *mark = between[way % 6];
    n += (size_t)snprintf(t, size, "%s", way == 7 ? "[" : "");
    for (size_t i = 0; i < k && n + 80 < size; i++)
        n += (size_t)snprintf(t + n, size - n,
                              way == 7   ? "%s'%.*s'"
                              : way == 8 ? "%s#%.*s"
                                         : "%s%.*s",
                              i == 0     ? ""
                              : way == 8 ? " "
                              : way == 7 ? ", "
                                         : mark,
                              TAB_STR(word_of(m, list)));
    snprintf(t + n, size - n, "%s", way == 7 ? "]" : "");
}

static void person_part(maker *m, int role, size_t way, char *t, size_t size)
{
    tab_str x = title_case(m, word_of(m, role == TAB_ROLE_FIRST_NAME ? "first_name" : "last_name"));
    snprintf(t, size, "%.*s",
             TAB_STR(way == 9   ? change_case(m, x, true)
                     : way == 8 ? change_case(m, x, false)
                                : x));
}

/* A user's name or an address of electronic mail, made of a first and a last name. */
static void account(maker *m, int role, size_t way, char *t, size_t size)
{
    chance *c = m->c;
    char u[40], w[40];
    ascii_word(m, "first_name", u, sizeof u);
    ascii_word(m, "last_name", w, sizeof w);
    if (role == TAB_ROLE_USERNAME && way % 2 == 0)
        snprintf(t, size, chance_of(c, 0.5) ? "%s_%s" : chance_of(c, 0.5) ? "%.1s%s" : "%s%s", u, w);
    else if (role == TAB_ROLE_USERNAME)
        snprintf(t, size, way % 3 ? "%s%zu" : "@%s%zu", u, chance_below(c, 1000));
    else if (way < 4)
        snprintf(t, size, "%s.%s@%s", u, w,
                 (const char *[]){ "gmail.com", "yahoo.com", "hotmail.com", "web.de", "orange.fr",
                                   "mail.ru" }[chance_below(c, 6)]);
    else if (way < 7)
        snprintf(t, size, "%.1s%s@example.%s", u, w,
                 (const char *[]){ "com", "org", "net" }[chance_below(c, 3)]);
    else
        snprintf(t, size, "%s%zu@%s.com", u, chance_below(c, 999), w);
}

static void address(maker *m, size_t way, char *t, size_t size)
{
    street(m, m->loc->street[way < 4 ? way : chance_below(m->c, 4)], t, size);
    size_t k = strlen(t);
    if (way >= 8 && k + 80 < size) {
        char zip[16];
        fill_template(m->c, m->loc->postal, zip, sizeof zip);
        snprintf(t + k, size - k, ", %s %.*s", zip, TAB_STR(title_case(m, word_of(m, "city"))));
    }
}

static void job_title(maker *m, size_t way, char *t, size_t size)
{
    tab_str x = title_case(m, word_of(m, chance_of(m->c, 0.6) ? "job_title" : "job_word"));
    snprintf(t, size, way < 6 ? "%.*s" : way < 8 ? "Senior %.*s" : "%.*s II", TAB_STR(x));
}

/* Species, tickers of shares, codes of airports: a word of a list, the codes in capitals. */
static void listed(maker *m, int role, size_t way, char *t, size_t size)
{
    const char *list = role == TAB_ROLE_SPECIES  ? "species"
                       : role == TAB_ROLE_TICKER ? "ticker"
                                                 : "airport_code";
    tab_str x = word_of(m, list);
    snprintf(t, size, "%.*s",
             TAB_STR(role != TAB_ROLE_SPECIES ? change_case(m, x, true)
                     : way < 8                ? title_case(m, x)
                                              : x));
    if (role == TAB_ROLE_TICKER && chance_of(m->c, 0.3)) /* no listed one */
        fill_template(m->c, chance_of(m->c, 0.5) ? "AAAA" : "AAA", t, size);
}

bool one_text(maker *m, const spec *s, const tab_str *set, size_t n, size_t way, char *t, size_t size)
{
    chance *c = m->c;
    switch (s->role) {
    case TAB_ROLE_NAME:
        person(m, way, t, size);
        return true;
    case TAB_ROLE_FIRST_NAME:
    case TAB_ROLE_LAST_NAME:
        person_part(m, s->role, way, t, size);
        return true;
    case TAB_ROLE_USERNAME:
    case TAB_ROLE_EMAIL:
        account(m, s->role, way, t, size);
        return true;
    case TAB_ROLE_ADDRESS:
        address(m, way, t, size);
        return true;
    case TAB_ROLE_ORGANIZATION:
        organization(m, s->arg, n > 0 ? 4 + way % 5 : (way + chance_below(c, 2)) % 10, t, size);
        return true;
    case TAB_ROLE_PRODUCT:
        product(m, set, n, way, t, size);
        return true;
    case TAB_ROLE_TITLE:
        title(m, way, t, size);
        return true;
    case TAB_ROLE_PLACE:
        place(m, way, t, size);
        return true;
    case TAB_ROLE_LABEL:
        label(m, way, t, size);
        return true;
    case TAB_ROLE_TEXT:
        phrase(m, (way < 3 ? 3 : way < 7 ? 8 : 20) + chance_below(c, way < 3 ? 5 : 14), t, size);
        return true;
    case TAB_ROLE_LIST:
        several(m, way < 9 ? way : 0, t, size);
        return true;
    case TAB_ROLE_JSON:
        snprintf(t, size, "{\"id\": %zu, \"%s\": \"%.*s\"}", chance_below(c, 9999), way < 5 ? "name" : "type",
                 TAB_STR(word_of(m, "color")));
        return true;
    case TAB_ROLE_CITY:
        snprintf(
            t, size, "%.*s",
            TAB_STR(way == 9 ? change_case(m, word_of(m, "city"), true) : title_case(m, word_of(m, "city"))));
        return true;
    case TAB_ROLE_JOB_TITLE:
        job_title(m, way, t, size);
        return true;
    case TAB_ROLE_SPECIES:
    case TAB_ROLE_TICKER:
    case TAB_ROLE_AIRPORT_CODE:
        listed(m, s->role, way, t, size);
        return true;
    default:
        return false;
    }
}
