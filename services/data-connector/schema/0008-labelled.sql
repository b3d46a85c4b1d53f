-- Whether a snapshot holds what became true of an endpoint's answers beside its dataset's own rows: no state of the source.
ALTER TABLE data_connector.snapshot ADD COLUMN outcomes boolean NOT NULL DEFAULT false;
