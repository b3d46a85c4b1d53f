-- Of each receiver the delivery that is due longest, so that a claim passes over a receiver that is busy or
-- rests without reading what waits for it.
CREATE INDEX webhook_delivery_receiver ON keys.webhook_delivery (org, webhook, due) WHERE open;
