-- The same by endpoint (docs/decisions/0767), of calls that an api answered: it alone knows which endpoint a name is.
CREATE TABLE keys.service_level_endpoint (
    org      text NOT NULL,
    day      date NOT NULL,
    endpoint text NOT NULL,
    counts   bigint[] NOT NULL CHECK (cardinality(counts) = 26),
    PRIMARY KEY (org, day, endpoint)
);
SELECT tab.protect('keys.service_level_endpoint');
CREATE INDEX service_level_endpoint_day ON keys.service_level_endpoint (day);
