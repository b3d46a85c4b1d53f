-- What work under way will bill is reserved before it starts, and counts as used until its event is counted (docs/decisions/0331);
-- and an event says all that the sums are broken down by, so that they can be computed anew from the ledger (docs/decisions/0332).

CREATE TABLE metering.reservation (
    org    text NOT NULL,
    id     text NOT NULL,                        -- of the event that will bill it, or of a hold
    milli  bigint NOT NULL CHECK (milli >= 0),
    until  timestamptz NOT NULL,                 -- its lease: a holder that died keeps nothing for longer
    PRIMARY KEY (org, id)
);
SELECT tab.protect('metering.reservation');

-- NULL: counted before these columns were there.
ALTER TABLE metering.event ADD COLUMN surface text, ADD COLUMN key_id text, ADD COLUMN endpoint_id text, ADD COLUMN endpoint text,
    ADD COLUMN model text, ADD COLUMN tables bigint;

-- The nightly check, once a day whoever does it.
CREATE TABLE metering.verification (
    day       date PRIMARY KEY,
    at        timestamptz NOT NULL DEFAULT now(),
    ended     timestamptz,
    lines     bigint NOT NULL DEFAULT 0,
    different bigint NOT NULL DEFAULT 0
);

-- Reserves, where used and reserved leave room below p_limit. granted: -1 where they do not, else what is held: p_milli and of p_more
-- a sixteenth of what is left at most. What was held under p_id and p_instead before is given up in the same step, and
-- is room enough for as much. One call of an organization at a time; each statement below sees what was committed before it.
CREATE FUNCTION metering.reserve(p_org text, p_id text, p_instead text, p_milli bigint, p_more bigint, p_limit bigint,
    p_lifetime boolean, p_lease_s bigint, OUT granted bigint, OUT used bigint, OUT held bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_had  bigint;
    v_left bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('metering.reserve/' || p_org, 0));
    DELETE FROM metering.reservation r USING (
        SELECT id FROM metering.reservation WHERE org = p_org AND until < clock_timestamp() FOR UPDATE SKIP LOCKED) x
        WHERE r.org = p_org AND r.id = x.id;
    IF p_lifetime THEN -- used and held by one statement each way: what settles meanwhile is in one of the two
        SELECT coalesce(sum(milli) FILTER (WHERE id <> p_id AND id <> p_instead), 0),
               coalesce(sum(milli) FILTER (WHERE id = p_id OR id = p_instead), 0),
               (SELECT coalesce(sum(milli), 0) FROM metering.total WHERE org = p_org)
            INTO held, v_had, used
            FROM metering.reservation WHERE org = p_org;
    ELSE -- the day is no parameter: the plan counts on the few rows that a week has
        SELECT coalesce(sum(milli) FILTER (WHERE id <> p_id AND id <> p_instead), 0),
               coalesce(sum(milli) FILTER (WHERE id = p_id OR id = p_instead), 0),
               (SELECT coalesce(sum(milli), 0) FROM metering.total
                WHERE org = p_org AND day >= date_trunc('week', now() AT TIME ZONE 'UTC')::date)
            INTO held, v_had, used
            FROM metering.reservation WHERE org = p_org;
    END IF;
    v_left := greatest(p_limit - used - held, 0);
    IF p_milli > v_left AND p_milli > v_had THEN
        granted := -1;
        RETURN;
    END IF;
    granted := p_milli + least(p_more, greatest(v_left - p_milli, 0) / 16);
    IF p_instead <> '' THEN
        DELETE FROM metering.reservation WHERE org = p_org AND id = p_instead;
    END IF;
    IF NOT EXISTS (SELECT FROM metering.event WHERE org = p_org AND event_id = p_id) THEN -- else it is billed already
        INSERT INTO metering.reservation VALUES (p_org, p_id, granted, clock_timestamp() + p_lease_s * interval '1 second')
        ON CONFLICT (org, id) DO UPDATE SET milli = excluded.milli, until = excluded.until;
    END IF;
END $$;

-- As before (0003), and: what the events bill is no longer reserved, and each event keeps what its sums are broken down by.
CREATE FUNCTION metering.count_events(p_org text, e_id text[], e_at_us bigint[], e_surface text[], e_key text[], e_endpoint_id text[],
    e_endpoint text[], e_model text[], e_tables bigint[], e_calls bigint[], l_event bigint[], l_op text[], l_cells bigint[],
    l_milli bigint[], e_hold text[])
RETURNS SETOF bigint LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    WITH e AS (
        SELECT n, id, least(timestamptz 'epoch' + at_us * interval '1 microsecond', clock_timestamp()) AS at, -- a fast clock opens no window early
               surface, key, endpoint_id, endpoint, model, tables, calls, hold
        FROM unnest(e_id, e_at_us, e_surface, e_key, e_endpoint_id, e_endpoint, e_model, e_tables, e_calls, e_hold)
             WITH ORDINALITY AS x (id, at_us, surface, key, endpoint_id, endpoint, model, tables, calls, hold, n)
    ), fresh AS (
        INSERT INTO metering.event (org, event_id, at, calls, surface, key_id, endpoint_id, endpoint, model, tables)
            SELECT p_org, id, at, calls, surface, key, endpoint_id, endpoint, model, tables FROM e
        ON CONFLICT DO NOTHING RETURNING event_id
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
    ), settled AS (
        DELETE FROM metering.reservation r USING fresh WHERE r.org = p_org AND r.id = fresh.event_id
    ), drawn AS (
        UPDATE metering.reservation r SET milli = greatest(r.milli - h.milli, 0)
        FROM (SELECT hold, sum(milli)::bigint AS milli FROM l WHERE hold <> '' GROUP BY hold) h
        WHERE r.org = p_org AND r.id = h.hold
    )
    SELECT e.n FROM e JOIN fresh ON fresh.event_id = e.id;
END $$;

-- What a build before this one calls.
CREATE OR REPLACE FUNCTION metering.count_events(p_org text, e_id text[], e_at_us bigint[], e_surface text[], e_key text[],
    e_endpoint_id text[], e_endpoint text[], e_model text[], e_tables bigint[], e_calls bigint[], l_event bigint[], l_op text[],
    l_cells bigint[], l_milli bigint[])
RETURNS SETOF bigint LANGUAGE sql AS $$
    SELECT metering.count_events(p_org, e_id, e_at_us, e_surface, e_key, e_endpoint_id, e_endpoint, e_model, e_tables, e_calls,
        l_event, l_op, l_cells, l_milli, array_fill(''::text, ARRAY[coalesce(array_length(e_id, 1), 0)]));
$$;

-- Every sum of an organization computed anew from its events and lines, beside the one that is shown: the rows that differ, and how
-- many were compared. A day that has events without their particulars (counted before this migration) is compared by operation alone.
CREATE FUNCTION metering.differences(p_org text)
RETURNS TABLE (day date, op text, surface text, key_id text, endpoint_id text, model text, shown_cells bigint, ledger_cells bigint,
    shown_milli bigint, ledger_milli bigint, shown_requests bigint, ledger_requests bigint, lines bigint, sums bigint)
LANGUAGE sql STABLE AS $$
    WITH old AS MATERIALIZED (
        SELECT DISTINCT (at AT TIME ZONE 'UTC')::date AS day FROM metering.event WHERE org = p_org AND surface IS NULL
    ), ledger AS MATERIALIZED (
        SELECT x.day, l.op, CASE WHEN o.day IS NULL THEN e.surface ELSE '' END AS surface, CASE WHEN o.day IS NULL THEN e.key_id ELSE '' END AS key_id,
            CASE WHEN o.day IS NULL THEN e.endpoint_id ELSE '' END AS endpoint_id, CASE WHEN o.day IS NULL THEN e.endpoint ELSE '' END AS endpoint,
            CASE WHEN o.day IS NULL THEN e.model ELSE '' END AS model, sum(l.cells)::bigint AS cells, sum(l.milli)::bigint AS milli,
            CASE WHEN bool_or(o.day IS NOT NULL) THEN 0 ELSE sum(e.tables) FILTER (WHERE l.n = 1) END::bigint AS tables,
            sum(e.calls) FILTER (WHERE l.n = 1)::bigint AS requests, count(*) AS lines
        FROM metering.line l JOIN metering.event e ON e.org = l.org AND e.event_id = l.event_id
            CROSS JOIN LATERAL (SELECT (l.at AT TIME ZONE 'UTC')::date AS day) x LEFT JOIN old o ON o.day = x.day
        WHERE l.org = p_org GROUP BY 1, 2, 3, 4, 5, 6, 7
    ), shown AS MATERIALIZED (
        SELECT t.day, t.op, CASE WHEN o.day IS NULL THEN t.surface ELSE '' END AS surface, CASE WHEN o.day IS NULL THEN t.key_id ELSE '' END AS key_id,
            CASE WHEN o.day IS NULL THEN t.endpoint_id ELSE '' END AS endpoint_id, CASE WHEN o.day IS NULL THEN t.endpoint ELSE '' END AS endpoint,
            CASE WHEN o.day IS NULL THEN t.model ELSE '' END AS model, sum(t.cells)::bigint AS cells, sum(t.milli)::bigint AS milli,
            CASE WHEN bool_or(o.day IS NOT NULL) THEN 0 ELSE sum(t.tables) END::bigint AS tables, sum(t.requests)::bigint AS requests
        FROM metering.total t LEFT JOIN old o ON o.day = t.day
        WHERE t.org = p_org GROUP BY 1, 2, 3, 4, 5, 6, 7
    ), both_sides AS (
        SELECT day, op, surface, key_id, endpoint_id, endpoint, model, s.cells AS sc, l.cells AS lc, s.milli AS sm, l.milli AS lm,
            s.requests AS sr, l.requests AS lr, coalesce(s.tables, 0) <> coalesce(l.tables, 0) AS other_tables
        FROM shown s FULL JOIN ledger l USING (day, op, surface, key_id, endpoint_id, endpoint, model)
    )
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        (SELECT coalesce(sum(l.lines), 0)::bigint FROM ledger l), (SELECT count(*) FROM both_sides)
    UNION ALL
    (SELECT b.day, b.op, b.surface, b.key_id, b.endpoint_id, b.model, coalesce(sc, 0), coalesce(lc, 0), coalesce(sm, 0), coalesce(lm, 0),
        coalesce(sr, 0), coalesce(lr, 0), 0, 0
    FROM both_sides b
    WHERE coalesce(sc, 0) <> coalesce(lc, 0) OR coalesce(sm, 0) <> coalesce(lm, 0) OR coalesce(sr, 0) <> coalesce(lr, 0) OR other_tables
    ORDER BY b.day, b.op, b.surface, b.key_id, b.endpoint_id, b.model);
$$;
