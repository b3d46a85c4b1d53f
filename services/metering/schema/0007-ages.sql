-- The ledger by age without a look at all of it: which organizations have old lines (a summary a range of pages, for lines come in
-- the order of time), and an organization's events that were not cut yet.
CREATE INDEX line_at ON metering.line USING brin (at);
CREATE INDEX event_uncut ON metering.event (org, event_id) WHERE surface IS DISTINCT FROM 'cut';
