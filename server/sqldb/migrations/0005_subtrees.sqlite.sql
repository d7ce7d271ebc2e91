-- +goose Up
-- The folders of a folder, deleted or not; and what one deletion took, by the
-- folder that it was in.
DROP INDEX folder_parent;
CREATE INDEX folder_parent ON folder (workspace_id, parent_id, sort_order);
DROP INDEX folder_deletion;
CREATE INDEX folder_deletion ON folder (workspace_id, deletion_id, parent_id) WHERE deletion_id <> '';
DROP INDEX bookmark_deletion;
CREATE INDEX bookmark_deletion ON bookmark (workspace_id, deletion_id, folder_id) WHERE deletion_id <> '';

-- Without statistics SQLite takes a workspace for ten rows, and would rather
-- read all of it than look fifty ids up. These are of a workspace as large as
-- they come, the same on every server, so that a plan that was tested is the
-- plan that runs: nothing here calls ANALYZE again.
ANALYZE workspace_epoch;
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('bookmark', 'sqlite_autoindex_bookmark_1', '1000000 1'),
  ('bookmark', 'bookmark_created', '1000000 100000 1 1'),
  ('bookmark', 'bookmark_folder', '1000000 100000 50 1'),
  ('bookmark', 'bookmark_url', '1000000 100000 1'),
  ('bookmark', 'bookmark_rev', '1000000 100000 1'),
  ('bookmark', 'bookmark_deleted', '50000 5000 1'),
  ('bookmark', 'bookmark_deletion', '50000 5000 50 5'),
  ('bookmark', 'bookmark_dead', '50000 5000 1'),
  ('bookmark_tag', 'bookmark_tag', '4000000 400000 200 1'),
  ('folder', 'sqlite_autoindex_folder_1', '20000 1'),
  ('folder', 'folder_rev', '20000 2000 1'),
  ('folder', 'folder_parent', '20000 2000 5 1'),
  ('folder', 'folder_deletion', '1000 100 10 2'),
  ('op_result', 'sqlite_autoindex_op_result_1', '100000 10000 1'),
  ('op_result', 'op_result_created', '100000 1');
ANALYZE sqlite_schema;
