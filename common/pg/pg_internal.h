/* What the files of common/pg/pg.h share; not for anybody else. Calls go one way, down:
 *
 *   pg_migrate.c   migrations, the keys of organizations
 *      |
 *   pg.c           transactions and statements
 *      |
 *   pg_pool.c      connections: opened, lent, given back, closed
 *
 * pg_rows.c, which pg_migrate.c uses too, makes parameters and reads rows. */
#ifndef TAB_PG_INTERNAL_H
#define TAB_PG_INTERNAL_H

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/base/config.h"
#include "common/base/metrics.h"
#include "common/pg/pg.h"

enum { PG_PREPARED = 256 /* statements that one connection keeps prepared */ };

typedef struct pg_connection {
    PGconn *pg;
    bool fresh;  /* nobody has used it before */
    int of;      /* the number of `losses` when it was made */
    bool basics; /* what every transaction begins and ends with is prepared */
    size_t prepared;
    char *sql[PG_PREPARED]; /* statement i is named "s<i>" */
    struct pg_connection *next;
} pg_connection;

struct tab_pg {
    char *conninfo;    /* the first */
    const char *given; /* names it in the configuration */
    /* The one that served last, of both pools (decision 0481). */
    _Atomic(const char *) served, *serves;
    tab_config_listener told;
    pthread_mutex_t lock; /* of idle, open, retry_at, retry_ms */
    pthread_cond_t freed;
    pg_connection *idle;
    size_t open, most; /* connections that exist, lent ones included */
    int64_t retry_at, retry_ms, try_at;
    pthread_mutex_t probe_lock;
    PGconn *probe; /* tab_pg_alive's own connection */
    /* Counted here for both pools, and found there: its questions in a row that were not answered; how often
     * the server has been silent, whose connections of before are not used again; connections that were
     * lost. */
    atomic_int missed, *misses, lost, *losses;
    atomic_uint_fast64_t broken, *breaks;
    tab_pg *all; /* the pool for TAB_ORG_ALL; NULL in that one */
    bool proves; /* org_key is given */
    uint8_t org_key[TAB_ORG_KEY];
    tab_metric *calls[2], *seconds, *in_use; /* calls: of outcome ok, of outcome error */
    tab_metric *waits, *refused, *open_now, *breaker;
};

struct tab_rows {
    PGresult *r;
    bool binary;
};

/* A connection of the pool: an idle one, or a new one where there is room. Waits for one until the deadline.
 * NULL: none came free, or the server is away. */
pg_connection *pg_borrow(tab_pg *pg, tab_deadline deadline);
void pg_answered(tab_pg *pg);                    /* the server has, so it is not silent */
void pg_give_back(tab_pg *pg, pg_connection *c); /* for the next one */
void pg_forget(tab_pg *pg, pg_connection *c);    /* closes one that is of no more use */

/* Sends what is buffered and waits for one result and the end of the command. NULL: the connection is of no
 * more use (gone, or silent past the deadline). */
PGresult *pg_await(PGconn *c, tab_deadline deadline);
/* In pipeline mode: one result a step, until its end. What did not come stays NULL. False as above. */
bool pg_await_all(PGconn *c, tab_deadline deadline, PGresult **ret, size_t n);

#endif
