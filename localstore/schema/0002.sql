-- What was deleted, by where it was.
CREATE INDEX folder_trash ON folder (replica, parent) WHERE deleted_at > 0;
CREATE INDEX bookmark_trash ON bookmark (replica, folder) WHERE deleted_at > 0;
