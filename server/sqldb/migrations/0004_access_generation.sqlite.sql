-- +goose Up
-- Whatever changes who may do what moves the generation, whichever process and
-- whichever code did it.
-- +goose StatementBegin
CREATE TRIGGER account_updated AFTER UPDATE OF password_hash, home_tenant_id, verified_at, locked_at ON account BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER account_deleted AFTER DELETE ON account BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER membership_updated AFTER UPDATE ON membership BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER membership_deleted AFTER DELETE ON membership BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER membership_made AFTER INSERT ON membership BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER session_updated AFTER UPDATE OF revoked_at, tenant_id, workspace_id ON session BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER session_deleted AFTER DELETE ON session BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER api_key_updated AFTER UPDATE OF secret_hash, revoked_at, expires_at, permissions, workspace_id ON api_key BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER api_key_deleted AFTER DELETE ON api_key BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER api_key_made AFTER INSERT ON api_key BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER role_updated AFTER UPDATE ON role BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER role_deleted AFTER DELETE ON role BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER role_made AFTER INSERT ON role BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER role_assignment_updated AFTER UPDATE ON role_assignment BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER role_assignment_deleted AFTER DELETE ON role_assignment BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER role_assignment_made AFTER INSERT ON role_assignment BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER workspace_updated AFTER UPDATE OF deleted_at, is_default ON workspace BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER workspace_deleted AFTER DELETE ON workspace BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER signing_key_updated AFTER UPDATE ON signing_key BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER signing_key_deleted AFTER DELETE ON signing_key BEGIN
  UPDATE access_generation SET generation = generation + 1;
END;
-- +goose StatementEnd
