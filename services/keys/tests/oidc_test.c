/* What of a provider's words is taken. Tokens are signed here by libcjose with keys of the test; the suite of
 * tests/suite/people has them from another implementation. */
#include <cjose/cjose.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/keys/people/oidc.h"

#define AT(place) "\"authorization_endpoint\":\"" place "\",\"jwks_uri\":\"https://i/k\","
#define TOKEN(place) "\"token_endpoint\":\"" place "\""
static const oidc_expected want = {
    "https://login.example.org", "console", "nonce-of-this-sign-in", "groups", 1700000000, NULL
};
static const char CLAIMS[] =
    "{\"iss\":\"https://login.example.org\",\"aud\":\"console\",\"sub\":\"ann\","
    "\"nonce\":\"nonce-of-this-sign-in\",\"iat\":1700000000,\"exp\":1700000300,"
    "\"email\":\"ann@example.org\",\"email_verified\":true,\"groups\":[\"a\",7,\"b\"]}";

static char *signed_token(const cjose_jwk_t *key, const char *alg, const char *claims)
{
    cjose_err e;
    const char *text;
    cjose_header_t *h = cjose_header_new(&e);
    cr_assert(cjose_header_set(h, CJOSE_HDR_ALG, alg, &e) && cjose_header_set(h, CJOSE_HDR_KID, "one", &e));
    cjose_jws_t *jws = cjose_jws_sign(key, h, (const uint8_t *)claims, strlen(claims), &e);
    cr_assert(jws != NULL && cjose_jws_export(jws, &text, &e), "%s", alg);
    char *copy = strdup(text);
    cjose_jws_release(jws);
    cjose_header_release(h);
    return copy;
}

static char *key_set(const cjose_jwk_t *key, const char *more)
{
    cjose_err e;
    char *json = cjose_jwk_to_json(key, false, &e), *set = NULL;
    cr_assert(json != NULL && asprintf(&set, "{\"keys\":[{\"kid\":\"one\"%s,%s]}", more, json + 1) > 0);
    free(json);
    return set;
}

static tab_status verify(tab_arena *a, const char *token, const char *set, oidc_person *who)
{
    tab_error err;
    return oidc_verify(a, tab_str_of(token), tab_str_of(set), &want, who, &err);
}

Test(oidc, takes_each_algorithm_by_a_key_of_its_kind_alone)
{
    cjose_err e;
    cjose_jwk_t *rsa = cjose_jwk_create_RSA_random(2048, (const uint8_t *)"\x01\x00\x01", 3, &e),
                *p256 = cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &e),
                *p384 = cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_384, &e),
                *small = cjose_jwk_create_RSA_random(1024, (const uint8_t *)"\x01\x00\x01", 3, &e);
    cr_assert(rsa != NULL && p256 != NULL && p384 != NULL && small != NULL);
    const struct {
        const cjose_jwk_t *key;
        const char *alg, *more;
        bool good;
    } cases[] = {
        { rsa, "RS256", "", true },
        { rsa, "RS512", ",\"use\":\"sig\"", true },
        { rsa, "PS256", ",\"alg\":\"PS256\"", true },
        { p256, "ES256", "", true },
        { p384, "ES384", "", true },
        { rsa, "RS256", ",\"alg\":\"PS256\"", false },
        { rsa, "RS256", ",\"use\":\"enc\"", false },
        { small, "RS256", "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        oidc_person who;
        char *token = signed_token(cases[i].key, cases[i].alg, CLAIMS),
             *set = key_set(cases[i].key, cases[i].more);
        tab_status s = verify(a, token, set, &who);
        cr_expect_eq(s == TAB_OK, cases[i].good, "%s %s", cases[i].alg, cases[i].more);
        if (s == TAB_OK) {
            cr_expect(tab_str_eq(who.subject, TAB_S("ann")) && who.email_verified && who.n_groups == 2);
            token[strlen(token) - 10] ^= 1; /* one letter of the signature */
            cr_expect_eq(verify(a, token, set, &who), TAB_AUTH_MISSING);
        }
        cr_expect_eq(verify(a, token, "{\"keys\":[]}", &who), TAB_AUTH_MISSING);
        free(token);
        free(set);
    }
    cjose_jwk_release(rsa);
    cjose_jwk_release(p256);
    cjose_jwk_release(p384);
    cjose_jwk_release(small);
}

Test(oidc, never_verifies_with_a_symmetric_key)
{
    cjose_err e;
    static const uint8_t secret[32] = "0123456789abcdef0123456789abcde";
    cjose_jwk_t *oct = cjose_jwk_create_oct_spec(secret, sizeof secret, &e);
    char *token = signed_token(oct, "HS256", CLAIMS);
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    oidc_person who;
    char *set = NULL, *json = cjose_jwk_to_json(oct, true, &e);
    cr_assert(asprintf(&set, "{\"keys\":[{\"kid\":\"one\",%s]}", json + 1) > 0);
    cr_expect_eq(verify(a, token, set, &who), TAB_AUTH_MISSING, "not even with the key in the issuer's set");
    free(set);
    free(json);
    free(token);
    cjose_jwk_release(oct);
}

Test(oidc, takes_no_token_that_libcjose_asserts)
{
    cjose_err e;
    cjose_jwk_t *key = cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &e);
    char *token = signed_token(key, "ES256", CLAIMS), *set = key_set(key, "");
    size_t n = strlen(token);
    TAB_AUTO(tab_arena) *a = tab_arena_new(4 << 20);
    oidc_person who;
    for (size_t at = 0; at < n; at += 7) /* padding, a letter of another alphabet, a dot; anywhere */
        for (const char *c = "=+. "; *c != 0; c++) {
            char was = token[at];
            token[at] = *c;
            cr_expect(was == *c || verify(a, token, set, &who) == TAB_AUTH_MISSING, "%zu %c", at, *c);
            token[at] = was;
        }
    for (size_t less = 1; less < 5; less++) {
        char was = token[n - less];
        token[n - less] = 0;
        cr_expect_eq(verify(a, token, set, &who), TAB_AUTH_MISSING, "%zu letters fewer", less);
        token[n - less] = was;
    }
    cr_expect_eq(verify(a, token,
                        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"one\","
                        "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
                        "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}",
                        &who),
                 TAB_AUTH_MISSING);
    free(token);
    free(set);
    cjose_jwk_release(key);
}

Test(oidc, reads_of_an_issuer_what_a_sign_in_needs)
{
    static const struct {
        const char *text;
        bool good, post;
    } cases[] = {
        { "{\"issuer\":\"https://i\"," AT("https://i/a") TOKEN("https://i/t") "}", true, false },
        { "{\"issuer\":\"https://i\"," AT("https://i/a")
              TOKEN("https://i/t") ",\"token_endpoint_auth_methods_supported\":[\"client_secret_post\"]}",
          true, true },
        { "{\"issuer\":\"https://j\"," AT("https://i/a") TOKEN("https://i/t") "}", false, false },
        { "{\"issuer\":\"https://i\"," AT("javascript:alert(1)") TOKEN("https://i/t") "}", false, false },
        { "{\"issuer\":\"https://i\"," AT("https://i/a") TOKEN("http://i/t") "}", false, false },
        { "{\"issuer\":\"https://i\"," AT("https://i/a#x") TOKEN("https://i/t") "}", false, false },
        { "{\"issuer\":\"https://i\"," AT("https://i/a") "\"x\":1}", false, false },
        { "[]", false, false },
        { "{\"issuer\":\"https://i\",\"issuer\":\"https://i\"}", false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
        oidc_issuer found;
        tab_error err;
        tab_status s = oidc_read_issuer(a, tab_str_of(cases[i].text), "https://i", &found, &err);
        cr_expect_eq(s == TAB_OK, cases[i].good, "case %zu", i);
        cr_expect(s != TAB_OK || found.post == cases[i].post);
    }
}
