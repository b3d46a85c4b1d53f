#include "services/data-connector/protocols/sigv4.h"

#include <criterion/criterion.h>

#include "common/security/crypto.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const char *signature(tab_arena *a, const sigv4_key *k, const sigv4_request *q)
{
    const char *all = sigv4_authorization(a, k, q), *at = all == NULL ? NULL : strstr(all, "Signature=");
    return at == NULL ? "" : at + strlen("Signature=");
}

/* The vectors of AWS's Signature Version 4 test suite. */
Test(sigv4, equals_the_published_vectors)
{
    static const sigv4_key key = { "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1",
                                   "service" };
    static const http_pair header[] = { { "host", "example.amazonaws.com" },
                                        { "x-amz-date", "20150830T123600Z" } };
    static const struct {
        const char *name, *method, *path;
        http_pair pair[4];
        size_t n;
        const char *want;
    } cases[] = {
        { "get-vanilla",
          "GET",
          "/",
          { { 0 } },
          0,
          "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
        { "post-vanilla",
          "POST",
          "/",
          { { 0 } },
          0,
          "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b" },
        { "get-vanilla-query-order-key-case",
          "GET",
          "/",
          { { "Param2", "value2" }, { "Param1", "value1" } },
          2,
          "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
        { "get-vanilla-utf8-query",
          "GET",
          "/",
          { { "\xe1\x88\xb4", "bar" } },
          1,
          "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04" },
        { "get-unreserved",
          "GET",
          "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
          { { 0 } },
          0,
          "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        sigv4_request q = {
            cases[i].method, cases[i].path,     http_query(a, cases[i].pair, cases[i].n), header, 2,
            EMPTY,           "20150830T123600Z"
        };
        cr_expect_str_eq(signature(a, &key, &q), cases[i].want, "%s", cases[i].name);
    }
}

/* The examples of Amazon S3's documentation of the Authorization header. */
Test(sigv4, equals_the_documentation_of_s3)
{
    static const sigv4_key key = { "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                                   "us-east-1", "s3" };
    static const http_pair plain[] = { { "host", "examplebucket.s3.amazonaws.com" },
                                       { "x-amz-content-sha256", EMPTY },
                                       { "x-amz-date", "20130524T000000Z" } },
                           range[] = { { "host", "examplebucket.s3.amazonaws.com" },
                                       { "range", "bytes=0-9" },
                                       { "x-amz-content-sha256", EMPTY },
                                       { "x-amz-date", "20130524T000000Z" } };
    static const http_pair lifecycle[] = { { "lifecycle", "" } },
                           list[] = { { "prefix", "J" }, { "max-keys", "2" } };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    sigv4_request get = { "GET", "/test.txt", "", range, 4, EMPTY, "20130524T000000Z" };
    cr_expect_str_eq(signature(a, &key, &get),
                     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    sigv4_request one = { "GET", "/", http_query(a, lifecycle, 1), plain, 3, EMPTY, "20130524T000000Z" };
    cr_expect_str_eq(signature(a, &key, &one),
                     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    sigv4_request two = { "GET", "/", http_query(a, list, 2), plain, 3, EMPTY, "20130524T000000Z" };
    cr_expect_str_eq(signature(a, &key, &two),
                     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

/* Sorting what is not encoded yet puts "a+" behind "a/", and its value before the name's end counts. */
Test(sigv4, a_query_is_sorted_after_it_is_encoded_by_name_and_then_by_value)
{
    static const http_pair pair[] = { { "a", "z" },   { "a-", "1" }, { "a", "\xc3\xa9" },
                                      { "a", "A b" }, { "a&", "+" }, { "B", "/" } };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    cr_expect_str_eq(http_query(a, pair, 6), "B=%2F&a=%C3%A9&a=A%20b&a=z&a%26=%2B&a-=1");
    cr_expect_str_eq(http_query(a, pair, 0), "");
    cr_expect_str_eq(http_encode(a, "dir/a b+c&\xc3\xa9~.csv", true), "dir/a%20b%2Bc%26%C3%A9~.csv");
}
