-- All that inference keeps: which bases an operator has retired. No organization: a base is everybody's.
CREATE TABLE inference.retired_base (
    base text PRIMARY KEY,
    at   timestamptz NOT NULL DEFAULT now()
);
