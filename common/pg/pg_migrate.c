/* The migration runner of common/pg.h. What every schema has comes from here: schema_version, and the
 * outbox and inbox of common/outbox.h. */
#include <stdio.h>

#include "common/base/log.h"
#include "common/pg/pg.h"

/* How each step begins: one migrate at a time. A lock on a table that a long transaction reads is then waited
 * for a second and no longer, since all others queue behind who waits; the step is tried again (decision
 * 0304). */
static const char step_begins[] = "SELECT pg_advisory_xact_lock(74616201); SET LOCAL lock_timeout = '1s'";

/* One statement an entry: the extended protocol takes one at a time. Re-run at each migration, so all of it
 * is idempotent. */
static const char *const shared[] = {
    "CREATE SCHEMA IF NOT EXISTS tab",
    "GRANT USAGE ON SCHEMA tab TO PUBLIC",
    /* HMAC-SHA256's two padded keys, for proofs are checked in SQL. Nobody but the owner reads them. */
    "CREATE TABLE IF NOT EXISTS tab.org_key (ipad bytea PRIMARY KEY CHECK (length(ipad) = 64), opad bytea "
    "NOT NULL CHECK (length(opad) = 64))",
    /* The transaction's organization, '*' for all, null for none: the setting tab.org, if tab.proof proves
     * it for this very connection (common/pg/pg.c). The owner needs no proof, since it could drop the
     * policies anyway: migrations run as the owner, and daemons of versions before this rule. current_setting
     * has a second argument, so that without SET LOCAL the setting is null or '', which is no row's
     * organization. */
    "CREATE OR REPLACE FUNCTION tab.org() RETURNS text LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY "
    "DEFINER SET search_path = pg_catalog, pg_temp AS $f$ DECLARE said text := current_setting('tab.org', "
    "true); BEGIN IF session_user = current_user THEN RETURN said; END IF; PERFORM FROM tab.org_key k WHERE "
    "encode(sha256(k.opad || sha256(k.ipad || convert_to(pg_backend_pid() || ':' || said, 'UTF8'))), 'hex') "
    "= current_setting('tab.proof', true); IF NOT FOUND AND said <> '' THEN RAISE EXCEPTION 'tab.org_key "
    "does not prove this organization: TAB_ORG_KEY is not what migrate was given, or the key is damaged' "
    "USING ERRCODE = '28000'; END IF; RETURN CASE WHEN FOUND THEN said END; END $f$",
    /* Forced: the tables' owner is bound too. In a sub-select: once a statement, not once a row. */
    "CREATE OR REPLACE FUNCTION tab.protect(t regclass) RETURNS void LANGUAGE plpgsql AS $f$ BEGIN EXECUTE "
    "format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t); EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL "
    "SECURITY', t); EXECUTE format('DROP POLICY IF EXISTS own ON %s', "
    "t); EXECUTE format('CREATE POLICY own ON %s USING ((SELECT tab.org()) = ANY (ARRAY[org, ''*'']))', "
    "t); END $f$",
    /* A service's role is named after the owner and the service. It may work with the rows of its schema and
     * do nothing else there, and only add to tables whose comment is 'append-only'; where a superuser has not
     * made it yet, false. */
    "CREATE OR REPLACE FUNCTION tab.admit(s name) RETURNS bool LANGUAGE plpgsql AS $f$ DECLARE r name := "
    "current_user || '_' || s; t regclass; BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) "
    "THEN RETURN false; END IF; EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', s, r); "
    "EXECUTE format('GRANT SELECT, "
    "INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO %I', s, r); EXECUTE format('REVOKE INSERT, "
    "UPDATE, DELETE ON %I.schema_version FROM %I', s, r); FOR t IN SELECT c.oid::regclass FROM pg_class c "
    "WHERE c.relnamespace = s::regnamespace AND obj_description(c.oid, 'pg_class') = 'append-only' LOOP "
    "EXECUTE format('REVOKE UPDATE, DELETE ON %s FROM %I', t, r); END LOOP; EXECUTE format('GRANT USAGE ON "
    "ALL SEQUENCES IN SCHEMA %I TO %I', s, r); RETURN true; END $f$",
    "REVOKE ALL ON FUNCTION tab.protect(regclass), tab.admit(name) FROM PUBLIC",
    /* No role may make temporary objects. Only the database's owner can say so. */
    "DO $f$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); REVOKE "
    "CREATE ON SCHEMA public FROM PUBLIC; EXCEPTION WHEN insufficient_privilege OR invalid_schema_name THEN "
    "NULL; END $f$",
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
    /* How long lists are (tally.h). */
    "CREATE TABLE IF NOT EXISTS %s.tally (org text NOT NULL, list text NOT NULL, n bigint NOT NULL, "
    "folded bool NOT NULL DEFAULT false, id bigint GENERATED ALWAYS AS IDENTITY)",
    "CREATE INDEX IF NOT EXISTS tally_list ON %s.tally (org, list)",
    "CREATE UNIQUE INDEX IF NOT EXISTS tally_folded ON %s.tally (org, list) WHERE folded",
    "CREATE INDEX IF NOT EXISTS tally_new ON %s.tally (id) WHERE NOT folded",
    "SELECT tab.protect('%s.tally')",
    "SELECT tab.protect('%s.outbox')",
    "SELECT tab.protect('%s.inbox')",
    /* tables whose policy is from before tab.org() */
    "SELECT tab.protect(c.oid::regclass) FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE "
    "c.relnamespace = '%s'::regnamespace AND p.polname = 'own' AND pg_get_expr(p.polqual, p.polrelid) NOT "
    "LIKE '%tab.org()%'",
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

/* What a disk has changed is an error where pages have sums, and an answer where they have none. */
static tab_status look_for_sums(tab_tx *tx, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query(tx, &rows, err, "SELECT current_setting('data_checksums') = 'on'", TAB_P_NONE));
    if (!tab_rows_bool(rows, 0, 0))
        tab_log(TAB_WARN, "PostgreSQL keeps no data checksums: what its disk damages is not noticed; see "
                          "\"Data checksums\" in docs/operations.md");
    return TAB_OK;
}

static tab_status prepare_shared(tab_tx *tx, void *ctx, tab_error *err)
{
    (void)ctx;
    tab_status s = tab_tx_script(tx, step_begins, err);
    if (s == TAB_OK)
        s = look_for_sums(tx, err);
    for (size_t i = 0; i < sizeof shared / sizeof *shared && s == TAB_OK; i++)
        s = tab_tx_query(tx, NULL, err, shared[i], TAB_P_NONE);
    return s;
}

static tab_status prepare_schema(tab_tx *tx, void *ctx, tab_error *err)
{
    const step *st = ctx;
    tab_status s = tab_tx_script(tx, step_begins, err);
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
    tab_status s = tab_tx_script(tx, step_begins, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, &rows, err, sql, TAB_P_NONE);
    if (s != TAB_OK)
        return s;
    int64_t at = tab_rows_int(rows, 0, 0);
    st->applied = false;
    if (at >= st->m->number)
        return TAB_OK;
    if (at + 1 != st->m->number && st->m->number != (at / 100 + 1) * 100)
        return tab_fail(err, TAB_INTERNAL, NULL, "migration %d of %s does not follow %lld", st->m->number,
                        st->m->service, (long long)at);
    s = tab_tx_script(tx, st->m->sql, err);
    if (s != TAB_OK)
        return s;
    snprintf(sql, sizeof sql, "INSERT INTO %s.schema_version (number, name) VALUES ($1, $2)", st->m->service);
    st->applied = true;
    return tab_tx_query(tx, NULL, err, sql, TAB_P(tab_p_int(st->m->number), tab_p_text(st->m->name)));
}

/* After a service's last migration, so that its role reaches the tables of all of them. */
static tab_status admit(tab_pg *pg, const char *service, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(60000), &tx, err);
    if (s == TAB_OK)
        s = tab_tx_script(tx, step_begins, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, &rows, err, "SELECT tab.admit($1::text::name)", TAB_P(tab_p_text(service)));
    if (s == TAB_OK && !tab_rows_bool(rows, 0, 0))
        tab_log_fields(TAB_WARN, "the service has no role of its own", "service", service, NULL);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

typedef struct {
    uint8_t key[TAB_ORG_KEYS][TAB_ORG_KEY];
    size_t n;
} org_keys;

static tab_status replace_keys(tab_tx *tx, void *ctx, tab_error *err)
{
    const org_keys *k = ctx;
    tab_status s = tab_tx_script(tx, step_begins, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, NULL, err, "DELETE FROM tab.org_key", TAB_P_NONE);
    for (size_t i = 0; s == TAB_OK && i < k->n; i++) {
        uint8_t pad[2][64]; /* FIPS 198-1: the key, filled up with zeros, against 0x36 and 0x5c */
        for (size_t j = 0; j < sizeof pad[0]; j++) {
            uint8_t b = j < TAB_ORG_KEY ? k->key[i][j] : 0;
            pad[0][j] = b ^ 0x36;
            pad[1][j] = b ^ 0x5c;
        }
        s = tab_tx_query(tx, NULL, err,
                         "INSERT INTO tab.org_key (ipad, opad) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                         TAB_P(tab_p_bytes((tab_str){ (char *)pad[0], sizeof pad[0] }),
                               tab_p_bytes((tab_str){ (char *)pad[1], sizeof pad[1] })));
        explicit_bzero(pad, sizeof pad);
    }
    return s;
}

tab_status tab_pg_org_keys(tab_pg *pg, const char *org_key, tab_error *err)
{
    org_keys k;
    k.n = tab_org_keys_read(org_key, k.key);
    if (k.n == 0)
        return tab_fail(err, TAB_VALIDATION, NULL,
                        "TAB_ORG_KEY must be a list of keys of 64 hexadecimal digits each");
    tab_status s = tab_pg_transact(pg, TAB_ORG_ALL, tab_in_ms(60000), replace_keys, &k, err);
    explicit_bzero(&k, sizeof k);
    return s;
}

tab_status tab_pg_migrate(tab_pg *pg, const tab_migration *m, size_t n, tab_error *err)
{
    tab_status s = tab_pg_transact(pg, TAB_ORG_ALL, tab_in_ms(60000), prepare_shared, NULL, err);
    for (size_t i = 0; i < n && s == TAB_OK; i++) {
        step st = { &m[i], false };
        if (!plain_name(m[i].service))
            return tab_fail(err, TAB_INTERNAL, NULL, "%s is not the name of a schema", m[i].service);
        if (i == 0 || strcmp(m[i].service, m[i - 1].service) != 0)
            s = tab_pg_transact(pg, TAB_ORG_ALL, tab_in_ms(60000), prepare_schema, &st, err);
        if (s == TAB_OK && m[i].number > 0)
            s = tab_pg_transact(pg, TAB_ORG_ALL, tab_in_ms(600000), apply, &st, err);
        if (s == TAB_OK && (i + 1 == n || strcmp(m[i].service, m[i + 1].service) != 0))
            s = admit(pg, m[i].service, err);
        if (s == TAB_OK && st.applied)
            tab_log_fields(TAB_INFO, "migrated", "service", m[i].service, "name", m[i].name, NULL);
    }
    return s;
}

bool tab_schema_fits(void *arg)
{
    tab_schema *x = arg;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_error err = { 0 };
    char sql[160];
    if (x->fits && tab_mono_ms() < x->due)
        return true;
    x->due = tab_mono_ms() + TAB_SCHEMA_MS;
    snprintf(sql, sizeof sql, "SELECT CASE WHEN to_regclass('%s.schema_version') IS NULL THEN 0 ELSE 1 END",
             x->schema);
    bool there = x->fits; /* a schema that was there is not asked for by name again */
    x->fits = false;
    if (tab_tx_begin(x->pg, TAB_ORG_ALL, tab_in_ms(1000), &tx, &err) != TAB_OK ||
        (!there && tab_tx_query(tx, &rows, &err, sql, TAB_P_NONE) != TAB_OK))
        return false;
    int64_t at = 0;
    if (there || tab_rows_int(rows, 0, 0) == 1) {
        TAB_AUTO(tab_rows) *number = NULL;
        snprintf(sql, sizeof sql, "SELECT coalesce(max(number), 0)::bigint FROM %s.schema_version",
                 x->schema);
        if (tab_tx_query(tx, &number, &err, sql, TAB_P_NONE) != TAB_OK)
            return false;
        at = tab_rows_int(number, 0, 0);
    }
    bool fits = at >= x->least && at < (x->least / 100 + 1) * 100;
    if (!fits && !x->said)
        tab_log(TAB_ERROR, "the schema %s is of version %lld, this build runs on %d to %d: %s", x->schema,
                (long long)at, x->least, (x->least / 100 + 1) * 100 - 1,
                at < x->least ? "run its migrate" : "run a newer build");
    x->said = !fits;
    return x->fits = fits;
}
