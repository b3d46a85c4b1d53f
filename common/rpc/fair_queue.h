/* Whose turn it is: work of many tenants waits for few places, and no tenant keeps the others waiting.
 *
 *   lane 0  [places]   tenant a: w w w w w w     each lane has places of its own; within a lane tenants
 *                      tenant b: w               take turns, and each tenant's work starts in its order
 *   lane 1  [places]   tenant a: w w
 *
 * A tenant may start one more piece of work only while it holds fewer places of the lane than are free
 * (dynamic thresholds, Choudhury & Hahne, IEEE/ACM Trans. Networking 1998). Alone it gets half of them,
 * beside k others that want as much 1/(k + 1) with one share left over, so that who comes new finds a free
 * place. The same rule bounds what may wait. The tenant "" is the service itself: it takes its turns without
 * that bound.
 *
 * The caller's lock is held in every call; nothing here blocks. */
#ifndef TAB_FAIR_QUEUE_H
#define TAB_FAIR_QUEUE_H

#include "common/base/base.h"

typedef struct tab_fair_queue tab_fair_queue;
typedef struct tab_turn_tenant tab_turn_tenant;

/* Part of the work that waits; zeroed before its first use, its members are not the caller's. */
typedef struct tab_turn {
    struct tab_turn *next;
    tab_turn_tenant *tenant; /* NULL: it neither waits nor holds a place */
    bool unbound, started;   /* unbound: holds no place */
} tab_turn;

enum { TAB_FAIR_QUEUE_LANES = 3 };

/* places: of each of the lanes, at most TAB_FAIR_QUEUE_LANES; waiting_most: pieces that may wait in all. */
tab_fair_queue *tab_fair_queue_new(size_t lanes, const size_t *places, size_t waiting_most);
void tab_fair_queue_free(tab_fair_queue *t); /* what still waits is forgotten */
TAB_DEFINE_AUTO(tab_fair_queue)

/* Adds the turn to what waits. False: as much waits as may, of this tenant or of all, or out of memory. */
bool tab_fair_queue_put(tab_fair_queue *t, size_t lane, const char *tenant, tab_turn *turn) TAB_CHECKED;
/* Adds the turn in front of what its tenant waits for, however much waits: for work that has had its turn
 * and goes on. */
bool tab_fair_queue_put_first(tab_fair_queue *t, size_t lane, const char *tenant, tab_turn *turn) TAB_CHECKED;
/* Adds the turn as urgent: it needs no place and starts before all others. For work that other work, which
 * holds a place, waits for. */
bool tab_fair_queue_put_unbound(tab_fair_queue *t, size_t lane, const char *tenant,
                                tab_turn *turn) TAB_CHECKED;
/* Makes the turn urgent, if it still waits. */
void tab_fair_queue_hurry(tab_fair_queue *t, tab_turn *turn);

/* The next that may start. It holds a place from then on. NULL: none may. Lane 0 goes first. */
tab_turn *tab_fair_queue_take(tab_fair_queue *t);
bool tab_fair_queue_any(const tab_fair_queue *t); /* whether take would give one */

/* The turn has ended, or is no longer wanted: its place is free, or it leaves the queue. Does nothing where
 * it is in neither. */
void tab_fair_queue_end(tab_fair_queue *t, tab_turn *turn);

#endif
