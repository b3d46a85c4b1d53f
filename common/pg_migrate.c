/* The migration runner of common/pg.h. What every schema has comes from here: schema_version, and the
 * outbox and inbox of common/outbox.h. */
#include <stdio.h>

#include "common/log.h"
#include "common/pg.h"

/* One statement an entry: the extended protocol takes one at a time. Re-run at each migration, so all of it
 * is idempotent. */
static const char *const shared[] = {
    "SELECT pg_advisory_xact_lock(74616201)",
    "CREATE SCHEMA IF NOT EXISTS tab",
    /* Forced: the tables' owner, which the daemons are, is bound too. Two arguments to current_setting:
     * without a transaction's SET LOCAL the setting is null or '', and no row has that organization. */
    "CREATE OR REPLACE FUNCTION tab.protect(t regclass) RETURNS void LANGUAGE plpgsql AS $f$ BEGIN EXECUTE "
    "format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t); EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL "
    "SECURITY', t); EXECUTE format('DROP POLICY IF EXISTS own ON %s', "
    "t); EXECUTE format('CREATE POLICY own ON %s USING (org = current_setting(''tab.org'', "
    "true) OR current_setting(''tab.org'', true) = ''*'')', t); END $f$",
};

static const char *const each_schema[] = {
    "CREATE SCHEMA IF NOT EXISTS %s",
    "CREATE TABLE IF NOT EXISTS %s.schema_version (number int PRIMARY KEY, name text NOT NULL, "
    "applied timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE IF NOT EXISTS %s.outbox (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "event_id text NOT NULL UNIQUE, subject text NOT NULL, org text NOT NULL, payload bytea NOT NULL, "
    "created timestamptz NOT NULL DEFAULT now(), published timestamptz)",
    "CREATE INDEX IF NOT EXISTS outbox_pending ON %s.outbox (seq) WHERE published IS NULL",
    "CREATE INDEX IF NOT EXISTS outbox_published ON %s.outbox (published) WHERE published IS NOT NULL",
    "ALTER TABLE %s.outbox ADD COLUMN IF NOT EXISTS sent timestamptz",
    "CREATE INDEX IF NOT EXISTS outbox_kept ON %s.outbox (seq) WHERE sent IS NULL AND published IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS %s.outbox_due (service text, seq bigint, tries int NOT NULL DEFAULT 0, "
    "retry_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (service, seq))",
    /* Daemons of versions that published to JetStream; decision 0243. */
    "CREATE TABLE IF NOT EXISTS %s.outbox_stream (one bool PRIMARY KEY DEFAULT true CHECK (one), "
    "created text NOT NULL)",
    "ALTER TABLE %s.outbox_stream ADD COLUMN IF NOT EXISTS again bigint NOT NULL DEFAULT 0",
    "CREATE TABLE IF NOT EXISTS %s.inbox (event_id text PRIMARY KEY, org text NOT NULL, "
    "at timestamptz NOT NULL DEFAULT now())",
    "CREATE INDEX IF NOT EXISTS inbox_at ON %s.inbox (at)",
    "SELECT tab.protect('%s.outbox')",
    "SELECT tab.protect('%s.inbox')",
};

static bool plain_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz_");
    return n > 0 && n <= 32 && s[n] == 0;
}

typedef struct {
    const tab_migration *m; /* one migration, or the service whose schema is prepared */
    bool applied;
} step;

static tab_status prepare_shared(tab_tx *tx, void *ctx, tab_error *err)
{
    (void)ctx;
    tab_status s = TAB_OK;
    for (size_t i = 0; i < sizeof shared / sizeof *shared && s == TAB_OK; i++)
        s = tab_tx_query(tx, NULL, err, shared[i], TAB_P_NONE);
    return s;
}

static tab_status prepare_schema(tab_tx *tx, void *ctx, tab_error *err)
{
    const step *st = ctx;
    tab_status s = tab_tx_query(tx, NULL, err, shared[0], TAB_P_NONE);
    for (size_t i = 0; i < sizeof each_schema / sizeof *each_schema && s == TAB_OK; i++) {
        char sql[512], schema[40];
        snprintf(schema, sizeof schema, "%s", st->m->service);
        const char *at = strstr(each_schema[i], "%s");
        snprintf(sql, sizeof sql, "%.*s%s%s", (int)(at - each_schema[i]), each_schema[i], schema, at + 2);
        s = tab_tx_query(tx, NULL, err, sql, TAB_P_NONE);
    }
    return s;
}

static tab_status apply(tab_tx *tx, void *ctx, tab_error *err)
{
    step *st = ctx;
    TAB_AUTO(tab_rows) *rows = NULL;
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT coalesce(max(number), 0) FROM %s.schema_version", st->m->service);
    tab_status s = tab_tx_query(tx, NULL, err, shared[0], TAB_P_NONE);
    if (s == TAB_OK)
        s = tab_tx_query(tx, &rows, err, sql, TAB_P_NONE);
    if (s != TAB_OK)
        return s;
    int64_t at = tab_rows_int(rows, 0, 0);
    st->applied = false;
    if (at >= st->m->number)
        return TAB_OK;
    if (at + 1 != st->m->number)
        return tab_fail(err, TAB_INTERNAL, NULL, "migration %d of %s does not follow %lld", st->m->number,
                        st->m->service, (long long)at);
    s = tab_tx_script(tx, st->m->sql, err);
    if (s != TAB_OK)
        return s;
    snprintf(sql, sizeof sql, "INSERT INTO %s.schema_version (number, name) VALUES ($1, $2)", st->m->service);
    st->applied = true;
    return tab_tx_query(tx, NULL, err, sql, TAB_P(tab_p_int(st->m->number), tab_p_text(st->m->name)));
}

tab_status tab_pg_migrate(tab_pg *pg, const tab_migration *m, size_t n, tab_error *err)
{
    tab_status s = tab_pg_transact(pg, TAB_ORG_ALL, tab_in_ms(60000), prepare_shared, NULL, err);
    for (size_t i = 0; i < n && s == TAB_OK; i++) {
        step st = { &m[i], false };
        if (!plain_name(m[i].service))
            return tab_fail(err, TAB_INTERNAL, NULL, "%s is no schema's name", m[i].service);
        if (i == 0 || strcmp(m[i].service, m[i - 1].service) != 0)
            s = tab_pg_transact(pg, TAB_ORG_ALL, tab_in_ms(60000), prepare_schema, &st, err);
        if (s == TAB_OK && m[i].number > 0)
            s = tab_pg_transact(pg, TAB_ORG_ALL, tab_in_ms(600000), apply, &st, err);
        if (s == TAB_OK && st.applied)
            tab_log_fields(TAB_INFO, "migrated", "service", m[i].service, "name", m[i].name, NULL);
    }
    return s;
}
