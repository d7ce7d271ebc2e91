-- Bookmarks by date with their id, as lists go through them: an import without
-- dates gives thousands the same, and each page sorted all of those.
DROP INDEX bookmark_created;
CREATE INDEX bookmark_created ON bookmark (replica, created_at, id) WHERE deleted_at = 0;

-- What was deleted, by where it was.
CREATE INDEX folder_trash ON folder (replica, parent) WHERE deleted_at > 0;
CREATE INDEX bookmark_trash ON bookmark (replica, folder) WHERE deleted_at > 0;
