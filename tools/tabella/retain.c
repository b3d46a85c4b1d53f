/* `tabella admin retain`: what goes from the database with age (decision 0336), and what is exported
 * and cut at a signed checkpoint (decision 0352). It works as the owner of the tables, TAB_POSTGRES as
 * `migrate` has it, for no daemon may delete so much. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/config.h"
#include "common/base/integer.h"
#include "common/base/log.h"
#include "tools/tabella/admin.h"
#include "tools/tabella/cut.h"

enum { STEP_MS = 600000, BATCH = 5000, LEDGER_LEAST = 35 /* days: no window is older that is still open */ };

int admin_failed(tab_status s, const tab_error *err)
{
    fprintf(stderr, "tabella admin: %s\n",
            err->message[0] != 0 ? err->message : "the database is not responding");
    return s == TAB_VALIDATION || s == TAB_NOT_FOUND ? EXIT_INPUT : EXIT_FAILURE;
}

typedef struct {
    const char *postgres, *checkpoint_key;
} data_config;

static const tab_option data_options[] = {
    TAB_OPTION(data_config, postgres, SECRET, "TAB_POSTGRES", "host=127.0.0.1 dbname=tabella user=tabella",
               "PostgreSQL as the owner of the tables"),
    TAB_OPTION(data_config, checkpoint_key, SECRET, "TAB_CHECKPOINT_KEY", "",
               "what signs checkpoints, 64 hex digits"),
    TAB_OPTIONS_END,
};

static bool configured(data_config *ret)
{
    static char name[] = "tabella admin", *argv[] = { name, NULL };
    tab_log_open("tabella", TAB_ERROR);
    return tab_config_read(data_options, ret, 1, argv) < 0;
}

tab_pg *admin_owner(void)
{
    data_config cfg;
    return configured(&cfg) ? tab_pg_open(cfg.postgres, NULL, 1) : NULL;
}

/* What goes with age. Jobs that have ended, less those whose output an endpoint shows, each with its log;
 * records of runs. In steps by an index of age, so that no lock is held for long, and the last step costs
 * what the first did. */
static const struct {
    const char *what, *sql;
    bool runs;
} ages[] = {
    { "jobs.job",
      "WITH old AS MATERIALIZED (SELECT j.org, j.job_id FROM jobs.job j WHERE j.status IN "
      "('done', 'failed', 'cancelled', 'expired') AND j.updated_at < now() - $1 * interval '1 day' AND NOT "
      "EXISTS (SELECT FROM jobs.endpoint e WHERE e.org = j.org AND e.deleted_at IS NULL AND j.job_id IN "
      "(e.create_job, e.output_job)) ORDER BY j.updated_at LIMIT $2), logs AS (DELETE FROM jobs.log l USING "
      "old WHERE l.org = old.org AND l.job_id = old.job_id) DELETE FROM jobs.job j USING old WHERE "
      "j.org = old.org AND j.job_id = old.job_id",
      false },
    { "jobs.output",
      "DELETE FROM jobs.output WHERE (org, job_id, part) IN (SELECT o.org, o.job_id, o.part FROM jobs.output "
      "o WHERE NOT EXISTS (SELECT FROM jobs.job j WHERE j.org = o.org AND j.job_id = o.job_id) AND "
      "o.expires_at < now() - $1 * interval '1 day' LIMIT $2)",
      false },
    { "reports.report",
      "DELETE FROM reports.report WHERE (org, report_id) IN (SELECT org, report_id FROM reports.report WHERE "
      "kind = 'run' AND NOT starred AND created_at < now() - $1 * interval '1 day' ORDER BY created_at "
      "LIMIT $2)",
      true },
};

static tab_status age(tab_pg *pg, const char *sql, int64_t days, int64_t *ret, tab_error *err)
{
    *ret = 0;
    for (size_t n = BATCH; n == BATCH;) {
        TAB_AUTO(tab_tx) *tx = NULL;
        TAB_AUTO(tab_rows) *rows = NULL;
        TAB_TRY(tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(STEP_MS), &tx, err));
        TAB_TRY(tab_tx_query(tx, &rows, err, sql, TAB_P(tab_p_int(days), tab_p_int(BATCH))));
        n = tab_rows_affected(rows);
        *ret += (int64_t)n;
        TAB_TRY(tab_tx_commit(&tx, err));
    }
    return TAB_OK;
}

typedef struct {
    int64_t jobs, runs, audit, ledger;
    const char *to;
} limits;

static bool options_read(int argc, char **argv, limits *ret)
{
    static const struct option options[] = { { "jobs", 1, NULL, 'j' },  { "runs", 1, NULL, 'r' },
                                             { "audit", 1, NULL, 'a' }, { "ledger", 1, NULL, 'l' },
                                             { "to", 1, NULL, 't' },    { 0 } };
    *ret = (limits){ -1, -1, -1, -1, NULL };
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        int64_t *days = c == 'j' ? &ret->jobs : c == 'r' ? &ret->runs : c == 'a' ? &ret->audit : &ret->ledger;
        if (c == 't')
            ret->to = optarg;
        else if (c == '?' || !tab_integer_read(tab_str_of(optarg), c == 'l' ? LEDGER_LEAST : 1, 36500, days))
            return false;
    }
    bool cuts = ret->audit > 0 || ret->ledger > 0;
    return optind == argc && (cuts || ret->jobs > 0 || ret->runs > 0) && cuts == (ret->to != NULL);
}

static void number(tab_out *o, const char *key, int64_t n)
{
    tab_out_key(o, key);
    tab_out_int(o, n);
}

static tab_status delete_old(tab_pg *pg, const limits *l, tab_out *o, tab_error *err)
{
    tab_status s = TAB_OK;
    for (size_t i = 0; s == TAB_OK && i < sizeof ages / sizeof *ages; i++) {
        int64_t n = 0, days = ages[i].runs ? l->runs : l->jobs;
        if (days > 0)
            s = age(pg, ages[i].sql, days, &n, err);
        number(o, ages[i].what, n);
    }
    return s;
}

static tab_status cut_old(cutter *k, const limits *l, tab_out *o, tab_error *err)
{
    tab_status s = TAB_OK;
    if (l->audit > 0)
        s = cut_audit(k, l->audit, err);
    number(o, "keys.audit", k->gone);
    k->gone = 0;
    if (s == TAB_OK && l->ledger > 0)
        s = cut_ledger(k, l->ledger, err);
    number(o, "metering.line", k->gone);
    number(o, "refused", k->refused);
    tab_out_key(o, "key");
    tab_out_cstr(o, k->key[0] != '\0' ? k->key : NULL);
    return s;
}

int admin_retain(int argc, char **argv)
{
    limits l;
    data_config cfg;
    tab_error err = { 0 };
    tab_out o = { 0 };
    if (!options_read(argc, argv, &l))
        return admin_usage("retain [--jobs DAYS] [--runs DAYS] [[--audit DAYS] [--ledger DAYS, 35 at least] "
                           "--to FOLDER]");
    if (!configured(&cfg))
        return EXIT_USAGE;
    if (l.to != NULL && cfg.checkpoint_key[0] == '\0')
        return admin_usage("what is cut is signed: TAB_CHECKPOINT_KEY is not set");
    TAB_AUTO(tab_pg) *pg = tab_pg_open(cfg.postgres, NULL, 1);
    if (pg == NULL)
        return EXIT_FAILURE;
    cutter k = { .pg = pg, .folder = l.to, .secret = cfg.checkpoint_key };
    tab_out_open(&o, '{');
    tab_status s = delete_old(pg, &l, &o, &err);
    if (s == TAB_OK && l.to != NULL)
        s = cut_old(&k, &l, &o, &err);
    tab_out_close(&o, '}');
    admin_print(&o);
    if (s != TAB_OK)
        return admin_failed(s, &err);
    return k.refused == 0 ? 0 : EXIT_FAILURE;
}
