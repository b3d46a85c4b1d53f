-- Fitted states sealed by a key of their organization (docs/decisions/0765), itself sealed under TAB_STATE_KEK.
CREATE TABLE inference.data_key (
    org     text PRIMARY KEY,
    wrapped bytea NOT NULL,                           -- 32 bytes, as common/security/crypto.h seals
    created timestamptz NOT NULL DEFAULT now()
);
SELECT tab.protect('inference.data_key');
-- What the sweep goes by that seals those of before.
ALTER TABLE inference.state ADD COLUMN sealed boolean NOT NULL DEFAULT false;
CREATE INDEX state_unsealed ON inference.state (org, endpoint_id, name, release) WHERE NOT sealed;
