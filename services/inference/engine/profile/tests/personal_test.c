/* What tells persons besides numbers of their own: addresses and names in the languages and scripts of many
 * countries, and ways to reach somebody that stand within texts. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/inference/engine/profile/cells/mentions.h"
#include "services/inference/engine/profile/cells/pattern.h"
#include "services/inference/engine/profile/cells/street.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/profile/roles/stages.h"

Test(street, reads_addresses_of_many_languages)
{
    static const char *const whole[] = {
        "12 Hill Rd",          "Lindenstraße 4",         "Parkring 4",
        "Via Roma, 3",         "12 bis, rue Cler",       "Calle Mayor, 5",
        "Rua Augusta, 100",    "ul. Długa 7/3",          "Storgatan 12",
        "Nørregade 5, 2",      "Karl Johans gata 8",     "Mannerheimintie 3 A 2",
        "nám. Svobody 8",      "Kossuth utca 12.",       "Str. Lungă nr. 4",
        "Bağdat Cad. No:12",   "ул. Ленина, д. 5",       "вул. Шевченка, 5",
        "бул. Витоша 10",      "Λεωφ. Αθηνών 12",        "شارع التحرير 12",
        "רחוב הרצל 8",         "12/4 मार्ग नेहरू",          "18/1 ถ.สุขุมวิท",
        "12 đường Lê Lợi",     "Jl. Sudirman No. 3",     "테헤란로 152 ",
        "南京路100号",         "港区芝公園4丁目2",       "No. 5, 中山路12號",
        "東京都港区赤坂1-2-3", "大阪市北区梅田１－１３", "長野県小谷村千国乙12-3 山荘",
    };
    static const char *const none[] = { "LAWSON STREET", "Ring of Kerry",  "12 of 14 parts",  "A4-113",
                                        "Order 100000",  "2019-05-31",     "stored 12 items", "Dlouhá 12",
                                        "Mustang V8",    "December, 2015", "Class 4 of 12",   "大阪市 2024年",
                                        "北区1班",       "第2地区 3-4年" };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        cr_expect(tab_is_street(tab_str_of(whole[i])), "%s is one", whole[i]);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_not(tab_is_street(tab_str_of(none[i])), "%s is none", none[i]);
}

Test(street, knows_a_name_with_a_house_number_behind_it)
{
    uint64_t house, other;
    static const char *const whole[] = { "Novotného 413", "Opatička 4b",      "Λεωφ. Παρανύμφων 26",
                                         "שומרון 13",     "U Waltrovky 40/2", "Boeing 747",
                                         "Աբովյան 5" };
    static const char *const none[] = { "RX-7 12",   "413 Novotného", "A4 113",
                                        "Novotného", "Order 100000",  "AUTO 5",
                                        "Lot 5",     "a.b@c.de 12",   "Novotného 12:30" };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        cr_expect(tab_housed(tab_str_of(whole[i]), &house) != 0, "%s is one", whole[i]);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect(tab_housed(tab_str_of(none[i]), &house) == 0, "%s is none", none[i]);
    cr_expect_eq(tab_housed(TAB_S("Vlárska 5"), &house), tab_housed(TAB_S("Vlárska, 12a"), &other));
    cr_expect_neq(house, other);
}

Test(contacts, are_found_within_texts_and_nowhere_else)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        { "Call Anna at +49 170 1234567 tomorrow", true },
        { "mail bob@example.com, please, or phone", true },
        { "<anna.b@example.org> asked again today", true },
        { "+49 (0)170 123 45 67 rings from nine to five", true },
        { "see a+b +12 for more than this one thing", false },
        { "no contact here @ all but long enough text", false },
        { "weights +12.5 -3.25 +1.75 of all the samples", false },
        { "bob@example.com", false }, /* that is a column of mail addresses */
        { "user@host is no address of the network at all", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(tab_holds_contact(tab_str_of(cases[i].text)), cases[i].want, "%s", cases[i].text);
}

Test(names, have_initials)
{
    static const char *const whole[] = { "Шевченко О. І.", "Smith, J.R.", "A. Novák",
                                         "J. K. Rowling",  "Γεωργίου Μ.", "O'Neill B." };
    static const char *const none[] = { "U.S.",  "St. Louis", "Acme Inc.", "NO. 5",           "A. B.",
                                        "Novák", "e.g. this", "Fig. 3",    "Smith J. Paul K." };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        cr_expect(tab_has_initials(tab_str_of(whole[i])), "%s has", whole[i]);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_not(tab_has_initials(tab_str_of(none[i])), "%s has none", none[i]);
}

Test(contacts, are_numbers_without_a_country_too)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        { "please ring 0746 017 370 before noon", true },
        { "rang (058) 590-7711 twice, no answer", true },
        { "her number is 555-010-4477, mornings", true },
        { "appelez le 01 23 45 67 89 demain matin", true },
        { "seen 03-12-2024 10:20 and on 04-12-2024", false },
        { "order 0042 of 12 pieces, 300 000 000 in all", false },
        { "part 000-123 in box 095542417 of the shelf", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(tab_holds_phone(tab_str_of(cases[i].text)) != 0, cases[i].want, "%s", cases[i].text);
    cr_expect_eq(tab_holds_phone(TAB_S("ring (058) 590-7711 please")),
                 tab_holds_phone(TAB_S("at (058) 590-7711, she said")));
}

enum { ROWS = 60, MOST = 4 };

/* A table of text columns, cell(column, row) written into a buffer. */
static const tab_profile *profile_of(tab_arena *a, size_t cols, void (*cell)(size_t, size_t, char *, size_t))
{
    tab_column *c = tab_arena_new_of(a, tab_column, MOST);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_engine *e = tab_arena_new_of(a, tab_engine, 1);
    tab_profile *p;
    for (size_t k = 0; k < cols; k++) {
        tab_builder *b = tab_builder_new(a, TAB_S("x"));
        for (size_t i = 0; i < ROWS; i++) {
            char v[160];
            cell(k, i, v, sizeof v);
            tab_builder_text(b, tab_arena_copy(a, tab_str_of(v)));
        }
        cr_assert(tab_builder_finish(b, &c[k]));
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = ROWS, .cols = cols, .col = c };
    *e = (tab_engine){ .arena = a };
    cr_assert_eq(tab_profile_table(e, t, &p, NULL), TAB_OK);
    return p;
}

static void note(size_t k, size_t i, char *t, size_t n)
{
    static const char *const of[] = { "asked for an invoice of the last order",
                                      "wants to change the delivery day",
                                      "did not like the colour of the chair",
                                      "came back with a broken handle",
                                      "was told that the part is out of stock" };
    static const char *const reach[] = { "mail anna.berg@example.org", "reach him at +44 7700 900123",
                                         "write to j.doe@example.com" };
    snprintf(t, n, "%zu customers, case %zu: %s", i % 7 + 2, i * 37 % 101, of[i * 3 % 5]);
    if (k == 1 && i % 9 == 4)
        snprintf(t + strlen(t), n - strlen(t), ", %s", reach[i % 3]);
}

Test(contacts, make_notes_personal_data)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    const tab_profile *p = profile_of(a, 2, note);
    cr_expect_not(p->col[0].pii, "notes that name nobody: %g", p->col[0].pii_confidence);
    cr_expect(p->col[1].pii && p->col[1].pii_confidence > 0.99,
              "a ninth of the notes says how to reach somebody: %g", p->col[1].pii_confidence);
}

/* Notes of which a fifth names somebody, beside mail addresses (people) or works (not). */
static bool people;

static void call(size_t k, size_t i, char *t, size_t n)
{
    static const char *const given[] = { "Anna", "Peter", "Maria", "Thomas", "Laura" };
    static const char *const family[] = { "Becker", "Schmidt", "Wagner", "Fischer" };
    static const char *const of[] = { "asked for an invoice of the last order", "wants another delivery day",
                                      "did not like the colour of the chair" };
    if (k == 0 && people)
        snprintf(t, n, "%s.%s%zu@example.org", given[i % 5], family[i % 4], i);
    else if (k == 0)
        snprintf(t, n, "%c-%zu", (char)('A' + i % 5), i * 37 % 101);
    else if (i % 5 == 2)
        snprintf(t, n, "case %zu: spoke with %s %s on Monday, %s", i, given[i * 3 % 5], family[i / 5 % 4],
                 of[i % 3]);
    else
        snprintf(t, n, "case %zu: the customer %s", i, of[i % 3]);
}

Test(names, within_notes_are_personal_data_where_persons_are_listed)
{
    static const char *const whole[] = { "spoke with Anna Becker on Monday",
                                         "Peter Schmidt, said the clerk" };
    static const char *const none[] = { "spoke with anna becker on Monday", "the town of Paris in Virginia",
                                        "Anna and the Becker family", "Lake Victoria Street is closed" };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        cr_expect(tab_holds_name(tab_str_of(whole[i])), "%s", whole[i]);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_not(tab_holds_name(tab_str_of(none[i])), "%s", none[i]);
    for (int k = 0; k < 2; k++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
        people = k == 1;
        const tab_profile *p = profile_of(a, 2, call);
        cr_expect_eq(p->col[1].pii, people, "%s, %g", tab_role_names[p->col[1].role],
                     p->col[1].pii_confidence);
    }
}

/* Numbers that look personal by their form: one kind at a time. */
static int form;
enum { VERSIONS, ADDRESSES, OFFICE, NETS, DOCUMENTS, SUBJECTS, PHONES, DIGITS_WRONG };

static void number(size_t k, size_t i, char *t, size_t n)
{
    size_t a = i * 37 % 101, b = i * 53 % 97, c = i * 7919 % 10007;
    if (k == 0)
        snprintf(t, n, "%c", (char)('A' + i % 5));
    else if (form == VERSIONS)
        snprintf(t, n, "%zu.%zu.%zu.%zu", i % 4 + 1, i % 7, i % 11, a % 90);
    else if (form == ADDRESSES)
        snprintf(t, n, "%zu.%zu.%zu.%zu", a + 60, b + 20, a * 2 + 3, b * 2 + 9);
    else if (form == OFFICE)
        snprintf(t, n, "10.0.%zu.%zu", i % 4, a % 90 + 1);
    else if (form == NETS)
        snprintf(t, n, "%zu.%zu.0.0", i % 7 + 1, a % 40);
    else if (form == DOCUMENTS)
        snprintf(t, n, "2024-%06zu", c * 83 + 100000);
    else if (form == SUBJECTS)
        snprintf(t, n, "01-7%02zu-1%03zu", i % 17, c % 1000);
    else if (form == PHONES)
        snprintf(t, n, "(4%02zu) 38%zu-%04zu", i % 17, i % 9, c % 10000);
    else
        snprintf(t, n, "DE%09zu", c * 89513 + 100000003);
}

static const tab_column_profile *formed(tab_arena *a, int of)
{
    form = of;
    return &profile_of(a, 2, number)->col[1];
}

Test(forms, are_doubted_where_something_else_has_them)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 29);
    static const struct {
        int of;
        bool pii;
        const char *what;
    } cases[] = {
        { VERSIONS, false, "versions of four numbers" },     { ADDRESSES, true, "addresses of a network" },
        { OFFICE, true, "addresses of an office" },          { NETS, true, "networks of an early block" },
        { SUBJECTS, false, "subjects counted up in sites" }, { PHONES, true, "telephone numbers" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tab_column_profile *c = formed(a, cases[i].of);
        cr_expect_eq(c->pii, cases[i].pii, "%s: %s, %g", cases[i].what, tab_role_names[c->role],
                     c->pii_confidence);
    }
    const tab_column_profile *document = formed(a, DOCUMENTS), *wrong = formed(a, DIGITS_WRONG);
    cr_expect_str_eq(tab_role_names[document->role], "id");
    cr_expect(wrong->role_confidence <= 0.86, "check digits that do not check: %g", wrong->role_confidence);
}

/* Streets without a word for street, rooms that are numbered, and what is neither. */
static void place(size_t k, size_t i, char *t, size_t n)
{
    static const char *const street[] = { "Klouzková", "Grammova",   "Bajkalská",  "Nad Zámečkem",
                                          "Vlárska",   "Zelinárska", "Šiesta",     "Na Kuthence",
                                          "Opatička",  "Streljačka", "Rebarborová" };
    if (k == 0)
        snprintf(t, n, "%s%s %zu", i % 3 == 0 ? "Nová " : "", street[i * 7 % 11], i * i * 13 % 97 + 1);
    else if (k == 1)
        snprintf(t, n, "West Gallery %zu", i * 37 % 101);
    else
        snprintf(t, n, "%c-%zu", (char)('A' + i % 5), i * 37 % 101);
}

Test(street, house_numbers_behind_many_names_are_addresses)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    const tab_profile *p = profile_of(a, 3, place);
    cr_expect_str_eq(tab_role_names[p->col[0].role], "address", "%s", tab_role_names[p->col[0].role]);
    cr_expect_not(p->col[1].pii, "numbered rooms: %s, %g", tab_role_names[p->col[1].role],
                  p->col[1].pii_confidence);
}

/* Given names of one script, then family names; a name of each row is one of both. */
static const struct {
    const char *script, *given[6], *family[6];
} scripts[] = {
    { "Cyrillic",
      { "Ольга", "Иван", "Мария", "Пётр", "Анна", "Дмитрий" },
      { "Иванов", "Смирнова", "Петров", "Попова", "Соколов", "Морозова" } },
    { "Greek",
      { "Γιώργος", "Μαρία", "Νίκος", "Ελένη", "Κώστας", "Αικατερίνη" },
      { "Παπαδόπουλος", "Γεωργίου", "Νικολάου", "Οικονόμου", "Δημητρίου", "Ιωάννου" } },
    { "Bengali",
      { "আরিফ", "নুসরাত", "করিম", "ফাতেমা", "সুমন", "তানিয়া" },
      { "রহমান", "হোসেন", "চৌধুরী", "বেগম", "ইসলাম", "দাস" } },
    { "Tamil",
      { "அருண்", "கமலா", "குமார்", "மீனா", "ரவி", "லட்சுமி" },
      { "ஆறுமுகம்", "கணேசன்", "சண்முகம்", "நடராஜன்", "மாணிக்கம்", "ராமசாமி" } },
    { "Armenian",
      { "Անահիտ", "Արամ", "Գայանե", "Դավիթ", "Լիլիթ", "Կարեն" },
      { "Գրիգորյան", "Հակոբյան", "Սարգսյան", "Պետրոսյան", "Մկրտչյան", "Ավագյան" } },
};
static size_t script;

static void person(size_t k, size_t i, char *t, size_t n)
{
    const char *given = scripts[script].given[i * 5 % 6], *family = scripts[script].family[(i / 6 + i) % 6];
    if (k < 2)
        snprintf(t, n, "%s", k == 0 ? given : family);
    else if (k == 2)
        snprintf(t, n, "%s %s", given, family);
    else
        snprintf(t, n, "%c-%zu", (char)('A' + i % 5), i * 37 % 101);
}

Test(names, are_read_in_other_scripts_and_are_no_keys)
{
    for (script = 0; script < sizeof scripts / sizeof *scripts; script++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
        const tab_profile *p = profile_of(a, MOST, person);
        for (size_t k = 0; k < 3; k++) {
            const char *role = tab_role_names[p->col[k].role];
            cr_expect(strcmp(role, "id") != 0 && strcmp(role, "code") != 0, "%s, column %zu: %s",
                      scripts[script].script, k, role);
        }
        cr_expect(p->col[2].pii, "whole names, %s: %s, %g", scripts[script].script,
                  tab_role_names[p->col[2].role], p->col[2].pii_confidence);
    }
}

Test(sector, is_told_less_surely_than_the_model_says)
{
    float p[TAB_SECTORS] = { [3] = 0.96f, [4] = 0.04f }, q[TAB_SECTORS] = { [3] = 0.7f, [5] = 0.3f };
    float sure[TAB_SECTORS] = { [2] = 1 };
    tab_tell_sector(p);
    cr_expect_float_eq(p[3], 0.88f, 1e-5);
    cr_expect_float_eq(p[4], 0.12f, 1e-5);
    tab_tell_sector(q);
    cr_expect_float_eq(q[3], 0.7f, 1e-6);
    tab_tell_sector(sure);
    cr_expect_float_eq(sure[2], 0.9f, 1e-5);
    cr_expect_float_eq(sure[0], 0.1f / (TAB_SECTORS - 1), 1e-5);
}

Test(roles, are_told_as_often_as_they_are_right)
{
    cr_expect_float_eq(tab_told_role(TAB_ROLE_ID, 0.4), 0.525, 1e-9);
    cr_expect_float_eq(tab_told_role(TAB_ROLE_ID, 0.7), 0.7, 1e-9);
    cr_expect_float_eq(tab_told_role(TAB_ROLE_CITY, 0.35), 0.4, 1e-9);
    cr_expect_float_eq(tab_told_role(TAB_ROLE_COUNT, 0.35), 0.35, 1e-9);
    cr_expect_float_eq(tab_told_role(TAB_ROLE_COUNT, 0.9), 0.83, 1e-9);
    cr_expect_float_eq(tab_told_role(TAB_ROLE_COUNT, 0.8), 0.8, 1e-9);
    cr_expect_float_eq(tab_told_role(TAB_ROLE_EMAIL, 0.99), 0.99, 1e-9);
    cr_expect_eq(tab_told_role(TAB_ROLE_CODE, 1), 1, "a caller gave it");
}

Test(names, end_as_families_do)
{
    static const char *const whole[] = { "Anna Jónsdóttir", "Ólafsson", "Արամ Պետրոսյան", "Պետրոսյան",
                                         "Leyla Hüseynzadə" };
    static const char *const none[] = { "lesson",
                                        "lesson 5",
                                        "Novák",
                                        "a jónsdóttir",
                                        "Jón, Ólafsson ehf. 4",
                                        "the life and works of Ólafsson" };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        cr_expect(tab_has_patronym(tab_str_of(whole[i])), "%s does", whole[i]);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_not(tab_has_patronym(tab_str_of(none[i])), "%s does not", none[i]);
    tab_staged c = { .features = { .values = 20, .patronyms = 0.9, .patronym_words = 0.9 } };
    float p[TAB_ROLES] = { 0 };
    p[TAB_ROLE_LABEL] = 0.9f;
    p[TAB_ROLE_NAME] = 0.1f;
    tab_hear_identity(&c, p);
    cr_expect(p[TAB_ROLE_NAME] > 0.9f, "%g", (double)p[TAB_ROLE_NAME]);
}

/* What reads as names or telephone numbers, and what only looks like them. */
enum { WAYBILLS, FAMILIES, PATIENTS, PLACES, FIRMS };

static int written;

static void named_thing(size_t k, size_t i, char *t, size_t n)
{
    static const char *const family[] = { "García", "López",  "Martínez", "Fernández",
                                          "Torres", "Romero", "Navarro" };
    static const char *const given[] = { "Maria", "Peter", "Anna", "Thomas", "Julia", "Robert", "Linda" };
    size_t serial = i * 73856 % 8999999 + 1000000, a = i * 5 % 7, b = (i * 3 + i / 7) % 7;
    if (k == 0)
        snprintf(t, n, "%c", (char)('A' + i % 5));
    else if (written == WAYBILLS) /* an airline, a serial number and its remainder by 7 */
        snprintf(t, n, "%s %zu %03zu%zu", i % 2 == 0 ? "020" : "157", serial / 1000, serial % 1000,
                 serial % 7);
    else if (written == FAMILIES)
        snprintf(t, n, "%s %s", family[a], family[b]);
    else if (written == PATIENTS)
        snprintf(t, n, "%s%zu %s%zu", given[a], i * 37 % 900 + 1, family[b], i * 53 % 900 + 1);
    else if (written == PLACES)
        snprintf(t, n, "Geo%zu", i * 37 % 101);
    else
        snprintf(t, n, "%s %s", family[a], i % 2 == 0 ? "GmbH" : "Ltd");
}

static const tab_column_profile *named_things(tab_arena *a, int of)
{
    written = of;
    return &profile_of(a, 2, named_thing)->col[1];
}

Test(names, are_told_by_what_stands_around_them)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 29);
    static const struct {
        int of;
        bool pii;
        const char *role; /* NULL: any */
    } cases[] = {
        { WAYBILLS, false, NULL }, { FAMILIES, true, "last_name" },  { PATIENTS, true, "name" },
        { PLACES, false, NULL },   { FIRMS, false, "organization" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tab_column_profile *c = named_things(a, cases[i].of);
        cr_expect_eq(c->pii, cases[i].pii, "%zu: %s, %g", i, tab_role_names[c->role], c->pii_confidence);
        if (cases[i].role != NULL)
            cr_expect_str_eq(tab_role_names[c->role], cases[i].role, "%zu", i);
    }
}

Test(names, have_numbers_behind_each_word)
{
    uint64_t lists[2];
    static const char *const none[] = { "Anna",  "Anna45 Silva",  "45 Anna",
                                        "A4 B5", "Anna45-Silva3", "Anna12345" };
    cr_expect_eq(tab_numbered_names(TAB_S("Anna45 Garcia310"), lists), 2);
    cr_expect(lists[0] >> TAB_LIST_FIRST_NAME & 1);
    cr_expect(lists[1] >> TAB_LIST_LAST_NAME & 1);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_eq(tab_numbered_names(tab_str_of(none[i]), lists), 0, "%s", none[i]);
}

/* Levels that end in one word; and names of one family that come as often. */
Test(names, differ_in_their_last_words)
{
    static tab_str scale[] = { TAB_S("Small Cap"), TAB_S("Large Cap"), TAB_S("Nano Cap") },
                   names[] = { TAB_S("Ada King"), TAB_S("Max Lane"), TAB_S("Eva Moss") };
    for (int persons = 0; persons < 2; persons++) {
        tab_reading r = { .level = persons ? names : scale, .levels = 3 };
        tab_staged c = { .reading = &r, .features = { .present = 90, .distinct = 3, .values = 3 } };
        float p[TAB_ROLES] = { 0 };
        p[TAB_ROLE_NAME] = 0.9f;
        p[TAB_ROLE_CATEGORY] = 0.1f;
        tab_doubt_forms(&c, p);
        cr_expect_eq(p[TAB_ROLE_NAME] > 0.5f, persons, "%g", (double)p[TAB_ROLE_NAME]);
    }
}

Test(births, are_before_all_other_dates_of_the_row)
{
    tab_reading r = { 0 };
    for (int later = 0; later < 2; later++) {
        tab_staged c = { .reading = &r, .relation = { [TAB_RELATION_ENDS] = (float)later } }, *all[] = { &c };
        c.p2[TAB_ROLE_BIRTH_DATE] = 0.8f;
        c.p2[TAB_ROLE_DATE] = 0.2f;
        tab_hear_births(all, 1);
        cr_expect_eq(c.p2[TAB_ROLE_BIRTH_DATE] < 0.1f, later, "%g", (double)c.p2[TAB_ROLE_BIRTH_DATE]);
        cr_expect_float_eq(c.p2[TAB_ROLE_BIRTH_DATE] + c.p2[TAB_ROLE_DATE], 1, 1e-6);
    }
}

Test(amounts, in_words_are_no_keys)
{
    static const char *const whole[] = { "<=50K", "> 50 kg", "≥ 1,000", "<$5", ">65" };
    static const char *const none[] = { "<a>", "< LOD", "50", "->5", "=5", ">", "" };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        cr_expect(tab_is_compared(tab_str_of(whole[i])), "%s is one", whole[i]);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect_not(tab_is_compared(tab_str_of(none[i])), "%s is none", none[i]);
    tab_column column = { .name = TAB_S("x") };
    tab_reading r = { .column = &column };
    for (int compared = 0; compared < 2; compared++) {
        tab_staged c = { .reading = &r, .features = { .present = 90, .distinct = 2, .compared = compared } };
        float p[TAB_ROLES] = { 0 };
        p[TAB_ROLE_ID] = 0.6f;
        p[TAB_ROLE_CATEGORY] = 0.4f;
        tab_restrict_roles(&c, p);
        cr_expect_eq(p[TAB_ROLE_ID] > 0, !compared, "%g", (double)p[TAB_ROLE_ID]);
    }
}
