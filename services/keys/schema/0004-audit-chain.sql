-- The audit log is a chain (docs/decisions/0315): each entry of an organization has the next number and the
-- SHA-256 of the entry before and of its own fields, so that one that was changed or is missing shows. The
-- table links its own rows, whoever inserts them.
COMMENT ON TABLE keys.audit IS 'append-only'; -- tab.admit gives no service the right to change such a table
ALTER TABLE keys.audit
    ADD COLUMN address text NOT NULL DEFAULT '', -- the caller's, as the gateway saw it
    ADD COLUMN seq bigint,
    ADD COLUMN hash bytea;

-- The field as a netstring, which can be read in one way only: its length in bytes, ':', its bytes, ','.
CREATE FUNCTION keys.netstring(t text) RETURNS text LANGUAGE sql IMMUTABLE AS
    $f$ SELECT octet_length(t) || ':' || t || ',' $f$;

CREATE FUNCTION keys.audit_hash(previous bytea, e keys.audit) RETURNS bytea LANGUAGE sql STABLE AS $f$
    SELECT sha256(previous || convert_to(
        keys.netstring(e.org) || keys.netstring(e.seq::text) || keys.netstring(e.event_id)
        || keys.netstring(e.actor) || keys.netstring(e.action) || keys.netstring(e.object)
        || keys.netstring(e.detail) || keys.netstring(e.request_id) || keys.netstring(e.address)
        || keys.netstring(to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')), 'UTF8'))
$f$;

-- One writer an organization at a time. The conflict of an event that is there already is found here, before
-- it takes a number.
CREATE FUNCTION keys.audit_link() RETURNS trigger LANGUAGE plpgsql AS $f$
DECLARE
    last keys.audit;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('keys.audit ' || NEW.org, 0));
    IF EXISTS (SELECT FROM keys.audit WHERE org = NEW.org AND event_id = NEW.event_id) THEN
        RETURN NULL;
    END IF;
    SELECT * INTO last FROM keys.audit WHERE org = NEW.org ORDER BY seq DESC LIMIT 1;
    NEW.seq := coalesce(last.seq, 0) + 1;
    NEW.hash := keys.audit_hash(coalesce(last.hash, decode(repeat('00', 32), 'hex')), NEW);
    RETURN NEW;
END $f$;

-- Entries from before this rule, in the order in which they came.
ALTER TABLE keys.audit DISABLE TRIGGER audit_is_kept;
DO $f$
DECLARE
    e keys.audit;
    last keys.audit;
BEGIN
    FOR e IN SELECT * FROM keys.audit ORDER BY org, position LOOP
        IF last.org IS DISTINCT FROM e.org THEN
            last := NULL;
        END IF;
        e.seq := coalesce(last.seq, 0) + 1;
        e.hash := keys.audit_hash(coalesce(last.hash, decode(repeat('00', 32), 'hex')), e);
        UPDATE keys.audit SET seq = e.seq, hash = e.hash WHERE org = e.org AND position = e.position;
        last := e;
    END LOOP;
END $f$;
ALTER TABLE keys.audit ENABLE TRIGGER audit_is_kept;

ALTER TABLE keys.audit
    ALTER COLUMN seq SET NOT NULL,
    ALTER COLUMN hash SET NOT NULL,
    ADD CONSTRAINT audit_seq UNIQUE (org, seq);
CREATE INDEX audit_position ON keys.audit (position); -- what is new since the operator's log told the heads
CREATE TRIGGER audit_is_linked BEFORE INSERT ON keys.audit FOR EACH ROW EXECUTE FUNCTION keys.audit_link();
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON keys.audit FOR EACH STATEMENT EXECUTE FUNCTION keys.never();
