/* Usage in the forms that billing systems take (decision 0766). */
#ifndef KEYS_USAGE_FORMS_H
#define KEYS_USAGE_FORMS_H

#include "common/base/arena.h"

typedef struct {
    bool stripe;                  /* else CloudEvents, a JSON batch */
    const char *customer, *meter; /* "": the organization's id; tabella_cells */
} usage_form;

/* The body of a call with these events, as usage.c writes them, with commas between. id: of them all. p NULL:
 * they cannot be read, or memory is out. */
tab_str usage_body(tab_arena *a, const usage_form *f, const char *org, const char *id, tab_str events);
const char *usage_content_type(const usage_form *f);

/* Whether a receiver's refusal says that it has these events already: Stripe answers 400 to what it has
 * taken. head: the first bytes of the answer. */
bool usage_known(const usage_form *f, long status, tab_str head);

#endif
