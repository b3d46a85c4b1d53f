-- Held-out reports and run records. A report is immutable: the row's content can be neither changed nor
-- deleted by any statement of the service; only the star (prominence) may move.

CREATE TABLE reports.report (
    org          text NOT NULL,
    report_id    text NOT NULL,
    seq          bigint GENERATED ALWAYS AS IDENTITY,   -- order of minting; the clock does not decide it
    kind         text NOT NULL CHECK (kind IN ('create', 'refresh', 'upgrade', 'run')),
    endpoint_id  text NOT NULL,
    created_at   timestamptz NOT NULL,
    content      bytea NOT NULL,                        -- the Report message less pinned and content_hash
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    starred      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (org, report_id),
    CHECK (content_hash = sha256(content))
);
CREATE INDEX report_newest ON reports.report (org, starred DESC, seq DESC);
CREATE INDEX report_endpoint ON reports.report (org, endpoint_id);

CREATE FUNCTION reports.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'reports are immutable' USING ERRCODE = 'restrict_violation';
    END IF;
    IF (OLD.org, OLD.report_id, OLD.seq, OLD.kind, OLD.endpoint_id, OLD.created_at, OLD.content,
        OLD.content_hash) IS DISTINCT FROM (NEW.org, NEW.report_id, NEW.seq, NEW.kind, NEW.endpoint_id,
        NEW.created_at, NEW.content, NEW.content_hash) THEN
        RAISE EXCEPTION 'reports are immutable' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE ON reports.report
    FOR EACH ROW EXECUTE FUNCTION reports.refuse_change();
CREATE FUNCTION reports.refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'reports are immutable' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER immutable_all BEFORE TRUNCATE ON reports.report
    FOR EACH STATEMENT EXECUTE FUNCTION reports.refuse_truncate();

SELECT tab.protect('reports.report');
