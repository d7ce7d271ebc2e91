// Package folders is the operations on the tree of a workspace.
//
// It imports api, op, access and tree, which keeps the rows.
package folders
