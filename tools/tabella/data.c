/* `tabella admin erase`: an organization goes from the database for good (decision 0336). It works as
 * the owner of the tables, TAB_POSTGRES as `migrate` has it, for no daemon may delete so much, and asks keys
 * over NATS, so that the organization's keys end before its rows do. */
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/integer.h"
#include "common/security/crypto.h"
#include "common/security/ids.h"
#include "proto/keys.pb-c.h"
#include "tools/tabella/admin.h"

enum { ASK_MS = 10000, STEP_MS = 600000, PASSES_MOST = 20, TABLES_MOST = 200 };

/* ---- erase ----------------------------------------------------------------------------------- */

/* Every table with a column `org`, those that others refer to behind these; and whether a trigger of it
 * refuses deletions. */
#define TABLES                                                                                         \
    "WITH RECURSIVE own AS (SELECT c.oid FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "   \
    "WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attname = 'org' "                    \
    "AND NOT a.attisdropped "                                                                          \
    "AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)), "    \
    "depth AS (SELECT oid AS t, 0 AS n FROM own UNION SELECT f.confrelid, depth.n + 1 FROM depth "     \
    "JOIN pg_constraint f ON f.contype = 'f' AND f.conrelid = depth.t AND f.confrelid <> f.conrelid) " \
    "SELECT o.oid::regclass::text, bool_or(g.oid IS NOT NULL) FROM own o JOIN depth d ON d.t = o.oid " \
    "LEFT JOIN pg_trigger g ON g.tgrelid = o.oid AND NOT g.tgisinternal AND g.tgtype & 8 <> 0 "        \
    "GROUP BY o.oid ORDER BY max(d.n), 1"

typedef struct {
    const char *name[TABLES_MOST];
    bool guarded[TABLES_MOST];
    int64_t rows[TABLES_MOST], bytes; /* that went; bytes of their texts */
    char sha256[65];                  /* over what went, table by table */
    size_t n;
} tables;

static tab_status find_tables(tab_tx *tx, tab_arena *a, tables *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query(tx, &rows, err, TABLES, TAB_P_NONE));
    if (tab_rows_count(rows) > TABLES_MOST)
        return tab_fail(err, TAB_INTERNAL, NULL, "there are more tables than this build knows");
    for (ret->n = 0; ret->n < tab_rows_count(rows); ret->n++) {
        ret->name[ret->n] = tab_arena_printf(a, "%s", tab_rows_text(rows, ret->n, 0));
        ret->guarded[ret->n] = tab_rows_bool(rows, ret->n, 1);
        if (ret->name[ret->n] == NULL)
            return tab_no_memory(err);
    }
    return TAB_OK;
}

/* Names come from the catalog, quoted by it. */
static tab_status on_table(tab_tx *tx, tab_arena *a, const char *before, const char *table, const char *after,
                           const char *org, tab_rows **ret, tab_error *err)
{
    const char *sql = tab_arena_printf(a, "%s%s%s", before, table, after);
    if (sql == NULL)
        return tab_no_memory(err);
    return org == NULL ? tab_tx_query(tx, ret, err, sql, TAB_P_NONE)
                       : tab_tx_query(tx, ret, err, sql, TAB_P(tab_p_text(org)));
}

/* Deletes and certifies (decision 0666): each table's digest is over its rows', in their order as bytes; the
 * whole one over the one before it, the table's name and its digest. */
#define ERASED                                                                                           \
    " t WHERE org = $1 RETURNING octet_length(t::text) AS n, sha256(convert_to(t::text, 'UTF8')) AS h) " \
    "SELECT count(*), coalesce(sum(n), 0), encode(sha256(coalesce(string_agg(h, ''::bytea ORDER BY h), " \
    "''::bytea)), 'hex') FROM gone"

static tab_status erase_table(tab_tx *tx, tab_arena *a, const char *org, tables *t, size_t i,
                              int64_t *ret_gone, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    uint8_t hash[TAB_SHA256];
    TAB_TRY(on_table(tx, a, "WITH gone AS (DELETE FROM ", t->name[i], ERASED, org, &rows, err));
    t->rows[i] += tab_rows_int(rows, 0, 0);
    t->bytes += tab_rows_int(rows, 0, 1);
    *ret_gone += tab_rows_int(rows, 0, 0);
    char *line = tab_arena_printf(a, "%s %s %s", t->sha256, t->name[i], tab_rows_text(rows, 0, 2));
    if (line == NULL)
        return tab_no_memory(err);
    tab_sha256(tab_str_of(line), hash);
    tab_hex(hash, sizeof hash, t->sha256);
    t->sha256[2 * sizeof hash] = '\0';
    return TAB_OK;
}

/* One pass, all or nothing: *ret_gone rows went. */
static tab_status erase_pass(tab_pg *pg, tab_arena *a, const char *org, tables *t, int64_t *ret_gone,
                             tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(STEP_MS), &tx, err));
    if (t->n == 0)
        TAB_TRY(find_tables(tx, a, t, err));
    *ret_gone = 0;
    for (size_t i = 0; i < t->n; i++) {
        TAB_AUTO(tab_rows) *there = NULL;
        TAB_TRY(
            on_table(tx, a, "SELECT EXISTS (SELECT FROM ", t->name[i], " WHERE org = $1)", org, &there, err));
        if (!tab_rows_bool(there, 0, 0))
            continue;
        if (t->guarded[i])
            TAB_TRY(on_table(tx, a, "ALTER TABLE ", t->name[i], " DISABLE TRIGGER USER", NULL, NULL, err));
        TAB_TRY(erase_table(tx, a, org, t, i, ret_gone, err));
        if (t->guarded[i])
            TAB_TRY(on_table(tx, a, "ALTER TABLE ", t->name[i], " ENABLE TRIGGER USER", NULL, NULL, err));
    }
    return tab_tx_commit(&tx, err);
}

/* What still names the organization, in any column of any table of the services, as text or as its bytes. */
static tab_status remaining(tab_pg *pg, tab_arena *a, const char *org, int64_t *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *all = NULL;
    *ret = 0;
    TAB_TRY(tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(STEP_MS), &tx, err));
    TAB_TRY(
        tab_tx_query(tx, &all, err,
                     "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relkind IN ('r', 'p') AND "
                     "c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)",
                     TAB_P_NONE));
    for (size_t i = 0; i < tab_rows_count(all); i++) {
        TAB_AUTO(tab_rows) *rows = NULL;
        TAB_TRY(on_table(tx, a, "SELECT count(*) FROM ", tab_rows_text(all, i, 0),
                         " t WHERE position($1 IN t::text) > 0 OR "
                         "position(encode(convert_to($1, 'UTF8'), 'hex') IN t::text) > 0",
                         org, &rows, err));
        *ret += tab_rows_int(rows, 0, 0);
    }
    return tab_tx_commit(&tx, err);
}

/* The proof's own line: what went, when, and the line before it; of the organization only a digest. */
static tab_status note(tab_pg *pg, const char *org, tab_str counts, char ret_hash[65], tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(STEP_MS), &tx, err));
    TAB_TRY(
        tab_tx_query(tx, NULL, err,
                     "CREATE TABLE IF NOT EXISTS tab.erasure (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY "
                     "KEY, org_sha256 bytea NOT NULL, at timestamptz NOT NULL, rows text NOT NULL, hash "
                     "bytea NOT NULL)",
                     TAB_P_NONE));
    TAB_TRY(tab_tx_query(tx, NULL, err, "LOCK TABLE tab.erasure IN EXCLUSIVE MODE", TAB_P_NONE));
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "INSERT INTO tab.erasure (org_sha256, at, rows, hash) SELECT sha256(convert_to($1, "
                         "'UTF8')), now(), $2, sha256(coalesce((SELECT hash FROM tab.erasure ORDER BY n DESC "
                         "LIMIT 1), '') || sha256(convert_to($1, 'UTF8')) || convert_to(now()::text || $2, "
                         "'UTF8')) RETURNING encode(hash, 'hex')",
                         TAB_P(tab_p_text(org), tab_p_str(counts))));
    snprintf(ret_hash, 65, "%s", tab_rows_text(rows, 0, 0));
    return tab_tx_commit(&tx, err);
}

/* Over NATS, as a caller would: their entries leave Redis with them. */
static int end_keys(tab_arena *a, const char *org)
{
    Tabella__ListKeysRequest q = TABELLA__LIST_KEYS_REQUEST__INIT;
    const void *msg;
    int rc = admin_ask_with(a, org, "keys", "ListKeys", &q.base, &tabella__list_keys_reply__descriptor,
                            ASK_MS, &msg);
    const Tabella__ListKeysReply *y = rc == 0 ? msg : NULL;
    for (size_t i = 0; rc == 0 && i < y->n_keys; i++) {
        Tabella__DeleteKeyRequest d = TABELLA__DELETE_KEY_REQUEST__INIT;
        d.id = y->keys[i]->id;
        d.actor = (char *)(uintptr_t) "operator";
        rc = admin_ask_with(a, org, "keys", "DeleteKey", &d.base, &tabella__delete_key_reply__descriptor,
                            ASK_MS, &msg);
    }
    return rc;
}

static tab_status known(tab_pg *pg, const char *org, bool *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(10000), &tx, err));
    TAB_TRY(tab_tx_query(tx, &rows, err, "SELECT EXISTS (SELECT FROM keys.org WHERE org = $1)",
                         TAB_P(tab_p_text(org))));
    *ret = tab_rows_bool(rows, 0, 0);
    return tab_tx_commit(&tx, err);
}

static void print_erased(const char *org, const tables *t, int64_t left, const char *hash)
{
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    tab_out_key(&o, "org");
    tab_out_cstr(&o, org);
    tab_out_key(&o, "rows");
    tab_out_open(&o, '{');
    for (size_t i = 0; i < t->n; i++) {
        tab_out_key(&o, t->name[i]);
        tab_out_int(&o, t->rows[i]);
    }
    tab_out_close(&o, '}');
    tab_out_key(&o, "bytes");
    tab_out_int(&o, t->bytes);
    tab_out_key(&o, "sha256");
    tab_out_cstr(&o, t->sha256);
    tab_out_key(&o, "remaining");
    tab_out_int(&o, left);
    tab_out_key(&o, "hash");
    tab_out_cstr(&o, hash);
    tab_out_close(&o, '}');
    admin_print(&o);
}

static tab_str counts_of(tab_arena *a, const tables *t)
{
    const char *text = "";
    for (size_t i = 0; i < t->n && text != NULL; i++)
        if (t->rows[i] > 0)
            text = tab_arena_printf(a, "%s%s=%lld ", text, t->name[i], (long long)t->rows[i]);
    if (text != NULL)
        text = tab_arena_printf(a, "%sbytes=%lld sha256=%s", text, (long long)t->bytes, t->sha256);
    return text == NULL ? TAB_S("") : tab_str_of(text);
}

/* What was under way when the keys ended may still write: passes go on until one of them, `settle` seconds
 * after the one before, finds nothing. */
static int erase(tab_arena *a, tab_pg *pg, const char *org, int64_t settle)
{
    static tables t;
    tab_error err = { 0 };
    bool there = false;
    tab_status s = known(pg, org, &there, &err);
    if (s == TAB_OK && !there)
        s = tab_fail(&err, TAB_NOT_FOUND, NULL, "there is no organization %s", org);
    if (s != TAB_OK)
        return admin_failed(s, &err);
    int rc = end_keys(a, org);
    if (rc != 0)
        return rc;
    int64_t gone = 1, left = 0;
    for (int i = 0; s == TAB_OK && gone > 0 && i < PASSES_MOST; i++) {
        if (i > 0)
            poll(NULL, 0, (int)(settle * 1000));
        s = erase_pass(pg, a, org, &t, &gone, &err);
    }
    if (s == TAB_OK && gone > 0)
        s = tab_fail(&err, TAB_UNAVAILABLE, NULL, "something is still writing for %s; run it again", org);
    if (s == TAB_OK)
        s = remaining(pg, a, org, &left, &err);
    char hash[65] = "";
    if (s == TAB_OK && left == 0)
        s = note(pg, org, counts_of(a, &t), hash, &err);
    if (s != TAB_OK)
        return admin_failed(s, &err);
    print_erased(org, &t, left, hash);
    return left == 0 ? 0 : EXIT_FAILURE;
}

int admin_erase(int argc, char **argv)
{
    static const struct option options[] = { { "yes", 0, NULL, 'y' }, { "settle", 1, NULL, 's' }, { 0 } };
    int64_t settle = 60;
    bool yes = false;
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (c == 'y')
            yes = true;
        else if (c != 's' || !tab_integer_read(tab_str_of(optarg), 0, 3600, &settle))
            return admin_usage("erase ORG --yes [--settle SECONDS]");
    if (optind + 1 != argc || !tab_id_valid(tab_str_of(argv[optind]), "org_"))
        return admin_usage("name one organization: org_...");
    if (!yes)
        return admin_usage("erase cannot be undone; confirm with --yes");
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    TAB_AUTO(tab_pg) *pg = admin_owner();
    return a == NULL || pg == NULL ? EXIT_FAILURE : erase(a, pg, argv[optind], settle);
}
