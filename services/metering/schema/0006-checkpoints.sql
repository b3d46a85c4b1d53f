-- Old lines of the ledger may be exported and then cut (docs/decisions/0352). What they add up to stays, by all that the sums are
-- broken down by, under a checkpoint that the operator signed; ids of events stay, so that none is ever billed again.

CREATE TABLE metering.cut_sum (
    org         text NOT NULL,
    day         date NOT NULL,
    op          text NOT NULL,
    surface     text NOT NULL,
    key_id      text NOT NULL,
    endpoint_id text NOT NULL,
    endpoint    text NOT NULL,
    model       text NOT NULL,
    cells       bigint NOT NULL,
    milli       bigint NOT NULL,
    tables      bigint NOT NULL,
    requests    bigint NOT NULL,
    PRIMARY KEY (org, day, op, surface, key_id, endpoint_id, endpoint, model)
);
SELECT tab.protect('metering.cut_sum');
COMMENT ON TABLE metering.cut_sum IS 'append-only'; -- the tables' owner changes it, which no daemon is

CREATE TABLE metering.checkpoint (
    org       text NOT NULL,
    n         bigint NOT NULL,                       -- 1, 2, 3 ... of the organization
    signed    text NOT NULL,                         -- what is signed (common/checkpoint.h)
    key       bytea NOT NULL CHECK (length(key) = 32),
    signature bytea NOT NULL CHECK (length(signature) = 64),
    at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, n)
);
SELECT tab.protect('metering.checkpoint');
COMMENT ON TABLE metering.checkpoint IS 'append-only';

-- SHA-256 of all sums of what was cut, each as a JSON array on a line of its own.
CREATE FUNCTION metering.cut_digest(p_org text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(coalesce(string_agg(x.entry, E'\n' ORDER BY x.entry COLLATE "C"), ''), 'UTF8')), 'hex')
    FROM (SELECT jsonb_build_array(to_char(day, 'YYYY-MM-DD'), op, surface, key_id, endpoint_id, endpoint, model, cells, milli,
            tables, requests)::text AS entry FROM metering.cut_sum WHERE org = p_org) x;
$$;

-- Takes the lines of these events away and keeps their sums; the event's row stays, with its id and time alone. An event from
-- before migration 0004 has no particulars, and its day goes on being compared by operation.
CREATE FUNCTION metering.cut(p_org text, p_events text[], OUT lines bigint, OUT cells bigint, OUT milli bigint, OUT sums text)
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO metering.cut_sum AS t
        SELECT p_org, (l.at AT TIME ZONE 'UTC')::date AS day, l.op, coalesce(e.surface, '') AS surface, coalesce(e.key_id, '') AS key_id,
            coalesce(e.endpoint_id, '') AS endpoint_id, coalesce(e.endpoint, '') AS endpoint, coalesce(e.model, '') AS model, sum(l.cells),
            sum(l.milli), sum(CASE WHEN l.n = 1 THEN coalesce(e.tables, 0) ELSE 0 END), sum(CASE WHEN l.n = 1 THEN e.calls ELSE 0 END)
        FROM metering.line l JOIN metering.event e ON e.org = l.org AND e.event_id = l.event_id
        WHERE l.org = p_org AND l.event_id = ANY (p_events)
        GROUP BY 2, 3, 4, 5, 6, 7, 8
    ON CONFLICT (org, day, op, surface, key_id, endpoint_id, endpoint, model) DO UPDATE SET
        cells = t.cells + excluded.cells, milli = t.milli + excluded.milli, tables = t.tables + excluded.tables,
        requests = t.requests + excluded.requests;
    WITH gone AS (DELETE FROM metering.line l WHERE l.org = p_org AND l.event_id = ANY (p_events) RETURNING l.cells, l.milli)
        SELECT count(*), coalesce(sum(g.cells), 0), coalesce(sum(g.milli), 0) INTO lines, cells, milli FROM gone g;
    UPDATE metering.event e SET surface = 'cut', key_id = '', endpoint_id = '', endpoint = '', model = ''
        WHERE e.org = p_org AND e.event_id = ANY (p_events) AND e.surface IS NOT NULL;
    sums := metering.cut_digest(p_org);
END $$;
REVOKE ALL ON FUNCTION metering.cut(text, text[]) FROM PUBLIC;

-- As before (0004), with what was cut added up beside the lines that are there.
CREATE OR REPLACE FUNCTION metering.differences(p_org text)
RETURNS TABLE (day date, op text, surface text, key_id text, endpoint_id text, model text, shown_cells bigint, ledger_cells bigint,
    shown_milli bigint, ledger_milli bigint, shown_requests bigint, ledger_requests bigint, lines bigint, sums bigint)
LANGUAGE sql STABLE AS $$
    WITH old AS MATERIALIZED (
        SELECT DISTINCT (at AT TIME ZONE 'UTC')::date AS day FROM metering.event WHERE org = p_org AND surface IS NULL
    ), kept AS (
        SELECT (l.at AT TIME ZONE 'UTC')::date AS day, l.op, e.surface, e.key_id, e.endpoint_id, e.endpoint, e.model, l.cells, l.milli,
            CASE WHEN l.n = 1 THEN e.tables END AS tables, CASE WHEN l.n = 1 THEN e.calls END AS requests, 1 AS lines
        FROM metering.line l JOIN metering.event e ON e.org = l.org AND e.event_id = l.event_id WHERE l.org = p_org
        UNION ALL
        SELECT s.day, s.op, s.surface, s.key_id, s.endpoint_id, s.endpoint, s.model, s.cells, s.milli, s.tables, s.requests, 0
        FROM metering.cut_sum s WHERE s.org = p_org
    ), ledger AS MATERIALIZED (
        SELECT k.day, k.op, CASE WHEN o.day IS NULL THEN k.surface ELSE '' END AS surface, CASE WHEN o.day IS NULL THEN k.key_id ELSE '' END AS key_id,
            CASE WHEN o.day IS NULL THEN k.endpoint_id ELSE '' END AS endpoint_id, CASE WHEN o.day IS NULL THEN k.endpoint ELSE '' END AS endpoint,
            CASE WHEN o.day IS NULL THEN k.model ELSE '' END AS model, sum(k.cells)::bigint AS cells, sum(k.milli)::bigint AS milli,
            CASE WHEN bool_or(o.day IS NOT NULL) THEN 0 ELSE sum(k.tables) END::bigint AS tables,
            sum(k.requests)::bigint AS requests, sum(k.lines)::bigint AS lines
        FROM kept k LEFT JOIN old o ON o.day = k.day GROUP BY 1, 2, 3, 4, 5, 6, 7
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
