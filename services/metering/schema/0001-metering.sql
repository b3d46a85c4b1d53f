-- The usage ledger. One row a billed line of an event; an event counts once, for ever, by its id.
-- Every table is bound to an organization by row-level security, forced, and by the first column of its key.
-- Equivalents are whole thousandths of a fresh cell (cells x 1000 x ratio), so that sums are exact.

CREATE TABLE metering.event (
    org      text NOT NULL,
    event_id text NOT NULL,
    at       timestamptz NOT NULL,               -- when the work was done; never later than its arrival here
    PRIMARY KEY (org, event_id)
);

CREATE TABLE metering.line (
    org         text NOT NULL,
    event_id    text NOT NULL,
    n           smallint NOT NULL,
    at          timestamptz NOT NULL,
    op          text NOT NULL CHECK (op IN ('run', 'cached', 'create', 'refresh', 'serve', 'batch', 'generate')),
    cells       bigint NOT NULL CHECK (cells >= 0),
    milli       bigint NOT NULL CHECK (milli >= 0),
    PRIMARY KEY (org, event_id, n),
    FOREIGN KEY (org, event_id) REFERENCES metering.event
);

-- Sums by UTC day and by what the usage object breaks down by; written in the transaction of the lines.
CREATE TABLE metering.total (
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

-- An organization's plan and settings as keys last told them: what counts while keys is away.
CREATE TABLE metering.account (
    org text PRIMARY KEY,
    settings bytea NOT NULL,                     -- keys' Org message
    at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE metering.alert (
    org          text NOT NULL,
    window_start date NOT NULL,                  -- 1970-01-01 for a lifetime allotment
    percent      smallint NOT NULL CHECK (percent IN (80, 100)),
    at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, window_start, percent)
);

SELECT tab.protect('metering.event');
SELECT tab.protect('metering.line');
SELECT tab.protect('metering.total');
SELECT tab.protect('metering.account');
SELECT tab.protect('metering.alert');

-- Counts one event, once. False: it was counted before. Called with the organization set.
CREATE FUNCTION metering.count_event(p_org text, p_event text, p_at timestamptz, p_op text[], p_cells bigint[],
    p_milli bigint[], p_surface text, p_key text, p_endpoint_id text, p_endpoint text, p_model text, p_tables bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_at timestamptz := least(p_at, clock_timestamp());   -- a producer's fast clock opens no window early
    i int;
BEGIN
    INSERT INTO metering.event VALUES (p_org, p_event, v_at) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    FOR i IN 1 .. coalesce(array_length(p_op, 1), 0) LOOP
        INSERT INTO metering.line VALUES (p_org, p_event, i, v_at, p_op[i], p_cells[i], p_milli[i]);
        INSERT INTO metering.total AS t VALUES (p_org, (v_at AT TIME ZONE 'UTC')::date, p_op[i], p_surface, p_key,
            p_endpoint_id, p_endpoint, p_model, p_cells[i], p_milli[i], CASE WHEN i = 1 THEN p_tables ELSE 0 END,
            CASE WHEN i = 1 THEN 1 ELSE 0 END)
        ON CONFLICT (org, day, op, surface, key_id, endpoint_id, endpoint, model) DO UPDATE SET
            cells = t.cells + excluded.cells, milli = t.milli + excluded.milli,
            tables = t.tables + excluded.tables, requests = t.requests + excluded.requests;
    END LOOP;
    RETURN true;
END $$;
