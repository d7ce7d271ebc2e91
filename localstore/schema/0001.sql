-- Settings of this profile; saved searches; the version of derived columns.
CREATE TABLE setting (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE saved_search (
	name       TEXT PRIMARY KEY,
	query      TEXT NOT NULL,
	created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- A copy of one workspace, grant or share link.
CREATE TABLE replica (
	n          INTEGER PRIMARY KEY,
	kind       TEXT NOT NULL CHECK (kind IN ('workspace', 'grant', 'link')),
	remote_id  TEXT NOT NULL,            -- '' while there is no server
	tenant_id  TEXT NOT NULL,
	name       TEXT NOT NULL,
	slug       TEXT NOT NULL,
	is_default INTEGER NOT NULL,
	writable   INTEGER NOT NULL,
	state      TEXT NOT NULL,
	reason     TEXT NOT NULL,            -- why, for people, where the state needs one
	epoch      TEXT NOT NULL,
	cursor     TEXT NOT NULL,            -- of the last page that was applied
	rev        INTEGER NOT NULL,         -- the head's rev at the last whole pull
	whole      TEXT NOT NULL,            -- the cursor of the last whole pull, '' before the first
	digest     INTEGER NOT NULL,         -- of the rows as the server last had them
	live       INTEGER NOT NULL,         -- how many of those are alive
	purged_rev INTEGER NOT NULL,
	shared_rev INTEGER,                  -- set while a full compare is due: what is newer was lost by the server
	synced_at  INTEGER NOT NULL          -- the end of the last good round
);
CREATE UNIQUE INDEX replica_remote ON replica (kind, remote_id) WHERE remote_id <> '';

CREATE TABLE folder (
	n           INTEGER PRIMARY KEY,
	replica     INTEGER NOT NULL REFERENCES replica (n) ON DELETE CASCADE,
	id          TEXT NOT NULL,
	rev         INTEGER NOT NULL,        -- of the server's row as last seen; 0: the server has none
	parent      TEXT NOT NULL,           -- '' at the top
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	sort_order  INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL,
	extra       TEXT NOT NULL,           -- JSON, '' for none
	deleted_at  INTEGER NOT NULL,        -- 0: alive
	deletion    TEXT NOT NULL            -- what was deleted together has this in common
);
CREATE UNIQUE INDEX folder_id ON folder (replica, id);
CREATE INDEX folder_place ON folder (replica, parent, sort_order) WHERE deleted_at = 0;
CREATE INDEX folder_deleted ON folder (replica, deletion) WHERE deleted_at > 0;
CREATE INDEX folder_new ON folder (replica) WHERE rev = 0;

CREATE TABLE bookmark (
	n           INTEGER PRIMARY KEY,
	replica     INTEGER NOT NULL REFERENCES replica (n) ON DELETE CASCADE,
	id          TEXT NOT NULL,
	rev         INTEGER NOT NULL,
	folder      TEXT NOT NULL,
	url         TEXT NOT NULL,
	url_hash    INTEGER NOT NULL,        -- of the normalised URL; 0 where there is none
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	tags        TEXT NOT NULL,           -- JSON, '' for none
	sort_order  INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL,
	snapshot    INTEGER NOT NULL,
	link_status TEXT NOT NULL,
	archive     TEXT NOT NULL,           -- the archive's status
	rest        TEXT NOT NULL,           -- JSON of the server's rarer fields, '' for none
	extra       TEXT NOT NULL,
	deleted_at  INTEGER NOT NULL,
	deletion    TEXT NOT NULL
);
CREATE UNIQUE INDEX bookmark_id ON bookmark (replica, id);
CREATE INDEX bookmark_place ON bookmark (replica, folder, sort_order) WHERE deleted_at = 0;
CREATE INDEX bookmark_created ON bookmark (replica, created_at) WHERE deleted_at = 0;
CREATE INDEX bookmark_url ON bookmark (replica, url_hash) WHERE deleted_at = 0;
CREATE INDEX bookmark_deleted ON bookmark (replica, deletion) WHERE deleted_at > 0;
CREATE INDEX bookmark_new ON bookmark (replica) WHERE rev = 0;

-- Tags of live bookmarks. Which keys a bookmark has is known from its row.
CREATE TABLE tag (
	replica INTEGER NOT NULL,
	key     TEXT NOT NULL,
	n       INTEGER NOT NULL,
	name    TEXT NOT NULL,              -- as it is spelled; '' as the key is
	PRIMARY KEY (replica, key, n)
) WITHOUT ROWID;

-- The row as the server last had it, for rows with unsent edits that the
-- server has: their user-editable columns.
CREATE TABLE folder_base (
	n           INTEGER PRIMARY KEY REFERENCES folder (n) ON DELETE CASCADE,
	parent      TEXT NOT NULL,
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	sort_order  INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	extra       TEXT NOT NULL,
	deleted     INTEGER NOT NULL
);

CREATE TABLE bookmark_base (
	n           INTEGER PRIMARY KEY REFERENCES bookmark (n) ON DELETE CASCADE,
	folder      TEXT NOT NULL,
	url         TEXT NOT NULL,
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	tags        TEXT NOT NULL,
	sort_order  INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	snapshot    INTEGER NOT NULL,
	extra       TEXT NOT NULL,
	deleted     INTEGER NOT NULL
);

-- Ops that were sent and whose verdict is not known, in the order sent.
CREATE TABLE in_flight (
	seq     INTEGER PRIMARY KEY,
	replica INTEGER NOT NULL REFERENCES replica (n) ON DELETE CASCADE,
	type    TEXT NOT NULL,
	id      TEXT NOT NULL,
	epoch   TEXT NOT NULL,
	cursor  TEXT NOT NULL,
	op      TEXT NOT NULL,               -- JSON of the op, word for word
	sent    TEXT NOT NULL                -- JSON of the row as it was sent
);
CREATE INDEX in_flight_row ON in_flight (replica, id);

-- What the server refused for good. The row keeps its edit.
CREATE TABLE parked (
	n       INTEGER PRIMARY KEY,
	replica INTEGER NOT NULL REFERENCES replica (n) ON DELETE CASCADE,
	type    TEXT NOT NULL,
	id      TEXT NOT NULL,
	action  TEXT NOT NULL,
	code    TEXT NOT NULL,
	message TEXT NOT NULL,
	sent    TEXT NOT NULL,
	at      INTEGER NOT NULL
);
CREATE UNIQUE INDEX parked_row ON parked (replica, id);

-- Local values that lost against the server's, kept until someone decides.
CREATE TABLE conflict (
	n       INTEGER PRIMARY KEY,
	replica INTEGER NOT NULL REFERENCES replica (n) ON DELETE CASCADE,
	type    TEXT NOT NULL,
	id      TEXT NOT NULL,
	field   TEXT NOT NULL,
	mine    TEXT NOT NULL,               -- JSON
	theirs  TEXT NOT NULL,
	at      INTEGER NOT NULL
);
CREATE INDEX conflict_row ON conflict (replica, id);

-- What merges did that a user may want to know.
CREATE TABLE note (
	n       INTEGER PRIMARY KEY,
	replica INTEGER NOT NULL REFERENCES replica (n) ON DELETE CASCADE,
	type    TEXT NOT NULL,
	id      TEXT NOT NULL,
	kind    TEXT NOT NULL,
	message TEXT NOT NULL,
	at      INTEGER NOT NULL
);
CREATE INDEX note_replica ON note (replica);

-- What the user did, with what it takes to take it back.
CREATE TABLE journal (
	n       INTEGER PRIMARY KEY,
	replica INTEGER NOT NULL REFERENCES replica (n) ON DELETE CASCADE,
	command TEXT NOT NULL,
	at      INTEGER NOT NULL,
	undone  INTEGER NOT NULL
);

CREATE TABLE journal_step (
	entry  INTEGER NOT NULL REFERENCES journal (n) ON DELETE CASCADE,
	seq    INTEGER NOT NULL,
	action TEXT NOT NULL,
	type   TEXT NOT NULL,
	ids    TEXT NOT NULL,                -- JSON
	before TEXT NOT NULL,                -- JSON of the fields that an update changed
	after  TEXT NOT NULL,
	PRIMARY KEY (entry, seq)
) WITHOUT ROWID;
