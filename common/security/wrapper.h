/* A master key that is not in this process: a token behind PKCS#11 (pkcs11.h), or a service that wraps keys.
 * It wraps 32 bytes at a time; what these seal is sealed here (crypto.h, decision 0831).
 *
 * Such a thing may be slow, hang or be away. tab_bounded puts a thread before it: a call ends within its time
 * whatever the other side does, and what was unwrapped is remembered for a while, so that reading a dataset
 * does not ask a token for each of its transactions. */
#ifndef TAB_WRAPPER_H
#define TAB_WRAPPER_H

#include "common/base/base.h"

enum { TAB_WRAP_KEY = 32, TAB_WRAPPED_MOST = 255, TAB_WRAP_NAME = 64 };

typedef struct {
    const char *scheme; /* as a keyring's text has it: "pkcs11" */
    void *self;
    /* By the master key of this name. UNAVAILABLE: it cannot be asked now; the message is the operator's. */
    tab_status (*wrap)(void *self, const char *name, const uint8_t key[TAB_WRAP_KEY],
                       uint8_t ret[TAB_WRAPPED_MOST], size_t *ret_n, tab_error *err);
    /* INTERNAL: this key did not wrap it, or it was damaged. */
    tab_status (*unwrap)(void *self, const char *name, tab_str wrapped, uint8_t ret[TAB_WRAP_KEY],
                         tab_error *err);
} tab_wrapper;

typedef struct tab_bounded tab_bounded;
/* `inner` is called by one thread, one call after another, and outlives it. NULL: no memory, no thread. */
tab_bounded *tab_bounded_open(const tab_wrapper *inner, int64_t wait_ms, int64_t keep_ms);
const tab_wrapper *tab_bounded_wrapper(const tab_bounded *b);
/* Wipes what is remembered. False: a call still hangs in `inner`, which must stay; the process is to end. */
bool tab_bounded_close(tab_bounded *b);

#endif
