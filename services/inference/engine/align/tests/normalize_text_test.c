#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/align/align.h"
#include "services/inference/engine/align/text/nicknames.h"
#include "services/inference/engine/align/text/normalize_text.h"

Test(text, has_one_normal_form_for_what_people_write_differently)
{
    static const struct {
        const char *a, *b;
    } same[] = {
        { "Café  O'Brien", "cafe\xcc\x81 OBRIEN" }, /* precomposed, combining; apostrophe */
        { "Müller Straße", "MULLER STRASSE" },      /* case folding of sharp s */
        { "ﬁnance", "finance" },                    /* ligature, NFKC */
        { "１２３", "123" },                        /* full-width digits */
        { "№ 007", "No 7" },                        /* compatibility sign, padding */
        { "H&#252;seyin &amp; Co", "Hüseyin Co" },  /* character references */
        { "مُحَمَّد", "محمد" },                         /* Arabic points */
        { "שָׁלוֹם", "שלום" },                         /* Hebrew points */
        { "ΟΔΟΣ", "οδοσ" },                         /* final sigma */
        { "Łódź", "lodz" },
        { "Щукин Пётр", "Shchukin Petr" },  /* Cyrillic, with a letter that is two */
        { "Παπαδόπουλος", "Papadopoulos" }, /* Greek, with a letter that is another behind o */
        { "\u202aabc\u202c", "abc" },       /* direction marks */
        { "Rocky II", "ROCKY 2" },
        { "Louis XIV.", "Louis 14" },
        { "First Avenue", "1st Avenue" },
        { "Cola 0,5 l", "COLA 500ml" },
        { "Wine 75cl", "Wine 0.75 Liter" },
        { "Flour 1.5 kg", "flour 1500 g." },
        { "Rice 1.250 kg", "Rice 1.250 g" }, /* of kilograms thousandths, of grams thousands */
        { "Ibuprofen 0.5 g", "Ibuprofen 500mg" },
        { "Water 6 x 1,5 L", "Water 6x1500ml" },
        { "Screw M10X20", "Screw M10 x 20" },
        { "Tile 10×20", "Tile 10 x 20" },
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        char a[TAB_NORMAL_MAX], b[TAB_NORMAL_MAX];
        size_t n = tab_text_normal(tab_str_of(same[i].a), a), m = tab_text_normal(tab_str_of(same[i].b), b);
        cr_expect(n > 0 && n == m && memcmp(a, b, n) == 0, "%s and %s: %.*s, %.*s", same[i].a, same[i].b,
                  (int)n, a, (int)m, b);
    }
}

Test(text, keeps_apart_what_only_looks_alike)
{
    static const struct {
        const char *raw, *normal;
    } as[] = {
        { "Xi Jinping", "xi jinping" },
        { "III Corps", "iii corps" },
        { "Malcolm X", "malcolm x" },
        { "1,2,5 lb", "1 2 5 lb" },
        { "0.0001 gm", "0 1 gm" },
        { "5 lights", "5 lights" },
        { "0 ml", "0 ml" },
        { "20 mm", "20 mm" },
        { "1080x", "1080x" },
        { "serial5x8k", "serial5x8k" },
        { "0x1f", "0x1f" },
        { "12345678 ml", "12345678 ml" },
        { "5 l\u00e9", "5 le" },
        { "Salix\u00d7alba", "salix alba" },
    };
    for (size_t i = 0; i < sizeof as / sizeof *as; i++) {
        char out[TAB_NORMAL_MAX];
        size_t n = tab_text_normal(tab_str_of(as[i].raw), out);
        cr_expect(n == strlen(as[i].normal) && memcmp(out, as[i].normal, n) == 0, "%s: %.*s", as[i].raw,
                  (int)n, out);
    }
}

Test(text, keeps_vowel_signs_that_carry_meaning)
{
    char a[TAB_NORMAL_MAX], b[TAB_NORMAL_MAX];
    size_t n = tab_text_normal(tab_str_of("कि"), a), m = tab_text_normal(tab_str_of("का"), b);
    cr_expect(n != m || memcmp(a, b, n) != 0);
}

Test(text, survives_any_bytes_and_any_length)
{
    char bytes[4096], out[TAB_NORMAL_MAX];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 37 % 256);
    for (size_t n = 0; n < sizeof bytes; n += 13)
        cr_assert_leq(tab_text_normal((tab_str){ bytes, n }, out), (size_t)TAB_NORMAL_MAX);
}

static void count(void *ctx, tab_str token)
{
    cr_assert_gt(token.n, 0);
    ++*(size_t *)ctx;
}

Test(text, cuts_scripts_without_spaces_into_pairs)
{
    size_t n = 0;
    tab_text_tokens(TAB_S("東京都庁"), count, &n);
    cr_expect_eq(n, 3);
    n = 0;
    tab_text_joined(TAB_S("Panasonic KX-TS620B black"), count, &n);
    cr_expect_eq(n, 1);
}

Test(number, reads_affixes_separators_and_clocks)
{
    static const struct {
        const char *text;
        char decimal;
        double want; /* NaN: none */
    } cases[] = {
        { "$1,200.50", '.', 1200.5 },
        { "1.200,50 €", ',', 1200.5 },
        { "45 %", '.', 45 },
        { "48°30'36\"N", '.', 48.51 },
        { "W 3° 30.75′", '.', -3.5125 },
        { "12° 30' 0.0'' S", '.', -12.5 },
        { "25°", '.', NAN },
        { "48°61'N", '.', NAN },
        { "48'30°N", '.', NAN },
        { "1.2e3", '.', 1200 },
        { "3:18", '.', 198 },
        { "3m 18sec", '.', 198 },
        { "-7", '.', -7 },
        { "12,3", '.', (double)NAN },
        { "abc", '.', (double)NAN },
        { "1-2", '.', (double)NAN },
        { "", '.', (double)NAN },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x = (double)NAN;
        bool ok = tab_read_number(tab_str_of(cases[i].text), cases[i].decimal, &x);
        cr_expect_eq(ok, !isnan(cases[i].want), "%s", cases[i].text);
        if (ok)
            cr_expect_float_eq(x, cases[i].want, 1e-9, "%s: %g", cases[i].text, x);
    }
}

Test(nicknames, short_forms_are_their_names_and_no_others)
{
    static const struct {
        const char *a, *b;
        bool alike;
    } cases[] = { { "robert", "bob", true },     { "peggy", "margaret", true }, { "alex", "alexandra", true },
                  { "alex", "alexander", true }, { "bill", "robert", false },   { "bob", "x", false },
                  { "bert", "albert", true },    { "zzz", "zzz", false },       { "", "bob", false } };
    tab_nicknames *n = tab_nicknames_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(tab_nicknames_alike(tab_nicknames_find(n, tab_str_of(cases[i].a)),
                                         tab_nicknames_find(n, tab_str_of(cases[i].b))),
                     cases[i].alike, "%s %s", cases[i].a, cases[i].b);
    tab_nicknames_free(n);
}

Test(assign, takes_the_best_total_not_the_best_first)
{
    /* greedy takes 0.9 and is left with 0.5 (log-odds 2.2 + 0); the best total is 0.85 + 0.85 (3.5) */
    const float p[] = { 0.9f, 0.85f, 0.85f, 0.5f };
    uint32_t match[2];
    cr_assert_eq(tab_align_assign(2, 2, p, 0.3f, match, NULL), TAB_OK);
    cr_expect_eq(match[0], 1);
    cr_expect_eq(match[1], 0);
}
