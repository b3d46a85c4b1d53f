/* Sources outside, and the providers that read them.
 *
 * Three walls between a caller's ref and the inside (decision 0021): the ref is parsed once, by us
 * (reference.h); its host is resolved once, every answer must be public or in a network that the operator
 * allows, and the provider connects to that address (address.h); and connect() itself, which this program
 * defines, refuses anything else while a source is being read, whatever library tries (guard.h). */
#ifndef DATA_SOURCE_H
#define DATA_SOURCE_H

#include <stdatomic.h>

#include "common/table.h"
#include "common/time.h"
#include "proto/data.pb-c.h"
#include "services/data-connector/address.h"
#include "services/data-connector/guard.h"
#include "services/data-connector/reference.h"

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

/* Calls go one way: providers.c, the list, knows each provider; a provider knows source.c. */
const provider *provider_of(const char *scheme); /* providers.c; NULL: not enabled here */
extern const provider provider_postgres;
const char *credential(const source *s, const char *name); /* source.c; "" when absent */

#endif
