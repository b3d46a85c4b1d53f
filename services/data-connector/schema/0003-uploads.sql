-- Files on their way in, in pieces, until their tables are datasets (docs/decisions/0365): here, and not on a
-- daemon's disk, since any replica of the api may take a file and any of this service may read it.
CREATE TABLE data_connector.upload (
    org     text NOT NULL,
    id      text NOT NULL,
    bytes   bigint NOT NULL DEFAULT 0,
    pieces  bigint NOT NULL DEFAULT 0,
    owner   text NOT NULL DEFAULT '',            -- the job that reads it; '': it is still coming, or read at once
    touched timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org, id)
);
SELECT tab.protect('data_connector.upload');
CREATE INDEX upload_touched ON data_connector.upload (touched);

CREATE TABLE data_connector.upload_piece (
    org     text NOT NULL,
    upload  text NOT NULL,
    number  bigint NOT NULL,
    bytes   bytea NOT NULL,
    PRIMARY KEY (org, upload, number),
    FOREIGN KEY (org, upload) REFERENCES data_connector.upload (org, id) ON DELETE CASCADE
);
ALTER TABLE data_connector.upload_piece ALTER COLUMN bytes SET STORAGE EXTERNAL;
SELECT tab.protect('data_connector.upload_piece');
