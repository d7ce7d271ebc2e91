// Package workspace holds the commands about workspaces.
package workspace
