/* The addresses outside that may be reached (decision 0021). */
#ifndef TAB_ADDRESS_H
#define TAB_ADDRESS_H

#include <sys/socket.h>

#include "common/base/arena.h"

bool tab_address_public(const struct sockaddr *sa);
/* Public, or in one of the networks of `allow` ("10.0.0.0/8,fd00::/8"). */
bool tab_address_allowed(const struct sockaddr *sa, const char *allow);
/* The numeric address to connect to. VALIDATION "address not allowed", whatever is there;
 * UNAVAILABLE. */
tab_status tab_address_resolve(tab_arena *a, const char *host, uint16_t port, const char *allow,
                               const char **ret_address, bool *ret_public, tab_error *err) TAB_CHECKED;

#endif
