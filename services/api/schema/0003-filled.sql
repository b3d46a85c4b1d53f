-- What the filled tables of an inline run are made of when they are asked for (docs/decisions/0410): its inline tables, and
-- which snapshots the others are; null where no cell was filled, and for a daemon of the version before.
ALTER TABLE api.output
    ADD COLUMN tables  bytea,  -- tabella.TableSet, zstd, sealed as the bundle is
    ADD COLUMN sources bytea;  -- tabella.JobResult, its sources alone
ALTER TABLE api.output ALTER COLUMN tables SET STORAGE EXTERNAL;
