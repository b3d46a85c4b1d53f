/* TLS to a server of the suite over a connected blocking socket (OpenSSL). TLS 1.2 or newer; the server's
 * certificate must come from a known authority and carry the name or address that we connected to. */
#ifndef TAB_TLS_H
#define TAB_TLS_H

#include <openssl/types.h>

#include "common/base/access.h"

typedef struct tab_tls tab_tls;

/* Reads the certificates once. host: what the server's certificate must be for, a name or an IP address.
 * NULL: a text is no certificate; logged with `what`, the server's name in our words. */
tab_tls *tab_tls_new(const tab_access *a, const char *host, const char *what);
void tab_tls_free(tab_tls *t);
TAB_DEFINE_AUTO(tab_tls)

/* The handshake, under the socket's own time-outs. NULL: refused, why in buf. The caller frees with SSL_free
 * and closes fd itself. */
SSL *tab_tls_connect(tab_tls *t, int fd, char *buf, size_t size);

#endif
