-- The number of the organization's last revocation or change of plan, from keys.version: what the gateway
-- finds in Redis about a key is worth nothing once it is older (docs/decisions/0247).
ALTER TABLE keys.org ADD COLUMN epoch bigint NOT NULL DEFAULT 0;
