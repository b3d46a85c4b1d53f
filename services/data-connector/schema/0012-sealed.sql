-- What an organization's data key sealed (docs/decisions/0765). Of blocks it is what the sweep goes by that seals
-- those of before: one that a run's key sealed, or that a daemon of before sealed, is looked at once and marked. Of
-- pieces of uploads it is the truth, for a file may hold any bytes.
ALTER TABLE data_connector.block ADD COLUMN sealed boolean NOT NULL DEFAULT false;
CREATE INDEX block_unsealed ON data_connector.block (org, hash) WHERE NOT sealed;
ALTER TABLE data_connector.upload_piece ADD COLUMN sealed boolean NOT NULL DEFAULT false;
