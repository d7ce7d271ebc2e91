// Package output decides what a person or a program gets to see of a command's
// results: aligned, coloured and cut on a terminal, tab-separated and whole in
// a pipe, or as JSON, through a jq program or a template.
//
// Nothing that came from outside, a bookmark's title or a server's message,
// reaches a terminal raw: control and escape characters and those that turn
// the direction of writing are made visible first (see [Clean]).
//
// With cli/tui it is the only importer of the charm libraries.
package output
