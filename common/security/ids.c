/* See ids.h. Random bits are libsodium's; of the 64 values of six bits two are dropped, so that all of the
 * 62 characters are as likely. */
#include "common/security/ids.h"

#include <sodium.h>
#include <stdio.h>

static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* n random base62 characters without bias, NUL-terminated: buf holds n + 1. */
static void random_base62(char *buf, size_t n)
{
    uint8_t pool[64];
    size_t left = 0, done = 0;
    while (done < n) {
        if (left == 0) {
            randombytes_buf(pool, sizeof pool);
            left = sizeof pool;
        }
        uint8_t b = pool[--left] & 63; /* 62 and 63 are thrown away: no bias */
        if (b < 62)
            buf[done++] = base62[b];
    }
    buf[n] = 0;
}

void tab_id_new(char ret[TAB_ID], const char *prefix)
{
    size_t n = strlen(prefix);
    if (n > TAB_ID - 23)
        n = TAB_ID - 23;
    memcpy(ret, prefix, n);
    random_base62(ret + n, 22);
}

void tab_id_hex(char ret[TAB_ID], const char *prefix)
{
    uint8_t r[16];
    randombytes_buf(r, sizeof r);
    int n = snprintf(ret, TAB_ID - 33, "%s", prefix);
    if (n > TAB_ID - 34)
        n = TAB_ID - 34;
    sodium_bin2hex(ret + n, 33, r, sizeof r);
}

bool tab_id_valid(tab_str id, const char *prefix)
{
    size_t p = strlen(prefix);
    bool hex = strcmp(prefix, "r_") == 0;
    if (id.n != p + (hex ? 32 : 22) || memcmp(id.p, prefix, p) != 0)
        return false;
    for (size_t i = p; i < id.n; i++) {
        char c = id.p[i];
        bool digit = c >= '0' && c <= '9', low = c >= 'a' && c <= (hex ? 'f' : 'z');
        if (!digit && !low && !(!hex && c >= 'A' && c <= 'Z'))
            return false;
    }
    return true;
}
