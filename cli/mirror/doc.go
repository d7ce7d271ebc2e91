// Package mirror wires replication together: the local copy, the server's
// client and the rounds of bm/syncer become the [daemon.Mirror] that the daemon
// schedules, and that "bm sync" runs by itself where there is no daemon.
//
// One process at a time syncs a profile: it holds a file lock that dies with
// it.
package mirror
