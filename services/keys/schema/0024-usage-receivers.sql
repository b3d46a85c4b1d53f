-- Receivers of usage that are billing systems (docs/decisions/0766): a token of their own, sealed by the same key as the
-- secrets; the form that they take; what they call the organization, and what they count.
ALTER TABLE keys.webhook
    ADD COLUMN token        bytea,
    ADD COLUMN usage_format text NOT NULL DEFAULT '', -- '': cloudevents; stripe
    ADD COLUMN customer     text NOT NULL DEFAULT '', -- '': the organization's id
    ADD COLUMN meter        text NOT NULL DEFAULT ''; -- '': tabella_cells
