-- +goose Up
-- seq is the row of the search index; VACUUM must not renumber it.
CREATE TABLE bookmark (
  seq INTEGER PRIMARY KEY,
  id                   TEXT NOT NULL UNIQUE,
  tenant_id            TEXT NOT NULL,
  workspace_id         TEXT NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
  folder_id            TEXT NOT NULL DEFAULT '',
  url                  TEXT NOT NULL DEFAULT '',
  -- The normalised URL, by which duplicates are found, and the version of the
  -- rules that made it.
  url_key              TEXT NOT NULL DEFAULT '',
  url_key_version      INTEGER NOT NULL,
  title                TEXT NOT NULL,
  -- By which titles are sorted: without case, cut.
  title_key            TEXT NOT NULL DEFAULT '',
  description          TEXT NOT NULL DEFAULT '',
  tags                 TEXT NOT NULL DEFAULT '[]',
  sort_order           BIGINT NOT NULL,
  link_status          TEXT NOT NULL DEFAULT 'unknown',
  last_link_checked_at BIGINT NOT NULL DEFAULT 0,
  snapshot_enabled     BOOLEAN NOT NULL DEFAULT FALSE,
  reader_excerpt       TEXT NOT NULL DEFAULT '',
  video_embed_url      TEXT NOT NULL DEFAULT '',
  archive_status       TEXT NOT NULL DEFAULT 'none',
  archive_expires_at   BIGINT NOT NULL DEFAULT 0,
  archive_metadata_id  TEXT NOT NULL DEFAULT '',
  extra                TEXT NOT NULL DEFAULT '',
  created_at           BIGINT NOT NULL,
  updated_at           BIGINT NOT NULL,
  deleted_at           BIGINT NOT NULL DEFAULT 0,
  deletion_id          TEXT NOT NULL DEFAULT '',
  rev                  BIGINT NOT NULL
);
CREATE INDEX bookmark_created ON bookmark (workspace_id, created_at DESC, id DESC) WHERE deleted_at = 0;
CREATE INDEX bookmark_folder ON bookmark (workspace_id, folder_id, sort_order) WHERE deleted_at = 0;
CREATE INDEX bookmark_url ON bookmark (workspace_id, url_key) WHERE deleted_at = 0;
CREATE INDEX bookmark_rev ON bookmark (workspace_id, rev);
CREATE INDEX bookmark_deleted ON bookmark (workspace_id, deleted_at) WHERE deleted_at > 0;
CREATE INDEX bookmark_deletion ON bookmark (workspace_id, deletion_id) WHERE deletion_id <> '';
CREATE INDEX bookmark_dead ON bookmark (workspace_id, created_at DESC) WHERE deleted_at = 0 AND link_status = 'dead';

-- Live bookmarks by tag. There is no way back from a bookmark to its rows here:
-- its own row has its tags, and an index of them would make every bulk insert a
-- third slower.
CREATE TABLE bookmark_tag (
  workspace_id TEXT NOT NULL,
  tag_key      TEXT NOT NULL,
  bookmark_id  TEXT NOT NULL,
  tag          TEXT NOT NULL,
  PRIMARY KEY (workspace_id, tag_key, bookmark_id)
) WITHOUT ROWID;

-- The tokens of live bookmarks, made by one tokenizer in Go and put together
-- with single spaces: nothing but the space separates here. The workspace is
-- a token of its own, so that a search walks no other tenant's words.
CREATE VIRTUAL TABLE bookmark_fts USING fts5 (
  title, tags, url, description, scope,
  content = '', contentless_delete = 1, detail = full,
  tokenize="ascii tokenchars '+#@.-_:[]'"
);
INSERT INTO bookmark_fts (bookmark_fts, rank) VALUES ('hashsize', 16777216);
-- Bulk work merges the index's segments at its end, not on its way.
INSERT INTO bookmark_fts (bookmark_fts, rank) VALUES ('automerge', 16);
INSERT INTO bookmark_fts (bookmark_fts, rank) VALUES ('crisismerge', 64);
