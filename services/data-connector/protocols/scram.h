/* A login by SCRAM-SHA-256 (RFC 5802, RFC 7677): the password does not travel, and the server proves that it
 * knows it as well. Bytes in, bytes out; the caller sends them. */
#ifndef DATA_SCRAM_H
#define DATA_SCRAM_H

#include "common/base/arena.h"
#include "common/security/crypto.h"

typedef struct {
    tab_arena *a;
    const char *password; /* prepared */
    const char *nonce;    /* ours; printable, no comma */
    const char *bare;     /* the first message without its head */
    uint8_t expected[TAB_SHA256];
} scram;

/* *ret: the client's first message. VALIDATION on credentials: no text that can be a name or a password. */
tab_status scram_first(scram *s, tab_arena *a, const char *user, const char *password, const char *nonce,
                       tab_str *ret, tab_error *err) TAB_CHECKED;
/* Answers the server's first message with the client's last. VALIDATION on source: it is none; it asks for
 * more than a million iterations, or fewer than 4,096, which would make the password easy to guess. */
tab_status scram_last(scram *s, tab_str server, tab_str *ret, tab_error *err) TAB_CHECKED;
/* Whether the server's last message proves that it knows the password. */
bool scram_proven(const scram *s, tab_str server);

#endif
