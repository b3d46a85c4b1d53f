-- The ledger's lines lie in parts by month (UTC) of `at`, so that a month that was exported and cut goes as a whole, by dropping its
-- part, in place of deletes that leave their room behind. Ids of events stay in metering.event, unparted, for they count once for ever.
--
--   line_before    all lines of before this migration, where there were any; goes line by line, as ever
--   line_YYYY_MM   a month, made two months ahead
--   line_rest      what has no part: hardly anything (a clock set far back, an event that comes after its month was dropped)

ALTER TABLE metering.line RENAME TO line_before;
CREATE TABLE metering.line (LIKE metering.line_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (at);
ALTER TABLE metering.line ADD FOREIGN KEY (org, event_id) REFERENCES metering.event;
SELECT tab.protect('metering.line');

CREATE TABLE metering.line_rest (LIKE metering.line INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (org, event_id, n));
SELECT tab.protect('metering.line_rest');
ALTER TABLE metering.line ATTACH PARTITION metering.line_rest DEFAULT;

-- The parts that end, and when.
CREATE VIEW metering.line_part_until AS
    SELECT c.oid::regclass AS part, substring(pg_get_expr(c.relpartbound, c.oid) FROM $r$TO \('([^']+)'\)$r$)::timestamptz AS until
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'metering.line'::regclass AND pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT';

-- The part of the month that p_at lies in, with what came before it was there. Called with all organizations set.
CREATE FUNCTION metering.line_month(p_at timestamptz) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    month timestamp := date_trunc('month', p_at AT TIME ZONE 'UTC');
    begins timestamptz := month AT TIME ZONE 'UTC';
    ends timestamptz := (month + interval '1 month') AT TIME ZONE 'UTC';
    part text := 'metering.line_' || to_char(month, 'YYYY_MM');
BEGIN
    EXECUTE format('CREATE TABLE %s (LIKE metering.line INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (org, event_id, n))', part);
    PERFORM tab.protect(part::regclass);
    LOCK TABLE metering.line_rest IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('WITH late AS (DELETE FROM metering.line_rest WHERE at >= %L AND at < %L RETURNING *) INSERT INTO %s SELECT * FROM late',
        begins, ends, part);
    EXECUTE format('ALTER TABLE metering.line ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)', part, begins, ends);
END $$;

-- Parts for this month and the two after it; how many were made. Metering calls it now and then.
CREATE FUNCTION metering.line_months() RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    next timestamptz;
    made int := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('metering.line_months', 0));
    LOOP
        SELECT coalesce(max(until), date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') INTO next
            FROM metering.line_part_until;
        EXIT WHEN next > now() + interval '2 months';
        PERFORM metering.line_month(next);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION metering.line_month(timestamptz) FROM PUBLIC;

-- Up to where what is older than so many days is cut: whole months.
CREATE FUNCTION metering.cut_before(p_days bigint) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT date_trunc('month', (now() - p_days * interval '1 day') AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
$$;

-- Drops the oldest part that is older and of which every line was cut: its name, or null. One a transaction.
CREATE FUNCTION metering.line_drop(p_days bigint) RETURNS text LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
DECLARE
    p record;
    kept boolean;
BEGIN
    FOR p IN SELECT part FROM metering.line_part_until WHERE until <= metering.cut_before(p_days) ORDER BY until LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s l JOIN metering.event e ON e.org = l.org AND e.event_id = l.event_id '
            'WHERE e.surface IS DISTINCT FROM ''cut'')', p.part) INTO kept;
        IF NOT kept THEN
            EXECUTE format('DROP TABLE %s', p.part);
            RETURN p.part::text;
        END IF;
    END LOOP;
    RETURN NULL;
EXCEPTION WHEN lock_not_available THEN -- somebody reads the ledger for long: the next night
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION metering.line_drop(bigint) FROM PUBLIC;

-- As before (0006); what lies in a month's part stays in it until that is dropped, and counts no more.
CREATE OR REPLACE FUNCTION metering.cut(p_org text, p_events text[], OUT lines bigint, OUT cells bigint, OUT milli bigint, OUT sums text)
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO metering.cut_sum AS t
        SELECT p_org, (l.at AT TIME ZONE 'UTC')::date AS day, l.op, coalesce(e.surface, '') AS surface, coalesce(e.key_id, '') AS key_id,
            coalesce(e.endpoint_id, '') AS endpoint_id, coalesce(e.endpoint, '') AS endpoint, coalesce(e.model, '') AS model, sum(l.cells),
            sum(l.milli), sum(CASE WHEN l.n = 1 THEN coalesce(e.tables, 0) ELSE 0 END), sum(CASE WHEN l.n = 1 THEN e.calls ELSE 0 END)
        FROM metering.event e JOIN metering.line l ON l.org = e.org AND l.event_id = e.event_id AND l.at = e.at
        WHERE e.org = p_org AND e.event_id = ANY (p_events)
        GROUP BY 2, 3, 4, 5, 6, 7, 8
    ON CONFLICT (org, day, op, surface, key_id, endpoint_id, endpoint, model) DO UPDATE SET
        cells = t.cells + excluded.cells, milli = t.milli + excluded.milli, tables = t.tables + excluded.tables,
        requests = t.requests + excluded.requests;
    SELECT count(*), coalesce(sum(l.cells), 0), coalesce(sum(l.milli), 0) INTO lines, cells, milli
        FROM metering.event e JOIN metering.line l ON l.org = e.org AND l.event_id = e.event_id AND l.at = e.at
        WHERE e.org = p_org AND e.event_id = ANY (p_events);
    IF to_regclass('metering.line_before') IS NOT NULL THEN
        DELETE FROM metering.line_before l WHERE l.org = p_org AND l.event_id = ANY (p_events);
    END IF;
    DELETE FROM metering.line_rest l WHERE l.org = p_org AND l.event_id = ANY (p_events);
    UPDATE metering.event e SET surface = 'cut', key_id = '', endpoint_id = '', endpoint = '', model = ''
        WHERE e.org = p_org AND e.event_id = ANY (p_events) AND e.surface IS NOT NULL;
    sums := metering.cut_digest(p_org);
END $$;
REVOKE ALL ON FUNCTION metering.cut(text, text[]) FROM PUBLIC;

-- As before (0006), but for what was cut and still lies in its part.
CREATE OR REPLACE FUNCTION metering.differences(p_org text)
RETURNS TABLE (day date, op text, surface text, key_id text, endpoint_id text, model text, shown_cells bigint, ledger_cells bigint,
    shown_milli bigint, ledger_milli bigint, shown_requests bigint, ledger_requests bigint, lines bigint, sums bigint)
LANGUAGE sql STABLE AS $$
    WITH old AS MATERIALIZED (
        SELECT DISTINCT (at AT TIME ZONE 'UTC')::date AS day FROM metering.event WHERE org = p_org AND surface IS NULL
    ), kept AS (
        SELECT (l.at AT TIME ZONE 'UTC')::date AS day, l.op, e.surface, e.key_id, e.endpoint_id, e.endpoint, e.model, l.cells, l.milli,
            CASE WHEN l.n = 1 THEN e.tables END AS tables, CASE WHEN l.n = 1 THEN e.calls END AS requests, 1 AS lines
        FROM metering.line l JOIN metering.event e ON e.org = l.org AND e.event_id = l.event_id
        WHERE l.org = p_org AND e.surface IS DISTINCT FROM 'cut'
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

-- Lines of before keep their part; where there are none it is not needed.
DO $$ BEGIN
    PERFORM set_config('tab.org', '*', true);
    IF EXISTS (SELECT FROM metering.line_before) THEN
        EXECUTE format('ALTER TABLE metering.line ATTACH PARTITION metering.line_before FOR VALUES FROM (MINVALUE) TO (%L)',
            (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC');
    ELSE
        DROP TABLE metering.line_before;
    END IF;
    PERFORM metering.line_months();
END $$;
SELECT tab.admit('metering');
