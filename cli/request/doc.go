// Package request holds the command that calls the server's interface itself.
package request
