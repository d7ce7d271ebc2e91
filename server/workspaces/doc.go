// Package workspaces makes, changes, deletes and restores workspaces.
//
// It imports api, op, access and sqldb.
package workspaces
