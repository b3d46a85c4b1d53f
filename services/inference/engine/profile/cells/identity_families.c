/* See identity_families.h. Checks come from the laws and registers of the countries. */
#include "services/inference/engine/profile/cells/identity_families.h"

#include <math.h>

#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/cells/checksum.h"

/* Ways of checking besides the congruence. */
enum {
    NONE,
    SUM,      /* the congruence */
    LUHN,     /* ISO/IEC 7812-1 from position `at` on; a letter is two digits, A 01 to Z 26 */
    LUHN_10,  /* the same of the first ten digits */
    LUHN_36,  /* the same with letters as digits of base 36 */
    HYBRID,   /* ISO 7064, mod 11, 10 */
    DIHEDRAL, /* Verhoeff 1969 */
    TWICE,    /* SUM, then again with the weights in `letters` where no character stands for the remainder, or
              * without the bias where there is no map */
    PAIR,     /* the last two digits are 97 less the number before them modulo 97 */
    PAIR_101, /* the last two are the sum of the digits before by 9 to 1, modulo 101, of which 100 is 0 */
    REST,     /* the last `at` are the number before them modulo m */
    MOD_97,   /* the number is a multiple of 97 */
    FIRST_97, /* ISO 13616 without the country, whose digits are `bias` modulo 97: the first two check */
    CROSS,    /* as the congruence, of the digits' sums of the products */
    POWERS    /* Turkey's: 2 to the power of the place, modulo 9 */
};

/* How a date within is written where it is also a mark of sex, century or residence. */
enum {
    PLAIN,
    MONTH_20 = 1, /* 20, 40, 60 or 80 is added to the month */
    MONTH_50 = 2, /* 50 is, and 20 may be */
    DAY_40 = 4,   /* 40 is added to the day */
    DAY_60 = 8    /* 60 is */
};

typedef tab_identity_check check;
typedef tab_identity_family family;

#define UP11 "01234567890"   /* the remainder, 10 as 0 */
#define ID11 "0123456789-"   /* the remainder, 10 is not given out */
#define DOWN11 "0-987654321" /* 11 less it, 11 as 0, 10 is not given out */
#define LOW11 "00987654321"  /* 11 less it, 10 and 11 as 0 */
#define TEN11 "10987654321"  /* 11 less it, by its last digit */
#define DOWN10 "0987654321"
#define ID10 "0123456789"
#define MARKS31 "0123456789ABCDEFHJKLMNPRSTUVWXY"
#define ISBN "0X987654321" /* 11 less it, 10 as X */
#define DOWN_K "0K987654321"
#define P TAB_IDENTITY_PERSON
#define T TAB_IDENTITY_TAX
#define B TAB_IDENTITY_ACCOUNT
#define V TAB_IDENTITY_PLATE
#define O TAB_IDENTITY_OTHER
#define F(name, kind, dates, form, ...)                        \
    {                                                          \
        name, kind, dates, sizeof(form) - 1, form, __VA_ARGS__ \
    }
#define LUHN_FROM(at)                         \
    {                                         \
        {                                     \
            LUHN, 10, at, 0, NULL, NULL, NULL \
        }                                     \
    }
#define WAY(way, m, bias)                   \
    {                                       \
        {                                   \
            way, m, 0, bias, "", NULL, NULL \
        }                                   \
    }
#define NO_CHECK                            \
    {                                       \
        {                                   \
            NONE, 0, 0, 0, NULL, NULL, NULL \
        }                                   \
    }
#define BY(m, at, weight, map)           \
    {                                    \
        SUM, m, at, 0, weight, map, NULL \
    }
#define ZERO(m, bias, weight)               \
    {                                       \
        SUM, m, 0, bias, weight, NULL, NULL \
    }

/* clang-format off */
const tab_identity_family tab_families[] = {
    F("AR CUIT", T, PLAIN, "99999999999", { BY(11, 10, "5432765432", "09987654321") }),
    F("AT VSNR", P, PLAIN, "9999ddmmyy", { BY(11, 3, "3790584216", ID11) }),
    F("AU TFN", T, PLAIN, "999999999", { ZERO(11, 0, "14375869a") }),
    F("AU ABN", T, PLAIN, "99999999999", { ZERO(89, 79, "a13579bdfhj") }),
    F("AU MEDIC", P, PLAIN, "9999999999", { BY(10, 8, "13791379", ID10) }),
    F("BE NN", P, PLAIN, "yymmdd99999", { { PAIR, 10, 0, 0, NULL, NULL, NULL } }),
    F("BE TVA", T, PLAIN, "0999999999", { { PAIR, 10, 0, 0, NULL, NULL, NULL } }),
    F("BG EGN", P, MONTH_20, "yymmdd9999", { BY(11, 9, "2485a9736", UP11) }),
    F("BR CPF", P, PLAIN, "99999999999", { BY(11, 9, "a98765432", LOW11), BY(11, 10, "ba98765432", LOW11) }),
    F("BR PIS", P, PLAIN, "99999999999", { BY(11, 10, "3298765432", LOW11) }),
    F("BR CNPJ", T, PLAIN, "99999999999999",
      { BY(11, 12, "543298765432", LOW11), BY(11, 13, "6543298765432", LOW11) }),
    F("CA SIN", P, PLAIN, "999999999", LUHN_FROM(0)),
    F("CH AHV", P, PLAIN, "7569999999999", { BY(10, 12, "131313131313", DOWN10) }),
    F("CH UID", T, PLAIN, "CHE999999999", { BY(11, 11, "00054327654", DOWN11) }),
    F("CL RUT 9", P, PLAIN, "99999999N", { BY(11, 8, "32765432", DOWN_K) }),
    F("CL RUT 8", P, PLAIN, "9999999N", { BY(11, 7, "2765432", DOWN_K) }),
    F("CN ID", P, PLAIN, "999999yyyymmdd999N", { BY(11, 17, "79a584216379a5842", "10X98765432") }),
    F("CN USCC", T, PLAIN, "99999999NNNNNNNNNN",
      { { SUM, 31, 0, 0, "139rjqghktpd8oaus1", NULL, "abcdefgh0ijklm0nop0qr0stu0" } }),
    F("CO NIT", T, PLAIN, "9999999999", { BY(11, 9, "847186273", "01987654321") }),
    F("CZ RC", P, MONTH_50, "yymmdd9999", { ZERO(11, 0, "a1a1a1a1a1") }),
    F("CZ ICO", T, PLAIN, "99999999", { BY(11, 7, "8765432", TEN11) }),
    F("DE IDNR", T, PLAIN, "99999999999", { { HYBRID, 10, 0, 0, NULL, NULL, NULL } }),
    F("DE UST", T, PLAIN, "999999999", { { HYBRID, 10, 0, 0, NULL, NULL, NULL } }),
    F("DE KVNR", P, PLAIN, "A999999999", LUHN_FROM(0)),
    F("DK CPR", P, PLAIN, "ddmmyy9999", { ZERO(11, 0, "4327654321") }),
    F("DK CVR", T, PLAIN, "99999999", { ZERO(11, 0, "27654321") }),
    F("DO CEDULA", P, PLAIN, "99999999999", LUHN_FROM(0)),
    F("EC CI", P, PLAIN, "9999999999", LUHN_FROM(0)),
    F("EE IK", P, PLAIN, "9yymmdd9999", { { TWICE, 11, 10, 0, "1234567891", ID11, "3456789123" } }),
    F("EE KMKR", T, PLAIN, "999999999", { ZERO(10, 0, "371371371") }),
    F("ES CIF", T, PLAIN, "A99999999", LUHN_FROM(1)),
    F("FI HETU", P, PLAIN, "ddmmyy999N", { BY(31, 9, "ek2pi87a1", MARKS31) }),
    F("FI HETU A", P, PLAIN, "ddmmyyA999N", { BY(31, 10, "ek2pi807a1", MARKS31) }),
    F("FI YT", T, PLAIN, "99999999", { BY(11, 7, "79a5842", DOWN11) }),
    F("FR SIREN", T, PLAIN, "999999999", LUHN_FROM(0)),
    F("FR SIRET", T, PLAIN, "99999999999999", LUHN_FROM(0)),
    F("FR SPI", T, PLAIN, "9999999999999", { { REST, 511, 3, 0, "", NULL, NULL } }),
    F("GB NHS", P, PLAIN, "9999999999", { BY(11, 9, "a98765432", DOWN11) }),
    F("GB UTR", T, PLAIN, "9999999999", { BY(11, 0, "06789a5432", "21987654321") }),
    F("GB VAT", T, PLAIN, "999999999", { { TWICE, 97, 0, 55, "8765432a1", NULL, NULL } }),
    F("GB DRIVER", TAB_IDENTITY_LICENCE, MONTH_50, "NNNNN9mmdd9NN9AA",
      NO_CHECK),
    F("GR AFM", T, PLAIN, "999999999", { BY(11, 8, "379a5842", UP11) }),
    F("GR AMKA", P, PLAIN, "ddmmyy99999", LUHN_FROM(0)),
    F("HK ID", P, PLAIN, "A999999N", { { SUM, 11, 0, 5, "87654321", NULL, NULL } }),
    F("HR OIB", P, PLAIN, "99999999999", { { HYBRID, 10, 0, 0, NULL, NULL, NULL } }),
    F("HU ADO", T, PLAIN, "99999999999", { BY(10, 7, "9731973", DOWN10) }),
    F("HU ANUM", T, PLAIN, "99999999", { BY(10, 7, "9731973", DOWN10) }),
    F("HU SZEM", T, PLAIN, "8999999999", { BY(11, 9, "123456789", ID11) }),
    F("HU TAJ", P, PLAIN, "999999999", { BY(10, 8, "37373737", ID10) }),
    F("IE PPS 8", P, PLAIN, "9999999A", { BY(23, 7, "8765432", "WABCDEFGHIJKLMNOPQRSTUV") }),
    F("IE PPS 9", P, PLAIN, "9999999AA",
      { { SUM, 23, 7, 11, "876543209", "WABCDEFGHIJKLMNOPQRSTUV", NULL } }),
    F("IN AADHAAR", P, PLAIN, "999999999999", { { DIHEDRAL, 10, 0, 0, NULL, NULL, NULL } }),
    F("IN PAN", T, PLAIN, "AAAPA9999A", NO_CHECK),
    F("IS KT", P, DAY_40, "ddmmyy9999", { BY(11, 8, "32765432", DOWN11) }),
    F("IT PIVA", T, PLAIN, "99999999999", LUHN_FROM(0)),
    F("JP MYNUM", P, PLAIN, "999999999999", { BY(11, 11, "65432765432", LOW11) }),
    F("JP CORP", T, PLAIN, "9999999999999", { BY(9, 0, "0212121212121", "987654321") }),
    F("KR RRN", P, PLAIN, "yymmdd9999999", { BY(11, 12, "234567892345", TEN11) }),
    F("KZ IIN", P, PLAIN, "yymmdd999999", { { TWICE, 11, 11, 0, "123456789a0", ID11, "3456789a012" } }),
    F("LV PK", P, PLAIN, "ddmmyy99999", { BY(11, 10, "a584216379", "12345678900") }),
    F("MD IDNP", P, PLAIN, "9999999999999", { BY(10, 12, "731731731731", ID10) }),
    F("MX CURP", P, PLAIN, "AAAAyymmddAAAAAAN9",
      { { SUM, 10, 17, 0, "87654321098765432", DOWN10, "01234567890123567890123456" } }),
    F("MX RFC 13", T, PLAIN, "AAAAyymmddNNN",
      { { SUM, 11, 12, 0, "210a98765432", "0A987654321", "a0123456789a013456789a0123" } }),
    F("MX RFC 12", T, PLAIN, "AAAyymmddNNN",
      { { SUM, 11, 11, 8, "10a98765432", "0A987654321", "a0123456789a013456789a0123" } }),
    F("NL BSN", P, PLAIN, "999999999", { ZERO(11, 0, "98765432a") }),
    F("NL PGN", P, PLAIN, "999999999", { ZERO(11, 6, "98765432a") }),
    F("NO FNR", P, DAY_40, "ddmmyy99999",
      { BY(11, 9, "376189452", DOWN11), BY(11, 10, "5432765432", DOWN11) }),
    F("NO ORG", T, PLAIN, "999999999", { BY(11, 8, "32765432", DOWN11) }),
    F("NZ IRD 9", T, PLAIN, "999999999", { { TWICE, 11, 8, 0, "32765432", DOWN11, "74325276" } }),
    F("NZ IRD 8", T, PLAIN, "99999999", { { TWICE, 11, 7, 0, "2765432", DOWN11, "4325276" } }),
    F("NZ NHI", P, PLAIN, "AAA9999",
      { { SUM, 11, 6, 0, "765432", "-0987654321", "1234567809abcd0efghijklmno" } }),
    F("PE RUC", T, PLAIN, "99999999999", { BY(11, 10, "5432765432", TEN11) }),
    F("PL PESEL", P, MONTH_20, "yymmdd99999", { BY(10, 10, "1379137913", DOWN10) }),
    F("PL NIP", T, PLAIN, "9999999999", { BY(11, 9, "657234567", ID11) }),
    F("PL REGON", T, PLAIN, "999999999", { BY(11, 8, "89234567", UP11) }),
    F("PT NIF", T, PLAIN, "999999999", { BY(11, 8, "98765432", LOW11) }),
    F("RO CNP", P, PLAIN, "9yymmdd999999", { BY(11, 12, "279146358279", "01234567891") }),
    F("RU INN 10", T, PLAIN, "9999999999", { BY(11, 9, "24a359468", UP11) }),
    F("RU INN 12", T, PLAIN, "999999999999",
      { BY(11, 10, "724a359468", UP11), BY(11, 11, "3724a359468", UP11) }),
    F("RU OGRN", T, PLAIN, "9999999999999", { BY(11, 12, "a1a1a1a1a1a1", UP11) }),
    F("RU SNILS", P, PLAIN, "99999999999", { { PAIR_101, 10, 0, 0, NULL, NULL, NULL } }),
    F("SE PN 10", P, DAY_60, "yymmdd9999", LUHN_FROM(0)),
    F("SE PN 12", P, DAY_60, "yyyymmdd9999", LUHN_FROM(2)),
    F("SG NRIC S", P, PLAIN, "S9999999A", { BY(11, 8, "02765432", "JZIHGFEDCBA") }),
    F("SG NRIC T", P, PLAIN, "T9999999A", { { SUM, 11, 8, 4, "02765432", "JZIHGFEDCBA", NULL } }),
    F("SG FIN F", P, PLAIN, "F9999999A", { BY(11, 8, "02765432", "XWUTRQPNMLK") }),
    F("SG FIN G", P, PLAIN, "G9999999A", { { SUM, 11, 8, 4, "02765432", "XWUTRQPNMLK", NULL } }),
    F("SI DDV", T, PLAIN, "99999999", { BY(11, 7, "8765432", "-0987654321") }),
    F("SI EMSO", P, PLAIN, "ddmmyyy999999", { BY(11, 12, "765432765432", DOWN11) }),
    F("TH ID", P, PLAIN, "9999999999999", { BY(11, 12, "210a98765432", TEN11) }),
    F("TR TC", P, PLAIN, "99999999999", { BY(10, 9, "797979797", ID10), BY(10, 10, "1111111111", ID10) }),
    F("TW ID", P, PLAIN, "A999999999",
      { { SUM, 10, 0, 0, "1876543211", NULL, "10987654932210898765431320" } }),
    F("UA RNTRC", T, PLAIN, "9999999999", { BY(11, 9, "a57946a57", UP11) }),
    F("US DEA", P, PLAIN, "AA9999999", { BY(10, 8, "00121212", ID10) }),
    F("UY RUT", T, PLAIN, "999999999999", { BY(11, 11, "43298765432", DOWN11) }),
    F("VN MST", T, PLAIN, "9999999999", { BY(11, 9, "971862753", "-9876543210") }),
    F("ZA ID", P, PLAIN, "yymmdd9999999", LUHN_FROM(0)),
    F("AR CBU", B, PLAIN, "9999999999999999999999",
      { BY(10, 7, "7139713", DOWN10), BY(10, 21, "000000003971397139713", DOWN10) }),
    F("BG EIK", T, PLAIN, "999999999", { { TWICE, 11, 8, 0, "12345678", ID11, "3456789a" } }),
    F("BG LNC", P, PLAIN, "9999999999", { BY(10, 9, "197319731", ID10) }),
    F("BY UNP", T, PLAIN, "999999999", { BY(11, 8, "71862753", ID11) }),
    F("DO RNC", T, PLAIN, "999999999", { BY(11, 8, "79865432", "21987654321") }),
    F("EC RUC", T, PLAIN, "9999999999001", { { LUHN_10, 10, 0, 0, "", NULL, NULL } }),
    F("EC RUC SA", T, PLAIN, "9999999999001", { ZERO(11, 0, "4327654321") }),
    F("EE REG", T, PLAIN, "99999999", { { TWICE, 11, 7, 0, "1234567", ID11, "3456789" } }),
    F("ES CCC", B, PLAIN, "99999999999999999999",
      { BY(11, 8, "485a9736", "01987654321"), BY(11, 9, "000000000012485a9736", "01987654321") }),
    F("GB UPN", P, PLAIN, "A99999999999N",
      { { SUM, 23, 0, 0, "023456789abcd", "ABCDEFGHJKLMNPQRTUVWXYZ", "01234567089abc0def0ghijklm" } }),
    F("GH TIN", T, PLAIN, "A999999999N", { BY(11, 10, "0123456789", "0123456789X") }),
    F("GT NIT 9", T, PLAIN, "99999999N", { BY(11, 8, "98765432", DOWN_K) }),
    F("GT NIT 8", T, PLAIN, "9999999N", { BY(11, 7, "8765432", DOWN_K) }),
    F("GT NIT 7", T, PLAIN, "999999N", { BY(11, 6, "765432", DOWN_K) }),
    F("HU GIRO", B, PLAIN, "999999999999999999999999",
      { ZERO(10, 0, "97319731"), ZERO(10, 0, "000000009731973197319731") }),
    F("IL ID 8", P, PLAIN, "99999999", LUHN_FROM(0)),
    F("IN EPIC", P, PLAIN, "AAA9999999", LUHN_FROM(3)),
    F("IN GST", T, PLAIN, "99AAAAA9999ANZN", WAY(LUHN_36, 36, 0)),
    F("IN VID", P, PLAIN, "9999999999999999", WAY(DIHEDRAL, 10, 0)),
    F("LT PVM 9", T, PLAIN, "999999999", { { TWICE, 11, 8, 0, "12345678", ID11, "34567891" } }),
    F("LT PVM 12", T, PLAIN, "999999999999", { { TWICE, 11, 11, 0, "12345678912", ID11, "34567891234" } }),
    F("LU TVA", T, PLAIN, "99999999", { { REST, 89, 2, 0, "", NULL, NULL } }),
    F("MA ICE", T, PLAIN, "999999999999999", WAY(MOD_97, 97, 0)),
    F("ME PIB", T, PLAIN, "99999999", { BY(11, 7, "8765432", LOW11) }),
    F("MK EDB", T, PLAIN, "9999999999999", { BY(11, 12, "765432765432", LOW11) }),
    F("MT VAT", T, PLAIN, "99999999", { ZERO(37, 0, "346789a1") }),
    F("MX CLABE", B, PLAIN, "999999999999999999", { BY(10, 17, "37137137137137137", DOWN10) }),
    F("NL BTW", T, PLAIN, "999999999B99", { ZERO(11, 0, "98765432a") }),
    F("NO KONTO", B, PLAIN, "99999999999", { BY(11, 10, "5432765432", DOWN11) }),
    F("ORCID", P, PLAIN, "000999999999999N", { BY(11, 15, "a584216379a5842", "10X98765432") }),
    F("PE DNI", P, PLAIN, "999999999", { BY(11, 8, "32765432", "65432110987") }),
    F("PL NRB", B, PLAIN, "99999999999999999999999999", WAY(FIRST_97, 97, 96)),
    F("RO CUI 8", T, PLAIN, "99999999", { BY(11, 7, "3217532", LOW11) }),
    F("SG UEN 9", T, PLAIN, "99999999A", { BY(11, 8, "a4938271", "XMKECAWLJDB") }),
    F("SG UEN 10", T, PLAIN, "999999999A", { BY(11, 9, "a86497531", "ZKCMDNERGWH") }),
    F("SI MAT", T, PLAIN, "9999999000", { BY(11, 6, "765432", "-0987654321") }),
    F("SK DIC", T, PLAIN, "9999999999", { ZERO(11, 0, "a1a1a1a1a1") }),
    F("SN NINEA", T, PLAIN, "99999999A9", { ZERO(10, 0, "1212121") }),
    F("SV NIT", T, PLAIN, "99999999999999", { BY(11, 13, "2765432765432", LOW11) }),
    F("SV NIT OLD", T, PLAIN, "99999999999999", { BY(11, 13, "3210a98765432", UP11) }),
    F("SV DUI", P, PLAIN, "999999999", { BY(10, 8, "98765432", DOWN10) }),
    F("TR VKN", T, PLAIN, "9999999999", WAY(POWERS, 10, 0)),
    F("TW UBN", T, PLAIN, "99999999", { { CROSS, 5, 0, 0, "12121241", NULL, NULL } }),
    F("UA EDRPOU", T, PLAIN, "99999999", { { TWICE, 11, 7, 0, "7123456", ID11, "9345678" } }),
    F("VE RIF", T, PLAIN, "A999999999",
      { { SUM, 11, 9, 0, "132765432", LOW11, "00008090010000050000040000" } }),
    F("DK CPR 07", P, PLAIN, "ddmmyy-9999", NO_CHECK),
    F("KE PIN", T, PLAIN, "k999999999A", NO_CHECK),
    F("KR RRN 20", P, PLAIN, "yymmdd-9999999", NO_CHECK),
    F("MY NRIC", P, PLAIN, "yymmdd-99-9999", NO_CHECK),
    F("PK CNIC", P, PLAIN, "99999-9999999-9", NO_CHECK),
    F("ES PLATE", V, PLAIN, "9999ccc", NO_CHECK),
    F("RU PLATE 8", V, PLAIN, "r999rr99", NO_CHECK),
    F("RU PLATE 9", V, PLAIN, "r999rr999", NO_CHECK),
    F("UA PLATE", V, PLAIN, "rr9999rr", NO_CHECK),
    F("AWB", O, PLAIN, "99999999999", { BY(7, 10, "0001546231", "0123456") }),
    F("IMO", O, PLAIN, "IMO9999999", { BY(10, 9, "000765432", ID10) }),
    F("ISBN-10", O, PLAIN, "999999999N", { BY(11, 9, "a98765432", ISBN) }),
    F("ISBN-10 9", O, PLAIN, "99999999N", { BY(11, 8, "98765432", ISBN) }),
    F("ISSN", O, PLAIN, "9999999N", { BY(11, 7, "8765432", ISBN) }),
    F("GTIN-8", O, PLAIN, "99999999", { BY(10, 7, "3131313", DOWN10) }),
    F("GTIN-12", O, PLAIN, "999999999999", { BY(10, 11, "31313131313", DOWN10) }),
    F("GTIN-13", O, PLAIN, "9999999999999", { BY(10, 12, "131313131313", DOWN10) }),
    F("GTIN-14", O, PLAIN, "99999999999999", { BY(10, 13, "3131313131313", DOWN10) }),
    F("US ABA", O, PLAIN, "999999999", { ZERO(10, 0, "371371371") }),
    F("US NPI", O, PLAIN, "9999999999", { { LUHN, 10, 0, 4, NULL, NULL, NULL } }),
    F("ICAO 9303", TAB_IDENTITY_PASSPORT, PLAIN, "NNNNNNNNN9", { BY(10, 9, "731731731", ID10) }),
};
/* clang-format on */
#undef P
#undef T
#undef B
#undef V
#undef O
#undef F

const size_t tab_family_count = sizeof tab_families / sizeof *tab_families;
_Static_assert(sizeof tab_families / sizeof *tab_families <= (size_t)TAB_IDENTITY_FAMILIES,
               "tab_identity has room for every family");

/* A character of a weight, or of a letter's value. */
static unsigned base36(char c)
{
    return digit(c) ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* A character as a digit of base 36. */
static unsigned digit36(char c)
{
    return digit(c) ? (unsigned)(c - '0') : (unsigned)(c - 'A') + 10;
}

static unsigned value_of(char c, const char *letters)
{
    return digit(c) || letters == NULL ? digit36(c) : base36(letters[c - 'A']);
}

/* Letters of plates: Spain's, and those that Cyrillic shares with Latin; of Kenya's persons and firms. */
static const char *class_of(char k)
{
    return k == 'c' ? "BCDFGHJKLMNPRSTVWXYZ" : k == 'r' ? "ABCEHIKMOPTXY" : k == 'k' ? "AP" : NULL;
}

/* Whether month and day are some, with what the family adds to them taken off. */
static bool a_date(unsigned dates, unsigned month, unsigned day)
{
    if ((dates & MONTH_50) != 0)
        month %= 50;
    if ((dates & (MONTH_20 | MONTH_50)) != 0)
        month %= 20;
    if ((dates & DAY_40) != 0 && day > 40)
        day -= 40;
    if ((dates & DAY_60) != 0 && day > 60)
        day -= 60;
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* Whether c has the characters that the form asks for at each place, and its date is one; *ret_year: the last
 * two digits of its year. */
static bool has_form(const family *f, const char *c, unsigned *ret_year)
{
    unsigned month = 0, day = 0, year = 0;
    bool dated = false;
    for (size_t i = 0; i < f->n; i++) {
        char k = f->form[i];
        bool ok = k == 'N'                                       ? true
                  : k == 'A'                                     ? upper(c[i])
                  : k == '9' || k == 'y' || k == 'm' || k == 'd' ? digit(c[i])
                  : class_of(k) != NULL                          ? strchr(class_of(k), c[i]) != NULL
                                                                 : c[i] == k;
        if (!ok)
            return false;
        if (k == 'm')
            month = month * 10 + (unsigned)(c[i] - '0');
        if (k == 'd')
            day = day * 10 + (unsigned)(c[i] - '0');
        if (k == 'y')
            year = (year * 10 + (unsigned)(c[i] - '0')) % 100;
        dated |= k == 'd';
    }
    *ret_year = year;
    return !dated || a_date(f->dates, month, day);
}

static unsigned sum_of(const check *k, const char *weight, const char *c)
{
    unsigned sum = k->bias;
    const char *letters = k->way == SUM ? k->letters : NULL;
    for (size_t i = 0; weight[i] != 0; i++)
        if (weight[i] != '0')
            sum += base36(weight[i]) * value_of(c[i], letters);
    return sum;
}

/* The congruence, and its second round where the first does not hold or gives no character. */
static bool congruent(const check *k, const char *c)
{
    unsigned sum = sum_of(k, k->weight, c);
    bool again = k->way == TWICE;
    if (k->map == NULL)
        return sum % k->m == 0 || (again && (sum - k->bias) % k->m == 0);
    char want = k->map[sum % k->m];
    if (again && want == '-')
        want = k->map[sum_of(k, k->letters, c) % k->m];
    return (again && want == '-' ? '0' : want) == c[k->at];
}

/* What a digit counts at a place from the right: every second one is doubled, the digits of that added. */
static unsigned luhn_digit(unsigned d, unsigned place)
{
    d <<= place & 1;
    return d > 9 ? d - 9 : d;
}

/* Luhn's check of base 36: every second value is doubled, its digits of that base are added. */
static bool luhn_36(const char *c, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned v = digit36(c[n - 1 - i]) << (i & 1);
        sum += v / 36 + v % 36;
    }
    return sum % 36 == 0;
}

static bool luhn(const check *k, const char *c, size_t n)
{
    unsigned sum = k->bias, place = 0;
    for (size_t i = n; i-- > k->at;) {
        unsigned v = digit(c[i]) ? (unsigned)(c[i] - '0') : (unsigned)(c[i] - 'A') + 1;
        sum += luhn_digit(v % 10, place++);
        if (letter(c[i]))
            sum += luhn_digit(v / 10, place++);
    }
    return sum % 10 == 0;
}

static bool hybrid(const char *c, size_t n)
{
    unsigned p = 10;
    for (size_t i = 0; i + 1 < n; i++) {
        unsigned s = ((unsigned)(c[i] - '0') + p) % 10;
        p = 2 * (s == 0 ? 10 : s) % 11;
    }
    return (p + (unsigned)(c[n - 1] - '0')) % 10 == 1;
}

/* The last two digits by 97; persons born from 2000 on have a 2 in front of eleven digits (Belgium). */
static bool pair(const char *c, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i + 2 < n; i++)
        v = v * 10 + (uint64_t)(c[i] - '0');
    uint64_t two = (uint64_t)(c[n - 2] - '0') * 10 + (uint64_t)(c[n - 1] - '0');
    return two == 97 - v % 97 || (n == 11 && two == 97 - (v + 2000000000) % 97);
}

static bool pair_101(const char *c)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 9; i++)
        sum += (unsigned)(c[i] - '0') * (9 - i);
    return sum % 101 % 100 == (unsigned)(c[9] - '0') * 10 + (unsigned)(c[10] - '0');
}

/* The digits from `at` to n as a number, modulo m. */
static unsigned modulo(const char *c, size_t at, size_t n, unsigned m)
{
    unsigned v = 0;
    for (size_t i = at; i < n; i++)
        v = (v * 10 + (unsigned)(c[i] - '0')) % m;
    return v;
}

/* ISO 13616 puts the country's four digits (`bias`, modulo 97) and the first two digits behind the others. */
static bool first_97(const check *k, const char *c, size_t n)
{
    unsigned v = (modulo(c, 2, n, 97) * 10000 + k->bias) % 97;
    return (v * 100 + (unsigned)(c[0] - '0') * 10 + (unsigned)(c[1] - '0')) % 97 == 1;
}

static bool cross(const check *k, const char *c)
{
    unsigned sum = 0;
    for (size_t i = 0; k->weight[i] != 0; i++) {
        unsigned v = base36(k->weight[i]) * (unsigned)(c[i] - '0');
        sum += v / 10 + v % 10;
    }
    return sum % k->m == 0;
}

static bool powers(const char *c, size_t n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i + 1 < n; i++) {
        unsigned t = ((unsigned)(c[i] - '0') + 9 - i) % 10, by = (t << (9 - i)) % 9;
        sum += t != 0 && by == 0 ? 9 : by;
    }
    return (sum + (unsigned)(c[n - 1] - '0')) % 10 == 0;
}

static bool is_right(const check *k, const char *c, size_t n)
{
    switch (k->way) {
    case LUHN:
        return luhn(k, c, n);
    case LUHN_10:
        return luhn(k, c, 10);
    case LUHN_36:
        return luhn_36(c, n);
    case HYBRID:
        return hybrid(c, n);
    case DIHEDRAL:
        return tab_verhoeff(c, n);
    case PAIR:
        return pair(c, n);
    case PAIR_101:
        return pair_101(c);
    case REST:
        return modulo(c, 0, n - k->at, k->m) == modulo(c, n - k->at, n, 1000);
    case MOD_97:
        return modulo(c, 0, n, 97) == k->bias;
    case FIRST_97:
        return first_97(k, c, n);
    case CROSS:
        return cross(k, c);
    case POWERS:
        return powers(c, n);
    default:
        return congruent(k, c);
    }
}

bool tab_family_holds(const family *f, const char *c, unsigned *ret_year)
{
    if (!has_form(f, c, ret_year))
        return false;
    for (size_t i = 0; i < 2 && f->check[i].way != NONE; i++)
        if (!is_right(&f->check[i], c, f->n))
            return false;
    return true;
}

bool tab_family_checked(const family *f)
{
    return f->check[0].way != NONE;
}

/* The share of other values that its checks let pass. Of a form without one, which has letters at places of
 * their own, a tenth is held to pass; of a plate's, what its letters leave of the 24 that codes are written
 * in (without I and O). A date within counts for nothing: many numbers begin with the day that they were
 * given. */
double tab_family_chance(const family *f)
{
    double chance = f->check[0].way == NONE && f->kind != TAB_IDENTITY_PLATE ? 0.1 : 1;
    for (size_t i = 0; f->kind == TAB_IDENTITY_PLATE && i < f->n; i++)
        chance *= class_of(f->form[i]) != NULL ? (double)strlen(class_of(f->form[i])) / 24 : 1;
    chance = fmin(chance, 0.99);
    for (size_t i = 0; i < 2 && f->check[i].way != NONE; i++) {
        const check *k = &f->check[i];
        bool held_back = k->map != NULL && strchr(k->map, '-') != NULL; /* one in m is not given out */
        bool pairs = k->way == PAIR || k->way == PAIR_101 || (k->way == TWICE && k->map == NULL);
        chance *= pairs ? 2.0 / 97 : k->m > 11 || k->map == NULL || held_back ? 1.0 / k->m : 0.1;
    }
    return chance;
}
