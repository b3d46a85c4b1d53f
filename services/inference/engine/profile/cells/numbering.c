/* See numbering.h. Sources: ITU-T E.164 and its list of country codes; national plans as their regulators
 * publish them. Only countries whose numbers people write with many digits are listed. */
#include "services/inference/engine/profile/cells/numbering.h"

#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/cells/checksum.h"

/* ITU-T E.164 country codes with the first digits of what people there carry about, and the length of the
 * whole. A `?` is any digit. */
static const struct {
    const char *head;
    uint8_t least, most;
} abroad[] = {
    { "1", 11, 11 },    { "201", 12, 12 },  { "212", 12, 12 },  { "234", 13, 13 },   { "233", 12, 12 },
    { "254", 12, 12 },  { "255", 12, 12 },  { "256", 12, 12 },  { "27", 11, 11 },    { "30", 12, 12 },
    { "316", 11, 11 },  { "324", 11, 11 },  { "33", 11, 11 },   { "346", 11, 11 },   { "347", 11, 11 },
    { "349", 11, 11 },  { "3519", 12, 12 }, { "3538", 12, 12 }, { "35840", 11, 13 }, { "35850", 11, 13 },
    { "38", 12, 12 },   { "393", 12, 12 },  { "407", 11, 11 },  { "417", 11, 11 },   { "420", 12, 12 },
    { "436", 11, 13 },  { "44", 12, 12 },   { "454", 10, 10 },  { "467", 11, 11 },   { "474", 10, 10 },
    { "479", 10, 10 },  { "48", 11, 11 },   { "4915", 12, 13 }, { "4916", 12, 13 },  { "4917", 12, 13 },
    { "52", 12, 13 },   { "519", 11, 11 },  { "549", 13, 13 },  { "55", 12, 13 },    { "569", 11, 11 },
    { "573", 12, 12 },  { "601", 11, 12 },  { "614", 11, 11 },  { "628", 11, 14 },   { "639", 12, 12 },
    { "642", 10, 12 },  { "65", 10, 10 },   { "66", 11, 11 },   { "7", 11, 11 },     { "89", 11, 11 },
    { "81?0", 12, 12 }, { "8210", 12, 12 }, { "84", 11, 11 },   { "8613", 13, 13 },  { "8615", 13, 13 },
    { "8617", 13, 13 }, { "8618", 13, 13 }, { "8619", 13, 13 }, { "880", 13, 13 },   { "905", 12, 12 },
    { "91", 12, 12 },   { "923", 12, 12 },  { "94", 11, 11 },   { "9665", 12, 12 },  { "9715", 12, 12 },
    { "972", 12, 12 },  { "989", 12, 12 },
};

/* Whether s begins with head. */
static bool heads(tab_str s, const char *head)
{
    for (size_t i = 0; head[i] != 0; i++)
        if (head[i] != '?' && head[i] != s.p[i])
            return false;
    return true;
}

/* The North American Numbering Plan: area and exchange begin with 2 to 9 and are no N11; areas N9X, 37X
 * and 96X are kept back. */
static bool north_america(tab_str s)
{
    const char *p = s.p + (s.n == 11);
    if (s.n != 10 && !(s.n == 11 && s.p[0] == '1'))
        return false;
    bool area = p[0] >= '2' && p[1] != '9' && !(p[1] == '1' && p[2] == '1') &&
                !(p[0] == '3' && p[1] == '7') && !(p[0] == '9' && p[1] == '6');
    return area && p[3] >= '2' && !(p[4] == '1' && p[5] == '1');
}

/* Digits are collected first, so that a number is judged alike in any grouping. */
uint64_t tab_numbering_plans(tab_str text)
{
    uint64_t r = 0;
    char digits[16];
    tab_str s = { digits, 0 };
#define SET(e, test) r |= (test) ? UINT64_C(1) << TAB_CHECK_##e : 0
    for (size_t i = 0; i < text.n; i++) {
        if (digit(text.p[i]) && s.n < sizeof digits)
            digits[s.n++] = text.p[i];
        else if (digit(text.p[i]) || memchr(" -().+/", text.p[i], 7) == NULL)
            return 0;
    }
    if (s.n < 9)
        return 0;
    SET(PHONE_NANP, north_america(s));
    SET(PHONE_MOBILE, (s.n == 11 && s.p[0] == '1' && s.p[1] >= '3') || /* China */
                          (s.n == 10 && s.p[0] >= '6'));               /* India */
    SET(PHONE_TRUNK, s.n <= 12 && s.p[0] == '0' && s.p[1] != '0');
    tab_str number = s.p[0] == '0' && s.p[1] == '0' ? (tab_str){ s.p + 2, s.n - 2 } : s;
    bool known = false;
    for (size_t i = 0; !known && i < sizeof abroad / sizeof *abroad; i++)
        known = abroad[i].head[0] == number.p[0] && number.n >= abroad[i].least &&
                number.n <= abroad[i].most && heads(number, abroad[i].head);
    SET(PHONE_ABROAD, known);
    return r;
#undef SET
}
