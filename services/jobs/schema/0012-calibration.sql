-- How answers follow outcomes (docs/decisions/0477), and who looks whether they still hold (0478). One row an endpoint each:
-- a Calibration that serve calls read, what the next outcome moves, and a Watch.
CREATE TABLE jobs.calibration (
    org         text NOT NULL,
    endpoint_id text NOT NULL,
    served      bytea NOT NULL,
    bands       bytea,
    PRIMARY KEY (org, endpoint_id)
);
CREATE TABLE jobs.watch (
    org         text NOT NULL,
    endpoint_id text NOT NULL,
    content     bytea NOT NULL,
    PRIMARY KEY (org, endpoint_id)
);
SELECT tab.protect('jobs.calibration');
SELECT tab.protect('jobs.watch');
