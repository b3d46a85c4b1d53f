/* Digests, comparison in constant time, and the sealing of credentials at rest. */
#ifndef TAB_CRYPTO_H
#define TAB_CRYPTO_H

#include "common/base/arena.h"
#include "common/security/wrapper.h"

enum { TAB_SHA256 = 32, TAB_SHA256_HEX = 65 };

void tab_sha256(tab_str bytes, uint8_t ret[TAB_SHA256]);
void tab_sha256_hex(tab_str bytes, char ret[TAB_SHA256_HEX]); /* lower case, NUL-terminated */
void tab_hmac_sha256(tab_str key, tab_str bytes, uint8_t ret[TAB_SHA256]);
bool tab_equal_secret(const void *a, const void *b, size_t n); /* constant time */
void tab_hex(const uint8_t *bytes, size_t n, char *ret);       /* ret holds 2n + 1 */

/* Sealing (XChaCha20-Poly1305, libsodium). A keyring is read from text: "id:64 hex digits" once or more,
 * separated by commas. The first key seals; every key opens, so that a key is rotated by putting a new
 * one in front, and dropping the old one once nothing is left that it sealed.
 * `context` (a table's name and the row's id) is authenticated: a sealed value moved to another row
 * does not open. Sealed form: 1 byte length of the key id, the id, 24 bytes nonce, ciphertext and tag.
 * A key may be elsewhere, "id:pkcs11:LABEL" (decision 0831): each value then has a key of its own, which lies
 * wrapped between the id and the nonce, 1 byte length before it. UNAVAILABLE: it cannot be asked now. */
typedef struct tab_keyring tab_keyring;
tab_keyring *tab_keyring_new(const char *text);                        /* NULL when the text is no keyring */
tab_keyring *tab_keyring_with(const char *text, const tab_wrapper *w); /* w lives longer; NULL: none */
tab_keyring *tab_keyring_of(const char *id, const uint8_t key[32]);    /* of one key; NULL: no memory */
void tab_keyring_free(tab_keyring *k);                                 /* wipes the keys */
TAB_DEFINE_AUTO(tab_keyring)
tab_status tab_seal(const tab_keyring *k, tab_arena *a, tab_str plain, tab_str context, tab_str *ret,
                    tab_error *err) TAB_CHECKED;
tab_status tab_unseal(const tab_keyring *k, tab_arena *a, tab_str sealed, tab_str context, tab_str *ret,
                      tab_error *err) TAB_CHECKED;
/* Whether all of its keys that are elsewhere wrap and unwrap. */
tab_status tab_keyring_works(const tab_keyring *k, tab_error *err) TAB_CHECKED;
const char *tab_keyring_newest(const tab_keyring *k); /* the id of the key that seals */
bool tab_sealed_newest(const tab_keyring *k, tab_str sealed);

/* What a stateless run leaves in the database for a while, its spooled rows and its answers, lies there
 * sealed, so that neither old pages nor the write-ahead log nor a copy of them hold rows (decision 0251). */
typedef struct {
    tab_keyring *ring; /* NULL: nothing is sealed */
    bool seals;        /* false: opens only, while daemons run that cannot open yet */
} tab_run_keys;
/* False: the text is no keyring (logged). "": none. The ring lives as long as the process. */
bool tab_run_keys_read(const char *text, bool seals, tab_run_keys *ret) TAB_CHECKED;
tab_status tab_run_seal(const tab_run_keys *k, tab_arena *a, tab_str plain, tab_str context, tab_str *ret,
                        tab_error *err) TAB_CHECKED;
/* Gives back as it is what was never sealed: a zstd frame or a JSON text, whose first byte is above 32. */
tab_status tab_run_open(const tab_run_keys *k, tab_arena *a, tab_str stored, tab_str context, tab_str *ret,
                        tab_error *err) TAB_CHECKED;

#endif
