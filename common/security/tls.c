/* See tls.h: one OpenSSL context a server; new certificates make a new one. */
#include "common/security/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include "common/base/log.h"

struct tab_tls {
    SSL_CTX *ctx;
    char *host;
    bool is_address;
};

static BIO *text_of(const char *pem)
{
    return BIO_new_mem_buf(pem, -1);
}

/* Every certificate of the text becomes an authority; at least one. */
static bool trust(SSL_CTX *ctx, const char *pem)
{
    BIO *b = text_of(pem);
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    X509 *x;
    size_t n = 0;
    while (b != NULL && (x = PEM_read_bio_X509(b, NULL, NULL, NULL)) != NULL) {
        n += X509_STORE_add_cert(store, x) == 1;
        X509_free(x);
    }
    BIO_free(b);
    ERR_clear_error(); /* the end of the text is one */
    return n > 0;
}

/* Our own certificate: the first of the text; the others are its chain. */
static bool present(SSL_CTX *ctx, const char *cert, const char *key)
{
    BIO *c = text_of(cert), *k = text_of(key);
    X509 *x = c == NULL ? NULL : PEM_read_bio_X509(c, NULL, NULL, NULL);
    EVP_PKEY *p = k == NULL ? NULL : PEM_read_bio_PrivateKey(k, NULL, NULL, NULL);
    bool ok = x != NULL && p != NULL && SSL_CTX_use_certificate(ctx, x) == 1 &&
              SSL_CTX_use_PrivateKey(ctx, p) == 1 && SSL_CTX_check_private_key(ctx) == 1;
    X509_free(x);
    while (ok && (x = PEM_read_bio_X509(c, NULL, NULL, NULL)) != NULL)
        ok = SSL_CTX_add_extra_chain_cert(ctx, x) == 1; /* takes it */
    EVP_PKEY_free(p);
    BIO_free(c);
    BIO_free(k);
    ERR_clear_error();
    return ok;
}

tab_tls *tab_tls_new(const tab_access *a, const char *host, const char *what)
{
    unsigned char ip[sizeof(struct in6_addr)];
    const char *why = NULL;
    tab_tls *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->host = strdup(host);
    t->is_address = inet_pton(AF_INET, host, ip) == 1 || inet_pton(AF_INET6, host, ip) == 1;
    t->ctx = SSL_CTX_new(TLS_client_method());
    if (t->host == NULL || t->ctx == NULL || SSL_CTX_set_min_proto_version(t->ctx, TLS1_2_VERSION) != 1)
        why = "TLS cannot be used";
    else if (tab_access_has(a->ca) ? !trust(t->ctx, a->ca) : SSL_CTX_set_default_verify_paths(t->ctx) != 1)
        why = "the authorities are no certificates";
    else if (tab_access_has(a->cert) && !present(t->ctx, a->cert, tab_access_has(a->key) ? a->key : ""))
        why = "the own certificate and its key do not fit";
    if (why == NULL) {
        SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_mode(t->ctx, SSL_MODE_AUTO_RETRY);
        return t;
    }
    tab_log(TAB_ERROR, "%s: %s", what, why);
    tab_tls_free(t);
    return NULL;
}

void tab_tls_free(tab_tls *t)
{
    if (t == NULL)
        return;
    SSL_CTX_free(t->ctx);
    free(t->host);
    free(t);
}

SSL *tab_tls_connect(tab_tls *t, int fd, char *buf, size_t size)
{
    ERR_clear_error();
    SSL *ssl = SSL_new(t->ctx);
    X509_VERIFY_PARAM *p = ssl == NULL ? NULL : SSL_get0_param(ssl);
    bool named = p != NULL && (t->is_address ? X509_VERIFY_PARAM_set1_ip_asc(p, t->host) == 1
                                             : SSL_set1_host(ssl, t->host) == 1 &&
                                                   SSL_set_tlsext_host_name(ssl, t->host) == 1);
    if (named && SSL_set_fd(ssl, fd) == 1 && SSL_connect(ssl) == 1)
        return ssl;
    long verified = ssl == NULL ? X509_V_OK : SSL_get_verify_result(ssl);
    if (verified != X509_V_OK)
        snprintf(buf, size, "its certificate: %s", X509_verify_cert_error_string(verified));
    else
        snprintf(buf, size, "no TLS handshake");
    ERR_clear_error();
    SSL_free(ssl);
    return NULL;
}
