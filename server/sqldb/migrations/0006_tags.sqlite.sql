-- +goose Up
-- A tag has a number, and so has what carries it: most of what a bulk insert
-- wrote was the same long ids again and again, at the end of each tag.
CREATE TABLE tag (
  seq          INTEGER PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspace (id) ON DELETE CASCADE,
  tag_key      TEXT NOT NULL,
  UNIQUE (workspace_id, tag_key)
);
-- A row of what does not live there had no effect, and is left behind.
INSERT INTO tag (workspace_id, tag_key) SELECT DISTINCT workspace_id, tag_key FROM bookmark_tag
  WHERE workspace_id IN (SELECT id FROM workspace) ORDER BY workspace_id, tag_key;

-- Live bookmarks by tag. There is no way back from a bookmark to its rows here:
-- its own row has its tags, and an index of them would make every bulk insert
-- slower.
CREATE TABLE bookmark_tag_by_number (
  tag_seq      INTEGER NOT NULL,
  bookmark_seq INTEGER NOT NULL,
  tag          TEXT NOT NULL,
  PRIMARY KEY (tag_seq, bookmark_seq)
) WITHOUT ROWID;
INSERT INTO bookmark_tag_by_number SELECT t.seq, b.seq, old.tag
  FROM tag t JOIN bookmark_tag old ON old.workspace_id = t.workspace_id AND old.tag_key = t.tag_key JOIN bookmark b ON b.id = old.bookmark_id
  -- No index but that of ids may lead to the bookmark: it is each for itself.
  WHERE +b.workspace_id = t.workspace_id AND +b.deleted_at = 0
  ORDER BY t.seq, b.seq;
DROP TABLE bookmark_tag;
ALTER TABLE bookmark_tag_by_number RENAME TO bookmark_tag;

DELETE FROM sqlite_stat1 WHERE tbl = 'bookmark_tag';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('tag', 'sqlite_autoindex_tag_1', '20000 2000 1'),
  ('bookmark_tag', 'bookmark_tag', '4000000 200 1');
ANALYZE sqlite_schema;
