-- +goose Up
-- The folders of a folder, deleted or not; and what one deletion took, by the
-- folder that it was in.
DROP INDEX folder_parent;
CREATE INDEX folder_parent ON folder (workspace_id, parent_id, sort_order);
DROP INDEX folder_deletion;
CREATE INDEX folder_deletion ON folder (workspace_id, deletion_id, parent_id) WHERE deletion_id <> '';
DROP INDEX bookmark_deletion;
CREATE INDEX bookmark_deletion ON bookmark (workspace_id, deletion_id, folder_id) WHERE deletion_id <> '';

-- In SQLite's order, whatever the database's language: tags are listed by it,
-- and a page begins behind the one before.
ALTER TABLE bookmark_tag ALTER COLUMN tag_key TYPE TEXT COLLATE "C";
