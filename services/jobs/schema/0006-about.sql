-- What a run was about, for lists that people read: the names of its tables. Its label stays the report's id.
ALTER TABLE jobs.job ADD COLUMN about text NOT NULL DEFAULT '';
