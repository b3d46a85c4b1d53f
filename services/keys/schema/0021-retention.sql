-- How many days runs, logs, snapshots and outcomes are kept (docs/decisions/0665): of an organization, else of its plan;
-- where both are null, as long as the installation keeps them.
ALTER TABLE keys.plan
    ADD COLUMN keep_runs int CHECK (keep_runs BETWEEN 1 AND 36500),
    ADD COLUMN keep_logs int CHECK (keep_logs BETWEEN 1 AND 36500),
    ADD COLUMN keep_snapshots int CHECK (keep_snapshots BETWEEN 1 AND 36500),
    ADD COLUMN keep_outcomes int CHECK (keep_outcomes BETWEEN 1 AND 36500);
ALTER TABLE keys.org
    ADD COLUMN keep_runs int CHECK (keep_runs BETWEEN 1 AND 36500),
    ADD COLUMN keep_logs int CHECK (keep_logs BETWEEN 1 AND 36500),
    ADD COLUMN keep_snapshots int CHECK (keep_snapshots BETWEEN 1 AND 36500),
    ADD COLUMN keep_outcomes int CHECK (keep_outcomes BETWEEN 1 AND 36500);
