#include "common/http/routes.h"
#include "common/security/identity.h"
#include "common/security/secret.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const tab_grant grant = { .org = "org_a",
                                 .key = "key_b",
                                 .plan = "pro",
                                 .scopes = 5,
                                 .key_rpm = 1200,
                                 .org_rpm = 6000,
                                 .endpoint_rpm = 6000,
                                 .cells_per_minute = 50000000,
                                 .endpoint_concurrency = 64,
                                 .batch_concurrency = 4,
                                 .version = 7 };

static tab_identity identity(void)
{
    return (tab_identity){ 1000000, TAB_S("req_1"), TAB_S("POST_RUN"), TAB_S("/v2/run"), TAB_S("-"), grant };
}

Test(session, a_token_has_a_form_of_its_own)
{
    char token[TAB_SESSION_LENGTH + 1], other[TAB_SESSION_LENGTH + 1], key[TAB_SECRET_LENGTH + 1];
    tab_session_new(token);
    tab_session_new(other);
    tab_secret_new(key);
    cr_expect(tab_session_valid(tab_str_of(token)));
    cr_expect_str_neq(token, other);
    cr_expect_not(tab_session_valid(tab_str_of(key)), "a key is no token");
    cr_expect_not(tab_secret_valid(tab_str_of(token)), "and the other way round");
    cr_expect_not(tab_session_valid((tab_str){ token, TAB_SESSION_LENGTH - 1 }));
    token[20] = ';';
    cr_expect_not(tab_session_valid(tab_str_of(token)));
}

Test(session, the_csrf_token_is_of_the_session_and_of_the_secret)
{
    tab_identity_key a, b;
    char hash[65], one[TAB_CSRF_LENGTH + 1], two[TAB_CSRF_LENGTH + 1];
    memset(hash, 'a', 64);
    hash[64] = 0;
    cr_assert(tab_identity_key_set(&a, TAB_S("0123456789abcdef0123456789abcdef")));
    cr_assert(tab_identity_key_set(&b, TAB_S("0123456789abcdef0123456789abcdeX")));
    tab_csrf_token(&a, tab_str_of(hash), one);
    tab_csrf_token(&b, tab_str_of(hash), two);
    cr_expect_eq(strlen(one), TAB_CSRF_LENGTH);
    cr_expect_str_neq(one, two);
    hash[63] = 'b';
    tab_csrf_token(&a, tab_str_of(hash), two);
    cr_expect_str_neq(one, two);
}

Test(grant, is_the_same_after_text)
{
    char text[TAB_GRANT_TEXT];
    tab_grant again;
    size_t n = tab_grant_write(&grant, text, sizeof text);
    cr_assert_str_eq(text, "org_a key_b 5 pro 1200 6000 6000 50000000 64 4 7");
    cr_assert(tab_grant_read((tab_str){ text, n }, &again));
    cr_expect_str_eq(again.plan, "pro");
    cr_expect(again.version == 7 && again.cells_per_minute == 50000000 && again.scopes == 5);
}

Test(grant, refuses_what_is_not_a_grant)
{
    static const char *const bad[] = {
        "",
        "org_a key_b 5 pro 1200 6000 6000 50000000 64 4",
        "org_a key_b 5 pro 1200 6000 6000 50000000 64 4 7 8",
        "org_a key_b 5 pro 1200 6000 6000 50000000 64 4 7 ",
        "org_a key_b  5 pro 1200 6000 6000 50000000 64 4 7",
        "org_a key_b -5 pro 1200 6000 6000 50000000 64 4 7",
        "org_a key_b 5 pro 4294967296 6000 6000 50000000 64 4 7",
        "org_a key_b 5 pro 1 1 1 99999999999999999999 64 4 7",
        "org_a key_b 5 a_plan_of_too_long_a_name 1 1 1 1 64 4 7",
    };
    tab_grant g;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(tab_grant_read(tab_str_of(bad[i]), &g), "%s", bad[i]);
}

Test(identity, verifies_what_was_signed_and_nothing_else)
{
    tab_identity_key k, other;
    tab_identity id = identity(), got;
    char h[TAB_IDENTITY_TEXT];
    cr_assert(tab_identity_key_set(&k, TAB_S("0123456789abcdef0123456789abcdef")));
    cr_assert(tab_identity_key_set(&other, TAB_S("0123456789abcdef0123456789abcdeg")));
    size_t n = tab_identity_sign(&k, &id, h, sizeof h);
    cr_assert_gt(n, 0);
    cr_assert(tab_identity_verify(&k, (tab_str){ h, n }, &got));
    cr_expect(tab_str_eq(got.path, TAB_S("/v2/run")) && tab_str_eq(got.route, TAB_S("POST_RUN")));
    cr_expect_str_eq(got.grant.org, "org_a");

    cr_expect_not(tab_identity_verify(&other, (tab_str){ h, n }, &got), "another secret");
    cr_expect(tab_identity_timely(&got, 1060000), "60 s old is the limit");
    cr_expect_not(tab_identity_timely(&got, 1060001), "replayed later");
    cr_expect_not(tab_identity_timely(&got, 939999), "from the future");
    cr_expect_not(tab_identity_timely(&got, INT64_MAX), "no time at all");
    got.time_ms = INT64_MAX;
    cr_expect_not(tab_identity_timely(&got, INT64_MIN), "nothing overflows");
    got.time_ms = 1000000;
    for (size_t i = 0; i < n; i++) {
        h[i] ^= 1;
        cr_expect_not(tab_identity_verify(&k, (tab_str){ h, n }, &got), "byte %zu", i);
        h[i] ^= 1;
    }
    for (size_t i = 0; i < n; i++)
        cr_expect_not(tab_identity_verify(&k, (tab_str){ h, i }, &got), "cut at %zu", i);
}

Test(identity, cannot_be_made_to_hold_a_second_field)
{
    tab_identity_key k;
    tab_identity id = identity();
    char h[TAB_IDENTITY_TEXT];
    cr_assert(tab_identity_key_set(&k, TAB_S("0123456789abcdef0123456789abcdef")));
    id.path = TAB_S("/v2/run x");
    cr_expect_eq(tab_identity_sign(&k, &id, h, sizeof h), 0);
    id.path = TAB_S("");
    cr_expect_eq(tab_identity_sign(&k, &id, h, sizeof h), 0);
    cr_expect_not(tab_identity_key_set(&k, TAB_S("short")));
}

Test(routes, are_the_specifications)
{
    static const struct {
        const char *method, *path, *param;
        tab_route_id want;
    } cases[] = {
        { "POST", "/v2/run", "", TAB_POST_RUN },
        { "GET", "/v2/data/ds_1", "ds_1", TAB_GET_DATA },
        { "HEAD", "/v2/data/ds_1", "ds_1", TAB_GET_DATA },
        { "GET", "/v2/data/connect", "connect", TAB_GET_DATA },
        { "POST", "/v2/data/connect", "", TAB_POST_DATA_CONNECT },
        { "POST", "/v2/data/generate", "", TAB_POST_DATA_GENERATE },
        { "DELETE", "/v2/endpoints/my-name", "my-name", TAB_DELETE_ENDPOINT },
        { "POST", "/v2/serve/0aZ", "0aZ", TAB_POST_SERVE },
        { "GET", "/v2/openapi", "", TAB_GET_OPENAPI },
        { "PATCH", "/platform/v1/endpoints/e/prompts/sp_1", "e", TAB_PATCH_PROMPT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_route_match m;
        tab_status s = tab_route_find(tab_str_of(cases[i].method), tab_str_of(cases[i].path), &m);
        cr_expect(s == TAB_OK && m.id == cases[i].want, "%s %s", cases[i].method, cases[i].path);
        cr_expect(tab_str_eq(m.param[0], tab_str_of(cases[i].param)), "%s", cases[i].path);
    }
}

Test(routes, refuse_every_other_spelling)
{
    static const char *const paths[] = {
        "",
        "/",
        "/v2",
        "/v2/",
        "/v2/run/",
        "//v2/run",
        "/v2//run",
        "/V2/RUN",
        "/v1/run",
        "/v2/run;a=b",
        "/v2/run%20",
        "/v2/%72un",
        "/v2/jobs/../keys",
        "/v2/jobs/..",
        "/v2/jobs/.",
        "/v2/jobs/",
        "/v2/jobs/a%2f..%2fkeys",
        "/v2/jobs/a\\b",
        "/v2/jobs/a b",
        "/v2/jobs/a'b",
        "/v2/jobs/\xf0\x9f\x98\x80",
        "/internal/authenticate",
    };
    char longer[200] = "/v2/jobs/";
    memset(longer + 9, 'a', 129);
    tab_route_match m;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        cr_expect_eq(tab_route_find(TAB_S("GET"), tab_str_of(paths[i]), &m), TAB_NOT_FOUND, "%s", paths[i]);
    cr_expect_eq(tab_route_find(TAB_S("GET"), tab_str_of(longer), &m), TAB_NOT_FOUND);
    longer[9 + 128] = '\0';
    cr_expect_eq(tab_route_find(TAB_S("GET"), tab_str_of(longer), &m), TAB_OK);
}

Test(routes, name_the_methods_that_a_path_has)
{
    static const struct {
        const char *method, *path, *allow;
    } cases[] = {
        { "PUT", "/v2/keys", "GET, HEAD, POST" },
        { "get", "/v2/keys", "GET, HEAD, POST" },
        { "PATCH", "/v2/endpoints/x", "GET, HEAD, DELETE" },
        { "GET", "/v2/run", "POST" },
        { "GET", "/v2/nothing", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_route_match m;
        tab_str method = tab_str_of(cases[i].method);
        cr_expect_eq(tab_route_find(method, tab_str_of(cases[i].path), &m), TAB_NOT_FOUND);
        cr_expect_str_eq(m.allow, cases[i].allow);
    }
}

Test(secret, has_its_form_and_checksum)
{
    char s[TAB_SECRET_LENGTH + 1], other[TAB_SECRET_LENGTH + 1];
    for (int round = 0; round < 50; round++) {
        tab_secret_new(s);
        cr_assert_eq(strlen(s), TAB_SECRET_LENGTH);
        cr_assert(tab_secret_valid(tab_str_of(s)));
    }
    for (size_t i = 0; i < TAB_SECRET_LENGTH; i++) {
        memcpy(other, s, sizeof s);
        other[i] = other[i] == 'x' ? 'y' : 'x';
        cr_expect_not(tab_secret_valid(tab_str_of(other)), "character %zu changed", i);
    }
    cr_expect_not(tab_secret_valid((tab_str){ s, TAB_SECRET_LENGTH - 1 }));
    cr_expect_not(tab_secret_valid((tab_str){ s, TAB_SECRET_LENGTH + 1 }));
    /* CRC-32 of sk_live_ and 43 zeros is 0x52c1b305, worked out with Python's zlib.crc32. */
    cr_expect(tab_secret_valid(TAB_S("sk_live_00000000000000000000000000000000000000000001Vxh1Z")));
}

Test(secret, shows_prefix_and_last_four)
{
    char s[TAB_SECRET_LENGTH + 1], p[TAB_SECRET_PREVIEW + 1], want[32];
    tab_secret_new(s);
    tab_secret_preview(tab_str_of(s), p);
    snprintf(want, sizeof want, "sk_live_\xe2\x80\xa6%s", s + TAB_SECRET_LENGTH - 4);
    cr_expect_str_eq(p, want);
}

Test(secret, is_read_from_a_bearer_header)
{
    static const struct {
        const char *header, *want; /* NULL: refused */
    } cases[] = {
        { "Bearer x", "x" }, { "bearer  x ", "x" }, { "BEARER x", "x" }, { "Bearer", NULL },
        { "Bearer ", NULL }, { "Basic x", NULL },   { "", NULL },        { "Bearerx", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_str got = { NULL, 0 };
        bool ok = tab_bearer(tab_str_of(cases[i].header), &got);
        cr_expect_eq(ok, cases[i].want != NULL, "%s", cases[i].header);
        if (ok)
            cr_expect(tab_str_eq(got, tab_str_of(cases[i].want)), "%s", cases[i].header);
    }
}
