#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/profile/cells/checksum.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/profile/roles/stages.h"

static tab_column column_of(tab_arena *a, const char *name, const char *const *cells, size_t n)
{
    tab_builder *b = tab_builder_new(a, tab_str_of(name));
    for (size_t i = 0; i < n; i++)
        cells[i] == NULL ? tab_builder_null(b) : tab_builder_text(b, tab_str_of(cells[i]));
    tab_column c;
    cr_assert(tab_builder_finish(b, &c));
    return c;
}

static tab_profile *profile_of(tab_arena *a, tab_column *c, size_t cols, size_t rows)
{
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = cols, .col = c };
    tab_engine *e = tab_arena_new_of(a, tab_engine, 1);
    e->arena = a;
    tab_profile *p;
    cr_assert_eq(tab_profile_table(e, t, &p, NULL), TAB_OK);
    return p;
}

static const char *const mails[] = { "ana.lopez@example.com", "b.meier@mail.de",  "c_dupont@example.fr",
                                     "dai@example.jp",        "e.rossi@posta.it", "f@example.org" };
static const char *const ibans[] = { "DE89370400440532013000",      "GB29NWBK60161331926819",
                                     "FR1420041010050500013M02606", "NL91ABNA0417164300",
                                     "CH9300762011623852957",       "AT611904300234573201" };
static const char *const cards[] = { "4111111111111111", "5500000000000004", "4012888888881881",
                                     "5105105105105100", "4222222222222220", "340000000000009" };
static const char *const uuids[] = {
    "123e4567-e89b-12d3-a456-426614174000", "00112233-4455-4677-8899-aabbccddeeff",
    "6fa459ea-ee8a-4ca4-894e-db77e160355e", "16fd2706-8baf-433b-82eb-8c7fada847da",
    "886313e1-3b8a-4372-9b90-0c9aee199e5d", "a6edc906-2f9f-4fb2-a373-efac406f0ef2"
};
static const char *const names[] = { "Maria Garcia", "Hans M\xc3\xbcller", "Jean Dupont",
                                     "John Smith",   "Anna Rossi",         "Peter Johnson" };
static const char *const amounts[] = { "$12.99", "$1,200.50", "$7.25", "$19.99", "$3.10", "$850.00" };

Test(profile, decides_self_checking_numbers_whatever_their_name)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
    tab_column c[] = { column_of(a, "x", mails, 6), column_of(a, "y", ibans, 6), column_of(a, "z", uuids, 6),
                       column_of(a, "w", names, 6), column_of(a, "v", cards, 6) };
    tab_profile *p = profile_of(a, c, 5, 6);
    static const int want[] = { TAB_ROLE_EMAIL, TAB_ROLE_IBAN, TAB_ROLE_UUID, TAB_ROLE_NAME };
    for (size_t k = 0; k < 4; k++)
        cr_expect_eq(p->col[k].role, want[k], "column %zu is %s", k, tab_role_names[p->col[k].role]);
    cr_expect(p->col[0].pii && p->col[1].pii && p->col[3].pii && !p->col[2].pii);
    cr_expect(p->col[0].role_confidence > 0.9 && p->col[1].role_confidence > 0.9);
}

Test(profile, reads_no_names)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
    static const char *const called[3][4] = { { "email", "iban", "price", "customer" },
                                              { "", "", "", "" },
                                              { "c1", "c1", "c1", "c1" } };
    tab_profile *p[3];
    for (int v = 0; v < 3; v++) {
        tab_column *c = tab_arena_new_of(a, tab_column, 4);
        c[0] = column_of(a, called[v][0], mails, 6);
        c[1] = column_of(a, called[v][1], ibans, 6);
        c[2] = column_of(a, called[v][2], amounts, 6);
        c[3] = column_of(a, called[v][3], names, 6);
        p[v] = profile_of(a, c, 4, 6);
    }
    for (int v = 1; v < 3; v++) {
        for (size_t k = 0; k < 4; k++) {
            cr_expect_eq(p[v]->col[k].role, p[0]->col[k].role);
            cr_expect_eq(p[v]->col[k].role_confidence, p[0]->col[k].role_confidence);
            cr_expect_eq(p[v]->col[k].pii_confidence, p[0]->col[k].pii_confidence);
        }
        for (int s = 0; s < TAB_SECTORS; s++)
            cr_expect_eq(p[v]->sector[s], p[0]->sector[s]);
    }
}

/* A number is the same number whether it was sent as one or as text. */
Test(profile, is_the_same_for_numbers_sent_as_text)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    enum { ROWS = 700 };
    tab_profile *p[2];
    for (int v = 0; v < 2; v++) {
        tab_builder *b[2] = { tab_builder_new(a, TAB_S("x")), tab_builder_new(a, TAB_S("y")) };
        uint64_t s = 5;
        for (int i = 0; i < ROWS; i++) {
            s = s * 6364136223846793005ULL + 1442695040888963407ULL;
            double x[2] = { (double)(s >> 40) / 100, (double)(i % 7) };
            for (int k = 0; k < 2; k++) {
                char t[40];
                size_t n = tab_number_text(x[k], t);
                if (v == 0)
                    tab_builder_number(b[k], x[k]);
                else
                    tab_builder_text(b[k], (tab_str){ t, n });
            }
        }
        tab_column *c = tab_arena_new_of(a, tab_column, 2);
        cr_assert(tab_builder_finish(b[0], &c[0]) && tab_builder_finish(b[1], &c[1]));
        p[v] = profile_of(a, c, 2, ROWS);
    }
    for (int k = 0; k < 2; k++) {
        cr_expect_eq(p[0]->col[k].role, p[1]->col[k].role);
        cr_expect_float_eq(p[0]->col[k].role_confidence, p[1]->col[k].role_confidence, 1e-6);
        cr_expect_eq(p[0]->col[k].type, p[1]->col[k].type);
    }
}

Test(profile, sector_confidences_sum_to_one)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
    tab_column c = column_of(a, "x", amounts, 6);
    tab_profile *p = profile_of(a, &c, 1, 6);
    double sum = 0;
    for (int s = 0; s < TAB_SECTORS; s++)
        sum += p->sector[s];
    cr_expect_float_eq(sum, 1, 1e-5);
}

/* The customers and the invoices of a software firm, as two systems keep them, are no sport. */
Test(profile, does_not_call_the_samples_sport)
{
    static const char *const path[] = { "tests/samples/customers.csv", "tests/samples/billing.csv" };
    for (size_t i = 0; i < 2; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 27);
        static char text[1 << 16];
        FILE *f = fopen(path[i], "rb");
        cr_assert_not_null(f, "%s (from the project's root)", path[i]);
        size_t n = fread(text, 1, sizeof text, f), top = 0;
        fclose(f);
        const tab_table *t;
        cr_assert_eq(tab_csv_read(a, (tab_str){ text, n }, TAB_S("t"), &t, NULL, NULL), TAB_OK);
        tab_engine *e = tab_arena_new_of(a, tab_engine, 1);
        e->arena = a;
        tab_profile *p;
        cr_assert_eq(tab_profile_table(e, t, &p, NULL), TAB_OK);
        for (size_t s = 1; s < TAB_SECTORS; s++)
            top = p->sector[s] > p->sector[top] ? s : top;
        cr_expect_str_neq(tab_sectors[top].slug, "sports", "%s", path[i]);
    }
}

/* Whole numbers that repeat as draws from a range do, and periods counted up through a long table, are no
 * keys: a column that is called one is never imputed and never a target. */
Test(profile, calls_no_rate_and_no_counter_of_periods_a_key)
{
    enum { ROWS = 1500, COLS = 5 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    tab_builder *b[COLS];
    for (int k = 0; k < COLS; k++)
        b[k] = tab_builder_new(a, TAB_S("x"));
    uint64_t s = 7;
    for (int i = 0; i < ROWS; i++) {
        unsigned r[COLS];
        for (int k = 0; k < COLS; k++) {
            s = s * 6364136223846793005ULL + 1442695040888963407ULL;
            r[k] = (unsigned)(s >> 33);
        }
        tab_builder_number(b[0], 10001 + i);                             /* a key */
        tab_builder_number(b[1], 18 + (r[1] % 24 + r[1] / 24 % 24));     /* years of age */
        tab_builder_number(b[2], 102 + r[2] % 1398);                     /* a daily rate */
        tab_builder_number(b[3], 900 + (r[3] % 2200 + r[3] / 7 % 2300)); /* a price */
        tab_builder_number(b[4], 1 + i * 35 / ROWS);                     /* a month of the study */
    }
    tab_column c[COLS];
    for (int k = 0; k < COLS; k++)
        cr_assert(tab_builder_finish(b[k], &c[k]));
    tab_profile *p = profile_of(a, c, COLS, ROWS);
    cr_expect(p->col[0].identifying, "%s", tab_role_names[p->col[0].role]);
    for (int k = 1; k < COLS; k++)
        cr_expect_not(p->col[k].identifying, "%d is %s", k, tab_role_names[p->col[k].role]);
}

/* Pieces and whole prices look as references to keys do; that they are multiplied says that they are none. */
Test(profile, calls_no_factor_of_a_total_a_key)
{
    enum { ROWS = 200, COLS = 4, DRAWS = 6 };
    static const double off[] = { 0, 0, 0, 0.1, 0.2 };
    uint64_t s = 23;
    for (int draw = 0; draw < DRAWS; draw++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
        tab_builder *b[COLS];
        tab_column c[COLS];
        for (int k = 0; k < COLS; k++)
            b[k] = tab_builder_new(a, TAB_S("x"));
        for (int i = 0; i < ROWS; i++) {
            unsigned r[3];
            for (int k = 0; k < 3; k++) {
                s = s * 6364136223846793005ULL + 1442695040888963407ULL;
                r[k] = (unsigned)(s >> 33);
            }
            double price = 1 + r[0] % 90, pieces = 1 + r[1] % 9, less = off[r[2] % 5];
            tab_builder_number(b[0], price);
            tab_builder_number(b[1], pieces);
            tab_builder_number(b[2], less);
            tab_builder_number(b[3], round(100 * price * pieces * (1 - less)) / 100);
        }
        for (int k = 0; k < COLS; k++)
            cr_assert(tab_builder_finish(b[k], &c[k]));
        tab_profile *p = profile_of(a, c, COLS, ROWS);
        for (int k = 0; k < COLS; k++)
            cr_expect_not(p->col[k].identifying, "%d: column %d is %s", draw, k,
                          tab_role_names[p->col[k].role]);
    }
}

/* Twenty items of one scale, to which people answer in unlike ways. */
Test(profile, items_of_a_questionnaire_have_one_role)
{
    enum { ROWS = 400, ITEMS = 20, COLS = ITEMS + 2 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    tab_builder *b[COLS];
    tab_column c[COLS];
    uint64_t s = 11;
    for (int k = 0; k < COLS; k++)
        b[k] = tab_builder_new(a, TAB_S("x"));
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLS; k++) {
            int x = 0;
            for (int d = 0; d < 1 + k % 5; d++) { /* from even to narrow, around another middle each */
                s = s * 6364136223846793005ULL + 1442695040888963407ULL;
                x += (int)(s >> 33) % 6;
            }
            x = 1 + (x / (1 + k % 5) + k / 5) % 6;
            x = i < 6 ? i + 1 : x; /* each point is somebody's answer */
            tab_builder_number(b[k], k == 0 ? 5001 + i : k == COLS - 1 ? 18 + 7 * x + i % 7 : x);
        }
    for (int k = 0; k < COLS; k++)
        cr_assert(tab_builder_finish(b[k], &c[k]));
    tab_profile *p = profile_of(a, c, COLS, ROWS);
    for (int k = 2; k <= ITEMS; k++)
        cr_expect_eq(p->col[k].role, p->col[1].role, "item %d is %s, the first %s", k,
                     tab_role_names[p->col[k].role], tab_role_names[p->col[1].role]);
    cr_expect(p->col[1].role == TAB_ROLE_RATING || p->col[1].role == TAB_ROLE_CATEGORY ||
                  p->col[1].role == TAB_ROLE_COUNT,
              "%s", tab_role_names[p->col[1].role]);
    cr_expect_neq(p->col[0].role, p->col[1].role);
    cr_expect_neq(p->col[COLS - 1].role, p->col[1].role);
}

/* Decision 0165: of two columns of whole numbers that repeat, the one whose numbers people chose is no
 * key, however sure the models are; a column in even steps, or with all digits, is left to them. */
Test(profile, denies_keys_that_end_as_prices_do)
{
    enum { ROWS = 600 };
    static const int habit[3][2] = { { 10, 9 }, { 10, 0 }, { 1, 0 } };
    for (int way = 0; way < 3; way++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
        tab_builder *b = tab_builder_new(a, TAB_S("x"));
        for (int i = 0; i < ROWS; i++)
            tab_builder_number(b, 1000 + i * 7919 % 307 * habit[way][0] + (i % 9 == 0 ? 0 : habit[way][1]));
        tab_column c;
        tab_staged s = { .reading = tab_arena_new_of(a, tab_reading, 1) };
        tab_summary sum;
        cr_assert(tab_builder_finish(b, &c));
        cr_assert(tab_read_column(a, &c, ROWS, s.reading) && tab_summarize(s.reading, &sum));
        tab_features_of(&sum, &s.features);
        float p[TAB_ROLES] = { 0 }, total = 0;
        p[TAB_ROLE_ID] = 0.8f;
        p[TAB_ROLE_AMOUNT] = 0.2f;
        tab_deny_keys(&s, p);
        for (int r = 0; r < TAB_ROLES; r++)
            total += p[r];
        cr_expect(fabsf(total - 1) < 1e-5f);
        cr_expect((p[TAB_ROLE_ID] < 0.5f) == (way == 0), "way %d: %g", way, (double)p[TAB_ROLE_ID]);
    }
}

/* Numbers of companies and of census blocks: more digits than a telephone's, and not in its groups. */
Test(profile, rules_out_phones_with_too_many_digits)
{
    enum { ROWS = 60 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
    static char text[3][ROWS][24];
    const char *cell[3][ROWS];
    float p[TAB_ROLES];
    for (unsigned i = 0; i < ROWS; i++) {
        unsigned x = i * 7919 + 104729;
        snprintf(text[0][i], 24, "36%03u%06u%04u", x % 120, x % 999983, x % 9973);
        snprintf(text[1][i], 24, "%03u %03u %03u %05u", x % 997, x % 991, x % 983, x % 99991);
        snprintf(text[2][i], 24, "(%03u) %03u-%04u", 200 + x % 700, x % 991, x % 9973);
    }
    for (unsigned k = 0; k < 3; k++) {
        tab_reading r;
        tab_summary s;
        tab_staged c = { .reading = &r };
        for (unsigned i = 0; i < ROWS; i++)
            cell[k][i] = text[k][i];
        tab_column col = column_of(a, "", cell[k], ROWS);
        cr_assert(tab_read_column(a, &col, ROWS, &r) && tab_summarize(&r, &s));
        tab_features_of(&s, &c.features);
        for (int q = 0; q < TAB_ROLES; q++)
            p[q] = 1.0f / TAB_ROLES;
        tab_restrict_roles(&c, p);
        cr_expect((p[TAB_ROLE_PHONE] > 0) == (k == 2), "column %u: %f", k, (double)p[TAB_ROLE_PHONE]);
    }
}

Test(profile, stands_hostile_cells)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    char *nines = malloc(1 << 20), *dots = malloc(1 << 20);
    memset(nines, '9', (1 << 20) - 1);
    memset(dots, '.', (1 << 20) - 1);
    nines[(1 << 20) - 1] = dots[(1 << 20) - 1] = 0;
    for (size_t i = 0; i < (1 << 20) - 1; i += 2)
        dots[i] = 'a';
    const char *cells[] = { nines,
                            dots,
                            "((((((((((",
                            "@@@@@",
                            "\xff\xfe\xfd",
                            "-",
                            "\xe2\x80\x8b",
                            "{{[[\"",
                            "1e999999",
                            "a@b@c@d.com",
                            "\xd9\x85\xd8\xb1\xd8\xad\xd8\xa8\xd8\xa7",
                            "\xe4\xbd\xa0\xe5\xa5\xbd",
                            "\xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d\xe0\xa4\xa4\xe0\xa5\x87",
                            "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
                            "e\xcc\x81\xcc\x81\xcc\x81",
                            "\xf0\x9f\x98\x80",
                            NULL };
    tab_column c = column_of(a, "", cells, sizeof cells / sizeof *cells);
    tab_profile *p = profile_of(a, &c, 1, sizeof cells / sizeof *cells);
    cr_expect(p->col[0].role_confidence >= 0 && p->col[0].role_confidence <= 1);
    cr_expect(p->col[0].type == TAB_TEXT || p->col[0].type == TAB_CATEGORICAL);
    free(nines);
    free(dots);
}

Test(profile, of_a_table_without_rows_is_empty)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_column c = column_of(a, "x", NULL, 0);
    tab_profile *p = profile_of(a, &c, 1, 0);
    cr_expect_eq(p->col[0].role, TAB_ROLE_EMPTY);
    cr_expect_eq(p->col[0].missing, 0.0);
}

Test(summary, estimates_how_many_distinct_values_there_are)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
    enum { N = 3000 };
    tab_column c;
    tab_builder *b = tab_builder_new(a, TAB_S("x"));
    for (size_t i = 0; i < N; i++)
        i % 11 == 0 ? tab_builder_null(b) : tab_builder_number(b, (double)(i * 7919 % 1777));
    cr_assert(tab_builder_finish(b, &c));
    tab_reading r;
    tab_summary s;
    cr_assert(tab_read_column(a, &c, N, &r));
    cr_assert(tab_summarize(&r, &s));
    cr_expect_eq(s.nulls, 273);
    cr_expect(!s.whole && s.n == TAB_SAMPLE);
    double d = tab_summary_distinct(&s);
    cr_expect(d > 1400 && d < 2100, "1620 or so distinct values, estimated %g", d);
}

Test(checks, know_their_own_and_no_others)
{
    static const struct {
        const char *text;
        int check;
        bool want;
    } cases[] = {
        { "4111111111111111", TAB_CHECK_CARD, true },
        { "4111111111111112", TAB_CHECK_CARD, false },
        { "4111 1111 1111 1111", TAB_CHECK_CARD, true },
        { "DE89 3704 0044 0532 0130 00", TAB_CHECK_IBAN, true },
        { "DE89370400440532013001", TAB_CHECK_IBAN, false },
        { "9780306406157", TAB_CHECK_ISBN, true },
        { "0-306-40615-2", TAB_CHECK_ISBN, true },
        { "0-306-40615-3", TAB_CHECK_ISBN, false },
        { "4006381333931", TAB_CHECK_GTIN, true },
        { "1HGCM82633A004352", TAB_CHECK_VIN, true },
        { "1HGCM82633A004353", TAB_CHECK_VIN, false },
        { "490154203237518", TAB_CHECK_IMEI, true },
        { "US0378331005", TAB_CHECK_ISIN, true },
        { "US0378331006", TAB_CHECK_ISIN, false },
        { "5493001KJTIIGC8Y1R12", TAB_CHECK_LEI, true },
        { "12345678Z", TAB_CHECK_NATIONAL, true },
        { "12345678A", TAB_CHECK_NATIONAL, false },
        { "529.982.247-25", TAB_CHECK_NATIONAL, true },
        { "44051401359", TAB_CHECK_NATIONAL, true },
        { "11.222.333/0001-81", TAB_CHECK_TAX, true },
        { "IT00743110157", TAB_CHECK_TAX, true },
        { "ESB12345674", TAB_CHECK_TAX, true },
        { "IT001E12345678", TAB_CHECK_TAX, false }, /* a point of delivery of power */
        { "PL20240017", TAB_CHECK_TAX, false },
        { "1234567893", TAB_CHECK_NPI, true },
        { "192.168.1.1", TAB_CHECK_IPV4, true },
        { "192.168.1.256", TAB_CHECK_IPV4, false },
        { "2001:db8::1", TAB_CHECK_IPV6, true },
        { "12:30:45", TAB_CHECK_IPV6, false },
        { "00:1A:2B:3C:4D:5E", TAB_CHECK_MAC, true },
        { "a@b.com", TAB_CHECK_EMAIL, true },
        { "a@b", TAB_CHECK_EMAIL, false },
        { "https://example.com/x", TAB_CHECK_URL, true },
        { "example.co.uk", TAB_CHECK_DOMAIN, true },
        { "3.14", TAB_CHECK_DOMAIN, false },
        { "{\"a\": [1, 2]}", TAB_CHECK_JSON, true },
        { "{a", TAB_CHECK_JSON, false },
        { "(555) 123-4567", TAB_CHECK_PHONE, true },
        { "2019-05-31", TAB_CHECK_PHONE, false },
        { "2019-05-21 14-03", TAB_CHECK_PHONE, false },
        { "1559304000", TAB_CHECK_PHONE, false },
        { "12345-12345-1234", TAB_CHECK_PHONE, false }, /* fourteen digits, of no country */
        { "00 49 30 1234 5678", TAB_CHECK_PHONE, true },
        { "4155550123", TAB_CHECK_PHONE_NANP, true },
        { "(415) 555-0123", TAB_CHECK_PHONE_NANP, true },
        { "415:555:0123", TAB_CHECK_PHONE_NANP, false },
        { "14155550123", TAB_CHECK_PHONE_NANP, true },
        { "4151550123", TAB_CHECK_PHONE_NANP, false }, /* no exchange begins with 1 */
        { "4115550123", TAB_CHECK_PHONE_NANP, false }, /* directory enquiries */
        { "13812345678", TAB_CHECK_PHONE_MOBILE, true },
        { "12812345678", TAB_CHECK_PHONE_MOBILE, false },
        { "0612345678", TAB_CHECK_PHONE_TRUNK, true },
        { "0061234567", TAB_CHECK_PHONE_TRUNK, false },
        { "4915123456789", TAB_CHECK_PHONE_ABROAD, true },
        { "00447911123456", TAB_CHECK_PHONE_ABROAD, true },
        { "2915123456789", TAB_CHECK_PHONE_ABROAD, false },
        { "0612345678x", TAB_CHECK_PHONE_TRUNK, false },
        { "GB12ABCD1234567890123", TAB_CHECK_IBAN_SHAPE, true }, /* a digit short, check digits wrong */
        { "GB12ABCD1234567890123", TAB_CHECK_IBAN, false },
        { "US12ABCD1234567890123", TAB_CHECK_IBAN_SHAPE, false },
        { "RSSMRA85T10A562S", TAB_CHECK_FISCAL, true },
        { "RSSMRA85T10A5621", TAB_CHECK_FISCAL, false },
        { "123-45-6789", TAB_CHECK_SSN, true },
        { "000-45-6789", TAB_CHECK_SSN, false },
        { "AB12 CDE", TAB_CHECK_PLATE_FORM, true },
        { "AB1 2CDE", TAB_CHECK_PLATE_FORM, false },
        { "12 Hill Rd", TAB_CHECK_STREET, true },
        { "Lindenstra\xc3\x9f"
          "e 4",
          TAB_CHECK_STREET, true },
        { "Via Roma, 3", TAB_CHECK_STREET, true },
        { "\xd1\x83\xd0\xbb. \xd0\x9b\xd0\xb5\xd0\xbd\xd0\xb8\xd0\xbd\xd0\xb0, \xd0\xb4. 5", TAB_CHECK_STREET,
          true },
        { "Ring of Kerry", TAB_CHECK_STREET, false },
        { "2019-05-31", TAB_CHECK_STREET, false },
        { "(030) 123-4567", TAB_CHECK_RANGE, false },
        { "18-24", TAB_CHECK_RANGE, true },
        { "195662009", TAB_CHECK_SNOMED, true },
        { "195662008", TAB_CHECK_SNOMED, false },
        { "462371000124108", TAB_CHECK_SNOMED, true },
        { "019566200", TAB_CHECK_SNOMED, false },
        { "0102000N0AAABAB", TAB_CHECK_BNF, true },
        { "0102000N0AAABA", TAB_CHECK_BNF, false },
        { "9102000N0AAABAB", TAB_CHECK_BNF, false },
        { "541511", TAB_CHECK_NAICS, true },
        { "991511", TAB_CHECK_NAICS, false },
        { "DEUTDEFF", TAB_CHECK_BIC, true },
        { "DEUTDEFF500", TAB_CHECK_BIC, true },
        { "DEUTQQFF", TAB_CHECK_BIC, false },
        { "[\"Sedan\", \"SUV\"]", TAB_CHECK_ARRAY, true },
        { "[\"Sedan\", \"SUV\"]", TAB_CHECK_JSON, false },
        { "{Trailers,Commentaries}", TAB_CHECK_ARRAY, true },
        { "[{\"a\": 1}]", TAB_CHECK_JSON, true },
        { "[{\"a\": 1}]", TAB_CHECK_ARRAY, false },
        { "[a", TAB_CHECK_ARRAY, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(tab_checks_of(tab_str_of(cases[i].text)) >> cases[i].check & 1, cases[i].want, "%s",
                     cases[i].text);
}

Test(roles, are_listed_once)
{
    for (int i = 0; i < TAB_ROLES; i++)
        cr_expect_eq(tab_role_of(tab_str_of(tab_role_names[i])), i);
    cr_expect_eq(tab_role_of(TAB_S("nonsense")), -1);
}

/* What stands for "missing" is told, and is no category; a code that looks like a mark is a code. */
Test(profile, tells_marks_of_missing_cells)
{
    static const char *const state[] = { "open", "closed", "?",      "open", "closed", "N/A",  "open",
                                         NULL,   "open",   "closed", "open", "closed", "open", "open" };
    static const char *const depth[] = { "12.5", "13.1", "-999", "11.2", "9.8", "10.4", "-999",
                                         "12.2", "11.9", "n/a",  "10.1", "9.9", "13.3", "12.8" };
    static const char *const country[] = { "DE", "US", "NA", "FR", "IT", "ES", "PT",
                                           "PL", "NL", "BE", "AT", "CH", "DK", "SE" };
    static const char *const nothing[] = { "?", "N/A", "?", "?", "-", "?", "?",
                                           "?", "?",   "?", "?", "?", "?", NULL };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 26);
    tab_column c[] = { column_of(a, "a", state, 14), column_of(a, "b", depth, 14),
                       column_of(a, "c", country, 14), column_of(a, "d", nothing, 14) };
    tab_profile *p = profile_of(a, c, 4, 14);
    static const struct {
        size_t n, levels;
        const char *mark[3];
    } want[] = { { 2, 2, { "?", "N/A" } },
                 { 2, 0, { "n/a", "-999" } },
                 { 0, 14, { NULL } },
                 { 3, 0, { "?", "N/A", "-" } } };
    for (size_t k = 0; k < 4; k++) {
        cr_assert_eq(p->col[k].marks, want[k].n, "column %zu: %zu marks", k, p->col[k].marks);
        for (size_t i = 0; i < want[k].n; i++)
            cr_expect(tab_str_is(p->col[k].mark[i], want[k].mark[i]), "column %zu: %.*s", k,
                      TAB_STR(p->col[k].mark[i]));
        if (p->col[k].type != TAB_NUMERIC)
            cr_expect_eq(p->col[k].levels, want[k].levels, "column %zu: %zu levels", k, p->col[k].levels);
    }
    cr_expect_eq(p->col[3].role, TAB_ROLE_EMPTY);
}

/* A number of `digits` digits, evenly drawn by a plain generator. */
static double digits_of(uint64_t *s, int digits)
{
    *s = *s * 6364136223846793005ULL + 1442695040888963407ULL;
    return floor(pow(10, digits - 1) * (1 + 9 * ((double)(*s >> 11) / 0x1p53)));
}

/* Decision 0262: prefixes, lengths and check digits decide what bare digits are, not their size. */
Test(profile, takes_big_numbers_for_what_their_digits_prove)
{
    enum { ROWS = 200, COLS = 11 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    static const char *const name[COLS] = { "s",      "ms",     "us",     "ns",      "ids 10", "ids 11",
                                            "ids 12", "ids 13", "ids 16", "dollars", "phones" };
    tab_column c[COLS];
    uint64_t s = 9;
    for (int j = 0; j < COLS; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(name[j]));
        for (int i = 0; i < ROWS; i++) {
            double x = 1.7e9 + digits_of(&s, 8); /* of one year */
            if (j < 4)
                x *= pow(1000, j);
            else if (j < 9)
                x = digits_of(&s, j == 8 ? 16 : 6 + j);
            else if (j == 9)
                x = floor(exp(18 + digits_of(&s, 3) / 150)); /* 130 million to 50 billion */
            else /* 212 555 0000 and on: area codes and exchanges of the North American plan */
                x = (212 + fmod(digits_of(&s, 4), 80) * 8) * 1e7 + 5550000 + fmod(digits_of(&s, 6), 10000);
            tab_builder_number(b, x);
        }
        cr_assert(tab_builder_finish(b, &c[j]));
    }
    tab_profile *p = profile_of(a, c, COLS, ROWS);
    for (int j = 0; j < COLS; j++) {
        const tab_column_profile *q = &p->col[j];
        if (j < 4) {
            cr_expect_eq(q->type, TAB_DATETIME, "%s: %s", name[j], tab_role_names[q->role]);
            /* of 2023 to 2027 whatever the unit */
            cr_expect(q->number != NULL && q->number[0] > 1.69e9 && q->number[0] < 1.8e9, "%s: %g", name[j],
                      q->number == NULL ? 0 : q->number[0]);
        }
        cr_expect_eq(q->pii, j == 10, "%s: %s", name[j], tab_role_names[q->role]);
    }
    cr_expect_eq(p->col[10].role, TAB_ROLE_PHONE, "%s", tab_role_names[p->col[10].role]);
}

/* "10.3.0.0/16" begins as a DOI does and is a network. */
Test(profile, tells_networks_from_names_of_documents)
{
    enum { ROWS = 60 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    tab_builder *net = tab_builder_new(a, TAB_S("a")), *paper = tab_builder_new(a, TAB_S("b"));
    tab_column c[2];
    uint64_t s = 9;
    for (int i = 0; i < ROWS; i++) {
        char text[64];
        snprintf(text, sizeof text, "10.%.0f.%d.0/%d", fmod(digits_of(&s, 4), 250), i % 3, i % 2 ? 16 : 24);
        tab_builder_text(net, tab_arena_copy(a, tab_str_of(text)));
        snprintf(text, sizeof text, "10.%.0f/j.%d", 1000 + digits_of(&s, 4), i);
        tab_builder_text(paper, tab_arena_copy(a, tab_str_of(text)));
    }
    cr_assert(tab_builder_finish(net, &c[0]) && tab_builder_finish(paper, &c[1]));
    tab_profile *p = profile_of(a, c, 2, ROWS);
    cr_expect_eq(p->col[0].role, TAB_ROLE_IP_ADDRESS, "%s", tab_role_names[p->col[0].role]);
    cr_expect_eq(p->col[1].role, TAB_ROLE_DOI, "%s", tab_role_names[p->col[1].role]);
}

/* Seconds since 1970 with a fraction, postal codes that begin with zero, departments "3.1". */
Test(profile, takes_fractions_and_leading_zeros_for_what_they_prove)
{
    enum { ROWS = 200, COLS = 4 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    static const char *const name[COLS] = { "seconds", "milliseconds", "postal", "department" };
    tab_column c[COLS];
    uint64_t s = 5;
    for (int j = 0; j < COLS; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(name[j]));
        for (int i = 0; i < ROWS; i++) {
            char t[40];
            double x = 1.7e9 + digits_of(&s, 8), y = digits_of(&s, 5);
            int n = j == 0   ? snprintf(t, sizeof t, "%.3f", x + fmod(y, 1000) / 1000)
                    : j == 1 ? snprintf(t, sizeof t, "%.1f", x * 1000 + fmod(y, 10) / 10)
                    : j == 2 ? snprintf(t, sizeof t, "%05.0f", 1001 + fmod(y * 7919, 90) * 997)
                             : snprintf(t, sizeof t, "%.0f.%.0f", 1 + fmod(y, 40), 1 + fmod(y, 9));
            tab_builder_text(b, (tab_str){ t, (size_t)n });
        }
        cr_assert(tab_builder_finish(b, &c[j]));
    }
    tab_profile *p = profile_of(a, c, COLS, ROWS);
    for (int j = 0; j < 2; j++) {
        const tab_column_profile *q = &p->col[j];
        cr_expect_eq(q->type, TAB_DATETIME, "%s: %s", name[j], tab_role_names[q->role]);
        cr_expect(q->number != NULL && q->number[0] > 1.69e9 && q->number[0] < 1.8e9);
    }
    cr_expect_eq(p->col[2].role, TAB_ROLE_POSTAL_CODE, "%s", tab_role_names[p->col[2].role]);
    cr_expect_neq(p->col[3].role, TAB_ROLE_ID);
}

Test(profile, reads_uuids_in_braces_and_times_of_races)
{
    enum { ROWS = 120 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    tab_column c[3];
    uint64_t s = 3;
    for (int j = 0; j < 3; j++) {
        tab_builder *b = tab_builder_new(a, TAB_S("x"));
        for (int i = 0; i < ROWS; i++) {
            char t[64];
            unsigned m = (unsigned)digits_of(&s, 8);
            int n = j == 0   ? snprintf(t, sizeof t, "{%08x-9f2e-4%03x-8c1d-%012x}", m, m % 4096, m * 7)
                    : j == 1 ? snprintf(t, sizeof t, "%02u:%02u:%02u", 2 + m % 3, m / 3 % 60, m / 180 % 60)
                             : snprintf(t, sizeof t, "%02u:%02u:%02u", m % 24, m / 24 % 60, m / 1440 % 60);
            tab_builder_text(b, (tab_str){ t, (size_t)n });
        }
        cr_assert(tab_builder_finish(b, &c[j]));
    }
    static const int want[] = { TAB_ROLE_UUID, TAB_ROLE_DURATION, TAB_ROLE_TIME };
    tab_profile *p = profile_of(a, c, 3, ROWS);
    for (int j = 0; j < 3; j++)
        cr_expect_eq(p->col[j].role, want[j], "column %d is %s", j, tab_role_names[p->col[j].role]);
    cr_expect_gt(p->col[0].role_confidence, 0.9);
    cr_expect(p->col[1].number != NULL && p->col[1].number[0] >= 7200 && p->col[1].number[0] < 18000);
}
