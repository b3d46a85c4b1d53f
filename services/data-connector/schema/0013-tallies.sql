-- How many snapshots an organization keeps, and their bytes (docs/decisions/0892): those of runs' own datasets
-- are not counted. A snapshot comes after its dataset and is given up before it, so whose it is can be asked
-- both times.
CREATE FUNCTION data_connector.count_kept() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    more int := CASE WHEN NEW.kept THEN 1 ELSE -1 END;
BEGIN
    IF (TG_OP = 'INSERT' AND NOT NEW.kept) OR (TG_OP = 'UPDATE' AND NEW.kept = OLD.kept) OR EXISTS (
        SELECT FROM data_connector.dataset d WHERE d.org = NEW.org AND d.id = NEW.dataset AND d.temporary)
    THEN
        RETURN NULL;
    END IF;
    INSERT INTO data_connector.tally (org, list, n)
    VALUES (NEW.org, 'kept', more), (NEW.org, 'kept bytes', more * NEW.bytes);
    RETURN NULL;
END $$;

-- The trigger first: it keeps writers out until all that is there has been counted.
CREATE TRIGGER counted AFTER INSERT OR UPDATE OF kept ON data_connector.snapshot
    FOR EACH ROW EXECUTE FUNCTION data_connector.count_kept();
INSERT INTO data_connector.tally (org, list, n, folded)
    SELECT x.org, t.list, CASE t.list WHEN 'kept' THEN x.n ELSE x.bytes END, true
    FROM (SELECT s.org, count(*) AS n, sum(s.bytes)::bigint AS bytes
          FROM data_connector.snapshot s JOIN data_connector.dataset d ON d.org = s.org AND d.id = s.dataset
          WHERE s.kept AND NOT d.temporary GROUP BY s.org) x
    CROSS JOIN (VALUES ('kept'), ('kept bytes')) t(list);
CREATE INDEX dataset_pinned ON data_connector.dataset (org) WHERE pinned;
