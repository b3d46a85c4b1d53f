/* See checkpoint.h. Ed25519 is libsodium's: a signature depends on nothing but the secret and the text. */
#include "common/security/checkpoint.h"

#include <sodium.h>
#include <stdio.h>

#include "common/security/crypto.h"

static const char head[] = "tabella-checkpoint ";

static bool hex_read(tab_str hex, uint8_t *ret, size_t n)
{
    size_t got = 0;
    return hex.n == 2 * n && sodium_hex2bin(ret, n, hex.p, hex.n, NULL, &got, NULL) == 0 && got == n;
}

bool tab_checkpoint_sign(const char *secret, tab_checkpoint *c)
{
    uint8_t seed[crypto_sign_SEEDBYTES], pair[crypto_sign_SECRETKEYBYTES];
    bool ok = hex_read(tab_str_of(secret), seed, sizeof seed) &&
              crypto_sign_seed_keypair(c->key, pair, seed) == 0 &&
              crypto_sign_detached(c->signature, NULL, (const uint8_t *)c->text, strlen(c->text), pair) == 0;
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(pair, sizeof pair);
    return ok;
}

static bool is_known(const uint8_t key[TAB_CHECKPOINT_KEY], const char *known)
{
    char hex[2 * TAB_CHECKPOINT_KEY + 1];
    if (known == NULL || known[0] == '\0')
        return true;
    tab_hex(key, TAB_CHECKPOINT_KEY, hex);
    for (const char *at = known; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, hex, sizeof hex - 1) == 0 &&
            (at[sizeof hex - 1] == '\0' || at[sizeof hex - 1] == ','))
            return true;
    }
    return false;
}

bool tab_checkpoint_holds(const tab_checkpoint *c, const char *known)
{
    return strncmp(c->text, head, sizeof head - 1) == 0 && is_known(c->key, known) &&
           crypto_sign_verify_detached(c->signature, (const uint8_t *)c->text, strlen(c->text), c->key) == 0;
}

bool tab_checkpoint_get(const tab_checkpoint *c, const char *name, char *ret, size_t size)
{
    size_t n = strlen(name);
    for (const char *at = strchr(c->text, ' '); at != NULL; at = strchr(at, ' ')) {
        at++;
        if (strncmp(at, name, n) != 0 || at[n] != '=')
            continue;
        size_t long_ = strcspn(at + n + 1, " ");
        if (long_ >= size)
            return false;
        memcpy(ret, at + n + 1, long_);
        ret[long_] = '\0';
        return true;
    }
    return false;
}

bool tab_checkpoint_says(const tab_checkpoint *c, const char *name, const char *value)
{
    char said[TAB_CHECKPOINT_TEXT];
    return tab_checkpoint_get(c, name, said, sizeof said) && strcmp(said, value) == 0;
}

bool tab_checkpoint_read(tab_str text, tab_str key, tab_str signature, tab_checkpoint *ret)
{
    if (text.n >= sizeof ret->text || memchr(text.p, 0, text.n) != NULL ||
        !hex_read(key, ret->key, sizeof ret->key) ||
        !hex_read(signature, ret->signature, sizeof ret->signature))
        return false;
    memcpy(ret->text, text.p, text.n);
    ret->text[text.n] = '\0';
    return true;
}
