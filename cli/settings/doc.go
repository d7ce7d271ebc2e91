// Package settings holds the command that shows the settings and where each of
// them came from.
package settings
