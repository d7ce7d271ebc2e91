// Package transfer holds the commands that bring bookmarks in and out of the
// local copy: import and export, and the list of browsers to import from.
package transfer
