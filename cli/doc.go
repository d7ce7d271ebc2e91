// Package cli is the command line: the root of its commands, and the one place
// where a failure becomes a message and an exit code.
package cli
