#include "common/pg.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/crypto.h"
#include "common/log.h"
#include "common/metrics.h"

/* A connection is idle in the pool, or lent to one transaction. A lent connection that failed below the
 * protocol (server gone, deadline passed while it was mute) is closed instead of given back.
 *
 *   (no socket) --connect--> idle --begin--> lent --commit, rollback--> idle
 *        ^                                    |
 *        +------------- broken ---------------+
 *
 * After a failed connect nobody tries again before `retry_at` (0.1 s doubling to 3 s): callers get
 * UNAVAILABLE at once instead of piling up. */
enum {
    POOL_MOST = 64,
    PREPARED = 256,
    CONNECT_MS = 3000,
    GRACE_MS = 500,
    RETRY_FIRST = 100,
    RETRY_MOST = 3000,
    IDLE_CHECK_MS = 15000,
    ORG_MOST = 256
};

typedef struct connection {
    PGconn *pg;
    int64_t used;
    size_t prepared;
    char *sql[PREPARED]; /* statement i is named "s<i>" */
    struct connection *next;
} connection;

struct tab_pg {
    char *conninfo;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    connection *idle;
    size_t open, most; /* connections that exist, lent ones included */
    int64_t retry_at, retry_ms;
    pthread_mutex_t probe_lock;
    PGconn *probe;
    tab_pg *all; /* the pool for TAB_ORG_ALL; NULL in that one */
    bool proves;
    uint8_t org_key[TAB_ORG_KEY];
    tab_metric *calls[2], *seconds, *in_use;
};

struct tab_tx {
    tab_pg *pool;
    connection *c;
    tab_deadline deadline;
    bool broken, failed;
    char sqlstate[6];
};

struct tab_rows {
    PGresult *r;
    bool binary;
};

/* ---- waiting --------------------------------------------------------------------------------- */

static bool wait_socket(PGconn *c, short events, tab_deadline deadline)
{
    struct pollfd p = { PQsocket(c), events, 0 };
    for (;;) {
        int64_t left = tab_left_ms(deadline, 60000);
        int n = poll(&p, 1, (int)left);
        if (n > 0)
            return true;
        if (n == 0 && tab_left_ms(deadline, 1) == 0)
            return false;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

/* Connects without ever waiting past the deadline: libpq's connect_timeout does not cover a server that
 * accepts and then says nothing within a shorter time. */
static PGconn *open_connection(const char *conninfo, tab_deadline deadline)
{
    static const char *const names[] = { "options",         "dbname",          "tcp_user_timeout",
                                         "keepalives_idle", "client_encoding", NULL };
    const char *const values[] = { "-c timezone=UTC -c datestyle=ISO -c client_min_messages=warning",
                                   conninfo,
                                   "10000",
                                   "10",
                                   "UTF8",
                                   NULL };
    PGconn *c = PQconnectStartParams(names, values, 1);
    PostgresPollingStatusType s = PGRES_POLLING_WRITING;
    if (c == NULL || PQstatus(c) == CONNECTION_BAD)
        goto bad;
    while (s != PGRES_POLLING_OK) {
        if (s == PGRES_POLLING_FAILED ||
            !wait_socket(c, s == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline))
            goto bad;
        s = PQconnectPoll(c);
    }
    if (PQsetnonblocking(c, 1) == 0)
        return c;
bad:
    if (c != NULL)
        PQfinish(c);
    return NULL;
}

/* Sends what is buffered and waits for one result and the end of the command. NULL: the connection is no
 * longer of use (gone, or mute past the deadline). */
static PGresult *await(PGconn *c, tab_deadline deadline)
{
    PGresult *last = NULL;
    for (;;) {
        int more = PQflush(c);
        while (more == 1) {
            if (!wait_socket(c, POLLIN | POLLOUT, deadline) || PQconsumeInput(c) == 0)
                goto bad;
            more = PQflush(c);
        }
        if (more < 0)
            goto bad;
        while (PQisBusy(c))
            if (!wait_socket(c, POLLIN, deadline) || PQconsumeInput(c) == 0)
                goto bad;
        PGresult *r = PQgetResult(c);
        if (r == NULL) {
            if (last != NULL && PQstatus(c) == CONNECTION_OK)
                return last;
            goto bad;
        }
        /* of several commands in one text the first failure counts, else the last result */
        if (last != NULL && PQresultStatus(last) == PGRES_FATAL_ERROR) {
            PQclear(r);
            continue;
        }
        PQclear(last);
        last = r;
    }
bad:
    PQclear(last);
    return NULL;
}

/* ---- the pool -------------------------------------------------------------------------------- */

size_t tab_org_keys_read(const char *text, uint8_t ret[TAB_ORG_KEYS][TAB_ORG_KEY])
{
    size_t n = 0;
    for (const char *p = text;; p += 2 * TAB_ORG_KEY + 1) {
        if (n == TAB_ORG_KEYS || strspn(p, "0123456789abcdefABCDEF") != 2 * TAB_ORG_KEY)
            return 0;
        for (size_t i = 0; i < TAB_ORG_KEY; i++)
            ret[n][i] = (uint8_t)strtoul((char[]){ p[2 * i], p[2 * i + 1], 0 }, NULL, 16);
        n++;
        if (p[2 * TAB_ORG_KEY] == 0)
            return n;
        if (p[2 * TAB_ORG_KEY] != ',')
            return 0;
    }
}

static tab_pg *pool_new(const char *conninfo, const uint8_t *org_key, int64_t pool)
{
    tab_pg *pg = calloc(1, sizeof *pg);
    if (pg == NULL || (pg->conninfo = strdup(conninfo)) == NULL) {
        free(pg);
        return NULL;
    }
    pg->proves = org_key != NULL;
    if (pg->proves)
        memcpy(pg->org_key, org_key, TAB_ORG_KEY);
    pthread_mutex_init(&pg->lock, NULL);
    pthread_mutex_init(&pg->probe_lock, NULL);
    pthread_cond_init(&pg->freed, NULL);
    pg->most = pool < 1 ? 1 : pool > POOL_MOST ? POOL_MOST : (size_t)pool;
    pg->retry_ms = RETRY_FIRST;
    pg->calls[0] = tab_counter("tabella_dependency_calls_total", "Calls of servers",
                               "dependency=\"postgres\",outcome=\"ok\"");
    pg->calls[1] = tab_counter("tabella_dependency_calls_total", "Calls of servers",
                               "dependency=\"postgres\",outcome=\"error\"");
    pg->seconds = tab_histogram("tabella_dependency_call_duration_seconds", "Duration of calls of servers",
                                "dependency=\"postgres\"");
    pg->in_use =
        tab_gauge("tabella_pool_connections", "Connections", "dependency=\"postgres\",state=\"in_use\"");
    return pg;
}

/* Two pools, so that nothing an injected statement leaves behind on an ordinary connection (a setting, a
 * prepared statement) is there when that connection sees all organizations: it never does. */
tab_pg *tab_pg_open(const char *conninfo, const char *org_key, int64_t pool)
{
    uint8_t key[TAB_ORG_KEYS][TAB_ORG_KEY];
    bool proves = org_key != NULL && org_key[0] != 0;
    if (org_key != NULL && !proves)
        tab_log(TAB_WARN, "TAB_ORG_KEY is empty: only the owner of the tables sees rows");
    if (proves && tab_org_keys_read(org_key, key) == 0) {
        tab_log(TAB_ERROR, "TAB_ORG_KEY is not a list of keys of 64 hexadecimal digits");
        return NULL;
    }
    tab_pg *pg = pool_new(conninfo, proves ? key[0] : NULL, pool);
    if (pg != NULL && (pg->all = pool_new(conninfo, proves ? key[0] : NULL, TAB_PG_ALL)) == NULL) {
        tab_pg_free(pg);
        pg = NULL;
    }
    explicit_bzero(key, sizeof key);
    return pg;
}

static void close_connection(connection *c)
{
    if (c->pg != NULL)
        PQfinish(c->pg);
    for (size_t i = 0; i < c->prepared; i++)
        free(c->sql[i]);
    free(c);
}

void tab_pg_free(tab_pg *pg)
{
    if (pg == NULL)
        return;
    tab_pg_free(pg->all);
    explicit_bzero(pg->org_key, sizeof pg->org_key);
    for (connection *c = pg->idle, *next; c != NULL; c = next) {
        next = c->next;
        close_connection(c);
    }
    if (pg->probe != NULL)
        PQfinish(pg->probe);
    pthread_cond_destroy(&pg->freed);
    pthread_mutex_destroy(&pg->lock);
    pthread_mutex_destroy(&pg->probe_lock);
    free(pg->conninfo);
    free(pg);
}

static bool turn(PGconn **c, const char *conninfo, tab_deadline d)
{
    if (*c == NULL)
        *c = open_connection(conninfo, d);
    if (*c == NULL)
        return false;
    PGresult *r = PQsendQuery(*c, "SELECT 1") ? await(*c, d) : NULL;
    bool ok = r != NULL && PQresultStatus(r) == PGRES_TUPLES_OK;
    PQclear(r);
    if (!ok) {
        PQfinish(*c);
        *c = NULL;
    }
    return ok;
}

bool tab_pg_alive(void *arg)
{
    tab_pg *pg = arg;
    tab_deadline d = tab_in_ms(1000);
    pthread_mutex_lock(&pg->probe_lock);
    /* a second try with a fresh connection: the kept one may have died with the server's last restart */
    bool ok = turn(&pg->probe, pg->conninfo, d) || turn(&pg->probe, pg->conninfo, d);
    pthread_mutex_unlock(&pg->probe_lock);
    return ok;
}

static void forget(tab_pg *pg, connection *c)
{
    close_connection(c);
    pthread_mutex_lock(&pg->lock);
    pg->open--;
    pthread_cond_signal(&pg->freed);
    pthread_mutex_unlock(&pg->lock);
}

static connection *borrow(tab_pg *pg, tab_deadline deadline)
{
    tab_deadline until = tab_in_ms(tab_left_ms(deadline, 10000));
    pthread_mutex_lock(&pg->lock);
    while (pg->idle == NULL && pg->open == pg->most)
        if (!tab_cond_wait(&pg->freed, &pg->lock, until))
            goto none;
    connection *c = pg->idle;
    if (c != NULL) {
        pg->idle = c->next;
        pthread_mutex_unlock(&pg->lock);
        return c;
    }
    if (tab_mono_ms() < pg->retry_at)
        goto none;
    pg->open++;
    pthread_mutex_unlock(&pg->lock);

    c = calloc(1, sizeof *c);
    if (c != NULL)
        c->pg = open_connection(pg->conninfo, tab_in_ms(tab_left_ms(deadline, CONNECT_MS)));
    pthread_mutex_lock(&pg->lock);
    if (c != NULL && c->pg != NULL) {
        pg->retry_ms = RETRY_FIRST;
        pthread_mutex_unlock(&pg->lock);
        c->used = tab_mono_ms();
        return c;
    }
    free(c);
    pg->open--;
    pg->retry_at = tab_mono_ms() + pg->retry_ms;
    pg->retry_ms = pg->retry_ms * 2 > RETRY_MOST ? RETRY_MOST : pg->retry_ms * 2;
    pthread_cond_signal(&pg->freed);
none:
    pthread_mutex_unlock(&pg->lock);
    return NULL;
}

static void give_back(tab_pg *pg, connection *c)
{
    c->used = tab_mono_ms();
    pthread_mutex_lock(&pg->lock);
    c->next = pg->idle;
    pg->idle = c;
    pthread_cond_signal(&pg->freed);
    pthread_mutex_unlock(&pg->lock);
}

/* ---- statements ------------------------------------------------------------------------------ */

static tab_status status_of(const char *state)
{
    static const struct {
        const char *prefix;
        tab_status status;
    } map[] = { { "23505", TAB_CONFLICT },    { "57014", TAB_CANCELLED }, { "08", TAB_UNAVAILABLE },
                { "53", TAB_UNAVAILABLE },    { "57P", TAB_UNAVAILABLE }, { "58", TAB_UNAVAILABLE },
                { "25006", TAB_UNAVAILABLE }, { "XX", TAB_UNAVAILABLE },  { "40", TAB_UNAVAILABLE } };
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
    char head[80];
    snprintf(head, sizeof head, "%s", sql);
    tab_log_fields(s == TAB_INTERNAL ? TAB_ERROR : TAB_WARN, "a statement failed", "sqlstate", tx->sqlstate,
                   "statement", head, "constraint", constraint, NULL);
    return s == TAB_UNAVAILABLE ? tab_fail(err, s, NULL, "a server is away, try again")
                                : tab_fail(err, s, NULL, "an internal error");
}

/* The name of the prepared form of sql on this connection, prepared now if need be; NULL: not prepared
 * (table full, or the server refused, whose reason then shows when the text itself is run). */
static bool prepared(tab_tx *tx, const char *sql, char name[16], PGresult **ret_error, bool *ret_dead)
{
    connection *c = tx->c;
    *ret_dead = false;
    size_t i = 0;
    while (i < c->prepared && strcmp(c->sql[i], sql) != 0)
        i++;
    snprintf(name, 16, "s%zu", i);
    if (i < c->prepared)
        return true;
    if (i == PREPARED)
        return false;
    PGresult *r =
        PQsendPrepare(c->pg, name, sql, 0, NULL)
            ? await(c->pg, tx->deadline == TAB_NO_DEADLINE ? TAB_NO_DEADLINE : tx->deadline + GRACE_MS)
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
        r = PQsendQueryPrepared(c, name, (int)n, b->value, b->length, b->format, binary) ? await(c, d) : NULL;
    else if (!dead && r == NULL)
        r = PQsendQueryParams(c, sql, (int)n, NULL, b->value, b->length, b->format, binary) ? await(c, d)
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
    tab_metric_observe(tx->pool->seconds, (double)(tab_mono_us() - from) * 1e-6);
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

static PGresult *simple(tab_tx *tx, const char *sql)
{
    tab_deadline d = tx->deadline == TAB_NO_DEADLINE ? TAB_NO_DEADLINE : tx->deadline + GRACE_MS;
    return PQsendQuery(tx->c->pg, sql) ? await(tx->c->pg, d) : NULL;
}

static tab_status command(tab_tx *tx, const char *sql, tab_error *err)
{
    PGresult *r = simple(tx, sql);
    ExecStatusType st = r == NULL ? PGRES_FATAL_ERROR : PQresultStatus(r);
    tab_status s = st == PGRES_COMMAND_OK || st == PGRES_TUPLES_OK ? TAB_OK : failure(tx, r, sql, err);
    PQclear(r);
    return s;
}

/* The proof for tab.org() of pg_migrate.c: HMAC-SHA256 of "pid of the server's process:organization". Bound
 * to the connection: texts of running statements show in pg_stat_activity to sessions of the same role. */
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
    /* A kept connection may have died with a restart of the server: then begin fails below the protocol and
     * the next one is tried, until a fresh one fails too. */
    for (;;) {
        tx->c = borrow(pg, deadline);
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
        forget(pg, tx->c);
        if (fresh || tab_left_ms(deadline, 1) == 0) {
            free(tx);
            return tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is away, try again");
        }
    }
    tab_metric_add(pg->in_use, 1);
    *ret = tx;
    return TAB_OK;
}

static void end(tab_tx *tx)
{
    if (tx->broken || PQtransactionStatus(tx->c->pg) != PQTRANS_IDLE)
        forget(tx->pool, tx->c);
    else
        give_back(tx->pool, tx->c);
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
