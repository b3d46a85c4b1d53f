/* API key secrets: "sk_live_", 43 random base62 characters (256 bits), 6 characters of checksum.
 *
 * The checksum is the CRC-32 (ISO 3309) of the 51 characters before it, in base62, most significant
 * first. It lets the gateway refuse a mistyped key without a look-up and lets a secret scanner tell
 * a real key from a look-alike; it is public arithmetic and proves nothing. Only the SHA-256 of a
 * secret is ever stored. */
#ifndef TAB_SECRET_H
#define TAB_SECRET_H

#include "common/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAB_SECRET_PREFIX "sk_live_"
#define TAB_SESSION_PREFIX "cs_"
#define TAB_SESSION_COOKIE "tabella_session"
#define TAB_SIGNIN_COOKIE "tabella_signin"

enum { TAB_SECRET_LENGTH = 57, TAB_SECRET_PREVIEW = 16, TAB_SECRET_HASH = 32, TAB_SESSION_LENGTH = 46 };

void tab_secret_new(char buf[TAB_SECRET_LENGTH + 1]);
bool tab_secret_valid(tab_str secret); /* form and checksum; not whether anyone holds it */
void tab_secret_hash(tab_str secret, uint8_t ret[TAB_SECRET_HASH]);

/* The token of a session (decision 0337): "cs_" and 43 random base62 characters, in a cookie that no
 * script reads. It stands for the key that signed in; only its SHA-256 is stored. */
void tab_session_new(char buf[TAB_SESSION_LENGTH + 1]);
bool tab_session_valid(tab_str token); /* its form */

/* The prefix, an ellipsis, the last 4 characters. */
void tab_secret_preview(tab_str secret, char buf[TAB_SECRET_PREVIEW + 1]);

/* The same of the bytes that draw gives, 32 a call, which must be as good as the kernel's. */
void tab_random_id_from(void (*draw)(void *p, size_t n), const char *prefix, size_t n, char *buf);

/* The bearer of an Authorization header's value; false when it is none. The scheme's name is
 * case-insensitive (RFC 9110, 11.1). */
bool tab_bearer(tab_str header, tab_str *ret_secret);

#ifdef __cplusplus
}
#endif
#endif
