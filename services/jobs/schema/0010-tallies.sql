-- How many jobs an organization has, in all and by status, and how many lines an endpoint's log has (docs/decisions/0411):
-- a row into jobs.tally with each change. Lists: job, job/STATUS, log/ENDPOINT.
CREATE FUNCTION jobs.count_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.status <> OLD.status THEN
            INSERT INTO jobs.tally (org, list, n)
            VALUES (OLD.org, 'job/' || OLD.status, -1), (NEW.org, 'job/' || NEW.status, 1);
        END IF;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO jobs.tally (org, list, n) VALUES (NEW.org, 'job', 1), (NEW.org, 'job/' || NEW.status, 1);
    ELSE
        INSERT INTO jobs.tally (org, list, n) VALUES (OLD.org, 'job', -1), (OLD.org, 'job/' || OLD.status, -1);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION jobs.count_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO jobs.tally (org, list, n) VALUES (NEW.org, 'log/' || NEW.endpoint_id, 1);
    ELSE
        INSERT INTO jobs.tally (org, list, n) VALUES (OLD.org, 'log/' || OLD.endpoint_id, -1);
    END IF;
    RETURN NULL;
END $$;

-- The triggers first: they keep writers out until all that is there has been counted.
CREATE TRIGGER counted AFTER INSERT OR UPDATE OF status OR DELETE ON jobs.job
    FOR EACH ROW EXECUTE FUNCTION jobs.count_job();
CREATE TRIGGER counted AFTER INSERT OR DELETE ON jobs.endpoint_log
    FOR EACH ROW EXECUTE FUNCTION jobs.count_log();
INSERT INTO jobs.tally (org, list, n, folded)
    SELECT org, 'job/' || status, count(*), true FROM jobs.job GROUP BY org, status
    UNION ALL SELECT org, 'job', count(*), true FROM jobs.job GROUP BY org
    UNION ALL SELECT org, 'log/' || endpoint_id, count(*), true FROM jobs.endpoint_log GROUP BY org, endpoint_id;

-- A page of one status, without a look at the jobs of the others.
CREATE INDEX job_newest_of ON jobs.job (org, status, seq DESC);
-- What goes with age (tabella admin retain), the oldest first.
CREATE INDEX job_ended ON jobs.job (updated_at) WHERE status IN ('done', 'failed', 'cancelled', 'expired');
