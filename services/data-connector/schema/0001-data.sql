-- Datasets and their immutable snapshots, connections, pins. Every table is bound to an organization by row-level
-- security, forced.

-- The key under which an organization's blocks are addressed: nobody can probe for another's data by its hash.
CREATE TABLE data_connector.org_key (
    org text PRIMARY KEY,
    key bytea NOT NULL CHECK (length(key) = 32)
);
SELECT tab.protect('data_connector.org_key');

-- A block: some columns of up to 65,536 rows, the wire form of a table (common/table_wire.h) under zstd; stored once
-- an organization, however many snapshots hold it.
CREATE TABLE data_connector.block (
    org     text NOT NULL,
    hash    bytea NOT NULL CHECK (length(hash) = 32), -- keyed BLAKE2b of the bytes before compression
    raw     bigint NOT NULL,
    bytes   bytea NOT NULL,
    PRIMARY KEY (org, hash)
);
ALTER TABLE data_connector.block ALTER COLUMN bytes SET STORAGE EXTERNAL;
SELECT tab.protect('data_connector.block');

CREATE TABLE data_connector.connection (
    org         text NOT NULL,
    id          text NOT NULL,
    name        text NOT NULL,
    source      text NOT NULL,                        -- the ref, normalised
    query       text NOT NULL DEFAULT '',
    row_key     text[] NOT NULL DEFAULT '{}',         -- options.key
    sealed      bytea NOT NULL,                       -- credentials, see common/crypto.h
    members     text NOT NULL,                        -- names of the credentials that are set, comma between
    dataset     text NOT NULL,
    created     timestamptz NOT NULL DEFAULT clock_timestamp(),
    sync_at     timestamptz,
    sync_good   boolean,
    sync_said   text NOT NULL DEFAULT '',
    PRIMARY KEY (org, id)
);
SELECT tab.protect('data_connector.connection');

CREATE TABLE data_connector.dataset (
    org         text NOT NULL,
    id          text NOT NULL,
    name        text NOT NULL,
    source      text NOT NULL,
    connection  text,                                 -- that feeds it
    snapshot    text,                                 -- the current one
    pinned      boolean NOT NULL DEFAULT false,       -- by a user; endpoints' pins are in pin
    ingest_id   text,
    temporary   boolean NOT NULL DEFAULT false,
    owner       text NOT NULL DEFAULT '',
    expires     timestamptz,
    last_used   timestamptz,
    created     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org, id),
    UNIQUE (org, ingest_id)
);
CREATE INDEX dataset_owner ON data_connector.dataset (org, owner) WHERE temporary;
CREATE INDEX dataset_expires ON data_connector.dataset (expires) WHERE temporary;
SELECT tab.protect('data_connector.dataset');

-- Id, size and time are kept for good; the rows while `kept`.
CREATE TABLE data_connector.snapshot (
    org     text NOT NULL,
    id      text NOT NULL,
    dataset text NOT NULL,
    sync_id text,
    rows    bigint NOT NULL,
    cols    bigint NOT NULL,
    bytes   bigint NOT NULL,
    kept    boolean NOT NULL DEFAULT true,
    diff    bytea,                                    -- the sync's answer, for one that is asked for again
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org, id),
    UNIQUE (org, dataset, sync_id)
);
CREATE INDEX snapshot_dataset ON data_connector.snapshot (org, dataset);
CREATE INDEX snapshot_old ON data_connector.snapshot (created) WHERE kept;
SELECT tab.protect('data_connector.snapshot');

CREATE TABLE data_connector.piece (
    org       text NOT NULL,
    snapshot  text NOT NULL,
    first_row bigint NOT NULL,
    first_col int NOT NULL,
    rows      bigint NOT NULL,
    cols      int NOT NULL,
    hash      bytea NOT NULL,
    PRIMARY KEY (org, snapshot, first_row, first_col)
);
CREATE INDEX piece_hash ON data_connector.piece (org, hash);
SELECT tab.protect('data_connector.piece');

CREATE TABLE data_connector.pin (
    org         text NOT NULL,
    endpoint_id text NOT NULL,
    snapshot    text NOT NULL,
    dataset     text NOT NULL,
    endpoint    text NOT NULL,
    PRIMARY KEY (org, endpoint_id, snapshot)
);
CREATE INDEX pin_dataset ON data_connector.pin (org, dataset);
SELECT tab.protect('data_connector.pin');
