-- The next job for a worker, as before, at a cost that grows with the organizations that wait and not with their jobs
-- (docs/decisions/0398): of each organization's queues only the head is looked at.
CREATE INDEX job_queue ON jobs.job (org, processing, seq) WHERE status = 'queued';

CREATE OR REPLACE FUNCTION jobs.claim(lease interval, "full" text) RETURNS SETOF jobs.job LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('jobs.claim'));
    RETURN QUERY
    WITH RECURSIVE waiting AS ( -- the next larger organization each time: one probe of the index each
        (SELECT min(j.org) AS org FROM jobs.job j WHERE j.status = 'queued')
        UNION ALL
        SELECT (SELECT min(j.org) FROM jobs.job j WHERE j.status = 'queued' AND j.org > w.org)
        FROM waiting w WHERE w.org IS NOT NULL
    ), running AS (
        SELECT r.org, count(*) AS n, count(*) FILTER (WHERE r.processing = 'batch') AS batch
        FROM jobs.job r WHERE r.status = 'running' GROUP BY r.org
    ), head AS (
        SELECT w.org, h.seq, h.job_id, p.processing, coalesce(running.n, 0) AS n
        FROM waiting w LEFT JOIN running USING (org)
        CROSS JOIN (VALUES ('realtime'), ('batch')) p(processing)
        CROSS JOIN LATERAL (
            SELECT j.seq, j.job_id, j.batch_cap FROM jobs.job j
            WHERE j.org = w.org AND j.processing = p.processing AND j.status = 'queued'
              AND j.ready_at <= clock_timestamp() AND (j.due_at IS NULL OR j.due_at > clock_timestamp())
            ORDER BY j.seq LIMIT 1) h
        WHERE w.org IS NOT NULL AND w.org <> ALL (string_to_array("full", ' '))
          AND (p.processing = 'realtime' OR coalesce(running.batch, 0) < h.batch_cap)
    ), next AS (
        SELECT j.org, j.job_id
        FROM (SELECT * FROM head ORDER BY head.processing = 'batch', head.n, head.seq) h
        CROSS JOIN LATERAL (SELECT t.org, t.job_id FROM jobs.job t WHERE t.org = h.org AND t.job_id = h.job_id
                            AND t.status = 'queued' FOR UPDATE OF t SKIP LOCKED) j
        LIMIT 1 -- the first in this order that nobody has locked
    )
    UPDATE jobs.job t SET status = 'running', attempt = t.attempt + 1, tries = t.tries + 1,
           lease_until = clock_timestamp() + lease, started_at = clock_timestamp(), progress = 0, phase = 'starting'
    FROM next WHERE t.org = next.org AND t.job_id = next.job_id
    RETURNING t.*;
END $$;
