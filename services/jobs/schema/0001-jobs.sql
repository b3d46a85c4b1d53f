-- Jobs, endpoints and what belongs to them. The endpoint's row and its mutating job's row live here side by
-- side, so that "job done" and "endpoint moved" are one transaction.
--
-- Every table is bound to an organization by forced row-level security (common/pg.h); the claim and the
-- sweeper alone look at all organizations, with TAB_ORG_ALL.

CREATE TABLE jobs.job (
    org           text NOT NULL,
    job_id        text NOT NULL,
    seq           bigint GENERATED ALWAYS AS IDENTITY,
    kind          text NOT NULL CHECK (kind IN ('run', 'create', 'refresh', 'upgrade', 'generate', 'batch', 'sync')),
    work          text NOT NULL CHECK (work IN ('run', 'create', 'refresh', 'upgrade', 'generate', 'sync')),
    processing    text NOT NULL DEFAULT 'realtime' CHECK (processing IN ('realtime', 'batch')),
    status        text NOT NULL DEFAULT 'queued'
                  CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled', 'expired')),
    attempt       integer NOT NULL DEFAULT 0,    -- rises with each lease: the fence
    tries         integer NOT NULL DEFAULT 0,    -- leases that ended without an answer: the budget
    lease_until   timestamptz,
    started_at    timestamptz,                   -- of the present lease
    ready_at      timestamptz NOT NULL DEFAULT now(),
    due_at        timestamptz,                   -- batch: end of the completion window
    progress      smallint NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),
    phase         text NOT NULL DEFAULT '',
    label         text NOT NULL DEFAULT '',
    endpoint_id   text NOT NULL DEFAULT '',
    endpoint      text NOT NULL DEFAULT '',
    report_id     text NOT NULL DEFAULT '',
    run_id        text NOT NULL DEFAULT '',
    error         text NOT NULL DEFAULT '',
    request       bytea NOT NULL DEFAULT '',     -- the message that submitted it, less its tables
    staged        bytea,                         -- endpoint jobs: all that is left to do is to mint and commit
    result        bytea,                         -- JobResult
    plan          text NOT NULL DEFAULT '',
    batch_cap     integer NOT NULL DEFAULT 1,
    key_id        text NOT NULL DEFAULT '',
    surface       text NOT NULL DEFAULT 'api',
    request_id    text NOT NULL DEFAULT '',
    cells         bigint NOT NULL DEFAULT 0,
    output_at_api boolean NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, job_id),
    CHECK (status <> 'running' OR lease_until IS NOT NULL)
);
CREATE INDEX job_newest ON jobs.job (org, seq DESC);
CREATE INDEX job_due ON jobs.job (due_at) WHERE status IN ('queued', 'running');
CREATE INDEX job_done ON jobs.job (seq DESC) WHERE status = 'done' AND started_at IS NOT NULL;
CREATE INDEX job_open ON jobs.job (status, ready_at, seq) WHERE status IN ('queued', 'running');
-- One mutating job an endpoint, decided by the index and by nothing else.
CREATE UNIQUE INDEX job_mutating ON jobs.job (org, endpoint_id)
    WHERE endpoint_id <> '' AND status IN ('queued', 'running');

-- queued -> running -> done | failed;  queued | running -> cancelled | expired;  running -> queued (lease lost)
CREATE FUNCTION jobs.check_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = OLD.status THEN
        RETURN NEW;
    END IF;
    IF NOT ((OLD.status = 'queued' AND NEW.status IN ('running', 'cancelled', 'expired', 'failed'))
         OR (OLD.status = 'running' AND NEW.status IN ('queued', 'done', 'failed', 'cancelled', 'expired'))) THEN
        RAISE EXCEPTION 'job % cannot go from % to %', OLD.job_id, OLD.status, NEW.status
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.updated_at := now();
    RETURN NEW;
END $$;
CREATE TRIGGER transition BEFORE UPDATE OF status ON jobs.job
    FOR EACH ROW EXECUTE FUNCTION jobs.check_transition();

-- The next job for a worker: realtime before batch, then the organization that has the least running, then
-- the oldest. Taken one claim at a time, so that a batch cap cannot be overrun by two claims that count together.
CREATE FUNCTION jobs.claim(lease interval) RETURNS SETOF jobs.job LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('jobs.claim'));
    RETURN QUERY
    WITH running AS (
        SELECT r.org, count(*) AS n, count(*) FILTER (WHERE r.processing = 'batch') AS batch
        FROM jobs.job r WHERE r.status = 'running' GROUP BY r.org
    ), next AS (
        SELECT j.org, j.job_id FROM jobs.job j LEFT JOIN running USING (org)
        WHERE j.status = 'queued' AND j.ready_at <= clock_timestamp()
          AND (j.due_at IS NULL OR j.due_at > clock_timestamp())
          AND (j.processing = 'realtime' OR coalesce(running.batch, 0) < j.batch_cap)
        ORDER BY j.processing = 'batch', coalesce(running.n, 0), j.seq
        FOR UPDATE OF j SKIP LOCKED LIMIT 1
    )
    UPDATE jobs.job t SET status = 'running', attempt = t.attempt + 1, tries = t.tries + 1,
           lease_until = clock_timestamp() + lease, started_at = clock_timestamp(), progress = 0, phase = 'starting'
    FROM next WHERE t.org = next.org AND t.job_id = next.job_id
    RETURNING t.*;
END $$;

CREATE TABLE jobs.log (
    org text NOT NULL,
    job_id text NOT NULL,
    n      bigint GENERATED ALWAYS AS IDENTITY,
    at     timestamptz NOT NULL DEFAULT now(),
    line   text NOT NULL,
    PRIMARY KEY (org, job_id, n)
);

-- Bundles: of a finished run until expires_at; of an endpoint (expires_at null) while it serves that state.
CREATE TABLE jobs.output (
    org        text NOT NULL,
    job_id     text NOT NULL,
    part       integer NOT NULL,
    data       bytea NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (org, job_id, part)
);
ALTER TABLE jobs.output ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX output_expiry ON jobs.output (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE jobs.endpoint (
    org             text NOT NULL,
    endpoint_id     text NOT NULL,
    seq             bigint GENERATED ALWAYS AS IDENTITY,
    name            text NOT NULL,
    status          text NOT NULL DEFAULT 'creating' CHECK (status IN ('creating', 'live')),
    base            text NOT NULL,
    calls           bigint NOT NULL DEFAULT 0,
    config_revision bigint NOT NULL DEFAULT 1,
    data_revision   bigint NOT NULL DEFAULT 1,
    state_version   bigint NOT NULL DEFAULT 1,
    body            bytea NOT NULL,              -- the Endpoint message: what no statement here looks at
    create_job      text NOT NULL,
    output_job      text NOT NULL DEFAULT '',    -- whose output is the endpoint's bundle
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    deleted_at      timestamptz,
    PRIMARY KEY (org, endpoint_id)
);
CREATE UNIQUE INDEX endpoint_name ON jobs.endpoint (org, name) WHERE deleted_at IS NULL;
CREATE INDEX endpoint_newest ON jobs.endpoint (org, seq DESC) WHERE deleted_at IS NULL;

-- Every version of every fragment; the endpoint's body names the current ones.
CREATE TABLE jobs.prompt (
    org         text NOT NULL,
    endpoint_id text NOT NULL,
    prompt_id   text NOT NULL,
    version     integer NOT NULL,
    name        text NOT NULL,
    body        text NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, endpoint_id, prompt_id, version)
);

-- The operation log: never row data.
CREATE TABLE jobs.endpoint_log (
    org         text NOT NULL,
    endpoint_id text NOT NULL,
    n           bigint GENERATED ALWAYS AS IDENTITY,
    at          timestamptz NOT NULL DEFAULT now(),
    event       text NOT NULL,
    job_id      text NOT NULL DEFAULT '',
    actor       text NOT NULL DEFAULT '',
    message     text NOT NULL DEFAULT '',
    PRIMARY KEY (org, endpoint_id, n)
);

-- Calls to data-connector that must happen although the daemon dies first. pins: its pins are made to be what the
-- endpoint's row says (none, where there is no such endpoint). drop: temporary snapshots of a job that has ended.
CREATE TABLE jobs.chore (
    org      text NOT NULL,
    n        bigint GENERATED ALWAYS AS IDENTITY,
    kind     text NOT NULL CHECK (kind IN ('pins', 'drop')),
    owner    text NOT NULL,                      -- endpoint id, job id
    after    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, n)
);

SELECT tab.protect('jobs.job');
SELECT tab.protect('jobs.log');
SELECT tab.protect('jobs.output');
SELECT tab.protect('jobs.endpoint');
SELECT tab.protect('jobs.prompt');
SELECT tab.protect('jobs.endpoint_log');
SELECT tab.protect('jobs.chore');
