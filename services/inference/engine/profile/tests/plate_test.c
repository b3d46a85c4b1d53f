/* Registration plates: what their countries give out, and codes that look alike. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/inference/engine/profile/cells/plate.h"

Test(plate, knows_what_countries_give_out)
{
    static const char *const right[][2] = {
        { "AT", "W 12345A" },   { "BE", "1-ABC-123" },     { "BG", "CA 1234 BP" }, { "CH", "ZH 123456" },
        { "CZ", "1A2 3456" },   { "DE", "KA-AB 1234" },    { "DE", "LÖ X 12" },    { "DK", "AB 12 345" },
        { "FR", "AB-123-CD" },  { "GB", "AB12 CDE" },      { "GR", "ABE-1234" },   { "HR", "ZG 1234-AB" },
        { "IE", "191-D-1234" }, { "IN", "MH 12 AB 1234" }, { "IT", "AB 123 CD" },  { "NL", "12-BDF-3" },
        { "NO", "AB 12345" },   { "PL", "WA 12345" },      { "PT", "12-AB-34" },   { "RO", "CJ 12 ABC" },
        { "SE", "ABC 12D" },    { "SI", "LJ AB-123" },     { "SK", "BA 123 AB" },  { "TR", "34 ABC 123" },
        { "CN", "京A12345" },   { "KR", "12가 3456" },
    };
    static const char *const wrong[][2] = {
        { "DE", "QX-AB 123" }, { "DE", "KAAB1234" }, { "FR", "AI-123-CD" },     { "GB", "AB45 CDE" },
        { "GB", "AB12 CQE" },  { "NL", "12-ABC-3" }, { "IN", "XX 12 AB 1234" }, { "TR", "99 ABC 123" },
        { "PT", "1234 AB" },   { "PL", "AA 12345" }, { "IT", "ab 123 cd" },     { "CH", "" },
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        cr_expect(tab_plate_is(right[i][0], tab_str_of(right[i][1])), "%s is of %s", right[i][1],
                  right[i][0]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_not(tab_plate_is(wrong[i][0], tab_str_of(wrong[i][1])), "%s is not of %s", wrong[i][1],
                      wrong[i][0]);
}

/* Forty values, made by a form: a letter of `letters` for a, a digit for 9. */
static double weight(const char *form, const char *letters)
{
    tab_plates t = { 0 };
    uint32_t draw = 7;
    for (int i = 0; i < 40; i++) {
        char s[32];
        size_t n = strlen(form);
        for (size_t k = 0; k < n; k++) {
            draw = draw * 1664525u + 1013904223u;
            uint32_t r = draw >> 16;
            s[k] = form[k] == 'a'   ? letters[r % strlen(letters)]
                   : form[k] == '9' ? (char)('0' + r % 10)
                                    : form[k];
        }
        tab_plates_show(&t, (tab_str){ s, n });
    }
    return tab_plates_weigh(&t);
}

Test(plate, weighs_letters_that_a_country_refuses)
{
    static const char consonants[] = "BDFGHJKLNPRSTVXZ", all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    cr_expect_gt(weight("99-aaa-9", consonants), 5, "the Netherlands give out no vowels");
    cr_expect_eq(weight("99-aaa-9", all), 0, "a code of all letters");
    cr_expect_eq(weight("99-BDF-9", "A"), 0, "one run of letters proves nothing");
    cr_expect_eq(weight("99-aaa-9", "BDFGH"), 0, "nor does a short alphabet");
    cr_expect_gt(weight("aa-999-aa", all), 3, "a form that hardly another scheme has");
    cr_expect_eq(weight("9999 aa", all), 0, "postal codes of the Netherlands");
    cr_expect_eq(weight("aaa999", all), 0, "codes without marks");
    cr_expect_eq(weight("999999", "A"), 0, "digits");
}
