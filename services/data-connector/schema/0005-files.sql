-- Whether a dataset's rows come of a file, whose cells know no null: marks that stand for one are missing then.
ALTER TABLE data_connector.dataset ADD COLUMN file boolean NOT NULL DEFAULT false;
