/* HTTP to a source (libcurl), under the walls of source.h: each host is resolved once and judged, TLS is
 * verified, what comes is bounded, time ends. What may pass is tried again: connections that break, and the
 * statuses 408, 425, 429 and 5xx. */
#ifndef DATA_HTTP_H
#define DATA_HTTP_H

#include "services/data-connector/protocols/sigv4.h"
#include "services/data-connector/source/source.h"

typedef struct {
    const char *method; /* GET, POST, PUT */
    bool plain;         /* http, which only networks that the operator allows may have */
    const char *host;
    uint16_t port;
    const char *path, *query;          /* encoded; query "" where there is none */
    const http_pair *header, *secrets; /* secrets are not sent on to another host */
    size_t n_header, n_secrets;
    tab_str body;
    unsigned redirects; /* that are followed, of GET */
    bool final;         /* 500 is an answer: it is not tried again */
    bool packed;        /* the answer may come under gzip; what is counted is what comes out */
} http_request;

typedef struct {
    int status;
    tab_str body;                           /* a zero behind; the arena's */
    const char *etag, *link, *type, *range; /* range: Content-Range */
} http_answer;

/* OK for every answer, whatever its status. Errors: VALIDATION on source (address, TLS, size), UNAVAILABLE,
 * CANCELLED. */
tab_status http_call(const source *s, tab_arena *a, const http_request *q, http_answer *ret,
                     tab_error *err) TAB_CHECKED;
/* What a status means that is not 2xx: in our words, for the server's may hold anything. OK for 2xx. */
tab_status http_good(const http_answer *x, tab_error *err) TAB_CHECKED;
/* The ref's path as it is sent. NULL: the arena is full. */
const char *http_path(tab_arena *a, const source_ref *r, size_t from);
/* The headers of credentials.bearer, .basic.user and .basic.password, .header.name and .header.value. */
tab_status http_login(const source *s, tab_arena *a, http_pair ret[3], size_t *ret_n,
                      tab_error *err) TAB_CHECKED;
#define HTTP_LOGIN "bearer", "basic.user", "basic.password", "header.name", "header.value", "ca"

#endif
