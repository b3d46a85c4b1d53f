-- Sessions that end when the provider says so (OpenID Connect Back-Channel Logout; docs/decisions/0626).
ALTER TABLE keys.session
    ADD COLUMN sid text NOT NULL DEFAULT ''; -- the provider's name of the session in which somebody signed in
CREATE INDEX session_sid ON keys.session (org, sid) WHERE sid <> '';
ALTER TABLE keys.provider
    ADD COLUMN keys text NOT NULL DEFAULT '', -- the issuer's, as they were read last for a logout
    ADD COLUMN keys_read timestamptz NOT NULL DEFAULT '-infinity';

-- Logout tokens that came: each counts once.
CREATE TABLE keys.logout (
    org      text NOT NULL,
    provider text NOT NULL,
    token    bytea NOT NULL CHECK (length(token) = 32), -- SHA-256 of its jti
    expires  timestamptz NOT NULL,
    PRIMARY KEY (org, provider, token),
    FOREIGN KEY (org, provider) REFERENCES keys.provider (org, id) ON DELETE CASCADE
);
SELECT tab.protect('keys.logout');
CREATE INDEX logout_expires ON keys.logout (expires);
