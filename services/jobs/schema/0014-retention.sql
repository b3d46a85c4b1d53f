-- What goes by an organization's own retention (docs/decisions/0665), the oldest first.
CREATE INDEX job_ended_of ON jobs.job (org, updated_at) WHERE status IN ('done', 'failed', 'cancelled', 'expired');
CREATE INDEX log_at ON jobs.log (org, at);
CREATE INDEX endpoint_log_at ON jobs.endpoint_log (org, at);
CREATE INDEX outcome_rows_expires_of ON jobs.outcome_rows (org, expires_at);
CREATE INDEX outcome_day_of ON jobs.outcome_day (org, day);
