// Package localstore is the replica: everything that one profile holds on this
// machine, in one SQLite file that the command line, the TUI and the daemon
// have open at once.
//
// It answers every read and takes every edit of bookmarks, folders and tags
// without a network. For each row that was edited and not yet acknowledged it
// keeps the row as the server last had it, the base; what is to be sent is the
// difference between the two. What to do with that difference is decided in
// package syncer, which works through [Store.Sync].
//
// A [Replica] is a copy of one workspace. Rows of a replica that has no server
// yet ([StateLocal]) are simply rows that were never sent: [Store.Attach] gives
// them a workspace, and the next round of replication sends them.
//
// Numbers of rows are partitioned by replica (row number = replica·2⁴⁰ + k, in
// order of arrival), so that the search index, which knows nothing but row
// numbers, is narrowed to a replica by a range.
//
// The package imports the standard library, the SQLite driver and
// bm/server/api alone. Failures that a user can mend are *api.Error.
package localstore
