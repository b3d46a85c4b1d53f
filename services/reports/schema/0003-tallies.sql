-- How many reports an organization has (docs/decisions/0411), and their list in its order.
CREATE FUNCTION reports.count_report() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO reports.tally (org, list, n) VALUES (NEW.org, 'report', 1);
    ELSE
        INSERT INTO reports.tally (org, list, n) VALUES (OLD.org, 'report', -1);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR DELETE ON reports.report
    FOR EACH ROW EXECUTE FUNCTION reports.count_report();
INSERT INTO reports.tally (org, list, n, folded)
    SELECT org, 'report', count(*), true FROM reports.report GROUP BY org;
CREATE INDEX report_listed ON reports.report (org, (starred::int) DESC, created_at DESC, seq DESC);
CREATE INDEX report_run_age ON reports.report (created_at) WHERE kind = 'run' AND NOT starred;
