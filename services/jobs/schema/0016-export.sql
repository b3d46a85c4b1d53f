-- An organization's export (docs/decisions/0814): the members of its archive, in order. `content`: what one holds; else the
-- rows of a snapshot, of which the job finds out size and digest, one after another, so that an attempt that died leaves
-- what it has read to the next one. No rows are kept here twice.
ALTER TABLE jobs.job DROP CONSTRAINT job_kind_check, DROP CONSTRAINT job_work_check;
ALTER TABLE jobs.job
    ADD CONSTRAINT job_kind_check
        CHECK (kind IN ('run', 'create', 'refresh', 'upgrade', 'generate', 'batch', 'sync', 'serve', 'export')),
    ADD CONSTRAINT job_work_check
        CHECK (work IN ('run', 'create', 'refresh', 'upgrade', 'generate', 'sync', 'serve', 'export'));
-- One at a time of an organization.
CREATE UNIQUE INDEX job_exporting ON jobs.job (org) WHERE kind = 'export' AND status IN ('queued', 'running');
CREATE TABLE jobs.export_member (
    org        text NOT NULL,
    job_id     text NOT NULL,
    place      integer NOT NULL,
    name       text NOT NULL,
    content    bytea,
    dataset    text NOT NULL DEFAULT '',
    snapshot   text NOT NULL DEFAULT '',
    bytes      bigint,
    sha256     bytea,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (org, job_id, place),
    CHECK ((bytes IS NULL) = (sha256 IS NULL))
);
CREATE INDEX export_member_expiry ON jobs.export_member (expires_at);
SELECT tab.protect('jobs.export_member');
