-- The next job for a worker, as before, but of no organization in `full`: those of which the worker's process
-- has as many jobs at work as it has workers left (names divided by spaces; decision 0236).
CREATE FUNCTION jobs.claim(lease interval, "full" text) RETURNS SETOF jobs.job LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('jobs.claim'));
    RETURN QUERY
    WITH running AS (
        SELECT r.org, count(*) AS n, count(*) FILTER (WHERE r.processing = 'batch') AS batch
        FROM jobs.job r WHERE r.status = 'running' GROUP BY r.org
    ), next AS (
        SELECT j.org, j.job_id FROM jobs.job j LEFT JOIN running USING (org)
        WHERE j.status = 'queued' AND j.ready_at <= clock_timestamp()
          AND (j.due_at IS NULL OR j.due_at > clock_timestamp())
          AND (j.processing = 'realtime' OR coalesce(running.batch, 0) < j.batch_cap)
          AND j.org <> ALL (string_to_array("full", ' '))
        ORDER BY j.processing = 'batch', coalesce(running.n, 0), j.seq
        FOR UPDATE OF j SKIP LOCKED LIMIT 1
    )
    UPDATE jobs.job t SET status = 'running', attempt = t.attempt + 1, tries = t.tries + 1,
           lease_until = clock_timestamp() + lease, started_at = clock_timestamp(), progress = 0, phase = 'starting'
    FROM next WHERE t.org = next.org AND t.job_id = next.job_id
    RETURNING t.*;
END $$;
