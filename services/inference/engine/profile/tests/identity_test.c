/* Numbers of persons and companies: each family knows a number of its own, chance passes none off as one, and
 * a column of them is personal data whatever the country. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/cells/identity.h"
#include "services/inference/engine/profile/profile.h"

/* Specimens that offices publish, and numbers that were made and hold by another implementation. */
/* clang-format off */
static const struct {
    const char *family, *number;
} numbers[] = {
    { "AR CUIT", "20-26756539-3" }, { "AT VSNR", "9074191154" }, { "AU TFN", "594461092" },
    { "AU ABN", "32953572679" }, { "AU MEDIC", "2123456701" }, { "BE NN", "87041580716" },
    { "BE TVA", "0403.019.261" }, { "BG EGN", "6205084229" }, { "BR CPF", "44129300768" },
    { "BR CNPJ", "61395075985339" }, { "CA SIN", "442651584" }, { "CH AHV", "7564826071598" },
    { "CH UID", "CHE150475512" }, { "CL RUT 9", "449283236" }, { "CL RUT 8", "85095935" },
    { "CN ID", "11010519491231002X" }, { "CN USCC", "91110000600037341L" },
    { "CO NIT", "213.123.432-1" },
    { "CZ RC", "736028/5163" }, { "CZ ICO", "87705141" }, { "DE IDNR", "73385043698" },
    { "DE UST", "673229917" }, { "DE KVNR", "A123456780" }, { "DK CPR", "0203986025" },
    { "DK CVR", "47365155" }, { "DO CEDULA", "91765065478" }, { "EC CI", "0425789625" },
    { "EE IK", "37605030299" }, { "EE KMKR", "250311468" }, { "ES CIF", "R71826614" },
    { "FI HETU", "131052-308T" }, { "FI YT", "90986378" }, { "FR SIREN", "047175708" },
    { "FR SIRET", "73282932000074" }, { "GB NHS", "3267527686" }, { "GB UTR", "7069147923" },
    { "GB VAT", "980780684" }, { "GB DRIVER", "MORGA753116SM9IJ" }, { "GR AFM", "481805373" },
    { "GR AMKA", "05098883142" }, { "HK ID", "A1234563" }, { "HR OIB", "04179888267" },
    { "HU ADO", "12892312-2-41" }, { "HU SZEM", "8071592153" }, { "HU TAJ", "111111110" },
    { "IE PPS 8", "6433435F" }, { "IE PPS 9", "6433435OA" },
    { "IN AADHAAR", "687755669851" }, { "IN PAN", "AAAPA1234A" }, { "IS KT", "2801848539" },
    { "IT PIVA", "22212630861" }, { "JP MYNUM", "123456789018" }, { "JP CORP", "1474111291068" },
    { "KR RRN", "971013-9019902" }, { "LV PK", "161175-19997" }, { "MX CURP", "BOXW310820HNERXN09" },
    { "MX RFC 13", "VKGA500213545" }, { "MX RFC 12", "MGW730302779" }, { "NL BSN", "748065064" },
    { "NO FNR", "22086746100" }, { "NO ORG", "402014601" },
    { "NZ IRD 9", "130059139" }, { "NZ IRD 8", "32881777" }, { "NZ NHI", "ZZZ0016" },
    { "PE RUC", "20512333797" }, { "PL PESEL", "63051324932" }, { "PL NIP", "3241572538" },
    { "PL REGON", "439799279" }, { "PT NIF", "159165741" }, { "RO CNP", "1901222024065" },
    { "RU INN 10", "7707083893" }, { "RU INN 12", "500100732259" }, { "RU OGRN", "7236655848390" },
    { "RU SNILS", "112-233-445 95" }, { "SE PN 10", "811218-9876" }, { "SE PN 12", "19811218-9876" },
    { "SG NRIC S", "S1234567D" }, { "SG NRIC T", "T1234567J" }, { "SG FIN F", "F1234567N" },
    { "SG FIN G", "G1234567X" }, { "SI DDV", "83287850" }, { "SI EMSO", "0101006500006" },
    { "TH ID", "2110992359339" }, { "TR TC", "97942136348" }, { "TW ID", "A123456789" },
    { "UA RNTRC", "6979894612" }, { "US DEA", "AB1234563" }, { "UY RUT", "211003420017" },
    { "VN MST", "9225889384" }, { "ZA ID", "7503305044089" }, { "ISBN-10", "0-306-40615-2" },
    { "ISBN-10 9", "306406152" }, { "ISSN", "0378-5955" }, { "GTIN-8", "96385074" },
    { "GTIN-12", "036000291452" }, { "GTIN-13", "4006381333931" }, { "GTIN-14", "10614141000415" },
    { "US ABA", "021000021" }, { "US NPI", "1234567893" }, { "ICAO 9303", "L898902C36" },
    { "FI HETU A", "131052A308T" },
    { "AR CBU", "2850590940090418135201" },
    { "BG EIK", "175074752" },
    { "BG LNC", "7111042925" },
    { "BY UNP", "200988541" },
    { "DO RNC", "131246796" },
    { "EC RUC", "1714307103001" },
    { "EC RUC SA", "1792060346001" },
    { "EE REG", "12345678" },
    { "ES CCC", "12341234161234567890" },
    { "GB UPN", "B801200005001" },
    { "GH TIN", "C0000803561" },
    { "GT NIT 7", "576937-K" },
    { "HU GIRO", "117730161111101800000000" },
    { "IL ID 8", "39337423" },
    { "IN EPIC", "WKH1186253" },
    { "IN GST", "27AAPFU0939F1ZV" },
    { "IN VID", "2341234123413416" },
    { "LT PVM 9", "119511515" },
    { "LT PVM 12", "100001919017" },
    { "LU TVA", "15027442" },
    { "MA ICE", "001561191000066" },
    { "ME PIB", "02655284" },
    { "MK EDB", "4030000375897" },
    { "MT VAT", "11679112" },
    { "MX CLABE", "032180000118359719" },
    { "NL BTW", "004495445B01" },
    { "NO KONTO", "86011117947" },
    { "ORCID", "0000-0002-1825-0097" },
    { "PE DNI", "10117410-2" },
    { "PL NRB", "61109010140000071219812874" },
    { "RO CUI 8", "18547290" },
    { "SG UEN 9", "00192200M" },
    { "SG UEN 10", "197401143C" },
    { "SI MAT", "9331310000" },
    { "SK DIC", "2022749619" },
    { "SN NINEA", "30672212G2" },
    { "SV NIT", "0614-050707-104-8" },
    { "SV DUI", "00016297-5" },
    { "TR VKN", "4540536920" },
    { "TW UBN", "00501503" },
    { "UA EDRPOU", "32855961" },
    { "VE RIF", "V-11470283-4" },
    { "ES PLATE", "1234 BCD" },
    { "RU PLATE 8", "A123BC77" },
    { "RU PLATE 9", "A123BC777" },
    { "UA PLATE", "AA1234BB" },
    { "IMO", "IMO 9074729" },
    { "AWB", "020-12345675" },
    { "HU ANUM", "12892312" },
    { "NL PGN", "1012.22.331" },
    { "DK CPR 07", "211062-5629" },
    { "KE PIN", "P051365947M" },
    { "KR RRN 20", "971013-9019902" },
    { "MY NRIC", "770305-02-1234" },
    { "PK CNIC", "34201-0891231-8" },
    { "GT NIT 9", "684038854" }, { "GT NIT 8", "69467234" }, { "SV NIT OLD", "40107488752316" },
    { "FR SPI", "2345678901342" }, { "MD IDNP", "2051450545269" },
};
/* clang-format on */

enum { NUMBERS = sizeof numbers / sizeof *numbers, ROWS = 40 };

/* Forms without a check digit: a change is not seen. */
static bool without_check(const char *family)
{
    static const char *const by_form[] = { "GB DRIVER",  "IN PAN",     "DK CPR 07", "KE PIN",
                                           "KR RRN 20",  "MY NRIC",    "PK CNIC",   "ES PLATE",
                                           "RU PLATE 8", "RU PLATE 9", "UA PLATE" };
    for (size_t i = 0; i < sizeof by_form / sizeof *by_form; i++)
        if (strcmp(by_form[i], family) == 0)
            return true;
    return false;
}

/* A number of the family: the specimen with other digits, tried until one passes. */
static void another(size_t of, uint64_t *seed, char t[32])
{
    for (int tries = 0; tries < 100000; tries++) {
        strcpy(t, numbers[of].number);
        for (size_t i = 0; t[i] != 0; i++) {
            *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
            if (digit(t[i]) && (*seed >> 60) < 6)
                t[i] = (char)('0' + (*seed >> 40) % 10);
        }
        if (tab_identity_is(numbers[of].family, tab_str_of(t)))
            return;
    }
    cr_assert(false, "%s: no other number was found", numbers[of].family);
}

Test(identity, knows_the_numbers_of_each_family)
{
    for (size_t i = 0; i < NUMBERS; i++)
        cr_expect(tab_identity_is(numbers[i].family, tab_str_of(numbers[i].number)), "%s %s",
                  numbers[i].family, numbers[i].number);
    for (size_t k = 0; tab_identity_name(k) != NULL; k++) {
        size_t shown =
            strcmp(tab_identity_name(k), "BR PIS") == 0 || strcmp(tab_identity_name(k), "KZ IIN") == 0;
        for (size_t i = 0; i < NUMBERS; i++)
            shown += strcmp(tab_identity_name(k), numbers[i].family) == 0;
        cr_expect_geq(shown, 1, "%s has no specimen", tab_identity_name(k));
    }
}

Test(identity, sees_most_slips_of_one_digit)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        size_t changed = 0, passed = 0;
        char t[32];
        if (without_check(numbers[i].family) || strcmp(numbers[i].family, "AWB") == 0)
            continue; /* an airline's three digits are not checked */
        strcpy(t, numbers[i].number);
        for (size_t at = 0; t[at] != 0; at++)
            for (char d = '0'; digit(numbers[i].number[at]) && d <= '9'; d++) {
                t[at] = d;
                changed += d != numbers[i].number[at];
                passed += d != numbers[i].number[at] && tab_identity_is(numbers[i].family, tab_str_of(t));
                t[at] = numbers[i].number[at];
            }
        cr_expect_lt(passed * 10, changed * 3, "%s: %zu of %zu changed numbers pass", numbers[i].family,
                     passed, changed);
    }
}

/* The most that any kind but the last gets from the n values. */
static double proof(const tab_identity *t, double weight[TAB_IDENTITY_KINDS])
{
    double most = 0;
    tab_identity_weigh(t, weight);
    for (int k = 0; k < TAB_IDENTITY_KINDS; k++)
        most = fmax(most, weight[k]);
    return most;
}

Test(identity, proves_a_column_with_slips_and_no_column_of_draws)
{
    uint64_t seed = 5;
    double w[TAB_IDENTITY_KINDS];
    for (size_t i = 0; i < NUMBERS; i++) {
        tab_identity t = { 0 };
        char v[32];
        for (int k = 0; k < ROWS; k++) {
            another(i, &seed, v);
            if (k % 20 == 19)
                v[strlen(v) - 1] = '#'; /* one in twenty is no number at all */
            tab_identity_show(&t, tab_str_of(v));
        }
        cr_expect_gt(proof(&t, w), log(1000), "%s: %g", numbers[i].family, proof(&t, w));
    }
    for (int i = 0; i < 600; i++) {
        tab_identity t = { 0 };
        for (int k = 0; k < ROWS; k++) {
            char v[32];
            for (int j = 0; j < 7 + i % 12; j++) {
                seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
                v[j] = (char)('0' + (seed >> 40) % 10);
                v[j + 1] = 0;
            }
            tab_identity_show(&t, tab_str_of(v));
        }
        cr_expect_lt(proof(&t, w), log(20), "draws of %d digits: %g", 7 + i % 12, proof(&t, w));
    }
}

/* A timestamp's digits and a counter behind a day: a date within proves nothing, and no family is known by
 * one alone. */
Test(identity, dates_within_prove_nothing)
{
    tab_identity stamps = { 0 }, counters = { 0 };
    double w[TAB_IDENTITY_KINDS];
    char v[32];
    for (int k = 0; k < ROWS; k++) {
        snprintf(v, sizeof v, "2020121%d%02d%02d-0800", k % 10, k * 7 % 24, k * 13 % 60);
        tab_identity_show(&stamps, tab_str_of(v));
        snprintf(v, sizeof v, "%02d%02d%02d%06d", 10 + k % 5, 1 + k % 12, 1 + k % 28, 130437 + 17 * k);
        tab_identity_show(&counters, tab_str_of(v));
    }
    cr_expect_lt(proof(&stamps, w), log(20));
    cr_expect_lt(proof(&counters, w), log(20));
}

Test(identity, a_few_values_prove_little)
{
    tab_identity t = { 0 };
    double w[TAB_IDENTITY_KINDS];
    tab_identity_show(&t, TAB_S("811218-9876"));
    tab_identity_show(&t, TAB_S("811228-9874"));
    cr_expect_lt(proof(&t, w), log(20));
}

/* A table of names and one column of the family's numbers, or of the same with the last digit changed. */
static tab_column_profile said(size_t of, bool broken)
{
    static const char *const given[] = { "Ana", "Hans", "Jean", "John", "Maria", "Peter", "Olga" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    tab_builder *b[] = { tab_builder_new(a, TAB_S("a")), tab_builder_new(a, TAB_S("b")) };
    tab_column c[2];
    uint64_t seed = 9;
    for (int i = 0; i < ROWS; i++) {
        char v[32];
        another(of, &seed, v);
        size_t n = strlen(v);
        if (broken)
            v[n - 1] = v[n - 1] == '9' ? '0' : (char)(v[n - 1] + 1);
        tab_builder_text(b[0], tab_str_of(given[i * 5 % 7]));
        tab_builder_text(b[1], tab_arena_copy(a, tab_str_of(v)));
    }
    cr_assert(tab_builder_finish(b[0], &c[0]) && tab_builder_finish(b[1], &c[1]));
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = 2, .col = c };
    tab_engine e = { .arena = a };
    tab_profile *p;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    return p->col[1];
}

/* Books, goods, freight, ships, banks and hospitals; and those whose check is that of one of these. */
static bool of_things(const char *family)
{
    static const char *const alike[] = { "EE KMKR", "GB NHS", "GTIN",   "HU SZEM", "ISBN", "ISSN", "PT NIF",
                                         "US ABA",  "US NPI", "GT NIT", "ME PIB",  "AWB",  "IMO" };
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
        if (strncmp(family, alike[i], strlen(alike[i])) == 0)
            return true;
    return false;
}

Test(identity, numbers_of_many_countries_are_personal_data)
{
    size_t columns = 0, by_form = 0;
    for (size_t i = 0; i < NUMBERS; i++) {
        const char *f = numbers[i].family;
        if (of_things(f) || without_check(f))
            continue;
        tab_column_profile p = said(i, false);
        cr_expect(p.pii, "%s: personal data at %g", f, p.pii_confidence);
        columns++;
        by_form += said(i, true).pii;
    }
    /* the check digit said it: with a wrong one many are ids, articles or codes */
    cr_expect_lt(by_form * 4, columns * 3, "%zu of %zu without a right digit", by_form, columns);
}
