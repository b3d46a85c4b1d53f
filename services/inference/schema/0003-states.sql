-- Fitted states of endpoints (docs/decisions/0407): each is written once, by the process that fitted it, and read by
-- any that has it neither in memory nor on its disk. The bytes are checked by a keyed digest of their own.
CREATE TABLE inference.state (
    org         text NOT NULL,
    endpoint_id text NOT NULL,
    name        text NOT NULL,                      -- base/config revision/data revision
    release     text NOT NULL,                      -- the engine that wrote it, and alone reads it
    bytes       bytea NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, endpoint_id, name, release)
);
ALTER TABLE inference.state ALTER COLUMN bytes SET STORAGE EXTERNAL; -- they are compressed already
SELECT tab.protect('inference.state');
