/* See plate.h. Rules of the countries' registers; districts from general knowledge. */
#include "services/inference/engine/profile/cells/plate.h"

#include <math.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/cells/ascii.h"

/* form: alternatives between "|". 9 is a digit; a a letter of the country's; D a district; y two digits of a
 * British year (02 to 29, 51 to 79); p a Turkish province (01 to 81); + a blank or dash, _ one that may be
 * missing; a ? behind one of these: it may be missing; any other stands for itself. chance: how often the
 * letters of another scheme's code, which has 24 of them (without I and O), pass the country's; 1: always,
 * but hardly another scheme has the form. */
typedef struct {
    char country[4];
    float chance;
    const char *form, *letters, *district;
} plate;

#define NO_VOWELS "BDFGHJKLNPRSTVXZ"
#define NO_IOU "ABCDEFGHJKLMNPQRSTVWXYZ"
#define NO_IO "ABCDEFGHJKLMNPQRSTUVWXYZ"
#define ALL "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* clang-format off */
static const plate plates[] = {
    { "AT", 0.2f, "D+9999?9?a|D+999?a?a", ALL,
      " W G L S I K B E P AM BL BN BR BZ DL DO EF EU FB FE FF FK FR GB GD GF GM GR GS GU GÄ HA HB HE HF HL "
      "HO IL IM JE JO JU JW KB KF KI KL KO KR KS KU LA LB LE LF LI LN LZ MA MD ME MI MT MU MW MZ ND NK OP "
      "OW PE PL PT RA RE RI RO SB SD SE SK SL SO SP SR SV SW SZ TA TU UU VB VI VK VL VO WB WE WL WN WO WT "
      "WU WY WZ ZE ZT ZW " },
    { "BE", 0.2f, "1_aaa_999|2_aaa_999", ALL, NULL },
    { "BG", 0.1f, "aa?_9999_aa?", "ABEKMHOPCTYX", NULL },
    { "CH", 0.05f, "D+999?9?9?9?", NULL,
      " AG AI AR BE BL BS FR GE GL GR JU LU NE NW OW SG SH SO SZ TG TI UR VD VS ZG ZH " },
    { "CZ", 0.6f, "9a9_9999|9aa_9999", "ABCEHJKLMPSTUZ", NULL },
    { "DE", 0.35f, "D+aa?_99?9?9?", ALL,
      " A B C D E F G H J K L M N P R S V W Y Z AA AB AC AE AK AM AN AP AS AW AZ BA BB BC BI BL BM BN BO "
      "BS BT BZ CB CE CO CW DA DD DE DH DL DM DN DO DU DW EA EB ED EE EF EI EL EM EN ER ES EU EW FB FD FF "
      "FG FL FN FO FR FS FT GE GF GG GI GL GM GP GR GS GT GÖ GÜ GZ HA HB HD HE HF HG HH HI HL HM HN HO HP "
      "HR HS HU HX HY HZ IK IN IZ JE JL KA KB KC KE KF KG KH KI KL KM KN KO KR KS KT KU KW LA LB LC LD LG "
      "LI LL LM LN LP LU LW LÖ MA MB MD ME MG MH MI MK ML MM MN MO MR MS MT MW MZ MÜ MY NB ND NE NF NH NI "
      "NK NM NP NR NS NU NW NY OA OB OD OE OF OG OH OL OP OS OZ PA PB PE PF PI PL PM PN PR PS RA RB RD RE "
      "RH RL RM RO RP RS RT RU RV RW RZ RÜ SB SC SE SG SH SI SK SL SM SN SO SP SR ST SU SW SZ SÜ TE TF TG "
      "TO TR TS TÖ TÜ UE UH UL UM UN VB VG VK VR VS WB WE WF WI WK WL WM WN WO WR WS WT WW WÜ ZE ZI ZP ZW "
      "ZZ ABG AIC ALZ ANA ARN AUR BAD BAR BBG BCH BER BGL BIR BIT BLK BOR BOT BRA BRB BÜS BZA CAS CHA CLP "
      "COE CUX DAH DAN DAU DBR DEG DEL DGF DIL DIN DLG DON DUD DÜW EBE EIC EIN EIS EMD ERB ERH ESW EUT "
      "FDB FDS FFB FRG FRI FÜS GAP GER GRZ GTH GUN GZW HAL HAM HAS HBN HBS HCH HDH HEF HEI HER HGW HMÜ "
      "HOL HOM HOR HRO HSK HST HVL HWI IGB ILK JEV KEH KEL KEM KIB KLE KUS KYF LAU LDK LDS LER LEV LIF "
      "LIP LOS LRO LUP LWL MAB MAL MEI MEK MIL MKK MOL MOS MSH MSP MST MTK MYK MZG MÜB NDH NEA NEN NES "
      "NEU NEW NOH NOM NOR NRÜ NVP NWM OAL OHV OHZ OPR OSL OVP PAF PAN PCH PIR PLÖ PRÜ QLB RAV REG ROF "
      "ROG ROW RÜD RÜG SAD SAW SBK SFA SFT SHA SHG SHK SIG SIM SLF SLK SLS SLZ SOB SOK SOM SPN SRB SRO "
      "STA STD STL SÖM TBB TIR TUT UER VEC VER VIE VIT VKS WAF WAK WAN WES WHV WIL WIT WND WOB WSF WST "
      "WUG WUN WZL ZAK ZEL " },
    { "DK", 0.8f, "aa+99+999", "ABCDEHJKLMNPRSTUVXYZ", NULL },
    { "FR", 0.85f, "aa_999_aa", NO_IOU, NULL },
    { "GB", 0.45f, "aay_aaa",
      "ABCDEFGHJKLMNOPRSTUVWXYZ", NULL },
    { "GR", 0.25f, "aaa_9999", "ABEZHIKMNOPTYX", NULL },
    { "HR", 0.06f, "D+9999?_aa?", ALL,
      " BJ BM ČK DA DE DJ DU GS IM KA KC KR KT KŽ MA NA NG OG OS PU PŽ RI SB SK SL ST ŠI VK VT VU VŽ ZD ZG "
      "ŽU " },
    { "IE", 0.1f, "991?_D_99?9?9?9?9?|992_D_99?9?9?9?9?", NULL,
      " C CE CN CW D DL G KE KK KY L LD LH LK LM LS MH MN MO OY RN SO T TN TS W WH WX WW WD " },
    { "IN", 0.06f, "D_99?_aa?a?_9999", ALL,
      " AN AP AR AS BH BR CG CH DD DL DN GA GJ HP HR JH JK KA KL LA LD MH ML MN MP MZ NL OD OR PB PY RJ SK "
      "TG TN TR TS UK UP WB " },
    { "IT", 0.7f, "aa_999_aa", "ABCDEFGHJKLMNPRSTVWXYZ", NULL },
    { "NL", 0.3f,
      "aa_99_aa|99_aa_aa|aa_aa_99|99_aaa_9|9_aaa_99|aa_999_a|a_999_aa|aaa_99_a|a_99_aaa|9_aa_999|999_aa_9",
      NO_VOWELS, NULL },
    { "NO", 0.7f, "aa+99999", "ABCDEFHJKLNPRSTUVXYZ", NULL },
    { "PL", 0.5f, "Daa?+99999|Daa?+9999a|Daa?+999aa|Daa?+9a999|Daa?+9aa99",
      "ACEFGHJKLMNPRSTUVWXYZ", " B C D E F G K L N O P R S T W Z " },
    { "PT", 0.6f, "aa+99+aa|99+aa+99|99+99+aa|aa+99+99", ALL, NULL },
    { "RO", 0.07f, "D_99_aaa|D_999_aaa", "ABCDEFGHJKLMNPRSTUVWXYZ",
      " AB AG AR B BC BH BN BR BT BV BZ CJ CL CS CT CV DB DJ GJ GL GR HD HR IF IL IS MH MM MS NT OT PH SB "
      "SJ SM SV TL TM TR VL VN VS " },
    { "SE", 0.7f, "aaa+999|aaa+99a", "ABCDEFGHJKLMNOPRSTUWXYZ", NULL },
    { "SI", 0.03f, "D_aa_999|D_9aa_99|D_99_aa9|D_99_9aa", ALL, " LJ MB CE KR NM KP GO MS SG KK PO " },
    { "SK", 0.15f, "D_999_aa", ALL,
      " BA BB BJ BL BN BR BS BY CA DK DS DT GA GL HC HE IL KA KE KK KM KN KS LC LE LM LV MA MI ML MT MY NM "
      "NO NR NZ PB PD PE PK PN PO PP PT PU PV RA RK RS RV SA SB SC SE SI SK SL SN SO SP SV TN TO TR TS TT "
      "TV VK VT ZA ZC ZH ZM ZV " },
    { "TR", 0.8f, "p_a_9999|p_a_99999|p_aa_999|p_aa_9999|p_aaa_99|p_aaa_999",
      "ABCDEFGHIJKLMNOPRSTUVYZ", NULL },
    { "FR", 1, "aa+999+aa", ALL, NULL }, /* and Italy's */
    { "GB", 1, "aay+aaa", ALL, NULL },
    { "TR", 1, "p+a+9999|p+a+99999|p+aa+999|p+aa+9999|p+aaa+99|p+aaa+999", ALL, NULL },
    { "CN", 1e-3f, "Da_99999|Da_9aa999|Daa_9999|Da_a9999|Da_99a99|Da_999999|Da_999a9|Da_9999a", NO_IO,
      " 京 津 沪 渝 冀 豫 云 辽 黑 湘 皖 鲁 新 苏 浙 赣 鄂 桂 甘 晋 蒙 陕 吉 闽 贵 粤 青 藏 川 宁 琼 " },
    { "KR", 1e-3f, "99_D_9999|999_D_9999", NULL,
      " 가 나 다 라 마 거 너 더 러 머 버 서 어 저 고 노 도 로 모 보 소 오 조 구 누 두 루 무 부 수 우 주 허 하 호 " },
};
/* clang-format on */

enum { COUNTRIES = sizeof plates / sizeof *plates };
_Static_assert(sizeof plates / sizeof *plates <= (size_t)TAB_PLATE_COUNTRIES,
               "tab_plates has room for every country");

/* ---- one value -------------------------------------------------------------------------------- */

/* Whether the list holds the word between two blanks. */
static bool listed(const char *list, const char *word, size_t n)
{
    for (const char *at = list; (at = memmem(at, strlen(at), word, n)) != NULL; at++)
        if (at[-1] == ' ' && at[n] == ' ')
            return true;
    return false;
}

static bool of_letters(const plate *p, char c)
{
    return upper(c) && (p->letters == NULL || strchr(p->letters, c) != NULL);
}

/* The bytes that one sign of a form takes at s; 0: it does not stand there. */
static size_t taken(const plate *p, char sign, tab_str s)
{
    bool two = s.n >= 2 && digit(s.p[0]) && digit(s.p[1]);
    int number = two ? (s.p[0] - '0') * 10 + s.p[1] - '0' : 0;
    switch (sign) {
    case '9':
        return s.n > 0 && digit(s.p[0]);
    case 'a':
        return s.n > 0 && of_letters(p, s.p[0]);
    case '+':
    case '_':
        return s.n > 0 && (s.p[0] == ' ' || s.p[0] == '-');
    case 'y':
        return (number >= 2 && number <= 29) || (number >= 51 && number <= 79) ? 2 : 0;
    case 'p':
        return number >= 1 && number <= 81 ? 2 : 0;
    default:
        return s.n > 0 && s.p[0] == sign;
    }
}

/* Whether s has the form, which ends at "|" or 0. */
static bool has_form(const plate *p, const char *form, tab_str s)
{
    enum { LONGEST = 3, BYTES = 4 };
    for (; *form != 0 && *form != '|'; form++) {
        bool optional = *form == '_' || form[1] == '?';
        if (*form == 'D') { /* the districts of one to three letters, a letter of up to BYTES bytes */
            size_t n = 0;
            for (size_t k = 0; k < (size_t)LONGEST && n < s.n; k++) {
                if (!upper(s.p[n]) && (unsigned char)s.p[n] < 0xc0)
                    return false;
                for (n++; n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80;)
                    n++;
                if (listed(p->district, s.p, n) && has_form(p, form + 1, (tab_str){ s.p + n, s.n - n }))
                    return true;
            }
            return false;
        }
        size_t n = taken(p, *form, s);
        if (n == 0 && !optional)
            return false;
        s = (tab_str){ s.p + n, s.n - n };
        form += form[1] == '?';
    }
    return s.n == 0;
}

/* Whether the value is a plate of p's country. */
static bool is_of(const plate *p, tab_str s)
{
    for (const char *form = p->form; form != NULL; form = strchr(form, '|')) {
        form += *form == '|';
        if (has_form(p, form, s))
            return true;
    }
    return false;
}

/* Letters and digits and marks between them, as plates of any country are. */
static bool may_be(tab_str s)
{
    enum { SHORTEST = 4, LONGEST = 14 };
    bool digits = false, letters = false;
    if (s.n < SHORTEST || s.n > LONGEST)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        digits |= digit(c);
        letters |= upper(c) || (unsigned char)c >= 0xc0;
        if (!digit(c) && !upper(c) && c != ' ' && c != '-' && (unsigned char)c < 0x80)
            return false;
    }
    return digits && letters;
}

bool tab_plate_is(const char *country, tab_str value)
{
    for (size_t i = 0; i < COUNTRIES; i++)
        if (strcmp(country, plates[i].country) == 0)
            return may_be(value) && is_of(&plates[i], value);
    return false;
}

/* ---- a column's values ------------------------------------------------------------------------ */

/* After these many values that are no plates of one country the others are not looked at. */
enum { TRIED = 16 };

/* The value's letters, hashed; those from A to Z also a bit each in *ret. */
static uint64_t letters_of(tab_str s, uint32_t *ret)
{
    char c[16];
    size_t n = 0;
    *ret = 0;
    for (size_t i = 0; i < s.n; i++)
        if (!digit(s.p[i]) && s.p[i] != ' ' && s.p[i] != '-') {
            c[n++] = s.p[i];
            *ret |= upper(s.p[i]) ? 1U << (s.p[i] - 'A') : 0;
        }
    return tab_wyhash(c, n, 5);
}

/* Keeps the letters and the countries that they may be of, the first TAB_PLATE_LETTERS of them. */
static void keep(tab_plates *t, uint64_t strung, uint32_t of)
{
    size_t i = 0;
    while (i < t->strings && t->strung[i] != strung)
        i++;
    if (i == TAB_PLATE_LETTERS)
        return;
    if (i == t->strings) {
        t->strung[i] = strung;
        t->strings++;
    }
    t->of[i] |= of;
}

void tab_plates_show(tab_plates *t, tab_str value)
{
    uint32_t of = 0, alphabet;
    if ((t->shown < TRIED || t->most * 2 >= TRIED) && may_be(value)) {
        uint64_t strung = letters_of(value, &alphabet);
        for (size_t i = 0; i < COUNTRIES; i++)
            if (is_of(&plates[i], value)) {
                of |= 1U << i;
                t->alphabet[i] |= alphabet;
                t->most = ++t->pass[i] > t->most ? t->pass[i] : t->most;
            }
        keep(t, strung, of);
    }
    t->shown++;
}

/* As in identity.c: of n draws k pass, in a column of plates most, in another each with the chance c. */
static double log_ratio(double n, double k, double c)
{
    int sign;
    double beta = lgamma_r(k + 1, &sign) + lgamma_r(n - k + 1, &sign) - lgamma_r(n + 2, &sign);
    return M_LN2 + beta - k * log(c) - (n - k) * log1p(-c);
}

double tab_plates_weigh(const tab_plates *t)
{
    /* MOST: of the values that must be plates. STRINGS: of different letters, LETTERS: of the alphabet, that
     * must have been seen where no list of districts refuses most of it. */
    static const double MOST = 0.8;
    enum { STRINGS = 4, LETTERS = 12, OWN_FORM = 30 };
    double best = 0;
    for (size_t i = 0; i < COUNTRIES; i++) {
        double n = t->strings, k = 0;
        if (t->pass[i] == 0 || t->pass[i] < MOST * t->shown || t->strings < STRINGS ||
            (plates[i].district == NULL && __builtin_popcount(t->alphabet[i]) < LETTERS))
            continue;
        for (size_t s = 0; s < t->strings; s++)
            k += t->of[s] >> i & 1;
        double ratio = plates[i].chance < 1
                           ? log_ratio(n, k, (double)plates[i].chance) - log((double)COUNTRIES)
                           : log((double)OWN_FORM);
        best = fmax(best, ratio);
    }
    return best;
}
