DROP TRIGGER refuse_kind
