// Package admin is what is done to a server's database as a whole: a backup,
// a restore, a check. A backup is one SQLite file, whichever database it was
// taken of, so that it can be restored into either.
//
// It imports api, sqldb and tree.
package admin
