-- Which jobs run alone, and what came of it (decision 0240). The columns have defaults, so that a daemon of
-- the version before writes rows as it did.
ALTER TABLE jobs.job
    ADD COLUMN suspect boolean NOT NULL DEFAULT false, -- a worker died while it had the job, in company
    ADD COLUMN killed  integer NOT NULL DEFAULT 0;     -- processes that died with this job and no other
