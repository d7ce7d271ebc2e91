// Package bookmarks is the operations on the bookmarks and tags of a
// workspace, in both flavours: by the workspace in the path, and by an API key.
// Both are one service with a scope; only how the scope is found differs.
//
// It imports api with its formats, op, access, sqldb and tree, which keeps the
// rows.
package bookmarks
