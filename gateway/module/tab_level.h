/* What a gateway's worker saw of serve calls, by organization (or "ORG ENDPOINT") and day, until Redis has it
 * (decision 0685).
 *
 * A bounded table of counts: a call adds to a few numbers, and what was counted is taken out again in
 * pieces. Nothing that a caller sends makes it grow past its size; what finds no room is said, and counted
 * nowhere. */
#ifndef TAB_LEVEL_H
#define TAB_LEVEL_H

#include "common/base/base.h"

enum { TAB_LEVEL_ORG = 72, TAB_LEVEL_BOUNDS = 21, TAB_LEVEL_BUCKETS = TAB_LEVEL_BOUNDS + 1 };
typedef enum {
    TAB_LEVEL_ANSWERED,
    TAB_LEVEL_FAILED,    /* 5xx */
    TAB_LEVEL_REFUSED,   /* 4xx */
    TAB_LEVEL_ABANDONED, /* 499: the caller hung up first */
    TAB_LEVEL_KINDS
} tab_level_kind;
enum { TAB_LEVEL_COUNTS = TAB_LEVEL_KINDS + TAB_LEVEL_BUCKETS };

typedef struct {
    char org[TAB_LEVEL_ORG];
    uint32_t day;                     /* since 1970, UTC */
    uint64_t count[TAB_LEVEL_COUNTS]; /* kinds, then how long those took that were answered */
} tab_level_entry;

typedef struct tab_level tab_level;
tab_level *tab_level_new(uint32_t most); /* entries; NULL: out of memory */
void tab_level_free(tab_level *l);

tab_level_kind tab_level_kind_of(unsigned status);

/* One call; ms counts for those that were answered. False: there is no room for another organization. */
bool tab_level_add(tab_level *l, const char *org, uint32_t day, tab_level_kind kind, uint64_t ms) TAB_CHECKED;

/* Takes out up to n entries; how many. */
uint32_t tab_level_take(tab_level *l, tab_level_entry *ret, uint32_t n);

/* Adds what was taken out and did not arrive; how many calls found no room. */
uint64_t tab_level_put_back(tab_level *l, const tab_level_entry *e, uint32_t n);

#endif
