-- One event may bill several serve calls of one endpoint and key (decision 0150): how many, beside its id.

ALTER TABLE metering.event ADD COLUMN calls bigint NOT NULL DEFAULT 1 CHECK (calls > 0);

DROP FUNCTION metering.count_event(text, text, timestamptz, text[], bigint[], bigint[], text, text, text, text, text, bigint);

-- Counts one event, once. False: it was counted before. Called with the organization set.
CREATE FUNCTION metering.count_event(p_org text, p_event text, p_at timestamptz, p_op text[], p_cells bigint[],
    p_milli bigint[], p_surface text, p_key text, p_endpoint_id text, p_endpoint text, p_model text, p_tables bigint,
    p_calls bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_at timestamptz := least(p_at, clock_timestamp());   -- a producer's fast clock opens no window early
BEGIN
    INSERT INTO metering.event VALUES (p_org, p_event, v_at, p_calls) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO metering.line
        SELECT p_org, p_event, i, v_at, op, cells, milli FROM unnest(p_op, p_cells, p_milli) WITH ORDINALITY AS l (op, cells, milli, i);
    INSERT INTO metering.total AS t
        SELECT p_org, (v_at AT TIME ZONE 'UTC')::date, op, p_surface, p_key, p_endpoint_id, p_endpoint, p_model, sum(cells), sum(milli),
            CASE WHEN min(i) = 1 THEN p_tables ELSE 0 END, CASE WHEN min(i) = 1 THEN p_calls ELSE 0 END
        FROM unnest(p_op, p_cells, p_milli) WITH ORDINALITY AS l (op, cells, milli, i) GROUP BY op ORDER BY min(i)
    ON CONFLICT (org, day, op, surface, key_id, endpoint_id, endpoint, model) DO UPDATE SET
        cells = t.cells + excluded.cells, milli = t.milli + excluded.milli,
        tables = t.tables + excluded.tables, requests = t.requests + excluded.requests;
    RETURN true;
END $$;
