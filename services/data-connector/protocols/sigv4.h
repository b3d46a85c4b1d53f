/* AWS Signature Version 4: who calls, proven by a key that does not travel. The documentation's
 * algorithm, held against its published examples (tests/sigv4_test.c); libcurl's own is wrong for
 * parameters that do not come sorted. */
#ifndef DATA_SIGV4_H
#define DATA_SIGV4_H

#include "common/base/arena.h"

typedef struct {
    const char *name, *value;
} http_pair;

typedef struct {
    const char *access_key, *secret_key, *region, *service;
} sigv4_key;

typedef struct {
    const char *method, *path, *query; /* encoded; the query as http_query gives it */
    const http_pair *header;           /* all that is signed: names in lower case, sorted */
    size_t n;
    const char *payload; /* hex SHA-256 of the body */
    const char *date;    /* "20130524T000000Z" */
} sigv4_request;

/* The value of the header Authorization. NULL: the arena is full. */
const char *sigv4_authorization(tab_arena *a, const sigv4_key *k, const sigv4_request *q);

/* Percent-encoded but for RFC 3986's unreserved characters, and '/' where slash says so. */
const char *http_encode(tab_arena *a, const char *text, bool slash);
/* "a=1&b=2": encoded, then sorted by name and by value, as the signature wants it. */
const char *http_query(tab_arena *a, const http_pair *pair, size_t n);

#endif
