-- Persons (docs/decisions/0575). A person is a row of keys.api_key whose secret nobody has: what keys are subject to,
-- sessions, revocation, rates, the audit log, persons are too. Keys of a person end with it.
ALTER TABLE keys.api_key
    ADD COLUMN person boolean NOT NULL DEFAULT false,
    ADD COLUMN owner text NOT NULL DEFAULT '', -- the person whose key it is; '': the organization's
    ADD COLUMN role text NOT NULL DEFAULT '';  -- of a person
CREATE INDEX api_key_owner ON keys.api_key (org, owner) WHERE owner <> '';
ALTER TABLE keys.session
    ADD COLUMN address text NOT NULL DEFAULT '',
    ADD COLUMN used timestamptz NOT NULL DEFAULT clock_timestamp(), -- as keys was last asked about it
    ADD COLUMN idle interval; -- it ends so long after; null: it does not

-- Who says who somebody is (OpenID Connect).
CREATE TABLE keys.provider (
    org        text NOT NULL REFERENCES keys.org,
    id         text NOT NULL,
    name       text NOT NULL,
    issuer     text NOT NULL,
    client_id  text NOT NULL,
    secret     bytea,                     -- sealed; null: a public client
    sealed_by  text NOT NULL DEFAULT '',  -- id of the key that sealed it
    role       text NOT NULL DEFAULT '',  -- of who is in no group below; '': such persons are refused
    claim      text NOT NULL DEFAULT 'groups',
    roles      jsonb NOT NULL DEFAULT '{}', -- role by group
    scopes     text NOT NULL DEFAULT 'openid email profile',
    domains    text NOT NULL DEFAULT '',  -- of verified addresses, with a space between; '': any
    authorize  text NOT NULL,             -- as the issuer's description had it
    token      text NOT NULL,
    jwks       text NOT NULL,
    post       boolean NOT NULL,          -- the client's secret goes into the body, not into a header
    looked     timestamptz NOT NULL DEFAULT now(),
    created    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, id)
);
SELECT tab.protect('keys.provider');

CREATE TABLE keys.person (
    org      text NOT NULL,
    id       text NOT NULL,
    provider text NOT NULL,
    subject  text NOT NULL, -- the provider's own name of it, which stays
    email    text NOT NULL DEFAULT '',
    pinned   boolean NOT NULL DEFAULT false, -- its role was given by hand: groups do not change it
    created  timestamptz NOT NULL DEFAULT now(),
    signed_in timestamptz,
    PRIMARY KEY (org, id),
    UNIQUE (org, provider, subject),
    FOREIGN KEY (org, id) REFERENCES keys.api_key (org, id)
);
SELECT tab.protect('keys.person');

-- Sign-ins that were begun: each is used once, by the browser that began it.
CREATE TABLE keys.signin (
    org      text NOT NULL,
    state    bytea NOT NULL CHECK (length(state) = 32),   -- SHA-256
    browser  bytea NOT NULL CHECK (length(browser) = 32), -- SHA-256 of its cookie
    provider text NOT NULL,
    nonce    text NOT NULL,
    verifier text NOT NULL,
    expires  timestamptz NOT NULL,
    PRIMARY KEY (org, state),
    FOREIGN KEY (org, provider) REFERENCES keys.provider (org, id) ON DELETE CASCADE
);
SELECT tab.protect('keys.signin');
CREATE INDEX signin_state ON keys.signin (state);
CREATE INDEX signin_expires ON keys.signin (expires);
