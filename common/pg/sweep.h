/* Sweeps: what has expired goes in batches, each in a transaction of its own, so that what was done stays
 * done, a turn is short however much there is, and rows that somebody has locked wait for the next turn.
 * docs/sweeps.md lists all of them.
 *
 * The gauge tabella_sweep_behind_seconds{sweep="NAME"} says since when a sweep has had more to do than one
 * turn does, or has failed; 0: it is done. */
#ifndef TAB_SWEEP_H
#define TAB_SWEEP_H

#include <stdatomic.h>

#include "common/pg/pg.h"

enum { TAB_SWEEP_BATCH = 200, TAB_SWEEP_BATCH_MS = 5000, TAB_SWEEP_TURN_MS = 2000, TAB_SWEEP_SOON_MS = 1000 };

/* One kind of thing that is swept: a statement, or a function of several. */
typedef struct {
    const char *name;
    int64_t every_ms; /* between turns, when all was done; else TAB_SWEEP_SOON_MS */
    const char *sql;  /* $1: how many rows at most; it returns one for each that it took */
    tab_status (*batch)(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err);
    int64_t most;     /* rows of a batch; 0: TAB_SWEEP_BATCH */
    int64_t batch_ms; /* that one may take; 0: TAB_SWEEP_BATCH_MS */
    int64_t idle_ms; /* a turn that took nothing makes the next wait twice as long, up to this; 0: every_ms */
    bool rests;      /* whoever owns it has looked: there is nothing to take */
    /* kept here, zero at first */
    int64_t due, since,
        wait; /* tab_mono_ms of its next turn; since when it is behind; ms after an idle turn */
} tab_sweep;

/* Rows whose column `at` lies before `before` go, the oldest first. */
#define TAB_SWEEP_DELETE(table, at, before)                                                          \
    "DELETE FROM " table " WHERE ctid = ANY(ARRAY(SELECT ctid FROM " table " WHERE " at " < " before \
    " ORDER BY " at " LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1"

/* A turn of each that is due; over all organizations. stop, or NULL: turns true when the daemon ends. */
void tab_sweep_turns(tab_pg *pg, tab_sweep *sweep, size_t n, void *arg, const atomic_bool *stop);

/* A thread that does so, over and over. NULL: it does not start. */
typedef struct tab_sweeper tab_sweeper;
tab_sweeper *tab_sweeper_open(tab_pg *pg, tab_sweep *sweep, size_t n, void *arg);
void tab_sweeper_close(tab_sweeper *s);

#endif
