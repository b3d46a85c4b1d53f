-- What a connection of a further family is told: a sheet, where the rows lie in a JSON answer; whether runs may
-- write below it; and what was done to a dataset's rows on their way that is not plain, a line each.
ALTER TABLE data_connector.connection
    ADD COLUMN sheet text NOT NULL DEFAULT '',
    ADD COLUMN records text NOT NULL DEFAULT '',
    ADD COLUMN writable boolean NOT NULL DEFAULT false;
ALTER TABLE data_connector.dataset ADD COLUMN notes text NOT NULL DEFAULT '';
