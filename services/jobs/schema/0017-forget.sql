-- Which receipts the kept rows of a call belong to, in the rows' order, so that one can be forgotten
-- (docs/decisions/0880). NULL: kept before receipts were noted; such rows go with their call, or their endpoint.
ALTER TABLE jobs.outcome_rows ADD COLUMN ids uuid[];
