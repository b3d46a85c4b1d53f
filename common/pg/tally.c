/* See tally.h. */
#include "common/pg/tally.h"

#include <stdio.h>

enum { SQL = 1024 };

tab_status tab_tally_total(tab_tx *tx, const char *schema, const char *org, const char *list, uint64_t *ret,
                           tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    char sql[SQL];
    snprintf(sql, sizeof sql, "SELECT coalesce(sum(n), 0)::bigint FROM %s.tally WHERE org = $1 AND list = $2",
             schema);
    TAB_TRY(tab_tx_query(tx, &r, err, sql, TAB_P(tab_p_text(org), tab_p_text(list))));
    int64_t n = tab_rows_int(r, 0, 0);
    *ret = n > 0 ? (uint64_t)n : 0;
    return TAB_OK;
}

/* Rows that another sweeper folds now are left to it. */
tab_status tab_tally_fold(tab_tx *tx, const char *schema, int64_t most, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    char sql[SQL];
    snprintf(sql, sizeof sql,
             "WITH gone AS (DELETE FROM %s.tally WHERE ctid = ANY(ARRAY(SELECT ctid FROM %s.tally "
             "WHERE NOT folded ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING org, list, n), "
             "kept AS (INSERT INTO %s.tally AS t (org, list, n, folded) "
             "SELECT org, list, sum(n), true FROM gone GROUP BY org, list ORDER BY org, list "
             "ON CONFLICT (org, list) WHERE folded DO UPDATE SET n = t.n + excluded.n) "
             "SELECT count(*) FROM gone",
             schema, schema, schema);
    TAB_TRY(tab_tx_query(tx, &r, err, sql, TAB_P(tab_p_int(most))));
    *ret_n = (size_t)tab_rows_int(r, 0, 0);
    return TAB_OK;
}
