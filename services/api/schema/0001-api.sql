-- What the api keeps: the answers of keyed requests for 7 days, the outputs of inline runs for 24 hours.

-- A row is claimed by a process (owner, attempt: the fence) under a short lease that the process renews while
-- it works; status is null until the answer is there. Ids that the work makes are derived from seed, so that a
-- second attempt after a crash finds what the first one made.
CREATE TABLE api.idempotency (
    org         text NOT NULL,
    method      text NOT NULL,
    path        text NOT NULL,
    key         text NOT NULL,
    body_sha256 bytea NOT NULL,
    seed        text NOT NULL,
    owner       text NOT NULL,
    attempt     integer NOT NULL DEFAULT 1,
    lease_until timestamptz NOT NULL,
    status      integer,
    answer      bytea,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL DEFAULT now() + interval '7 days',
    PRIMARY KEY (org, method, path, key)
);
CREATE INDEX idempotency_expires ON api.idempotency (expires_at);
CREATE INDEX idempotency_open ON api.idempotency (owner) WHERE status IS NULL;

CREATE TABLE api.output (
    org        text NOT NULL,
    job_id     text NOT NULL,
    run_id     text NOT NULL,
    report_id  text NOT NULL,
    base       text NOT NULL,
    feed       text NOT NULL,
    bundle     bytea NOT NULL,  -- tabella.Bundle, zstd
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL DEFAULT now() + interval '24 hours',
    PRIMARY KEY (org, job_id)
);
ALTER TABLE api.output ALTER COLUMN bundle SET STORAGE EXTERNAL;
CREATE INDEX output_expires ON api.output (expires_at);

SELECT tab.protect('api.idempotency');
SELECT tab.protect('api.output');
