// Package serve holds the commands that host the backend. With package up it
// alone may import the server.
package serve
