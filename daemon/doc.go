// Package daemon keeps every profile's replicas in step with their servers, in
// one process per user.
//
// It schedules rounds of replication ([bm/syncer]) and does none of it itself:
// a nudge after a local edit, a poke of the server's event stream, and a
// minute's tick each make a round due; failures wait longer and longer. One
// profile's trouble never stops another's.
//
// It listens on a unix socket of the user's own, described in
// bm/daemon/control. Of bm it imports syncer, localstore, server/api and
// daemon/control; how a server is reached is handed in.
package daemon
