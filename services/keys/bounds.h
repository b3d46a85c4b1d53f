/* Bounds of keys: what people write of networks, endpoints and an end, as it is stored and as the gateway
 * gets it (common/security/bounds.h). A stored list is one text, its items with a space between. */
#ifndef KEYS_BOUNDS_H
#define KEYS_BOUNDS_H

#include "services/keys/store.h"

/* As it is stored: networks shortest, each item once. VALIDATION on `networks` or `endpoints`. */
tab_status keys_networks_read(tab_arena *a, char *const *item, size_t n, const char **ret,
                              tab_error *err) TAB_CHECKED;
tab_status keys_endpoints_read(tab_arena *a, char *const *item, size_t n, const char **ret,
                               tab_error *err) TAB_CHECKED;
/* Of a stored list. */
tab_status keys_items(tab_arena *a, const char *list, char ***ret, size_t *ret_n, tab_error *err) TAB_CHECKED;
bool keys_networks_hold(const char *list,
                        const char *address); /* true: it is empty, or no address is known */

/* VALIDATION on `expires_at`: it is not in the future, or further than ten years. 0: none, which is good. */
tab_status keys_expiry_good(int64_t us, tab_error *err) TAB_CHECKED;

#endif
