// Package history holds the commands about what was done: undo, redo and log.
package history
