/* What RPC methods and the sender share of webhooks: a receiver's address, and secrets of the form whsec_...
 * */
#ifndef KEYS_WEBHOOK_H
#define KEYS_WEBHOOK_H

#include "common/base/arena.h"
#include "common/security/crypto.h"

enum { WEBHOOK_URL = 512, WEBHOOK_KEY = 32, WEBHOOK_SECRET = 64, WEBHOOK_HEADER = 256, WEBHOOK_TOKEN = 512 };

/* Of an URL with scheme https, or http in a network that the operator allows; resolved now, each of its
 * addresses must be public or in such a network. VALIDATION on url. */
typedef struct {
    const char *host, *address; /* the address is numeric */
    uint16_t port;
} webhook_target;
tab_status webhook_resolve(tab_arena *a, const char *url, const char *allow, webhook_target *ret,
                           tab_error *err) TAB_CHECKED;

/* "whsec_" and the base64 of random bytes, as Standard Webhooks has it. */
void webhook_secret_new(char ret[WEBHOOK_SECRET]);
/* "v1,BASE64" over id.time.body; false: the secret has another form. */
bool webhook_sign(tab_str secret, const char *id, int64_t time_s, tab_str body, char ret[WEBHOOK_SECRET]);

/* What a sealed secret is sealed for: its row. */
tab_str webhook_context(tab_arena *a, const char *org, const char *id);
tab_str webhook_token_context(tab_arena *a, const char *org, const char *id); /* its receiver's token */

#endif
