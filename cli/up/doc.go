// Package up holds the command that makes everything work on one machine: a
// server, an account, a key, and replication between the two.
package up
