-- What goes by an organization's own retention (docs/decisions/0665), the oldest first.
CREATE INDEX snapshot_old_of ON data_connector.snapshot (org, created) WHERE kept;
