-- How a connection's file is to be read (options.reading), a JSON object; '' = as found.
ALTER TABLE data_connector.connection ADD COLUMN reading text NOT NULL DEFAULT '';
