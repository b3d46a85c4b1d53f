-- The trace that a job is part of (W3C trace context, TRACE-SPAN-FLAGS; docs/decisions/0335): its attempts are below the request
-- that made it. It has a default, so that a daemon of the version before writes rows as it did.
ALTER TABLE jobs.job
    ADD COLUMN trace text NOT NULL DEFAULT '';
