// Package daemon keeps every profile's replicas in step with their servers, in
// one process per user.
//
// It decides when a round of replication is due and does none of it itself: a
// nudge after a local edit, a poke of the server's event stream and a minute's
// tick each make one due; failures wait longer and longer. One profile's
// trouble never stops another's. What a round is, and how a server is reached,
// is handed in as a [Mirror].
//
// It listens on a unix socket of the user's own, described in
// bm/daemon/control, which with server/api is all that it imports of bm.
package daemon
