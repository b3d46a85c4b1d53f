-- Webhooks (docs/decisions/0526): receivers of an organization's notices, and one row for each notice that one
-- gets. Of a receiver's rows with one subject only the first open one is due.
CREATE TABLE keys.webhook (
    org        text NOT NULL REFERENCES keys.org,
    id         text NOT NULL,
    name       text NOT NULL,
    url        text NOT NULL,
    types      text NOT NULL DEFAULT '', -- kinds of notices with a space between; '': all
    secret     bytea NOT NULL,           -- sealed; before it the one that was rotated, until then
    old_secret bytea,
    old_until  timestamptz,
    sealed_by  text NOT NULL,            -- id of the key that sealed them
    created    timestamptz NOT NULL DEFAULT now(),
    disabled   timestamptz,
    why        text NOT NULL DEFAULT '',
    busy       timestamptz NOT NULL DEFAULT '-infinity', -- a process sends to it until then
    PRIMARY KEY (org, id)
);
SELECT tab.protect('keys.webhook');

CREATE TABLE keys.webhook_delivery (
    org     text NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    id      text NOT NULL,
    webhook text NOT NULL,
    notice  text NOT NULL,
    kind    text NOT NULL,
    subject text NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    since   timestamptz NOT NULL DEFAULT now(), -- tried since; a replay begins anew
    due     timestamptz NOT NULL DEFAULT now(),
    tries   int NOT NULL DEFAULT 0,
    open    boolean NOT NULL DEFAULT true,
    ended   timestamptz,
    status  int NOT NULL DEFAULT 0, -- the receiver's last one
    error   text NOT NULL DEFAULT '',
    PRIMARY KEY (org, position),
    UNIQUE (org, id),
    FOREIGN KEY (org, webhook) REFERENCES keys.webhook (org, id) ON DELETE CASCADE
);
SELECT tab.protect('keys.webhook_delivery');
CREATE INDEX webhook_delivery_due ON keys.webhook_delivery (due) WHERE open;
CREATE INDEX webhook_delivery_turn ON keys.webhook_delivery (org, webhook, subject, position) WHERE open;
CREATE INDEX webhook_delivery_list ON keys.webhook_delivery (org, webhook, position);
CREATE INDEX webhook_delivery_created ON keys.webhook_delivery (created);
