-- Bases that belong to one organization (docs/decisions/0333): a name of its own, and the engine's base that computes it.
CREATE TABLE inference.org_base (
    org  text NOT NULL,
    base text NOT NULL CHECK (base ~ '^base-[1-9][0-9]{3,8}$'),
    of   text NOT NULL,
    at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, base),
    UNIQUE (base)
);
SELECT tab.protect('inference.org_base');
