-- The service reads plans, only the owner of the tables changes them: the table has no organization that
-- would bind it.
ALTER TABLE keys.plan ENABLE ROW LEVEL SECURITY;
CREATE POLICY are_read ON keys.plan FOR SELECT USING (true);
