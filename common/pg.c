/* Statements and transactions of common/pg.h, on connections of pg_pool.c. What fails leaves here as a status
 * and one log line; values of statements never do. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/crypto.h"
#include "common/log.h"
#include "common/pg_internal.h"
#include "common/spent.h"

enum {
    GRACE_MS = 500, /* the server's statement_timeout ends a statement first, and says why */
    ORG_MOST = 256  /* bytes of an organization's id */
};

#define LOCKED "55P03" /* lock_timeout has passed */

struct tab_tx {
    tab_pg *pool;
    pg_connection *c;
    tab_deadline deadline;
    bool broken, failed;
    char sqlstate[6];
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
                    : tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is away, try again");
    }
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *constraint = PQresultErrorField(r, PG_DIAG_CONSTRAINT_NAME);
    snprintf(tx->sqlstate, sizeof tx->sqlstate, "%s", state == NULL ? "08000" : state);
    tab_status s = status_of(tx->sqlstate);
    if (PQstatus(tx->c->pg) != CONNECTION_OK || strncmp(tx->sqlstate, "57P", 3) == 0)
        tx->broken = true;
    if (s == TAB_CONFLICT)
        return tab_fail(err, s, constraint, "this entry exists already");
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
        return tab_fail(err, s, NULL, "another transaction holds a lock for long, try again");
    return s == TAB_UNAVAILABLE ? tab_fail(err, s, NULL, "a server is away, try again")
                                : tab_fail(err, s, NULL, "an internal error");
}

/* The name of sql's prepared form on this connection; prepares it if need be. NULL: not prepared (the table
 * is full, or the server refused; running the text itself then shows the reason). */
static bool prepared(tab_tx *tx, const char *sql, char name[16], PGresult **ret_error, bool *ret_dead)
{
    pg_connection *c = tx->c;
    *ret_dead = false;
    size_t i = 0;
    while (i < c->prepared && strcmp(c->sql[i], sql) != 0)
        i++;
    snprintf(name, 16, "s%zu", i);
    if (i < c->prepared)
        return true;
    if (i == PG_PREPARED)
        return false;
    PGresult *r =
        PQsendPrepare(c->pg, name, sql, 0, NULL)
            ? pg_await(c->pg, tx->deadline == TAB_NO_DEADLINE ? TAB_NO_DEADLINE : tx->deadline + GRACE_MS)
            : NULL;
    if (r == NULL) {
        *ret_dead = true;
        return false;
    }
    if (PQresultStatus(r) != PGRES_COMMAND_OK) {
        *ret_error = r;
        return false;
    }
    PQclear(r);
    c->sql[i] = strdup(sql);
    if (c->sql[i] == NULL)
        return false;
    c->prepared++;
    return true;
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
            return tab_fail(err, TAB_VALIDATION, NULL, "a text holds a NUL character");
        else if ((b->copies[b->n_copies] = strndup(p[i].s.p, p[i].s.n)) == NULL)
            return tab_no_memory(err);
        else
            b->value[i] = b->copies[b->n_copies++];
    }
    return TAB_OK;
}

/* Prepared where the connection has room for one more statement, else as it stands. */
static tab_status send_statement(tab_tx *tx, const char *sql, const bound *b, size_t n, bool binary,
                                 PGresult **ret, tab_error *err)
{
    char name[16];
    bool dead = false;
    PGresult *r = NULL;
    PGconn *c = tx->c->pg;
    tab_deadline d = tx->deadline == TAB_NO_DEADLINE ? TAB_NO_DEADLINE : tx->deadline + GRACE_MS;
    if (prepared(tx, sql, name, &r, &dead))
        r = PQsendQueryPrepared(c, name, (int)n, b->value, b->length, b->format, binary) ? pg_await(c, d)
                                                                                         : NULL;
    else if (!dead && r == NULL)
        r = PQsendQueryParams(c, sql, (int)n, NULL, b->value, b->length, b->format, binary) ? pg_await(c, d)
                                                                                            : NULL;
    *ret = r;
    ExecStatusType st = r == NULL ? PGRES_FATAL_ERROR : PQresultStatus(r);
    return st == PGRES_TUPLES_OK || st == PGRES_COMMAND_OK ? TAB_OK : failure(tx, r, sql, err);
}

static tab_status query(tab_tx *tx, tab_rows **ret, tab_error *err, const char *sql, const tab_param *p,
                        size_t n, bool binary)
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
        s = send_statement(tx, sql, &b, n, binary, &r, err);
    for (size_t i = 0; i < b.n_copies; i++)
        free(b.copies[i]);
    int64_t took = tab_mono_us() - from;
    tab_spent_here.postgres_us += took;
    tab_metric_observe(tx->pool->seconds, (double)took * 1e-6);
    if (s == TAB_OK)
        tab_metric_add(tx->pool->calls[0], 1);
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
    return query(tx, ret, err, sql, p, n, false);
}

tab_status tab_tx_query_bytes(tab_tx *tx, tab_rows **ret, tab_error *err, const char *sql, const tab_param *p,
                              size_t n)
{
    return query(tx, ret, err, sql, p, n, true);
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* By the simple protocol: several commands in one text, no parameters. */
static PGresult *simple(tab_tx *tx, const char *sql)
{
    tab_deadline d = tx->deadline == TAB_NO_DEADLINE ? TAB_NO_DEADLINE : tx->deadline + GRACE_MS;
    int64_t from = tab_mono_us();
    PGresult *r = PQsendQuery(tx->c->pg, sql) ? pg_await(tx->c->pg, d) : NULL;
    tab_spent_here.postgres_us += tab_mono_us() - from;
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

/* BEGIN and what binds the transaction, in one round trip. */
static PGresult *bind(tab_tx *tx, const char *org)
{
    char proof[TAB_SHA256_HEX] = "", sql[2 * ORG_MOST + 256];
    int64_t left = tab_left_ms(tx->deadline, 24 * 3600 * 1000);
    if (tx->pool->proves)
        prove(tx->pool, tx->c->pg, org, proof);
    char *quoted = PQescapeLiteral(tx->c->pg, org, strlen(org));
    snprintf(sql, sizeof sql,
             "BEGIN; SET LOCAL tab.org = %s; SET LOCAL tab.proof = '%s'; SET LOCAL statement_timeout = %lld",
             quoted == NULL ? "''" : quoted, proof, (long long)(left < 1 ? 1 : left));
    PQfreemem(quoted);
    return simple(tx, sql);
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
    /* A kept connection may have died with a restart of the server: then BEGIN fails below the protocol, and
     * the next connection is tried, at last a fresh one. */
    for (;;) {
        tx->c = pg_borrow(pg, deadline);
        if (tx->c == NULL) {
            free(tx);
            return tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is away, try again");
        }
        bool fresh = tx->c->prepared == 0 && tab_mono_ms() - tx->c->used < 5;
        PGresult *r = bind(tx, org);
        bool ok = r != NULL && PQresultStatus(r) == PGRES_COMMAND_OK;
        PQclear(r);
        if (ok)
            break;
        pg_forget(pg, tx->c);
        if (fresh || tab_left_ms(deadline, 1) == 0) {
            free(tx);
            return tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is away, try again");
        }
    }
    tab_metric_add(pg->in_use, 1);
    *ret = tx;
    return TAB_OK;
}

/* The connection goes back to the pool unless something is left on it. */
static void end(tab_tx *tx)
{
    if (tx->broken || PQtransactionStatus(tx->c->pg) != PQTRANS_IDLE)
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
    if (!tx->broken) {
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

tab_status tab_tx_script(tab_tx *tx, const char *sql, tab_error *err)
{
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
                        "an organization has at most %lld %s; delete one that is not used", (long long)most,
                        what);
    return s;
}
