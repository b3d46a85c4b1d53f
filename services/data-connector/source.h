/* Sources outside: the ref that names one, the addresses that may be reached, and the providers
 * that read them.
 *
 * Three walls between a caller's ref and the inside (decision 0021): the ref is parsed once, by us;
 * its host is resolved once, every answer must be public or in a network that the operator allows,
 * and the provider connects to that address; and connect() itself, which this program defines,
 * refuses anything else while a source is being read, whatever library tries. */
#ifndef DATA_SOURCE_H
#define DATA_SOURCE_H

#include <stdatomic.h>
#include <sys/socket.h>

#include "common/table.h"
#include "common/time.h"
#include "proto/data.pb-c.h"

enum { REF_SEGMENTS = 4, REF_LENGTH = 2048 };

typedef struct {
    const char *scheme, *host;         /* host in lower case */
    uint16_t port;                     /* 0: none given, or the scheme's own */
    const char *segment[REF_SEGMENTS]; /* decoded */
    size_t segments;
    const char *text; /* normalised: one source, one spelling */
} source_ref;

/* VALIDATION with param "source". */
tab_status ref_parse(tab_arena *a, const char *text, source_ref *ret, tab_error *err) TAB_CHECKED;

/* Whether text seems to hold a secret (user:pass@, an API key): it is refused wherever it would be
 * shown again. */
bool looks_secret(const char *text);

bool address_public(const struct sockaddr *sa);
/* Public, or in one of the networks of `allow` ("10.0.0.0/8,fd00::/8"). */
bool address_allowed(const struct sockaddr *sa, const char *allow);
/* The numeric address to connect to. VALIDATION "address not allowed", whatever is there;
 * UNAVAILABLE. */
tab_status address_resolve(tab_arena *a, const char *host, uint16_t port, const char *allow,
                           const char **ret_address, bool *ret_public, tab_error *err) TAB_CHECKED;

/* Between these two, this thread connects to allowed addresses only, receives `most` bytes at most, and
 * keys an HMAC GUARD_KEYINGS times at most: connect(), recv() and HMAC_Init_ex() of this program refuse
 * what is more, whatever library calls them. The last bounds a login by SCRAM: 4,096 iterations are
 * PostgreSQL's default, 600,000 are what OWASP asks of PBKDF2-HMAC-SHA256 today; a server may name two
 * thousand million. */
enum { GUARD_KEYINGS = 1000000 };
void guard_begin(const char *allow, int64_t most);
void guard_end(void);
bool guard_spent(void);    /* more was there to be received */
bool guard_laboured(void); /* more was there to be computed */

typedef struct {
    const source_ref *ref;
    const char *address; /* numeric, checked */
    bool is_public;      /* else the operator allowed its network */
    Tabella__Credential *const *credentials;
    size_t n_credentials;
    const char *query; /* "" = the table that the ref names */
    tab_deadline deadline;
    int64_t connect_s;
    const atomic_bool *cancel;
} source;

typedef struct {
    const char *scheme;
    uint16_t port;
    size_t segments;                /* that a ref must have */
    const char *const *credentials; /* members that are known, NULL at the end */
    tab_status (*read)(const source *s, tab_arena *a, const tab_table **ret, tab_error *err);
} provider;

extern const provider provider_postgres;
const provider *provider_of(const char *scheme);           /* NULL: not enabled here */
const char *credential(const source *s, const char *name); /* "" when absent */

#endif
