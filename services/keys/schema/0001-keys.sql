-- Who may call what: organizations, plans, API keys, the audit log. Every table with an organization is bound to it by
-- row-level security, forced. A secret is nowhere: only its SHA-256.

-- The plans, in this one place. An operator changes a plan by updating its row.
CREATE TABLE keys.plan (
    name                 text PRIMARY KEY,
    allowance            bigint NOT NULL CHECK (allowance >= 0), -- fresh cells a window; 0: none, pay as you go
    lifetime             boolean NOT NULL,                       -- the allowance is for life and does not reset
    key_rpm              int NOT NULL CHECK (key_rpm > 0),       -- requests a minute of one key
    org_rpm              int NOT NULL CHECK (org_rpm > 0),
    endpoint_rpm         int NOT NULL CHECK (endpoint_rpm > 0),  -- no number of its own is decided: as the organization
    cells_per_minute     bigint NOT NULL CHECK (cells_per_minute > 0),
    endpoint_concurrency int NOT NULL CHECK (endpoint_concurrency > 0),
    batch_concurrency    int NOT NULL CHECK (batch_concurrency > 0)
);
INSERT INTO keys.plan VALUES
    ('free',       1000000,    true,  60,    120,   120,   500000,     4,   1),
    ('plus',       20000000,   false, 300,   600,   600,   5000000,    16,  2),
    ('pro',        200000000,  false, 1200,  6000,  6000,  50000000,   64,  4),
    ('enterprise', 5000000000, false, 12000, 60000, 60000, 1000000000, 256, 16),
    ('api',        0,          false, 1200,  6000,  6000,  50000000,   64,  4);

CREATE TABLE keys.org (
    org           text PRIMARY KEY,
    name          text NOT NULL,
    plan          text NOT NULL REFERENCES keys.plan,
    email         text NOT NULL DEFAULT '',
    add_usage     boolean NOT NULL DEFAULT false,
    spend_cap_usd double precision CHECK (spend_cap_usd >= 0), -- null: no cap set
    created       timestamptz NOT NULL DEFAULT now()
);
SELECT tab.protect('keys.org');

-- Each change of what a key may do takes a number from here; the gateway's cache keeps the higher one.
CREATE SEQUENCE keys.version;

CREATE TABLE keys.api_key (
    org       text NOT NULL REFERENCES keys.org,
    id        text NOT NULL,
    name      text NOT NULL,
    hash      bytea NOT NULL CHECK (length(hash) = 32),
    preview   text NOT NULL,
    scopes    int NOT NULL CHECK (scopes BETWEEN 1 AND 31),
    version   bigint NOT NULL,
    created   timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_used timestamptz,
    requests  bigint NOT NULL DEFAULT 0,
    deleted   timestamptz,
    PRIMARY KEY (org, id)
);
SELECT tab.protect('keys.api_key');
CREATE UNIQUE INDEX api_key_hash ON keys.api_key (hash);
CREATE INDEX api_key_id ON keys.api_key (id);

-- Secrets that stopped working and whose tombstone Redis has not confirmed yet. A row here means that the
-- revocation has not been answered with success.
CREATE TABLE keys.tombstone (
    org     text NOT NULL,
    key_id  text NOT NULL,
    hash    bytea NOT NULL,
    version bigint NOT NULL,
    PRIMARY KEY (org, hash)
);
SELECT tab.protect('keys.tombstone');

-- Batches of counted uses that were added: each once, whatever is repeated.
CREATE TABLE keys.use_batch (
    batch text PRIMARY KEY,
    at    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE keys.audit (
    org        text NOT NULL,
    position   bigint GENERATED ALWAYS AS IDENTITY,
    event_id   text NOT NULL,
    actor      text NOT NULL,
    action     text NOT NULL,
    object     text NOT NULL,
    detail     text NOT NULL,
    request_id text NOT NULL,
    at         timestamptz NOT NULL,
    PRIMARY KEY (org, position),
    UNIQUE (org, event_id)
);
SELECT tab.protect('keys.audit');

-- What the platform shows and mails to the organization.
CREATE TABLE keys.notification (
    org      text NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    event_id text NOT NULL,
    kind     text NOT NULL, -- job.ended, usage.alert
    subject  text NOT NULL,
    text     text NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (org, position),
    UNIQUE (org, event_id)
);
SELECT tab.protect('keys.notification');

CREATE FUNCTION keys.never() RETURNS trigger LANGUAGE plpgsql AS
    $f$ BEGIN RAISE EXCEPTION 'the audit log is never changed'; END $f$;
CREATE TRIGGER audit_is_kept BEFORE UPDATE OR DELETE ON keys.audit FOR EACH ROW EXECUTE FUNCTION keys.never();
