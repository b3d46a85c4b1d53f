/* The parts of protocols that are computed: BSON, SCRAM-SHA-256, signed tokens, cells of warehouses; held
 * against published examples and against OpenSSL. */
#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sodium.h>
#include <stdio.h>

#include "services/data-connector/data.h"
#include "services/data-connector/protocols/bson.h"
#include "services/data-connector/protocols/jwt.h"
#include "services/data-connector/protocols/scram.h"
#include "services/data-connector/providers/array_rows.h"
#include "services/data-connector/providers/json_api.h"

static tab_arena *arena(void)
{
    tab_arena *a = tab_arena_new(64 << 20);
    cr_assert_not_null(a);
    return a;
}

/* ---- SCRAM -------------------------------------------------------------------------------------------- */

Test(scram, is_that_of_rfc_7677)
{
    TAB_AUTO(tab_arena) *a = arena();
    tab_str said;
    scram s;
    cr_assert_eq(scram_first(&s, a, "user", "pencil", "rOprNGfwEbeRWgbNEkqO", &said, NULL), TAB_OK);
    cr_expect(tab_str_eq(said, TAB_S("n,,n=user,r=rOprNGfwEbeRWgbNEkqO")));
    tab_str server =
        TAB_S("r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
    cr_assert_eq(scram_last(&s, server, &said, NULL), TAB_OK);
    cr_expect(tab_str_eq(said, TAB_S("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
                                     "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")),
              "%.*s", TAB_STR(said));
    cr_expect(scram_proven(&s, TAB_S("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")));
    cr_expect(!scram_proven(&s, TAB_S("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")));
    cr_expect(!scram_proven(&s, TAB_S("e=invalid-proof")));
    cr_expect(!scram_proven(&s, TAB_S("")));
}

Test(scram, names_are_escaped_and_passwords_prepared)
{
    TAB_AUTO(tab_arena) *a = arena();
    tab_str said;
    scram s;
    cr_assert_eq(scram_first(&s, a, "a=b,c", "x", "n", &said, NULL), TAB_OK);
    cr_expect(tab_str_eq(said, TAB_S("n,,n=a=3Db=2Cc,r=n")));
    cr_assert_eq(scram_first(&s, a, "u", "I\xe2\x85\xa8", "n", &said, NULL), TAB_OK); /* a roman nine */
    cr_expect_str_eq(s.password, "IIX");
    tab_error err = { 0 };
    cr_expect_eq(scram_first(&s, a, "u", "a\nb", "n", &said, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "credentials");
}

Test(scram, a_server_that_wants_something_else_is_refused)
{
    TAB_AUTO(tab_arena) *a = arena();
    static const char *const wrong[] = { "",
                                         "r=",
                                         "r=abc,s=AAAA,i=4096" /* nothing added to the nonce */,
                                         "r=xbcd,s=AAAA,i=4096",
                                         "r=abcd,s=AAAA,i=4095",
                                         "r=abcd,s=AAAA,i=1000001",
                                         "r=abcd,s=AAAA,i=99999999999999999999",
                                         "r=abcd,s=*,i=4096",
                                         "r=abcd,i=4096",
                                         "m=ext,r=abcd,s=AAAA,i=4096" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tab_str said;
        scram s;
        tab_error err = { 0 };
        cr_assert_eq(scram_first(&s, a, "u", "p", "abc", &said, NULL), TAB_OK);
        cr_expect_eq(scram_last(&s, tab_str_of(wrong[i]), &said, &err), TAB_VALIDATION, "%s", wrong[i]);
        cr_expect_str_eq(err.param, "source");
    }
}

/* ---- BSON --------------------------------------------------------------------------------------------- */

static void json_is(const void *bytes, size_t n, const char *want)
{
    tab_out o = { 0 };
    tab_str d;
    bool good = bson_document((tab_str){ bytes, n }, &d) && bson_to_json(&o, d);
    cr_expect_eq(good, want != NULL, "%s", want != NULL ? want : "refused");
    if (good && want != NULL)
        cr_expect(tab_str_eq(tab_out_text(&o), tab_str_of(want)), "%.*s, not %s", (int)o.n, o.p, want);
    tab_out_free(&o);
}

Test(bson, examples_of_the_specification)
{
    json_is("\x16\0\0\0\x02hello\0\x06\0\0\0world\0\0", 22, "{\"hello\":\"world\"}");
    json_is("\x31\0\0\0\x04"
            "BSON\0\x26\0\0\0\x02\x30\0\x08\0\0\0awesome\0\x01\x31\0\x33\x33\x33\x33\x33\x33\x14\x40\x10\x32"
            "\0\xc2\x07\0\0\0\0",
            49, "{\"BSON\":[\"awesome\",5.05,1986]}");
    json_is("\x05\0\0\0\0", 5, "{}");
    json_is("\x10\0\0\0\x02x\0\x04\0\0\0a\0b\0\0", 16, "{\"x\":\"bytes(3)\"}");
}

Test(bson, decimals_keep_their_digits)
{
    static const struct {
        uint64_t high, low;
        const char *want;
    } cases[] = {
        { 0x3040000000000000, 0, "{\"d\":0}" },
        { 0x303c000000000000, 1250, "{\"d\":12.50}" },
        { 0xb03c000000000000, 1, "{\"d\":-0.01}" },
        { 0x3040000000000000 - (20ULL << 49), UINT64_C(12345678901234567891),
          "{\"d\":0.12345678901234567891}" },
        { 0x3041ed09bead87c0, 0x378d8e63ffffffff, "{\"d\":9999999999999999999999999999999999}" },
        { 0x3041ed09bead87c0, 0x378d8e6400000000, "{\"d\":0}" }, /* one digit too many: zero, says IEEE 754 */
        { 0x3046000000000000, 5, "{\"d\":5E3}" },
        { 0x7800000000000000, 0, "{\"d\":null}" },
        { 0x7c00000000000000, 0, "{\"d\":null}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[24] = "\x18\0\0\0\x13"
                            "d";
        for (int k = 0; k < 8; k++) {
            bytes[7 + k] = (uint8_t)(cases[i].low >> (8 * k));
            bytes[15 + k] = (uint8_t)(cases[i].high >> (8 * k));
        }
        json_is(bytes, sizeof bytes, cases[i].want);
    }
}

Test(bson, what_lies_about_its_length_is_refused)
{
    json_is("\x16\0\0\0\x02hello\0\x07\0\0\0world\0\0", 22, NULL);
    json_is("\x16\0\0\0\x02hello\0\xff\xff\xff\xffworld\0\0", 22, NULL);
    json_is("\x17\0\0\0\x02hello\0\x06\0\0\0world\0\0", 22, NULL);
    json_is("\x16\0\0\0\x02hello\0\x06\0\0\0worldx\0", 22, NULL);
    json_is("\x0c\0\0\0\x77x\0\0\0\0\0\0", 12, NULL); /* an unknown type */
    json_is("\x04\0\0\0", 4, NULL);
    json_is("\x08\0\0\0\x0a"
            "ab",
            8, NULL); /* a name without end */
}

Test(bson, a_filter_goes_there_and_back)
{
    TAB_AUTO(tab_arena) *a = arena();
    static const struct {
        const char *text, *want; /* NULL: refused */
    } cases[] = {
        { "{\"a\":{\"$in\":[1,2.5,\"x\",null,true]}}", "{\"a\":{\"$in\":[1,2.5,\"x\",null,true]}}" },
        { "{\"n\":3000000000,\"m\":-1}", "{\"n\":3000000000,\"m\":-1}" },
        { "{\"_id\":{\"$oid\":\"65a1b2c3d4e5f60718293a4b\"}}", "{\"_id\":\"65a1b2c3d4e5f60718293a4b\"}" },
        { "{\"t\":{\"$date\":\"2026-01-31T12:30:00.250Z\"}}", "{\"t\":\"2026-01-31T12:30:00.25Z\"}" },
        { "{\"t\":{\"$date\":\"2026-01-31T12:30:00Z\"}}", "{\"t\":\"2026-01-31T12:30:00Z\"}" },
        { "{\"n\":{\"$numberLong\":\"5\"}}", "{\"n\":5}" },
        { "{\"_id\":{\"$oid\":\"65a1\"}}", NULL },
        { "{\"_id\":{\"$oid\":\"65a1b2c3d4e5f60718293a4x\"}}", NULL },
        { "{\"t\":{\"$date\":\"yesterday\"}}", NULL },
        { "{\"$where\":\"1\"}", NULL },
        { "{\"a\":[{\"$function\":{}}]}", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tab_json *f;
        const char *bad = NULL;
        bson_writer w = { 0 };
        tab_str text = tab_arena_copy(a, tab_str_of(cases[i].text));
        cr_assert_eq(tab_json_read(a, text, 16, &f, NULL), TAB_OK);
        bool good = bson_json(&w, NULL, f, &bad);
        cr_expect_eq(good, cases[i].want != NULL, "%s", cases[i].text);
        if (good && cases[i].want != NULL)
            json_is(w.out.p, w.out.n, cases[i].want);
        cr_expect(good || bad != NULL);
        tab_out_free(&w.out);
    }
}

/* ---- signed tokens ------------------------------------------------------------------------------------ */

static EVP_PKEY *made(int bits, char **ret_pem)
{
    EVP_PKEY *key = EVP_RSA_gen((unsigned)bits);
    BIO *b = BIO_new(BIO_s_mem());
    char *text;
    cr_assert(key != NULL && PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL) == 1);
    long n = BIO_get_mem_data(b, &text);
    *ret_pem = strndup(text, (size_t)n);
    BIO_free(b);
    return key;
}

Test(jwt, a_token_is_signed_so_that_the_public_key_tells)
{
    TAB_AUTO(tab_arena) *a = arena();
    char *pem;
    EVP_PKEY *own = made(2048, &pem);
    jwt_key *key;
    const char *token, *again, *print;
    uint8_t signature[512];
    size_t n;
    cr_assert_eq(jwt_key_read(a, pem, "x", &key, NULL), TAB_OK);
    for (char *p = pem; *p != '\0'; p++) /* as a form may send it */
        *p = *p == '\n' ? ' ' : *p;
    cr_assert_eq(jwt_key_read(a, pem, "x", &key, NULL), TAB_OK);
    cr_assert_eq(jwt_sign(a, key, "k1", TAB_S("{\"iss\":\"me\"}"), &token, NULL), TAB_OK);
    cr_assert_eq(jwt_sign(a, key, "k1", TAB_S("{\"iss\":\"me\"}"), &again, NULL), TAB_OK);
    cr_expect_str_eq(token, again);
    const char head[] = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImsxIn0.eyJpc3MiOiJtZSJ9.";
    cr_assert_eq(strncmp(token, head, sizeof head - 1), 0, "%s", token);
    const char *last = strrchr(token, '.');
    cr_assert_eq(sodium_base642bin(signature, sizeof signature, last + 1, strlen(last + 1), NULL, &n, NULL,
                                   sodium_base64_VARIANT_URLSAFE_NO_PADDING),
                 0);
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    cr_assert_eq(EVP_DigestVerifyInit(c, NULL, EVP_sha256(), NULL, own), 1);
    cr_expect_eq(EVP_DigestVerify(c, signature, n, (const unsigned char *)token, (size_t)(last - token)), 1);
    EVP_MD_CTX_free(c);
    cr_assert_eq(jwt_fingerprint(a, key, &print, NULL), TAB_OK);
    cr_expect(strncmp(print, "SHA256:", 7) == 0 && strlen(print) == 7 + 44, "%s", print);
    EVP_PKEY_free(own);
    free(pem);
}

Test(jwt, what_is_no_key_is_refused)
{
    TAB_AUTO(tab_arena) *a = arena();
    char *small;
    EVP_PKEY *own = made(1024, &small);
    const char *const wrong[] = { "",
                                  "x",
                                  "-----BEGIN PRIVATE KEY-----",
                                  "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
                                  "-----BEGIN PRIVATE KEY-----\n*\n-----END PRIVATE KEY-----",
                                  "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END",
                                  small };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        jwt_key *key;
        tab_error err = { 0 };
        cr_expect_eq(jwt_key_read(a, wrong[i], "credentials.private_key", &key, &err), TAB_VALIDATION);
        cr_expect_str_eq(err.param, "credentials.private_key");
    }
    EVP_PKEY_free(own);
    free(small);
}

/* ---- cells of warehouses ------------------------------------------------------------------------------ */

static void number_cell(tab_builder *b, int type, tab_str text)
{
    (void)type;
    array_number(b, text);
}

Test(array_rows, numbers_are_what_databases_write)
{
    TAB_AUTO(tab_arena) *a = arena();
    array_rows r;
    const tab_table *t;
    cr_assert_eq(array_rows_new(a, 1, number_cell, &r, NULL), TAB_OK);
    cr_assert_eq(array_rows_column(&r, TAB_S("x"), 0, NULL), TAB_OK);
    tab_str text =
        TAB_S("[[\"7\"],[12.5],[\"-1.5E3\"],[\"NaN\"],[\"-Infinity\"],[null],[\"9007199254740993\"],"
              "[\"0.12345678901234567891\"],[\"12:30\"],[\"\"]]");
    cr_assert_eq(array_rows_read(&r, text, NULL), TAB_OK);
    cr_assert_eq(array_rows_finish(&r, TAB_S("t"), &t, NULL), TAB_OK);
    static const struct {
        tab_cell_kind kind;
        const char *text;
        double num;
    } want[] = { { TAB_CELL_NUMBER, NULL, 7 },
                 { TAB_CELL_NUMBER, NULL, 12.5 },
                 { TAB_CELL_NUMBER, NULL, -1500 },
                 { TAB_CELL_NULL, NULL, 0 },
                 { TAB_CELL_NULL, NULL, 0 },
                 { TAB_CELL_NULL, NULL, 0 },
                 { TAB_CELL_NUMBER, "9007199254740993", 9007199254740992.0 },
                 { TAB_CELL_NUMBER, "0.12345678901234567891", 0.12345678901234567891 },
                 { TAB_CELL_TEXT, "12:30", 0 },
                 { TAB_CELL_TEXT, "", 0 } };
    cr_assert_eq(t->rows, sizeof want / sizeof *want);
    for (size_t i = 0; i < t->rows; i++) {
        tab_cell c = tab_cell_at(&t->col[0], i);
        cr_expect_eq(c.kind, want[i].kind, "row %zu", i);
        if (want[i].text != NULL)
            cr_expect(tab_str_eq(c.text, tab_str_of(want[i].text)), "row %zu", i);
        if (c.kind == TAB_CELL_NUMBER)
            cr_expect_float_eq(c.num, want[i].num, 1e-9, "row %zu", i);
    }
}

Test(array_rows, what_is_no_table_is_refused)
{
    TAB_AUTO(tab_arena) *a = arena();
    static const char *const wrong[] = { "",       "{}",      "[",        "[[]",     "[[1,2]]",
                                         "[[1]]x", "[[1],2]", "[[1],[]]", "[\"a\"]", "[[\"\\u0000\"]]",
                                         "[[1]" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        array_rows r;
        tab_error err = { 0 };
        cr_assert_eq(array_rows_new(a, 1, number_cell, &r, NULL), TAB_OK);
        cr_assert_eq(array_rows_column(&r, TAB_S("x"), 0, NULL), TAB_OK);
        tab_status s = array_rows_read(&r, tab_arena_copy(a, tab_str_of(wrong[i])), &err);
        cr_expect_eq(s, TAB_VALIDATION, "%s", wrong[i]);
    }
    array_rows r;
    cr_expect_eq(array_rows_new(a, 0, number_cell, &r, NULL), TAB_VALIDATION);
    cr_expect_eq(array_rows_new(a, DATA_MOST_COLS + 1, number_cell, &r, NULL), TAB_VALIDATION);
}

Test(array_rows, times_are_taken_apart)
{
    static const struct {
        const char *text;
        bool good;
        int64_t seconds;
        uint32_t nanos;
    } cases[] = { { "1611871142.250000000", true, 1611871142, 250000000 },
                  { "-0.500000000", true, -1, 500000000 },
                  { "-1.000000000", true, -1, 0 },
                  { "1616173619.000000000 960", true, 1616173619, 0 },
                  { "12", true, 12, 0 },
                  { "1.0000000001", false, 0, 0 },
                  { "1.x", false, 0, 0 },
                  { "x", false, 0, 0 },
                  { "", false, 0, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t s = 0;
        uint32_t n = 0;
        cr_expect_eq(array_seconds(tab_str_of(cases[i].text), &s, &n), cases[i].good, "%s", cases[i].text);
        if (cases[i].good)
            cr_expect(s == cases[i].seconds && n == cases[i].nanos, "%s: %lld.%u", cases[i].text,
                      (long long)s, n);
    }
    char out[64];
    cr_expect_eq(array_instant_text(out, INT64_C(253402300800), 0, true), 0); /* the year 10000 */
    cr_expect_eq(array_instant_text(out, INT64_MAX, 0, true), 0);
    size_t n = array_instant_text(out, 0, 120000, true);
    cr_expect(tab_str_eq((tab_str){ out, n }, TAB_S("1970-01-01T00:00:00.00012Z")));
}

/* ---- what goes into requests -------------------------------------------------------------------------- */

Test(json_api, a_link_is_https_and_names_no_user)
{
    TAB_AUTO(tab_arena) *a = arena();
    http_request q = { 0 };
    cr_assert(api_link(a, "https://store.example.com:8443/a/b?x=1&y=2", &q));
    cr_expect(strcmp(q.host, "store.example.com") == 0 && q.port == 8443 && strcmp(q.path, "/a/b") == 0 &&
              strcmp(q.query, "x=1&y=2") == 0);
    static const char *const wrong[] = { "http://store.example.com/",
                                         "https://u:p@store.example.com/",
                                         "https://[::1]/",
                                         "file:///etc/passwd",
                                         "//x",
                                         "",
                                         "gopher://x/" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect(!api_link(a, wrong[i], &q), "%s", wrong[i]);
}

Test(json_api, names_are_quoted)
{
    TAB_AUTO(tab_arena) *a = arena();
    const char *inner;
    cr_expect_str_eq(api_quoted(a, "a\"b", '"'), "\"a\"\"b\"");
    cr_expect_str_eq(api_quoted(a, "a`; DROP", '`'), "`a``; DROP`");
    cr_assert_eq(api_subquery(a, "SELECT 1 ; \n;", &inner, NULL), TAB_OK);
    cr_expect_str_eq(inner, "SELECT 1");
    cr_expect_eq(api_subquery(a, " ;", &inner, NULL), TAB_VALIDATION);
}
