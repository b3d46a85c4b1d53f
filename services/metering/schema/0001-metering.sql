-- The usage ledger. One row a billed line of an event; an event counts once, for ever, by its id.
-- Every table is bound to an organization by row-level security, forced, and by the first column of its key.
-- Equivalents are whole thousandths of a fresh cell (cells x 1000 x ratio), so that sums are exact.

CREATE TABLE metering.event (
    org_id   text NOT NULL,
    event_id text NOT NULL,
    at       timestamptz NOT NULL,               -- when the work was done; never later than its arrival here
    PRIMARY KEY (org_id, event_id)
);

CREATE TABLE metering.line (
    org_id      text NOT NULL,
    event_id    text NOT NULL,
    n           smallint NOT NULL,
    at          timestamptz NOT NULL,
    op          text NOT NULL CHECK (op IN ('run', 'cached', 'create', 'refresh', 'serve', 'batch', 'generate')),
    cells       bigint NOT NULL CHECK (cells >= 0),
    milli       bigint NOT NULL CHECK (milli >= 0),
    PRIMARY KEY (org_id, event_id, n),
    FOREIGN KEY (org_id, event_id) REFERENCES metering.event
);

-- Sums by UTC day and by what the usage object breaks down by; written in the transaction of the lines.
CREATE TABLE metering.total (
    org_id      text NOT NULL,
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
    PRIMARY KEY (org_id, day, op, surface, key_id, endpoint_id, endpoint, model)
);

-- What the owner of an organization set, and the plan last seen with it (alerts need it between calls).
CREATE TABLE metering.account (
    org_id        text PRIMARY KEY,
    plan          text NOT NULL,
    add_usage     boolean NOT NULL DEFAULT false,
    spend_cap_usd numeric(14, 2) CHECK (spend_cap_usd >= 0)
);

CREATE TABLE metering.alert (
    org_id       text NOT NULL,
    window_start date NOT NULL,                  -- 1970-01-01 for a lifetime allotment
    percent      smallint NOT NULL CHECK (percent IN (80, 100)),
    at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org_id, window_start, percent)
);

DO $$
DECLARE t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['event', 'line', 'total', 'account', 'alert'] LOOP
        EXECUTE format('ALTER TABLE metering.%I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE metering.%I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY org ON metering.%I USING (org_id = current_setting(''tabella.org'', true))', t);
    END LOOP;
END $$;
