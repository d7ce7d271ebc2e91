// Package syncing holds the commands about replication: sync, and what it
// leaves to be decided.
package syncing
