// Package places reads places.sqlite, the database in which Firefox and its
// relatives keep bookmarks, also while the browser has it open.
//
//   - [Copy] copies it together with the browser's write-ahead log. In the
//     browser's folder nothing is written, locked or moved.
//   - [Backup] writes what a copy holds as the backup that Firefox itself
//     writes, which bm/server/api/exchange reads like any file. Memory does not
//     grow with the number of bookmarks.
//
// What tables and columns there are is looked up, since they differ between the
// Firefox of 2008 and today's.
//
// It imports the standard library and the SQLite driver alone.
package places
