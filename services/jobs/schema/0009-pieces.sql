-- A large bundle in pieces (docs/decisions/0409): array '' is the head, in parts of a mebibyte; else the slice of a paged
-- array that begins with element `first`. A page reads the head's key or one of these, never all. Small bundles stay in
-- jobs.output. expires_at as there.
CREATE TABLE jobs.piece (
    org        text NOT NULL,
    job_id     text NOT NULL,
    array_name text NOT NULL,
    first      bigint NOT NULL,
    data       bytea NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (org, job_id, array_name, first)
);
ALTER TABLE jobs.piece ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX piece_expiry ON jobs.piece (expires_at) WHERE expires_at IS NOT NULL;
SELECT tab.protect('jobs.piece');
