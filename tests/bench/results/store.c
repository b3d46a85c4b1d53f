/* Stores a made-up result of so many rows as a worker of jobs would: what tests/bench/results measures.
 *
 * usage: store ORG JOB ROWS, with the environment of a daemon that owns the schema `jobs` */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "common/base/config.h"
#include "common/base/log.h"
#include "services/jobs/store.h"

enum { LEVELS = 7 };

typedef struct {
    TAB_COMMON_CONFIG;
} config;
static const tab_option options[] = { TAB_COMMON_OPTIONS(config), TAB_OPTIONS_END };

/* A regression's results: a value, its spread and seven quantiles a row. */
static bool results(Tabella__Results *r, size_t n)
{
    r->row = malloc(n * sizeof *r->row);
    r->value = malloc(n * sizeof *r->value);
    r->std = malloc(n * sizeof *r->std);
    r->quantiles = malloc(n * LEVELS * sizeof *r->quantiles);
    if (r->row == NULL || r->value == NULL || r->std == NULL || r->quantiles == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        double x = 50 + 30 * sin((double)i) + (double)(i % 97) / 7;
        r->row[i] = (uint32_t)i;
        r->value[i] = x;
        r->std[i] = 1 + (double)(i % 11) / 9;
        for (size_t k = 0; k < LEVELS; k++)
            r->quantiles[i * LEVELS + k] = x + ((double)k - 3) * r->std[i] / 2;
    }
    r->n_row = r->n_value = r->n_std = n;
    r->n_quantiles = n * LEVELS;
    return true;
}

static tab_status store(tab_pg *pg, const char *org, const char *job, const Tabella__Bundle *b,
                        tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    const tab_run_keys none = { 0 };
    TAB_TRY(tab_tx_begin(pg, org, tab_in_ms(900000), &tx, err));
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "INSERT INTO jobs.job (org, job_id, kind, work, status, started_at) "
                         "VALUES ($1, $2, 'run', 'run', 'done', now())",
                         TAB_P(tab_p_text(org), tab_p_text(job))));
    TAB_TRY(jobs_output_put(tx, org, job, b, &none, err));
    return tab_tx_commit(&tx, err);
}

int main(int argc, char **argv)
{
    config cfg;
    char *rest[] = { argv[0], NULL };
    if (argc != 4 || tab_config_read(options, &cfg, 1, rest) >= 0)
        return EXIT_FAILURE;
    tab_log_open("bench", TAB_WARN);
    TAB_AUTO(tab_pg) *pg = tab_pg_open(cfg.postgres, cfg.org_key, 1);
    static double level[LEVELS] = { 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95 };
    static Tabella__Results r = TABELLA__RESULTS__INIT;
    static Tabella__Prediction p = TABELLA__PREDICTION__INIT;
    static Tabella__TableUnderstanding t = TABELLA__TABLE_UNDERSTANDING__INIT, *tables[] = { &t };
    static Tabella__Bundle b = TABELLA__BUNDLE__INIT;
    size_t n = strtoul(argv[3], NULL, 10);
    tab_error err = { 0 };
    if (pg == NULL || !results(&r, n))
        return EXIT_FAILURE;
    t.id = (ProtobufCBinaryData){ 5, (uint8_t *)(uintptr_t) "table" };
    t.rows = n;
    p.task_type = (char *)(uintptr_t) "regression";
    p.n_quantile_levels = LEVELS;
    p.quantile_levels = level;
    p.results = &r;
    b.n_tables = 1;
    b.tables = tables;
    b.prediction = &p;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    int64_t began = tab_mono_ms();
    if (store(pg, argv[1], argv[2], &b, &err) != TAB_OK) {
        fprintf(stderr, "%s\n", err.message);
        return EXIT_FAILURE;
    }
    getrusage(RUSAGE_SELF, &after);
    printf("{\"seconds\": %.1f, \"more_mib\": %ld}\n", (double)(tab_mono_ms() - began) / 1000,
           (after.ru_maxrss - before.ru_maxrss) / 1024);
    return EXIT_SUCCESS;
}
