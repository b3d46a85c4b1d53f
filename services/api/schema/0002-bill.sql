-- Bills of serve calls that are committed and not yet in the outbox (docs/decisions/0354). A row is of the calls of one message to
-- inference, of one organization, and its owner alone changes it until its lease ends. Its org is '*': only transactions that see
-- all organizations (the writers of bills) see it.
CREATE TABLE api.bill (
    id     text PRIMARY KEY,
    org    text NOT NULL DEFAULT '*' CHECK (org = '*'),
    owner  text NOT NULL,                        -- the process that answers these calls
    bills  bytea NOT NULL,                       -- tabella.Bills
    until  timestamptz NOT NULL                  -- then the calls count as answered, whoever finds the row
);
SELECT tab.protect('api.bill');
