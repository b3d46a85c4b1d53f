-- The audit log as a stream (docs/decisions/0627): a delivery of entries, from one number to another, to receivers that
-- name `audit.entries`. Its entries are fixed once it was tried.
ALTER TABLE keys.webhook_delivery
    ADD COLUMN from_seq bigint, -- null: of a notice
    ADD COLUMN to_seq bigint;
