-- The roles of the services, made by a superuser in Tabella's database, any number of times; it changes the passwords to
-- what it is given. Before it, in the same session, for the owner and for each role:
--   SELECT set_config('password.tabella_api', '...', false);
-- A role owns nothing and can make nothing; `migrate` grants it the rows of its schema. docs/decisions/0250-database-roles.md
DO $$
DECLARE
    r text;
BEGIN
    FOREACH r IN ARRAY ARRAY['api', 'data_connector', 'inference', 'jobs', 'keys', 'metering', 'reports'] LOOP
        r := 'tabella_' || r;
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
            EXECUTE format('CREATE ROLE %I', r);
        END IF;
        EXECUTE format('ALTER ROLE %I LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION '
                       'PASSWORD %L', r, current_setting('password.' || r));
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), r);
    END LOOP;
END $$;
-- For backups, where a password for it is given: it reads every row of every organization (row security would hide them
-- all from anybody but a superuser) and the write-ahead log, and can change nothing. docs/operations.md, "Backup".
DO $$
DECLARE
    word text := current_setting('password.tabella_backup', true);
BEGIN
    IF coalesce(word, '') <> '' THEN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tabella_backup') THEN
            CREATE ROLE tabella_backup;
        END IF;
        EXECUTE format('ALTER ROLE tabella_backup LOGIN NOSUPERUSER BYPASSRLS REPLICATION NOCREATEDB NOCREATEROLE INHERIT '
                       'PASSWORD %L', word);
        GRANT pg_read_all_data TO tabella_backup;
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO tabella_backup', current_database());
    END IF;
END $$;
-- Large objects are objects as well, and everybody may make them.
REVOKE EXECUTE ON FUNCTION lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) FROM PUBLIC;
