-- Old entries of the audit log may be exported and then cut (docs/decisions/0352). A checkpoint says up to which entry, with that
-- entry's hash, signed by the operator; the chain goes on from it. Ids stay, so that an event that comes again is no new entry.
CREATE TABLE keys.audit_checkpoint (
    org       text NOT NULL,
    n         bigint NOT NULL,                       -- 1, 2, 3 ... of the organization
    seq       bigint NOT NULL,                       -- of the last entry that was cut
    hash      bytea NOT NULL CHECK (length(hash) = 32),
    signed    text NOT NULL,                         -- what is signed (common/checkpoint.h)
    key       bytea NOT NULL CHECK (length(key) = 32),
    signature bytea NOT NULL CHECK (length(signature) = 64),
    at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, n)
);
SELECT tab.protect('keys.audit_checkpoint');
COMMENT ON TABLE keys.audit_checkpoint IS 'append-only';

CREATE TABLE keys.audit_cut (
    org      text NOT NULL,
    event_id text NOT NULL,
    PRIMARY KEY (org, event_id)
);
SELECT tab.protect('keys.audit_cut');
COMMENT ON TABLE keys.audit_cut IS 'append-only';

-- As before (0004), and: what was cut was there.
CREATE OR REPLACE FUNCTION keys.audit_link() RETURNS trigger LANGUAGE plpgsql AS $f$
DECLARE
    last keys.audit;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('keys.audit ' || NEW.org, 0));
    IF EXISTS (SELECT FROM keys.audit WHERE org = NEW.org AND event_id = NEW.event_id)
        OR EXISTS (SELECT FROM keys.audit_cut WHERE org = NEW.org AND event_id = NEW.event_id) THEN
        RETURN NULL;
    END IF;
    SELECT * INTO last FROM keys.audit WHERE org = NEW.org ORDER BY seq DESC LIMIT 1; -- the newest is never cut
    NEW.seq := coalesce(last.seq, 0) + 1;
    NEW.hash := keys.audit_hash(coalesce(last.hash, decode(repeat('00', 32), 'hex')), NEW);
    RETURN NEW;
END $f$;

-- Nobody changes an entry. The tables' owner, which no daemon is, deletes what a checkpoint covers.
CREATE OR REPLACE FUNCTION keys.never() RETURNS trigger LANGUAGE plpgsql AS $f$
BEGIN
    IF TG_OP = 'DELETE'
        AND current_user = (SELECT r.rolname FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE c.oid = TG_RELID)
        AND EXISTS (SELECT FROM keys.audit_checkpoint c WHERE c.org = OLD.org AND c.seq >= OLD.seq) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit log is never changed';
END $f$;
