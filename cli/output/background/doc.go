// Package background answers the question for the terminal's background before
// anybody asks the terminal.
//
// The terminal library behind the TUI asks in an init of its own, and on a
// terminal that doesn't answer every command, "bm version" too, would wait
// five seconds. Packages are initialised in the order of their import paths as
// soon as what they import is, so this one, which imports lipgloss alone and
// whose path sorts before github.com/…, comes first. The TUI finds out by
// itself, later, and without holding anything up.
package background
