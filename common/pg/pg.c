/* Statements and transactions of common/pg/pg.h, on connections of pg_pool.c. What fails leaves here as a
 * status and one log line; values of statements never do. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/wait_time.h"
#include "common/pg/pg_internal.h"
#include "common/security/crypto.h"

enum {
    GRACE_MS = 500, /* the server's statement_timeout ends a statement first, and says why */
    ORG_MOST = 256  /* bytes of an organization's id */
};

#define LOCKED "55P03" /* lock_timeout has passed */

/* What a transaction sends leaves in as few round trips as its caller's statements allow: BEGIN goes with the
 * first of them, and COMMIT with the last one where the caller says so (tab_tx_finish). */
struct tab_tx {
    tab_pg *pool;
    pg_connection *c;
    tab_deadline deadline;
    bool begun, broken, failed;
    char sqlstate[6];
    char org[ORG_MOST + 1];
};

/* ---- statements ------------------------------------------------------------------------------ */

/* What a caller is told of an SQLSTATE, by the first beginning that fits; what is not here is our mistake. */
static tab_status status_of(const char *state)
{
    static const struct {
        const char *prefix;
        tab_status status;
    } map[] = { { "23505", TAB_CONFLICT },    { "57014", TAB_CANCELLED }, { "08", TAB_UNAVAILABLE },
                { "53", TAB_UNAVAILABLE },    { "57P", TAB_UNAVAILABLE }, { "58", TAB_UNAVAILABLE },
                { "25006", TAB_UNAVAILABLE }, { "XX", TAB_UNAVAILABLE },  { "40", TAB_UNAVAILABLE },
                { LOCKED, TAB_UNAVAILABLE } };
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        if (strncmp(state, map[i].prefix, strlen(map[i].prefix)) == 0)
            return map[i].status;
    return TAB_INTERNAL;
}

/* The server's message may quote a value, so neither the log nor the caller gets it. */
static tab_status failure(tab_tx *tx, const PGresult *r, const char *sql, tab_error *err)
{
    tx->failed = true;
    tab_metric_add(tx->pool->calls[1], 1);
    if (r == NULL) {
        tx->broken = true;
        bool late = tab_left_ms(tx->deadline, 1) == 0;
        return late ? tab_fail(err, TAB_CANCELLED, NULL, "the deadline has passed")
                    : tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is not responding; try again");
    }
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *constraint = PQresultErrorField(r, PG_DIAG_CONSTRAINT_NAME);
    snprintf(tx->sqlstate, sizeof tx->sqlstate, "%s", state == NULL ? "08000" : state);
    tab_status s = status_of(tx->sqlstate);
    if (tx->c == NULL || PQstatus(tx->c->pg) != CONNECTION_OK || strncmp(tx->sqlstate, "57P", 3) == 0)
        tx->broken = true;
    if (s == TAB_CONFLICT)
        return tab_fail(err, s, constraint, "this entry already exists");
    if (s == TAB_CANCELLED)
        return tab_fail(err, s, NULL, "the deadline has passed");
    static _Atomic int64_t full;
    if (strcmp(tx->sqlstate, "53100") == 0 && tab_log_due(&full))
        tab_log(TAB_ERROR,
                "PostgreSQL's disk is full: free space there; what was acknowledged is kept, the rest "
                "is answered with 503 until then");
    char head[80];
    snprintf(head, sizeof head, "%s", sql);
    tab_log_fields(s == TAB_INTERNAL ? TAB_ERROR : TAB_WARN, "a statement failed", "sqlstate", tx->sqlstate,
                   "statement", head, "constraint", constraint, NULL);
    if (strcmp(tx->sqlstate, LOCKED) == 0)
        return tab_fail(err, s, NULL, "another transaction is holding a lock; try again");
    return s == TAB_UNAVAILABLE ? tab_fail(err, s, NULL, "a server is not responding; try again")
                                : tab_fail(err, s, NULL, "an internal error");
}

enum { PARAMS_MOST = 64 };

/* Parameters as libpq wants them; texts are copied, because libpq wants a NUL behind them. */
typedef struct {
    const char *value[PARAMS_MOST];
    int length[PARAMS_MOST], format[PARAMS_MOST];
    char *copies[PARAMS_MOST];
    size_t n_copies;
} bound;

static tab_status bind_params(const tab_param *p, size_t n, bound *b, tab_error *err)
{
    for (size_t i = 0; i < n; i++) {
        b->value[i] = NULL;
        b->length[i] = (int)p[i].s.n;
        b->format[i] = p[i].kind == TAB_P_BYTES;
        if (p[i].kind == TAB_P_NULL)
            continue;
        if (p[i].s.n > INT32_MAX / 2)
            return tab_fail(err, TAB_VALIDATION, NULL, "a value is too large");
        if (p[i].kind == TAB_P_BYTES)
            b->value[i] = p[i].s.n == 0 ? "" : p[i].s.p;
        else if (p[i].s.p == NULL)
            b->value[i] = p[i].local;
        else if (memchr(p[i].s.p, 0, p[i].s.n) != NULL)
            return tab_fail(err, TAB_VALIDATION, NULL, "a string contains a NUL character");
        else if ((b->copies[b->n_copies] = strndup(p[i].s.p, p[i].s.n)) == NULL)
            return tab_no_memory(err);
        else
            b->value[i] = b->copies[b->n_copies++];
    }
    return TAB_OK;
}

/* The proof for tab.org() of pg_migrate.c: HMAC-SHA256 of "pid of the server's process:organization". It
 * holds for this connection only: sessions of the same role see texts of running statements in
 * pg_stat_activity. */
static void prove(const tab_pg *pg, PGconn *c, const char *org, char ret[TAB_SHA256_HEX])
{
    char text[ORG_MOST + 16];
    uint8_t mac[TAB_SHA256];
    int n = snprintf(text, sizeof text, "%d:%s", PQbackendPID(c), org);
    tab_hmac_sha256((tab_str){ (const char *)pg->org_key, TAB_ORG_KEY }, (tab_str){ text, (size_t)n }, mac);
    tab_hex(mac, sizeof mac, ret);
}

/* ---- flights --------------------------------------------------------------------------------- */

/* The messages of one round trip, in libpq's pipeline mode. Where one fails the server skips the rest.
 *
 *   [prepare BEGIN, BIND, COMMIT]  once a connection
 *   [BEGIN, BIND]                  with a transaction's first statement
 *   [prepare the statement]        once a connection
 *   the statement
 *   [COMMIT]                       with its last one */
enum { STEPS_MOST = 8, NONE = STEPS_MOST };

#define BIND                                                                                 \
    "SELECT pg_catalog.set_config('tab.org', $1, true), pg_catalog.set_config('tab.proof', " \
    "$2, true), pg_catalog.set_config('statement_timeout', $3, true)"

typedef struct {
    size_t n, basics, begin, prepare, statement, commit; /* number of each step; NONE: it is not sent */
    PGresult *of[STEPS_MOST];
} flight;

static bool send_basics(tab_tx *tx, flight *f)
{
    static const char *const basics[][2] = { { "begin", "BEGIN" }, { "bind", BIND }, { "commit", "COMMIT" } };
    f->basics = f->n;
    for (size_t i = 0; i < 3; i++, f->n++)
        if (!PQsendPrepare(tx->c->pg, basics[i][0], basics[i][1], 0, NULL))
            return false;
    return true;
}

static bool send_begin(tab_tx *tx, flight *f)
{
    char proof[TAB_SHA256_HEX] = "", ms[24];
    int64_t left = tab_left_ms(tx->deadline, 24 * 3600 * 1000);
    const char *value[] = { tx->org, proof, ms };
    snprintf(ms, sizeof ms, "%lld", (long long)(left < 1 ? 1 : left));
    if (tx->pool->proves)
        prove(tx->pool, tx->c->pg, tx->org, proof);
    f->begin = f->n;
    f->n += 2;
    return PQsendQueryPrepared(tx->c->pg, "begin", 0, NULL, NULL, NULL, 0) &&
           PQsendQueryPrepared(tx->c->pg, "bind", 3, value, NULL, NULL, 0);
}

/* By its name, prepared first if need be; as it stands where the connection has no room for one more. */
static bool send_statement(tab_tx *tx, flight *f, const char *sql, const bound *b, size_t n, bool binary)
{
    pg_connection *c = tx->c;
    char name[16];
    size_t i = 0;
    while (i < c->prepared && strcmp(c->sql[i], sql) != 0)
        i++;
    snprintf(name, sizeof name, "s%zu", i);
    if (i == c->prepared && i < PG_PREPARED) {
        f->prepare = f->n++;
        if (!PQsendPrepare(c->pg, name, sql, 0, NULL))
            return false;
    }
    f->statement = f->n++;
    return i < PG_PREPARED
               ? PQsendQueryPrepared(c->pg, name, (int)n, b->value, b->length, b->format, binary)
               : PQsendQueryParams(c->pg, sql, (int)n, NULL, b->value, b->length, b->format, binary);
}

/* What the connection has prepared now. False: out of memory, so that its names are no longer known. */
static bool note_prepared(pg_connection *c, const flight *f, const char *sql)
{
    if (f->basics != NONE && PQresultStatus(f->of[f->basics + 2]) == PGRES_COMMAND_OK)
        c->basics = true;
    if (f->prepare == NONE || PQresultStatus(f->of[f->prepare]) != PGRES_COMMAND_OK)
        return true;
    c->sql[c->prepared] = strdup(sql);
    return c->sql[c->prepared] != NULL && ++c->prepared > 0;
}

/* The first step that failed; f->n: none. */
static size_t first_failure(const flight *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (PQresultStatus(f->of[i]) != PGRES_COMMAND_OK && PQresultStatus(f->of[i]) != PGRES_TUPLES_OK)
            return i;
    return f->n;
}

static void clear(flight *f)
{
    for (size_t i = 0; i < f->n; i++) {
        PQclear(f->of[i]);
        f->of[i] = NULL;
    }
}

/* False: the connection is of no more use. */
static bool fly(tab_tx *tx, flight *f, const char *sql, const bound *b, size_t n, bool binary, bool last)
{
    tab_deadline d = tx->deadline == TAB_NO_DEADLINE ? TAB_NO_DEADLINE : tx->deadline + GRACE_MS;
    PGconn *c = tx->c->pg;
    *f = (flight){ .basics = NONE, .begin = NONE, .prepare = NONE, .statement = NONE, .commit = NONE };
    bool ok = PQenterPipelineMode(c) && (tx->c->basics || send_basics(tx, f)) &&
              (tx->begun || send_begin(tx, f)) && send_statement(tx, f, sql, b, n, binary);
    if (ok && last) {
        f->commit = f->n++;
        ok = PQsendQueryPrepared(c, "commit", 0, NULL, NULL, NULL, 0);
    }
    return ok && PQpipelineSync(c) && pg_await_all(c, d, f->of, f->n) && PQexitPipelineMode(c) &&
           note_prepared(tx->c, f, sql);
}

/* Another connection for a transaction of which the server has done nothing: a kept one may have died with a
 * restart of the server, and the next is tried, at last a fresh one. */
static bool another(tab_tx *tx)
{
    if (tx->c->fresh || tab_left_ms(tx->deadline, 1) == 0)
        return false;
    pg_forget(tx->pool, tx->c); /* first: the pool may have room for one only */
    tx->c = pg_borrow(tx->pool, tx->deadline);
    return tx->c != NULL;
}

static tab_status send(tab_tx *tx, const char *sql, const bound *b, size_t n, bool binary, bool last,
                       PGresult **ret, tab_error *err)
{
    flight f;
    bool whole = fly(tx, &f, sql, b, n, binary, last);
    /* With COMMIT on board it is not known what was done. */
    while (!whole && !tx->begun && !last && another(tx)) {
        clear(&f);
        whole = fly(tx, &f, sql, b, n, binary, last);
    }
    size_t bad = first_failure(&f);
    tab_status s = TAB_OK;
    if (!whole || bad < f.n) {
        bool unheard = !tx->begun && f.of[0] == NULL;
        s = failure(tx, bad < f.n ? f.of[bad] : NULL, bad < f.n && bad == f.commit ? "COMMIT" : sql, err);
        tx->broken |= !whole;
        if (unheard) /* whatever the time is: the server has said nothing */
            s = tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is not responding; try again");
    } else if (last && strcmp(PQcmdStatus(f.of[f.commit]), "COMMIT") != 0) {
        s = tab_fail(err, TAB_INTERNAL, NULL, "the transaction was rolled back");
    }
    tx->begun = true;
    if (s == TAB_OK) {
        *ret = f.of[f.statement];
        f.of[f.statement] = NULL;
    }
    clear(&f);
    return s;
}

static tab_status query(tab_tx *tx, tab_rows **ret, tab_error *err, const char *sql, const tab_param *p,
                        size_t n, bool binary, bool last)
{
    if (tx->broken || tx->failed)
        return tab_fail(err, tx->broken ? TAB_UNAVAILABLE : TAB_INTERNAL, NULL,
                        "the transaction has failed before");
    if (n > PARAMS_MOST)
        return tab_fail(err, TAB_INTERNAL, NULL, "too many parameters");
    bound b;
    b.n_copies = 0; /* the rest is written where it is read */
    int64_t from = tab_mono_us();
    PGresult *r = NULL;
    tab_status s = bind_params(p, n, &b, err);
    if (s == TAB_OK)
        s = send(tx, sql, &b, n, binary, last, &r, err);
    for (size_t i = 0; i < b.n_copies; i++)
        free(b.copies[i]);
    int64_t took = tab_mono_us() - from;
    tab_wait_time_of_thread.postgres_us += took;
    tab_metric_observe(tx->pool->seconds, (double)took * 1e-6);
    if (s == TAB_OK)
        tab_metric_add(tx->pool->calls[0], 1);
    if (s == TAB_OK && atomic_load(tx->pool->misses) > 0)
        pg_answered(tx->pool);
    if (s != TAB_OK || ret == NULL) {
        PQclear(r);
        return s;
    }
    tab_rows *rows = malloc(sizeof *rows);
    if (rows == NULL) {
        PQclear(r);
        return tab_no_memory(err);
    }
    *rows = (tab_rows){ r, binary };
    tab_rows_free(*ret); /* so that one variable serves several statements */
    *ret = rows;
    return TAB_OK;
}

tab_status tab_tx_query(tab_tx *tx, tab_rows **ret, tab_error *err, const char *sql, const tab_param *p,
                        size_t n)
{
    return query(tx, ret, err, sql, p, n, false, false);
}

tab_status tab_tx_query_bytes(tab_tx *tx, tab_rows **ret, tab_error *err, const char *sql, const tab_param *p,
                              size_t n)
{
    return query(tx, ret, err, sql, p, n, true, false);
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* By the simple protocol: several commands in one text, no parameters. */
static PGresult *simple(tab_tx *tx, const char *sql)
{
    tab_deadline d = tx->deadline == TAB_NO_DEADLINE ? TAB_NO_DEADLINE : tx->deadline + GRACE_MS;
    int64_t from = tab_mono_us();
    PGresult *r = PQsendQuery(tx->c->pg, sql) ? pg_await(tx->c->pg, d) : NULL;
    tab_wait_time_of_thread.postgres_us += tab_mono_us() - from;
    return r;
}

static tab_status command(tab_tx *tx, const char *sql, tab_error *err)
{
    PGresult *r = simple(tx, sql);
    ExecStatusType st = r == NULL ? PGRES_FATAL_ERROR : PQresultStatus(r);
    tab_status s = st == PGRES_COMMAND_OK || st == PGRES_TUPLES_OK ? TAB_OK : failure(tx, r, sql, err);
    PQclear(r);
    return s;
}

/* BEGIN and what binds the transaction, for a script. */
static tab_status begin_now(tab_tx *tx, tab_error *err)
{
    bound none = { .n_copies = 0 };
    PGresult *r = NULL;
    TAB_TRY(send(tx, "SELECT 1", &none, 0, false, false, &r, err));
    PQclear(r);
    return TAB_OK;
}

tab_status tab_tx_begin(tab_pg *pg, const char *org, tab_deadline deadline, tab_tx **ret, tab_error *err)
{
    org = org == NULL ? "" : org;
    if (strlen(org) > ORG_MOST)
        return tab_fail(err, TAB_INTERNAL, NULL, "an organization's id is too long");
    if (strcmp(org, TAB_ORG_ALL) == 0 && pg->all != NULL)
        pg = pg->all;
    if (tab_left_ms(deadline, 1) == 0)
        return tab_fail(err, TAB_CANCELLED, NULL, "the deadline has passed");
    tab_tx *tx = calloc(1, sizeof *tx);
    if (tx == NULL)
        return tab_no_memory(err);
    tx->pool = pg;
    tx->deadline = deadline;
    snprintf(tx->org, sizeof tx->org, "%s", org);
    tx->c = pg_borrow(pg, deadline);
    if (tx->c == NULL) {
        free(tx);
        return tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is not responding; try again");
    }
    tab_metric_add(pg->in_use, 1);
    *ret = tx;
    return TAB_OK;
}

/* The connection goes back to the pool unless something is left on it. */
static void end(tab_tx *tx)
{
    if (tx->c == NULL) /* it was given up, and there was no other */
        ;
    else if (tx->broken || PQtransactionStatus(tx->c->pg) != PQTRANS_IDLE)
        pg_forget(tx->pool, tx->c);
    else
        pg_give_back(tx->pool, tx->c);
    tab_metric_add(tx->pool->in_use, -1);
    free(tx);
}

void tab_tx_free(tab_tx *tx)
{
    if (tx == NULL)
        return;
    if (!tx->broken && PQtransactionStatus(tx->c->pg) != PQTRANS_IDLE) {
        tx->deadline = tab_in_ms(1000); /* a rollback must not hang, and the caller's time may be up */
        PGresult *r = simple(tx, "ROLLBACK");
        tx->broken = r == NULL;
        PQclear(r);
    }
    end(tx);
}

tab_status tab_tx_commit(tab_tx **txp, tab_error *err)
{
    tab_tx *tx = tab_take(txp);
    if (tx->failed || tx->broken) {
        tab_tx_free(tx);
        return tab_fail(err, TAB_INTERNAL, NULL, "the transaction has failed before");
    }
    if (!tx->begun) {
        end(tx);
        return TAB_OK;
    }
    PGresult *r = simple(tx, "COMMIT");
    tab_status s = TAB_OK;
    if (r == NULL || PQresultStatus(r) != PGRES_COMMAND_OK)
        s = failure(tx, r, "COMMIT", err);
    else if (strcmp(PQcmdStatus(r), "COMMIT") != 0) /* the server says ROLLBACK after a swallowed failure */
        s = tab_fail(err, TAB_INTERNAL, NULL, "the transaction was rolled back");
    PQclear(r);
    end(tx);
    return s;
}

tab_status tab_tx_finish(tab_tx **txp, tab_rows **ret, tab_error *err, const char *sql, const tab_param *p,
                         size_t n)
{
    tab_tx *tx = tab_take(txp);
    tab_status s = query(tx, ret, err, sql, p, n, false, true);
    tab_tx_free(tx);
    return s;
}

tab_status tab_tx_script(tab_tx *tx, const char *sql, tab_error *err)
{
    if (!tx->begun)
        TAB_TRY(begin_now(tx, err));
    return command(tx, sql, err);
}

tab_status tab_pg_transact(tab_pg *pg, const char *org, tab_deadline deadline,
                           tab_status (*fn)(tab_tx *tx, void *ctx, tab_error *err), void *ctx, tab_error *err)
{
    for (int attempt = 1;; attempt++) {
        tab_tx *tx = NULL;
        tab_status s = tab_tx_begin(pg, org, deadline, &tx, err);
        if (s != TAB_OK)
            return s;
        s = fn(tx, ctx, err);
        bool again = strcmp(tx->sqlstate, "40001") == 0 || strcmp(tx->sqlstate, "40P01") == 0;
        if (s == TAB_OK)
            return tab_tx_commit(&tx, err);
        tab_tx_free(tx);
        if (!again || attempt == 5 || tab_left_ms(deadline, 1) == 0)
            return s;
        poll(NULL, 0, 5 * attempt);
    }
}

tab_status tab_tx_room(tab_tx *tx, const char *org, const char *sql, int64_t most, const char *what,
                       tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    tab_status s = tab_tx_query(tx, &r, err, sql, TAB_P(tab_p_text(org)));
    if (s == TAB_OK && tab_rows_int(r, 0, 0) >= most)
        return tab_fail(err, TAB_VALIDATION, "",
                        "an organization can have at most %lld %s; delete one that you no longer use",
                        (long long)most, what);
    return s;
}
