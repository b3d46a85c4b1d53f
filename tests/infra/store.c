/* PostgreSQL, Redis and the outbox against real servers: TAB_POSTGRES, TAB_REDIS and TAB_NATS name them.
 * Run by tests/suite/common. With an argument it is one of the processes that the suite kills:
 *   store produce FROM TO   writes events in transactions, and their effect's mirror
 *   store consume SECONDS   takes them, adding each to a sum */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/redis/redis.h"
#include "common/rpc/outbox.h"
#include "common/run/signals.h"
#include "common/security/ids.h"
#include "proto/events.pb-c.h"
#include "tests/infra/check.h"

int passed, failed;

static const tab_migration schema[] = {
    { "alpha", 1, "0001-things",
      "CREATE TABLE alpha.thing (org text NOT NULL, id text NOT NULL, n bigint NOT NULL, x float8, "
      "b bytea, at timestamptz, ok bool, PRIMARY KEY (org, id)); "
      "SELECT tab.protect('alpha.thing');" },
    { "alpha", 2, "0002-sums",
      "CREATE TABLE alpha.sum (org text PRIMARY KEY, total bigint NOT NULL);SELECT "
      "tab.protect('alpha.sum')" },
    { "beta", 1, "0001-sums",
      "CREATE TABLE beta.sum (org text PRIMARY KEY, total bigint NOT NULL);SELECT tab.protect('beta.sum')" },
};

static tab_deadline soon(void)
{
    return tab_in_ms(10000);
}

static int64_t number(tab_pg *pg, const char *org, const char *sql)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    if (tab_tx_begin(pg, org, soon(), &tx, NULL) != TAB_OK ||
        tab_tx_query(tx, &rows, NULL, sql, TAB_P_NONE) != TAB_OK || tab_rows_count(rows) != 1)
        return -1;
    return tab_rows_int(rows, 0, 0);
}

static tab_status put_thing(tab_pg *pg, const char *org, const char *owner, const char *id, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s = tab_tx_begin(pg, org, soon(), &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(
            tx, NULL, err, "INSERT INTO alpha.thing (org, id, n, x, b, at, ok) VALUES ($1,$2,$3,$4,$5,$6,$7)",
            TAB_P(tab_p_text(owner), tab_p_text(id), tab_p_int(INT64_MAX), tab_p_real(0.1),
                  tab_p_bytes(TAB_S("a\0\xff")), tab_p_time(1763715845123456), tab_p_bool(true)));
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

static void migrations_run_once_and_in_order(tab_pg *pg)
{
    tab_error err = { 0 };
    CHECK(tab_pg_migrate(pg, schema, 3, &err) == TAB_OK);
    CHECK(tab_pg_migrate(pg, schema, 3, &err) == TAB_OK);
    CHECK(number(pg, TAB_ORG_ALL, "SELECT count(*) FROM alpha.schema_version") == 2);
    static const tab_migration gap[] = { { "alpha", 4, "0004-gap", "SELECT 1" } };
    CHECK(tab_pg_migrate(pg, gap, 1, &err) == TAB_INTERNAL);
    static const tab_migration broken[] = { { "alpha", 3, "0003-broken",
                                              "CREATE TABLE alpha.x (i int); SELECT 1/0" } };
    CHECK(tab_pg_migrate(pg, broken, 1, &err) == TAB_INTERNAL);
    CHECK(number(pg, TAB_ORG_ALL,
                 "SELECT count(*) FROM pg_tables WHERE schemaname='alpha' AND tablename='x'") == 0);
}

static void an_organization_sees_its_rows_only(tab_pg *pg)
{
    tab_error err = { 0 };
    CHECK(put_thing(pg, "org_a", "org_a", "1", &err) == TAB_OK);
    CHECK(put_thing(pg, "org_b", "org_b", "1", &err) == TAB_OK);
    CHECK(put_thing(pg, "org_a", "org_a", "1", &err) == TAB_CONFLICT && strcmp(err.param, "thing_pkey") == 0);
    CHECK(put_thing(pg, "org_a", "org_b", "2", &err) == TAB_INTERNAL); /* writing as another: refused */
    CHECK(number(pg, "org_a", "SELECT count(*) FROM alpha.thing") == 1);
    CHECK(number(pg, "org_c", "SELECT count(*) FROM alpha.thing") == 0);
    CHECK(number(pg, "", "SELECT count(*) FROM alpha.thing") == 0);
    CHECK(number(pg, "o'; SET tab.org = '*", "SELECT count(*) FROM alpha.thing") == 0);
    CHECK(number(pg, TAB_ORG_ALL, "SELECT count(*) FROM alpha.thing") == 2);
}

/* What one transaction leaves in its session must not be there when another sees all organizations. */
static void all_organizations_have_connections_of_their_own(const char *conninfo)
{
    TAB_AUTO(tab_pg) *pg = tab_pg_open(conninfo, NULL, 1);
    TAB_AUTO(tab_tx) *tx = NULL;
    CHECK(tab_tx_begin(pg, "org_a", soon(), &tx, NULL) == TAB_OK &&
          tab_tx_query(tx, NULL, NULL, "SELECT set_config('x.left', 'here', false)", TAB_P_NONE) == TAB_OK &&
          tab_tx_commit(&tx, NULL) == TAB_OK);
    CHECK(number(pg, "org_b", "SELECT coalesce(length(current_setting('x.left', true)), 0)") == 4);
    /* the server ends the connections of a node that was lost */
    CHECK(number(pg, "org_b", "SELECT current_setting('tcp_keepalives_idle')::int") == 5);
    CHECK(number(pg, TAB_ORG_ALL, "SELECT coalesce(length(current_setting('x.left', true)), 0)") == 0);
}

static void a_bad_key_is_refused(const char *conninfo)
{
    static const char *const bad[] = { "x", "abcd",
                                       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde",
                                       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdefa",
                                       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef," };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TAB_AUTO(tab_pg) *pg = tab_pg_open(conninfo, bad[i], 1);
        CHECK(pg == NULL);
    }
}

static void values_come_back_as_they_went(tab_pg *pg)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_error err = { 0 };
    CHECK(tab_tx_begin(pg, "org_a", soon(), &tx, &err) == TAB_OK);
    CHECK(tab_tx_query(tx, &rows, &err, "SELECT id, n, x, b, at, ok, null FROM alpha.thing WHERE org = $1",
                       TAB_P(tab_p_text("org_a"))) == TAB_OK);
    CHECK(tab_str_eq(tab_rows_str(rows, 0, 0), TAB_S("1")) && tab_rows_int(rows, 0, 1) == INT64_MAX);
    CHECK(tab_rows_real(rows, 0, 2) == 0.1 && tab_rows_time(rows, 0, 4) == 1763715845123456);
    CHECK(tab_str_eq(tab_rows_bytes(rows, 0, 3, a), TAB_S("a\0\xff")));
    CHECK(tab_rows_bool(rows, 0, 5) && tab_rows_null(rows, 0, 6) && !tab_rows_null(rows, 0, 5));
    CHECK(tab_tx_query_bytes(tx, &rows, &err, "SELECT b FROM alpha.thing", TAB_P_NONE) == TAB_OK);
    CHECK(tab_str_eq(tab_rows_bytes(rows, 0, 0, a), TAB_S("a\0\xff")));
    CHECK(tab_tx_query(tx, NULL, &err, "SELECT $1::text", TAB_P(tab_p_str(TAB_S("a\0b")))) == TAB_VALIDATION);
    CHECK(tab_tx_query(tx, NULL, &err, "SELECT 1/0", TAB_P_NONE) == TAB_INTERNAL);
    CHECK(tab_tx_query(tx, NULL, &err, "SELECT 1", TAB_P_NONE) == TAB_INTERNAL);
    CHECK(tab_tx_commit(&tx, &err) == TAB_INTERNAL);
}

static void a_deadline_bounds_a_statement_and_a_lost_connection_is_replaced(tab_pg *pg)
{
    tab_tx *tx = NULL;
    tab_error err = { 0 };
    int64_t from = tab_mono_ms();
    CHECK(tab_tx_begin(pg, "org_a", tab_in_ms(300), &tx, &err) == TAB_OK);
    CHECK(tab_tx_query(tx, NULL, &err, "SELECT pg_sleep(20)", TAB_P_NONE) == TAB_CANCELLED);
    CHECK(tab_mono_ms() - from < 10000);
    tab_tx_free(tx);
    tx = NULL;
    CHECK(tab_tx_begin(pg, "org_a", soon(), &tx, &err) == TAB_OK);
    CHECK(tab_tx_query(tx, NULL, &err, "SELECT pg_terminate_backend(pg_backend_pid())", TAB_P_NONE) ==
          TAB_UNAVAILABLE);
    tab_tx_free(tx);
    CHECK(number(pg, "org_a", "SELECT 7") == 7);
    CHECK(tab_pg_alive(pg));
}

/* As if its process stood still, or the network had swallowed it: its locks end with its deadline. */
static void a_transaction_that_stands_still_holds_up_nobody(tab_pg *pg)
{
    static const char change[] = "UPDATE alpha.thing SET n = n - 1 WHERE org = 'org_a' AND id = '1'";
    TAB_AUTO(tab_tx) *still = NULL, *next = NULL;
    tab_error err = { 0 };
    CHECK(tab_tx_begin(pg, "org_a", tab_in_ms(700), &still, &err) == TAB_OK &&
          tab_tx_query(still, NULL, &err, change, TAB_P_NONE) == TAB_OK);
    CHECK(tab_tx_begin(pg, "org_a", soon(), &next, &err) == TAB_OK &&
          tab_tx_query(next, NULL, &err, change, TAB_P_NONE) == TAB_OK);
    CHECK(tab_tx_commit(&still, &err) == TAB_CANCELLED);
    tab_tx_free(next);
    next = NULL;
    CHECK(tab_tx_begin(pg, "org_a", tab_in_s(600), &still, &err) == TAB_OK);
    tab_tx_silence(still, 700); /* it may work for long, and not be silent for long */
    CHECK(tab_tx_query(still, NULL, &err, change, TAB_P_NONE) == TAB_OK &&
          tab_tx_query(still, NULL, &err, "SELECT pg_sleep(1)", TAB_P_NONE) == TAB_OK);
    CHECK(tab_tx_begin(pg, "org_a", soon(), &next, &err) == TAB_OK &&
          tab_tx_query(next, NULL, &err, change, TAB_P_NONE) == TAB_OK);
    CHECK(tab_tx_commit(&still, &err) == TAB_UNAVAILABLE);
}

static tab_status add_and_finish(tab_pg *pg, const char *org, const char *id, tab_deadline d, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_begin(pg, org, d, &tx, err));
    tab_status s = tab_tx_finish(
        &tx, &rows, err,
        "INSERT INTO alpha.thing (org, id, n) VALUES ($1, $2, 0) RETURNING id || pg_sleep($3)::text",
        TAB_P(tab_p_text(org), tab_p_text(id), tab_p_real(tab_left_ms(d, 10000) < 1000 ? 20 : 0)));
    CHECK(tx == NULL && (s != TAB_OK || strcmp(tab_rows_text(rows, 0, 0), id) == 0));
    return s;
}

/* The last statement and its COMMIT are one message: all of it is done, or nothing. */
static void a_transaction_of_one_statement(tab_pg *pg)
{
    tab_error err = { 0 };
    tab_tx *tx = NULL;
    CHECK(add_and_finish(pg, "org_e", "1", soon(), &err) == TAB_OK);
    CHECK(add_and_finish(pg, "org_e", "2", soon(), &err) == TAB_OK);
    CHECK(add_and_finish(pg, "org_e", "1", soon(), &err) == TAB_CONFLICT);
    CHECK(add_and_finish(pg, "org_e", "3", tab_in_ms(300), &err) == TAB_CANCELLED);
    CHECK(number(pg, "org_e", "SELECT count(*) FROM alpha.thing") == 2);
    CHECK(tab_tx_begin(pg, "org_e", soon(), &tx, &err) == TAB_OK);
    CHECK(tab_tx_query(tx, NULL, &err, "DELETE FROM alpha.thing", TAB_P_NONE) == TAB_OK);
    CHECK(tab_tx_finish(&tx, NULL, &err, "SELECT 1/0", TAB_P_NONE) == TAB_INTERNAL && tx == NULL);
    CHECK(number(pg, "org_e", "SELECT count(*) FROM alpha.thing") == 2);
    CHECK(tab_tx_begin(pg, "org_e", soon(), &tx, &err) == TAB_OK);
    CHECK(tab_tx_query(tx, NULL, &err, "SELECT 1/0", TAB_P_NONE) == TAB_INTERNAL);
    CHECK(tab_tx_finish(&tx, NULL, &err, "SELECT 1", TAB_P_NONE) == TAB_INTERNAL && tx == NULL);
    CHECK(tab_tx_begin(pg, "org_e", soon(), &tx, &err) == TAB_OK && tab_tx_commit(&tx, &err) == TAB_OK);
}

/* A kept connection that the server has ended is noticed before a message with a COMMIT leaves on it. */
static void a_kept_connection_that_ended_is_not_used(const char *conninfo, tab_pg *other)
{
    TAB_AUTO(tab_pg) *pg = tab_pg_open(conninfo, NULL, 1);
    tab_error err = { 0 };
    for (int i = 0; i < 3; i++) {
        char id[24], sql[96];
        int64_t pid = number(pg, "org_e", "SELECT pg_backend_pid()");
        snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%lld, 5000)::int", (long long)pid);
        CHECK(number(other, "org_e", sql) == 1);
        snprintf(id, sizeof id, "kept %d", i);
        CHECK(add_and_finish(pg, "org_e", id, soon(), &err) == TAB_OK);
    }
    CHECK(number(pg, "org_e", "SELECT count(*) FROM alpha.thing WHERE id LIKE 'kept%'") == 3);
}

typedef struct {
    tab_pg *pg;
    const char *first, *second;
    pthread_barrier_t *meet;
    bool met;
    tab_status s;
} locker;

static tab_status lock_both(tab_tx *tx, void *ctx, tab_error *err)
{
    locker *l = ctx;
    const char *sql = "UPDATE alpha.thing SET n = n - 1 WHERE id = $1";
    tab_status s = tab_tx_query(tx, NULL, err, sql, TAB_P(tab_p_text(l->first)));
    if (s == TAB_OK && !l->met) {
        l->met = true;
        pthread_barrier_wait(l->meet);
    }
    return s == TAB_OK ? tab_tx_query(tx, NULL, err, sql, TAB_P(tab_p_text(l->second))) : s;
}

static void *locking(void *arg)
{
    locker *l = arg;
    l->s = tab_pg_transact(l->pg, "org_d", soon(), lock_both, l, NULL);
    return NULL;
}

static void a_deadlock_is_tried_again(tab_pg *pg)
{
    pthread_barrier_t meet;
    pthread_t t[2];
    tab_error err;
    CHECK(put_thing(pg, "org_d", "org_d", "1", &err) == TAB_OK &&
          put_thing(pg, "org_d", "org_d", "2", &err) == TAB_OK);
    pthread_barrier_init(&meet, NULL, 2);
    locker l[2] = { { pg, "1", "2", &meet, false, TAB_INTERNAL },
                    { pg, "2", "1", &meet, false, TAB_INTERNAL } };
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, locking, &l[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    CHECK(l[0].s == TAB_OK && l[1].s == TAB_OK);
    CHECK(number(pg, "org_d", "SELECT 9223372036854775807 - min(n) FROM alpha.thing") == 2);
}

static void an_absent_server_is_said_at_once(void)
{
    TAB_AUTO(tab_pg) *pg = tab_pg_open("host=127.0.0.1 port=1 dbname=x", NULL, 2);
    TAB_AUTO(tab_redis) *redis = tab_redis_open(TAB_AT("127.0.0.1:1"));
    tab_tx *tx = NULL;
    tab_error err;
    int64_t from = tab_mono_ms();
    for (int i = 0; i < 20; i++) {
        CHECK(tab_tx_begin(pg, "org_a", soon(), &tx, &err) == TAB_UNAVAILABLE);
        CHECK(tab_redis_command(redis, 200, NULL, &err, "PING") == TAB_UNAVAILABLE);
    }
    CHECK(tab_mono_ms() - from < 3000);
    CHECK(!tab_pg_alive(pg) && !tab_redis_alive(redis));
}

static void redis_answers(const tab_access *at)
{
    TAB_AUTO(tab_redis) *r = tab_redis_open(at);
    tab_error err;
    redisReply *reply = NULL;
    CHECK(tab_redis_alive(r));
    CHECK(tab_redis_command(r, 500, NULL, &err, "SET k %b", "a\0b", (size_t)3) == TAB_OK);
    CHECK(tab_redis_command(r, 500, &reply, &err, "GET k") == TAB_OK);
    CHECK(reply != NULL && reply->type == REDIS_REPLY_STRING && reply->len == 3);
    freeReplyObject(reply);
    CHECK(tab_redis_command(r, 500, NULL, &err, "NOSUCH") == TAB_INTERNAL);
    CHECK(tab_redis_command(r, 500, NULL, &err, "CLIENT KILL TYPE normal SKIPME no") != TAB_INTERNAL);
    CHECK(tab_redis_command(r, 500, NULL, &err, "PING") == TAB_OK);
}

/* ---- outbox ---------------------------------------------------------------------------------- */

static tab_status produce(tab_pg *pg, int i)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    Tabella__UsageAlert e = TABELLA__USAGE_ALERT__INIT;
    char id[32], org[16];
    snprintf(id, sizeof id, "evt_%06d", i);
    snprintf(org, sizeof org, "org_%d", i % 3);
    e.event_id = id;
    e.used_cells = (uint64_t)i;
    tab_status s = tab_tx_begin(pg, org, soon(), &tx, NULL);
    if (s == TAB_OK)
        s = tab_tx_query(tx, NULL, NULL,
                         "INSERT INTO alpha.sum (org, total) "
                         "VALUES ($1, $2) "
                         "ON CONFLICT (org) "
                         "DO UPDATE "
                         "SET total = alpha.sum.total + $2",
                         TAB_P(tab_p_text(org), tab_p_int(i)));
    if (s == TAB_OK)
        s = tab_outbox_put(tx, "alpha", id, "tabella.event.infra.test", org, &e.base, NULL);
    return s == TAB_OK ? tab_tx_commit(&tx, NULL) : s;
}

static tab_status add(void *self, tab_tx *tx, const tab_event *event, tab_error *err)
{
    (void)self;
    Tabella__UsageAlert *e =
        tabella__usage_alert__unpack(NULL, event->payload.n, (const uint8_t *)event->payload.p);
    if (e == NULL)
        return TAB_OK;
    int64_t cells = (int64_t)e->used_cells;
    tabella__usage_alert__free_unpacked(e, NULL);
    if (cells > 0 && cells % 17 == 0 &&
        event->delivered == 1) /* now and then a consumer fails, and the event returns */
        return tab_fail(err, TAB_INTERNAL, NULL, "on purpose");
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO beta.sum (org, total) "
                        "VALUES ($1, $2) "
                        "ON CONFLICT (org) "
                        "DO UPDATE "
                        "SET total = beta.sum.total + $2",
                        TAB_P(tab_p_text(event->org), tab_p_int(cells)));
}

static const tab_event_route routes[] = { { "tabella.event.infra.test", "infra-test" },
                                          TAB_EVENT_ROUTES_END };
static const tab_rpc_method no_methods[] = { TAB_RPC_METHODS_END };

static int role(int argc, char **argv, tab_pg *pg, tab_rpc *rpc)
{
    TAB_AUTO(tab_relay) *relay = tab_relay_open(pg, rpc, "alpha", routes);
    if (strcmp(argv[1], "produce") == 0 && argc == 4) {
        for (int i = atoi(argv[2]); i < atoi(argv[3]);) {
            tab_status s = produce(pg, i);
            if (s == TAB_OK) {
                printf("%d\n", i++); /* acknowledged */
                fflush(stdout);
                tab_relay_nudge(relay);
            } else {
                poll(NULL, 0, 50); /* the same event id again: counted once even if it was committed */
                TAB_AUTO(tab_tx) *tx = NULL;
                TAB_AUTO(tab_rows) *rows = NULL;
                char id[32];
                snprintf(id, sizeof id, "evt_%06d", i);
                if (tab_tx_begin(pg, TAB_ORG_ALL, soon(), &tx, NULL) == TAB_OK &&
                    tab_tx_query(tx, &rows, NULL, "SELECT 1 FROM alpha.outbox WHERE event_id = $1",
                                 TAB_P(tab_p_text(id))) == TAB_OK &&
                    tab_rows_count(rows) == 1)
                    i++;
            }
        }
        return 0;
    }
    if (!tab_events_take(pg, rpc, "beta", add, NULL, NULL) || !tab_rpc_serve(rpc, no_methods, NULL))
        return 1;
    poll(NULL, 0, argc == 3 ? atoi(argv[2]) * 1000 : 1000);
    return 0;
}

static void run(tab_pg *pg, const char *sql)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    CHECK(tab_tx_begin(pg, TAB_ORG_ALL, soon(), &tx, NULL) == TAB_OK &&
          tab_tx_query(tx, NULL, NULL, sql, TAB_P_NONE) == TAB_OK && tab_tx_commit(&tx, NULL) == TAB_OK);
}

/* What versions before handed to JetStream may not have been taken: it goes out once more, behind what is
 * new and from the newest on, and old consumers' inboxes know it. */
static void kept_events_come_after_what_is_new(tab_pg *pg, tab_rpc *rpc)
{
    run(pg, "INSERT INTO alpha.outbox (event_id, subject, org, payload, published) "
            "SELECT 'old_' || lpad(i::text, 4, '0'), 'tabella.event.infra.test', 'org_0', '', "
            "now() - interval '1 hour' "
            "FROM generate_series(1, 1000) i");
    CHECK(produce(pg, 900) == TAB_OK);
    TAB_AUTO(tab_relay) *relay = tab_relay_open(pg, rpc, "alpha", routes);
    int64_t left = 1;
    for (int i = 0; i < PATIENCE_MS / 50 && left != 0; i++, poll(NULL, 0, 50))
        left = number(pg, TAB_ORG_ALL,
                      "SELECT (SELECT count(*) FROM alpha.outbox WHERE sent IS NULL) + "
                      "(SELECT count(*) FROM alpha.outbox_due)");
    CHECK(left == 0);
    /* now() is its transaction's time: one batch in the inbox has one, or more where it was split */
    CHECK(number(pg, TAB_ORG_ALL,
                 "SELECT count(*) FROM beta.inbox WHERE event_id LIKE 'old_%' AND at < "
                 "(SELECT at FROM beta.inbox WHERE event_id = 'evt_000900')") == 0);
    CHECK(number(pg, TAB_ORG_ALL, "SELECT count(*) FROM beta.inbox WHERE event_id LIKE 'old_%'") == 1000);
    CHECK(number(pg, TAB_ORG_ALL,
                 "SELECT count(*) FROM (SELECT at < lag(at) OVER (ORDER BY event_id DESC) AS back "
                 "FROM (SELECT event_id, at FROM beta.inbox "
                 "WHERE event_id IN ('old_0100', 'old_0300', 'old_0500', 'old_0700', 'old_0900')) x) y "
                 "WHERE back") == 0);
    run(pg, "DELETE FROM alpha.outbox WHERE event_id LIKE 'old_%'");
}

/* A service that is away keeps its own events waiting and nobody else's; nothing is lost meanwhile. */
static void one_reader_away_holds_up_no_other(tab_pg *pg, tab_rpc *rpc)
{
    static const tab_event_route both[] = { { "tabella.event.infra.test", "infra-test" },
                                            { "tabella.event.infra.test", "infra-away" },
                                            TAB_EVENT_ROUTES_END };
    int64_t before = number(pg, TAB_ORG_ALL, "SELECT coalesce(sum(total), 0)::bigint FROM beta.sum"), got = 0;
    TAB_AUTO(tab_relay) *relay = tab_relay_open(pg, rpc, "alpha", both);
    for (int i = 1001; i <= 1150; i++)
        CHECK(produce(pg, i) == TAB_OK);
    tab_relay_nudge(relay);
    int64_t want = before + (1001 + 1150) * 150 / 2;
    for (int i = 0; i < PATIENCE_MS / 100 && got < want; i++, poll(NULL, 0, 100))
        got = number(pg, TAB_ORG_ALL, "SELECT sum(total)::bigint FROM beta.sum");
    CHECK(got == want);
    CHECK(number(pg, TAB_ORG_ALL, "SELECT count(*) FROM alpha.outbox_due WHERE service = 'infra-away'") ==
          150);
    run(pg, "DELETE FROM alpha.outbox_due");
}

static void events_arrive_once(tab_pg *pg, tab_rpc *rpc)
{
    TAB_AUTO(tab_relay) *relay = tab_relay_open(pg, rpc, "alpha", routes);
    TAB_AUTO(tab_relay) *second =
        tab_relay_open(pg, rpc, "alpha", routes); /* only one of them works at a time */
    for (int i = 0; i < 200; i++)
        CHECK(produce(pg, i) == TAB_OK);
    CHECK(produce(pg, 5) == TAB_OK); /* its event is ignored: same id */
    tab_relay_nudge(relay);
    int64_t want = 199 * 200 / 2, got = 0;
    for (int i = 0; i < PATIENCE_MS / 100 && got < want; i++) {
        poll(NULL, 0, 100);
        got = number(pg, TAB_ORG_ALL, "SELECT coalesce(sum(total), 0)::bigint FROM beta.sum");
    }
    CHECK(got == want);
    poll(NULL, 0, 1500);
    CHECK(number(pg, TAB_ORG_ALL, "SELECT sum(total)::bigint FROM beta.sum") == want);
    CHECK(number(pg, TAB_ORG_ALL, "SELECT count(*) FROM alpha.outbox WHERE sent IS NULL") == 0);
    CHECK(number(pg, TAB_ORG_ALL, "SELECT count(*) FROM alpha.outbox_due") == 0);
}

int main(int argc, char **argv)
{
    tab_log_open("infra-test", argc > 1 ? TAB_ERROR : TAB_ERROR);
    tab_signals_hold();
    signal(SIGTERM, SIG_DFL);
    TAB_AUTO(tab_pg) *pg = tab_pg_open(getenv("TAB_POSTGRES"), NULL, 4);
    TAB_AUTO(tab_rpc) *rpc = tab_rpc_open(TAB_AT(getenv("TAB_NATS")), "infra-test");
    if (pg == NULL || rpc == NULL)
        return 1;
    if (argc > 1)
        return role(argc, argv, pg, rpc);
    migrations_run_once_and_in_order(pg);
    an_organization_sees_its_rows_only(pg);
    all_organizations_have_connections_of_their_own(getenv("TAB_POSTGRES"));
    a_bad_key_is_refused(getenv("TAB_POSTGRES"));
    values_come_back_as_they_went(pg);
    a_deadline_bounds_a_statement_and_a_lost_connection_is_replaced(pg);
    a_transaction_that_stands_still_holds_up_nobody(pg);
    a_transaction_of_one_statement(pg);
    a_kept_connection_that_ended_is_not_used(getenv("TAB_POSTGRES"), pg);
    a_deadlock_is_tried_again(pg);
    an_absent_server_is_said_at_once();
    redis_answers(&(tab_access){ .address = getenv("TAB_REDIS"),
                                 .user = getenv("TAB_REDIS_USER"),
                                 .password = getenv("TAB_REDIS_PASSWORD") });
    CHECK(tab_events_take(pg, rpc, "beta", add, NULL, NULL) && tab_rpc_serve(rpc, no_methods, NULL));
    events_arrive_once(pg, rpc);
    kept_events_come_after_what_is_new(pg, rpc);
    one_reader_away_holds_up_no_other(pg, rpc);
    printf("store: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
