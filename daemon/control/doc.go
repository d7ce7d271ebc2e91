// Package control is how a command talks to the daemon: the messages of its
// socket, and a client of it that is light enough to be part of every edit.
//
// A connection carries one request and its replies, each a line of JSON. Every
// message names the protocol and the version of the program that sent it, so
// that either side can tell an older one. Messages are only ever added to.
//
// It imports the standard library alone.
package control
