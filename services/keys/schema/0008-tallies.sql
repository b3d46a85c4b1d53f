-- How many notices an organization has, and how many it has not read; how many entries of its audit log are of an action, and
-- how many an actor's (docs/decisions/0411). Lists: notice, unread, action/ACTION, actor/ACTOR. How long the log is its numbers tell.
CREATE FUNCTION keys.count_notice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.read_at IS NULL) <> (OLD.read_at IS NULL) THEN
            INSERT INTO keys.tally (org, list, n)
            VALUES (NEW.org, 'unread', CASE WHEN NEW.read_at IS NULL THEN 1 ELSE -1 END);
        END IF;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO keys.tally (org, list, n)
        VALUES (NEW.org, 'notice', 1), (NEW.org, 'unread', CASE WHEN NEW.read_at IS NULL THEN 1 ELSE 0 END);
    ELSE
        INSERT INTO keys.tally (org, list, n)
        VALUES (OLD.org, 'notice', -1), (OLD.org, 'unread', CASE WHEN OLD.read_at IS NULL THEN -1 ELSE 0 END);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR UPDATE OF read_at OR DELETE ON keys.notification
    FOR EACH ROW EXECUTE FUNCTION keys.count_notice();
CREATE FUNCTION keys.count_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO keys.tally (org, list, n)
        VALUES (NEW.org, 'action/' || NEW.action, 1), (NEW.org, 'actor/' || NEW.actor, 1);
    ELSE
        INSERT INTO keys.tally (org, list, n)
        VALUES (OLD.org, 'action/' || OLD.action, -1), (OLD.org, 'actor/' || OLD.actor, -1);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR DELETE ON keys.audit FOR EACH ROW EXECUTE FUNCTION keys.count_entry();
INSERT INTO keys.tally (org, list, n, folded)
    SELECT org, 'action/' || action, count(*), true FROM keys.audit GROUP BY org, action
    UNION ALL SELECT org, 'actor/' || actor, count(*), true FROM keys.audit GROUP BY org, actor;
CREATE INDEX audit_action ON keys.audit (org, action, seq);
CREATE INDEX audit_actor ON keys.audit (org, actor, seq);
INSERT INTO keys.tally (org, list, n, folded)
    SELECT org, 'notice', count(*), true FROM keys.notification GROUP BY org
    UNION ALL SELECT org, 'unread', count(*) FILTER (WHERE read_at IS NULL), true FROM keys.notification GROUP BY org;

-- Bounded sweeps: what is old is found without a look at what is not.
CREATE INDEX IF NOT EXISTS delivery_created ON keys.delivery (created);
CREATE INDEX IF NOT EXISTS use_batch_at ON keys.use_batch (at);
CREATE INDEX IF NOT EXISTS session_expires ON keys.session (expires);
