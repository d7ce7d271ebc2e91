// Package transfer holds the commands that bring bookmarks in and out of the
// local copy: import and export.
package transfer
