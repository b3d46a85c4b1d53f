/* How much each organization computed lately, for a fair share of the processor (Kay & Lauder, "A Fair Share
 * Scheduler", CACM 1988): use decays, and who used clearly more than the mean of all steps back.
 *
 *   use of an organization: seconds of passes, halved every ten seconds */
#ifndef TAB_INFERENCE_SHARES_H
#define TAB_INFERENCE_SHARES_H

#include "common/base/base.h"

typedef struct tab_shares tab_shares;
tab_shares *tab_shares_new(void);
void tab_shares_free(tab_shares *s);
TAB_DEFINE_AUTO(tab_shares)

/* The organization computed for that long, up to now (tab_mono_ms). Out of memory: it is not counted. */
void tab_shares_add(tab_shares *s, const char *org, int64_t took_ms, int64_t now);
/* Whether it used over a quarter more than the mean of all that used any lately; alone it never did. */
bool tab_shares_over(tab_shares *s, const char *org, int64_t now);

#endif
