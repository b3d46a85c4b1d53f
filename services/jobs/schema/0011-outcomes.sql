-- Receipts and outcomes (docs/decisions/0421). An endpoint's key signs its receipts. What became true is added up by day of
-- serving and task (an OutcomeDay); of each outcome the receipt's id is kept as long as the receipt is taken, so that it counts once.
ALTER TABLE jobs.endpoint ADD COLUMN receipt_key bytea NOT NULL
    DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
CREATE TABLE jobs.outcome (
    org         text NOT NULL,
    endpoint_id text NOT NULL,
    id          uuid NOT NULL,
    expires_at  timestamptz NOT NULL,
    PRIMARY KEY (org, endpoint_id, id)
);
CREATE INDEX outcome_expires ON jobs.outcome (expires_at);
CREATE TABLE jobs.outcome_day (
    org         text NOT NULL,
    endpoint_id text NOT NULL,
    day         integer NOT NULL,  -- of serving, since 1970
    task        integer NOT NULL,
    content     bytea NOT NULL,
    PRIMARY KEY (org, endpoint_id, day, task)
);
SELECT tab.protect('jobs.outcome');
SELECT tab.protect('jobs.outcome_day');
