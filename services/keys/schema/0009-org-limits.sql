-- What one organization has instead of its plan's, and whether its keys stand still. NULL: as the plan.
ALTER TABLE keys.org
    ADD COLUMN suspended timestamptz,
    ADD COLUMN own_allowance bigint CHECK (own_allowance >= 0),
    ADD COLUMN own_key_rpm int CHECK (own_key_rpm > 0),
    ADD COLUMN own_org_rpm int CHECK (own_org_rpm > 0),
    ADD COLUMN own_endpoint_rpm int CHECK (own_endpoint_rpm > 0),
    ADD COLUMN own_cells_per_minute bigint CHECK (own_cells_per_minute > 0),
    ADD COLUMN own_endpoint_concurrency int CHECK (own_endpoint_concurrency > 0),
    ADD COLUMN own_batch_concurrency int CHECK (own_batch_concurrency > 0);
