-- +goose Up
-- Whatever changes who may do what moves the generation, whichever process and
-- whichever code did it.
-- +goose StatementBegin
CREATE FUNCTION access_changed() RETURNS trigger AS $$
BEGIN
  UPDATE access_generation SET generation = generation + 1 WHERE id = 1;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;
-- +goose StatementEnd
CREATE TRIGGER account_changed AFTER UPDATE OF password_hash, home_tenant_id, verified_at, locked_at OR DELETE ON account FOR EACH STATEMENT EXECUTE FUNCTION access_changed();
CREATE TRIGGER membership_changed AFTER UPDATE OR DELETE OR INSERT ON membership FOR EACH STATEMENT EXECUTE FUNCTION access_changed();
CREATE TRIGGER session_changed AFTER UPDATE OF revoked_at, tenant_id, workspace_id OR DELETE ON session FOR EACH STATEMENT EXECUTE FUNCTION access_changed();
CREATE TRIGGER api_key_changed AFTER UPDATE OF secret_hash, revoked_at, expires_at, permissions, workspace_id OR DELETE OR INSERT ON api_key FOR EACH STATEMENT EXECUTE FUNCTION access_changed();
CREATE TRIGGER role_changed AFTER UPDATE OR DELETE OR INSERT ON role FOR EACH STATEMENT EXECUTE FUNCTION access_changed();
CREATE TRIGGER role_assignment_changed AFTER UPDATE OR DELETE OR INSERT ON role_assignment FOR EACH STATEMENT EXECUTE FUNCTION access_changed();
CREATE TRIGGER workspace_changed AFTER UPDATE OF deleted_at, is_default OR DELETE ON workspace FOR EACH STATEMENT EXECUTE FUNCTION access_changed();
CREATE TRIGGER signing_key_changed AFTER UPDATE OR DELETE ON signing_key FOR EACH STATEMENT EXECUTE FUNCTION access_changed();
