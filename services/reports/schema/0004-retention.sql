-- Records of runs go with their runs (docs/decisions/0665): of the transaction's organization, by their ids. Nothing but
-- this function may delete any, and it deletes no report and nothing that is starred.
CREATE FUNCTION reports.forget_runs(ids text[]) RETURNS bigint LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$
    WITH gone AS (DELETE FROM reports.report WHERE org = tab.org() AND report_id = ANY (ids) AND kind = 'run'
                  AND NOT starred RETURNING 1)
    SELECT count(*) FROM gone
$$;
