-- Records of runs may go when they are old (docs/decisions/0336); reports stay, whoever asks. Only the tables' owner may
-- delete, which no daemon is: `tabella admin retain`.
CREATE OR REPLACE FUNCTION reports.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.kind = 'run' AND current_user = (SELECT r.rolname FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
                                                WHERE c.oid = TG_RELID) THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION 'reports are immutable' USING ERRCODE = 'restrict_violation';
    END IF;
    IF (OLD.org, OLD.report_id, OLD.seq, OLD.kind, OLD.endpoint_id, OLD.created_at, OLD.content,
        OLD.content_hash) IS DISTINCT FROM (NEW.org, NEW.report_id, NEW.seq, NEW.kind, NEW.endpoint_id,
        NEW.created_at, NEW.content, NEW.content_hash) THEN
        RAISE EXCEPTION 'reports are immutable' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
