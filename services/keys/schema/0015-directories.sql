-- Directories (docs/decisions/0625): what an identity provider says by SCIM of whom it has. A key with a directory
-- writes that one and does nothing else; its role is `directory`.
ALTER TABLE keys.api_key
    ADD COLUMN directory text NOT NULL DEFAULT ''; -- a provider
ALTER TABLE keys.person
    ALTER COLUMN subject DROP NOT NULL,  -- null: it has not signed in yet
    ADD COLUMN verified boolean NOT NULL DEFAULT false, -- its mail address was, at its last sign-in
    ADD COLUMN user_name text,           -- SCIM's; null: the directory never had it
    ADD COLUMN external text NOT NULL DEFAULT '',
    ADD COLUMN given text NOT NULL DEFAULT '',
    ADD COLUMN family text NOT NULL DEFAULT '',
    ADD COLUMN present boolean NOT NULL DEFAULT true,  -- active, as the directory said last
    ADD COLUMN gone boolean NOT NULL DEFAULT false,    -- the directory has deleted it
    ADD COLUMN out_by_directory boolean NOT NULL DEFAULT false, -- which alone lets it in again then
    ADD COLUMN changed timestamptz NOT NULL DEFAULT now();
CREATE UNIQUE INDEX person_user_name ON keys.person (org, provider, lower(user_name));
CREATE INDEX person_external ON keys.person (org, provider, external) WHERE external <> '';

CREATE TABLE keys.person_group (
    org      text NOT NULL,
    id       text NOT NULL,
    provider text NOT NULL,
    name     text NOT NULL,
    external text NOT NULL DEFAULT '',
    created  timestamptz NOT NULL DEFAULT now(),
    changed  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, id),
    UNIQUE (org, provider, name),
    FOREIGN KEY (org, provider) REFERENCES keys.provider (org, id) ON DELETE CASCADE
);
SELECT tab.protect('keys.person_group');

CREATE TABLE keys.person_member (
    org      text NOT NULL,
    group_id text NOT NULL,
    person   text NOT NULL,
    PRIMARY KEY (org, group_id, person),
    FOREIGN KEY (org, group_id) REFERENCES keys.person_group (org, id) ON DELETE CASCADE,
    FOREIGN KEY (org, person) REFERENCES keys.person (org, id) ON DELETE CASCADE
);
SELECT tab.protect('keys.person_member');
CREATE INDEX person_member_person ON keys.person_member (org, person);
