/* See secret.h: makes, checks and hashes API key secrets. */
#include "common/security/secret.h"

#include <sodium.h>
#include <stdio.h>
#include <strings.h>
#include <zlib.h>

static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

enum { CHECKSUM = 6, CHECKED = TAB_SECRET_LENGTH - CHECKSUM };

/* CRC-32 (ISO 3309) of what is before it, in base 62. */
static void checksum(const char *secret, char out[CHECKSUM])
{
    uint32_t crc = (uint32_t)crc32(0, (const unsigned char *)secret, CHECKED);
    for (int i = CHECKSUM - 1; i >= 0; i--, crc /= 62)
        out[i] = base62[crc % 62];
}

void tab_random_id_from(void (*draw)(void *p, size_t n), const char *prefix, size_t n, char *buf)
{
    unsigned char pool[32];
    size_t left = 0;
    while (*prefix != '\0')
        *buf++ = *prefix++;
    while (n > 0) {
        if (left == 0) {
            draw(pool, sizeof pool);
            left = sizeof pool;
        }
        unsigned x = pool[--left] & 63; /* 62 and 63 are thrown away, so that each character is as likely */
        if (x < 62) {
            *buf++ = base62[x];
            n--;
        }
    }
    *buf = '\0';
    sodium_memzero(pool, sizeof pool);
}

/* prefix and n random base62 characters and a NUL, without modulo bias: ids of every kind. */
static void random_id(const char *prefix, size_t n, char *buf)
{
    tab_random_id_from(randombytes_buf, prefix, n, buf);
}

void tab_secret_new(char buf[TAB_SECRET_LENGTH + 1])
{
    random_id(TAB_SECRET_PREFIX, CHECKED - (sizeof TAB_SECRET_PREFIX - 1), buf);
    checksum(buf, buf + CHECKED);
    buf[TAB_SECRET_LENGTH] = '\0';
}

static bool all_base62(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'A' && p[i] <= 'Z') || (p[i] >= 'a' && p[i] <= 'z')))
            return false;
    return true;
}

bool tab_secret_valid(tab_str secret)
{
    size_t prefix = sizeof TAB_SECRET_PREFIX - 1;
    if (secret.n != TAB_SECRET_LENGTH || memcmp(secret.p, TAB_SECRET_PREFIX, prefix) != 0)
        return false;
    if (!all_base62(secret.p + prefix, secret.n - prefix))
        return false;
    char want[CHECKSUM];
    checksum(secret.p, want);
    return memcmp(want, secret.p + CHECKED, CHECKSUM) == 0;
}

void tab_session_new(char buf[TAB_SESSION_LENGTH + 1])
{
    random_id(TAB_SESSION_PREFIX, TAB_SESSION_LENGTH - (sizeof TAB_SESSION_PREFIX - 1), buf);
}

bool tab_session_valid(tab_str token)
{
    size_t prefix = sizeof TAB_SESSION_PREFIX - 1;
    return token.n == TAB_SESSION_LENGTH && memcmp(token.p, TAB_SESSION_PREFIX, prefix) == 0 &&
           all_base62(token.p + prefix, token.n - prefix);
}

void tab_secret_hash(tab_str secret, uint8_t ret[TAB_SECRET_HASH])
{
    crypto_hash_sha256(ret, (const unsigned char *)secret.p, secret.n);
}

void tab_secret_preview(tab_str secret, char buf[TAB_SECRET_PREVIEW + 1])
{
    const char *tail = secret.n < 4 ? "" : secret.p + secret.n - 4;
    snprintf(buf, TAB_SECRET_PREVIEW + 1, TAB_SECRET_PREFIX "\xe2\x80\xa6%.4s", tail);
}

bool tab_bearer(tab_str h, tab_str *ret_secret)
{
    static const char scheme[] = "bearer";
    size_t n = sizeof scheme - 1;
    if (h.n <= n || strncasecmp(h.p, scheme, n) != 0 || h.p[n] != ' ')
        return false;
    while (n < h.n && h.p[n] == ' ')
        n++;
    size_t end = h.n;
    while (end > n && h.p[end - 1] == ' ')
        end--;
    *ret_secret = (tab_str){ h.p + n, end - n };
    return end > n;
}
