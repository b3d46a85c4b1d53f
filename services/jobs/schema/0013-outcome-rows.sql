-- Cells of rows whose outcomes are known, as they came with them, for a refresh that takes them as labelled rows
-- (docs/decisions/0515). A row here is the outcomes of one call: a KeptOutcomes. last_row, last_byte: how many rows and
-- bytes of the endpoint were kept up to here, so that the oldest are found when there are too many.
CREATE TABLE jobs.outcome_rows (
    org         text NOT NULL,
    endpoint_id text NOT NULL,
    last_row    bigint NOT NULL,
    last_byte   bigint NOT NULL,
    rows        integer NOT NULL,
    target      text NOT NULL,  -- the column's address
    content     bytea NOT NULL,
    expires_at  timestamptz NOT NULL,
    PRIMARY KEY (org, endpoint_id, last_row)
);
CREATE INDEX outcome_rows_expires ON jobs.outcome_rows (expires_at);
SELECT tab.protect('jobs.outcome_rows');
