/* E-mail of notices (decision 0317): what keys.delivery holds goes to an SMTP server, at least once,
 * each mail under one Message-ID whatever is repeated. */
#ifndef KEYS_MAIL_H
#define KEYS_MAIL_H

#include <stdatomic.h>

#include "common/json/json.h"
#include "common/pg/pg.h"

typedef struct {
    const char *url;  /* smtp://host:587 (STARTTLS) or smtps://host; "": nothing is mailed */
    const char *from; /* an address */
    const char *user, *password;
    const char *ca;  /* PEM file; "": the system's authorities */
    bool plain;      /* without TLS; for a relay on the same host */
    int64_t pause_s; /* between two mails to one address: what fires meanwhile goes into one */
} mail_config;

/* cfg is borrowed. NULL: out of memory, or cfg cannot be used (logged). */
typedef struct mail mail;
mail *mail_open(tab_pg *pg, const mail_config *cfg);
void mail_close(mail *m); /* ends what is being sent; NULL is nothing */

/* mail_text.c: one mail as RFC 5322 wants it, with a text and an HTML part. */
typedef struct {
    const char *from, *to, *id, *organization;
    int64_t at; /* of the claim, so that a repeat is the same mail */
    size_t n;
    const char *const *text; /* (n) notices, UTF-8 */
    const int64_t *fired;    /* (n) */
} mail_message;
void mail_write(tab_out *o, const mail_message *m);

/* One address like ann@example.org: local part, one @, domain, printable ASCII without white space and what
 * would end a header's address. */
bool mail_address_good(tab_str address);

#endif
