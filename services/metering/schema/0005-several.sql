-- Events of several organizations are counted by one statement (docs/decisions/0354): as metering.count_events (0004), with the
-- organization of each event. Called with that organization set, or with all where the events are of several.
CREATE FUNCTION metering.count_work(e_org text[], e_id text[], e_at_us bigint[], e_surface text[], e_key text[], e_endpoint_id text[],
    e_endpoint text[], e_model text[], e_tables bigint[], e_calls bigint[], e_hold text[], l_event bigint[], l_op text[],
    l_cells bigint[], l_milli bigint[])
RETURNS SETOF bigint LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    WITH e AS (
        SELECT n, org, id, least(timestamptz 'epoch' + at_us * interval '1 microsecond', clock_timestamp()) AS at, -- a fast clock opens no window early
               surface, key, endpoint_id, endpoint, model, tables, calls, hold
        FROM unnest(e_org, e_id, e_at_us, e_surface, e_key, e_endpoint_id, e_endpoint, e_model, e_tables, e_calls, e_hold)
             WITH ORDINALITY AS x (org, id, at_us, surface, key, endpoint_id, endpoint, model, tables, calls, hold, n)
    ), fresh AS (
        INSERT INTO metering.event AS v (org, event_id, at, calls, surface, key_id, endpoint_id, endpoint, model, tables)
            SELECT org, id, at, calls, surface, key, endpoint_id, endpoint, model, tables FROM e ORDER BY org, id
        ON CONFLICT DO NOTHING RETURNING v.org, v.event_id
    ), l AS (
        SELECT e.*, x.op, x.cells, x.milli, row_number() OVER (PARTITION BY x.event ORDER BY x.i) AS line
        FROM unnest(l_event, l_op, l_cells, l_milli) WITH ORDINALITY AS x (event, op, cells, milli, i)
        JOIN e ON e.n = x.event JOIN fresh ON fresh.org = e.org AND fresh.event_id = e.id
    ), lines AS (
        INSERT INTO metering.line SELECT org, id, line, at, op, cells, milli FROM l
    ), totals AS (
        INSERT INTO metering.total AS t
            SELECT org, (at AT TIME ZONE 'UTC')::date AS day, op, surface, key, endpoint_id, endpoint, model, sum(cells), sum(milli),
                   sum(CASE WHEN line = 1 THEN tables ELSE 0 END), sum(CASE WHEN line = 1 THEN calls ELSE 0 END)
            FROM l GROUP BY org, day, op, surface, key, endpoint_id, endpoint, model
            ORDER BY org, day, op, surface, key, endpoint_id, endpoint, model   -- two consumers lock rows in one order
        ON CONFLICT (org, day, op, surface, key_id, endpoint_id, endpoint, model) DO UPDATE SET
            cells = t.cells + excluded.cells, milli = t.milli + excluded.milli,
            tables = t.tables + excluded.tables, requests = t.requests + excluded.requests
    ), settled AS (
        DELETE FROM metering.reservation r USING fresh WHERE r.org = fresh.org AND r.id = fresh.event_id
    ), drawn AS (
        UPDATE metering.reservation r SET milli = greatest(r.milli - h.milli, 0)
        FROM (SELECT org, hold, sum(milli)::bigint AS milli FROM l WHERE hold <> '' GROUP BY org, hold) h
        WHERE r.org = h.org AND r.id = h.hold
    )
    SELECT e.n FROM e JOIN fresh ON fresh.org = e.org AND fresh.event_id = e.id;
END $$;
