-- Who there is and what they may do. Times are µs since 1970 in UTC, 0 where
-- there is none; *_key columns hold the form that is compared.

-- +goose Up
CREATE TABLE server_secret (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE signing_key (
  id         TEXT PRIMARY KEY,
  seed       TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE account (
  id             TEXT PRIMARY KEY,
  email          TEXT NOT NULL,
  email_key      TEXT NOT NULL UNIQUE,
  password_hash  TEXT NOT NULL DEFAULT '',
  display_name   TEXT NOT NULL DEFAULT '',
  avatar_url     TEXT NOT NULL DEFAULT '',
  appearance     TEXT NOT NULL DEFAULT 'light',
  home_tenant_id TEXT NOT NULL,
  verified_at    BIGINT NOT NULL DEFAULT 0,
  locked_at      BIGINT NOT NULL DEFAULT 0,
  created_at     BIGINT NOT NULL,
  updated_at     BIGINT NOT NULL
);

CREATE TABLE tenant (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  name_key   TEXT NOT NULL UNIQUE,
  slug       TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);

CREATE TABLE membership (
  tenant_id  TEXT NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
  account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  role       TEXT NOT NULL,
  is_owner   BOOLEAN NOT NULL DEFAULT FALSE,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (tenant_id, account_id)
);
CREATE INDEX membership_account ON membership (account_id);
CREATE UNIQUE INDEX membership_owner ON membership (tenant_id) WHERE is_owner;

-- Which notice an account or a key was made under.
CREATE TABLE notice_acceptance (
  id             TEXT PRIMARY KEY,
  account_id     TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  notice_version TEXT NOT NULL,
  subject        TEXT NOT NULL,
  address        TEXT NOT NULL,
  created_at     BIGINT NOT NULL
);
CREATE INDEX notice_acceptance_account ON notice_acceptance (account_id);

CREATE TABLE session (
  id           TEXT PRIMARY KEY,
  account_id   TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  tenant_id    TEXT NOT NULL,
  workspace_id TEXT NOT NULL,
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL,
  revoked_at   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX session_account ON session (account_id);
CREATE INDEX session_expires ON session (expires_at);

CREATE TABLE refresh_token (
  hash       TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  spent_at   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX refresh_token_session ON refresh_token (session_id);

CREATE TABLE api_key (
  id             TEXT PRIMARY KEY,
  tenant_id      TEXT NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
  account_id     TEXT NOT NULL,
  workspace_id   TEXT NOT NULL DEFAULT '',
  label          TEXT NOT NULL,
  secret_hash    TEXT NOT NULL UNIQUE,
  permissions    TEXT NOT NULL DEFAULT '',
  created_at     BIGINT NOT NULL,
  rotated_at     BIGINT NOT NULL DEFAULT 0,
  revoked_at     BIGINT NOT NULL DEFAULT 0,
  expires_at     BIGINT NOT NULL DEFAULT 0,
  last_used_at   BIGINT NOT NULL DEFAULT 0,
  -- It dies with the membership.
  FOREIGN KEY (tenant_id, account_id) REFERENCES membership (tenant_id, account_id) ON DELETE CASCADE
);
CREATE INDEX api_key_tenant ON api_key (tenant_id, created_at, id);
CREATE INDEX api_key_account ON api_key (tenant_id, account_id, created_at, id);

-- The built-in roles are rows of every tenant; what they allow is in the code,
-- found by system_key.
CREATE TABLE role (
  id          TEXT PRIMARY KEY,
  tenant_id   TEXT NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
  name        TEXT NOT NULL,
  name_key    TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  system_key  TEXT NOT NULL DEFAULT '',
  permissions TEXT NOT NULL DEFAULT '[]',
  created_at  BIGINT NOT NULL,
  UNIQUE (tenant_id, name_key)
);

CREATE TABLE role_assignment (
  id         TEXT PRIMARY KEY,
  tenant_id  TEXT NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
  account_id TEXT NOT NULL DEFAULT '',
  group_id   TEXT NOT NULL DEFAULT '',
  role_id    TEXT NOT NULL REFERENCES role (id),
  scope_type TEXT NOT NULL,
  scope_id   TEXT NOT NULL DEFAULT '',
  status     TEXT NOT NULL DEFAULT 'active',
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX role_assignment_once ON role_assignment (tenant_id, account_id, group_id, role_id, scope_type, scope_id);
CREATE INDEX role_assignment_role ON role_assignment (role_id);

-- One row that counts every change of who may do what: a process that keeps
-- credentials and rights in memory drops them when it has moved.
CREATE TABLE access_generation (
  id         INTEGER PRIMARY KEY,
  generation BIGINT NOT NULL
);
INSERT INTO access_generation (id, generation) VALUES (1, 1);
