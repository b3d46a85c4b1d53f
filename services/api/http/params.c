/* Query parameters and cursors.
 *
 * A cursor is base64url(16 bytes of HMAC-SHA256 | position), keyed per process group by the
 * gateway's secret and computed over organization, list (with its filter) and position: one of
 * another organization or another list is as wrong as a damaged one. */
#include <sodium.h>

#include "common/security/crypto.h"
#include "services/api/api.h"
#include "services/api/http/params.h"

enum { MAC = 16, CURSOR_MAX = 1024 };

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Percent-decoded; a wrong escape stays as it is and will not match anything. */
static tab_str decode(tab_arena *a, tab_str s)
{
    char *p = tab_arena_alloc(a, s.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; p != NULL && i < s.n; i++)
        if (s.p[i] == '%' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 && hex(s.p[i + 2]) >= 0) {
            p[n++] = (char)(hex(s.p[i + 1]) << 4 | hex(s.p[i + 2]));
            i += 2;
        } else {
            p[n++] = s.p[i] == '+' ? ' ' : s.p[i];
        }
    return (tab_str){ p, n };
}

tab_status query_param(const request *r, const char *name, tab_str *ret, tab_error *err)
{
    size_t want = strlen(name);
    *ret = (tab_str){ NULL, 0 };
    for (const char *p = r->query.p, *end = p + r->query.n; p < end;) {
        const char *stop = memchr(p, '&', (size_t)(end - p));
        stop = stop != NULL ? stop : end;
        const char *equal = memchr(p, '=', (size_t)(stop - p));
        size_t n = (size_t)((equal != NULL ? equal : stop) - p);
        if (n == want && memcmp(p, name, n) == 0) {
            if (ret->p != NULL)
                return tab_fail(err, TAB_VALIDATION, name, "`%s` is given twice", name);
            tab_str raw =
                equal != NULL ? (tab_str){ equal + 1, (size_t)(stop - equal - 1) } : (tab_str){ stop, 0 };
            *ret = decode(r->arena, raw);
            if (ret->p == NULL)
                return tab_no_memory(err);
        }
        p = stop + 1;
    }
    return TAB_OK;
}

static void cursor_mac(const request *r, size_t secret, const char *list, tab_str position, uint8_t ret[MAC])
{
    uint8_t full[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state h;
    crypto_auth_hmacsha256_init(&h, r->api->secret[secret].cursor_key,
                                sizeof r->api->secret[secret].cursor_key);
    crypto_auth_hmacsha256_update(&h, (const uint8_t *)r->who.org, strlen(r->who.org) + 1);
    crypto_auth_hmacsha256_update(&h, (const uint8_t *)list, strlen(list) + 1);
    crypto_auth_hmacsha256_update(&h, (const uint8_t *)position.p, position.n);
    crypto_auth_hmacsha256_final(&h, full);
    memcpy(ret, full, MAC);
}

void cursor_write(const request *r, tab_out *o, const char *list, tab_str position)
{
    uint8_t raw[MAC + CURSOR_MAX / 2];
    char text[CURSOR_MAX];
    if (position.n > CURSOR_MAX / 2) {
        o->failed = true;
        return;
    }
    cursor_mac(r, 0, list, position, raw);
    memcpy(raw + MAC, position.p, position.n);
    sodium_bin2base64(text, sizeof text, raw, MAC + position.n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    tab_out_cstr(o, text);
}

void next_cursor_member(request *r, const char *list, tab_str position)
{
    tab_out_key(&r->out, "next_cursor");
    if (position.n == 0)
        tab_out_null(&r->out);
    else
        cursor_write(r, &r->out, list, position);
}

static tab_status cursor_read(const request *r, const char *list, tab_str text, tab_str *ret, tab_error *err)
{
    uint8_t want[MAC], *raw = tab_arena_alloc(r->arena, CURSOR_MAX, 1);
    size_t n = 0;
    if (raw == NULL)
        return tab_no_memory(err);
    if (text.n > CURSOR_MAX ||
        sodium_base642bin(raw, CURSOR_MAX, text.p, text.n, NULL, &n, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        n <= MAC)
        return tab_fail(err, TAB_VALIDATION, "cursor", "the cursor is invalid; start again without one");
    *ret = (tab_str){ (const char *)raw + MAC, n - MAC };
    bool ours = false;
    for (size_t i = 0; i < r->api->secrets && !ours; i++) {
        cursor_mac(r, i, list, *ret, want);
        ours = tab_equal_secret(want, raw, MAC);
    }
    if (!ours)
        return tab_fail(err, TAB_VALIDATION, "cursor",
                        "the cursor is invalid or belongs to another list; start again without one");
    return TAB_OK;
}

tab_status query_page(request *r, const char *list, uint32_t otherwise, uint32_t *ret_limit,
                      tab_str *ret_after, tab_error *err)
{
    tab_str limit, cursor;
    tab_status s = query_param(r, "limit", &limit, err);
    if (s != TAB_OK)
        return s;
    *ret_limit = otherwise;
    if (limit.p != NULL) {
        uint32_t x = 0;
        for (size_t i = 0; i < limit.n; i++) {
            if (limit.p[i] < '0' || limit.p[i] > '9' || limit.n > 3)
                return tab_fail(err, TAB_VALIDATION, "limit", "`limit` must be a whole number from 1 to 100");
            x = 10 * x + (uint32_t)(limit.p[i] - '0');
        }
        if (x < 1 || x > 100)
            return tab_fail(err, TAB_VALIDATION, "limit", "`limit` must be a whole number from 1 to 100");
        *ret_limit = x;
    }
    *ret_after = TAB_S("");
    s = query_param(r, "cursor", &cursor, err);
    if (s != TAB_OK || cursor.p == NULL)
        return s;
    return cursor_read(r, list, cursor, ret_after, err);
}
