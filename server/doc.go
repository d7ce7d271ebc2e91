// Package server is the service: it opens the database, wires the features
// to each other through the small interfaces that they declare, puts the
// router before them, and runs.
//
// It may import everything below server/. Outside of it, only the commands
// that host a server import it.
package server
