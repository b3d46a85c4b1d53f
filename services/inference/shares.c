/* See shares.h: a list, because few organizations compute within a minute. */
#include "services/inference/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chosen by hand. HALF_LIFE_MS: many short passes long, and forgotten within a minute. LEAST_MS: less is
 * none. MARGIN: those who use about the same are equals. */
#define HALF_LIFE_MS 10000.0
#define LEAST_MS 10.0
#define MARGIN 1.25

typedef struct share share;
struct share {
    share *next;
    double used; /* ms, as of `at` */
    int64_t at;  /* tab_mono_ms */
    char org[];
};

struct tab_shares {
    share *first;
};

tab_shares *tab_shares_new(void)
{
    return calloc(1, sizeof(tab_shares));
}

void tab_shares_free(tab_shares *s)
{
    for (share *x = s == NULL ? NULL : s->first, *next; x != NULL; x = next) {
        next = x->next;
        free(x);
    }
    free(s);
}

/* Lets all uses decay up to now, and drops those near zero. */
static void decay(tab_shares *s, int64_t now)
{
    for (share **at = &s->first; *at != NULL;) {
        share *x = *at;
        x->used *= exp2(-(double)(now - x->at) / HALF_LIFE_MS);
        x->at = now;
        if (x->used >= LEAST_MS) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        free(x);
    }
}

static share *share_of(const tab_shares *s, const char *org)
{
    share *x = s->first;
    while (x != NULL && strcmp(x->org, org) != 0)
        x = x->next;
    return x;
}

void tab_shares_add(tab_shares *s, const char *org, int64_t took_ms, int64_t now)
{
    decay(s, now);
    share *x = share_of(s, org);
    if (x == NULL) {
        size_t n = strlen(org) + 1;
        if ((x = calloc(1, sizeof *x + n)) == NULL)
            return;
        memcpy(x->org, org, n);
        x->at = now;
        x->next = s->first;
        s->first = x;
    }
    x->used += (double)took_ms;
}

bool tab_shares_over(tab_shares *s, const char *org, int64_t now)
{
    decay(s, now);
    const share *own = share_of(s, org);
    double sum = 0;
    size_t n = 0;
    for (const share *x = s->first; x != NULL; x = x->next, n++)
        sum += x->used;
    return own != NULL && own->used * (double)n > MARGIN * sum;
}
