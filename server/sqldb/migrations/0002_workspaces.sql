-- +goose Up
CREATE TABLE workspace (
  id                      TEXT PRIMARY KEY,
  tenant_id               TEXT NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
  name                    TEXT NOT NULL,
  slug                    TEXT NOT NULL,
  is_default              BOOLEAN NOT NULL DEFAULT FALSE,
  hub_link_check_schedule TEXT NOT NULL DEFAULT 'on_demand',
  created_at              BIGINT NOT NULL,
  updated_at              BIGINT NOT NULL,
  deleted_at              BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX workspace_slug ON workspace (tenant_id, slug) WHERE deleted_at = 0;
CREATE UNIQUE INDEX workspace_default ON workspace (tenant_id) WHERE is_default;
CREATE INDEX workspace_created ON workspace (tenant_id, created_at, id);
CREATE INDEX workspace_deleted ON workspace (deleted_at) WHERE deleted_at > 0;

-- The head numbers the changes of a workspace: whoever changes what a reader
-- sees takes this row's lock first and holds it to the commit, so that revs
-- become visible in their order.
CREATE TABLE workspace_head (
  workspace_id TEXT PRIMARY KEY REFERENCES workspace (id) ON DELETE CASCADE,
  tenant_id    TEXT NOT NULL,
  epoch        TEXT NOT NULL,
  rev          BIGINT NOT NULL DEFAULT 0,
  digest       TEXT NOT NULL DEFAULT '0000000000000000',
  live_count   BIGINT NOT NULL DEFAULT 0,
  shared_rev   BIGINT NOT NULL DEFAULT 0,
  purged_rev   BIGINT NOT NULL DEFAULT 0
);

-- The epochs before the present one, and up to which rev each is part of its
-- history: what a replica of a former epoch has beyond that, a restore lost.
CREATE TABLE workspace_epoch (
  workspace_id TEXT NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
  epoch        TEXT NOT NULL,
  shared_rev   BIGINT NOT NULL,
  PRIMARY KEY (workspace_id, epoch)
);

CREATE TABLE folder (
  id           TEXT PRIMARY KEY,
  tenant_id    TEXT NOT NULL,
  workspace_id TEXT NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
  parent_id    TEXT NOT NULL DEFAULT '',
  name         TEXT NOT NULL,
  description  TEXT NOT NULL DEFAULT '',
  sort_order   BIGINT NOT NULL,
  extra        TEXT NOT NULL DEFAULT '',
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL,
  deleted_at   BIGINT NOT NULL DEFAULT 0,
  -- Everything that one deletion took has the same id here, so that a restore
  -- brings back just that.
  deletion_id  TEXT NOT NULL DEFAULT '',
  rev          BIGINT NOT NULL
);
CREATE INDEX folder_rev ON folder (workspace_id, rev);
CREATE INDEX folder_parent ON folder (workspace_id, parent_id, sort_order) WHERE deleted_at = 0;
CREATE INDEX folder_deletion ON folder (workspace_id, deletion_id) WHERE deletion_id <> '';

-- What a POST of changes was answered, so that the same op again gets the
-- same answer and has no second effect.
CREATE TABLE op_result (
  workspace_id TEXT NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
  op_id        TEXT NOT NULL,
  created_at   BIGINT NOT NULL,
  result       TEXT NOT NULL,
  PRIMARY KEY (workspace_id, op_id)
);
CREATE INDEX op_result_created ON op_result (created_at);

CREATE TABLE idempotency (
  principal    TEXT NOT NULL,
  idem_key     TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  status       INTEGER NOT NULL DEFAULT 0,
  headers      TEXT NOT NULL DEFAULT '',
  body         TEXT NOT NULL DEFAULT '',
  created_at   BIGINT NOT NULL,
  PRIMARY KEY (principal, idem_key)
);
CREATE INDEX idempotency_created ON idempotency (created_at);
