/* PostgreSQL: a pool of connections, transactions bound to one organization, a deadline on each statement.
 *
 * Row-level security is forced on every table with an `org` column (the migration runner's function
 * tab.protect('keys.api_key') does it), and a transaction sees the rows of its organization only:
 * a statement without its WHERE reads nothing of others. TAB_ORG_ALL sees all: sweepers and relays, on
 * connections of their own. A daemon's role owns nothing, and the name of an organization counts only with
 * a proof made from a key that is not in the database's reach of that role (decision 0250): what an
 * injected statement sets in `tab.org` opens nothing.
 *
 *   TAB_AUTO(tab_tx) *tx = NULL;
 *   TAB_AUTO(tab_rows) *rows = NULL;
 *   if ((s = tab_tx_begin(pg, org, deadline, &tx, err)) != TAB_OK ||
 *       (s = tab_tx_query(tx, &rows, err, "SELECT name FROM keys.api_key WHERE org = $1 AND id = $2",
 *                         TAB_P(tab_p_text(org), tab_p_str(id)))) != TAB_OK)
 *       return s;                                    // tx rolls back by itself
 *   if (tab_rows_count(rows) == 1) use(tab_rows_str(rows, 0, 0));
 *   return tab_tx_commit(&tx, err);
 *
 * Errors: UNAVAILABLE (server away, pool exhausted, read-only, disk full), CANCELLED (deadline), CONFLICT
 * (unique violation; param = the constraint's name), INTERNAL (the rest, logged without values). */
#ifndef TAB_PG_H
#define TAB_PG_H

#include "common/base/arena.h"
#include "common/base/time.h"

#define TAB_ORG_ALL "*"

typedef struct tab_pg tab_pg;
typedef struct tab_tx tab_tx;     /* one thread at a time */
typedef struct tab_rows tab_rows; /* valid until freed, also after its transaction */

/* Opening does not wait: connections are made when asked for, `pool` at most (1 to 64), and TAB_PG_ALL more
 * for TAB_ORG_ALL. org_key: TAB_ORG_KEY, the first key of the list proves organizations; "" or NULL: none,
 * which serves the tables' owner only (migrations, tests). NULL: out of memory, or the key is no key
 * (logged). */
enum { TAB_PG_ALL = 8 }; /* a relay holds one for each reader while it calls it */
tab_pg *tab_pg_open(const char *conninfo, const char *org_key, int64_t pool);
void tab_pg_free(tab_pg *pg);
TAB_DEFINE_AUTO(tab_pg)
bool tab_pg_alive(void *pg); /* a round trip on a connection of its own, within a second */
/* How many connections were lost or given up so far: when a server was replaced by another, all were. */
uint64_t tab_pg_breaks(const tab_pg *pg);

typedef struct {
    enum { TAB_P_NULL, TAB_P_TEXT, TAB_P_BYTES } kind;
    tab_str s;      /* TEXT, BYTES: borrowed for the call */
    char local[32]; /* numbers as text */
} tab_param;
tab_param tab_p_null(void);
tab_param tab_p_text(const char *s); /* NULL: SQL null; no NUL inside, as in all of PostgreSQL's text */
tab_param tab_p_str(tab_str s);      /* text; p NULL: SQL null. A text with a NUL byte fails VALIDATION */
tab_param tab_p_bytes(tab_str s);    /* bytea */
tab_param tab_p_int(int64_t x);
tab_param tab_p_real(double x);
tab_param tab_p_bool(bool x);
tab_param tab_p_time(int64_t us); /* timestamptz from microseconds since 1970 */
/* '{"a","b"}', quoted, for a parameter that is cast to text[]; NULL: the arena is full. */
char *tab_pg_array(tab_arena *a, char *const *item, size_t n);
#define TAB_P(...) \
    (const tab_param[]){ __VA_ARGS__ }, sizeof((const tab_param[]){ __VA_ARGS__ }) / sizeof(tab_param)
#define TAB_P_NONE NULL, 0

/* A transaction at READ COMMITTED. The deadline bounds each of its statements. BEGIN goes to the server with
 * the first of them, so one round trip does both. */
tab_status tab_tx_begin(tab_pg *pg, const char *org, tab_deadline deadline, tab_tx **ret,
                        tab_error *err) TAB_CHECKED;
/* Before its first statement: the server ends it, and its locks, once it has said nothing for so long (else
 * for as long as its deadline was away when it began). */
void tab_tx_silence(tab_tx *tx, int64_t ms);
tab_status tab_tx_commit(tab_tx **tx, tab_error *err) TAB_CHECKED; /* takes it, whatever comes */
/* The last statement and the commit in one round trip; takes it like a commit. With begin a whole transaction
 * costs one round trip. UNAVAILABLE, CANCELLED: it may have been committed or not, as with a commit. */
tab_status tab_tx_finish(tab_tx **tx, tab_rows **ret, tab_error *err, const char *sql, const tab_param *p,
                         size_t n) TAB_CHECKED;
#ifdef TAB_POINTS /* each commit has a point before it and one behind it, by the function that commits */
tab_status tab_tx_commit_at(const char *file, const char *fn, tab_tx **tx, tab_error *err) TAB_CHECKED;
tab_status tab_tx_finish_at(const char *file, const char *fn, tab_tx **tx, tab_rows **ret, tab_error *err,
                            const char *sql, const tab_param *p, size_t n) TAB_CHECKED;
#define tab_tx_commit(...) tab_tx_commit_at(__FILE__, __func__, __VA_ARGS__)
#define tab_tx_finish(...) tab_tx_finish_at(__FILE__, __func__, __VA_ARGS__)
#endif
void tab_tx_free(tab_tx *tx); /* rolls back */
TAB_DEFINE_AUTO(tab_tx)

/* One statement (prepared once a connection, so keep its text constant). ret may be NULL. */
tab_status tab_tx_query(tab_tx *tx, tab_rows **ret, tab_error *err, const char *sql, const tab_param *p,
                        size_t n) TAB_CHECKED;
/* VALIDATION where an organization already has `most` of something. sql counts what it has ($1: org); what
 * names them: "API keys". Two calls at once may both find room. */
tab_status tab_tx_room(tab_tx *tx, const char *org, const char *sql, int64_t most, const char *what,
                       tab_error *err) TAB_CHECKED;
/* tab_tx_query with values in PostgreSQL's binary form: for bytea columns (and text) only; no hex on the
 * way. */
tab_status tab_tx_query_bytes(tab_tx *tx, tab_rows **ret, tab_error *err, const char *sql, const tab_param *p,
                              size_t n) TAB_CHECKED;
/* A text of several statements without parameters or results: migrations. */
tab_status tab_tx_script(tab_tx *tx, const char *sql, tab_error *err) TAB_CHECKED;

/* Begins, runs fn, commits; again, 5 times at most, after a serialization failure or a deadlock. fn may run
 * more than once and must not keep what an earlier run did. */
tab_status tab_pg_transact(tab_pg *pg, const char *org, tab_deadline deadline,
                           tab_status (*fn)(tab_tx *tx, void *ctx, tab_error *err), void *ctx,
                           tab_error *err) TAB_CHECKED;

void tab_rows_free(tab_rows *r);
TAB_DEFINE_AUTO(tab_rows)
size_t tab_rows_count(const tab_rows *r);
size_t tab_rows_affected(const tab_rows *r);
bool tab_rows_null(const tab_rows *r, size_t row, size_t col);
tab_str tab_rows_str(const tab_rows *r, size_t row, size_t col);      /* a null: n = 0 */
const char *tab_rows_text(const tab_rows *r, size_t row, size_t col); /* NUL-terminated; a null: "" */
int64_t tab_rows_int(const tab_rows *r, size_t row, size_t col);      /* a null: 0 */
double tab_rows_real(const tab_rows *r, size_t row, size_t col);
bool tab_rows_bool(const tab_rows *r, size_t row, size_t col);
int64_t tab_rows_time(const tab_rows *r, size_t row, size_t col); /* timestamptz to microseconds; null: 0 */
/* bytea: from text results it is decoded into the arena, from binary ones it is borrowed. */
tab_str tab_rows_bytes(const tab_rows *r, size_t row, size_t col, tab_arena *a);

/* Migrations: services/NAME/schema/NNNN-*.sql, numbered from 1, forward only, compiled into the program
 * `migrate`. Under an advisory lock; each in its own transaction together with its row in
 * NAME.schema_version. The schema NAME, its outbox and its inbox (common/rpc/outbox.h) are made first. */
typedef struct {
    const char *service;
    int number;
    const char *name, *sql;
} tab_migration;
tab_status tab_pg_migrate(tab_pg *pg, const tab_migration *m, size_t n, tab_error *err) TAB_CHECKED;
/* Makes the keys of `org_key` (1 to TAB_ORG_KEYS of 64 hex digits, comma between) those whose proofs are
 * taken, and no others. VALIDATION: it is no such list. */
enum { TAB_ORG_KEYS = 4, TAB_ORG_KEY = 32 };
tab_status tab_pg_org_keys(tab_pg *pg, const char *org_key, tab_error *err) TAB_CHECKED;
/* The keys of such a list; 0: it is none. */
size_t tab_org_keys_read(const char *text, uint8_t ret[TAB_ORG_KEYS][TAB_ORG_KEY]);

/* The versions of a service's schema that this build runs on: from `least`, the last migration that it needs,
 * up to the next hundred. Migrations within a hundred only widen, so that the build before runs on them; one
 * that takes something away begins a new hundred (decision 0304). */
typedef struct {
    tab_pg *pg;
    const char *schema; /* its name in PostgreSQL */
    int least;
    /* kept here, zero at first */
    bool said, fits; /* that it does not fit; at the last look it did */
    int64_t due;     /* tab_mono_ms of the next look */
} tab_schema;
/* For tab_health_watch; arg is a tab_schema. False also where the database does not answer. What fitted is
 * looked at again after TAB_SCHEMA_MS: a schema changes once a release, and all daemons ask. */
enum { TAB_SCHEMA_MS = 5000 };
bool tab_schema_fits(void *schema);

#endif
