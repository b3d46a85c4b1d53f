-- The largest upload in parts, in MiB. What can be read is the data-connector's to say (TAB_SOURCE_READ_MIB, 2 GiB).
ALTER TABLE keys.plan ADD COLUMN upload_mib int NOT NULL DEFAULT 2048 CHECK (upload_mib > 0);
UPDATE keys.plan SET upload_mib = 1024 WHERE name = 'free';
ALTER TABLE keys.org ADD COLUMN own_upload_mib int CHECK (own_upload_mib > 0);
