/* How many sources are read or written at once: of an organization, and of one place (scheme and host) for an
 * organization. What is more waits its turn, in the order in which it came; one organization's never wait for
 * another's. The counts are this process's (decision 0357). */
#ifndef DATA_READS_H
#define DATA_READS_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/base.h"
#include "common/base/time.h"

typedef struct read_turn {
    struct read_turn *next;
    char org[48];
    uint64_t place; /* its hash */
    bool running;
} read_turn;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    read_turn *first, **last; /* in the order in which they came */
    int64_t most_org, most_place;
} read_turns;

void reads_init(read_turns *r, int64_t most_org, int64_t most_place); /* once, before any thread */
/* Waits for its turn, half of its time at most; turn is the caller's until reads_leave. RATE_LIMIT: it did
 * not come; CANCELLED: nobody waits any more. */
tab_status reads_enter(read_turns *r, read_turn *turn, const char *org, const char *ref,
                       tab_deadline deadline, const atomic_bool *cancel, tab_error *err) TAB_CHECKED;
void reads_leave(read_turns *r, read_turn *turn);

#endif
