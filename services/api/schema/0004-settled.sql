-- What of the bills of serve calls has been settled (docs/decisions/0404): a mark of each settlement, so that one whose answer was lost
-- is known to have been made, and of each bill that may be settled by more than one process: those that were found, that lay in a
-- journal, or whose row was no longer there. A mark and the events of its bills are committed together.
CREATE TABLE api.settled (
    id     text PRIMARY KEY,
    org    text NOT NULL DEFAULT '*' CHECK (org = '*'),
    until  timestamptz NOT NULL                  -- then nobody can settle it again
);
CREATE INDEX settled_until ON api.settled (until);
SELECT tab.protect('api.settled');
