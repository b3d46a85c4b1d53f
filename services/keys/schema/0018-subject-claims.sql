-- The claim that is a provider's own name of a person (docs/decisions/0628): Entra ID's `sub` is another for each client,
-- and its directory knows `oid`.
ALTER TABLE keys.provider ADD COLUMN subject text NOT NULL DEFAULT 'sub';
