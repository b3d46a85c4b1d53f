/* Words: persons, places, organizations, things, classes, flags, texts. A plan gives the classes ("a|b|c"),
 * "~n" for n words of the sector's list, or "w:LIST" for a list of the lexicon. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/train/words.h"

/* How often each class comes: even, or falling. */
static size_t fall(double u, size_t n, double bend)
{
    size_t k = (size_t)((double)n * pow(u, bend));
    return k < n ? k : n - 1;
}

static bool spread(maker *m, const tab_str *set, size_t n)
{
    chance *c = m->c;
    double bend = chance_of(c, 0.25) ? 1 : 1 + 4 * chance_unit(c);
    bool blocks = chance_of(c, 0.12);
    if (n == 0)
        return false;
    for (size_t i = 0; i < m->rows; i++)
        m->cell[i] = set[blocks ? i * n / m->rows : fall(drift_unit(m, i), n, bend)];
    return true;
}

/* Classes, as they get written: in words of any case, abbreviated, numbered, as letters or bare integers. */
static bool classes(maker *m, const spec *s, const tab_str *given, size_t n)
{
    chance *c = m->c;
    tab_str set[MOST_LISTED];
    size_t way = chance_below(c, 100), first = chance_below(c, 2);
    bool plain =
        s->role != TAB_ROLE_CATEGORY || strchr(s->arg, '!') != NULL; /* statuses stay words, nearly always */
    bool underscore = chance_of(c, 0.12);
    if (n > 3 && chance_of(c, 0.25)) /* not all of them occur */
        n -= chance_below(c, n / 2);
    for (size_t i = 0; i < n; i++) {
        char t[160];
        tab_str w = given[i];
        if (way < 26 || plain) {
            set[i] = way % 26 < 9    ? title_case(m, w)
                     : way % 26 < 20 ? w
                     : way % 26 < 23 ? change_case(m, w, false)
                                     : change_case(m, w, true);
            if (underscore && set[i].n < 40) {
                snprintf(t, sizeof t, "%.*s", TAB_STR(set[i]));
                for (char *p = t; *p != 0; p++)
                    *p = *p == ' ' ? (chance_of(c, 0.9) ? '_' : '-') : *p;
                set[i] = tab_arena_copy(m->a, tab_str_of(t));
            }
            continue;
        }
        if (way < 56)
            set[i] = way < 40 ? title_case(m, w) : way < 52 ? w : change_case(m, w, way < 54);
        else if (way < 64)
            snprintf(t, sizeof t, "%zu", i + first);
        else if (way < 68)
            snprintf(t, sizeof t, "%c", (char)((way < 66 ? 'A' : 'a') + (char)(i % 26)));
        else if (way < 74)
            snprintf(t, sizeof t, "%.*s", (int)(w.n < 3 ? w.n : 3), w.p);
        else if (way < 78)
            snprintf(t, sizeof t, "%zu. %.*s", i + 1, TAB_STR(title_case(m, w)));
        else if (way < 82)
            snprintf(t, sizeof t, "%s %zu", way < 80 ? "Type" : "group", i + 1);
        else if (way < 85)
            snprintf(t, sizeof t, "%zu", (i + 1) * (way < 84 ? 10 : 100));
        else if (way < 88)
            snprintf(t, sizeof t, "%c%zu", "ABCGLPRST"[way - 80 < 9 ? way - 80 : 0], i + 1);
        else if (way < 91)
            snprintf(t, sizeof t, "%.*s", (int)(w.n < 1 ? 0 : 1), change_case(m, w, true).p);
        else if (way < 94)
            snprintf(t, sizeof t, "%.*s (%zu)", TAB_STR(w), i + 1);
        else
            snprintf(t, sizeof t, "%.*s",
                     TAB_STR(way < 97 ? change_case(m, w, true) : change_case(m, w, false)));
        if (way >= 56)
            set[i] = tab_arena_copy(m->a, tab_str_of(t));
        /* cut inside a letter of two bytes: take the word as it is */
        if (set[i].n > 0 && (unsigned char)set[i].p[set[i].n - 1] >= 0x80 &&
            (unsigned char)set[i].p[set[i].n - 1] >= 0xc0)
            set[i] = w;
        if (set[i].n == 0)
            set[i] = w;
    }
    return spread(m, set, n);
}

static bool from_lists(maker *m, const spec *s, const char *list, size_t lo, size_t hi)
{
    tab_str set[MOST_LISTED];
    size_t n = lo + chance_below(m->c, hi - lo + 1);
    bool title = chance_of(m->c, 0.65);
    for (size_t i = 0; i < n; i++) {
        tab_str w = word_of(m, list);
        set[i] = title ? title_case(m, w) : w;
    }
    return s->role == TAB_ROLE_CATEGORY ? classes(m, s, set, n) : spread(m, set, n);
}

static bool flags(maker *m)
{
    static const char *const pairs[][2] = { { "0", "1" },        { "0", "1" },        { "0", "1" },
                                            { "No", "Yes" },     { "no", "yes" },     { "N", "Y" },
                                            { "false", "true" }, { "False", "True" }, { "FALSE", "TRUE" },
                                            { "F", "T" },        { "n", "y" },        { "NO", "YES" } };
    chance *c = m->c;
    const char *const *p = pairs[chance_of(c, 0.35) ? 0 : chance_below(c, 12)];
    bool native = m->loc->decimal == ',' && chance_of(c, 0.5), alone = chance_of(c, 0.04);
    double rate = chance_of(c, 0.5) ? 0.5 * chance_unit(c) : 0.1 + 0.8 * chance_unit(c);
    for (size_t i = 0; i < m->rows; i++) {
        bool yes = chance_of(c, rate);
        if (alone && !yes)
            m->cell[i] = (tab_str){ NULL, 0 };
        else if (!put_cell(m, i, native ? yes ? m->loc->yes : m->loc->no : p[yes]))
            return false;
    }
    return true;
}

static bool ranges(maker *m)
{
    chance *c = m->c;
    tab_str set[MOST_LISTED];
    size_t way = chance_below(c, 8), n = 3 + chance_below(c, 7);
    double lo = (double)chance_below(c, 2) * 18,
           step = (double[]){ 5, 10, 10, 20, 50, 100, 1000, 25 }[chance_below(c, 8)];
    for (size_t i = 0; i < n; i++) {
        char t[64];
        double a = lo + step * (double)i, b = a + step - (step > 1 ? 1 : 0);
        if (i == 0 && way < 4)
            snprintf(t, sizeof t, way == 1 ? "<%.0f" : way == 2 ? "Under %.0f" : "< %.0f", a + step);
        else if (i + 1 == n && way < 6)
            snprintf(t, sizeof t, way < 3 ? "%.0f+" : way < 5 ? ">%.0f" : "%.0f or more", a);
        else
            snprintf(t, sizeof t,
                     way == 3   ? "%.0f to %.0f"
                     : way == 6 ? "[%.0f,%.0f)"
                     : way == 7 ? "(%.0f, %.0f]"
                     : way == 5 ? "$%.0f - $%.0f"
                                : "%.0f-%.0f",
                     a, b);
        set[i] = tab_arena_copy(m->a, tab_str_of(t));
    }
    return spread(m, set, n);
}

/* Lists of the lexicon that a role draws its classes from. */
static const char *list_of(const maker *m, int role)
{
    switch (role) {
    case TAB_ROLE_COUNTRY:
        return "country";
    case TAB_ROLE_COUNTRY_CODE:
        return chance_of(m->c, 0.6) ? "country_code2" : "country_code3";
    case TAB_ROLE_CURRENCY_CODE:
        return "currency_code";
    case TAB_ROLE_LANGUAGE:
        return chance_of(m->c, 0.5) ? "language" : "language_code";
    case TAB_ROLE_REGION:
        return chance_of(m->c, 0.35) ? "region_us" : chance_of(m->c, 0.75) ? "region" : "region_code";
    case TAB_ROLE_TIMEZONE:
        return "timezone";
    case TAB_ROLE_NATIONALITY:
        return "nationality";
    case TAB_ROLE_RELIGION:
        return "religion";
    case TAB_ROLE_ETHNICITY:
        return "ethnicity";
    case TAB_ROLE_COLOR:
        return "color";
    case TAB_ROLE_UNIT:
        return "unit";
    case TAB_ROLE_STATUS:
        return "status";
    case TAB_ROLE_MARITAL_STATUS:
        return "marital_status";
    case TAB_ROLE_EDUCATION_LEVEL:
        return "education_level";
    case TAB_ROLE_GENDER:
        return "gender";
    case TAB_ROLE_CATEGORY:
        return "category_word";
    default:
        return NULL;
    }
}

/* Small closed sets come as one coherent set, in one language and notation. */
static const char *const sex[] = { "Male|Female",
                                   "M|F",
                                   "male|female",
                                   "m|f",
                                   "F|M|U",
                                   "Female|Male|Other",
                                   "m|w|d",
                                   "m\xc3\xa4nnlich|weiblich",
                                   "Homme|Femme",
                                   "Hombre|Mujer",
                                   "Masculino|Feminino",
                                   "Man|Woman|Non-binary",
                                   "MALE|FEMALE|UNKNOWN",
                                   "man|vrouw",
                                   "boy|girl",
                                   "M|K",
                                   "\xd0\xbc\xd1\x83\xd0\xb6|\xd0\xb6\xd0\xb5\xd0\xbd",
                                   "\xe7\x94\xb7|\xe5\xa5\xb3",
                                   "\xe7\x94\xb7\xe6\x80\xa7|\xe5\xa5\xb3\xe6\x80\xa7" };
static const char *const married[] = { "Single|Married|Divorced|Widowed",
                                       "single|married|divorced|widowed|separated",
                                       "S|M|D|W",
                                       "Never married|Married|Separated|Divorced|Widowed",
                                       "ledig|verheiratet|geschieden|verwitwet",
                                       "C\xc3\xa9libataire|Mari\xc3\xa9|Divorc\xc3\xa9|Veuf",
                                       "Soltero|Casado|Divorciado|Viudo",
                                       "1. Never Married|2. Married|3. Widowed|4. Divorced",
                                       "married|single|domestic partner",
                                       "Solteiro|Casado|Divorciado|Vi\xc3\xbavo" };
static const char *const school[] = {
    "High School|Bachelor|Master|PhD",
    "Primary|Secondary|Tertiary",
    "Less than high school|High school|Some college|College graduate|Graduate degree",
    "Bachelor's|Master's|Doctorate|High School|Associate",
    "No diploma|Diploma|Degree|Postgraduate",
    "elementary|secondary|university",
    "1. Below HS|2. HS Grad|3. Some College|4. College Grad|5. Advanced Degree",
    "Hauptschule|Realschule|Abitur|Studium",
    "Sin estudios|Primaria|Secundaria|Universidad",
    "undergraduate|graduate|none"
};
static const char *const group[] = { "White|Black|Asian|Hispanic|Other",
                                     "Caucasian|African American|Asian|Native American|Other",
                                     "white|black|hispanic|other",
                                     "W|B|A|H|O",
                                     "WHITE|BLACK|ASIAN|UNKNOWN",
                                     "Hispanic or Latino|Not Hispanic or Latino",
                                     "White British|White Other|Asian|Black|Mixed",
                                     "Han|Hui|Zhuang|Uyghur",
                                     "1. White|2. Black|3. Asian|4. Other" };
static const char *const compass[] = { "North|South|East|West",
                                       "northeast|midwest|south|west",
                                       "N|S|E|W",
                                       "EMEA|APAC|Americas|LATAM",
                                       "North America|Europe|Asia|Africa|South America|Oceania",
                                       "Central|East|West|South",
                                       "Nord|S\xc3\xbc"
                                       "d|Ost|West",
                                       "Northwest|Southwest|Northeast|Southeast" };
static const char *const colors[] = { "Red|Blue|Black|White|Silver|Grey",
                                      "red|green|blue|yellow|orange",
                                      "BLACK|WHITE|SILVER|RED|BLUE",
                                      "schwarz|wei\xc3\x9f|blau|rot",
                                      "noir|blanc|bleu|rouge|gris",
                                      "brown|tabby|black|white|calico",
                                      "#FF0000|#00FF00|#1A2B3C|#FFFFFF|#333333" };

/* The role's sets, and how often a column takes one of them (the others draw from the lexicon). */
#define SET_OF(list) list, sizeof list / sizeof *list
static const struct {
    int role;
    double share;
    const char *const *set;
    size_t n;
} closed[] = {
    { TAB_ROLE_GENDER, 0.9, SET_OF(sex) },
    { TAB_ROLE_MARITAL_STATUS, 0.9, SET_OF(married) },
    { TAB_ROLE_EDUCATION_LEVEL, 0.9, SET_OF(school) },
    { TAB_ROLE_ETHNICITY, 0.9, SET_OF(group) },
    { TAB_ROLE_REGION, 0.25, SET_OF(compass) },
    { TAB_ROLE_COLOR, 0.4, SET_OF(colors) },
};

/* One of them as "a|b|c", or NULL. */
static const char *coherent(const maker *m, int role)
{
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (closed[i].role == role)
            return chance_of(m->c, closed[i].share) ? closed[i].set[chance_below(m->c, closed[i].n)] : NULL;
    return NULL;
}

/* Words of the lexicon's list that the plan names ("w:NAME"): a few again and again, or each drawn anew. */
static bool own_words(maker *m, const spec *s)
{
    char list[64];
    snprintf(list, sizeof list, "%.60s", s->arg + 2);
    size_t pool = chance_of(m->c, 0.6) ? 4 + chance_below(m->c, 30) : 0;
    if (pool > 0)
        return from_lists(m, s, list, pool, pool + 10);
    for (size_t i = 0; i < m->rows; i++)
        m->cell[i] = title_case(m, word_of(m, list));
    return true;
}

bool make_texts(maker *m, const spec *s)
{
    chance *c = m->c;
    char buf[64], t[1200];
    tab_str set[MOST_LISTED];
    size_t n = strchr(s->arg, '|') != NULL ? split_list(m, s->arg, set) : 0,
           way = chance_below(c, s->role == TAB_ROLE_NAME ? 16 : 10);
    if (s->role == TAB_ROLE_FLAG)
        return flags(m);
    if (s->role == TAB_ROLE_RANGE && n == 0)
        return ranges(m);
    if (s->arg[0] == '~')
        return from_lists(m, s, sector_list(m, buf, sizeof buf), 2,
                          (size_t)fmax(3, fmin(60, strtod(s->arg + 1, NULL) * (0.5 + chance_unit(c)) *
                                                       (chance_of(c, 0.25) ? 5 : 1))));
    bool own_list = s->arg[0] == 'w' && s->arg[1] == ':';
    const char *fixed = n == 0 && !own_list ? coherent(m, s->role) : NULL;
    if (fixed != NULL) {
        n = split_list(m, fixed, set);
        return spread(m, set, n);
    }
    if (own_list)
        return own_words(m, s);
    const char *from = list_of(m, s->role);
    if (n == 0 && from != NULL)
        return from_lists(m, s, from, s->role == TAB_ROLE_CATEGORY || s->role == TAB_ROLE_STATUS ? 2 : 1,
                          s->role == TAB_ROLE_COUNTRY || s->role == TAB_ROLE_REGION ? 60
                          : s->role == TAB_ROLE_UNIT                                ? 6
                                                                                    : 14);
    if (from != NULL)
        return classes(m, s, set, n);
    bool repeat = chance_of(c, s->role == TAB_ROLE_ORGANIZATION || s->role == TAB_ROLE_PRODUCT ||
                                       s->role == TAB_ROLE_JOB_TITLE || s->role == TAB_ROLE_CITY ||
                                       s->role == TAB_ROLE_SPECIES
                                   ? 0.5
                                   : 0.15);
    size_t pool = 2 + chance_below(c, 30);
    if (n > 0 && s->role != TAB_ROLE_PRODUCT && s->role != TAB_ROLE_ORGANIZATION)
        return classes(m, s, set, n);
    for (size_t i = 0; i < m->rows; i++) {
        if (repeat && i >= pool) {
            m->cell[i] = m->cell[fall(chance_unit(c), pool, 1.5)];
            continue;
        }
        if (!one_text(m, s, set, n, way, t, sizeof t)) {
            fprintf(stderr, "no maker of role %s\n", tab_role_names[s->role]);
            exit(1);
        }
        if (!put_cell(m, i, t))
            return false;
    }
    return true;
}
