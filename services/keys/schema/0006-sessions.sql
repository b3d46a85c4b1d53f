-- Sessions of the console (docs/decisions/0337): a token in a browser's cookie that stands for a key until it ends, the
-- key ends, or it is signed out. Only the token's SHA-256 is here; one that ended is a row of keys.tombstone.
CREATE TABLE keys.session (
    org     text NOT NULL,
    id      text NOT NULL,
    key_id  text NOT NULL,
    hash    bytea NOT NULL CHECK (length(hash) = 32),
    version bigint NOT NULL,
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires timestamptz NOT NULL,
    PRIMARY KEY (org, id),
    FOREIGN KEY (org, key_id) REFERENCES keys.api_key (org, id)
);
SELECT tab.protect('keys.session');
CREATE UNIQUE INDEX session_hash ON keys.session (hash);
CREATE INDEX session_key ON keys.session (org, key_id);
