-- A dataset scored by an endpoint (docs/decisions/0830): how many of its rows are kept, and whose answers they are. The
-- endpoint is not in endpoint_id, which one job at a time may hold: several datasets may be scored at once.
ALTER TABLE jobs.job DROP CONSTRAINT job_kind_check, DROP CONSTRAINT job_work_check;
ALTER TABLE jobs.job
    ADD CONSTRAINT job_kind_check
        CHECK (kind IN ('run', 'create', 'refresh', 'upgrade', 'generate', 'batch', 'sync', 'serve')),
    ADD CONSTRAINT job_work_check
        CHECK (work IN ('run', 'create', 'refresh', 'upgrade', 'generate', 'sync', 'serve')),
    ADD COLUMN scored bigint NOT NULL DEFAULT 0,
    ADD COLUMN serves text NOT NULL DEFAULT '';
