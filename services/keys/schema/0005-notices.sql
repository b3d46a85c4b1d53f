-- Notices have an id of their own and can be read; whom they are mailed to, and what was mailed
-- (docs/decisions/0316). The addresses are keys.org.email, up to ten with a comma between.
ALTER TABLE keys.notification
    ADD COLUMN id text NOT NULL DEFAULT 'ntf_' || replace(gen_random_uuid()::text, '-', ''),
    ADD COLUMN data text NOT NULL DEFAULT '{}', -- a JSON object: what the notice says, frozen when it fired
    ADD COLUMN read_at timestamptz,
    ADD CONSTRAINT notification_id UNIQUE (org, id);
CREATE INDEX notification_unread ON keys.notification (org, position) WHERE read_at IS NULL;

ALTER TABLE keys.org
    ADD COLUMN alerts int NOT NULL DEFAULT 15; -- bits: jobs 1, usage 2, keys 4, connections 8

-- One notice to one address. mail is set when the sender takes it, with all others that wait for that
-- address, and stays through retries: it is the Message-ID.
CREATE TABLE keys.delivery (
    org      text NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    notice   text NOT NULL,
    address  text NOT NULL,
    mail     text,
    tries    int NOT NULL DEFAULT 0,
    created  timestamptz NOT NULL DEFAULT now(),
    due      timestamptz NOT NULL DEFAULT now(),
    sent     timestamptz,
    refused  text, -- the server's answer: it will never be taken
    PRIMARY KEY (org, position),
    UNIQUE (org, notice, address)
);
SELECT tab.protect('keys.delivery');
CREATE INDEX delivery_due ON keys.delivery (due) WHERE sent IS NULL AND refused IS NULL;
CREATE INDEX delivery_address ON keys.delivery (org, address, sent);
CREATE INDEX delivery_mail ON keys.delivery (mail);
CREATE INDEX delivery_created ON keys.delivery (created);
