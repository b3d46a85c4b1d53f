/* migrate: brings every service's schema up to what this build knows. Runs before the daemons start, any
 * number of times, also at once (an advisory lock orders them). Waits for a server that is not there yet. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/config.h"
#include "common/pg.h"

extern const tab_migration tab_migrations[];
extern const size_t tab_migrations_n;

typedef struct {
    const char *postgres, *org_key;
    int64_t wait_s;
    tab_log_level log_level;
} migrate_config;

static const tab_option options[] = {
    TAB_OPTION(migrate_config, postgres, SECRET, "TAB_POSTGRES", "host=127.0.0.1 dbname=tabella user=tabella",
               "PostgreSQL, a libpq connection string; the role that owns the tables"),
    TAB_OPTION(
        migrate_config, org_key, SECRET, "TAB_ORG_KEY", "",
        "keys whose proofs of an organization are taken, 64 hex digits, comma between; empty: as before"),
    TAB_OPTION(migrate_config, wait_s, INT, "TAB_MIGRATE_WAIT_S", "60",
               "seconds to wait for a server that is away"),
    TAB_OPTION(migrate_config, log_level, LEVEL, "TAB_LOG_LEVEL", "info", "debug, info, warn, error"),
    TAB_OPTIONS_END
};

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
    while ((s = tab_pg_migrate(pg, tab_migrations, tab_migrations_n, &err)) == TAB_UNAVAILABLE &&
           tab_left_ms(until, 1) > 0)
        poll(NULL, 0, 200);
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
