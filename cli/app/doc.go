// Package app is what a command is handed: the settings, the local copy, a
// client of the server and the daemon, each opened when it is first asked for,
// the three streams and the clock.
//
// A command that reads the local copy opens no network, one that prints its
// version opens nothing: start-up is a budget that a test holds.
//
// It imports cli/config, cli/credentials, cli/output, localstore, daemon/control
// and server/api/…, and no command.
package app
