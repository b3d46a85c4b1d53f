/* JSON Web Tokens signed by an RSA key (RFC 7519, RS256): how service accounts say who they are. */
#ifndef DATA_JWT_H
#define DATA_JWT_H

#include "common/base/arena.h"

typedef struct evp_pkey_st jwt_key;

/* A private key in PEM form, PKCS#8 or PKCS#1, whose lines may have been joined on the way through a form.
 * Lives as long as the arena. VALIDATION on param: no such key, an encrypted one, under 2,048 bits. */
tab_status jwt_key_read(tab_arena *a, const char *pem, const char *param, jwt_key **ret,
                        tab_error *err) TAB_CHECKED;
/* kid: which of the issuer's keys; "": not said. */
tab_status jwt_sign(tab_arena *a, jwt_key *key, const char *kid, tab_str claims, const char **ret,
                    tab_error *err) TAB_CHECKED;
/* "SHA256:" and the base64 of the hash of the public key (SubjectPublicKeyInfo, DER): how Snowflake names a
 * key. */
tab_status jwt_fingerprint(tab_arena *a, jwt_key *key, const char **ret, tab_error *err) TAB_CHECKED;

#endif
