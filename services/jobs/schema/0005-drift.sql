-- What endpoints served beside what they pin: the Drift message, counts a bin and no values. One row an
-- endpoint, of its current state.
CREATE TABLE jobs.drift (
    org         text NOT NULL,
    endpoint_id text NOT NULL,
    content     bytea NOT NULL,
    PRIMARY KEY (org, endpoint_id)
);
SELECT tab.protect('jobs.drift');
