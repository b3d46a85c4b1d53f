/* Master keys in a token behind PKCS#11: a hardware security module, or a daemon that speaks for one. The
 * operator's module is loaded into this process; the key is an AES key of the token, named by its label, and
 * never leaves it. A key is wrapped by AES-GCM in the token (decision 0831):
 *
 *   wrapped = [ nonce, 12 bytes ][ 32 bytes of ciphertext ][ tag, 16 bytes ]
 *
 * Calls block as long as the module does: tab_bounded (wrapper.h) goes before it. */
#ifndef TAB_PKCS11_H
#define TAB_PKCS11_H

#include "common/base/config.h"
#include "common/security/crypto.h"
#include "common/security/wrapper.h"

#define TAB_PKCS11_CONFIG                                  \
    const char *pkcs11_module, *pkcs11_token, *pkcs11_pin; \
    int64_t pkcs11_wait_ms
#define TAB_PKCS11_OPTIONS(type)                                                                            \
    TAB_OPTION(                                                                                             \
        type, pkcs11_module, TEXT, "TAB_PKCS11_MODULE", "",                                                 \
        "PKCS#11 module, a shared library's path, for keys of the form ID:pkcs11:LABEL; empty: none"),      \
        TAB_OPTION(type, pkcs11_token, TEXT, "TAB_PKCS11_TOKEN", "", "label of the token that holds them"), \
        TAB_OPTION(type, pkcs11_pin, SECRET, "TAB_PKCS11_PIN", "", "the token's user PIN"),                 \
        TAB_OPTION(type, pkcs11_wait_ms, INT, "TAB_PKCS11_WAIT_MS", "5000",                                 \
                   "milliseconds after which a token that does not answer counts as away")

typedef struct {
    const char *module, *token,
        *pin; /* live as long as it does; the PIN's file is read again at each login */
    int64_t wait_ms;
} tab_pkcs11_config;
#define TAB_PKCS11_OF(cfg)                                                                  \
    &(tab_pkcs11_config)                                                                    \
    {                                                                                       \
        (cfg)->pkcs11_module, (cfg)->pkcs11_token, (cfg)->pkcs11_pin, (cfg)->pkcs11_wait_ms \
    }

/* The keyring of a daemon, as `setting` has it (crypto.h); NULL for "". Where one of its keys is in a token,
 * each such key has wrapped and unwrapped something before this returns true, and the token is logged out of
 * when the process exits. Called once. False: logged. */
bool tab_master_keys_open(const char *text, const char *setting, const tab_pkcs11_config *token,
                          tab_keyring **ret) TAB_CHECKED;

#endif
