-- Bounds of keys (docs/decisions/0525): networks, endpoints, an end, and secrets that are good for a while
-- beside the newest. Lists are texts, items with a space between, "": none.
ALTER TABLE keys.org ADD COLUMN networks text NOT NULL DEFAULT '';
ALTER TABLE keys.api_key
    ADD COLUMN expires timestamptz, -- null: never
    ADD COLUMN warned int NOT NULL DEFAULT 0, -- of its end: 1 a week before, 2 a day before, 3 it has come
    ADD COLUMN networks text NOT NULL DEFAULT '',
    ADD COLUMN endpoints text NOT NULL DEFAULT '',
    ADD COLUMN last_address text NOT NULL DEFAULT '',
    ADD COLUMN last_agent text NOT NULL DEFAULT '';
CREATE INDEX api_key_expires ON keys.api_key (expires) WHERE deleted IS NULL AND warned < 3;

-- Secrets of live keys that were rotated with an overlap. One whose time is over becomes a tombstone.
CREATE TABLE keys.old_secret (
    org     text NOT NULL,
    key_id  text NOT NULL,
    hash    bytea NOT NULL CHECK (length(hash) = 32),
    preview text NOT NULL,
    version bigint NOT NULL,
    ends    timestamptz NOT NULL,
    PRIMARY KEY (org, hash),
    FOREIGN KEY (org, key_id) REFERENCES keys.api_key (org, id)
);
SELECT tab.protect('keys.old_secret');
CREATE UNIQUE INDEX old_secret_hash ON keys.old_secret (hash);
CREATE INDEX old_secret_key ON keys.old_secret (org, key_id);
CREATE INDEX old_secret_ends ON keys.old_secret (ends);

-- Networks that a key was used from, /24 of IPv4 and /48 of IPv6: a further one is told.
CREATE TABLE keys.key_network (
    org     text NOT NULL,
    key_id  text NOT NULL,
    network text NOT NULL,
    seen    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, key_id, network),
    FOREIGN KEY (org, key_id) REFERENCES keys.api_key (org, id)
);
SELECT tab.protect('keys.key_network');
CREATE INDEX key_network_seen ON keys.key_network (seen);
