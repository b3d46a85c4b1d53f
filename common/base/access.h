/* How one of the suite's servers (NATS, Redis) is reached: its address, who we say we are, and whether by
 * TLS. Certificates are PEM texts, usually read from a file (NAME_FILE, common/base/config.h). Texts are
 * borrowed and live as long as what was opened with them; NULL is as "". */
#ifndef TAB_ACCESS_H
#define TAB_ACCESS_H

#include "common/base/base.h"

typedef struct {
    const char *address;
    const char *user, *password; /* without a password the server is not told who we are */
    bool tls;                    /* and then a server without it, or of another name, is refused */
    const char *ca; /* authorities that the server's certificate is checked against; "": the system's */
    const char *cert, *key; /* our own certificate and its chain, for a server that asks; "": none */
} tab_access;

/* A server at this address that wants nothing else: for tests and tools. */
#define TAB_AT(at) (&(tab_access){ .address = (at) })

static inline bool tab_access_has(const char *text)
{
    return text != NULL && text[0] != '\0';
}

#endif
