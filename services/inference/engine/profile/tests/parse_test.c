#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/cells/parse.h"

Test(number, is_read_through_its_affixes)
{
    static const struct {
        const char *text;
        char decimal;
        double want;
        tab_affix affix;
    } cases[] = {
        { "0", '.', 0, TAB_AFFIX_NONE },
        { "$1,200.50", '.', 1200.5, TAB_AFFIX_CURRENCY },
        { "-$5", '.', -5, TAB_AFFIX_CURRENCY },
        { "$-5", '.', -5, TAB_AFFIX_CURRENCY },
        { "(1,234.5)", '.', -1234.5, TAB_AFFIX_NONE },
        { "45 %", '.', 45, TAB_AFFIX_PERCENT },
        { "4.5%", '.', 4.5, TAB_AFFIX_PERCENT },
        { "18.3k", '.', 18300, TAB_AFFIX_SCALE },
        { "$1.2M", '.', 1.2e6, TAB_AFFIX_CURRENCY },
        { "2.5 million", '.', 2.5e6, TAB_AFFIX_SCALE },
        { "1598 CC", '.', 1598, TAB_AFFIX_UNIT },
        { "12.5kg", '.', 12.5, TAB_AFFIX_UNIT },
        { "1.234,56 \xe2\x82\xac", ',', 1234.56, TAB_AFFIX_CURRENCY },
        { "1 234,5", ',', 1234.5, TAB_AFFIX_NONE },
        { "1\xe2\x80\xaf"
          "234\xc2\xa0"
          "567",
          '.', 0, TAB_AFFIXES }, /* two kinds of blank are one mark */
        { "12,34,567", '.', 1234567, TAB_AFFIX_NONE },
        { "1'000.25", '.', 1000.25, TAB_AFFIX_NONE },
        { "-1e-3", '.', -0.001, TAB_AFFIX_NONE },
        { ".5", '.', 0.5, TAB_AFFIX_NONE },
        { "3rd", '.', 3, TAB_AFFIX_ORDINAL },
        { "<0.05", '.', 0.05, TAB_AFFIX_NONE },
        { "USD 12", '.', 12, TAB_AFFIX_CURRENCY },
        { "12 EUR", '.', 12, TAB_AFFIX_CURRENCY },
        { "0.1", '.', 0.1, TAB_AFFIX_NONE },
        { "123456789012345678901234567890", '.', 123456789012345678901234567890.0, TAB_AFFIX_NONE },
        { "2.2250738585072011e-308", '.', 2.2250738585072011e-308, TAB_AFFIX_NONE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_number x = { .value = (double)NAN };
        bool ok = tab_parse_number(tab_str_of(cases[i].text), cases[i].decimal, &x);
        if (cases[i].affix == TAB_AFFIXES)
            continue;
        cr_expect(ok && x.value == cases[i].want, "%s: got %.17g", cases[i].text, x.value);
        cr_expect_eq(x.affix, cases[i].affix, "%s: affix %d", cases[i].text, (int)x.affix);
    }
}

Test(number, is_not_a_code_a_date_or_a_word)
{
    static const char *const cases[] = { "",      "-",     "A12", "12A",  "1-2", "1,23",   "1,2345",
                                         "1.2.3", "12:30", "e5",  "0x1F", "1e",  "--5",    "5 Main Street 12",
                                         "nan",   "inf",   "$",   "(",    "()",  "1,,234", "00,123",
                                         "12 b 3" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_number x;
        cr_expect_not(tab_parse_number(tab_str_of(cases[i]), '.', &x), "%s", cases[i]);
    }
}

Test(date, is_read_in_the_layouts_people_use)
{
    static const struct {
        const char *text;
        tab_date_order order;
        int y, m, d, clock; /* clock: seconds */
    } cases[] = {
        { "2019-05-31", 0, 2019, 5, 31, 0 },
        { "2019/5/31", 0, 2019, 5, 31, 0 },
        { "31.05.2019", TAB_ORDER_DMY, 2019, 5, 31, 0 },
        { "5/6/2019", TAB_ORDER_MDY, 2019, 5, 6, 0 },
        { "5/6/2019", TAB_ORDER_DMY, 2019, 6, 5, 0 },
        { "31/5/19", TAB_ORDER_MDY, 2019, 5, 31, 0 },
        { "5-6-70", TAB_ORDER_MDY, 1970, 5, 6, 0 },
        { "31 May 2019", 0, 2019, 5, 31, 0 },
        { "31-May-19", 0, 2019, 5, 31, 0 },
        { "31. Mai 2019", 0, 2019, 5, 31, 0 },
        { "31 de mayo de 2019", 0, 2019, 5, 31, 0 },
        { "1er juillet 2019", 0, 2019, 7, 1, 0 },
        { "May 31, 2019", 0, 2019, 5, 31, 0 },
        { "May 31st, 2019", 0, 2019, 5, 31, 0 },
        { "Friday, May 31, 2019", 0, 2019, 5, 31, 0 },
        { "Fri 31 May 2019 10:20:30 GMT", 0, 2019, 5, 31, 37230 },
        { "Fri May 31 10:20:30 2019", 0, 2019, 5, 31, 37230 },
        { "2019-05-31T10:20:30Z", 0, 2019, 5, 31, 37230 },
        { "2019-05-31T10:20:30.5+02:00", 0, 2019, 5, 31, 30030 },
        { "2019-05-31 10:20", 0, 2019, 5, 31, 37200 },
        { "2019-05-31 00:00:00", 0, 2019, 5, 31, 0 },
        { "31/May/2019:10:20:30 +0000", 0, 2019, 5, 31, 37230 },
        { "5/31/2019 1:05 PM", TAB_ORDER_MDY, 2019, 5, 31, 47100 },
        { "5/31/2019 12:05 AM", TAB_ORDER_MDY, 2019, 5, 31, 300 },
        { "20190531", 0, 2019, 5, 31, 0 },
        { "20190531102030", 0, 2019, 5, 31, 37230 },
        { "2019\xe5\xb9\xb4"
          "5\xe6\x9c\x88"
          "31\xe6\x97\xa5",
          0, 2019, 5, 31, 0 },
        { "31 \xd0\xbc\xd0\xb0\xd1\x8f 2019", 0, 2019, 5, 31, 0 },
        { "2019-05", 0, 2019, 5, 1, 0 },
        { "May 2019", 0, 2019, 5, 1, 0 },
        { "2019-Q3", 0, 2019, 7, 1, 0 },
        { "1998 Q4", 0, 1998, 10, 1, 0 },
        { "Q2 2019", 0, 2019, 4, 1, 0 },
        { "2019W05", 0, 2019, 1, 28, 0 },
        { "2018/19", 0, 2018, 7, 1, 0 },
        { "2000-02-29", 0, 2000, 2, 29, 0 },
        { "dimanche 1 d\xc3\xa9"
          "cembre 2024",
          0, 2024, 12, 1, 0 },
        { "1.12.2024 klo 2.09", TAB_ORDER_DMY, 2024, 12, 1, 7740 },
        /* as forms, browsers, Java, logs, databases and spreadsheets write them */
        { "2019/05/31 1:05:00 PM GMT+2", 0, 2019, 5, 31, 39900 },
        { "2019/05/31 1:05:00 PM GMT+5:30", 0, 2019, 5, 31, 27300 },
        { "Fri May 31 2019 10:20:30 GMT+0200 (Central European Summer Time)", 0, 2019, 5, 31, 30030 },
        { "2019-05-31 10:20:30+02:00[Europe/Berlin]", 0, 2019, 5, 31, 30030 },
        { "2019-05-31 10:20:30 America/New_York", 0, 2019, 5, 31, 37230 },
        { "20190531T102030Z", 0, 2019, 5, 31, 37230 },
        { "20190531T1020+02", 0, 2019, 5, 31, 30000 },
        { "2019-05-31-10.20.30", 0, 2019, 5, 31, 37230 },
        { "[31/May/2019:10:20:30 +0000]", 0, 2019, 5, 31, 37230 },
        { "31.05.19 10:20 Uhr", TAB_ORDER_DMY, 2019, 5, 31, 37200 },
        { "31/05/2019 10h20", 0, 2019, 5, 31, 37200 },
        { "31/05/2019 01:05:00 p. m.", 0, 2019, 5, 31, 47100 },
        { "2019-W05-3", 0, 2019, 1, 30, 0 },
        { "2019M11", 0, 2019, 11, 1, 0 },
        { "Dec '24", 0, 2024, 12, 1, 0 },
        { "2019\xe5\xb9\xb4"
          "5\xe6\x9c\x88"
          "31\xe6\x97\xa5 10\xe6\x99\x82"
          "20\xe5\x88\x86",
          0, 2019, 5, 31, 37200 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_date d = { .seconds = (double)NAN };
        bool ok = tab_parse_date(tab_str_of(cases[i].text), cases[i].order, &d);
        double want =
            (double)tab_days_from_civil(cases[i].y, cases[i].m, cases[i].d) * 86400 + cases[i].clock;
        /* a zone: the case's clock is in UTC */
        if (ok && strchr(cases[i].text, '.') != NULL && strchr(cases[i].text, 'T') != NULL)
            want += 0.5;
        cr_expect(ok && d.seconds == want, "%s: got %.1f, want %.1f", cases[i].text, d.seconds, want);
    }
}

Test(date, is_not_a_number_a_version_or_an_impossible_day)
{
    static const char *const cases[] = { "2019",
                                         "1.5",
                                         "1.2.3",
                                         "2019-13-01",
                                         "31/31/2019",
                                         "2019-02-29",
                                         "12-345",
                                         "555-1234",
                                         "99999999",
                                         "May",
                                         "10:20",
                                         "192.168.1.1",
                                         "2019-05-31x",
                                         "1900-02-29",
                                         "2019.5",
                                         "A 5 2019",
                                         "12345678",
                                         "2019M13",
                                         "2019-W05-8",
                                         "2019-336",
                                         "[31/31/2019 1:00]",
                                         "20191331T102030Z",
                                         "20190531T1020x",
                                         "2019-05-31 (sold out)x",
                                         "31/05/2019 13:00 pm" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_date d;
        cr_expect_not(tab_parse_date(tab_str_of(cases[i]), TAB_ORDER_MDY, &d), "%s", cases[i]);
    }
}

Test(date, civil_days_return)
{
    for (int64_t day = -800000; day < 800000; day += 37) {
        int y, m, d;
        tab_civil_from_days(day, &y, &m, &d);
        cr_assert_eq(tab_days_from_civil(y, m, d), day);
    }
}

Test(duration, and_clock)
{
    static const struct {
        const char *text;
        double clock, duration; /* -1: not one */
    } cases[] = {
        { "2:31:29", 9089, 9089 }, { "26:00", -1, 93600 },  { "9:30 PM", 77400, -1 },
        { "1h 30m", -1, 5400 },    { "PT1H30M", -1, 5400 }, { "2 days 01:00:00", -1, 176400 },
        { "90 min", -1, 5400 },    { "21h30", 77400, -1 },  { "12:00 am", 0, -1 },
        { "9:60", -1, -1 },        { "1:2", -1, -1 },       { "P", -1, -1 },
        { "PT", -1, -1 },          { "5", -1, -1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double c = -1, d = -1;
        if (!tab_parse_clock(tab_str_of(cases[i].text), &c))
            c = -1;
        if (!tab_parse_duration(tab_str_of(cases[i].text), &d))
            d = -1;
        cr_expect_eq(c, cases[i].clock, "%s: clock %g", cases[i].text, c);
        cr_expect_eq(d, cases[i].duration, "%s: duration %g", cases[i].text, d);
    }
}

Test(boolean, pairs_meet)
{
    bool a, b;
    cr_expect((tab_parse_bool(TAB_S("S\xc3\xad"), &a) & tab_parse_bool(TAB_S("no"), &b)) != 0 && a && !b);
    cr_expect((tab_parse_bool(TAB_S("Ναι"), &a) & tab_parse_bool(TAB_S("Όχι"), &b)) != 0 && a && !b);
    cr_expect((tab_parse_bool(TAB_S("yes"), &a) & tab_parse_bool(TAB_S("0"), &b)) == 0);
    cr_expect(tab_parse_bool(TAB_S("male"), &a) == 0);
}

Test(text, folds_case_width_and_accents_of_any_script)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "  S\xc3\xa3o  Paulo ", "sao paulo" },
        { "Stra\xc3\x9f"
          "e",
          "strasse" },
        { "\xef\xbc\xa1\xef\xbc\xa2"
          "1",
          "ab1" },
        { "\xd0\x9c\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0",
          "\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0" },
        { "e\xcc\x81", "e" },
        { "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buf[64];
        tab_str f = tab_fold(tab_str_of(cases[i].text), buf, sizeof buf);
        cr_expect(tab_str_eq(f, tab_str_of(cases[i].want)), "%s: %.*s", cases[i].text, TAB_STR(f));
    }
}
