/* See hash.h: the secret of this process' tables. */
#include "common/base/hash.h"

#include <sodium.h>

uint64_t tab_hash_secret[2];
static unsigned char text_key[crypto_shorthash_KEYBYTES];

static void __attribute__((constructor)) draw_secret(void)
{
    randombytes_buf(tab_hash_secret, sizeof tab_hash_secret);
    tab_hash_secret[1] |= 1;
    randombytes_buf(text_key, sizeof text_key);
}

uint64_t tab_place_text(tab_str text)
{
    uint64_t h;
    static const unsigned char nothing[1];
    _Static_assert(sizeof h == crypto_shorthash_BYTES, "SipHash gives 64 bits");
    crypto_shorthash((unsigned char *)&h, text.n == 0 ? nothing : (const unsigned char *)text.p, text.n,
                     text_key);
    return h;
}
