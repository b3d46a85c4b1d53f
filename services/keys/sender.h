/* Sends deliveries of webhooks, as Standard Webhooks has it, at least once. */
#ifndef KEYS_SENDER_H
#define KEYS_SENDER_H

#include "services/keys/keys.h"

typedef struct sender sender;
sender *sender_open(keys *k); /* NULL: it does not start */
void sender_close(sender *s);

#endif
