/* The connections of common/pg/pg.h: a pool of them, and waits that never outlast a deadline. libpq runs
 * non-blocking throughout, because its own timeouts have whole seconds and do not cover a silent server. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/pg/pg_internal.h"

/* A connection is idle in the pool, or lent to one transaction. A lent connection that failed below the
 * protocol (server gone, deadline passed while it was mute) is closed instead of given back.
 *
 *   (no socket) --connect--> idle --begin--> lent --commit, rollback--> idle
 *        ^                                    |
 *        +------------- broken ---------------+
 *
 * After a failed connect nobody tries again before `retry_at` (0.1 s doubling to 3 s): callers get
 * UNAVAILABLE at once instead of piling up. */
/* MISSED_MOST: questions of tab_pg_alive, one a second; then nobody waits for the server until it answers
 * one. */
enum {
    POOL_MOST = 64,
    CONNECT_MS = 3000,
    RETRY_FIRST = 100,
    RETRY_MOST = 1000,
    MISSED_MOST = 2,
    ALIVE_MS = 1000,
    TRY_MS = 1000
};

/* ---- waiting --------------------------------------------------------------------------------- */

/* False: the deadline has passed, or poll failed. */
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

/* Why there is no connection, and what to do. libpq's text names server, port, user and database, and no
 * password; where it is about the connection string itself it may quote it, and is left out. */
static void say_away(const char *conninfo, const PGconn *c)
{
    static _Atomic int64_t said;
    static const struct {
        const char *says, *todo;
    } hints[] = { { "authentication failed",
                    "set user and password in TAB_POSTGRES as PostgreSQL knows them" },
                  { "pg_hba.conf", "let this user and address in by pg_hba.conf" },
                  { "does not exist", "make the role or the database, or name another in TAB_POSTGRES" },
                  { "too many c", "raise max_connections, or lower TAB_PG_POOL" },
                  { "remaining connection slots", "raise max_connections, or lower TAB_PG_POOL" },
                  { "certificate", "see sslmode and sslrootcert in TAB_POSTGRES" } };
    const char *why = c == NULL ? "" : PQerrorMessage(c),
               *todo = "see whether it runs where TAB_POSTGRES says";
    char line[400], server[120];
    PQconninfoOption *parsed = PQconninfoParse(conninfo, NULL);
    if (!tab_log_due(&said)) {
        PQconninfoFree(parsed);
        return;
    }
    if (parsed == NULL) {
        tab_log(TAB_ERROR, "TAB_POSTGRES is no connection string");
        return;
    }
    PQconninfoFree(parsed);
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strstr(why, hints[i].says) != NULL)
            todo = hints[i].todo;
    snprintf(line, sizeof line, "%s", why[0] == 0 ? "it did not answer in time" : why);
    line[strcspn(line, "\n")] = 0;
    snprintf(server, sizeof server, "%s:%s", c == NULL || PQhost(c) == NULL ? "" : PQhost(c),
             c == NULL || PQport(c) == NULL ? "" : PQport(c));
    tab_log_fields(TAB_WARN, "no connection to PostgreSQL", "server", server, "why", line, "do", todo, NULL);
}

/* Whether it is the password or a certificate that the server, or we, do not take. */
static bool refused(const PGconn *c)
{
    static const char *const words[] = { "authentication failed", "certificate", "SSL error", "pg_hba.conf" };
    for (size_t i = 0; c != NULL && i < sizeof words / sizeof *words; i++)
        if (strstr(PQerrorMessage(c), words[i]) != NULL)
            return true;
    return false;
}

/* Connects without ever waiting past the deadline: libpq's connect_timeout does not cover a server that
 * accepts and then says nothing within a shorter time. *ret_refused is told in place of the log, NULL: in
 * the log. */
static PGconn *connect_with(const char *conninfo, tab_deadline deadline, bool *ret_refused)
{
    static const char *const names[] = { "options",         "dbname",          "tcp_user_timeout",
                                         "keepalives_idle", "client_encoding", NULL };
    /* The server, too, asks whether we are still there: what a lost node had open would else count among its
     * connections for two hours. */
    const char *const values[] = { "-c timezone=UTC -c datestyle=ISO -c client_min_messages=warning "
                                   "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 "
                                   "-c tcp_keepalives_count=3 -c tcp_user_timeout=10000",
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
    if (ret_refused != NULL && refused(c))
        *ret_refused = true;
    else
        say_away(conninfo, c);
    if (c != NULL)
        PQfinish(c);
    return NULL;
}

/* With what served last; where that is refused, with what its file says by now. Whichever of server and file
 * has the new password first, one of the two is right. */
static PGconn *open_connection(tab_pg *pg, tab_deadline deadline)
{
    bool no = false;
    const char *last = atomic_load(pg->serves), *now;
    PGconn *c = connect_with(last, deadline, &no);
    if (!no)
        return c;
    tab_config_again();
    now = tab_config_now(pg->given);
    c = connect_with(now == pg->given ? pg->conninfo : now, deadline, NULL);
    if (c != NULL)
        atomic_store(pg->serves, now == pg->given ? pg->conninfo : now);
    return c;
}

/* Until all is sent and a result can be taken without waiting. */
static bool ready(PGconn *c, tab_deadline deadline)
{
    int more = PQflush(c);
    while (more == 1) {
        if (!wait_socket(c, POLLIN | POLLOUT, deadline) || PQconsumeInput(c) == 0)
            return false;
        more = PQflush(c);
    }
    while (more == 0 && PQisBusy(c))
        if (!wait_socket(c, POLLIN, deadline) || PQconsumeInput(c) == 0)
            return false;
    return more == 0;
}

bool pg_await_all(PGconn *c, tab_deadline deadline, PGresult **ret, size_t n)
{
    for (size_t i = 0; ready(c, deadline);) {
        PGresult *r = PQgetResult(c); /* NULL: the end of a step */
        ExecStatusType s = r == NULL ? PGRES_COMMAND_OK : PQresultStatus(r);
        if (r == NULL)
            i++;
        else if (i < n && ret[i] == NULL && s != PGRES_PIPELINE_SYNC)
            ret[i] = r;
        else
            PQclear(r);
        if (s == PGRES_PIPELINE_SYNC)
            return PQstatus(c) == CONNECTION_OK;
        if (i > n || PQstatus(c) != CONNECTION_OK)
            return false;
    }
    return false;
}

PGresult *pg_await(PGconn *c, tab_deadline deadline)
{
    PGresult *last = NULL;
    for (;;) {
        if (!ready(c, deadline))
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
    pg->given = conninfo;
    atomic_init(&pg->served, pg->conninfo);
    pg->serves = &pg->served;
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
    pg->waits = tab_histogram("tabella_pool_wait_seconds", "Waits for a connection that was lent",
                              "dependency=\"postgres\"");
    pg->refused = tab_counter("tabella_pool_exhausted_total", "Callers that waited for a connection in vain",
                              "dependency=\"postgres\"");
    pg->open_now =
        tab_gauge("tabella_pool_connections", "Connections", "dependency=\"postgres\",state=\"open\"");
    pg->breaker = tab_gauge("tabella_breaker_open", "1: a server refused, and is tried again later",
                            "dependency=\"postgres\"");
    tab_metric_add(
        tab_gauge("tabella_pool_connections", "Connections", "dependency=\"postgres\",state=\"most\""),
        (double)pg->most);
    pg->in_use =
        tab_gauge("tabella_pool_connections", "Connections", "dependency=\"postgres\",state=\"in_use\"");
    return pg;
}

static void close_connection(pg_connection *c)
{
    if (c->pg != NULL)
        PQfinish(c->pg);
    for (size_t i = 0; i < c->prepared; i++)
        free(c->sql[i]);
    free(c);
}

static void close_idle(tab_pg *pg)
{
    pthread_mutex_lock(&pg->lock);
    pg_connection *idle = pg->idle;
    pg->idle = NULL;
    for (pg_connection *c = idle; c != NULL; c = c->next) {
        pg->open--;
        tab_metric_add(pg->open_now, -1);
    }
    pthread_cond_broadcast(&pg->freed);
    pthread_mutex_unlock(&pg->lock);
    for (pg_connection *c = idle, *next; c != NULL; c = next) {
        next = c->next;
        close_connection(c);
    }
}

/* SIGHUP. Where the newest text connects, it serves from now on, and what was opened before is closed when
 * nobody uses it; else all goes on as it is. Certificates that the text names are read by libpq itself. */
static void renew(void *arg)
{
    tab_pg *pg = arg;
    const char *now = tab_config_now(pg->given);
    now = now == pg->given ? pg->conninfo : now;
    PGconn *c = connect_with(now, tab_in_ms(CONNECT_MS), NULL);
    if (c == NULL) {
        tab_log(TAB_WARN, "PostgreSQL is used as before: TAB_POSTGRES, as it is now, does not connect");
        return;
    }
    PQfinish(c);
    atomic_store(pg->serves, now);
    atomic_fetch_add(pg->losses, 1);
    close_idle(pg);
    close_idle(pg->all);
    pthread_mutex_lock(&pg->probe_lock);
    if (pg->probe != NULL)
        PQfinish(pg->probe);
    pg->probe = NULL;
    pthread_mutex_unlock(&pg->probe_lock);
    tab_log(TAB_INFO, "PostgreSQL is connected anew");
}

/* Two pools. A connection of the ordinary one never sees all organizations, so what an injected statement
 * leaves behind on it (a setting, a prepared statement) cannot be used there. */
tab_pg *tab_pg_open(const char *conninfo, const char *org_key, int64_t pool)
{
    uint8_t key[TAB_ORG_KEYS][TAB_ORG_KEY];
    bool proves = org_key != NULL && org_key[0] != 0;
    if (org_key != NULL && !proves)
        tab_log(TAB_WARN, "TAB_ORG_KEY is empty: only the owner of the tables sees rows");
    if (proves && tab_org_keys_read(org_key, key) == 0) {
        tab_log(TAB_ERROR, "TAB_ORG_KEY must be a list of keys of 64 hexadecimal digits each");
        return NULL;
    }
    tab_pg *pg = pool_new(conninfo, proves ? key[0] : NULL, pool);
    if (pg != NULL && (pg->all = pool_new(conninfo, proves ? key[0] : NULL, TAB_PG_ALL)) == NULL) {
        tab_pg_free(pg);
        pg = NULL;
    }
    if (pg != NULL) {
        pg->misses = pg->all->misses = &pg->missed;
        pg->breaks = pg->all->breaks = &pg->broken;
        pg->losses = pg->all->losses = &pg->lost;
        pg->all->serves = &pg->served;
        pg->told = (tab_config_listener){ .told = renew, .arg = pg };
        tab_config_listen(&pg->told);
    }
    explicit_bzero(key, sizeof key);
    return pg;
}

void tab_pg_free(tab_pg *pg)
{
    if (pg == NULL)
        return;
    tab_config_forget(&pg->told);
    tab_pg_free(pg->all);
    explicit_bzero(pg->org_key, sizeof pg->org_key);
    for (pg_connection *c = pg->idle, *next; c != NULL; c = next) {
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

/* One round trip on *c, connected first where it is NULL; what failed is closed. */
static bool turn(tab_pg *pg, PGconn **c, int64_t connect_ms)
{
    if (*c == NULL)
        *c = open_connection(pg, tab_in_ms(connect_ms));
    if (*c == NULL)
        return false;
    PGresult *r = PQsendQuery(*c, "SELECT 1") ? pg_await(*c, tab_in_ms(ALIVE_MS)) : NULL;
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
    pthread_mutex_lock(&pg->probe_lock);
    bool silent = atomic_load(&pg->missed) >= MISSED_MOST;
    int64_t began = tab_mono_ms(), connect_ms = silent ? CONNECT_MS : ALIVE_MS;
    bool ok = turn(pg, &pg->probe, connect_ms);
    /* a second try with a fresh connection: the kept one may have died with the server's last restart */
    if (!ok && tab_mono_ms() - began < ALIVE_MS)
        ok = turn(pg, &pg->probe, connect_ms);
    if (ok)
        pg_answered(pg);
    else
        atomic_fetch_add(&pg->missed, 1);
    pthread_mutex_unlock(&pg->probe_lock);
    return ok;
}

/* What was open while the server was silent may lead nowhere, and say nothing of it. */
void pg_answered(tab_pg *pg)
{
    if (atomic_exchange(pg->misses, 0) >= MISSED_MOST)
        atomic_fetch_add(pg->losses, 1);
}

uint64_t tab_pg_breaks(const tab_pg *pg)
{
    return atomic_load(pg->breaks);
}

void pg_forget(tab_pg *pg, pg_connection *c)
{
    close_connection(c);
    atomic_fetch_add(pg->breaks, 1);
    pthread_mutex_lock(&pg->lock);
    pg->open--;
    tab_metric_add(pg->open_now, -1);
    pthread_cond_signal(&pg->freed);
    pthread_mutex_unlock(&pg->lock);
}

/* Whether the server has ended it since it was given back, by a restart for example: nothing else is said on
 * a connection that asks nothing. A statement that goes with its COMMIT could not be sent a second time. */
static bool hung_up(PGconn *c)
{
    struct pollfd p = { PQsocket(c), POLLIN, 0 };
    return poll(&p, 1, 0) != 0;
}

pg_connection *pg_borrow(tab_pg *pg, tab_deadline deadline)
{
    tab_deadline until = tab_in_ms(tab_left_ms(deadline, 10000));
    pthread_mutex_lock(&pg->lock);
    if (atomic_load(pg->misses) >= MISSED_MOST) { /* one tries, once a second */
        if (tab_mono_ms() < pg->try_at)
            goto none;
        pg->try_at = tab_mono_ms() + TRY_MS;
    }
    int64_t from = pg->idle == NULL && pg->open == pg->most ? tab_mono_us() : 0;
    while (pg->idle == NULL && pg->open == pg->most)
        if (!tab_cond_wait(&pg->freed, &pg->lock, until)) {
            tab_metric_add(pg->refused, 1);
            goto none;
        }
    if (from > 0)
        tab_metric_observe(pg->waits, (double)(tab_mono_us() - from) * 1e-6);
    pg_connection *c;
    while ((c = pg->idle) != NULL) {
        pg->idle = c->next;
        if (c->of == atomic_load(pg->losses) && !hung_up(c->pg)) {
            pthread_mutex_unlock(&pg->lock);
            return c;
        }
        pg->open--;
        atomic_fetch_add(pg->breaks, 1);
        tab_metric_add(pg->open_now, -1);
        close_connection(c);
    }
    if (tab_mono_ms() < pg->retry_at)
        goto none;
    pg->open++; /* its place is taken before the lock is left to connect */
    pthread_mutex_unlock(&pg->lock);

    c = calloc(1, sizeof *c);
    if (c != NULL)
        c->pg = open_connection(pg, tab_in_ms(tab_left_ms(deadline, CONNECT_MS)));
    pthread_mutex_lock(&pg->lock);
    if (c != NULL && c->pg != NULL) {
        pg->retry_ms = RETRY_FIRST;
        tab_metric_add(pg->open_now, 1);
        tab_metric_set(pg->breaker, 0);
        pthread_mutex_unlock(&pg->lock);
        c->fresh = true;
        c->of = atomic_load(pg->losses);
        return c;
    }
    free(c);
    pg->open--;
    pg->retry_at = tab_mono_ms() + pg->retry_ms;
    tab_metric_set(pg->breaker, 1);
    pg->retry_ms = pg->retry_ms * 2 > RETRY_MOST ? RETRY_MOST : pg->retry_ms * 2;
    pthread_cond_signal(&pg->freed);
none:
    pthread_mutex_unlock(&pg->lock);
    return NULL;
}

void pg_give_back(tab_pg *pg, pg_connection *c)
{
    c->fresh = false;
    pthread_mutex_lock(&pg->lock);
    c->next = pg->idle;
    pg->idle = c;
    pthread_cond_signal(&pg->freed);
    pthread_mutex_unlock(&pg->lock);
}
