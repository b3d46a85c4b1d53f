-- The key that seals an organization's blocks (docs/decisions/0735), itself sealed under TAB_KEK. A row of its own: it
-- is read by all that write a snapshot, and sealed again while they do.
CREATE TABLE data_connector.data_key (
    org     text PRIMARY KEY,
    wrapped bytea NOT NULL,                           -- 32 bytes, as common/security/crypto.h seals
    created timestamptz NOT NULL DEFAULT now()
);
SELECT tab.protect('data_connector.data_key');
