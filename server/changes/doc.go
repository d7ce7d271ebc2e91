// Package changes is replication on the server: the feed of a workspace's
// changes, the taking of edits by compare and set, and the stream of pokes.
//
// The server never merges. A feed is state, not history: each row once, as it
// is now, in the order of revs.
//
// It imports api, op, access, sqldb, events and tree, which keeps the rows.
package changes
