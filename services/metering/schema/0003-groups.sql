-- Events are counted in groups: one statement for all that a transaction has, planned once a connection. With values at hand the
-- planner took each call's arrays for worth a plan of its own, which cost more than the counting.

DROP FUNCTION metering.count_event(text, text, timestamptz, text[], bigint[], bigint[], text, text, text, text, text, bigint, bigint);

-- Counts each event once: gives the numbers (from 1) of those that were not counted before. l_event: the number of the event that a
-- line is of; lines of an event stand in their order. Called with the organization set; no id twice in one call.
CREATE FUNCTION metering.count_events(p_org text, e_id text[], e_at_us bigint[], e_surface text[], e_key text[], e_endpoint_id text[],
    e_endpoint text[], e_model text[], e_tables bigint[], e_calls bigint[], l_event bigint[], l_op text[], l_cells bigint[],
    l_milli bigint[])
RETURNS SETOF bigint LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    WITH e AS (
        SELECT n, id, least(timestamptz 'epoch' + at_us * interval '1 microsecond', clock_timestamp()) AS at, -- a fast clock opens no window early
               surface, key, endpoint_id, endpoint, model, tables, calls
        FROM unnest(e_id, e_at_us, e_surface, e_key, e_endpoint_id, e_endpoint, e_model, e_tables, e_calls)
             WITH ORDINALITY AS x (id, at_us, surface, key, endpoint_id, endpoint, model, tables, calls, n)
    ), fresh AS (
        INSERT INTO metering.event SELECT p_org, id, at, calls FROM e ON CONFLICT DO NOTHING RETURNING event_id
    ), l AS (
        SELECT e.*, x.op, x.cells, x.milli, row_number() OVER (PARTITION BY x.event ORDER BY x.i) AS line
        FROM unnest(l_event, l_op, l_cells, l_milli) WITH ORDINALITY AS x (event, op, cells, milli, i)
        JOIN e ON e.n = x.event JOIN fresh ON fresh.event_id = e.id
    ), lines AS (
        INSERT INTO metering.line SELECT p_org, id, line, at, op, cells, milli FROM l
    ), totals AS (
        INSERT INTO metering.total AS t
            SELECT p_org, (at AT TIME ZONE 'UTC')::date AS day, op, surface, key, endpoint_id, endpoint, model, sum(cells), sum(milli),
                   sum(CASE WHEN line = 1 THEN tables ELSE 0 END), sum(CASE WHEN line = 1 THEN calls ELSE 0 END)
            FROM l GROUP BY day, op, surface, key, endpoint_id, endpoint, model
            ORDER BY day, op, surface, key, endpoint_id, endpoint, model   -- two consumers lock rows in one order
        ON CONFLICT (org, day, op, surface, key_id, endpoint_id, endpoint, model) DO UPDATE SET
            cells = t.cells + excluded.cells, milli = t.milli + excluded.milli,
            tables = t.tables + excluded.tables, requests = t.requests + excluded.requests
    )
    SELECT e.n FROM e JOIN fresh ON fresh.event_id = e.id;
END $$;
