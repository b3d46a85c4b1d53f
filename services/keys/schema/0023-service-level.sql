-- What became of serve calls, by organization and day (UTC), as the gateways saw it (docs/decisions/0685). counts: answered,
-- failed, refused, abandoned, then how many of the answered took how long, by the bounds of services/keys/level.c.
CREATE TABLE keys.service_level (
    org    text NOT NULL,
    day    date NOT NULL,
    counts bigint[] NOT NULL CHECK (cardinality(counts) = 26),
    PRIMARY KEY (org, day)
);
SELECT tab.protect('keys.service_level');
CREATE INDEX service_level_day ON keys.service_level (day, org);
