-- The list of an organization's data in its order, whatever else its runs have spooled.
CREATE INDEX dataset_listed ON data_connector.dataset (org, created DESC, id DESC) WHERE NOT temporary;
CREATE INDEX connection_listed ON data_connector.connection (org, created DESC, id DESC);
CREATE INDEX snapshot_listed ON data_connector.snapshot (org, dataset, created DESC);
