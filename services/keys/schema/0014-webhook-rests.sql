-- A receiver that does not take what it is sent rests, the longer the longer it keeps its caller waiting
-- (docs/decisions/0546).
ALTER TABLE keys.webhook
    ADD COLUMN fails int NOT NULL DEFAULT 0,                     -- tries in a row that were not taken
    ADD COLUMN rests timestamptz NOT NULL DEFAULT '-infinity';   -- until then nobody sends to it
