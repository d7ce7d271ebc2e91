// Package tree is what a workspace holds: its folders and bookmarks as rows,
// and the head that numbers their changes. Every feature that writes one of
// them (bookmarks, folders, tags, imports, the change feed) does so through an
// [Edit], which keeps rev, digest, tombstones, tags and the search index true
// in one transaction.
//
// It imports api, access and sqldb. It knows nothing of requests.
package tree
