/* migrate: brings every service's schema up to what this build knows. Runs before the daemons start, any
 * number of times, also at once (an advisory lock orders them). Waits for a server that is not there yet.
 * With TAB_MIGRATE_AWAIT it changes nothing and ends when a service's schema is what this build knows, or
 * newer: what a daemon's pod waits for, with the daemon's own role. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/config.h"
#include "common/pg/pg.h"

enum { PAUSE_MS = 200, PAUSE_MOST_MS = 3000 };

extern const tab_migration tab_migrations[];
extern const size_t tab_migrations_n;

typedef struct {
    const char *postgres, *org_key, *await;
    int64_t wait_s;
    tab_log_level log_level;
} migrate_config;

static const tab_option options[] = {
    TAB_OPTION(migrate_config, postgres, SECRET, "TAB_POSTGRES", "host=127.0.0.1 dbname=tabella user=tabella",
               "PostgreSQL, a libpq connection string; the role that owns the tables"),
    TAB_OPTION(
        migrate_config, org_key, SECRET, "TAB_ORG_KEY", "",
        "keys whose proofs of an organization are taken, 64 hex digits, comma between; empty: as before"),
    TAB_OPTION(migrate_config, await, TEXT, "TAB_MIGRATE_AWAIT", "",
               "a service: wait for its schema and change nothing; as the role of that service"),
    TAB_OPTION(migrate_config, wait_s, INT, "TAB_MIGRATE_WAIT_S", "60",
               "seconds to wait for a server that is away, a lock, or the schema"),
    TAB_OPTION(migrate_config, log_level, LEVEL, "TAB_LOG_LEVEL", "info", "debug, info, warn, error"),
    TAB_OPTIONS_END
};

/* UNAVAILABLE: not yet. A service's role may read its own schema's version and no other's. */
static tab_status current(tab_pg *pg, const char *service, int64_t number, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT coalesce(max(number), 0) FROM %s.schema_version", service);
    tab_status s = tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, &rows, err, sql, TAB_P_NONE);
    if (s != TAB_OK)
        return TAB_UNAVAILABLE; /* also where the table, or the right to read it, is still to come */
    int64_t at = tab_rows_int(rows, 0, 0);
    if (at < number)
        return tab_fail(err, TAB_UNAVAILABLE, NULL, "schema %s is at %lld of %lld", service, (long long)at,
                        (long long)number);
    return TAB_OK;
}

static tab_status await(tab_pg *pg, const char *service, tab_deadline until, tab_error *err)
{
    const tab_migration *last = NULL;
    char schema[40];
    snprintf(schema, sizeof schema, "%s", service);
    for (char *c = schema; *c != 0; c++)
        if (*c == '-')
            *c = '_';
    for (size_t i = 0; i < tab_migrations_n; i++)
        if (strcmp(tab_migrations[i].service, schema) == 0)
            last = &tab_migrations[i];
    if (last == NULL)
        return tab_fail(err, TAB_VALIDATION, NULL, "TAB_MIGRATE_AWAIT: there is no service %s", service);
    tab_status s;
    while ((s = current(pg, schema, last->number, err)) == TAB_UNAVAILABLE && tab_left_ms(until, 1) > 0)
        poll(NULL, 0, 500);
    return s;
}

int main(int argc, char **argv)
{
    migrate_config cfg;
    int early = tab_config_read(options, &cfg, argc, argv);
    if (early >= 0)
        return early;
    tab_log_open("migrate", cfg.log_level);
    TAB_AUTO(tab_pg) *pg = tab_pg_open(cfg.postgres, NULL, 1);
    if (pg == NULL)
        return EXIT_FAILURE;
    tab_deadline until = tab_in_ms(cfg.wait_s * 1000);
    tab_error err = { 0 };
    tab_status s;
    if (cfg.await[0] != 0) {
        s = await(pg, cfg.await, until, &err);
        if (s != TAB_OK)
            tab_log(TAB_ERROR, "the schema is not there: %s", err.message);
        return s == TAB_OK ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    /* Pauses that grow: who waits for a lock stands in the way of all others on its table. */
    for (int ms = PAUSE_MS;
         (s = tab_pg_migrate(pg, tab_migrations, tab_migrations_n, &err)) == TAB_UNAVAILABLE &&
         tab_left_ms(until, 1) > 0;
         ms = ms < PAUSE_MOST_MS ? 2 * ms : ms)
        poll(NULL, 0, ms);
    if (s == TAB_OK && cfg.org_key[0] != 0)
        s = tab_pg_org_keys(pg, cfg.org_key, &err);
    if (s != TAB_OK) {
        tab_log(TAB_ERROR, "not migrated: %s", err.message);
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < tab_migrations_n; i++) /* the highest number of each is its last row */
        if (i + 1 == tab_migrations_n ||
            strcmp(tab_migrations[i].service, tab_migrations[i + 1].service) != 0)
            printf("%s %d\n", tab_migrations[i].service, tab_migrations[i].number);
    return EXIT_SUCCESS;
}
