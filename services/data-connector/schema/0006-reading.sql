-- How a dataset's file was read (delimiter, encoding, header, lines left out), a JSON object; '' where it came of none.
ALTER TABLE data_connector.dataset ADD COLUMN reading text NOT NULL DEFAULT '';
