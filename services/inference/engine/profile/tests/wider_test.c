/* What the profile promises beyond single columns: names say nothing, every script is read, hostile cells
 * end. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/profile/roles/stages.h"

static tab_profile *profile_of(tab_arena *a, tab_column *c, size_t cols, size_t rows)
{
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_engine *e = tab_arena_new_of(a, tab_engine, 1);
    tab_profile *p;
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = cols, .col = c };
    e->arena = a;
    cr_assert_eq(tab_profile_table(e, t, &p, NULL), TAB_OK);
    return p;
}

static void is_sound(const tab_profile *p, size_t cols, const char *what)
{
    double sum = 0;
    for (int s = 0; s < TAB_SECTORS; s++) {
        cr_expect(p->sector[s] >= 0 && p->sector[s] <= 1, "%s: sector %d %g", what, s, p->sector[s]);
        sum += p->sector[s];
    }
    cr_expect_float_eq(sum, 1, 1e-4, "%s: sectors sum to %g", what, sum);
    for (size_t k = 0; k < cols; k++) {
        const tab_column_profile *c = &p->col[k];
        cr_expect(c->role >= 0 && c->role < TAB_ROLES, "%s: role %d", what, c->role);
        cr_expect(c->role_confidence >= 0 && c->role_confidence <= 1, "%s: confidence %g", what,
                  c->role_confidence);
        cr_expect(c->pii_confidence >= 0 && c->pii_confidence <= 1, "%s: pii %g", what, c->pii_confidence);
        cr_expect_eq(c->type, tab_role_type(c->role, c->distinct, c->present), "%s: type", what);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

enum { ROWS = 120, COLS = 10 };

static void cell(size_t k, size_t i, char *t, size_t n)
{
    static const char *const towns[] = { "Berlin", "Lyon", "Porto", "Krak\xc3\xb3w", "Osaka" };
    static const char *const given[] = { "Ana", "Hans", "Jean", "John", "Maria", "Peter" };
    static const char *const family[] = { "Garcia", "M\xc3\xbcller", "Dupont", "Smith", "Rossi" };
    static const char *const states[] = { "shipped", "cancelled", "pending" };
    size_t r = (i * 2654435761u) % 9973;
    switch (k) {
    case 0:
        snprintf(t, n, "%zu", i + 1);
        break;
    case 1:
        snprintf(t, n, "%s %s", given[r % 6], family[r / 6 % 5]);
        break;
    case 2:
        snprintf(t, n, "%s.%zu@example.org", given[r % 6], r);
        break;
    case 3:
        snprintf(t, n, "20%02zu-%02zu-%02zu", 10 + r % 14, 1 + r % 12, 1 + r % 28);
        break;
    case 4:
        snprintf(t, n, "%zu", 1 + r % 9);
        break;
    case 5:
        snprintf(t, n, "%.2f", (double)(r % 5000) / 100);
        break;
    case 6:
        snprintf(t, n, "%.2f", (double)(1 + r % 9) * (double)(r % 5000) / 100);
        break;
    case 7:
        snprintf(t, n, "%s", states[r % 3]);
        break;
    case 8:
        snprintf(t, n, "%s", towns[r % 5]);
        break;
    default:
        snprintf(t, n, "%s", r % 2 == 0 ? "yes" : "no");
    }
}

static tab_profile *called(tab_arena *a, const char *const *names)
{
    tab_column *c = tab_arena_new_of(a, tab_column, COLS);
    for (size_t k = 0; k < COLS; k++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[k]));
        for (size_t i = 0; i < ROWS; i++) {
            char t[80];
            cell(k, i, t, sizeof t);
            if (k == 8 && i % 11 == 0)
                tab_builder_null(b);
            else
                tab_builder_text(b, tab_str_of(t));
        }
        cr_assert(tab_builder_finish(b, &c[k]));
    }
    return profile_of(a, c, COLS, ROWS);
}

Test(wider, names_of_any_kind_change_nothing)
{
    static const char *const ways[][COLS] = {
        { "id", "customer", "email", "ordered", "quantity", "price", "total", "status", "city", "paid" },
        { "", "", "", "", "", "", "", "", "", "" },
        { "x", "x", "x", "x", "x", "x", "x", "x", "x", "x" },
        { "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9" },
        /* names of other roles, and of other sectors */
        { "email", "iban", "latitude", "diagnosis", "ssn", "phone", "birth_date", "vin", "ticker",
          "password" },
        { "\xe5\x90\x8d\xe5\x89\x8d", "\xd0\xb8\xd0\xbc\xd1\x8f", "\xd7\xa9\xd7\x9d", " ", "\t", "a b", "\"",
          "\\", "\xf0\x9f\x98\x80", "null" },
    };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 29);
    tab_profile *first = called(a, ways[0]);
    for (size_t w = 1; w < sizeof ways / sizeof *ways; w++) {
        tab_profile *p = called(a, ways[w]);
        for (size_t k = 0; k < COLS; k++) {
            const tab_column_profile *x = &first->col[k], *y = &p->col[k];
            cr_expect_eq(x->role, y->role, "names %zu, column %zu", w, k);
            cr_expect_eq(x->role_confidence, y->role_confidence);
            cr_expect_eq(x->type, y->type);
            cr_expect_eq(x->type_confidence, y->type_confidence);
            cr_expect_eq(x->pii, y->pii);
            cr_expect_eq(x->pii_confidence, y->pii_confidence);
            cr_expect_eq(x->identifying, y->identifying);
            cr_expect_eq(x->missing, y->missing);
        }
        cr_expect_arr_eq(first->sector, p->sector, TAB_SECTORS * sizeof *p->sector);
    }
}

/* ---- scripts --------------------------------------------------------------------------------- */

static tab_profile *of_texts(tab_arena *a, const char *const *t, size_t n)
{
    tab_builder *b = tab_builder_new(a, TAB_S("x"));
    tab_column *c = tab_arena_new_of(a, tab_column, 1);
    for (size_t i = 0; i < n; i++)
        tab_builder_text(b, tab_str_of(t[i]));
    cr_assert(tab_builder_finish(b, c));
    return profile_of(a, c, 1, n);
}

/* Three letters of each stretch of Unicode, in columns of 64: no plane, surrogate gap, mark or joiner
 * upsets the readers. */
Test(wider, every_stretch_of_unicode_is_read)
{
    enum { STEP = 37, EACH = 64 };
    for (uint32_t from = 0x20; from < 0x110000;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
        tab_builder *b = tab_builder_new(a, TAB_S("x"));
        tab_column c;
        size_t rows = 0;
        uint32_t first = from;
        for (; rows < EACH && from < 0x110000; from += STEP) {
            char t[16];
            size_t n = 0;
            if (from >= 0xd7fd && from < 0xe000)
                continue;
            for (uint32_t k = 0; k < 3; k++)
                n += tab_utf8_put(from + k < 0x110000 ? from + k : 0x10fffd, t + n);
            tab_builder_text(b, (tab_str){ t, n });
            rows++;
        }
        if (rows == 0)
            continue;
        char what[16];
        snprintf(what, sizeof what, "U+%04X", first);
        cr_assert(tab_builder_finish(b, &c));
        tab_profile *p = profile_of(a, &c, 1, rows);
        is_sound(p, 1, what);
        cr_expect(first < 0x80 || p->col[0].type == TAB_TEXT || p->col[0].type == TAB_CATEGORICAL, "%s is %s",
                  what, tab_type_name(p->col[0].type));
    }
}

Test(wider, names_of_people_in_many_scripts_are_no_numbers_and_no_dates)
{
    static const char *const people[][4] = {
        { "\xd0\x98\xd0\xb2\xd0\xb0\xd0\xbd \xd0\x9f\xd0\xb5\xd1\x82\xd1\x80\xd0\xbe\xd0\xb2",
          "\xd0\x90\xd0\xbd\xd0\xbd\xd0\xb0 \xd0\xa1\xd0\xbc\xd0\xb8\xd1\x80\xd0\xbd\xd0\xbe\xd0\xb2\xd0\xb0",
          "\xd0\x9e\xd0\xbb\xd0\xb5\xd0\xb3 \xd0\x9a\xd0\xbe\xd0\xb7\xd0\xbb\xd0\xbe\xd0\xb2",
          "\xd0\x9d\xd0\xb8\xd0\xbd\xd0\xb0 "
          "\xd0\x9b\xd0\xb5\xd0\xb1\xd0\xb5\xd0\xb4\xd0\xb5\xd0\xb2\xd0\xb0" },
        { "\xe5\xb1\xb1\xe7\x94\xb0\xe5\xa4\xaa\xe9\x83\x8e",
          "\xe9\x88\xb4\xe6\x9c\xa8\xe8\x8a\xb1\xe5\xad\x90",
          "\xe4\xbd\x90\xe8\x97\xa4\xe4\xb8\x80\xe9\x83\x8e",
          "\xe7\x94\xb0\xe4\xb8\xad\xe6\xac\xa1\xe9\x83\x8e" },
        { "\xd9\x85\xd8\xad\xd9\x85\xd8\xaf \xd8\xb9\xd9\x84\xd9\x8a",
          "\xd9\x81\xd8\xa7\xd8\xb7\xd9\x85\xd8\xa9 \xd8\xad\xd8\xb3\xd9\x86",
          "\xd8\xa3\xd8\xad\xd9\x85\xd8\xaf \xd8\xb3\xd8\xb9\xd9\x8a\xd8\xaf",
          "\xd9\x85\xd8\xb1\xd9\x8a\xd9\x85 \xd8\xae\xd8\xa7\xd9\x84\xd8\xaf" },
        { "\xd7\x93\xd7\x95\xd7\x93 \xd7\x9b\xd7\x94\xd7\x9f",
          "\xd7\xa9\xd7\xa8\xd7\x94 \xd7\x9c\xd7\x95\xd7\x99",
          "\xd7\x9e\xd7\xa9\xd7\x94 \xd7\x9e\xd7\x96\xd7\xa8\xd7\x97\xd7\x99",
          "\xd7\xa8\xd7\x97\xd7\x9c \xd7\xa4\xd7\xa8\xd7\xa5" },
        { "\xe0\xa4\xb0\xe0\xa4\xbe\xe0\xa4\xae \xe0\xa4\xb6\xe0\xa4\xb0\xe0\xa5\x8d\xe0\xa4\xae\xe0\xa4\xbe",
          "\xe0\xa4\xb8\xe0\xa5\x80\xe0\xa4\xa4\xe0\xa4\xbe "
          "\xe0\xa4\xb5\xe0\xa4\xb0\xe0\xa5\x8d\xe0\xa4\xae\xe0\xa4\xbe",
          "\xe0\xa4\xae\xe0\xa5\x8b\xe0\xa4\xb9\xe0\xa4\xa8 \xe0\xa4\xb2\xe0\xa4\xbe\xe0\xa4\xb2",
          "\xe0\xa4\x97\xe0\xa5\x80\xe0\xa4\xa4\xe0\xa4\xbe "
          "\xe0\xa4\xa6\xe0\xa5\x87\xe0\xa4\xb5\xe0\xa5\x80" },
        { "\xea\xb9\x80\xeb\xaf\xbc\xec\x88\x98", "\xec\x9d\xb4\xec\x98\x81\xed\x9d\xac",
          "\xeb\xb0\x95\xec\xa7\x80\xed\x98\x84", "\xec\xb5\x9c\xec\x84\xb1\xed\x98\xb8" },
    };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 27);
    for (size_t i = 0; i < sizeof people / sizeof *people; i++) {
        tab_profile *p = of_texts(a, people[i], 4);
        is_sound(p, 1, people[i][0]);
        cr_expect(p->col[0].type == TAB_TEXT || p->col[0].type == TAB_CATEGORICAL, "%s is %s", people[i][0],
                  tab_type_name(p->col[0].type));
    }
}

/* What reaches a person is found without its usual marks: numbers to call as bare digits, a name in one
 * piece. */
Test(wider, telephone_numbers_and_names_in_one_piece_are_personal)
{
    enum { N = 150, KINDS = 6 };
    static const char *const family[] = { "\xe7\x8e\x8b", "\xe6\x9d\x8e", "\xe5\xbc\xa0",
                                          "\xe5\x88\x98", "\xe9\x99\x88", "\xe6\x9d\xa8" };
    static const char *const given[] = { "\xe4\xbc\x9f", "\xe8\x8a\xb3", "\xe5\xa8\x9c", "\xe6\x95\x8f",
                                         "\xe7\xa7\x80\xe8\x8b\xb1" };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 27);
    tab_column *c = tab_arena_new_of(a, tab_column, KINDS);
    uint64_t s = 11;
    for (size_t k = 0; k < KINDS; k++) {
        tab_builder *b = tab_builder_new(a, TAB_S("x"));
        for (uint32_t i = 0; i < N; i++) {
            char t[64];
            s = s * 6364136223846793005ULL + 1442695040888963407ULL;
            uint32_t r = (uint32_t)(s >> 33);
            if (k == 0)
                snprintf(t, sizeof t, "06%08u", r % 100000000);
            else if (k == 1)
                snprintf(t, sizeof t, "1%u%09u", 3 + r % 2 * 5, r / 2 % 1000000000u);
            else if (k == 2)
                snprintf(t, sizeof t, "2%u3%u%06u", r % 9, 2 + r / 9 % 8, r / 72 % 1000000);
            else if (k == 3)
                snprintf(t, sizeof t, "0151 %07u", r % 10000000);
            else if (k == 4) /* keys */
                snprintf(t, sizeof t, "%u", 300000 + 13 * i);
            else
                snprintf(t, sizeof t, "%s%s", family[r % 6], given[r / 6 % 5]);
            tab_builder_text(b, tab_str_of(t));
        }
        cr_assert(tab_builder_finish(b, &c[k]));
    }
    tab_profile *p = profile_of(a, c, KINDS, N);
    for (size_t k = 0; k < 4; k++) {
        cr_expect_eq(p->col[k].role, TAB_ROLE_PHONE, "%zu is %s", k, tab_role_names[p->col[k].role]);
        cr_expect(p->col[k].pii, "%zu", k);
    }
    cr_expect_not(p->col[4].pii, "%s", tab_role_names[p->col[4].role]);
    cr_expect(p->col[5].pii, "%s", tab_role_names[p->col[5].role]);
}

/* One letter with a mark, or a letter and its mark: the same text to a reader. */
Test(wider, composed_and_decomposed_letters_are_one)
{
    static const char *const composed[] = { "Jos\xc3\xa9", "Ren\xc3\xa9", "Zo\xc3\xab", "Andr\xc3\xa9" };
    static const char *const marked[] = { "Jose\xcc\x81", "Rene\xcc\x81", "Zoe\xcc\x88", "Andre\xcc\x81" };
    for (size_t i = 0; i < 4; i++) {
        char x[32], y[32];
        cr_expect(tab_str_eq(tab_fold(tab_str_of(composed[i]), x, sizeof x),
                             tab_fold(tab_str_of(marked[i]), y, sizeof y)),
                  "%s", composed[i]);
    }
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
    tab_profile *p = of_texts(a, composed, 4), *q = of_texts(a, marked, 4);
    cr_expect_eq(p->col[0].role, q->col[0].role);
    cr_expect_eq(p->col[0].type, q->col[0].type);
}

/* ---- hostile cells --------------------------------------------------------------------------- */

/* Long repetitions of what patterns look for. A reader that goes back over what it has read would not end
 * here within the test's limit. */
Test(wider, long_repetitions_end, .timeout = 1800)
{
    static const char *const parts[] = {
        "a.",       "1-",       "(",
        "{\"a\":",  "[[",       "::",
        "%",        "\\",       "1,",
        "1,234,",   "e",        "1e",
        "@",        "a@",       "/",
        "http://",  " ",        "\t",
        "-",        "+1 (",     "0x",
        "12:",      "P1Y",      "T",
        "\"",       "'",        ";",
        "|",        "a b ",     "St 1 ",
        "\xff",     "\xc2",     "\xe2\x80\x8b",
        "\xcc\x81", "\xd9\x85", "\xf0\x9f\x98\x80",
    };
    enum { BYTES = 1 << 18, COPIES = 4 };
    char *t = malloc(BYTES + 16);
    cr_assert_not_null(t);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
        tab_builder *b = tab_builder_new(a, TAB_S("x"));
        tab_column c;
        size_t n = 0, m = strlen(parts[i]);
        while (n + m <= BYTES) {
            memcpy(t + n, parts[i], m);
            n += m;
        }
        for (size_t k = 0; k < COPIES; k++) /* four lengths, from a few bytes on */
            tab_builder_text(b, (tab_str){ t, n >> (6 * k) });
        cr_assert(tab_builder_finish(b, &c));
        is_sound(profile_of(a, &c, 1, COPIES), 1, parts[i]);
    }
    free(t);
}
