-- Alerts of endpoints whose answers no longer hold are mailed as the others are (docs/decisions/0478): bit 16, on for all.
ALTER TABLE keys.org ALTER COLUMN alerts SET DEFAULT 31;
UPDATE keys.org SET alerts = alerts | 16;
