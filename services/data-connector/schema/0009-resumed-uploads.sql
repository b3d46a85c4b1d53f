-- Uploads that are sent in parts and gone on with after a broken connection (docs/decisions/0671): what is to become
-- of the file is said before its first byte, and it may be silent for hours.
ALTER TABLE data_connector.upload
    ADD COLUMN resumes   boolean NOT NULL DEFAULT false,
    ADD COLUMN file_name text NOT NULL DEFAULT '',
    ADD COLUMN name      text NOT NULL DEFAULT '',
    ADD COLUMN sheet     text NOT NULL DEFAULT '',
    ADD COLUMN reading   text NOT NULL DEFAULT '',
    ADD COLUMN size      bigint NOT NULL DEFAULT 0,  -- of the whole, as its sender said; 0: not said
    ADD COLUMN most      bigint NOT NULL DEFAULT 0,  -- bytes that it may have, by the plan when it was begun
    ADD COLUMN created   timestamptz NOT NULL DEFAULT now();
