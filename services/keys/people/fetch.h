/* One HTTP call to an identity provider, with the checks that receivers of webhooks have: public addresses,
 * or networks that the operator allows; no redirect, no proxy; an answer of OIDC_ANSWER_MOST bytes. */
#ifndef KEYS_FETCH_H
#define KEYS_FETCH_H

#include <stdatomic.h>

#include "common/base/arena.h"
#include "common/base/time.h"

typedef struct {
    const char *url;
    const char *form;            /* a POST's body; NULL: a GET */
    const char *user, *password; /* HTTP Basic, both escaped; NULL: none */
    const char *allow;
    tab_deadline deadline;
} fetch_call;

enum { FETCH_S = 5, FETCHING_MOST = 3 };

/* Whoever calls a provider holds one of few places meanwhile, so that slow ones do not take all threads of
 * the daemon. UNAVAILABLE: none is free. */
tab_status fetch_begin(atomic_int *places, tab_error *err) TAB_CHECKED;
void fetch_end(atomic_int *places);

/* *ret: the answer's text, a NUL behind it. VALIDATION on `issuer`: the address is not allowed;
 * UNAVAILABLE: there is no answer; AUTH_MISSING: it refused (4xx). */
tab_status fetch(tab_arena *a, const fetch_call *c, tab_str *ret, tab_error *err) TAB_CHECKED;
/* A value of a form, escaped; NULL: no memory. */
const char *fetch_escaped(tab_arena *a, tab_str value);

#endif
