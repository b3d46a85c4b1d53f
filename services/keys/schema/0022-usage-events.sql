-- Usage as it was counted, for webhooks of the type `usage.events` (docs/decisions/0668): a batch's events, a JSON object a
-- line, which deliveries name in place of a notice.
CREATE TABLE keys.usage_batch (
    org     text NOT NULL,
    id      text NOT NULL,
    events  text NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, id)
);
SELECT tab.protect('keys.usage_batch');
CREATE INDEX usage_batch_created ON keys.usage_batch (created);
