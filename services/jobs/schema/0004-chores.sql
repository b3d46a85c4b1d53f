-- How often a chore was tried, for growing pauses. It has a default, so that a daemon of the version before
-- writes rows as it did.
ALTER TABLE jobs.chore
    ADD COLUMN tries integer NOT NULL DEFAULT 0;
